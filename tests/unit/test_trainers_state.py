"""What runs of every online algorithm leave behind: totals, state, the same bits; and refusals."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from adaptag.errors import ParameterError
from adaptag.training import orders as several_orders
from tests.reference.data import Problem, random_problem
from tests.unit.making import fit
from tests.unit.trainer_cases import (
    CASES,
    LIKELIHOOD,
    ONLINE,
    accepted,
    assert_equal,
    batched,
    oracle,
    orders,
    problem_for,
    trainer_of,
)

every = pytest.mark.parametrize("name", ONLINE)
cases = pytest.mark.parametrize(("name", "given"), CASES)


def state(trainer):
    """All arrays that change in a run."""
    arrays = {
        "weights": trainer.weights,
        "row_state": trainer.row_state,
        "run_state": trainer.run_state,
    }
    return arrays | trainer.per_weight_state


def bits(trainer):
    return {name: array.tobytes() for name, array in state(trainer).items()}


# ---- totals -------------------------------------------------------------------------------------


@cases
@pytest.mark.parametrize("batch", [1, 3])
def test_totals_are_those_before_each_update(name, given, batch):
    problem = problem_for(name, given, 0, n_sentences=17)
    order = np.concatenate(orders(problem, 2))
    trainer = trainer_of(name, problem, **batched(given, batch))
    for t, expected in enumerate(oracle(name, problem, [order], **batched(given, batch))):
        loss, correct, tokens = trainer.run(order[t * batch : (t + 1) * batch])
        assert loss == pytest.approx(expected.loss, rel=1e-4, abs=1e-5)
        assert correct == pytest.approx(expected.correct, rel=1e-4, abs=1e-5)
        assert tokens == expected.tokens


@every
def test_totals_of_a_pass_are_sums(name):
    problem = problem_for(name, {}, 4, n_sentences=11)
    (order,) = orders(problem, 1)
    totals = trainer_of(name, problem, batch=4).run(order)
    expected = [one[1:4] for one in oracle(name, problem, [order], batch=4)]
    assert totals == pytest.approx(np.sum(expected, axis=0), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("name", LIKELIHOOD)
def test_expected_correct_labels_without_transitions(name):
    """With no edge, P(gold path) is the product of the P(gold label)."""
    problem = Problem(3, (1, 0, 0), [[[(0, 1.0)]]], [[1]])
    trainer = trainer_of(name, problem, l1=0.01)
    for _ in range(5):
        loss, correct, _ = trainer.run(np.zeros(1, np.uint32))
        assert correct == pytest.approx(math.exp(-loss), rel=1e-5)
    assert correct > 1 / 3


# ---- the same bits ------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("n_labels", [3, 9, 30])
def test_same_seed_same_bits(name, n_labels):
    problem = random_problem(5, n_labels, n_sentences=20)
    one, other, another = (
        fit(problem.dataset, algorithm_name=name, passes=3, seed=seed) for seed in (7, 7, 8)
    )
    assert one.weights.tobytes() == other.weights.tobytes()
    assert one.weights.tobytes() != another.weights.tobytes()


@cases
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("cuts", [(1,), (3, 10, 24, 25, 49), range(1, 60)])
def test_slices_of_one_order_give_the_same_bits(name, given, batch, cuts):
    """Where they end with a group."""
    problem = random_problem(6, 4, n_sentences=31)
    order = np.concatenate(orders(problem, 2))
    whole, cut = (trainer_of(name, problem, **batched(given, batch)) for _ in range(2))
    whole.run(order)
    for first, end in itertools.pairwise((0, *cuts, len(order))):
        cut.run(order[first * batch : end * batch])
    assert bits(cut) == bits(whole)
    assert cut.current_weights().tobytes() == whole.current_weights().tobytes()


@every
@pytest.mark.parametrize("batch", [1, 3, 10])
def test_how_often_callbacks_hear_changes_no_bit(name, batch, monkeypatch):
    """The pass loop cuts its slices where groups end."""
    problem = random_problem(6, 4, n_sentences=31)
    given = accepted(name, {"batch": batch})
    results = []
    for tokens in (1, 20, several_orders.SLICE_TOKENS):
        monkeypatch.setattr(several_orders, "SLICE_TOKENS", tokens)
        results.append(fit(problem.dataset, algorithm_name=name, parameters=given, passes=2))
    assert len({result.weights.tobytes() for result in results}) == 1


@cases
@pytest.mark.parametrize("batch", [1, 10])
def test_the_state_arrays_hold_all_there_is_to_go_on(name, given, batch):
    problem = random_problem(6, 4, n_sentences=31)
    order = np.concatenate(orders(problem, 2))
    whole, first, then = (trainer_of(name, problem, **batched(given, batch)) for _ in range(3))
    whole.run(order)
    first.run(order[:40])
    for name_of, array in state(first).items():
        state(then)[name_of][:] = array
    then.run(order[40:])
    assert bits(then) == bits(whole)
    assert then.current_weights().tobytes() == whole.current_weights().tobytes()


@cases
@pytest.mark.parametrize("batch", [1, 3])
def test_looking_at_the_weights_changes_no_bit(name, given, batch):
    problem = problem_for(name, given, 0, n_sentences=25, max_length=3)
    order = np.concatenate(orders(problem, 2))
    looked, other = (trainer_of(name, problem, **batched(given, batch)) for _ in range(2))
    assert not looked.current_weights().any()
    for t, expected in enumerate(oracle(name, problem, [order], **batched(given, batch))):
        part = order[t * batch : (t + 1) * batch]
        looked.run(part)
        other.run(part)
        before = bits(looked)
        weights = looked.current_weights()
        assert_equal(problem, weights, expected.weights)
        assert looked.current_weights().tobytes() == weights.tobytes()
        assert bits(looked) == before == bits(other)
    assert looked.current_weights().tobytes() == other.current_weights().tobytes()


@cases
@pytest.mark.parametrize("batch", [1, 3])
def test_contradictions_leave_finite_weights(name, given, batch):
    problem = random_problem(7, 3, n_sentences=20)
    trainer = trainer_of(name, problem, **batched(given, batch))
    for order in orders(problem, 100):
        assert np.isfinite(trainer.run(order)).all()
    assert np.isfinite(trainer.current_weights()).all()


# ---- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in ("adf", "sgd") if name in ONLINE])
def test_a_prior_that_would_turn_weights_around_is_refused(name):
    problem = random_problem(1, 3, n_sentences=2)
    with pytest.raises(ParameterError, match=rf"{name}: rate / .* is 0\.5.*; allowed: below 0\.5"):
        trainer_of(name, problem, rate=1.0, sigma=1.0)
    trainer_of(name, problem, rate=0.99, sigma=1.0)


@pytest.mark.parametrize("name", [name for name in ("madf", "sgd") if name in ONLINE])
def test_a_period_that_would_turn_weights_around_is_refused(name):
    problem = random_problem(1, 3, n_sentences=2)
    given = {"schedule": "bordes", "rate": 0.125, "sigma": 1.0}
    with pytest.raises(ParameterError, match=rf"{name}: rate / .* is 0\.5.*; allowed: below 0\.5"):
        trainer_of(name, problem, **given, period=8)
    trainer_of(name, problem, **given, period=7)


@every
def test_no_sentence_is_refused(name):
    with pytest.raises(ParameterError, match="no sentences to train on"):
        trainer_of(name, random_problem(1, 3, n_sentences=0))


@every
@pytest.mark.parametrize("batch", [1, 3])
def test_an_order_beyond_the_data_is_refused(name, batch):
    with pytest.raises(ValueError, match="no such sentence"):
        trainer_of(name, random_problem(1, 3), batch=batch).run(np.array([4], np.uint32))


# ---- limits of float32 --------------------------------------------------------------------------


def test_variances_of_cw_stay_finite_where_labels_contradict_each_other():
    """They fall to nearly 0, and no step turns them negative or stops learning."""
    rng = np.random.default_rng(0)
    sentences = [[[(p, float(x)) for p, x in enumerate(rng.normal(size=5))]] for _ in range(60)]
    problem = Problem(3, (5, 0, 0), sentences, rng.integers(0, 3, (60, 1)).tolist())
    trainer = trainer_of("cw", problem)
    for order in orders(problem, 20):
        before = trainer.current_weights()
        trainer.run(order)
        precision = trainer.per_weight_state["precision"]
        assert np.isfinite(precision).all()
        assert (precision >= 0).all()
        assert (trainer.current_weights() != before).any()


# ---- memory -------------------------------------------------------------------------------------

MEMORY = """
import resource, sys
import numpy as np
from tests.reference.data import Problem
from tests.unit.trainer_cases import ONLINE, trainer_of

def peak():  # in MB
    bits = 20 if sys.platform == "darwin" else 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> bits

sentences = [[[(i, 1.0)], [(i + 1, 1.0)]] for i in range(200)]
problem = Problem(2, (500_000, 0, 1), sentences, [[0, 1] for _ in sentences])
before = peak()
for name in ONLINE:
    trainer_of(name, problem, batch=200).run(np.arange(200, dtype=np.uint32))
print(peak() - before)
"""


def test_the_memory_of_a_mini_batch_does_not_grow_with_the_model():
    """A table of 500,000 predicates for each of 200 sentences would take 800 MB."""
    result = subprocess.run(
        [sys.executable, "-c", MEMORY],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(result.stdout) < 200
