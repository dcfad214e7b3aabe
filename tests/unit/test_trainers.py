"""Every online algorithm against its oracle: lazy float32 updates against eager float64 ones."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference.data import KINDS, Problem, random_problem
from tests.reference.trainers import ORACLES
from tests.unit.trainer_cases import (
    CASES,
    FIRMEST,
    ONLINE,
    PENALTIES,
    SCHEDULES,
    SETTINGS,
    assert_equal,
    batched,
    check,
    decides,
    oracle,
    orders,
    problem_for,
    trainer_of,
    with_learnable_labels,
    with_real_values,
)

every = pytest.mark.parametrize("name", ONLINE)
cases = pytest.mark.parametrize(("name", "given"), CASES)


def only(*names):
    return pytest.mark.parametrize("name", [name for name in names if name in ONLINE])


def test_every_online_algorithm_has_an_oracle():
    assert set(ORACLES) == set(ONLINE)
    assert set(SETTINGS) <= set(ONLINE)


@cases
@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize(("batch", "seed"), [(1, 2), (3, 1), (10, 8)])
def test_weights_equal_the_oracle(name, given, batch, seed, values):
    problem = problem_for(name, given, seed, values=values, n_sentences=25)
    check(name, problem, orders(problem, 3, seed), **batched(given, batch))


@every
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("n_labels", [1, 2, 5, 9, 17, 30])
@pytest.mark.parametrize("kind", KINDS)
def test_any_width_and_kind(name, batch, n_labels, kind):
    problem = problem_for(name, {}, 5, n_labels, KINDS[kind], n_sentences=8)
    trainer = check(name, problem, orders(problem, 2), **batched(FIRMEST, batch))
    assert not problem.padding(trainer.weights).any()
    assert not problem.padding(trainer.current_weights()).any()


@only("perceptron", "averaged-perceptron")
@pytest.mark.parametrize("batch", [1, 3, 10])
@pytest.mark.parametrize("seed", range(8))
def test_perceptrons_break_ties_like_the_oracle(name, batch, seed):
    """On fractions of 2 float32 is exact, and ties abound: the smallest label wins them."""
    problem = random_problem(seed, 4, n_sentences=32, max_length=5, values=seed % 2 == 1)
    check(name, problem, orders(problem, 4), batch=batch)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        pytest.param(name, given, id=" ".join((name, *map(str, given.values()))))
        for name, given in [
            ("adf", {"rate": 0.5, "sigma": 1.0}),
            ("adf", {"rate": 0.5, "sigma": 1.0, "window": 6}),
            *(("sgd", {"schedule": s, "rate": 0.5, "sigma": 1.0}) for s in SCHEDULES),
            *(("sgd-l1", {"penalty": p, "l1": 0.5}) for p in PENALTIES),
            *(("sgd-l1", {"penalty": p, "l1": 0.5, "schedule": "harmonic"}) for p in PENALTIES),
        ]
        if name in ONLINE
    ],
)
@pytest.mark.parametrize("batch", [1, 3])
def test_lazy_updates_equal_eager_ones(name, given, batch):
    """At any time, though most predicates fire in few sentences and wait long in between."""
    problem = problem_for(name, given, 1, 3, (10, 4, 4), n_sentences=25, max_length=2)
    order = np.concatenate(orders(problem, 4))
    given = batched(given, batch)
    trainer = trainer_of(name, problem, **given)
    for t, expected in enumerate(oracle(name, problem, [order], **given)):
        trainer.run(order[t * batch : (t + 1) * batch])
        assert_equal(problem, trainer.current_weights(), expected.weights)


@pytest.mark.parametrize(
    ("name", "given", "gap"),
    [
        pytest.param(*case.values, gap, id=f"{case.id}, {gap}")
        for case in CASES
        for gap in (1, 2, 5, 30)
        if gap <= 5 or not decides(*case.values)  # too many decisions to be all clear
    ],
)
@pytest.mark.parametrize("batch", [1, 3])
def test_rows_touched_late_and_seldom(name, given, gap, batch):
    bias, rare, step = (0, 1.0), (1, 2.0), (2, 1.0)
    often, seldom = [[bias], [bias, step]], [[bias, rare], [rare, step]]
    problem = Problem(3, (1, 1, 1), [often, seldom, often], [[0, 1], [2, 1], [1, 1]])
    problem = with_real_values(problem, 3, shared=False)
    if name == "cw":
        problem = with_learnable_labels(problem, 3)
    order = np.array([*[0, 2] * gap, 1, *[2] * gap, 1, 1, *[0] * gap], np.uint32)
    check(name, problem, [order], **batched(given, batch) | {"window": gap, "sigma": 1.0})


@every
@pytest.mark.parametrize("batch", [1, 4])
def test_predicates_that_never_fire_stay_zero(name, batch):
    problem = Problem(2, (2, 1, 1), [[[(0, 1.0)], [(0, 1.0)]]], [[0, 1]])
    trainer = check(name, problem, [[0] * 30], sigma=1.0, batch=batch)
    for flat in (trainer.weights, trainer.current_weights()):
        assert not problem.unpack(flat).node[1:].any()
        assert not problem.unpack(flat).edge.any()


@every
@pytest.mark.parametrize("batch", [1, 2, 3])
def test_sentences_without_tokens_are_passed_over(name, batch):
    one = problem_for(name, {}, 3, n_sentences=6)
    problem = Problem(3, one.n_of_kind, [*one.sentences[:-1], []], [*one.labels[:-1], []])
    order, with_gaps = [0, 1, 2, 3, 4], [0, 5, 1, 2, 5, 5, 3, 4, 5]
    given = {"window": 2, "gamma": 1.0, "batch": batch}
    trainer, other = (check(name, problem, [o, o], **given) for o in (order, with_gaps))
    assert trainer.current_weights().tobytes() == other.current_weights().tobytes()
    assert other.run(np.array([5, 5], np.uint32)) == (0, 0, 0)
    assert trainer.current_weights().tobytes() == other.current_weights().tobytes()


# ---- automatic parameters -----------------------------------------------------------------------


@only("adf")
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize(("window", "n"), [(1, 5), (2, 5), (3, 5), (7, 5), (0, 9)])
@pytest.mark.parametrize("sigma", [np.inf, 1.0])
def test_windows_close_on_time(name, batch, window, n, sigma):
    """Training may stop anywhere around the end of a window."""
    problem = random_problem(n, 3, n_sentences=n, max_length=3)
    order = np.concatenate(orders(problem, 4))[:20]
    given = batched({"rate": 0.5, "sigma": sigma, "window": window}, batch)
    for t, expected in enumerate(oracle(name, problem, [order], **given), 1):
        trainer = trainer_of(name, problem, **given)
        trainer.run(order[: t * batch])
        assert_equal(problem, trainer.current_weights(), expected.weights)


@only("adf")
@pytest.mark.parametrize(("n", "window"), [(5, 100), (1009, 100), (1010, 101), (1250, 125)])
@pytest.mark.parametrize("batch", [1, 10])
def test_the_default_window_is_a_tenth_of_the_data_but_at_least_100(name, n, window, batch):
    problem = random_problem(n, 2, n_sentences=n, max_length=2)
    order = np.concatenate(orders(problem, 2 if n > 100 else 50))
    assert_same_bits(name, problem, order, {"batch": batch}, {"batch": batch, "window": window})


@only("madf", "sgd")
@pytest.mark.parametrize(
    ("n_of_kind", "batch", "sigma", "period"),
    [
        ((1, 1, 0), 1, 5.0, 5),  # 8 · 2 · 7 / 21
        ((1, 1, 0), 2, 5.0, 3),  # 8 · 2 · 4 / 21
        ((3, 1, 0), 1, 5.0, 7),  # no more than a pass: 8 · 4 · 7 / 21 is 10
        ((3, 1, 0), 1, 1.0, 3),  # by no more than a quarter: 0.25 / (0.5 / 7)
        ((1, 1, 0), 7, 5.0, 1),  # at least 1
    ],
)
def test_the_default_period_makes_regularisation_cheap(name, n_of_kind, batch, sigma, period):
    sentences = [[[(0, 1.0)], [(0, 1.0), (1, 1.0)]]] * 7
    problem = Problem(2, n_of_kind, sentences, [[0, 1]] * 7)
    given = {"schedule": "bordes", "rate": 0.5, "sigma": sigma, "batch": batch}
    order = np.concatenate(orders(problem, 6))
    assert_same_bits(name, problem, order, given, given | {"period": period})
    check(name, problem, [order], **given)


def assert_same_bits(name, problem, order, *both):
    one, other = (trainer_of(name, problem, **given) for given in both)
    one.run(order)
    other.run(order)
    assert one.current_weights().tobytes() == other.current_weights().tobytes()
