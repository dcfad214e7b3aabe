"""Classification of documents: how values are scaled, and what accuracy follows.

usage: python documents.py [--tune]

Reviews of four domains (Blitzer, Dredze, Pereira 2007; positive or negative) and the sentences of
UD English EWT (short texts; five genres). Of each domain's reviews a fifth, drawn at random, is the
test part; EWT has a test file. Writes results/documents.md: accuracy on the test parts with the
defaults. With --tune: results/tuning-documents.md, three-fold cross-validation of other choices on
the training parts alone.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from unittest import mock

import numpy as np
from chunking import DATA
from measure import HERE
from report import Table, markdown_table

from adaptag.classification import documents
from adaptag.classification.documents import DocumentClassifier, Documents, Scaling
from adaptag.corpus.documents import parse
from adaptag.corpus.settings import DocumentFormat

REVIEWS = DATA.parent / "amazon_sentiment"
EWT = DATA.parent / "ud_english_ewt"
DOMAINS = ("books", "dvd", "electronics", "kitchen")
FOLDS = 3


@dataclass(frozen=True)
class Choice:
    """How documents are scaled and trained on."""

    name: str
    length: float | None = documents.LENGTH  # None: values as written
    normalise: bool | None = None
    rate: float | str = 0.1


CHOICES = [
    Choice("as written, rate 0.1", None),
    Choice("as written, rate 0.005", None, rate=0.005),
    Choice("as written, rate auto", None, rate="auto"),
    Choice("one factor, mean length 4", normalise=False),
    *(Choice(f"length {length}", length, True) for length in (3, 4, 5, 7)),
    Choice("length 4, rate auto", 4, True, "auto"),
]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tune", action="store_true")
    name = "tuning-documents" if parser.parse_args().tune else "documents"
    rows = tuned() if name.startswith("tuning") else tested()
    command = f"python benchmarks/documents.py{' --tune' * name.startswith('tuning')}"
    title, note = {
        "tuning-documents": (
            "Scaling of documents",
            f"Mean accuracy of {FOLDS} folds of the training parts, ADF, 10 passes.",
        ),
        "documents": ("Classification of documents", "Accuracy on the test parts, defaults."),
    }[name]
    table = Table(title, ["Values", *DOMAINS, "EWT genres"], rows)
    text = f"# {title}\n\n{note}\n\nCommand: `{command}`\n\n{markdown_table(table)}\n"
    print(text)
    (HERE / "results" / f"{name}.md").write_text(text, encoding="utf-8")


def tuned() -> list[list[str]]:
    rows = []
    for binary in (False, True):
        for choice in CHOICES:
            cells = [
                np.mean([accuracy(*fold, written, choice) for fold in folds(lines)])
                for lines, _, written in tasks(binary)
            ]
            kind = "binary" if binary else "counts"
            rows.append([f"{kind}, {choice.name}", *(f"{cell:.2f}" for cell in cells)])
            print(*rows[-1])
    return rows


def tested() -> list[list[str]]:
    return [
        [
            "binary" if binary else "counts",
            *(f"{accuracy(*task, Choice('default')):.2f}" for task in tasks(binary)),
        ]
        for binary in (False, True)
    ]


def tasks(binary: bool) -> list[tuple[list[str], list[str], DocumentFormat]]:
    """Training lines, test lines and format of each task."""
    found = []
    for domain in DOMAINS:
        lines = [
            line
            for kind in ("negative", "positive")
            for line in (REVIEWS / domain / f"{kind}.review").read_text("utf-8").split("\n")
            if line
        ]
        order = np.random.default_rng(2024).permutation(len(lines))
        shuffled = [lines[k] for k in order]
        n = len(lines) * 4 // 5
        found.append((shuffled[:n], shuffled[n:], DocumentFormat(format="counts", binary=binary)))
    written = DocumentFormat(format="text", binary=binary)
    return [*found, (sentences("train"), sentences("test"), written)]


def sentences(part: str) -> list[str]:
    """Genre and text of every sentence of EWT."""
    lines, genre = [], ""
    for line in (EWT / f"en_ewt-ud-{part}.conllu").read_text("utf-8").split("\n"):
        key, _, value = line.partition(" = ")
        if key == "# sent_id":
            genre = value.partition("-")[0]
        elif key == "# text":
            lines.append(f"{genre}\t{value}")
    order = np.random.default_rng(2024).permutation(len(lines))
    return [lines[k] for k in order]


def folds(lines: list[str]) -> list[tuple[list[str], list[str]]]:
    return [
        ([line for i, line in enumerate(lines) if i % FOLDS != k], lines[k::FOLDS])
        for k in range(FOLDS)
    ]


def accuracy(train: list[str], test: list[str], written: DocumentFormat, choice: Choice) -> float:
    corpus, right = (parse(lines, written) for lines in (train, test))
    as_written = mock.patch.object(Scaling, "of", return_value=Scaling(False))
    other = mock.patch.object(documents, "LENGTH", choice.length)
    with as_written if choice.length is None else other:
        classifier = DocumentClassifier.train(
            Documents(corpus, written), normalise=choice.normalise, rate=choice.rate
        )
        return classifier.evaluate(Documents(right, written)).accuracy


if __name__ == "__main__":
    main()
