"""Training where some labels are not known, and where some transitions are ruled out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adaptag._native import core
from adaptag.errors import DivergenceError
from adaptag.training.batch import Objective
from tests.reference.crf import BruteForce, constrained, loss_and_gradient, scores
from tests.unit.making import fit
from tests.unit.trainer_cases import (
    FIRMEST,
    ONLINE,
    TOLERANCE,
    batched,
    check,
    oracle,
    orders,
    problem_for,
    trainer_of,
)

every = pytest.mark.parametrize("name", ONLINE)


def hiding(problem, seed, share=0.4):
    """The problem with some of its labels not known; of one sentence none is."""
    rng = np.random.default_rng([seed, 3])
    labels = [[-1 if rng.random() < share else y for y in gold] for gold in problem.labels]
    labels[0] = [-1] * len(labels[0])
    return replace(problem, labels=labels)


def ruling_out(problem, seed):
    """The problem with some transitions ruled out that its labels do not take."""
    n = problem.n_labels
    legal = (np.random.default_rng([seed, 4]).random((n + 1, n + 1)) < 0.6).astype(np.uint8)
    np.fill_diagonal(legal, 1)
    for gold in problem.labels:
        for a, b in zip([n, *gold], [*gold, n], strict=True):
            legal[a, b] = 1
    return replace(problem, legal=legal)


@every
@pytest.mark.parametrize(("batch", "seed"), [(1, 2), (3, 5)])
def test_partial_labels_equal_the_oracle(name, batch, seed):
    problem = hiding(problem_for(name, FIRMEST, seed, n_sentences=20), seed)
    check(name, problem, orders(problem, 3, seed), **batched(FIRMEST, batch))


@every
@pytest.mark.parametrize("seed", [1, 3])
def test_ruled_out_transitions_equal_the_oracle(name, seed):
    problem = ruling_out(problem_for(name, FIRMEST, seed, n_labels=5, n_sentences=6), seed)
    assert not problem.legal.all()
    check(name, problem, orders(problem, 3, seed), **FIRMEST)


@every
def test_both_equal_the_oracle(name):
    problem = problem_for(name, FIRMEST, 6, n_labels=5, n_sentences=6)
    problem = hiding(ruling_out(problem, 6), 6)
    check(name, problem, orders(problem, 2, 6), **FIRMEST)


@every
def test_totals_are_of_known_labels(name):
    problem = hiding(problem_for(name, FIRMEST, 4, n_sentences=12), 4)
    passes = orders(problem, 1)
    loss, correct, tokens = trainer_of(name, problem, **FIRMEST).run(passes[0])
    updates = oracle(name, problem, passes, **FIRMEST)
    assert loss == pytest.approx(sum(one.loss for one in updates), rel=1e-4, abs=1e-5)
    assert correct == pytest.approx(sum(one.correct for one in updates), rel=1e-4)
    assert tokens == sum(one.tokens for one in updates)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_objective(threads):
    problem = problem_for("adf", {}, 7, n_labels=4, n_sentences=15)
    problem = hiding(ruling_out(problem, 7), 7)
    weights = problem.random_weights(3)
    loss, gradient = Objective(problem.dataset, threads)(problem.pack(weights).astype(float))
    expected, found = 0.0, problem.unpack(gradient)
    sums = problem.zeros()
    for sentence, gold in zip(problem.sentences, problem.labels, strict=True):
        one, of_one = loss_and_gradient(sentence, gold, weights, problem.legal)
        expected += one
        for total, part in zip(sums, problem.masked(of_one), strict=True):
            total += part
    assert loss == pytest.approx(expected, rel=1e-6)
    for a, b in zip(found, sums, strict=True):
        np.testing.assert_allclose(a, b, **TOLERANCE)


def test_the_oracle_against_all_paths():
    problem = hiding(ruling_out(problem_for("adf", {}, 8, n_labels=3, n_sentences=8), 8), 8)
    weights = problem.random_weights(5)
    for sentence, gold in zip(problem.sentences, problem.labels, strict=True):
        paths = BruteForce(constrained(scores(sentence, weights), problem.legal))
        agrees = np.all([(paths.paths[:, t] == y) | (y < 0) for t, y in enumerate(gold)], axis=0)
        probability = paths.probabilities[agrees].sum()
        loss, _ = loss_and_gradient(sentence, gold, weights, problem.legal)
        assert loss == pytest.approx(-np.log(probability), abs=1e-9)


def test_finite_differences():
    problem = hiding(ruling_out(problem_for("adf", {}, 9, n_labels=3, n_sentences=10), 9), 9)
    objective = Objective(problem.dataset)
    x = problem.pack(problem.random_weights(1, 0.5)).astype(float)
    _, gradient = objective(x)
    for i in np.flatnonzero(np.abs(gradient) > 0.1)[:10]:
        step = np.zeros_like(x)
        step[i] = 2**-6
        slope = (objective(x + step)[0] - objective(x - step)[0]) / 2**-5
        assert gradient[i] == pytest.approx(slope, rel=2e-2, abs=2e-3)


@pytest.mark.parametrize(("name", "given"), [("lbfgs", {}), ("owlqn", {"l1": 0.01})])
def test_batch_training_goes_down(name, given):
    problem = hiding(problem_for("adf", {}, 5, n_sentences=20), 5)
    result = fit(problem.dataset, algorithm_name=name, parameters=given, passes=20)
    assert result.history[-1].loss < result.history[0].loss * 0.95


@every
def test_what_is_not_known_teaches_nothing(name):
    problem = problem_for(name, FIRMEST, 3, n_sentences=8)
    problem = replace(problem, labels=[[-1] * len(gold) for gold in problem.labels])
    trainer = trainer_of(name, problem, **FIRMEST)
    loss, _, tokens = trainer.run(orders(problem, 1)[0])
    assert (loss, tokens) == (pytest.approx(0, abs=1e-5), 0)
    np.testing.assert_allclose(trainer.current_weights(), 0, atol=1e-6)


@pytest.mark.parametrize("label", [-2, 3])
def test_labels_out_of_range(label):
    problem = problem_for("adf", {}, 3, n_sentences=3)
    labels = np.array(problem.dataset.labels)
    labels[0] = label
    dataset = replace(problem.dataset, labels=labels)
    with pytest.raises(ValueError, match="label ids are out of range"):
        dataset.native(dataset.layout)


def test_the_table_of_transitions_must_fit():
    problem = problem_for("adf", {}, 3, n_sentences=3)
    dataset = replace(problem.dataset, legal=np.ones((3, 3), np.uint8))
    with pytest.raises(ValueError, match=r"legal: the shape must be \[labels \+ 1, labels \+ 1\]"):
        dataset.native(dataset.layout)


def test_labels_that_are_ruled_out():
    problem = problem_for("adf", {}, 3, n_sentences=3)
    n = problem.n_labels + 1
    problem = replace(problem, legal=np.zeros((n, n), np.uint8))
    trainer, order = trainer_of("adf", problem), orders(problem, 1)[0]
    with pytest.raises(core.NoPathError, match="no label sequence satisfies the constraints"):
        trainer._run.run(trainer._data, order)
    with pytest.raises(DivergenceError):  # data that the transitions rule out is refused earlier
        trainer.run(order)
