"""Every algorithm against its oracle: lazy float32 updates against eager float64 ones."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from adaptag.errors import ParameterError
from adaptag.training.algorithms import algorithm, algorithms
from adaptag.training.loop import Trainer, fit
from tests.reference.crf import loss_and_gradient
from tests.reference.data import KINDS, Problem, random_problem
from tests.reference.trainers import ORACLES

TOLERANCE = {"rtol": 2e-5, "atol": 2e-6}  # of float32 after some hundred updates
SETTINGS = {
    "defaults": {},
    "no prior": {"rate": 0.5, "sigma": math.inf},
    "strong prior": {"rate": 0.5, "sigma": 0.5},
    "very strong prior": {"rate": 0.9, "sigma": 0.4},
    "fast decay": {"rate": 0.5, "sigma": 1.0, "alpha": 0.9, "beta": 0.5, "decay": 0.3},
}
everywhere = pytest.mark.parametrize("name", algorithms())
settings = pytest.mark.parametrize("setting", SETTINGS)


def accepted(name, given):
    """The parameters that the algorithm has."""
    return {p.name: given[p.name] for p in algorithm(name).parameters if p.name in given}


def trainer_of(name, problem, **given):
    return Trainer(problem.dataset, algorithm(name), accepted(name, given))


def oracle(name, problem, order, **given):
    """The weights after each sample."""
    return list(ORACLES[name](problem, order, **algorithm(name).values(accepted(name, given))))


def orders(problem, passes, seed=1):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(len(problem)) for _ in range(passes)]).astype(np.uint32)


def assert_equal(problem, flat, expected):
    for found, want in zip(problem.unpack(flat), expected, strict=True):
        np.testing.assert_allclose(found, want, **TOLERANCE)


def check(name, problem, order, **given):
    trainer = trainer_of(name, problem, **given)
    trainer.run(order)
    assert_equal(problem, trainer.current_weights(), oracle(name, problem, order, **given)[-1])
    return trainer


def test_every_algorithm_has_an_oracle():
    assert set(ORACLES) == set(algorithms())


@everywhere
@settings
@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_weights_equal_the_oracle(name, setting, values, seed):
    problem = random_problem(seed, 3, n_sentences=24, max_length=4, values=values)
    check(name, problem, orders(problem, 4, seed), **SETTINGS[setting])


@everywhere
@pytest.mark.parametrize("n_labels", [1, 2, 5, 9, 17, 30])
@pytest.mark.parametrize("kind", KINDS)
def test_any_width_and_kind(name, n_labels, kind):
    problem = random_problem(1, n_labels, KINDS[kind], n_sentences=8, max_length=4, values=True)
    trainer = check(name, problem, orders(problem, 2), **SETTINGS["strong prior"])
    assert not problem.padding(trainer.weights).any()


@pytest.mark.parametrize(
    "name", [name for name, a in algorithms().items() if "window" in {p.name for p in a.parameters}]
)
@pytest.mark.parametrize(("window", "n"), [(1, 5), (2, 5), (3, 5), (7, 5), (0, 9)])
@pytest.mark.parametrize("setting", ["no prior", "strong prior"])
def test_windows_close_on_time(name, window, n, setting):
    """Training may stop anywhere around the end of a window."""
    problem = random_problem(n, 3, n_sentences=n, max_length=3)
    order = orders(problem, 4)[:20]
    given = SETTINGS[setting] | {"window": window}
    for length, expected in enumerate(oracle(name, problem, order, **given), 1):
        trainer = trainer_of(name, problem, **given)
        trainer.run(order[:length])
        assert_equal(problem, trainer.current_weights(), expected)


@pytest.mark.parametrize(("n", "window"), [(5, 100), (1009, 100), (1010, 101), (1250, 125)])
def test_the_default_window_is_a_tenth_of_the_data_but_at_least_100(n, window):
    problem = random_problem(n, 2, n_sentences=n, max_length=2)
    order = orders(problem, 2 if n > 100 else 50)
    given, default = (trainer_of("adf", problem, window=w) for w in (window, 0))
    given.run(order)
    default.run(order)
    np.testing.assert_array_equal(given.current_weights(), default.current_weights())


@everywhere
@settings
@pytest.mark.parametrize("window", [1, 2, 3, 0])
def test_weights_are_current_after_any_flush(name, setting, window):
    problem = random_problem(2, 3, n_sentences=25, max_length=3)
    order = orders(problem, 2)
    given = SETTINGS[setting] | {"window": window}
    often, seldom = (trainer_of(name, problem, **given) for _ in range(2))
    for t, expected in enumerate(oracle(name, problem, order, **given)):
        often.run(order[t : t + 1])
        assert_equal(problem, often.current_weights(), expected)
        seldom.run(order[t : t + 1])
        if t % 7 == 4:
            seldom.current_weights()
            assert_equal(problem, seldom.current_weights(), expected)
    np.testing.assert_allclose(seldom.current_weights(), often.weights, **TOLERANCE)


@everywhere
@settings
@pytest.mark.parametrize("window", [1, 2, 3, 10])
@pytest.mark.parametrize("gap", [1, 2, 5, 6, 29, 30, 31])
def test_rows_touched_late_and_seldom(name, setting, window, gap):
    bias, rare, step = (0, 1.0), (1, 2.0), (2, 1.0)
    often, seldom = [[bias], [bias, step]], [[bias, rare], [rare, step]]
    problem = Problem(3, (1, 1, 1), [often, seldom, often], [[0, 1], [2, 1], [1, 1]])
    order = np.array([*[0, 2] * gap, 1, *[2] * gap, 1, 1, *[0] * gap], np.uint32)
    check(name, problem, order, **SETTINGS[setting] | {"window": window, "sigma": 1.0})


@everywhere
def test_predicates_that_never_fire_stay_zero(name):
    problem = Problem(2, (2, 1, 1), [[[(0, 1.0)], [(0, 1.0)]]], [[0, 1]])
    trainer = check(name, problem, np.zeros(30, np.uint32), sigma=1.0)
    assert not problem.unpack(trainer.weights).node[1:].any()
    assert not problem.unpack(trainer.weights).edge.any()


@everywhere
def test_sentences_without_tokens_are_passed_over(name):
    one = random_problem(3, 3, n_sentences=6)
    other = Problem(3, one.n_of_kind, [*one.sentences[:-1], []], [*one.labels[:-1], []])
    given = accepted(name, {"window": 2})
    trainers = [trainer_of(name, problem, **given) for problem in (one, other)]
    trainers[0].run(np.array([0, 1, 2, 3, 4], np.uint32))
    trainers[1].run(np.array([0, 5, 1, 2, 5, 5, 3, 4, 5], np.uint32))
    assert trainers[0].current_weights().tobytes() == trainers[1].current_weights().tobytes()


@everywhere
@settings
def test_totals_are_those_before_each_update(name, setting):
    problem = random_problem(4, 3, n_sentences=12)
    order = orders(problem, 2)
    trainer = trainer_of(name, problem, **SETTINGS[setting])
    before = [problem.zeros(), *oracle(name, problem, order, **SETTINGS[setting])]
    for i, w in zip(order, before, strict=False):
        loss, correct, tokens = trainer.run(np.array([i], np.uint32))
        assert tokens == len(problem.labels[i])
        assert 0 <= correct <= tokens
        expected, _ = loss_and_gradient(problem.sentences[i], problem.labels[i], w)
        assert loss == pytest.approx(expected, rel=1e-4, abs=1e-5)


@everywhere
def test_expected_correct_labels_without_transitions(name):
    """With no edge, P(gold path) is the product of the P(gold label)."""
    problem = Problem(3, (1, 0, 0), [[[(0, 1.0)]]], [[1]])
    trainer = trainer_of(name, problem)
    for _ in range(5):
        loss, correct, _ = trainer.run(np.zeros(1, np.uint32))
        assert correct == pytest.approx(math.exp(-loss), rel=1e-5)
    assert correct > 1 / 3


@everywhere
@pytest.mark.parametrize("n_labels", [3, 9, 30])
def test_same_seed_same_bits(name, n_labels):
    problem = random_problem(5, n_labels, n_sentences=20)
    one, other, another = (
        fit(problem.dataset, algorithm_name=name, passes=3, seed=seed) for seed in (7, 7, 8)
    )
    assert one.weights.tobytes() == other.weights.tobytes()
    assert one.weights.tobytes() != another.weights.tobytes()


@everywhere
@settings
@pytest.mark.parametrize("cuts", [(), (1,), (5, 6), (3, 10, 24, 25, 49), range(1, 60)])
def test_slices_of_one_order_give_the_same_bits(name, setting, cuts):
    problem = random_problem(6, 4, n_sentences=30)
    order = orders(problem, 2)
    whole, cut = (trainer_of(name, problem, **SETTINGS[setting]) for _ in range(2))
    whole.run(order)
    for first, end in itertools.pairwise((0, *cuts, len(order))):
        cut.run(order[first:end])
    assert cut.current_weights().tobytes() == whole.current_weights().tobytes()


@everywhere
@settings
def test_the_state_arrays_hold_all_there_is_to_go_on(name, setting):
    problem = random_problem(6, 4, n_sentences=30)
    order = orders(problem, 2)
    whole, first, then = (trainer_of(name, problem, **SETTINGS[setting]) for _ in range(3))
    whole.run(order)
    first.run(order[:37])
    for kept in ("weights", "rows", "clock"):
        getattr(then, kept)[:] = getattr(first, kept)
    then.run(order[37:])
    assert then.current_weights().tobytes() == whole.current_weights().tobytes()


@everywhere
def test_a_prior_that_would_turn_weights_around_is_refused(name):
    problem = random_problem(1, 3, n_sentences=2)
    with pytest.raises(ParameterError, match=rf"{name}: rate / .* is 0\.5.*; allowed: below 0\.5"):
        trainer_of(name, problem, rate=1.0, sigma=1.0)
    trainer_of(name, problem, rate=0.99, sigma=1.0)


@everywhere
def test_no_sentence_is_refused(name):
    with pytest.raises(ParameterError, match="no sentences to train on"):
        trainer_of(name, random_problem(1, 3, n_sentences=0))


@everywhere
def test_an_order_beyond_the_data_is_refused(name):
    with pytest.raises(ValueError, match="no such sentence"):
        trainer_of(name, random_problem(1, 3)).run(np.array([4], np.uint32))
