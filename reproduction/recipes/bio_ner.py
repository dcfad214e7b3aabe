"""Biomedical named entities: JNLPBA 2004 with parts of speech from a tagger trained on GENIA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptag import api
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.columns import ColumnCorpus
from adaptag.dataset.encoded import Dataset
from adaptag.experiments.tasks import tagging_problem
from adaptag.features.extractors import add_columns, orthography, substrings
from adaptag.features.template import Template
from reproduction.recipes.chunking import L1_CHARTS, l1_rows, sentences_of
from reproduction.recipes.recipe import (
    ALGORITHM_CHARTS,
    MOST_ITERATIONS,
    TSURUOKA,
    Corpora,
    Published,
    Recipe,
    Row,
    Study,
    System,
    encoded,
    files_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from adaptag.decoding.model import Model
    from adaptag.experiments.problem import Problem

    Pairs = list[tuple[str, str]]
    Sentence = list[tuple[str, ...]]

__all__ = ["BIO_NER", "labelled_words"]

PLAIN, SUBSTRINGS = "plain", "substrings"
MARKERS = ("TI", "AB")  # "TI - " and "AB - " stand before the first sentence of a title or abstract
IDENTIFIER = "UI"
PASSES = 8  # of the taggers of parts of speech and chunks
RATES = (0.005, 0.01, 0.02, 0.05)
OUTSIDE = "-"


class Tagged(list["Sentence"]):
    """Sentences of word, part of speech, orthography, chunk and label."""

    def select(self, numbers: list[int]) -> Tagged:
        """Some of the sentences, in this order."""
        return Tagged(self[k] for k in numbers)


def read(folder: Path) -> Corpora:
    """Training and test data, with the columns that two taggers and the spelling add."""
    names = ("jnlpba2004/train.iob2", "jnlpba2004/test.iob2")
    train, test, genia, chunks = files_of(
        folder, *names, "genia_pos/train.tsv", "conll2000/train.txt"
    )
    tagger = api.train(pos_sentences(genia), template="general", passes=PASSES)
    chunker = api.train(sentences_of(chunks), template="chunking", passes=PASSES)
    return Corpora(*(with_columns(path, tagger, chunker) for path in (train, test)))


def pos_sentences(path: Path) -> list[Pairs]:
    """The sentences of GENIA's parts of speech, without what marks documents."""
    sentences = []
    for sentence in labelled_words(path):
        if sentence[0][0] == IDENTIFIER:
            continue
        marked = sentence[0][0] in MARKERS and len(sentence) > 2 and sentence[1][0] == "-"
        sentences.append(sentence[2:] if marked else sentence)
    return sentences


def with_columns(path: Path, tagger: Model, chunker: Model) -> Tagged:
    """JNLPBA's words and labels, with part of speech, orthography and chunk between them."""
    sentences = labelled_words(path)
    words = [[word for word, _ in sentence] for sentence in sentences]
    tags = tagger.tag_all(words)
    tagged = [list(zip(w, t, strict=True)) for w, t in zip(words, tags, strict=True)]
    columns = zip(
        add_columns(tagged, [orthography]), chunker.tag_all(tagged), sentences, strict=True
    )
    return Tagged(
        [(*row, chunk, label) for row, chunk, (_, label) in zip(rows, chunks, pairs, strict=True)]
        for rows, chunks, pairs in columns
    )


def labelled_words(path: Path) -> list[Pairs]:
    """Lines ``word<TAB>tag``; a blank line ends a sentence."""
    blocks = path.read_text(encoding="utf-8").split("\n\n")
    sentences = []
    for block in blocks:
        lines = [line.split("\t") for line in block.split("\n") if line.strip()]
        rows = [(line[0], line[-1]) for line in lines if not line[0].startswith("###")]
        if rows:
            sentences.append(rows)
    return sentences


def problem(corpora: Corpora, features: str) -> Problem:
    """The features of 2014 with rich or plain edges, or those of 2009 with substrings."""
    if features == SUBSTRINGS:
        return with_substrings(corpora)
    rich = Template.load("bio-ner")
    columns = [
        ColumnCorpus.from_sentences(
            [(word, pos, spelling, label) for word, pos, spelling, _, label in sentence]
            for sentence in sentences
        )
        for sentences in corpora
    ]
    return encoded((columns[0], columns[1]), rich.plain() if features == PLAIN else rich)


