"""Sentences of one token, as in classification: their rows are taken all at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adaptag.training.algorithms import algorithm
from adaptag.training.online import Trainer
from tests.reference.data import Problem
from tests.unit.trainer_cases import SETTINGS, accepted, assert_equal, check, oracle, orders

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


@settings
@pytest.mark.parametrize("n_labels", [2, 4, 7])
@pytest.mark.parametrize("values", [True, False])
def test_weights_equal_the_oracle(given, n_labels, values):
    problem = one_token(n_labels, n_labels, values=values)
    check("adf", problem, orders(problem, 8), **given | {"window": given.get("window", 9)})


@settings
def test_sentences_of_any_length_between_them(given):
    """The same rows, sometimes all at once and sometimes one by one."""
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


def test_weights_of_sentences():
    rng = np.random.default_rng(2)
    problem = one_token(5, 2)
    problem = replace(problem, weights=rng.choice([0.0, 0.5, 2.0], len(problem)).tolist())
    check("adf", problem, orders(problem, 5), rate=0.5, sigma=0.7, window=9)


def test_shrinks_that_were_put_off_for_long():
    """A strong prior, so that what is pending exceeds what may stay pending."""
    problem = one_token(6, 2, n_sentences=40)
    check("adf", problem, orders(problem, 12), rate=0.9, sigma=0.3, window=10, alpha=0.99)
