"""Line searches: how far to go in a direction of descent.

A search evaluates the objective at step lengths until one is good enough, and ends with the
evaluation of the one it returns. Differences between values below ``NOISE`` of the value are
rounding errors of float32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NOISE", "TRIALS", "Trial", "backtracking_search", "wolfe_search"]

SUFFICIENT = 1e-4  # Armijo's condition: the part of the slope's promise that a step must keep
CURVATURE = 0.9  # Wolfe's condition: the part of the slope that may be left after the step
TRIALS = 20  # step lengths after which a search gives up
NOISE = 1e-7  # rounding errors of the objective, relative
VANISHING = 1e-4  # the part of the rounding errors at which a promised decrease is nothing
FARTHEST = 10.0  # the largest factor between two trials
CLOSEST = 0.1  # the part of the interval that a trial keeps away from its ends


@dataclass(frozen=True)
class Trial:
    """A step length, and the value and the slope of the objective there."""

    step: float
    value: float
    slope: float


def wolfe_search(
    evaluate: Callable[[float], Trial], start: Trial, curvature: float = CURVATURE
) -> Trial | None:
    """Find a step that satisfies the weak Wolfe conditions, or None.

    Steps lengthen until an interval must hold a good one; it is narrowed by cubic interpolation.
    Where a difference of values is within rounding errors, the slope decides: for a parabola, the
    decrease is sufficient if the slope has not become steeper than 1 − 2 · ``SUFFICIENT`` of what
    it was (the approximate Wolfe conditions of Hager and Zhang 2005).

    Args:
        evaluate: The objective at a step length.
        start: The step length 0.
        curvature: The part of the slope that may be left after the step.
    """
    noise = NOISE * abs(start.value)

    def too_far(trial: Trial) -> bool:
        if abs(trial.value - start.value) <= noise:
            return not trial.slope <= (2 * SUFFICIENT - 1) * start.slope
        return not trial.value <= start.value + SUFFICIENT * trial.step * start.slope

    low, high, step = start, None, 1.0
    for _ in range(TRIALS):
        trial = evaluate(step)
        if too_far(trial):
            high = trial
            if -step * start.slope < VANISHING * noise and math.isfinite(trial.value):
                break
        elif trial.slope < curvature * start.slope:
            low = trial
        else:
            return trial
        step = _between(low, high, noise) if high is not None else _beyond(low, start)
    return evaluate(low.step) if low is not start else None


def backtracking_search(evaluate: Callable[[float], Trial], start: Trial) -> Trial | None:
    """Halve the step until the objective decreases sufficiently; None where it does not.

    It ends where the promised decrease is within rounding errors.
    """
    for k in range(TRIALS):
        step = 0.5**k
        trial = evaluate(step)
        if trial.value <= start.value + SUFFICIENT * step * start.slope:
            return trial
        if math.isfinite(trial.value) and -step * start.slope < NOISE * abs(start.value):
            return None
    return None


def _beyond(low: Trial, start: Trial) -> float:
    """A longer step: where the slope would be 0 if it went on rising as it has."""
    rise = (low.slope - start.slope) / low.step
    zero = -start.slope / rise if rise > 0 else math.inf
    return min(max(zero, 2 * low.step), FARTHEST * low.step)


def _between(low: Trial, high: Trial, noise: float) -> float:
    """A step between two others: the minimum of the cubic through them, away from both."""
    width = high.step - low.step
    part = CLOSEST
    if math.isfinite(high.value) and math.isfinite(high.slope):
        difference = high.value - low.value
        if abs(difference) <= noise:  # the slopes say more
            difference = (low.slope + high.slope) / 2 * width
        mean = low.slope + high.slope - 3 * difference / width
        root = math.sqrt(max(mean**2 - low.slope * high.slope, 0.0))
        divisor = high.slope - low.slope + 2 * root
        if divisor > 0:
            part = 1 - (high.slope + root - mean) / divisor
    return low.step + width * min(max(part, CLOSEST), 1 - CLOSEST)
