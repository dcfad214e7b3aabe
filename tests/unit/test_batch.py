from __future__ import annotations

import inspect
import math
import os

import numpy as np
import pytest

from adaptag.errors import ModelError, ParameterError
from adaptag.training.algorithms import algorithm
from adaptag.training.batch import Objective, lbfgs, owlqn
from adaptag.training.inverse_hessian import InverseHessian
from adaptag.training.line_search import TRIALS
from tests.reference.batch import minimum, penalised, total_loss
from tests.reference.data import KINDS, random_problem

EXACT = {"memory": 10, "tolerance": 1e-9}
PASSES = 1000


class History:
    """Remembers every iteration; stops after ``at``."""

    def __init__(self, at=math.inf):
        self.at, self.points, self.values = at, [], []

    def __call__(self, x, value):
        self.points.append(x.copy())
        self.values.append(value)
        return len(self.values) >= self.at


def zeros(problem):
    return np.zeros(problem.dataset.layout.n_weights)


def run(minimise, problem, start=None, after=None, threads=2, passes=PASSES, **parameters):
    objective = Objective(problem.dataset, threads)
    start = zeros(problem) if start is None else start
    after = after or History()
    found = minimise(objective, start, **{**EXACT, **parameters}).run(passes, after)
    assert found.dtype == np.float32
    assert not problem.padding(found).any()
    return found


each = pytest.mark.parametrize(
    ("minimise", "penalty"),
    [
        pytest.param(lbfgs, {"sigma": 1.5}, id="lbfgs"),
        pytest.param(owlqn, {"l1": 0.0, "sigma": 1.5}, id="owlqn-l2"),
        pytest.param(owlqn, {"l1": 0.7, "sigma": math.inf}, id="owlqn-l1"),
        pytest.param(owlqn, {"l1": 0.5, "sigma": 2.0}, id="owlqn-elastic-net"),
    ],
)

# ---- the objective --------------------------------------------------------------------------


@pytest.mark.parametrize("n_labels", [1, 3, 5])
@pytest.mark.parametrize("threads", [1, 3])
def test_objective_equals_the_oracle(n_labels, threads):
    problem = random_problem(n_labels, n_labels, values=True)
    x = problem.pack(problem.random_weights(1), np.float64)
    before = x.copy()
    objective = Objective(problem.dataset, threads)
    for _ in range(2):  # nothing stays from the call before
        loss, gradient = objective(x)
        expected, by_oracle = total_loss(problem, problem.unpack(x))
        assert loss == pytest.approx(expected, rel=2e-6, abs=2e-6)
        np.testing.assert_allclose(gradient, problem.pack(by_oracle, np.float64), atol=1e-5)
        assert not problem.padding(gradient).any()
    np.testing.assert_array_equal(x, before)


def test_objective_adds_to_a_gradient():
    problem = random_problem(2, 3)
    x = problem.pack(problem.random_weights(1), np.float32)
    objective = Objective(problem.dataset, 1)
    loss, gradient = objective(x.astype(np.float64))
    added = np.ones_like(gradient)
    assert objective.add(x, added) == loss
    np.testing.assert_allclose(added, gradient + 1, atol=1e-5)


def test_threads_are_the_cores_unless_given():
    dataset = random_problem(1, 2).dataset
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert Objective(dataset).threads == cores
    assert Objective(dataset, 3).threads == 3
    with pytest.raises(ParameterError, match="threads is 0; allowed: 1 or more"):
        Objective(dataset, 0)


# ---- the optimum ----------------------------------------------------------------------------


@each
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [3, 5])
def test_reaches_the_optimum(minimise, penalty, kind, n_labels):
    problem = random_problem(n_labels, n_labels, KINDS[kind], n_sentences=6, values=n_labels == 3)
    found = run(minimise, problem, **penalty)
    best = minimum(problem, **penalty)
    expected = penalised(problem, best, **penalty)
    assert penalised(problem, found, **penalty) == pytest.approx(expected, rel=1e-5)
    if penalty["sigma"] < math.inf:  # else it need not be unique
        np.testing.assert_allclose(found, best, atol=0.02)


