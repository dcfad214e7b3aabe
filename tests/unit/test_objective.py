from __future__ import annotations

import numpy as np
import pytest

from adaptag._native import core
from tests.reference.crf import Weights, loss_and_gradient
from tests.reference.data import KINDS, random_problem


def core_objective(problem, weights, begin=0.0):
    layout = problem.dataset.layout
    gradient = np.full(layout.n_weights, begin)
    return core.objective(layout, problem.native, problem.pack(weights), gradient), gradient


def oracle_objective(problem, weights):
    loss, total = 0.0, problem.zeros()
    for sentence, gold in zip(problem.sentences, problem.labels, strict=True):
        one, gradient = loss_and_gradient(sentence, gold, weights)
        loss += one
        total = Weights(*(a + b for a, b in zip(total, gradient, strict=True)))
    return loss, problem.masked(total)


@pytest.mark.parametrize("n_labels", [1, 2, 3, 4, 5, 9, 17, 30])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("scale", [1, 100])
def test_loss_and_gradient_equal_the_oracle(n_labels, kind, values, scale):
    problem = random_problem(
        n_labels, n_labels, KINDS[kind], n_sentences=6, values=values, edges_at_start=True
    )
    weights = problem.random_weights(n_labels, scale)
    loss, flat = core_objective(problem, weights)
    expected, gradient = oracle_objective(problem, weights)
    assert loss == pytest.approx(expected, rel=2e-6, abs=2e-6)
    np.testing.assert_allclose(flat, problem.pack(gradient, np.float64), rtol=1e-5, atol=1e-5)
    assert not problem.padding(flat).any()


@pytest.mark.parametrize("n_labels", [1, 2, 3, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_gradient_equals_finite_differences(n_labels, kind):
    problem = random_problem(n_labels, n_labels, KINDS[kind], n_sentences=2, max_length=4)
    weights = problem.random_weights(1)
    found = problem.unpack(core_objective(problem, weights)[1])
    h = 1e-5
    for part, w in zip(found, weights, strict=True):
        differences = np.zeros_like(w)
        for place in np.argwhere(part != 0):
            where = tuple(place)
            here = w[where]
            losses = []
            for moved in (here + h, here - h):
                w[where] = moved
                losses.append(oracle_objective(problem, weights)[0])
            w[where] = here
            differences[where] = (losses[0] - losses[1]) / (2 * h)
        np.testing.assert_allclose(part, differences, atol=5e-6)


def test_gradient_is_added():
    problem = random_problem(1, 3)
    weights = problem.random_weights(1)
    _, once = core_objective(problem, weights)
    _, added = core_objective(problem, weights, begin=1.0)
    np.testing.assert_allclose(added, once + 1, rtol=1e-12)


def test_without_sentences_the_loss_is_zero():
    problem = random_problem(1, 3, n_sentences=0)
    loss, gradient = core_objective(problem, problem.random_weights(1))
    assert loss == 0
    assert not gradient.any()
