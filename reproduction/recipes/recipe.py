"""What a recipe is: a task of the papers, from its corpora to the contests on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adaptag import api
from adaptag.dataset.encoded import Dataset
from adaptag.errors import FileError
from adaptag.experiments.problem import Problem, tagging_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from adaptag.experiments.results import Table
    from adaptag.corpus.data import Corpus
    from adaptag.features.template import Template
    from adaptag.settings import Value

__all__ = [
    "HE_WANG",
    "RIVAL_CHARTS",
    "TSURUOKA",
    "WINDOW",
    "Corpora",
    "Effort",
    "Measurement",
    "MissingCorpusError",
    "Published",
    "Recipe",
    "Row",
    "Study",
    "System",
    "encoded",
    "files_of",
    "hold_out",
]

QUICK_PASSES = 2
HE_WANG = "He and Wang (2012), table 5"
TSURUOKA = "Tsuruoka et al. (2009), tables 1 to 3"
# Figures 2 and 4 of Sun et al. (2014): ADF beside the online methods, and beside L-BFGS.
RIVAL_CHARTS = (
    ("scores", ("adf", "sgd", "perceptron", "averaged-perceptron")),
    ("scores", ("adf", "lbfgs")),
)
# Tokens and pairs of neighbours in a window of five: lines that templates begin with.
WINDOW = """\
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-2,0]/%x[-1,0]
U06:%x[-1,0]/%x[0,0]
U07:%x[0,0]/%x[1,0]
U08:%x[1,0]/%x[2,0]
"""
HELD_OUT = 5  # the last fifth of the training sentences


class MissingCorpusError(FileError):
    """A recipe's corpus is not in the folder of corpora."""


class Corpora(NamedTuple):
    """Training and test data; both have a length and ``select``."""

    train: Any
    test: Any


@dataclass(frozen=True)
class Published:
    """The figures that a paper has for a row.

    Attributes:
        score: F1 or accuracy, in percent.
        precision: in percent.
        recall: in percent.
        passes: over the training data.
        seconds: of training.
        weights: that are not 0.
        objective: per training sentence, as a loss.
    """

    score: float | None = None
    precision: float | None = None
    recall: float | None = None
    passes: int | None = None
    seconds: float | None = None
    weights: int | None = None
    objective: float | None = None


class System(NamedTuple):
    """Another system, as a paper reports it."""

    name: str
    method: str
    score: float


@dataclass(frozen=True)
class Row:
    """An algorithm in a study.

    Attributes:
        name: an algorithm; ``slow=sgd`` is the algorithm ``sgd`` by the name ``slow``.
        settings: its parameters, and ``passes``. A ``window`` may be a part of the sentences,
            ``n/10``.
        published: what the paper has for it.
        features: which of the recipe's features it has.
        grid: what ``--tune`` tries for some of its settings.
    """

    name: str
    settings: Mapping[str, Value] = field(default_factory=dict)
    published: Published = Published()
    features: str = ""
    grid: Mapping[str, Sequence[Value]] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """A contest that stands beside a table or figure of a paper.

    Attributes:
        key: names its figures in files.
        title: what it asks.
        source: the paper's table and figures.
        rows: the contestants; the others are tested against the first.
        seeds: how many orders of sentences.
        text: where it differs from the paper, and what follows from that.
        charts: curves to draw, ``scores``, ``objective`` or ``active``, and for each the names of
            the rows in it; no names: all.
        column: the paper's table and the column of it that this study is, for the summary.
        whole_objective: whether the objective is that of all training data after each pass, with
            its regularisation; settings are then chosen by it.
    """

    key: str
    title: str
    source: str
    rows: tuple[Row, ...]
    seeds: int = 1
    text: str = ""
    charts: tuple[tuple[str, tuple[str, ...]], ...] = (("scores", ()),)
    column: tuple[str, str] | None = None
    whole_objective: bool = False

    @property
    def published(self) -> dict[str, Published]:
        """What the paper has, by the names of the contestants."""
        return {row.name.partition("=")[0]: row.published for row in self.rows}


@dataclass(frozen=True)
class Effort:
    """How a reproduction works: all of it or little, alone or beside others.

    Attributes:
        quick: few passes and one seed, to see that all works.
        jobs: recipes that run at a time.
    """

    quick: bool = False
    jobs: int = 1

    def passes(self, wanted: int) -> int:
        """Passes, of those that a study wants."""
        return min(QUICK_PASSES, wanted) if self.quick else wanted

    def seeds(self, wanted: int) -> int:
        """Seeds, of those that a study wants."""
        return 1 if self.quick else wanted


@dataclass(frozen=True)
class Measurement:
    """Tables of a paper that are no contest of algorithms.

    Attributes:
        key: names its figures in files.
        title: what it asks.
        source: the paper's table.
        measure: makes the tables from the corpora; it says where it is through the function given.
        text: how to read them.
    """

    key: str
    title: str
    source: str
    measure: Callable[[Any, Effort, Callable[[str], None]], list[Table]]
    text: str = ""


def hold_out(corpora: Corpora) -> Corpora:
    """Train on the first four fifths of the training sentences, score on the last fifth."""
    n = len(corpora.train)
    cut = n - n // HELD_OUT
    parts = (np.arange(cut), np.arange(cut, n))
    return Corpora(*(corpora.train.select(part) for part in parts))


@dataclass(frozen=True)
class Recipe:
    """A task: its data, its features, and the studies on it.

    Attributes:
        name: what the command line calls it.
        title: what it is.
        about: its data and features, in Markdown.
        read: makes training and test data from the folder of corpora.
        problem: makes a problem of them, with the features of that name.
        studies: what is measured.
        systems: other systems of a paper's table, their methods and scores.
        minutes: about how long it takes on one core; long ones are begun first.
        training: takes the training data alone, for choosing settings: as corpora of their own,
            with test data from among them.
    """

    name: str
    title: str
    about: str
    read: Callable[[Path], Any]
    problem: Callable[[Any, str], Problem]
    studies: tuple[Study | Measurement, ...]
    systems: tuple[System, ...] = ()
    minutes: float = 1
    training: Callable[[Any], Any] = hold_out


def encoded(
    corpora: tuple[Corpus, Corpus], template: str | Template, *, cutoff: int = 1
) -> Problem:
    """Make a problem of labelled corpora and a template."""
    train = api.encode(corpora[0], template=template, cutoff=cutoff)
    return tagging_problem(train, Dataset.encode(corpora[1], train.index, train.label_names))


def files_of(folder: Path, *names: str) -> list[Path]:
    """Files of a corpus, which must be there."""
    paths = [folder / name for name in names]
    for path in paths:
        if not path.is_file():
            raise MissingCorpusError(f"{path}: the corpus is not there")
    return paths