@pytest.mark.parametrize(("minimise", "penalty"), [(lbfgs, {}), (owlqn, {"l1": 0})])
def test_reaches_the_optimum_without_regularisation(minimise, penalty):
    problem = random_problem(3, 2, (2, 0, 1), n_sentences=40)  # the data contradict themselves
    found = run(minimise, problem, sigma=math.inf, **penalty)
    best = penalised(problem, minimum(problem))
    assert best > 1
    assert penalised(problem, found) == pytest.approx(best, rel=1e-4)


@each
def test_one_pair_of_memory_is_enough(minimise, penalty):
    problem = random_problem(7, 3, n_sentences=8)
    found = run(minimise, problem, **penalty, memory=1)
    expected = penalised(problem, minimum(problem, **penalty), **penalty)
    assert penalised(problem, found, **penalty) == pytest.approx(expected, rel=1e-4)


@each
@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_bit(minimise, penalty, kind):
    problem = random_problem(7, 3, KINDS[kind], n_sentences=40)
    runs = {}
    for threads in (1, 2, 3):
        history = History()
        run(minimise, problem, **penalty, threads=threads, after=history, passes=8)
        runs[threads] = np.array(history.points), history.values
    for threads in (2, 3):
        np.testing.assert_array_equal(runs[threads][0], runs[1][0])
        assert runs[threads][1] == runs[1][1]


@pytest.mark.parametrize("penalty", [{"l1": 0.0}, {"l1": 1e-6}])
def test_separable_data_without_a_prior_stay_finite(penalty):
    """The optimum lies at infinity."""
    problem = random_problem(3, 3, n_sentences=2)
    history = History()
    found = run(owlqn, problem, sigma=math.inf, **penalty, after=history, passes=200, tolerance=0)
    assert np.isfinite(found).all()
    assert np.isfinite(history.values).all()
    assert (np.diff(history.values) <= 1e-7 * np.abs(history.values[1:])).all()
    assert history.values[-1] == pytest.approx(math.log(3), abs=1e-3)  # of a token without features


def test_l1_makes_zeros():
    problem = random_problem(4, 3, n_sentences=10)
    best = minimum(problem, l1=1.0)
    found = run(owlqn, problem, l1=1.0, sigma=math.inf)
    assert 0 < np.count_nonzero(found) < np.count_nonzero(run(owlqn, problem, l1=0.1, sigma=2))
    assert not found[(np.abs(best) < 1e-9)].any()


def test_l1_above_every_slope_leaves_nothing():
    problem = random_problem(4, 3, n_sentences=10)
    steepest = np.abs(Objective(problem.dataset)(zeros(problem))[1]).max()
    start = problem.pack(problem.random_weights(1), np.float64)
    for begin in (zeros(problem), start):
        found = run(owlqn, problem, begin, l1=steepest * 1.01, sigma=math.inf)
        assert not found.any()
    assert run(owlqn, problem, l1=steepest * 0.95, sigma=math.inf).any()


# ---- the way there --------------------------------------------------------------------------


@each
def test_starts_from_given_weights(minimise, penalty):
    problem = random_problem(5, 3, n_sentences=8)
    start = problem.pack(problem.random_weights(1, 3.0), np.float64)
    before = start.copy()
    far, near = History(), History()
    found = run(minimise, problem, start, far, **penalty)
    np.testing.assert_array_equal(start, before)
    assert found is not start
    assert far.values[0] < penalised(problem, start, **penalty)
    expected = penalised(problem, minimum(problem, **penalty), **penalty)
    assert penalised(problem, found, **penalty) == pytest.approx(expected, rel=1e-5)
    again = run(minimise, problem, found, near, **penalty)
    assert len(near.values) < len(far.values)
    assert penalised(problem, again, **penalty) <= penalised(problem, found, **penalty) * (1 + 1e-6)


@each
def test_reports_each_iteration(minimise, penalty):
    problem = random_problem(5, 3, n_sentences=8)
    history = History()
    found = run(minimise, problem, after=history, **penalty, passes=12)
    assert len(history.values) == 12
    assert (np.diff(history.values) < 0).all()
    for x, value in zip(history.points, history.values, strict=True):
        assert value == pytest.approx(penalised(problem, x, **penalty), rel=1e-5)
    np.testing.assert_array_equal(found, history.points[-1])


