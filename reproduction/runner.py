"""Runs recipes: measures their studies one after the other, and saves the figures in files."""

from __future__ import annotations

import itertools
import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from adaptag.errors import FileError
from adaptag.experiments.candidates import check_candidates
from adaptag.experiments.comparison import compare_candidates, machine
from adaptag.experiments.results import Comparison
from adaptag.experiments.space import configurations, format_value, resolve
from adaptag.experiments.tables import Table
from adaptag.storage.files import replace_file, shown
from adaptag.training.algorithms import algorithm as find_algorithm
from reproduction.recipes.recipe import Measurement, Row, Study

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from adaptag.experiments.candidates import Candidate
    from adaptag.experiments.problem import Problem
    from adaptag.settings import Value
    from adaptag.training.callbacks import Callback
    from reproduction.recipes.recipe import Effort, Recipe

    OnRun = Callable[[str, int | None, int, int], None]

__all__ = ["Choice", "Figures", "reproduce", "tune", "tuning_page"]

FIGURES = "figures"
MOST_PASSES = 10  # of online algorithms, when settings are chosen
SCORE, OBJECTIVE = "Score", "Objective"


@dataclass
class Figures:
    """The figures that were measured for a recipe.

    Attributes:
        folder: The folder of the results.
        recipe: The name of the recipe.
        studies: For each key of a study, a ``comparison`` or ``tables``, the ``seconds`` it took,
            and the settings of its ``rows``.
        machine: The machine that measured the last study.
        quick: Whether it was a quick run.
    """

    folder: Path
    recipe: str
    studies: dict[str, dict[str, Any]]
    machine: dict[str, str]
    quick: bool = False

    @classmethod
    def load(cls, folder: Path, recipe: str) -> Figures:
        """Read the figures of a recipe; empty where there is no file."""
        path = folder / FIGURES / f"{recipe}.json"
        if not path.exists():
            return cls(folder, recipe, {}, machine())
        try:
            content = json.loads(path.read_bytes())
            return cls(folder, recipe, content["studies"], content["machine"], content["quick"])
        except (ValueError, KeyError, TypeError) as error:
            raise FileError(f"{shown(path)}: no figures of a reproduction: {error}") from None

    def save(self) -> None:
        """Write the file completely, or leave it unchanged."""
        content = {"quick": self.quick, "machine": self.machine, "studies": self.studies}
        path = self.folder / FIGURES / f"{self.recipe}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as file:
            file.write((json.dumps(content) + "\n").encode())

    def comparison(self, key: str) -> Comparison | None:
        """The comparison of a study; None where there is none."""
        content = self.studies.get(key, {}).get("comparison")
        return None if content is None else Comparison.from_dict(content)

    def tables(self, key: str) -> list[Table]:
        """The tables of a measurement."""
        tables = self.studies.get(key, {}).get("tables", [])
        return [Table(table["head"], table["rows"]) for table in tables]