def with_substrings(corpora: Corpora) -> Problem:
    """Features as attributes, since a token has many substrings."""
    train, test = (
        AttributeCorpus.from_items(map(attributes, part)).with_labels(_labels(part))
        for part in corpora
    )
    dataset = Dataset.build(train)
    return tagging_problem(dataset, Dataset.encode(test, dataset.index, dataset.label_names))


def attributes(sentence: Sentence) -> Iterator[list[str]]:
    """The features of Tsuruoka et al. (2009), section 4.2, of every token."""
    rows = [(OUTSIDE,) * 4] * 2 + [row[:4] for row in sentence] + [(OUTSIDE,) * 4] * 2
    shape = str.maketrans(
        dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "A")
        | dict.fromkeys("abcdefghijklmnopqrstuvwxyz", "a")
        | dict.fromkeys("0123456789", "#")
    )
    for t in range(2, len(rows) - 2):
        w = [row[0] for row in rows[t - 2 : t + 3]]
        p = [row[1] for row in rows[t - 2 : t + 3]]
        features = [f"w{k}={word}" for k, word in enumerate(w)]
        features += [f"w1|2={w[1]}|{w[2]}", f"w2|3={w[2]}|{w[3]}", f"shape={w[2].translate(shape)}"]
        features += [f"p{k}={tag}" for k, tag in enumerate(p)]
        features += [f"p{k}|={p[k]}|{p[k + 1]}" for k in range(4)]
        features += [f"p{k}||={p[k]}|{p[k + 1]}|{p[k + 2]}" for k in range(3)]
        features += [f"c{k}={row[3]}" for k, row in enumerate(rows[t - 2 : t + 3])]
        features += [f"s={part}" for part in substrings(w[2])]
        yield features


def _labels(sentences: list[Sentence]) -> list[list[str]]:
    return [[row[-1] for row in sentence] for sentence in sentences]


