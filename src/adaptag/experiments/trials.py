"""What a search for settings found: every trial with its scores, the choice, and how to show it."""

from __future__ import annotations

import math
import shlex
import statistics
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from adaptag.errors import ModelError
from adaptag.experiments.charts import Series, line_chart
from adaptag.experiments.space import CUTOFF, at_edge, preference, resolve, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

    from adaptag.experiments.space import Settings, Space
    from adaptag.settings import Value

__all__ = ["Trial", "Tuning"]

MOST_LINES = 8  # of a chart
ROOM = 3  # below the best, times the distance of the lines or the deviation of the folds


@dataclass
class Trial:
    """One combination of values, and how it did.

    Attributes:
        number: its place among all combinations.
        settings: the values.
        scores: for each fold, the score after each pass, in percent.
        ended: for each fold, whether the algorithm's own rule ended training.
        fold_seconds: of training, for each fold.
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
        """Passes made; fewer than others have where it was given up on the way."""
        return max(map(len, self.scores), default=0)

    @property
    def curve(self) -> list[float]:
        """Mean score of the folds after each pass; a fold that ended keeps its last score."""
        return [statistics.fmean(self.at(number)) for number in range(1, self.trained + 1)]

    @property
    def passes(self) -> int:
        """The passes with the best mean: the fewest, where several are equal."""
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
        """Score of each fold after so many passes."""
        return [scores[min(number, len(scores)) - 1] for scores in self.scores if scores]

    @property
    def rank(self) -> tuple[float, ...]:
        """Sorts the best first; of equals, as ``preference`` has it, then in order."""
        return (-self.mean, *preference(self.settings), self.number)

    def to_dict(self) -> dict[str, Any]:
        """All of it, and the figures that follow, ready for JSON."""
        figures = {"mean": self.mean, "deviation": self.deviation, "passes": self.passes}
        settings = {name: plain(value) for name, value in self.settings.items()}
        return {**asdict(self), "settings": settings, **figures}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Take back what ``to_dict`` gave."""
        return cls(
            int(content["number"]),
            {name: _value(value) for name, value in content["settings"].items()},
            [[float(score) for score in scores] for scores in content["scores"]],
            [bool(ended) for ended in content["ended"]],
            [float(seconds) for seconds in content["fold_seconds"]],
        )