@each
@pytest.mark.parametrize("at", [1, 4])
def test_the_callback_stops(minimise, penalty, at):
    problem = random_problem(5, 3, n_sentences=8)
    history = History(at)
    found = run(minimise, problem, after=history, **penalty)
    assert len(history.values) == at
    np.testing.assert_array_equal(found, history.points[-1])


@each
def test_stops_where_progress_is_small(minimise, penalty):
    problem = random_problem(5, 3, n_sentences=20)
    history = History()
    tolerance = 1e-3
    run(minimise, problem, after=history, **penalty, tolerance=tolerance)
    values = np.array(history.values)
    fall = (values[:-10] - values[10:]) / 10 / values[10:]
    assert fall[-1] < tolerance
    assert (fall[:-1] >= tolerance).all()


@each
def test_the_same_call_gives_the_same_bits(minimise, penalty):
    problem = random_problem(5, 3, n_sentences=8)
    np.testing.assert_array_equal(
        run(minimise, problem, **penalty), run(minimise, problem, **penalty)
    )


@each
def test_stops_where_no_step_is_better(minimise, penalty):
    class Rising(Objective):
        calls = 0

        def add(self, x, gradient):
            self.calls += 1
            return super().add(x, gradient) + 1000 * self.calls

    problem = random_problem(5, 3)
    start, history = problem.pack(problem.random_weights(1), np.float32), History()
    objective = Rising(problem.dataset)
    found = minimise(objective, start, **EXACT, **penalty).run(PASSES, history)
    np.testing.assert_array_equal(found, start)
    assert not history.values
    assert 2 < objective.calls <= 1 + TRIALS


@each
def test_recovers_from_a_bad_direction(minimise, penalty, monkeypatch):
    """Where a direction leads nowhere, steepest descent is tried before training ends."""
    aim, directions = InverseHessian.aim, []

    def bad_once(hessian, x, gradient):
        slope = aim(hessian, x, gradient)
        directions.append(len(hessian.pairs))
        if len(directions) == 4:
            hessian.basis[hessian.vectors.next] *= -1  # uphill, with a slope that says otherwise
        return slope

    monkeypatch.setattr(InverseHessian, "aim", bad_once)
    problem = random_problem(5, 3, n_sentences=8)
    found = run(minimise, problem, **penalty)
    assert directions[:6] == [0, 1, 2, 3, 0, 1]
    expected = penalised(problem, minimum(problem, **penalty), **penalty)
    assert penalised(problem, found, **penalty) == pytest.approx(expected, rel=1e-5)


@each
def test_goes_as_far_as_float32_allows(minimise, penalty):
    problem = random_problem(5, 3, n_sentences=8)
    found = run(minimise, problem, **penalty, tolerance=0)
    expected = penalised(problem, minimum(problem, **penalty), **penalty)
    assert penalised(problem, found, **penalty) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("n_labels", [3, 8, 11])
def test_direction_is_that_of_the_two_loops(n_labels):
    rng = np.random.default_rng(1)
    problem = random_problem(1, n_labels)
    layout, m = problem.dataset.layout, 4
    real = np.arange(layout.n_weights) % layout.width < n_labels
    n = np.count_nonzero(real)
    curvature = rng.uniform(0.5, 4, n)
    hessian = InverseHessian(layout, m, l1=0.0, threads=2)

    def padded(vector):
        out = np.zeros(layout.n_weights, np.float32)
        out[real] = vector
        return out

    x = np.zeros(n)
    pairs = []
    for number in range(12):
        x_new = x if number in (0, 7) else (x + rng.normal(size=n)).astype(np.float32)
        hessian.learn(padded(x), padded(x_new), padded(curvature * x_new))
        if number not in (0, 7):
            pairs.append((x_new - x, curvature * (x_new - x)))
        # After a step of nothing, its row is free: one pair fewer until the next.
        kept = pairs[-(m - 1) :] if number == 7 else pairs[-m:]
        q, along = curvature * x_new, []
        for s, y in reversed(kept):
            along.append(s @ q / (s @ y))
            q = q - along[-1] * y
        if kept:
            q = q * (kept[-1][0] @ kept[-1][1]) / (kept[-1][1] @ kept[-1][1])
        for (s, y), a in zip(kept, reversed(along), strict=True):
            q = q + (a - y @ q / (s @ y)) * s
        slope = hessian.aim(padded(x_new), padded(curvature * x_new))
        direction = hessian.basis[hessian.vectors.next]
        np.testing.assert_allclose(direction, -q, rtol=1e-3, atol=1e-3)
        assert slope == pytest.approx(-q @ (curvature * x_new), rel=1e-4)
        assert hessian.vectors.slope(padded(curvature * x_new)) == pytest.approx(slope, rel=1e-6)
        x = x_new


