"""What a recipe is: a task of the papers, from its corpora to the studies on it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adaptag import api
from adaptag.corpus.settings import AS_IS
from adaptag.dataset.encoded import Dataset
from adaptag.errors import FileError
from adaptag.experiments.tasks import tagging_problem
from adaptag.training.algorithms import algorithm
from adaptag.training.settings import TaggingSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from adaptag.corpus.data import Corpus
    from adaptag.experiments.problem import Problem
    from adaptag.experiments.tables import Table
    from adaptag.features.template import Template
    from adaptag.settings import Value

__all__ = [
    "ALGORITHM_CHARTS",
    "DEFAULT",
    "DEFAULTS",
    "HELD_OUT_DEFAULTS",
    "HE_WANG",
    "MAIN",
    "MOST_ITERATIONS",
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
    "with_defaults",
]

QUICK_PASSES = 2
MOST_ITERATIONS = 2000  # of a batch algorithm: its own rule ends it long before
HE_WANG = "He and Wang (2012), table 5"
TSURUOKA = "Tsuruoka et al. (2009), tables 1 to 3"
# Figures 2 and 4 of Sun et al. (2014): ADF and the online methods, ADF and L-BFGS.
ALGORITHM_CHARTS = (
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
MAIN = "algorithms"  # the study that the summary is made of
DEFAULTS, HELD_OUT_DEFAULTS = "defaults", "held-out"  # the studies of the defaults
DEFAULT, DROPOUT = "default", 0.1


class MissingCorpusError(FileError):
    """A corpus of a recipe is missing from the folder of corpora."""


class Corpora(NamedTuple):
    """Training and test data; both have a length and ``select``."""

    train: Any
    test: Any


@dataclass(frozen=True)
class Published:
    """The published figures of a row.

    Attributes:
        score: The F1 or accuracy, in percent.
        precision: The precision, in percent.
        recall: The recall, in percent.
        passes: The number of passes over the training data.
        seconds: The training time.
        weights: The number of non-zero weights.
        objective: The loss per training sentence.
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
        name: The algorithm; ``slow=sgd`` is the algorithm ``sgd`` by the name ``slow``.
        settings: The parameters, and ``passes``. A ``window`` may be a fraction of the sentences,
            ``n/10``.
        published: The published figures.
        features: The name of the recipe's features to use.
        grid: The values that ``--tune`` tries, by parameter.
    """

    name: str
    settings: Mapping[str, Value] = field(default_factory=dict)
    published: Published = Published()
    features: str = ""
    grid: Mapping[str, Sequence[Value]] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """A comparison of algorithms that reproduces a table or figure of a paper.

    Attributes:
        key: The key of its figures in files.
        title: The title of its section.
        source: The paper's table and figures; empty where there are none.
        rows: The algorithms; the others are tested against the first.
        seeds: The number of seeds.
        text: Where it differs from the paper, and what follows from that.
        charts: The curves to draw, ``scores``, ``objective`` or ``active``, each with the names of
            the rows in it; no names mean all rows.
        column: The paper's table and the column in it that this study reproduces, for the summary.
        whole_objective: Whether the objective is that of all training data after each pass,
            regularisation included; settings are then chosen by it.
        held_out: Whether it is measured on held-out training data, as for choosing settings.
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
    held_out: bool = False

    @property
    def published(self) -> dict[str, Published]:
        """The published figures, by the names of the rows."""
        return {row.name.partition("=")[0]: row.published for row in self.rows}


@dataclass(frozen=True)
class Effort:
    """How much work a reproduction does.

    Attributes:
        quick: Whether to make few passes with one seed, to check that everything works.
        jobs: The number of recipes that run at a time.
    """

    quick: bool = False
    jobs: int = 1

    def passes(self, wanted: int) -> int:
        """The number of passes, given that of a study."""
        return min(QUICK_PASSES, wanted) if self.quick else wanted

    def seeds(self, wanted: int) -> int:
        """The number of seeds, given that of a study."""
        return 1 if self.quick else wanted


@dataclass(frozen=True)
class Measurement:
    """Tables of a paper that are not a comparison of algorithms.

    Attributes:
        key: The key of its figures in files.
        title: The title of its section.
        source: The paper's table.
        measure: A function that makes the tables from the corpora and reports its progress through
            the function given.
        text: How to read the tables.
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
        name: The name on the command line.
        title: The title of its page.
        about: A description of its data and features, in Markdown.
        read: A function that reads training and test data from the folder of corpora.
        problem: A function that makes a problem of them, with the features of a name.
        studies: The studies to measure.
        systems: Other systems of a paper's table, with their methods and scores.
        minutes: The approximate time on one core; long recipes are started first.
        training: A function that splits the training data into training and test data, for
            choosing settings.
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


def with_defaults(recipe: Recipe) -> Recipe:
    """Add studies of the defaults: on test data, with dropout beside them, and on held-out data.

    The main study's first row is ADF with settings that were chosen on training data.
    """
    main = next(s for s in recipe.studies if isinstance(s, Study) and s.key == MAIN)
    tuned = replace(main.rows[0], published=Published(), grid={})
    default = Row(f"{DEFAULT}=adf", {"passes": algorithm("adf").passes}, features=tuned.features)
    changed = {"dropout": DROPOUT, "passes": 2 * int(tuned.settings["passes"])}
    dropout = Row("dropout=adf", {**tuned.settings, **changed}, features=tuned.features)
    on_test = Study(
        DEFAULTS,
        "The default settings, and dropout",
        "",
        (tuned, default, dropout),
        seeds=3,
        text="`default`: 20 passes, a rate found on a sample, and σ = 5.",
        charts=(),
    )
    held_out = Study(
        HELD_OUT_DEFAULTS,
        "The default settings on held-out training data",
        "",
        (tuned, default),
        seeds=3,
        text=(recipe.training.__doc__ or "").split("\n")[0],
        charts=(),
        held_out=True,
    )
    return replace(recipe, studies=(*recipe.studies, on_test, held_out))


def encoded(
    corpora: tuple[Corpus, Corpus],
    template: str | Template,
    *,
    cutoff: int = 1,
    scheme: str = AS_IS,
) -> Problem:
    """Make a problem of labelled corpora, a template and a label scheme to train with."""
    train = api.encode(corpora[0], template=template, cutoff=cutoff)
    test = Dataset.encode(corpora[1], train.index, train.label_names)
    return tagging_problem(train, test, settings=TaggingSettings(scheme=scheme))


def files_of(folder: Path, *names: str) -> list[Path]:
    """The files of a corpus; an error where one is missing."""
    paths = [folder / name for name in names]
    for path in paths:
        if not path.is_file():
            raise MissingCorpusError(f"{path}: the corpus is missing")
    return paths
