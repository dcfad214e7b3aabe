"""Biomedical named entities: JNLPBA 2004 with parts of speech from a tagger trained on GENIA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptag import api
from adaptag.corpus.columns import ColumnCorpus
from adaptag.experiments.recipes.recipe import Recipe, files_of
from adaptag.features.extractors import add_columns, orthography

if TYPE_CHECKING:
    from pathlib import Path

    from adaptag.decoding.model import Model

    Sentence = list[tuple[str, str]]

__all__ = ["BIO_NER"]

MARKERS = ("TI", "AB")  # "TI - " and "AB - " stand before the first sentence of a title or abstract
IDENTIFIER = "UI"
POS_PASSES = 8


def read(folder: Path) -> tuple[ColumnCorpus, ColumnCorpus]:
    """Training and test data with four columns: word, part of speech, orthography, label."""
    names = ("jnlpba2004/train.iob2", "jnlpba2004/test.iob2", "genia_pos/train.tsv")
    train, test, genia = files_of(folder, *names)
    tagger = api.train(pos_sentences(genia), template="general", passes=POS_PASSES)
    return with_columns(train, tagger), with_columns(test, tagger)


def pos_sentences(path: Path) -> list[Sentence]:
    """The sentences of GENIA's parts of speech, without what marks documents."""
    found = []
    for sentence in _sentences(path):
        if sentence[0][0] == IDENTIFIER:
            continue
        marked = sentence[0][0] in MARKERS and len(sentence) > 2 and sentence[1][0] == "-"
        found.append(sentence[2:] if marked else sentence)
    return found


def with_columns(path: Path, tagger: Model) -> ColumnCorpus:
    """JNLPBA's words and labels, with part of speech and orthography between them."""
    sentences = _sentences(path)
    tags = tagger.tag_all([[word for word, _ in sentence] for sentence in sentences])
    tagged = [
        [(word, tag, label) for (word, label), tag in zip(sentence, found, strict=True)]
        for sentence, found in zip(sentences, tags, strict=True)
    ]
    return ColumnCorpus.from_sentences(add_columns(tagged, [orthography], before=1))


def _sentences(path: Path) -> list[Sentence]:
    """Lines ``word<TAB>tag``; a blank line ends a sentence."""
    blocks = path.read_text(encoding="utf-8").split("\n\n")
    found = []
    for block in blocks:
        lines = [line.split("\t") for line in block.split("\n") if line.strip()]
        rows = [(line[0], line[-1]) for line in lines if not line[0].startswith("###")]
        if rows:
            found.append(rows)
    return found


BIO_NER = Recipe(
    "bio-ner",
    "Biomedical named entities, JNLPBA 2004",
    "Sun et al. (2014), tables 2 and 4",
    read,
    "bio-ner",
    {"adf": {"rate": 0.02, "sigma": 1.0}, "sgd": {"rate": 0.01, "sigma": 1.0}},
    {
        "lbfgs": 68.92,
        "sgd": 71.79,
        "perceptron": 66.15,
        "averaged-perceptron": 70.61,
        "adf": 72.25,
    },
)