BIO_NER = Recipe(
    "bio-ner",
    "Biomedical named entities",
    """\
JNLPBA 2004, official training and test files. Parts of speech come from a tagger that the recipe
trains on GENIA, chunks from one that it trains on CoNLL-2000; the papers have both from the GENIA
tagger. Features: those of table 2 of Sun et al. (2014) with orthography, and the shape, beginnings
and ends of the word (preset `bio-ner`). The score is the F of entities.""",
    read,
    problem,
    (
        Study(
            "algorithms",
            "ADF and the methods it was compared with",
            "table 4, Bio-NER, and figures 2 and 4 of Sun et al. (2014)",
            (
                Row(
                    "adf",
                    {"rate": 0.01, "sigma": 1, "passes": 15},
                    Published(72.25, 71.71, 72.80, 35, 27_490.24),
                    grid={"rate": RATES, "sigma": (1.0, 5.0)},
                ),
                Row(
                    "sgd",
                    {"rate": 0.01, "sigma": 1, "passes": 25},
                    Published(71.79, 70.91, 72.69, 91, 76_549.21),
                    grid={"rate": RATES, "sigma": (1.0, 5.0)},
                ),
                Row(
                    "lbfgs",
                    {"sigma": 1, "memory": 6, "passes": MOST_ITERATIONS},
                    Published(68.92, 67.69, 70.20, 400, 152_811.34),
                    grid={"sigma": (1.0, 2.0, 5.0)},
                ),
                Row("perceptron", {"passes": 20}, Published(66.15, 65.37, 66.95, 200, 20_436.69)),
                Row(
                    "averaged-perceptron",
                    {"passes": 15},
                    Published(70.61, 68.76, 72.56, 37, 3_928.01),
                ),
            ),
            seeds=3,
            text="""\
Every feature has edge weights. L-BFGS takes six steps of memory, as in the paper, has the σ of ADF
and SGD, and ends by its own rule. The paper reports 400 iterations and has a σ of 5, which is
measured [below](#l-bfgs-with-the-papers-prior). ADF with half the rate, 0.005, is lower on held-out
sentences (F 74.26, 74.45 with 0.01). Sun et al. have their parts of speech from the GENIA tagger,
which was made on the very abstracts; our features have the spelling of the word in addition to
orthography, which may be why all methods are above their figures.""",
            charts=ALGORITHM_CHARTS,
        ),
        Study(
            "prior",
            "L-BFGS with the paper's prior",
            "table 4, Bio-NER, of Sun et al. (2014)",
            (
                Row(
                    "lbfgs-paper=lbfgs",
                    {"sigma": 5, "memory": 6, "passes": MOST_ITERATIONS},
                    Published(68.92, 67.69, 70.20, 400, 152_811.34),
                ),
            ),
            text="""\
The paper's σ of 5, and all else as above: the score is that of the paper. L-BFGS ends by its own
rule, and has overfitted by then.""",
            charts=(),
        ),
        Study(
            "edges",
            "Rich edges, CW and AROW",
            "figure 3, top row, of Sun et al. (2014)",
            (
                Row("adf", {"rate": 0.01, "sigma": 1, "passes": 12}),
                Row("adf-plain=adf", {"rate": 0.01, "sigma": 1, "passes": 12}, features=PLAIN),
                Row("cw", {"confidence": 0.8, "passes": 12}, features=PLAIN),
                Row("arow", {"gamma": 100, "passes": 12}, features=PLAIN),
            ),
            text="""\
`adf` has rich edges, the others plain ones. The settings of CW and AROW are those chosen for
chunking.""",
        ),
        Study(
            "batches",
            "Mini-batches of ten sentences",
            "figure 3, bottom row, of Sun et al. (2014)",
            (
                Row("adf", {"rate": 0.01, "sigma": 1, "passes": 12}, features=PLAIN),
                Row(
                    "adf-10=adf",
                    {"rate": 0.01, "sigma": 1, "batch": 10, "passes": 12},
                    features=PLAIN,
                ),
                Row("sgd", {"rate": 0.01, "sigma": 1, "passes": 12}, features=PLAIN),
                Row(
                    "sgd-10=sgd",
                    {"rate": 0.01, "sigma": 1, "batch": 10, "passes": 12},
                    features=PLAIN,
                ),
            ),
            text="""\
With plain edges, to save time. Rates are those of single sentences: an update sums the gradients of
its ten.""",
        ),
        Study(
            "one-pass",
            "One pass",
            "figure 5 of Sun et al. (2014)",
            (
                Row(
                    "adf",
                    {"rate": 0.02, "sigma": 5, "beta": 0.6, "window": "n/20", "passes": 1},
                    grid={"rate": RATES, "window": ("n/10", "n/20", "n/50"), "beta": (0.5, 0.6)},
                ),
                Row(
                    "sgd",
                    {"rate": 0.02, "sigma": 5, "decay": 0.1, "passes": 1},
                    grid={"rate": RATES, "decay": (0.85, 0.2, 0.1)},
                ),
                Row("perceptron", {"passes": 1}),
                Row("averaged-perceptron", {"passes": 1}),
            ),
            seeds=3,
            charts=(),
        ),
        Study(
            "l1",
            "L1 regularisation",
            "table 2 and figure 5 of Tsuruoka et al. (2009)",
            l1_rows(
                2.0,
                0.05,
                {
                    "owlqn": Published(71.76, None, None, 161, 2_253, 30_710, 2.448),
                    "clipping": Published(71.20, None, None, 30, 585, 279_886, 2.538),
                    "cumulative": Published(71.40, None, None, 30, 631, 31_986, 2.479),
                    "cumulative-decay": Published(71.63, None, None, 30, 631, 25_965, 2.443),
                },
                SUBSTRINGS,
                strengths=(),
            ),
            text="""\
The features of Tsuruoka et al.: words, parts of speech and chunks in a window of five, all
substrings of the word of up to nine characters, and its shape; plain edges. As in the paper, C is
chosen by the likelihood of held-out sentences with OWL-QN, and the rate by the objective. The loss
per held-out sentence is 2.81 for C = 1 and 2.75 for C = 2; with SGD-L1 after 20 passes it is 2.81,
2.724, 2.724 and 2.82 for C = 0.5, 1, 2 and 4. With C = 2 the number of weights is near the paper's.
By the F of held-out sentences C would be 0.5. The paper tried no rate below 0.1; 0.05 is better
after ten passes, and 0.02 worse. In trials with C = 1 the F of the rows was 71.44, 71.73, 71.71 and
71.26. The naive penalty is left out, as for chunking.""",
            charts=L1_CHARTS,
            column=(TSURUOKA, "NER"),
            whole_objective=True,
        ),
    ),
    (
        System("Okanohara et al. (2006)", "semi-Markov CRF and global features", 71.5),
        System("Hsu et al. (2009)", "CRF, PSA(1)", 69.4),
        System("Tsuruoka et al. (2009)", "CRF, SGD-L1", 71.6),
        System("Sun et al. (2014)", "CRF, ADF", 72.3),
    ),
    minutes=60,
)
