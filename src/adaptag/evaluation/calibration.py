"""Calibration: whether predictions of some probability are right as often as it says."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.errors import ParameterError
from adaptag.rendering.tables import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray
    from rich.console import Group

__all__ = ["BINS", "Bin", "Calibration", "Reliability", "calibration_tables", "reliability"]

BINS = 15
BAR = 30  # the width of a bar in the terminal


@dataclass(frozen=True)
class Bin:
    """The predictions whose probability is above ``low`` and at most ``high``.

    Attributes:
        low: The lower end; the first bin includes it.
        high: The upper end.
        count: The number of predictions.
        probability: The mean of their probabilities.
        right: The share of them that are right.
    """

    low: float
    high: float
    count: int
    probability: float
    right: float


@dataclass(frozen=True, eq=False, repr=False)
class Reliability:
    """Predictions by their probability, in bins of the same width from 0 to 1.

    Attributes:
        counts: The number of predictions in each bin, ``[B]``.
        probabilities: The sum of their probabilities, ``[B]``.
        right: The number of them that are right, ``[B]``.
    """

    counts: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    right: NDArray[np.int64]

    def __repr__(self) -> str:
        return (
            f"<Reliability: ECE {self.ece:.4f}; mean probability {self.probability:.4f}, "
            f"right {self.accuracy:.4f} of {self.count:,}>"
        )

    @property
    def count(self) -> int:
        """The number of predictions."""
        return int(self.counts.sum())

    @property
    def probability(self) -> float:
        """The mean probability of the predictions."""
        return float(self.probabilities.sum()) / max(1, self.count)

    @property
    def accuracy(self) -> float:
        """The share of the predictions that are right, 0 to 1."""
        return int(self.right.sum()) / max(1, self.count)

    @property
    def ece(self) -> float:
        """The expected calibration error, 0 to 1.

        It is the mean over all predictions of the difference between the mean probability and the
        share of right ones in the bin (Naeini et al. 2015, Guo et al. 2017).
        """
        return float(np.abs(self.probabilities - self.right).sum()) / max(1, self.count)

    @property
    def bins(self) -> list[Bin]:
        """The bins that hold predictions, by rising probability."""
        n = len(self.counts)
        return [
            Bin(k / n, (k + 1) / n, count, float(self.probabilities[k]) / count, right / count)
            for k, (count, right) in enumerate(
                zip(self.counts.tolist(), self.right.tolist(), strict=True)
            )
            if count
        ]

    def to_dict(self) -> dict[str, Any]:
        """All numbers, ready for JSON."""
        return {
            "ece": self.ece,
            "count": self.count,
            "probability": self.probability,
            "accuracy": self.accuracy,
            "bins": [vars(each) for each in self.bins],
        }


def reliability(probabilities: ArrayLike, right: ArrayLike, bins: int = BINS) -> Reliability:
    """Sort predictions into bins by their probability.

    Args:
        probabilities: The probability of each prediction, ``[N]``.
        right: Whether it is right, ``[N]``.
        bins: The number of bins.

    Examples:
        >>> from adaptag.evaluation.calibration import reliability
        >>> sure = reliability([0.9, 0.9, 0.9, 0.6], [True, True, False, True], bins=10)
        >>> round(sure.ece, 3)
        0.275
    """
    if bins < 1:
        raise ParameterError(f"bins is {bins}; allowed: 1 or more")
    p = np.clip(np.asarray(probabilities, np.float64), 0.0, 1.0)
    correct = np.asarray(right, bool)
    if p.shape != correct.shape or p.ndim != 1:
        raise ParameterError(f"{p.size} probabilities of {correct.size} predictions")
    numbers = np.digitize(p, np.arange(1, bins) / bins, right=True)
    return Reliability(
        np.bincount(numbers, minlength=bins).astype(np.int64),
        np.bincount(numbers, p, bins).astype(np.float64),
        np.bincount(numbers[correct], minlength=bins).astype(np.int64),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Shown):
    """How well the probabilities of a model can be trusted, on some data.

    Printed, it is a table and a chart for each kind of prediction.

    Attributes:
        parts: The predictions of each kind, by its name: ``tokens``, ``segments`` and
            ``sequences`` of a tagger, ``documents`` of a classifier, ``words`` of a segmenter.
        temperature: The temperature of the model; 1 if it is not calibrated.
    """

    parts: Mapping[str, Reliability]
    temperature: float = field(default=1.0)

    def __getitem__(self, name: str) -> Reliability:
        """The predictions of one kind."""
        return self.parts[name]

    def __repr__(self) -> str:
        errors = ", ".join(f"{name} {part.ece:.4f}" for name, part in self.parts.items())
        return f"<Calibration: ECE of {errors}>"

    def _shown(self) -> list[Any]:
        return list(calibration_tables(self).renderables)

    def to_dict(self) -> dict[str, Any]:
        """All numbers, ready for JSON."""
        parts = {name: part.to_dict() for name, part in self.parts.items()}
        return {"temperature": self.temperature, **parts}


def calibration_tables(calibration: Calibration) -> Group:
    """A table for each kind of prediction, with a reliability chart in its last column."""
    from rich import box
    from rich.console import Group
    from rich.table import Table

    tables: list[Any] = []
    for name, part in calibration.parts.items():
        caption = (
            f"expected calibration error {part.ece:.4f}; mean probability "
            f"{part.probability:.4f}, right {part.accuracy:.4f} of {part.count:,}"
        )
        table = Table(box=box.HORIZONTALS, caption=caption, caption_justify="left")
        table.add_column(name, no_wrap=True)
        for heading in ("count", "probability", "right"):
            table.add_column(heading, justify="right")
        table.add_column("█ right  │ probability", no_wrap=True, min_width=BAR)
        for each in part.bins:
            table.add_row(
                f"{each.low:.3f} – {each.high:.3f}",
                f"{each.count:,}",
                f"{each.probability:.4f}",
                f"{each.right:.4f}",
                _bar(each),
            )
        tables.append(table)
    return Group(*tables, f"temperature {calibration.temperature:.4g}")


def _bar(each: Bin) -> str:
    """A bar as long as the share of right predictions, with a mark at the mean probability."""
    cells = list("█" * round(BAR * each.right)) + [" "] * (BAR - round(BAR * each.right))
    if math.isfinite(each.probability):
        cells[min(BAR - 1, int(BAR * each.probability))] = "│"
    return "".join(cells)
