"""Weights of sentences, and a predicate that always fires."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adaptag.training.algorithms import algorithm
from adaptag.training.batch import Objective
from adaptag.training.online import Trainer
from tests.reference.data import Problem
from tests.unit.making import fit
from tests.unit.trainer_cases import (
    FIRMEST,
    ONLINE,
    TOLERANCE,
    accepted,
    assert_equal,
    batched,
    check,
    oracle,
    orders,
    problem_for,
    trainer_of,
)

every = pytest.mark.parametrize("name", ONLINE)


def with_weights(problem, seed, choices=(0.25, 0.5, 1.0, 2.0)):
    rng = np.random.default_rng([seed, 2])
    weights = rng.choice(choices, len(problem)).tolist()
    return replace(problem, weights=weights)


@every
@pytest.mark.parametrize(("batch", "seed"), [(1, 2), (3, 1), (10, 8)])
def test_weights_equal_the_oracle(name, batch, seed):
    problem = with_weights(problem_for(name, FIRMEST, seed, n_sentences=25), seed)
    check(name, problem, orders(problem, 3, seed), **batched(FIRMEST, batch))


@every
def test_totals_are_weighted(name):
    problem = with_weights(problem_for(name, FIRMEST, 4, n_sentences=12), 4)
    passes = orders(problem, 1)
    loss, _, tokens = trainer_of(name, problem, **FIRMEST).run(passes[0])
    updates = oracle(name, problem, passes, **FIRMEST)
    assert loss == pytest.approx(sum(one.loss for one in updates), rel=1e-4, abs=1e-5)
    assert tokens == sum(one.tokens for one in updates)


@every
def test_weights_of_one_change_nothing(name):
    problem = problem_for(name, FIRMEST, 3, n_sentences=15)
    ones = replace(problem, weights=[1.0] * len(problem))
    found = []
    for one in (problem, ones):
        trainer = trainer_of(name, one, **FIRMEST)
        for order in orders(problem, 2):
            trainer.run(order)
        found.append(trainer.current_weights())
    assert (found[0] == found[1]).all()


@every
def test_all_weights_of_zero_teach_nothing(name):
    problem = replace(problem_for(name, FIRMEST, 3, n_sentences=15), weights=[0.0] * 15)
    trainer = trainer_of(name, problem, **FIRMEST)
    trainer.run(orders(problem, 1)[0])
    assert not trainer.current_weights().any()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_objective_of_repeated_sentences(threads):
    problem = problem_for("adf", {}, 6, n_sentences=20)
    times = np.random.default_rng(1).integers(0, 4, len(problem))
    weighted = replace(problem, weights=times.astype(float).tolist())
    repeated = Problem(
        problem.n_labels,
        problem.n_of_kind,
        [s for s, n in zip(problem.sentences, times, strict=True) for _ in range(n)],
        [y for y, n in zip(problem.labels, times, strict=True) for _ in range(n)],
    )
    flat = problem.pack(problem.random_weights(3))
    found = [Objective(one.dataset, threads)(flat) for one in (weighted, repeated)]
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-6)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["lbfgs", "owlqn"])
def test_the_optimum_of_repeated_sentences(name):
    problem = problem_for("adf", {}, 6, n_sentences=12, max_length=3)
    repeated = Problem(
        problem.n_labels, problem.n_of_kind, [*problem.sentences] * 2, [*problem.labels] * 2
    )
    weighted = replace(problem, weights=[2.0] * len(problem))
    first, second = (
        fit(one.dataset, algorithm_name=name, passes=200).weights for one in (weighted, repeated)
    )
    np.testing.assert_allclose(first, second, rtol=2e-2, atol=2e-3)


def always_and_listed(name, seed):
    """The same data twice: predicate 0 fires everywhere, unlisted and listed."""
    problem = problem_for(name, FIRMEST, seed, n_sentences=20)
    node, both, edge = problem.n_of_kind

    def shifted(first):
        return [
            [[*first, *((p + 1, value) for p, value in position)] for position in sentence]
            for sentence in problem.sentences
        ]

    kinds = (node + 1, both, edge)
    unlisted = Problem(problem.n_labels, kinds, shifted([]), problem.labels)
    listed = Problem(problem.n_labels, kinds, shifted([(0, 1.0)]), problem.labels)
    return replace(unlisted.dataset, always=0), listed


@every
@pytest.mark.parametrize("batch", [1, 4])
def test_what_always_fires_need_not_be_listed(name, batch):
    dataset, listed = always_and_listed(name, 5)
    given = batched(FIRMEST, batch)
    trainer = Trainer(dataset, algorithm(name), accepted(name, given))
    passes = orders(listed, 2)
    for order in passes:
        trainer.run(order)
    expected = oracle(name, listed, passes, **given)[-1].weights
    assert_equal(listed, trainer.current_weights(), expected)


def test_the_objective_of_what_always_fires():
    dataset, listed = always_and_listed("adf", 7)
    flat = listed.pack(listed.random_weights(3))
    found = [Objective(one)(flat) for one in (dataset, listed.dataset)]
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-6)
    np.testing.assert_allclose(found[0][1], found[1][1], **TOLERANCE)


def test_select_keeps_weights():
    problem = with_weights(problem_for("adf", {}, 1, n_sentences=10), 1)
    chosen = np.array([4, 2, 7])
    found = problem.dataset.select(chosen)
    assert found.weights.tolist() == [problem.weights[i] for i in chosen]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "one weight is needed for each sentence"),
        ([-1.0, 1.0, 1.0], "a weight is negative or not finite"),
        ([np.nan, 1.0, 1.0], "a weight is negative or not finite"),
        ([np.inf, 1.0, 1.0], "a weight is negative or not finite"),
        ([1.0, 1e38, 1.0], r"the weight of a sentence or sample is 1e\+38; allowed: 0 or more"),
    ],
)
def test_bad_weights(weights, message):
    problem = problem_for("adf", {}, 1, n_sentences=3)
    dataset = replace(problem.dataset, weights=np.array(weights, np.float32))
    with pytest.raises(ValueError, match=message):
        dataset.native(dataset.layout)


@pytest.mark.parametrize("always", [99, 5])
def test_only_a_node_predicate_can_always_fire(always):
    problem = problem_for("adf", {}, 1, n_sentences=3)
    assert always >= problem.n_of_kind[0]
    dataset = replace(problem.dataset, always=always)
    with pytest.raises(ValueError, match="must be a node predicate"):
        dataset.native(dataset.layout)
