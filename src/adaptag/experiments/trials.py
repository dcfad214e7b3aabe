"""The results of a search for settings: every trial with its scores, the choice, and tables."""

from __future__ import annotations

import math
import shlex
import statistics
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from adaptag.errors import ModelError
from adaptag.experiments.charts import Series, line_chart
from adaptag.experiments.declarations import TAGGING, TASKS
from adaptag.experiments.space import at_edge, format_value, preference, resolve
from adaptag.rendering.tables import Shown
from adaptag.training.algorithms import algorithm as find_algorithm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table
    from typing_extensions import Self

    from adaptag.experiments.space import Settings, Space
    from adaptag.settings import Value

__all__ = ["Trial", "Tuning"]

MOST_LINES = 8  # in a chart
ROOM = 3  # range of the y axis below the best, in spreads of the trials or of the folds


@dataclass
class Trial:
    """One combination of values, and its scores.

    Attributes:
        number: The index among all combinations.
        settings: The values.
        scores: For each fold, the score after each pass, in percent.
        ended: For each fold, whether the algorithm stopped by its own rule.
        fold_seconds: For each fold, the training time.
    """

    number: int
    settings: Settings
    scores: list[list[float]] = field(default_factory=list)
    ended: list[bool] = field(default_factory=list)
    fold_seconds: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Time of training, in all folds together."""
        return sum(self.fold_seconds)

    @property
    def trained(self) -> int:
        """Passes made; fewer than those of other trials where the search dropped it."""
        return max(map(len, self.scores), default=0)

    @property
    def curve(self) -> list[float]:
        """Mean score of the folds after each pass; a fold that stopped keeps its last score."""
        return [statistics.fmean(self.at(number)) for number in range(1, self.trained + 1)]

    @property
    def passes(self) -> int:
        """The number of passes with the best mean; of equals, the lowest."""
        curve = self.curve
        return 1 + curve.index(max(curve)) if curve else 0

    @property
    def mean(self) -> float:
        """The best mean score of the folds, in percent."""
        return max(self.curve, default=0.0)

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the folds' scores there; None where there is one fold."""
        scores = self.at(self.passes)
        return statistics.stdev(scores) if len(scores) > 1 else None

    def at(self, number: int) -> list[float]:
        """Score of each fold after a number of passes."""
        return [scores[min(number, len(scores)) - 1] for scores in self.scores if scores]

    @property
    def rank(self) -> tuple[float, ...]:
        """Sort key, best first; of equal scores by ``preference``, then by number."""
        return (-self.mean, *preference(self.settings), self.number)

    def to_dict(self) -> dict[str, Any]:
        """All attributes and the summary, ready for JSON."""
        figures = {"mean": self.mean, "deviation": self.deviation, "passes": self.passes}
        settings = {name: json_value(value) for name, value in self.settings.items()}
        return {**asdict(self), "settings": settings, **figures}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Read what ``to_dict`` wrote."""
        return cls(
            int(content["number"]),
            {name: _from_json(value) for name, value in content["settings"].items()},
            [[float(score) for score in scores] for scores in content["scores"]],
            [bool(ended) for ended in content["ended"]],
            [float(seconds) for seconds in content["fold_seconds"]],
        )


@dataclass(frozen=True, repr=False)
class Tuning(Shown):
    """The outcome of a search.

    Printed, and in a notebook, it is the table of trials, the best first, and the command that
    trains with the best settings.

    Attributes:
        algorithm: The algorithm that was tuned.
        data: The name of the training data.
        sentences: The number of sentences of the training data.
        metric: What the scores are: ``F1`` of chunks or words, or ``accuracy`` of tokens or
            documents.
        parts: How trials were scored, e.g. ``4 folds``.
        space: The values that were tried.
        rungs: For each round, the number of trials and of passes.
        trials: All trials, the best first.
        seed: The seed of the sentence order.
        options: Further options of the command that trains, which all trials share.
        task: The name of the task.
    """

    algorithm: str
    data: str
    sentences: int
    metric: str
    parts: str
    space: Space
    rungs: tuple[tuple[int, int], ...]
    trials: tuple[Trial, ...]
    seed: int = 1
    options: tuple[str, ...] = ()
    task: str = TAGGING.name

    def __repr__(self) -> str:
        values = ", ".join(f"{name} {format_value(v)}" for name, v in self.settings.items())
        score = f"{self.metric} {self.best.mean:.2f} on {self.parts}"
        return f"<Tuning of {self.algorithm}: {score} with {values}, {self.passes} passes>"

    def _shown(self) -> list[Any]:
        return [self.rich_table(), *self.notes(), self.command()]

    def rich_table(self) -> Table:
        """The trials for the terminal, the best first."""
        from rich.table import Table
        from rich.text import Text

        head, rows = self.rows()
        table = Table(title=Text(self.title), title_justify="left")
        for name in head:
            table.add_column(Text(name), justify="right")
        for number, row in enumerate(rows):
            table.add_row(*map(Text, row), style="bold" if number == 0 else None)
        return table

    @property
    def best(self) -> Trial:
        """The best trial."""
        return self.trials[0]

    @property
    def settings(self) -> Settings:
        """The values of the best trial."""
        return self.best.settings

    @property
    def passes(self) -> int:
        """The number of passes of the best trial."""
        return self.best.passes

    @cached_property
    def searched(self) -> tuple[str, ...]:
        """The parameters with more than one value."""
        return tuple(name for name, values in self.space.items() if len(values) > 1)

    def command(self, model: str = "model.adaptag") -> str:
        """The command that trains with the best settings, on all of the data."""
        train = TASKS[self.task].command
        words = [*train, self.data, *self.options, "--algorithm", self.algorithm]
        for name, value in resolve(self.settings, self.sentences).items():
            words += [f"--{name.replace('_', '-')}", format_value(value)]
        words += ["--passes", str(self.passes)]
        if self.seed != 1:
            words += ["--seed", str(self.seed)]
        return shlex.join([*words, "--model", model])

    def notes(self) -> list[str]:
        """Warnings: best values at the edge of those that were tried."""
        parameters = {p.name: p for p in find_algorithm(self.algorithm).parameters}
        declared = {**TASKS[self.task].declared(), **parameters}
        edges = [
            f"{name} {format_value(self.settings[name])}"
            for name in at_edge(self.space, self.settings, declared)
        ]
        if self.passes == self.rungs[-1][1] and not all(self.best.ended):
            edges.append(f"passes {self.passes}")
        return [f"best at the edge of the values tried: {', '.join(edges)}"] if edges else []

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """The trials as a table: its head, and a row each, the best first."""
        head = [*self.searched, self.metric, "±", "passes", "trained", "seconds"]
        rows = []
        for trial in self.trials:
            spread = "" if trial.deviation is None else f"{trial.deviation:.2f}"
            figures = [f"{trial.mean:.2f}", spread, str(trial.passes), str(trial.trained)]
            values = [format_value(trial.settings[name]) for name in self.searched]
            rows.append([*values, *figures, f"{trial.seconds:.1f}"])
        return head, rows

    @property
    def title(self) -> str:
        """The search in one line."""
        return f"{self.algorithm}: {self.metric} on {self.parts}"

    def markdown(self) -> str:
        """The table and the command that trains, as Markdown."""
        head, rows = self.rows()
        lines = [head, ["---:"] * len(head), *rows]
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        notes = "".join(f"{note[0].upper()}{note[1:]}.\n\n" for note in self.notes())
        return f"# {self.title}\n\n{table}\n\n{notes}```sh\n{self.command()}\n```\n"

    def chart(self) -> str:
        """Draw the mean score after each pass, of the best trials, as SVG.

        The band is the standard deviation over the folds of the best trial. Scores far below the
        best are left out, so that the others can be distinguished.
        """
        series = []
        lines = self.trials[:MOST_LINES]
        room = ROOM * max(self.best.mean - lines[-1].mean, self.best.deviation or 0.0)
        for trial in lines:
            curve = trial.curve
            drawn = [k for k, mean in enumerate(curve) if mean >= self.best.mean - room or not room]
            name = ", ".join(
                f"{name} {format_value(trial.settings[name])}" for name in self.searched
            )
            spread = None
            if trial is self.best and trial.deviation is not None:
                spread = [statistics.stdev(trial.at(k + 1)) for k in drawn]
            points = [float(k + 1) for k in drawn], [curve[k] for k in drawn]
            series.append(Series(name or self.algorithm, *points, spread))
        y_label = f"{self.metric}, %" if self.parts == ONE_PART else f"mean {self.metric}, %"
        return line_chart(series, title=self.title, x_label="passes", y_label=y_label)

    def to_dict(self) -> dict[str, Any]:
        """All attributes and the best settings, ready for JSON."""
        return {
            "task": self.task,
            "algorithm": self.algorithm,
            "data": self.data,
            "sentences": self.sentences,
            "metric": self.metric,
            "parts": self.parts,
            "space": {name: [json_value(v) for v in values] for name, values in self.space.items()},
            "rungs": [list(rung) for rung in self.rungs],
            "seed": self.seed,
            "options": list(self.options),
            "settings": {name: json_value(value) for name, value in self.settings.items()},
            "passes": self.passes,
            "command": self.command(),
            "trials": [trial.to_dict() for trial in self.trials],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Read what ``to_dict`` wrote."""
        try:
            return cls(
                str(content["algorithm"]),
                str(content["data"]),
                int(content["sentences"]),
                str(content["metric"]),
                str(content["parts"]),
                {name: tuple(map(_from_json, values)) for name, values in content["space"].items()},
                tuple((int(size), int(passes)) for size, passes in content["rungs"]),
                tuple(Trial.from_dict(trial) for trial in content["trials"]),
                int(content["seed"]),
                tuple(map(str, content["options"])),
                str(content["task"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"malformed tuning: {error}") from None


ONE_PART = "held-out sentences"


def json_value(value: Value) -> Value:
    """A value for JSON: infinity is the text ``inf``."""
    return "inf" if value == math.inf else value


def _from_json(value: Value) -> Value:
    return math.inf if value == "inf" else value
