"""All phrase types: CoNLL-2000 chunking with the features of CRF++'s example."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptag.corpus.columns import ColumnCorpus
from reproduction.recipes.recipe import (
    HE_WANG,
    MOST_ITERATIONS,
    TSURUOKA,
    Corpora,
    Published,
    Recipe,
    Row,
    Study,
    encoded,
    files_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from adaptag.experiments.problem import Problem
    from adaptag.settings import Value

__all__ = ["CHUNKING", "L1_CHARTS", "l1_rows", "sentences_of"]

CUT = "cutoff 3"
GRID = {"rate": (0.05, 0.1, 0.2), "sigma": (1.0, 2.0, 5.0)}


def read(folder: Path) -> Corpora:
    """Word, part of speech, label."""
    files = files_of(folder, "conll2000/train.txt", "conll2000/test.txt")
    return Corpora(*(ColumnCorpus.from_sentences(sentences_of(path)) for path in files))


def sentences_of(path: Path) -> list[list[tuple[str, str, str]]]:
    """Lines of three fields; a blank line ends a sentence."""
    blocks = path.read_text(encoding="utf-8").split("\n\n")
    lines = ([line.split() for line in block.split("\n") if line.strip()] for block in blocks)
    return [[(word, pos, label) for word, pos, label in rows] for rows in lines if rows]


def problem(corpora: Corpora, features: str) -> Problem:
    """With all features, or with those that occur three times or more."""
    return encoded(corpora, "chunking", cutoff=3 if features == CUT else 1)


def l1_rows(
    l1: float,
    rate: float,
    published: dict[str, Published],
    features: str = "",
    strengths: Sequence[float] = (0.5, 1.0, 2.0),
) -> tuple[Row, ...]:
    """OWL-QN and the stochastic L1 methods of Tsuruoka et al. (2009).

    Args:
        l1: the strength C, the same for all.
        rate: the first rate of the stochastic ones.
        published: figures of the paper, by name.
        features: which of the recipe's features all have.
        strengths: the values of C to choose from by F; none where it is chosen otherwise.
    """
    sgd: dict[str, Value] = {"l1": l1, "rate": rate, "passes": 30}
    settings: dict[str, dict[str, Value]] = {
        "cumulative-decay": {"penalty": "cumulative", "schedule": "exponential", **sgd},
        "cumulative": {"penalty": "cumulative", "schedule": "harmonic", **sgd},
        "clipping": {"penalty": "clipping", "schedule": "harmonic", **sgd},
    }
    rates = {"rate": (1.0, 0.5, 0.2, 0.1, 0.05, 0.02)}  # for the first; the others take its choice
    rows = [
        Row(
            f"{name}=sgd-l1",
            values,
            published.get(name, Published()),
            features,
            rates if name == "cumulative-decay" else {},
        )
        for name, values in settings.items()
    ]
    batch = {"l1": l1, "passes": MOST_ITERATIONS}
    grid = {"l1": strengths} if strengths else {}
    return (*rows, Row("owlqn", batch, published.get("owlqn", Published()), features, grid))


L1_CHARTS = (("objective", ()), ("active", ()))

CHUNKING = Recipe(
    "chunking",
    "Chunking, all phrase types",
    """\
CoNLL-2000, all phrase types; the features of CRF++'s example, preset `chunking`. The score is the F
of chunks.""",
    read,
    problem,
    (
        Study(
            "algorithms",
            "All algorithms",
            "table 5, chunking, of He and Wang (2012)",
            (
                Row("adf", {"rate": 0.1, "sigma": 5, "passes": 30}, Published(93.70), CUT, GRID),
                Row("madf", {"rate": 0.1, "sigma": 1, "passes": 30}, Published(93.78), CUT, GRID),
                Row(
                    "sgd",
                    {"rate": 0.05, "sigma": 2, "schedule": "bordes", "passes": 50},
                    Published(93.71),
                    CUT,
                    GRID,
                ),
                Row(
                    "lbfgs",
                    {"sigma": 2, "passes": MOST_ITERATIONS},
                    Published(93.74),
                    CUT,
                    {"sigma": (1.0, 2.0, 5.0)},
                ),
                Row(
                    "lbfgs-crf++=lbfgs",
                    {"sigma": 1, "passes": MOST_ITERATIONS},
                    Published(93.74),
                    CUT,
                ),
                Row("perceptron", {"passes": 30}, features=CUT),
                Row("averaged-perceptron", {"passes": 30}, features=CUT),
                Row(
                    "dca",
                    {"aggressiveness": 0.1, "passes": 30},
                    Published(93.76),
                    CUT,
                    {"aggressiveness": (0.1, 1.0)},
                ),
                Row(
                    "pa",
                    {"aggressiveness": 0.1, "passes": 30},
                    Published(93.26),
                    CUT,
                    {"aggressiveness": (0.003, 0.01, 0.03, 0.1, 0.3)},
                ),
                Row(
                    "cw",
                    {"confidence": 0.8, "passes": 30},
                    features=CUT,
                    grid={"confidence": (0.55, 0.6, 0.7, 0.8, 0.9)},
                ),
                Row(
                    "arow",
                    {"gamma": 100, "passes": 30},
                    features=CUT,
                    grid={"gamma": (1.0, 10.0, 100.0, 1000.0)},
                ),
            ),
            seeds=3,
            text="""\
Features that occur less than three times are left out, as in the paper; passes are the paper's, 50
for SGD and 30 for the others. SGD has the paper's 1/t schedule. The published figure of L-BFGS is
that of CRF++, whose default is a σ of 1: `lbfgs-crf++`; `lbfgs` has the σ that is best on held-out
sentences.""",
            charts=(
                ("scores", ("adf", "madf", "sgd", "lbfgs")),
                ("scores", ("adf", "dca", "pa", "averaged-perceptron", "cw", "arow")),
            ),
            column=(HE_WANG, "Chunking"),
        ),
        Study(
            "l1",
            "L1 regularisation",
            "table 1 and figures 3 and 4 of Tsuruoka et al. (2009)",
            l1_rows(
                0.5,
                0.2,
                {
                    "owlqn": Published(93.62, None, None, 160, 598, 18_109, 1.583),
                    "clipping": Published(93.65, None, None, 30, 144, 87_792, 1.671),
                    "cumulative": Published(93.68, None, None, 30, 149, 28_189, 1.653),
                    "cumulative-decay": Published(93.66, None, None, 30, 148, 23_584, 1.622),
                },
            ),
            text="""\
All features. The paper does not give its C, on which objective and number of weights depend:
compare those between rows. Its models seem to have weights only for pairs of feature and label
that occur in the training data; adaptag has weights for all. C is chosen by the F that `owlqn`
reaches on held-out sentences, the rate by the objective after 30 passes. The naive penalty, which
touches every weight in every update, is left out: the paper finds its F and objective to be those
of clipping, and it would take hours here.""",
            charts=L1_CHARTS,
            column=(TSURUOKA, "Chunking"),
            whole_objective=True,
        ),
    ),
    minutes=5,
)
