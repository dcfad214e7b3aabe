"""Sentences of one token, as in classification: ADF and SGD have special forms for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adaptag.training.algorithms import algorithm
from adaptag.training.online import Trainer
from tests.reference.data import Problem
from tests.unit import trainer_cases
from tests.unit.trainer_cases import (
    SETTINGS,
    accepted,
    assert_equal,
    oracle,
    orders,
    trainer_of,
)

GROUP = 16  # documents that several threads score before they learn from them

FORMS = [
    pytest.param(name, given, id=f"{name}, {label}")
    for name in ("adf", "sgd")
    for label, given in SETTINGS[name].items()
]
FIRM = {"rate": 0.5, "sigma": 3.0, "window": 9}  # not too firm for the form of adf
forms = pytest.mark.parametrize(("name", "given"), FORMS)
firm = pytest.mark.parametrize(("name", "given"), [("adf", FIRM), ("sgd", FIRM)])
in_threads = pytest.mark.parametrize("threads", [1, 2, 3])


def check(name, problem, passes, threads=1, **given):
    """Compare with the oracle, whose gradients lag behind where there are several threads."""
    delay = GROUP if threads > 1 else 1
    return trainer_cases.check(name, problem, passes, threads, delay=delay, **given)


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


def with_defaults(given):
    return {"window": 9} | given


@forms
@pytest.mark.parametrize("n_labels", [1, 2, 4, 7, 9])
@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("repeats", [True, False])
def test_weights_equal_the_oracle(name, given, n_labels, values, repeats):
    problem = one_token(n_labels, n_labels, values=values)
    problem = problem if repeats else without_repeats(problem)
    passes = 8 if name == "adf" else 2  # the large steps of sgd make more of rounding
    check(name, problem, orders(problem, passes), **with_defaults(given))


@forms
@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("n_labels", [2, 4, 7])
def test_threads(name, given, n_labels, threads):
    problem = one_token(n_labels, n_labels, n_features=100)
    if trainer_of(name, problem, threads, **with_defaults(given)).batch > 1:
        pytest.skip("no special form")
    passes = 4 if name == "adf" else 2
    check(name, problem, orders(problem, passes), threads, **with_defaults(given))


@firm
@in_threads
@pytest.mark.parametrize("n_labels", [2, 3])
def test_features_of_one_document(name, given, threads, n_labels):
    """Most features are in one document alone, some with value 0, and some documents are empty."""
    rng = np.random.default_rng(n_labels)
    problem = one_token(n_labels, n_labels, n_features=1000)
    own = iter(rng.permutation(np.arange(100, 1000)))
    sentences = [
        [[*p, *((int(next(own)), float(rng.integers(-2, 3))) for _ in range(rng.integers(9)))]]
        for (p,) in problem.sentences
    ]
    sentences[3], sentences[7], sentences[8] = [[]], [], [[(999, 1.0)]]
    labels = [y if s else [] for y, s in zip(problem.labels, sentences, strict=True)]
    problem = replace(problem, sentences=sentences, labels=labels)
    check(name, problem, orders(problem, 5), threads, **given)


@firm
@in_threads
@pytest.mark.parametrize("scale", [0.0, 0.3])
def test_weights_to_start_from(name, given, threads, scale):
    """Weights that are in no proportion to values: the form must not take them to be."""
    problem = one_token(1, 2, n_features=300)
    legal = np.ones((3, 3), np.uint8)
    start = np.random.default_rng(3).normal(scale=scale, size=(300, 4)).astype(np.float32)
    start[:, 0], start[:, 2:] = -start[:, 1], 0
    trainer = trainer_of(name, problem, threads, **given)
    general = trainer_of(name, replace(problem, legal=legal), **given)
    for one in (trainer, general):
        one.weights[:] = start.ravel()
    single = np.arange(1, dtype=np.uint32)  # one document: no thread lags behind
    for i in (0, 5, 9, 0):
        for one in (trainer, general):
            one.run(single + i)
        np.testing.assert_allclose(
            trainer.current_weights(), general.current_weights(), **trainer_cases.TOLERANCE
        )


@forms
def test_sentences_of_any_length_between_them(name, given):
    """Not documents: the special form must not take them."""
    problem = one_token(3, 3)
    rng = np.random.default_rng(1)
    sentences = [s * int(rng.integers(1, 3)) for s in problem.sentences]
    labels = [y * len(s) for y, s in zip(problem.labels, sentences, strict=True)]
    problem = replace(problem, sentences=sentences, labels=labels)
    check(name, problem, orders(problem, 6), **given | {"window": 7})


@forms
def test_what_always_fires(name, given):
    problem = one_token(4, 2)
    free = replace(
        problem, sentences=[[[pair for pair in p if pair[0] > 0]] for (p,) in problem.sentences]
    )
    listed = replace(free, sentences=[[[(0, 1.0), *p]] for (p,) in free.sentences])
    given = given | {"window": 11}
    trainer = Trainer(replace(free.dataset, always=0), algorithm(name), accepted(name, given))
    passes = orders(problem, 5)
    for order in passes:
        trainer.run(order)
    expected = oracle(name, listed, passes, **given)[-1].weights
    assert_equal(listed, trainer.current_weights(), expected)


@firm
@in_threads
@pytest.mark.parametrize("n_labels", [2, 4])
def test_weights_of_sentences(name, given, threads, n_labels):
    rng = np.random.default_rng(2)
    problem = one_token(5, n_labels)
    problem = replace(problem, weights=rng.choice([0.0, 0.5, 2.0], len(problem)).tolist())
    check(name, problem, orders(problem, 5), threads, **given)


@in_threads
@pytest.mark.parametrize("name", ["adf", "sgd"])
@pytest.mark.parametrize("n_labels", [2, 4])
def test_shrinks_that_were_put_off_for_long(name, n_labels, threads):
    """A strong prior, so that what is pending exceeds what may stay pending."""
    problem = one_token(6, n_labels, n_sentences=1200, n_features=400)
    given = {
        "adf": {"rate": 0.9, "sigma": 0.9, "window": 10, "alpha": 0.999},
        "sgd": {"rate": 0.1, "sigma": 0.1, "decay": 1.0},
    }[name]
    check(name, problem, orders(problem, 2), threads, **given)


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


@firm
@in_threads
@pytest.mark.parametrize("n_labels", [2, 3, 6])
def test_unknown_labels_and_best_labels(name, given, threads, n_labels):
    """A document without a label changes no weight but for the prior; the best label is told."""
    problem = one_token(7, n_labels)
    known = [*range(0, len(problem), 2)]
    labels = [y if i in known else [-1] for i, y in enumerate(problem.labels)]
    problem = replace(problem, labels=labels)
    trainer = check(name, problem, orders(problem, 3), threads, **given)
    weights = trainer.current_weights().reshape(-1, trainer.weights.size // 40)[:, :n_labels]
    (document,) = problem.sentences[1]
    scores = sum((value * weights[p] for p, value in document), np.zeros(n_labels))
    one = replace(problem, sentences=problem.sentences[1:2], labels=[[-1]])
    *_, best = trainer.run_on(one.dataset)
    assert scores[best[0]] == pytest.approx(scores.max(), abs=1e-5)


@firm
@pytest.mark.parametrize("n_labels", [2, 4])
def test_other_data_between_documents(name, given, n_labels):
    """Sentences of two tokens, which the special form does not take, and documents again."""
    problem = without_repeats(one_token(8, n_labels))
    longer = [[s[0], s[0]] for s in problem.sentences]
    both = replace(
        problem,
        sentences=[*problem.sentences, *longer],
        labels=[*problem.labels, *(y * 2 for y in problem.labels)],
    )
    n = len(problem)
    trainer = Trainer(problem.dataset, algorithm(name), accepted(name, given), pass_size=2 * n)
    general = Trainer(both.dataset, algorithm(name), accepted(name, given))
    rest = replace(both, sentences=both.sentences[n:], labels=both.labels[n:])
    documents, longer = (np.arange(k, k + n, dtype=np.uint32) for k in (0, n))
    for own in (True, False, True):
        trainer.run(documents) if own else trainer.run_on(rest.dataset)
        general.run(documents if own else longer)
        assert_equal(problem, trainer.current_weights(), problem.unpack(general.current_weights()))


@firm
@in_threads
@pytest.mark.parametrize("n_labels", [2, 4])
def test_state_that_is_taken_out_and_put_back(name, given, threads, n_labels):
    """The arrays of a run that keeps some of its own are up to date whenever they are asked for."""
    problem = one_token(9, n_labels, n_features=300)
    first, second = orders(problem, 2)
    whole, begun, resumed = (trainer_of(name, problem, threads, **given) for _ in range(3))
    whole.run(first)
    whole.run(second)
    begun.run(first)
    resumed.restore({name: array.copy() for name, array in begun.arrays().items()})
    resumed.run(second)
    assert (resumed.current_weights() == whole.current_weights()).all()
    begun.run(second)  # its arrays were read in between, which changes nothing
    assert (begun.current_weights() == whole.current_weights()).all()


@firm
def test_another_number_of_threads_after_a_resume(name, given):
    problem = one_token(10, 2, n_features=300)
    first, second = orders(problem, 2)
    begun = trainer_of(name, problem, 2, **given)
    begun.run(first)
    weights = begun.current_weights()
    for threads in (1, 3):
        resumed = trainer_of(name, problem, threads, **given)
        resumed.restore({name: array.copy() for name, array in begun.arrays().items()})
        np.testing.assert_allclose(resumed.current_weights(), weights, rtol=1e-6)
        assert resumed.batch == 1
        resumed.run(second[:1])  # one document: no thread lags behind
        expected = trainer_of(name, problem, 1, **given)
        expected.restore({name: array.copy() for name, array in begun.arrays().items()})
        expected.run(second[:1])
        np.testing.assert_allclose(
            resumed.current_weights(), expected.current_weights(), **trainer_cases.TOLERANCE
        )


@firm
def test_threads_give_the_same_bits(name, given):
    problem = one_token(11, 2, n_sentences=500, n_features=3000)
    passes = orders(problem, 4)

    def trained():
        trainer = trainer_of(name, problem, 3, **given)
        totals = [trainer.run(order) for order in passes]
        return totals, trainer.current_weights()

    (first, weights), (second, others) = trained(), trained()
    assert first == second
    assert (weights == others).all()
