"""The history of benchmark runs: one JSON file, and the comparison of a run with accepted ones.

Times of one machine vary by a quarter from run to run, those of two machines by more. So most
figures have a peer: something else that was measured in turns with it, another tool or a fixed
loop. Figures with a peer are compared by their ratio to it, the others by their value.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

HISTORY = Path(__file__).resolve().parent / "results" / "history.json"
TOLERANCE = 0.10  # the largest regression that passes, as a share
POINTS = 0.15  # the same for scores in percent, in points
SCORES = {"F", "accuracy"}  # units of scores in percent
TIMES = {"s", "ms", "µs", "ns"}  # units that depend on the machine, also in e.g. tokens/s


@dataclass(frozen=True)
class Figure:
    """One measured number.

    Attributes:
        name: Its name, e.g. ``conll2000/seconds per pass/1 thread``.
        value: Its value, the best of the repeats.
        unit: The unit of the value and of the peer's.
        better: ``lower`` or ``higher``; empty for a figure that describes the machine or the data.
        peer: The name of what was measured beside it.
        peer_value: What was measured of the peer.
    """

    name: str
    value: float
    unit: str
    better: str = ""
    peer: str = ""
    peer_value: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times better than the peer: above 1, adaptag is ahead."""
        if self.peer_value is None or not self.better:
            return None
        if self.better == "higher":
            return self.value / self.peer_value
        return self.peer_value / self.value

    def better_of(self, other: Figure) -> Figure:
        """The better of two measurements of the same figure."""
        mine, theirs = self.ratio, other.ratio
        if mine is None or theirs is None:
            mine, theirs = self.value, other.value
            if self.better == "lower":
                mine, theirs = -mine, -theirs
        return self if mine >= theirs else other

    def to_json(self) -> dict[str, Any]:
        """All fields that are set, and the ratio."""
        entry: dict[str, Any] = {"name": self.name, "value": rounded(self.value), "unit": self.unit}
        if self.better:
            entry["better"] = self.better
        if self.peer_value is not None:
            entry |= {"peer": self.peer, "peer_value": rounded(self.peer_value)}
        if self.ratio is not None:
            entry["ratio"] = rounded(self.ratio)
        return entry

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> Figure:
        """What `to_json` wrote; the ratio follows from the values."""
        return cls(**{name: value for name, value in entry.items() if name != "ratio"})


def rounded(value: float) -> float:
    """Five significant digits: more would only be noise in the file."""
    return float(f"{value:.5g}")


@dataclass
class Run:
    """The figures of one run, and what they depend on."""

    date: str  # ISO 8601, UTC
    commit: str
    command: str
    core: str  # the variant of the compiled core
    machine: dict[str, str]  # with the versions of adaptag and of the peers
    accepted: bool = False
    figures: list[Figure] = field(default_factory=list)


def read(path: Path = HISTORY) -> list[Run]:
    """All runs, the oldest first; none where there is no file."""
    if not path.is_file():
        return []
    runs = []
    for entry in json.loads(path.read_text(encoding="utf-8")):
        figures = [Figure.from_json(figure) for figure in entry.pop("figures")]
        runs.append(Run(**entry, figures=figures))
    return runs


def write(runs: list[Run], path: Path = HISTORY) -> None:
    """Write all runs, a figure a line."""
    texts = []
    for run in runs:
        entry = {name: value for name, value in vars(run).items() if name != "figures"}
        head = json.dumps(entry, indent=1, ensure_ascii=False).removesuffix("\n}")
        lines = (json.dumps(figure.to_json(), ensure_ascii=False) for figure in run.figures)
        texts.append(head + ',\n "figures": [\n  ' + ",\n  ".join(lines) + "\n ]\n}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[\n" + ",\n".join(texts) + "\n]\n", encoding="utf-8")


def accepted(runs: Iterable[Run]) -> dict[str, Figure]:
    """Of every figure that an accepted run holds, the newest: a run may measure some figures only.

    Args:
        runs: The runs, the oldest first.
    """
    return {figure.name: figure for run in runs if run.accepted for figure in run.figures}


@dataclass(frozen=True)
class Comparison:
    """A figure beside its accepted value.

    Attributes:
        figure: The figure of now.
        before: The accepted one.
        compared: What was compared: ``ratio``, ``value`` or ``points``.
        change: How much better it is: a share, or points of a score; negative if it is worse.
    """

    figure: Figure
    before: Figure
    compared: str
    change: float

    @property
    def regressed(self) -> bool:
        """Whether it is worse by more than the tolerance."""
        # What equals the limit passes, whatever the rounding of the subtraction.
        return self.change < -(POINTS if self.compared == "points" else TOLERANCE) - 1e-9

    def described(self) -> list[str]:
        """The cells of a table: name, accepted, now, change, verdict."""
        if self.compared == "ratio":
            values = [f"{one.ratio:.3g} × {one.peer}" for one in (self.before, self.figure)]
        else:
            values = [f"{one.value:,.4g} {one.unit}" for one in (self.before, self.figure)]
        points = self.compared == "points"
        change = f"{self.change:+.2f}" if points else f"{100 * self.change:+.1f} %"
        return [self.figure.name, *values, change, "REGRESSED" if self.regressed else "ok"]


def compare(figure: Figure, before: Figure) -> Comparison | None:
    """Compare a figure with the accepted one; None where there is nothing to compare.

    Figures with the same peer are compared by their ratios. Scores are compared in points, all
    other figures, e.g. of memory and of sizes, by their values. A time that has no peer cannot be
    compared.
    """
    if not figure.better or figure.better != before.better or figure.unit != before.unit:
        return None
    if figure.ratio is not None and before.ratio is not None and figure.peer == before.peer:
        return Comparison(figure, before, "ratio", figure.ratio / before.ratio - 1)
    if figure.peer or before.peer or TIMES & {*figure.unit.split("/")}:
        return None
    if figure.unit in SCORES:
        difference = figure.value - before.value
        return Comparison(figure, before, "points", difference)
    if figure.better == "higher":
        return Comparison(figure, before, "value", figure.value / before.value - 1)
    return Comparison(figure, before, "value", 1 - figure.value / before.value)


def comparisons(figures: Iterable[Figure], before: dict[str, Figure]) -> list[Comparison]:
    """Compare all figures that have an accepted value."""
    pairs = ((figure, before[figure.name]) for figure in figures if figure.name in before)
    return [found for pair in pairs if (found := compare(*pair)) is not None]