def reproduce(
    recipe: Recipe,
    data: Path,
    output: Path,
    effort: Effort,
    *,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
    on_run: OnRun | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> bool:
    """Measure the studies of a recipe; each is saved when it is finished.

    Args:
        recipe: the task.
        data: the folder of corpora.
        output: the folder of figures.
        effort: a full or a quick run.
        resume: skip studies that were measured before with the same settings.
        callbacks: called during each training.
        on_run: called before each training, as in ``compare``.
        say: called with progress messages.

    Returns:
        Whether all studies were finished; False after Ctrl-C.
    """
    figures = Figures.load(output, recipe.name)
    if not resume or figures.quick != effort.quick:
        figures.studies = {}
    studies = [
        study
        for study in recipe.studies
        if figures.studies.get(study.key, {}).get("rows") != _settings(study)
    ]
    if not studies:
        return True
    say("reading the corpora")
    corpora = recipe.read(data)
    problems = _Problems(recipe, corpora)
    for study in studies:
        say(study.title)
        began = time.perf_counter()
        if isinstance(study, Measurement):
            tables = study.measure(corpora, effort, say)
            measured: dict[str, Any] = {
                "tables": [{"head": t.head, "rows": t.rows} for t in tables]
            }
        else:
            rows = [_shortened(row, effort) for row in study.rows]
            source = problems.held_out() if study.held_out else problems
            comparison = compare_candidates(
                _candidates(source, rows),
                seeds=range(1, effort.seeds(study.seeds) + 1),
                whole_objective=study.whole_objective,
                callbacks=callbacks,
                on_run=on_run,
            )
            if comparison.unfinished:
                return False
            measured = {"comparison": comparison.to_dict()}
        seconds = round(time.perf_counter() - began, 1)
        figures.studies[study.key] = {"rows": _settings(study), "seconds": seconds, **measured}
        figures.machine = machine() | {"at a time": str(effort.jobs)}
        figures.quick = effort.quick
        figures.save()
    return True


class _Problems:
    """The problems of a recipe; only the most recent one is cached."""

    def __init__(self, recipe: Recipe, corpora: Any) -> None:
        self.recipe, self.corpora = recipe, corpora
        self.last: tuple[str, Problem] | None = None

    def held_out(self) -> _Problems:
        """Those of held-out training data; the one cached here is freed."""
        self.last = None
        return _Problems(self.recipe, self.recipe.training(self.corpora))

    def __call__(self, features: str) -> Problem:
        if self.last is None or self.last[0] != features:
            self.last = None  # frees memory before the next one is made
            self.last = (features, self.recipe.problem(self.corpora, features))
        return self.last[1]


def _shortened(row: Row, effort: Effort) -> Row:
    passes = effort.passes(int(row.settings["passes"]))
    return replace(row, settings={**row.settings, "passes": passes})


def _settings(study: Study | Measurement) -> list[Any]:
    """The settings that the figures of a study depend on, ready for JSON."""
    if isinstance(study, Measurement):
        return []
    return [[row.name, row.features, dict(row.settings)] for row in study.rows]


def _candidates(problems: _Problems, rows: Sequence[Row]) -> list[tuple[Candidate, Problem]]:
    """Make the candidates of the rows, each with its problem."""
    by_features = {row.features: problems(row.features) for row in rows}
    names, settings = [], {}
    for row in rows:
        n = len(by_features[row.features].parts[0].train)
        names.append(row.name)
        settings[row.name.partition("=")[0]] = resolve(dict(row.settings), n)
    candidates = check_candidates(names, settings, None)
    return [(c, by_features[row.features]) for c, row in zip(candidates, rows, strict=True)]


# ---- choosing ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """The settings that were tried for a row of a study.

    Attributes:
        study: The title of the study.
        row: The name of the row.
        metric: The metric that the choice is based on.
        tried: The settings and their values of the metric, the best first.
    """

    study: str
    row: str
    metric: str
    tried: list[tuple[dict[str, Value], float]]

    def table(self) -> Table:
        """All settings that were tried; the first row was chosen."""
        form = ".4f" if self.metric == OBJECTIVE else ".2f"
        rows = [
            [", ".join(f"{n} {format_value(v)}" for n, v in settings.items()), format(value, form)]
            for settings, value in self.tried
        ]
        return Table(["Settings", self.metric], rows)


def tune(
    recipe: Recipe,
    data: Path,
    *,
    callbacks: Sequence[Callback] = (),
    on_run: OnRun | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> list[Choice]:
    """Search the grids of a recipe's rows on its training data alone.

    Online algorithms make fewer passes than in the studies. Settings are chosen by the score after
    the last pass; in studies of the whole objective, those of online algorithms by that objective.

    Args:
        recipe: the task.
        data: the folder of corpora.
        callbacks: called during each training.
        on_run: called before each training.
        say: called with progress messages.
    """
    say("reading the corpora")
    problems = _Problems(recipe, recipe.training(recipe.read(data)))
    choices = []
    studies = [study for study in recipe.studies if isinstance(study, Study)]
    for study, row in itertools.chain.from_iterable(((s, r) for r in s.rows) for s in studies):
        if not row.grid:
            continue
        say(f"{study.title}: {row.name}")
        name, _, algorithm = row.name.partition("=")
        grid = configurations({n: tuple(values) for n, values in row.grid.items()})
        rows = [
            Row(f"{name}.{k}={algorithm or name}", _tuned(row, values), features=row.features)
            for k, values in enumerate(grid)
        ]
        comparison = compare_candidates(
            _candidates(problems, rows),
            whole_objective=study.whole_objective,
            callbacks=callbacks,
            on_run=on_run,
        )
        if comparison.unfinished:
            raise KeyboardInterrupt
        by_loss = study.whole_objective and comparison.entries[0].online
        curve = "objective" if by_loss else "scores"
        reached = [entry.at_end(curve).value for entry in comparison.entries]
        tried = sorted(
            zip(grid, reached, strict=True), key=lambda pair: pair[1] if by_loss else -pair[1]
        )
        choices.append(Choice(study.title, row.name, OBJECTIVE if by_loss else SCORE, tried))
    return choices


def _tuned(row: Row, changed: dict[str, Value]) -> dict[str, Value]:
    """Settings to try; online algorithms make fewer passes than in the study."""
    passes = int(row.settings["passes"])
    if find_algorithm(row.name.rpartition("=")[2]).online:
        passes = min(MOST_PASSES, passes)
    return {**row.settings, **changed, "passes": passes}


def tuning_page(recipe: Recipe, choices: Sequence[Choice]) -> str:
    """The settings that were tried, as Markdown."""
    parts = [
        f"# Settings: {recipe.title}",
        "Chosen on the training data alone, without the test data. Settings are scored after "
        f"{MOST_PASSES} passes, or fewer where the study has fewer, and batch algorithms where "
        "they converged; seed 1. The first row of each table was chosen.",
        (recipe.training.__doc__ or "").split("\n")[0],
        f"Command: `python -m reproduction {recipe.name} --tune`",
    ]
    for choice in choices:
        parts += [f"## {choice.study}: {choice.row}", choice.table().markdown()]
    return "\n\n".join(parts) + "\n"
