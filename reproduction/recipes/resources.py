"""What lists of words and raw text add to a little labelled data: each extractor on one task."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from adaptag.corpus.columns import ColumnCorpus
from adaptag.corpus.segmented import SegmentedCorpus
from adaptag.features.extractors import Clusters, Gazetteer, add_columns
from reproduction.recipes.bio_ner import labelled_words
from reproduction.recipes.recipe import (
    Corpora,
    Recipe,
    Row,
    Study,
    encoded,
    files_of,
    hold_out,
)
from reproduction.recipes.segmentation import fold, matching, unsupervised, with_columns

if TYPE_CHECKING:
    from pathlib import Path

    from adaptag.experiments.problem import Problem
    from adaptag.features.extractors import Extractor

    Sentence = list[tuple[str, str]]

__all__ = ["RESOURCES"]

LABELLED = 2000  # sentences of the training data whose labels are used
CLUSTERS, LEAST = 200, 5
RATES = (0.01, 0.02, 0.05, 0.1)


class Texts(NamedTuple):
    """Little labelled data of two tasks, and what else there is.

    Attributes:
        words: segmented lines: those that are used, and those of the test.
        raw: the text of the other training lines. With the labelled ones in it, a model would
            learn that every string is known.
        lexicon: a list of words.
        names: sentences of words and labels of entities: those that are used, and the test.
        others: the other training sentences, with labels.
    """

    words: Corpora
    raw: list[str]
    lexicon: frozenset[str]
    names: Corpora
    others: list[Sentence]


def read(folder: Path) -> Texts:
    """PKU and JNLPBA, a small part of them with labels."""
    train, test, listed = files_of(
        folder, "pku/train.utf8", "pku/test_gold.utf8", "pku/official_training_words.utf8"
    )
    lines = fold(SegmentedCorpus.read(train))
    names = files_of(folder, "jnlpba2004/train.iob2", "jnlpba2004/test.iob2")
    sentences, tested = map(labelled_words, names)
    words, labels = (min(LABELLED, len(data) // 2) for data in (lines, sentences))
    return Texts(
        Corpora(lines.select(range(words)), fold(SegmentedCorpus.read(test))),
        lines.texts()[words:],
        frozenset(listed.read_text(encoding="utf-8").split()),
        Corpora(sentences[:labels], tested),
        sentences[labels:],
    )


def problem(texts: Texts, features: str) -> Problem:
    """A task, and what it has beside labels: ``words+lexicon+raw``, ``names+clusters+names``, …."""
    task, *kinds = features.split("+")
    if task == "words":
        columns: list[Extractor] = matching(texts.lexicon) if "lexicon" in kinds else []
        raw = unsupervised(texts.raw) if {"variety", "information"} & set(kinds) else []
        columns += raw[:-2] if "variety" in kinds else []
        columns += raw[-2:] if "information" in kinds else []
        return with_columns(texts.words, columns)
    extractors: list[Extractor] = []
    if "clusters" in kinds:
        everything = [*texts.names.train, *texts.others]
        words = ([word for word, _ in sentence] for sentence in everything)
        extractors.append(Clusters.learn(words, clusters=CLUSTERS, cutoff=LEAST))
    if "gazetteer" in kinds:
        extractors.append(Gazetteer(names_of(texts.others)))
    first, second = (
        ColumnCorpus.from_sentences(add_columns(part, extractors, before=1)) for part in texts.names
    )
    return encoded((first, second), "general")


def names_of(sentences: list[Sentence]) -> dict[tuple[str, ...], str]:
    """The entities of labelled sentences, each with the type that it has most often."""
    counts: dict[tuple[str, ...], Counter[str]] = {}
    for sentence in sentences:
        begin = 0
        for end in range(1, len(sentence) + 1):
            if end < len(sentence) and sentence[end][1].startswith("I-"):
                continue
            label = sentence[begin][1]
            if label != "O":
                name = tuple(word for word, _ in sentence[begin:end])
                counts.setdefault(name, Counter())[label[2:]] += 1
            begin = end
    return {name: types.most_common(1)[0][0] for name, types in counts.items()}


def training(texts: Texts) -> Texts:
    """Train on the first four fifths of the labelled sentences, score on the last fifth."""
    words = hold_out(texts.words)
    cut = len(texts.names.train) * 4 // 5
    names = Corpora(texts.names.train[:cut], texts.names.train[cut:])
    return texts._replace(words=words, names=names)


def _rows(task: str, kinds: dict[str, tuple[str, float]]) -> tuple[Row, ...]:
    """A row for each kind of features, with the rate that was chosen for it."""
    return tuple(
        Row(
            f"{name}=adf",
            {"rate": rate, "sigma": 5, "passes": 15},
            features=task + more,
            grid={"rate": RATES},
        )
        for name, (more, rate) in kinds.items()
    )


RESOURCES = Recipe(
    "resources",
    "Word lists and raw text",
    f"""\
The first {LABELLED:,} training sentences with labels; of the others, only their text, or the words
or names in them as a list. ADF with σ 5, and for each row the rate that was best on held-out
labelled sentences. Each extractor is added alone, then all together.""",
    read,
    problem,
    (
        Study(
            "segmentation",
            "Word segmentation",
            "the extended features of table 2 of He and Wang (2012)",
            _rows(
                "words",
                {
                    "characters": ("", 0.1),
                    "lexicon": ("+lexicon", 0.1),
                    "accessor-variety": ("+variety", 0.05),
                    "mutual-information": ("+information", 0.1),
                    "all": ("+lexicon+variety+information", 0.05),
                },
            ),
            text="""\
PKU: characters and their bigrams; maximum matching from both sides with a lexicon, the words of the
official training data; accessor variety of strings of two to four characters and mutual
information, from the text of the other training lines.""",
        ),
        Study(
            "entities",
            "Named entities",
            "the extended features of table 2 of He and Wang (2012)",
            _rows(
                "names",
                {
                    "words": ("", 0.1),
                    "clusters": ("+clusters", 0.05),
                    "gazetteer": ("+gazetteer", 0.05),
                    "both": ("+clusters+gazetteer", 0.05),
                },
            ),
            text="""\
JNLPBA 2004: words and spelling (preset `general`); Brown clusters of the words in the text of
all training sentences; a gazetteer of the entities that the labels of the other sentences
have.""",
        ),
    ),
    training=training,
)
