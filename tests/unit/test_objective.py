from __future__ import annotations

import numpy as np
import pytest

from adaptag._native import core
from tests.reference.batch import total_loss
from tests.reference.data import KINDS, Problem, random_problem


def core_objective(problem, weights, begin=0.0, threads=1):
    layout = problem.dataset.layout
    gradient = np.full(layout.n_weights, begin, np.float32)
    evaluate = core.Objective(layout, problem.native)
    loss, *_ = evaluate(problem.pack(weights), gradient, threads)
    return loss, gradient


@pytest.mark.parametrize("n_labels", [1, 2, 3, 4, 5, 9, 17, 30])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("scale", [1, 100])
@pytest.mark.parametrize("threads", [1, 3])
def test_loss_and_gradient_equal_the_oracle(n_labels, kind, values, scale, threads):
    problem = random_problem(
        n_labels, n_labels, KINDS[kind], n_sentences=6, values=values, edges_at_start=True
    )
    weights = problem.random_weights(n_labels, scale)
    loss, flat = core_objective(problem, weights, threads=threads)
    expected, gradient = total_loss(problem, weights)
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
                losses.append(total_loss(problem, weights)[0])
            w[where] = here
            differences[where] = (losses[0] - losses[1]) / (2 * h)
        np.testing.assert_allclose(part, differences, atol=5e-6)


@pytest.mark.parametrize("threads", [1, 2])
def test_gradient_is_added(threads):
    problem = random_problem(1, 3)
    weights = problem.random_weights(1)
    _, once = core_objective(problem, weights, threads=threads)
    _, added = core_objective(problem, weights, begin=1.0, threads=threads)
    np.testing.assert_allclose(added, once + 1, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("threads", [1, 2])
def test_without_sentences_the_loss_is_zero(threads):
    problem = random_problem(1, 3, n_sentences=0)
    loss, gradient = core_objective(problem, problem.random_weights(1), threads=threads)
    assert loss == 0
    assert not gradient.any()


@pytest.mark.parametrize("n_labels", [3, 5, 30])
@pytest.mark.parametrize("n_sentences", [1, 2, 5, 40])
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_change_no_bit(n_labels, n_sentences, threads):
    problem = random_problem(n_sentences, n_labels, n_sentences=n_sentences)
    weights = problem.random_weights(1)
    loss, gradient = core_objective(problem, weights)
    for _ in range(3):
        shared_loss, shared = core_objective(problem, weights, threads=threads)
        assert shared_loss == loss
        np.testing.assert_array_equal(shared, gradient)


def test_many_blocks():
    """Sentences of several blocks, and one that is longer than a block."""
    problem = random_problem(1, 30, KINDS["all"], n_sentences=600)
    problem.sentences.insert(3, [position for s in problem.sentences for position in s])
    problem.labels.insert(3, [label for labels in problem.labels for label in labels])
    problem = Problem(problem.n_labels, problem.n_of_kind, problem.sentences, problem.labels)
    weights = problem.random_weights(1)
    loss, flat = core_objective(problem, weights, threads=3)
    expected, gradient = total_loss(problem, weights)
    assert loss == pytest.approx(expected, rel=2e-6)
    expected_flat = problem.pack(gradient, np.float64)
    np.testing.assert_allclose(flat, expected_flat, rtol=1e-5, atol=1e-3)
    np.testing.assert_array_equal(flat, core_objective(problem, weights)[1])


@pytest.mark.parametrize("n_labels", [3, 5, 44])
@pytest.mark.parametrize("score", [-80.0, -200.0])
def test_labels_that_are_out_of_the_question_do_not_need_log_space(n_labels, score):
    """Else a sentence takes 60 times as long, as with weights of L-BFGS after some iterations."""
    problem = random_problem(1, n_labels, (3, 0, 1), n_sentences=20, max_length=12)
    sentences = [[[(2, 1.0), *position] for position in s] for s in problem.sentences]
    gold = [[label % (n_labels - 1) for label in labels] for labels in problem.labels]
    problem = Problem(n_labels, (3, 0, 1), sentences, gold)
    weights = problem.random_weights(1)
    weights.node[2, -1] = score  # fires everywhere
    gradient = np.zeros(problem.dataset.layout.n_weights, np.float32)
    loss, _, _, in_log_space = core.Objective(problem.dataset.layout, problem.native)(
        problem.pack(weights), gradient, 1
    )
    assert in_log_space == 0
    expected, expected_gradient = total_loss(problem, weights)
    assert loss == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(
        gradient, problem.pack(expected_gradient, np.float64), rtol=1e-4, atol=1e-5
    )


def test_labels_that_come_back_need_log_space():
    """A label that is out of the question at one token and certain at the next."""
    sentences = [[[(0, 1.0), (2, 1.0)], [(1, 1.0), (2, 1.0)]]]
    problem = Problem(2, (2, 0, 1), sentences, [[1, 1]])
    weights = problem.zeros()
    weights.node[0] = [0, -100]
    weights.edge[2] = [[-100, -100], [-100, 100]]
    gradient = np.zeros(problem.dataset.layout.n_weights, np.float32)
    loss, _, _, in_log_space = core.Objective(problem.dataset.layout, problem.native)(
        problem.pack(weights), gradient, 1
    )
    assert in_log_space == 1
    assert loss == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_empty_sentences_do_not_count(threads):
    full = random_problem(1, 3, n_sentences=4)
    sentences, labels = [[], []], [[], []]
    for sentence, gold in zip(full.sentences, full.labels, strict=True):
        sentences += [sentence, [], []]
        labels += [gold, [], []]
    problem = Problem(full.n_labels, full.n_of_kind, sentences, labels)
    weights = problem.random_weights(1)
    loss, gradient = core_objective(problem, weights, threads=threads)
    expected_loss, expected = core_objective(full, weights)
    assert loss == pytest.approx(expected_loss, rel=1e-9)
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-12)
    only_empty = Problem(full.n_labels, full.n_of_kind, [[], [], []], [[], [], []])
    assert core_objective(only_empty, weights, threads=threads)[0] == 0


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("bad", [0, 3, 6])
def test_what_a_thread_throws_reaches_the_caller(threads, bad):
    sentences = [[[(int(i == bad), 1.0)]] for i in range(7)]
    problem = Problem(3, (2, 0, 0), sentences, [[0]] * 7)
    weights = problem.zeros()
    weights.node[1] = -1e30  # as if forbidden, all labels
    with pytest.raises(ValueError, match="no label sequence"):
        core_objective(problem, weights, threads=threads)


@pytest.mark.parametrize("threads", [0, -1])
def test_at_least_one_thread_is_needed(threads):
    problem = random_problem(1, 3)
    with pytest.raises(ValueError, match="threads: at least 1"):
        core_objective(problem, problem.random_weights(1), threads=threads)
