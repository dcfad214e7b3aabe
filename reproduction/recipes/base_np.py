"""Base noun phrases: CoNLL-2000 with noun phrases alone, and the rich edges of the 2014 paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptag.corpus.columns import ColumnCorpus
from adaptag.features.template import Template
from reproduction.recipes.chunking import sentences_of
from reproduction.recipes.recipe import (
    ALGORITHM_CHARTS,
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
    from pathlib import Path

    from adaptag.experiments.problem import Problem

__all__ = ["BASE_NP"]

PLAIN = "plain"
RATES = (0.02, 0.05, 0.1, 0.2)
SIGMAS = (1.0, 2.0, 5.0)


def read(folder: Path) -> Corpora:
    """The corpus of chunking, where all but noun phrases is outside."""
    files = files_of(folder, "conll2000/train.txt", "conll2000/test.txt")
    return Corpora(*(ColumnCorpus.from_sentences(noun_phrases(path)) for path in files))


def noun_phrases(path: Path) -> list[list[tuple[str, str, str]]]:
    """Word, part of speech and label: B-NP, I-NP or O."""
    return [
        [(word, pos, label if label.endswith("-NP") else "O") for word, pos, label in sentence]
        for sentence in sentences_of(path)
    ]


def problem(corpora: Corpora, features: str) -> Problem:
    """Every feature has edge weights too; none has, where features are plain."""
    rich = Template.load("base-np")
    return encoded(corpora, rich.plain() if features == PLAIN else rich)


BASE_NP = Recipe(
    "base-np",
    "Base noun phrases",
    """\
CoNLL-2000, noun phrases alone (B-NP, I-NP, all else O); the features of table 3 of Sun et al.
(2014), preset `base-np`. The score is the F of chunks.""",
    read,
    problem,
    (
        Study(
            "algorithms",
            "ADF and the methods it was compared with",
            "table 4, chunking, and figures 2 and 4 of Sun et al. (2014)",
            (
                Row(
                    "adf",
                    {"rate": 0.1, "sigma": 5, "passes": 25},
                    Published(94.52, 94.66, 94.38, 17, 282.17),
                    grid={"rate": RATES, "sigma": SIGMAS},
                ),
                Row(
                    "sgd",
                    {"rate": 0.1, "sigma": 5, "passes": 56},
                    Published(94.26, 94.48, 94.04, 56, 903.88),
                    grid={"rate": RATES, "sigma": SIGMAS},
                ),
                Row(
                    "lbfgs",
                    {"sigma": 5, "passes": 150},
                    Published(94.33, 94.57, 94.09, 105, 797.04),
                ),
                Row(
                    "perceptron",
                    {"passes": 100},
                    Published(93.48, 93.66, 93.31, 200, 543.51),
                ),
                Row(
                    "averaged-perceptron",
                    {"passes": 30},
                    Published(94.19, 94.34, 94.04, 12, 33.45),
                ),
            ),
            seeds=3,
            text="""\
The paper's models have weights only for pairs of feature and label that occur in the training data
(4.8 × 10⁵ features); adaptag has weights for all pairs. Keeping to pairs that occur was tried: in
cross-validation it is lower. The paper's perceptron makes 200 passes; it moves up and down long
before that.""",
            charts=ALGORITHM_CHARTS,
        ),
        Study(
            "edges",
            "Rich edges, CW and AROW",
            "figure 3, top row, of Sun et al. (2014)",
            (
                Row("adf", {"rate": 0.1, "sigma": 5, "passes": 25}),
                Row("adf-plain=adf", {"rate": 0.1, "sigma": 5, "passes": 25}, features=PLAIN),
                Row("cw", {"confidence": 0.8, "passes": 25}, features=PLAIN),
                Row("arow", {"gamma": 100, "passes": 25}, features=PLAIN),
            ),
            text="""\
`adf` has rich edges, the others plain ones. The settings of CW and AROW are those chosen for all
phrase types.""",
        ),
        Study(
            "batches",
            "Mini-batches of ten sentences",
            "figure 3, bottom row, of Sun et al. (2014)",
            (
                Row("adf", {"rate": 0.1, "sigma": 5, "passes": 30}),
                Row("adf-10=adf", {"rate": 0.1, "sigma": 5, "batch": 10, "passes": 30}),
                Row("sgd", {"rate": 0.1, "sigma": 5, "passes": 30}),
                Row("sgd-10=sgd", {"rate": 0.1, "sigma": 5, "batch": 10, "passes": 30}),
            ),
            text="Rates are those of single sentences: an update sums the gradients of its ten.",
        ),
        Study(
            "one-pass",
            "One pass",
            "figure 5 of Sun et al. (2014)",
            (
                Row(
                    "adf",
                    {"rate": 0.1, "sigma": 5, "alpha": 0.99, "window": "n/50", "passes": 1},
                    grid={
                        "rate": (0.05, 0.1, 0.2, 0.5),
                        "window": ("n/10", "n/20", "n/50"),
                        "alpha": (0.99, 0.995),
                    },
                ),
                Row(
                    "sgd",
                    {"rate": 0.1, "sigma": 5, "decay": 0.1, "passes": 1},
                    grid={"rate": (0.05, 0.1, 0.2, 0.5), "decay": (0.85, 0.2, 0.1)},
                ),
                Row("perceptron", {"passes": 1}),
                Row("averaged-perceptron", {"passes": 1}),
            ),
            seeds=3,
            charts=(),
        ),
    ),
    (
        System("Kudo and Matsumoto (2001)", "several SVM combined", 94.2),
        System("Vishwanathan et al. (2006)", "CRF, SMD", 93.6),
        System("Sun et al. (2008)", "latent-variable CRF", 94.3),
        System("Sun et al. (2014)", "CRF, ADF", 94.5),
    ),
    minutes=4,
)
