"""The measurements of the benchmark suite: how they are declared, and what they work with.

A measurement is a function in `tasks/` that yields figures. What is compared takes turns, so that
a slow moment of the machine meets all; the best of the repeats counts.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import history
import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from history import Comparison, Figure


__all__ = ["MEASUREMENTS", "Context", "Measurement", "Session", "Skipped", "measurement"]

AGAIN = 2  # times that a regression is measured again
QUICK, USUAL, LONG = "quick", "usual", "long"  # for bench-check, for bench, for bench-all


class Skipped(Exception):  # noqa: N818
    """A measurement cannot be made; the message says why."""


@dataclass(frozen=True)
class Measurement:
    """Some figures that are measured together, in turns."""

    name: str  # the task and what is measured, e.g. conll2000/tagging
    effort: str
    measure: Callable[[Context], Iterator[Figure]]


MEASUREMENTS: list[Measurement] = []


def measurement(
    name: str, effort: str = USUAL
) -> Callable[[Callable[[Context], Iterator[Figure]]], Callable[[Context], Iterator[Figure]]]:
    """Declare a measurement."""

    def declare(
        function: Callable[[Context], Iterator[Figure]],
    ) -> Callable[[Context], Iterator[Figure]]:
        MEASUREMENTS.append(Measurement(name, effort, function))
        return function

    return declare


class Context:
    """What measurements share: the number of repeats, a folder, files made once.

    Attributes:
        folder: A folder for work files; it is removed at the end.
        repeats: How often each thing is measured.
    """

    def __init__(self, folder: Path, repeats: int) -> None:
        self.folder = folder
        self.repeats = repeats
        self._made: dict[str, Any] = {}

    def once(self, name: str, make: Callable[[Path], Any]) -> Any:
        """What `make` returns for the path `name` in the folder; it is called the first time."""
        if name not in self._made:
            self._made[name] = make(self.folder / name)
        return self._made[name]

    def file(self, name: str, make: Callable[[Path], object]) -> Path:
        """The path of a file that `make` writes the first time."""
        self.once(name, make)
        return self.folder / name

    def process(self, command: list[str | Path], cores: int = 1) -> tuple[measure.Run, str]:
        """Run a command, pinned to so many cores: what it took, and its output."""
        log = self.folder / "log"
        done = measure.run([str(word) for word in command], log, cores)
        return done, log.read_text(encoding="utf-8", errors="replace")

    def script(
        self, script: str, *arguments: object, cores: int = 1, python: str = sys.executable
    ) -> dict[str, Any]:
        """Run a script of this folder, pinned: the JSON object of the last line of its output."""
        command = [python, script, *map(str, arguments)]
        _, output = self.process(command, cores)
        return json.loads(output.splitlines()[-1])

    def turns(
        self, actions: dict[str, Callable[[], dict[str, float]]], repeats: int | None = None
    ) -> dict[str, dict[str, float]]:
        """Take all actions in turn, several times; of each, the least of every number it returns.

        Args:
            actions: Functions by name that measure once and return named numbers.
            repeats: How often; by default as often as the context says.
        """
        least: dict[str, dict[str, float]] = defaultdict(dict)
        for _ in range(repeats or self.repeats):
            for name, action in actions.items():
                for key, value in action().items():
                    least[name][key] = min(value, least[name].get(key, value))
        return dict(least)


class Session:
    """Measurements of one run, and the figures so far."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.figures: dict[str, Figure] = {}
        self.source: dict[str, Measurement] = {}  # of each figure
        self.failed: list[str] = []
        self.start = time.perf_counter()

    def say(self, message: str) -> None:
        """Print a line of progress."""
        print(f"[{time.perf_counter() - self.start:7.1f} s] {message}", flush=True)

    def measure(self, one: Measurement) -> None:
        """Measure; of figures that are there already the better one is kept."""
        self.say(one.name)
        try:
            for figure in one.measure(self.context):
                before = self.figures.get(figure.name, figure)
                self.figures[figure.name] = figure.better_of(before)
                self.source[figure.name] = one
                self.say(f"  {described(figure)}")
        except Skipped as reason:
            self.say(f"  skipped: {reason}")
        except RuntimeError as error:
            self.failed.append(one.name)
            self.say(f"  FAILED: {error}")

    def compare(self, accepted: dict[str, Figure]) -> list[Comparison]:
        """The figures beside the accepted ones."""
        return history.comparisons(self.figures.values(), accepted)

    def confirm(self, accepted: dict[str, Figure]) -> None:
        """Measure again what has regressed: a slow moment of the machine is no regression."""
        for _ in range(AGAIN):
            regressed = [c for c in self.compare(accepted) if c.regressed]
            for one in dict.fromkeys(self.source[c.figure.name] for c in regressed):
                self.measure(one)


def described(figure: Figure) -> str:
    """A figure as a line of text."""
    text = f"{figure.name}: {figure.value:,.4g} {figure.unit}"
    if figure.peer_value is None:
        return text
    beside = f"{figure.peer} {figure.peer_value:,.4g}"
    return f"{text} ({beside}: {figure.ratio:.2f} times)" if figure.ratio else f"{text} ({beside})"
