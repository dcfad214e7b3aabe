"""The parsers trained again from the files that their projects publish."""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass
from typing import Any

from compat.sources import fresh_folder, source_of

__all__ = ["PARSERS", "TOLERANCE", "Parser", "Score", "train_parser"]

TOLERANCE = 0.005  # of accuracy, below that of the original
EVERY = 5  # each fifth sequence is kept for the test


@dataclass(frozen=True)
class Parser:
    """A model of a project that was made with parserator.

    Attributes:
        name: What the model is for.
        project: Its name on PyPI, and of its module.
        files: The training data, in its source distribution.
    """

    name: str
    project: str
    files: tuple[str, ...]


PERSONS = "name_data/labeled/person_labeled.xml"
COMPANIES = "name_data/labeled/company_labeled.xml"
PARSERS = (
    Parser("addresses", "usaddress", ("training/labeled.xml",)),
    Parser("names", "probablepeople", (PERSONS, COMPANIES)),
    Parser("persons", "probablepeople", (PERSONS,)),
    Parser("companies", "probablepeople", (COMPANIES,)),
)


@dataclass
class Score:
    """How a parser does on the sequences that it was not trained on.

    Attributes:
        tokens: Share of tokens with the correct label.
        sequences: Share of sequences all of whose labels are correct.
        seconds: Time of training.
        n_train: Number of training sequences.
        n_test: Number of test sequences.
        agrees: Whether pycrfsuite opens the model and gives the same labels.
    """

    tokens: float
    sequences: float
    seconds: float
    n_train: int
    n_test: int
    agrees: bool


def train_parser(parser: Parser, api: str) -> Score:
    """Train with parserator, as the set-up of the project does, and score.

    Args:
        parser: The parser.
        api: ``pycrfsuite`` or what stands in for it.
    """
    training: Any = importlib.import_module("parserator.training")
    module = importlib.import_module(parser.project)
    paths = [str(source_of(parser.project) / file) for file in parser.files]
    data = [row for row in training.readTrainingData(paths, module.GROUP_LABEL) if row[1]]
    train = [row for number, row in enumerate(data) if number % EVERY]
    test = data[::EVERY]
    path = str(fresh_folder(f"retraining/{parser.name}-{api}") / "model.crfsuite")
    original, training.pycrfsuite = training.pycrfsuite, importlib.import_module(api)
    began = time.perf_counter()
    try:
        training.trainModel(train, module, path)
    finally:
        training.pycrfsuite = original
    seconds = time.perf_counter() - began
    found = _labels(importlib.import_module(api), path, module, test)
    gold = [[label for _, label in components] for _, components in test]
    pairs = [(a, b) for x, y in zip(found, gold, strict=True) for a, b in zip(x, y, strict=True)]
    return Score(
        tokens=sum(a == b for a, b in pairs) / len(pairs),
        sequences=sum(x == y for x, y in zip(found, gold, strict=True)) / len(gold),
        seconds=seconds,
        n_train=len(train),
        n_test=len(test),
        agrees=found == _labels(original, path, module, test),
    )


def _labels(api: Any, path: str, module: Any, test: list[Any]) -> list[list[str]]:
    tagger = api.Tagger()
    tagger.open(path)
    return [
        tagger.tag(module.tokens2features([token for token, _ in components]))
        for _, components in test
    ]