@dataclass(frozen=True)
class Tuning:
    """The outcome of a search.

    Attributes:
        algorithm: what was tuned.
        data: the name of the training data.
        sentences: how many it has.
        metric: what the scores are: ``F1`` of chunks, or ``accuracy`` of tokens.
        parts: how it was scored, e.g. ``4 folds``.
        space: the values that were tried.
        rungs: how many trials were trained for how many passes.
        trials: all of them, the best first.
        seed: of the order of sentences.
        options: further options of ``adaptag train`` that held for all.
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

    @property
    def best(self) -> Trial:
        """The trial that was chosen."""
        return self.trials[0]

    @property
    def settings(self) -> Settings:
        """The values that were chosen."""
        return self.best.settings

    @property
    def passes(self) -> int:
        """The passes that were chosen."""
        return self.best.passes

    @cached_property
    def searched(self) -> tuple[str, ...]:
        """The parameters with more than one value."""
        return tuple(name for name, values in self.space.items() if len(values) > 1)

    def command(self, model: str = "model.adaptag") -> str:
        """The line that trains with what was chosen, on all of the data."""
        words = ["adaptag", "train", self.data, *self.options, "--algorithm", self.algorithm]
        for name, value in resolve(self.settings, self.sentences).items():
            words += [f"--{name}", shown(value)]
        if CUTOFF in self.settings:
            words += ["--cutoff", shown(self.settings[CUTOFF])]
        words += ["--passes", str(self.passes)]
        if self.seed != 1:
            words += ["--seed", str(self.seed)]
        return shlex.join([*words, "--model", model])

    def notes(self) -> list[str]:
        """What the choice leaves open: values at the edge of what was tried."""
        edges = [f"{n} {shown(self.settings[n])}" for n in at_edge(self.space, self.settings)]
        if self.passes == self.rungs[-1][1] and not all(self.best.ended):
            edges.append(f"passes {self.passes}")
        return [f"at the edge of what was tried: {', '.join(edges)}"] if edges else []

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """The trials as a table: its head, and a row each, the best first."""
        head = [*self.searched, self.metric, "±", "passes", "trained", "seconds"]
        rows = []
        for trial in self.trials:
            spread = "" if trial.deviation is None else f"{trial.deviation:.2f}"
            figures = [f"{trial.mean:.2f}", spread, str(trial.passes), str(trial.trained)]
            values = [shown(trial.settings[name]) for name in self.searched]
            rows.append([*values, *figures, f"{trial.seconds:.1f}"])
        return head, rows

    @property
    def title(self) -> str:
        """What was searched, in a line."""
        return f"{self.algorithm}: {self.metric} on {self.parts}"

    def markdown(self) -> str:
        """The table and the line that trains, as Markdown."""
        head, rows = self.rows()
        lines = [head, ["---:"] * len(head), *rows]
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        notes = "".join(f"{note[0].upper()}{note[1:]}.\n\n" for note in self.notes())
        return f"# {self.title}\n\n{table}\n\n{notes}```sh\n{self.command()}\n```\n"

    def chart(self) -> str:
        """Draw the mean score after each pass, of the best trials, as SVG.

        The band is the standard deviation of the best one's folds. Scores far below the best are
        left out, so that the others can be told apart.
        """
        series = []
        lines = self.trials[:MOST_LINES]
        room = ROOM * max(self.best.mean - lines[-1].mean, self.best.deviation or 0.0)
        for trial in lines:
            curve = trial.curve
            kept = [k for k, mean in enumerate(curve) if mean >= self.best.mean - room or not room]
            name = ", ".join(f"{name} {shown(trial.settings[name])}" for name in self.searched)
            spread = None
            if trial is self.best and trial.deviation is not None:
                spread = [statistics.stdev(trial.at(k + 1)) for k in kept]
            points = [float(k + 1) for k in kept], [curve[k] for k in kept]
            series.append(Series(name or self.algorithm, *points, spread))
        y_label = f"{self.metric}, %" if self.parts == ONE_PART else f"mean {self.metric}, %"
        return line_chart(series, title=self.title, x_label="passes", y_label=y_label)

    def to_dict(self) -> dict[str, Any]:
        """All of it, and the choice, ready for JSON."""
        return {
            "algorithm": self.algorithm,
            "data": self.data,
            "sentences": self.sentences,
            "metric": self.metric,
            "parts": self.parts,
            "space": {name: [plain(v) for v in values] for name, values in self.space.items()},
            "rungs": [list(rung) for rung in self.rungs],
            "seed": self.seed,
            "options": list(self.options),
            "settings": {name: plain(value) for name, value in self.settings.items()},
            "passes": self.passes,
            "command": self.command(),
            "trials": [trial.to_dict() for trial in self.trials],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Take back what ``to_dict`` gave."""
        try:
            return cls(
                str(content["algorithm"]),
                str(content["data"]),
                int(content["sentences"]),
                str(content["metric"]),
                str(content["parts"]),
                {name: tuple(map(_value, values)) for name, values in content["space"].items()},
                tuple((int(size), int(passes)) for size, passes in content["rungs"]),
                tuple(Trial.from_dict(trial) for trial in content["trials"]),
                int(content["seed"]),
                tuple(map(str, content["options"])),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"malformed tuning: {error}") from None


ONE_PART = "held-out sentences"


def plain(value: Value) -> Value:
    """A value as JSON has it: infinity is a word."""
    return "inf" if value == math.inf else value


def _value(value: Value) -> Value:
    return math.inf if value == "inf" else value
