"""Sentences of one token, as in classification: ADF has a special form for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adaptag.training.algorithms import algorithm
from adaptag.training.online import Trainer
from tests.reference.data import Problem
from tests.unit.trainer_cases import (
    SETTINGS,
    accepted,
    assert_equal,
    check,
    oracle,
    orders,
    trainer_of,
)

settings = pytest.mark.parametrize("given", SETTINGS["adf"].values(), ids=SETTINGS["adf"])


def one_token(seed, n_labels, n_sentences=60, n_features=40, values=True):
    """Sentences of one token with many features: some often, some twice, some hardly ever."""
    rng = np.random.default_rng(seed)

    def position():
        ids = np.minimum(rng.zipf(1.3, rng.integers(0, 12)) - 1, n_features - 1)
        return [(int(p), float(rng.integers(-6, 7)) / 4 if values else 1.0) for p in ids]

    sentences = [[position()] for _ in range(n_sentences)]
    labels = [[int(rng.integers(n_labels))] for _ in sentences]
    return Problem(n_labels, (n_features, 0, 0), sentences, labels)


def without_repeats(problem):
    """The same sentences with each feature once."""
    return replace(problem, sentences=[[[*dict(p).items()]] for (p,) in problem.sentences])


@settings
@pytest.mark.parametrize("n_labels", [1, 2, 4, 7, 9])
@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("repeats", [True, False])
def test_weights_equal_the_oracle(given, n_labels, values, repeats):
    problem = one_token(n_labels, n_labels, values=values)
    problem = problem if repeats else without_repeats(problem)
    check("adf", problem, orders(problem, 8), **given | {"window": given.get("window", 9)})


@settings
def test_sentences_of_any_length_between_them(given):
    """Not documents: the special form must not take them."""
    problem = one_token(3, 3)
    rng = np.random.default_rng(1)
    sentences = [s * int(rng.integers(1, 3)) for s in problem.sentences]
    labels = [y * len(s) for y, s in zip(problem.labels, sentences, strict=True)]
    problem = replace(problem, sentences=sentences, labels=labels)
    check("adf", problem, orders(problem, 6), **given | {"window": 7})


@settings
def test_what_always_fires(given):
    problem = one_token(4, 2)
    free = replace(
        problem, sentences=[[[pair for pair in p if pair[0] > 0]] for (p,) in problem.sentences]
    )
    listed = replace(free, sentences=[[[(0, 1.0), *p]] for (p,) in free.sentences])
    given = given | {"window": 11}
    trainer = Trainer(replace(free.dataset, always=0), algorithm("adf"), accepted("adf", given))
    passes = orders(problem, 5)
    for order in passes:
        trainer.run(order)
    expected = oracle("adf", listed, passes, **given)[-1].weights
    assert_equal(listed, trainer.current_weights(), expected)


@pytest.mark.parametrize("n_labels", [2, 4])
def test_weights_of_sentences(n_labels):
    rng = np.random.default_rng(2)
    problem = one_token(5, n_labels)
    problem = replace(problem, weights=rng.choice([0.0, 0.5, 2.0], len(problem)).tolist())
    check("adf", problem, orders(problem, 5), rate=0.5, sigma=0.7, window=9)


@pytest.mark.parametrize("n_labels", [2, 4])
def test_shrinks_that_were_put_off_for_long(n_labels):
    """A strong prior, so that what is pending exceeds what may stay pending."""
    problem = one_token(6, n_labels, n_sentences=40)
    check("adf", problem, orders(problem, 12), rate=0.9, sigma=0.3, window=10, alpha=0.99)


@pytest.mark.parametrize("n_labels", [2, 4])
def test_a_score_after_a_long_shrink(n_labels):
    """A row that shrank to a third of its weights is scored with what is left of them."""
    rare, often = [[(0, 1.0)]], [[(1, 1.0)]]
    problem = Problem(n_labels, (2, 0, 0), [rare, often], [[1], [0]])
    given = {"rate": 0.5, "sigma": 17.0, "window": 10_000}
    order = np.array([*[0] * 10, *[1] * 1200, 0], np.uint32)
    trainer = trainer_of("adf", problem, **given)
    trainer.run(order[:-1])
    loss, correct, _ = trainer.run(order[-1:])
    expected = oracle("adf", problem, [order], **given)[-1]
    assert loss == pytest.approx(expected.loss, rel=1e-5)
    assert correct == pytest.approx(expected.correct, rel=1e-5)


@pytest.mark.parametrize("n_labels", [2, 3, 6])
def test_unknown_labels_and_best_labels(n_labels):
    """A document without a label changes no weight but for the prior; the best label is told."""
    problem = one_token(7, n_labels)
    known = [*range(0, len(problem), 2)]
    labels = [y if i in known else [-1] for i, y in enumerate(problem.labels)]
    problem = replace(problem, labels=labels)
    given = {"rate": 0.5, "sigma": 0.7, "window": 9}
    trainer = check("adf", problem, orders(problem, 3), **given)
    weights = trainer.current_weights().reshape(-1, trainer.weights.size // 40)[:, :n_labels]
    (document,) = problem.sentences[1]
    scores = sum((value * weights[p] for p, value in document), np.zeros(n_labels))
    one = replace(problem, sentences=problem.sentences[1:2], labels=[[-1]])
    *_, best = trainer.run_on(one.dataset)
    assert scores[best[0]] == pytest.approx(scores.max(), abs=1e-5)


@pytest.mark.parametrize("n_labels", [2, 4])
def test_other_data_between_documents(n_labels):
    """Sentences of two tokens, which the special form does not take, and documents again."""
    problem = without_repeats(one_token(8, n_labels))
    longer = [[s[0], s[0]] for s in problem.sentences]
    both = replace(
        problem,
        sentences=[*problem.sentences, *longer],
        labels=[*problem.labels, *(y * 2 for y in problem.labels)],
    )
    n, given = len(problem), {"rate": 0.5, "sigma": 0.7, "window": 9}
    trainer = Trainer(problem.dataset, algorithm("adf"), accepted("adf", given), pass_size=2 * n)
    general = Trainer(both.dataset, algorithm("adf"), accepted("adf", given))
    rest = replace(both, sentences=both.sentences[n:], labels=both.labels[n:])
    for part, first in ((problem, 0), (rest, n), (problem, 0)):
        trainer.run_on(part.dataset)
        general.run(np.arange(first, first + n, dtype=np.uint32))
        assert_equal(problem, trainer.current_weights(), problem.unpack(general.current_weights()))


@pytest.mark.parametrize("n_labels", [2, 4])
def test_state_that_is_taken_out_and_put_back(n_labels):
    """The arrays of a run that keeps some of its own are up to date whenever they are asked for."""
    problem = one_token(9, n_labels)
    first, second = orders(problem, 2)
    given = {"rate": 0.5, "sigma": 0.7, "window": 9}
    whole, begun, resumed = (trainer_of("adf", problem, **given) for _ in range(3))
    whole.run(first)
    whole.run(second)
    begun.run(first)
    resumed.restore({name: array.copy() for name, array in begun.arrays().items()})
    resumed.run(second)
    assert (resumed.current_weights() == whole.current_weights()).all()