# ---- continuing -----------------------------------------------------------------------------


@each
@pytest.mark.parametrize("at", [0, 1, 3, 14])
def test_continues_from_its_state(minimise, penalty, at):
    problem = random_problem(5, 3, n_sentences=8)
    given = {**EXACT, **penalty, "memory": 4}
    whole, first, rest = History(), History(), History()
    expected = minimise(Objective(problem.dataset), zeros(problem), **given).run(20, whole)
    begun = minimise(Objective(problem.dataset), zeros(problem), **given)
    begun.run(at, first)
    state = {name: array.copy() for name, array in begun.arrays().items()}
    resumed = minimise(Objective(problem.dataset), zeros(problem), **given)
    resumed.restore(state)
    found = resumed.run(20 - at, rest)
    assert first.values + rest.values == whole.values
    assert found.tobytes() == expected.tobytes()


@each
@pytest.mark.parametrize("evaluations", [2, 5, 6, 7, 13, 19])
def test_continues_where_an_evaluation_was_interrupted(minimise, penalty, evaluations):
    class StopError(Exception):
        pass

    calls = []

    def count():
        calls.append(1)
        if len(calls) == evaluations:
            raise StopError

    problem = random_problem(5, 3, n_sentences=8)
    given = {**EXACT, **penalty, "memory": 4}
    whole, first, rest = History(), History(), History()
    expected = minimise(Objective(problem.dataset), zeros(problem), **given).run(20, whole)
    begun = minimise(Objective(problem.dataset, None, count), zeros(problem), **given)
    with pytest.raises(StopError):
        begun.run(20, first)
    resumed = minimise(Objective(problem.dataset), zeros(problem), **given)
    resumed.restore({name: array.copy() for name, array in begun.arrays().items()})
    found = resumed.run(20 - len(first.values), rest)
    assert first.values + rest.values == whole.values
    assert found.tobytes() == expected.tobytes()


def test_a_state_that_does_not_fit_is_refused():
    problem, given = random_problem(5, 3, n_sentences=8), {**EXACT, "sigma": 2.0}
    state = lbfgs(Objective(problem.dataset), zeros(problem), **given).arrays()
    pairs = np.array([0, 99])
    for wrong in ({}, {**state, "weights": np.zeros(3)}, {**state, "pairs": pairs}):
        with pytest.raises(ModelError, match="does not fit"):
            lbfgs(Objective(problem.dataset), zeros(problem), **given).restore(wrong)


def test_a_prior_beyond_float32_is_refused():
    problem = random_problem(1, 2)
    with pytest.raises(ParameterError, match="sigma is 1e-300; allowed: 1e-19 or more"):
        lbfgs(Objective(problem.dataset), zeros(problem), sigma=1e-300, **EXACT)


# ---- what is declared -----------------------------------------------------------------------


@pytest.mark.parametrize("function", [lbfgs, owlqn])
def test_parameters_are_the_function_s_keywords(function):
    keywords = inspect.signature(function).parameters.values()
    expected = [p.name for p in keywords if p.kind is p.KEYWORD_ONLY]
    declared = algorithm(function.__name__)
    assert [p.name for p in declared.parameters] == expected
