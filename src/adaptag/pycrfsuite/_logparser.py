"""Reads the log of training, line by line, as it is written."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, NamedTuple

__all__ = ["LabelScore", "TrainLogParser"]


class LabelScore(NamedTuple):
    """The counts and scores of one label on held-out data; None where they are not defined."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


ITERATION = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}")
FIGURES: dict[str, tuple[str, type]] = {  # by the beginning of the line
    "Loss": ("loss", float),
    "Feature norm": ("feature_norm", float),
    "Error norm": ("error_norm", float),
    "Active features": ("active_features", int),
    "Line search trials": ("linesearch_trials", int),
    "Line search step": ("linesearch_step", float),
    "Seconds required for this iteration": ("time", float),
}
ACCURACIES = {"Item accuracy": "item_accuracy", "Instance accuracy": "instance_accuracy"}
AVERAGES = "Macro-average precision, recall, F1"
LABEL = re.compile(r"    (.+): \((\d+), (\d+), (\d+)\) \((\S+), (\S+), (\S+)\)")


class TrainLogParser:
    """Turns lines of the log into events and figures.

    Attributes:
        log: All lines.
        events: For each event its name, and the first line and the end of its lines.
        iterations: The figures of each iteration, by name.
        last_iteration: The last of them.
        featgen_percent: How much of the data has been read.
        featgen_num_features: The number of features.
        featgen_seconds: The time that reading the data took.
        training_seconds: The time that training took.
        storing_seconds: The time that writing the model took.
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    def feed(self, line: str) -> str | None:
        """Take the next line.

        Returns:
            The event that ends with this line, if any: ``start``, ``featgen_progress``,
            ``featgen_end``, ``prepared``, ``prepare_error``, ``iteration``, ``optimization_end``
            or ``end``.
        """
        self.log.append(line)
        if self.state is None:
            self.state = "starting"
            event: str | None = "start"
            self._starting(line)
        else:
            event = getattr(self, f"_{self.state}")(line)
        if event is not None:
            begin = self.events[-1][2] if self.events else 0
            # The line that begins an iteration, or the storing, belongs to what follows.
            end = len(self.log) - (event in ("prepared", "optimization_end"))
            self.events.append((event, begin, end))
        return event

    @property
    def last_log(self) -> str:
        """The lines of the last event."""
        _, begin, end = self.events[-1]
        return "".join(self.log[begin:end])

    def _starting(self, line: str) -> None:
        if line.startswith("Feature generation"):
            self.state = "reading"

    def _reading(self, line: str) -> str | None:
        if line == "." or line.isdigit():
            self.featgen_percent += 2
            return "featgen_progress"
        name, number = _figure(line)
        if name == "Number of features":
            self.featgen_num_features = int(number)
        elif name == "Seconds required":
            self.featgen_seconds = float(number)
            self.state = "preparing"
            return "featgen_end"
        return None

    def _preparing(self, line: str) -> str | None:
        if self._begins_iteration(line):
            return "prepared"
        if "terminated with error" in line:
            self.state = "between"
            return "prepare_error"
        return None

    def _iterating(self, line: str) -> str | None:
        if line == "\n":
            self.state = "between"
            return "iteration"
        assert self.last_iteration is not None
        name, number = _figure(line)
        if name in FIGURES:
            key, kind = FIGURES[name]
            self.last_iteration[key] = kind(number)
        elif name in ACCURACIES:
            share = Fraction(*(int(part) for part in re.findall(r"\d+", number)[:2]))
            self.last_iteration[ACCURACIES[name]] = share
            self.last_iteration[f"{ACCURACIES[name]}_float"] = float(share)
        elif name == AVERAGES:
            values = map(float, number.strip("()").split(", "))
            keys = ("avg_precision", "avg_recall", "avg_f1")
            self.last_iteration.update(zip(keys, values, strict=True))
        else:
            self._label(line)
        return None

    def _label(self, line: str) -> None:
        match = LABEL.match(line)
        if match is None or self.last_iteration is None:
            return
        label, *parts = match.groups()
        counts = map(int, parts[:3])
        scores = (None if part.startswith("*") else float(part) for part in parts[3:])
        self.last_iteration["scores"][label] = LabelScore(*counts, *scores)

    def _between(self, line: str) -> str | None:
        if self._begins_iteration(line):
            return None
        name, number = _figure(line)
        if name == "Total seconds required for training":
            self.training_seconds = float(number)
        elif line.startswith("Storing the model"):
            self.state = "storing"
            return "optimization_end"
        return None

    def _storing(self, line: str) -> str | None:
        name, number = _figure(line)
        if name == "Seconds required":
            self.storing_seconds = float(number)
        return "end" if line == "\n" else None

    def _begins_iteration(self, line: str) -> bool:
        match = ITERATION.match(line)
        if match is None:
            return False
        self.state = "iterating"
        self.last_iteration = {"num": int(match.group(1)), "scores": {}}
        self.iterations.append(self.last_iteration)
        return True


def _figure(line: str) -> tuple[str, str]:
    """The name and the value of a line such as ``Loss: 12.5``."""
    name, _, value = line.rstrip("\n").partition(": ")
    return name, value
