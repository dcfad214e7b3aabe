"""Line searches on functions of one variable."""

from __future__ import annotations

import math

import pytest

from adaptag.training.line_search import (
    CURVATURE,
    SUFFICIENT,
    TRIALS,
    Trial,
    backtracking_search,
    wolfe_search,
)


class Curve:
    """A function and its derivative along a line; counts evaluations, remembers the last."""

    def __init__(self, value, slope):
        self.value, self.slope, self.steps = value, slope, []

    def __call__(self, step):
        self.steps.append(step)
        return Trial(step, self.value(step), self.slope(step))

    @property
    def start(self):
        return Trial(0.0, self.value(0.0), self.slope(0.0))


def parabola(minimum):
    return Curve(lambda a: (a - minimum) ** 2, lambda a: 2 * (a - minimum))


def exponential(minimum):
    """Convex, and far from a parabola."""
    scale = math.exp(-minimum)
    return Curve(
        lambda a: math.exp(min(a, 700)) * scale - a, lambda a: math.exp(min(a, 700)) * scale - 1
    )


CURVES = [parabola(m) for m in (1e-6, 0.01, 0.3, 1, 3, 100, 1e5)]
CURVES += [exponential(m) for m in (0.01, 0.3, 1, 5, 50)]


@pytest.mark.parametrize("curve", CURVES)
def test_the_wolfe_conditions_hold(curve):
    start = curve.start
    trial = wolfe_search(curve, start)
    assert trial.value <= start.value + SUFFICIENT * trial.step * start.slope
    assert trial.slope >= CURVATURE * start.slope
    assert curve.steps[0] == 1
    assert curve.steps[-1] == trial.step
    assert len(curve.steps) < 10


def test_a_good_first_step_is_taken():
    curve = parabola(0.8)
    assert wolfe_search(curve, curve.start).step == 1


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_what_is_not_finite_is_too_far(bad):
    curve = Curve(
        lambda a: (a - 0.01) ** 2 if a < 0.05 else bad,
        lambda a: 2 * (a - 0.01) if a < 0.05 else bad,
    )
    assert 0.001 < wolfe_search(curve, curve.start).step < 0.02
    curve.steps.clear()
    assert 0 < backtracking_search(curve, curve.start).step < 0.02


@pytest.mark.parametrize("minimum", [0.3, 1, 2])
def test_slopes_decide_where_values_are_rounded(minimum):
    curve = Curve(lambda a: 1e9 + (a > 0) * 8.0, parabola(minimum).slope)
    start = curve.start
    trial = wolfe_search(curve, start)
    assert trial is not None
    assert CURVATURE * start.slope <= trial.slope <= -start.slope
    assert len(curve.steps) <= 3


@pytest.mark.parametrize("search", [wolfe_search, backtracking_search])
def test_a_rising_curve_has_no_step(search):
    curve = Curve(lambda a: 5 + a, lambda _: 1.0)
    assert search(curve, Trial(0.0, 5.0, -1.0)) is None
    assert len(curve.steps) <= TRIALS


def test_without_end_the_best_step_so_far_is_taken():
    curve = Curve(lambda a: -a, lambda _: -1.0)
    trial = wolfe_search(curve, curve.start)
    assert trial.step == max(curve.steps)
    assert curve.steps[-1] == trial.step


@pytest.mark.parametrize(("minimum", "step"), [(2.0, 1.0), (0.4, 0.5), (0.1, 0.125)])
def test_backtracking_halves(minimum, step):
    curve = parabola(minimum)
    assert backtracking_search(curve, curve.start).step == step


def test_backtracking_ends_within_rounding_errors():
    curve = Curve(lambda a: 1e6 + (a > 0), lambda _: -1.0)
    assert backtracking_search(curve, Trial(0.0, 1e6, -1.0)) is None
    assert len(curve.steps) < 6
