"""Recipes run: their studies measured, one after the other, and the figures kept in files."""

from __future__ import annotations

import itertools
import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from adaptag.errors import FileError
from adaptag.experiments.comparison import check_contestants, contest, machine
from adaptag.experiments.results import Comparison, Table
from adaptag.experiments.space import configurations, resolve
from adaptag.experiments.space import shown as shown_value
from adaptag.storage.files import replace_file, shown
from adaptag.training.algorithms import algorithm as find_algorithm
from reproduction.recipes.recipe import Measurement, Row, Study

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from adaptag.experiments.comparison import Contestant
    from adaptag.experiments.problem import Problem
    from adaptag.settings import Value
    from adaptag.training.callbacks import Callback
    from reproduction.recipes.recipe import Effort, Recipe

    OnRun = Callable[[str, int | None, int, int], None]

__all__ = ["Choice", "Figures", "reproduce", "tune", "tuning_page"]

FIGURES = "figures"
# Where settings are chosen: passes at most, and iterations of a batch algorithm.
MOST_PASSES, MOST_ITERATIONS = 10, 40
SCORE, OBJECTIVE = "Score", "Objective"


@dataclass
class Figures:
    """What was measured of a recipe.

    Attributes:
        folder: that of the results.
        recipe: its name.
        studies: by their keys: a ``comparison``, or ``tables``; the ``seconds`` it took; the
            ``rows`` that were asked for.
        machine: that of the last study.
        quick: whether it was little work.
    """

    folder: Path
    recipe: str
    studies: dict[str, dict[str, Any]]
    machine: dict[str, str]
    quick: bool = False

    @classmethod
    def load(cls, folder: Path, recipe: str) -> Figures:
        """Read what there is; nothing, where there is no file."""
        path = folder / FIGURES / f"{recipe}.json"
        if not path.exists():
            return cls(folder, recipe, {}, machine())
        try:
            content = json.loads(path.read_bytes())
            return cls(folder, recipe, content["studies"], content["machine"], content["quick"])
        except (ValueError, KeyError, TypeError) as error:
            raise FileError(f"{shown(path)}: no figures of a reproduction: {error}") from None

    def save(self) -> None:
        """Write all, or leave the file as it was."""
        content = {"quick": self.quick, "machine": self.machine, "studies": self.studies}
        path = self.folder / FIGURES / f"{self.recipe}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as file:
            file.write((json.dumps(content) + "\n").encode())

    def comparison(self, key: str) -> Comparison | None:
        """The contest of a study; none where it was not run, or is none."""
        found = self.studies.get(key, {}).get("comparison")
        return None if found is None else Comparison.from_dict(found)

    def tables(self, key: str) -> list[Table]:
        """The tables of a measurement."""
        found = self.studies.get(key, {}).get("tables", [])
        return [Table(one["head"], one["rows"]) for one in found]


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
        output: where figures are kept.
        effort: how much of it.
        resume: leave out studies that have figures, of the same settings.
        callbacks: watch each training.
        on_run: called before each training, as in ``compare``.
        say: takes a line on where the work is.

    Returns:
        Whether all was done; not, where Ctrl-C ended it.
    """
    figures = Figures.load(output, recipe.name)
    if not resume or figures.quick != effort.quick:
        figures.studies = {}
    studies = [
        study
        for study in recipe.studies
        if figures.studies.get(study.key, {}).get("rows") != _asked(study)
    ]
    if not studies:
        return True
    say("reading the corpora")
    corpora = recipe.read(data)
    prepared = _Prepared(recipe, corpora)
    for study in studies:
        say(study.title)
        began = time.perf_counter()
        if isinstance(study, Measurement):
            tables = study.measure(corpora, effort, say)
            found: dict[str, Any] = {"tables": [{"head": t.head, "rows": t.rows} for t in tables]}
        else:
            rows = [_limited(row, effort) for row in study.rows]
            comparison = contest(
                _contestants(prepared, rows),
                seeds=range(1, effort.seeds(study.seeds) + 1),
                whole_objective=study.whole_objective,
                callbacks=callbacks,
                on_run=on_run,
            )
            if comparison.left_out:
                return False
            found = {"comparison": comparison.to_dict()}
        seconds = round(time.perf_counter() - began, 1)
        figures.studies[study.key] = {"rows": _asked(study), "seconds": seconds, **found}
        figures.machine = machine() | {"at a time": str(effort.jobs)}
        figures.quick = effort.quick
        figures.save()
    return True


class _Prepared:
    """The problems of a recipe; that of the features used last is kept."""

    def __init__(self, recipe: Recipe, corpora: Any) -> None:
        self.recipe, self.corpora = recipe, corpora
        self.last: tuple[str, Problem] | None = None

    def __call__(self, features: str) -> Problem:
        if self.last is None or self.last[0] != features:
            self.last = None  # before the next one is made: both may not fit
            self.last = (features, self.recipe.problem(self.corpora, features))
        return self.last[1]


def _limited(row: Row, effort: Effort) -> Row:
    passes = effort.passes(int(row.settings["passes"]))
    return replace(row, settings={**row.settings, "passes": passes})


def _asked(study: Study | Measurement) -> list[Any]:
    """What the figures of a study depend on, ready for JSON."""
    if isinstance(study, Measurement):
        return []
    return [[row.name, row.features, dict(row.settings)] for row in study.rows]


def _contestants(prepared: _Prepared, rows: Sequence[Row]) -> list[tuple[Contestant, Problem]]:
    """Check all rows, then prepare their problems."""
    problems = {row.features: prepared(row.features) for row in rows}
    names, settings = [], {}
    for row in rows:
        n = len(problems[row.features].parts[0].train)
        names.append(row.name)
        settings[row.name.partition("=")[0]] = resolve(dict(row.settings), n)
    checked = check_contestants(names, settings, None)
    return [(one, problems[row.features]) for one, row in zip(checked, rows, strict=True)]


# ---- choosing ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """What was tried for a row of a study, best first.

    Attributes:
        study: its title.
        row: its name.
        measure: what decided.
        tried: settings, and what they reached.
    """

    study: str
    row: str
    measure: str
    tried: list[tuple[dict[str, Value], float]]

    def table(self) -> Table:
        """All that was tried; the first line was chosen."""
        form = ".4f" if self.measure == OBJECTIVE else ".2f"
        rows = [
            [", ".join(f"{n} {shown_value(v)}" for n, v in settings.items()), format(value, form)]
            for settings, value in self.tried
        ]
        return Table(["Settings", self.measure], rows)


def tune(
    recipe: Recipe,
    data: Path,
    *,
    callbacks: Sequence[Callback] = (),
    on_run: OnRun | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> list[Choice]:
    """Try the grids of a recipe's rows on its training data alone.

    There are fewer passes than in the studies. What counts is the score after the last one; with a
    whole objective, for online algorithms, the objective of what was trained on.

    Args:
        recipe: the task.
        data: the folder of corpora.
        callbacks: watch each training.
        on_run: called before each training.
        say: takes a line on where the work is.
    """
    say("reading the corpora")
    prepared = _Prepared(recipe, recipe.training(recipe.read(data)))
    found = []
    studies = [study for study in recipe.studies if isinstance(study, Study)]
    for study, row in itertools.chain.from_iterable(((s, r) for r in s.rows) for s in studies):
        if not row.grid:
            continue
        say(f"{study.title}: {row.name}")
        name, _, algorithm = row.name.partition("=")
        grid = configurations({n: tuple(values) for n, values in row.grid.items()})
        rows = [
            Row(f"{name}.{k}={algorithm or name}", _tuned(row, one), features=row.features)
            for k, one in enumerate(grid)
        ]
        comparison = contest(
            _contestants(prepared, rows),
            whole_objective=study.whole_objective,
            callbacks=callbacks,
            on_run=on_run,
        )
        if comparison.left_out:
            raise KeyboardInterrupt
        by_loss = study.whole_objective and comparison.entries[0].online
        curve = "objective" if by_loss else "scores"
        values = [entry.at_end(curve).value for entry in comparison.entries]
        tried = sorted(
            zip(grid, values, strict=True), key=lambda one: one[1] if by_loss else -one[1]
        )
        found.append(Choice(study.title, row.name, OBJECTIVE if by_loss else SCORE, tried))
    return found


def _tuned(row: Row, changed: dict[str, Value]) -> dict[str, Value]:
    """Settings to try, with fewer passes than in the study."""
    online = find_algorithm(row.name.rpartition("=")[2]).online
    most = MOST_PASSES if online else MOST_ITERATIONS
    return {**row.settings, **changed, "passes": min(most, int(row.settings["passes"]))}


def tuning_page(recipe: Recipe, choices: Sequence[Choice]) -> str:
    """The evidence as Markdown."""
    parts = [
        f"# Settings: {recipe.title}",
        "On the training data alone: the test data is not looked at. Settings are scored after "
        f"{MOST_PASSES} passes, or {MOST_ITERATIONS} iterations of batch algorithms, or those of "
        "the study where they are fewer; seed 1. What was chosen stands first.",
        (recipe.training.__doc__ or "").split("\n")[0],
        f"Command: `python -m reproduction {recipe.name} --tune`",
    ]
    for choice in choices:
        parts += [f"## {choice.study}: {choice.row}", choice.table().markdown()]
    return "\n\n".join(parts) + "\n"
