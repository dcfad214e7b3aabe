"""Online training in several threads: each owns some rows, or all train the same rows lock-free."""

from __future__ import annotations

import numpy as np
import pytest

import adaptag
from adaptag.errors import DivergenceError, ParameterError
from adaptag.training.algorithms import algorithm
from adaptag.training.checkpoint import Checkpoint
from adaptag.training.online import Trainer
from tests.reference.data import random_problem
from tests.unit.trainer_cases import (
    FIRMEST,
    ONLINE,
    accepted,
    assert_equal,
    batched,
    oracle,
    orders,
    problem_for,
)

MANY = (70, 50, 40)  # predicates of each kind: more than one block of rows for each of four threads
every = pytest.mark.parametrize("name", ONLINE)
WORDS = [f"w{k}" for k in range(60)]


def train(name, problem, passes, threads, *, lock_free=False, **given):
    parameters = accepted(name, given)
    trainer = Trainer(
        problem.dataset, algorithm(name), parameters, threads=threads, lock_free=lock_free
    )
    totals = [trainer.run(np.array(order, np.uint32)) for order in passes]
    return trainer, totals


def sentences_to_tag(n=80, seed=1):
    """Sentences whose labels follow from their words."""
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(WORDS, rng.integers(1, 9)) for _ in range(n)]
    return [[(str(w), "ABC"[int(w[1:]) % 3]) for w in words] for words in drawn]


@every
@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_that_own_rows_equal_mini_batches(name, threads, values):
    problem = problem_for(name, {}, 1, 3, MANY, values=values, n_sentences=25)
    given = batched(FIRMEST | {"window": 5}, threads)
    passes = orders(problem, 3)
    trainer, totals = train(name, problem, passes, threads, **given | {"batch": 1})
    expected = oracle(name, problem, passes, **given)
    assert trainer.batch == threads
    assert_equal(problem, trainer.current_weights(), expected[-1].weights)
    assert sum(t[0] for t in totals) == pytest.approx(sum(u.loss for u in expected), rel=1e-4)
    assert sum(t[2] for t in totals) == sum(u.tokens for u in expected)


@every
@pytest.mark.parametrize("n_labels", [2, 5, 9, 17, 30])
def test_any_width(name, n_labels):
    problem = problem_for(name, {}, 5, n_labels, MANY, n_sentences=8)
    given = batched(FIRMEST, 4)
    passes = orders(problem, 2)
    trainer, _ = train(name, problem, passes, 2, **given)
    assert_equal(
        problem, trainer.current_weights(), oracle(name, problem, passes, **given)[-1].weights
    )


@every
def test_the_same_number_of_threads_gives_the_same_bits(name):
    problem = problem_for(name, {}, 2, 4, MANY, n_sentences=40)
    passes = orders(problem, 3)
    one, other = (train(name, problem, passes, 3, **FIRMEST) for _ in range(2))
    assert one[1] == other[1]
    assert one[0].current_weights().tobytes() == other[0].current_weights().tobytes()
    assert one[0].row_state.tobytes() == other[0].row_state.tobytes()


@every
def test_training_can_be_cut_anywhere_between_updates(name):
    problem = problem_for(name, {}, 4, 3, MANY, n_sentences=30)
    (order,) = orders(problem, 1)
    whole, _ = train(name, problem, [order], 2, **FIRMEST)
    parts, _ = train(name, problem, [order[:4], order[4:10], order[10:]], 2, **FIRMEST)
    moved, _ = train(name, problem, [order[:10]], 2, **FIRMEST)
    other = Trainer(problem.dataset, algorithm(name), moved.parameters, threads=2)
    other.restore(moved.arrays())
    other.run(order[10:])
    for trainer in (parts, other):
        assert trainer.current_weights().tobytes() == whole.current_weights().tobytes()


@every
def test_other_data_is_split_on_the_fly(name):
    """With data that is not that of the trainer, as in a stream, and best labels on the way."""
    problem = problem_for(name, {}, 6, 3, MANY, n_sentences=20)
    trainers = [train(name, problem, [], 2, **FIRMEST)[0] for _ in range(2)]
    part = problem.dataset.select(np.arange(5, 15))
    best = trainers[0].run_on(part)[-1]
    trainers[1].run(np.arange(5, 15, dtype=np.uint32))
    assert trainers[0].current_weights().tobytes() == trainers[1].current_weights().tobytes()
    assert len(best) == part.n_tokens


def test_sentences_of_an_update_have_about_the_same_length():
    problem = random_problem(1, 3, MANY, n_sentences=100, max_length=30)
    trainer, _ = train("adf", problem, [], 4)
    lengths = np.diff(problem.dataset.encoded.sentences)
    order = orders(problem, 1)[0]
    arranged = trainer.arrange(order, lengths)
    assert sorted(arranged) == sorted(order)
    spread = [
        np.ptp(lengths[part[:96].reshape(-1, 4)], axis=1).mean() for part in (order, arranged)
    ]
    assert spread[1] < spread[0] / 3
    for threads, lock_free in ((1, False), (4, True)):
        other, _ = train("adf", problem, [], threads, lock_free=lock_free)
        assert other.arrange(order, lengths) is order


@pytest.mark.parametrize("lock_free", [False, True])
def test_what_a_thread_throws_is_passed_on(lock_free):
    problem = random_problem(1, 3, MANY, n_sentences=50)
    trainer, _ = train("averaged-perceptron", problem, [], 3, lock_free=lock_free)
    trainer.weights[:] = np.nan
    with pytest.raises(DivergenceError):
        trainer.run(orders(problem, 1)[0])


@pytest.mark.parametrize("lock_free", [False, True])
def test_more_threads_than_sentences(lock_free):
    problem = random_problem(1, 3, MANY, n_sentences=3)
    trainer, totals = train("adf", problem, orders(problem, 2), 8, lock_free=lock_free)
    assert np.isfinite(trainer.current_weights()).all()
    assert totals[0][2] == problem.dataset.n_tokens


# ---- lock-free ----------------------------------------------------------------------------------


@every
def test_lock_free_with_one_thread_changes_no_bit(name):
    problem = problem_for(name, {}, 2, 4, MANY, n_sentences=30)
    passes = orders(problem, 2)
    one, other = (train(name, problem, passes, 1, lock_free=x, **FIRMEST) for x in (True, False))
    assert one[1] == other[1]
    assert one[0].current_weights().tobytes() == other[0].current_weights().tobytes()


@every
def test_lock_free_updates_are_all_made(name):
    """Threads that train on different rows do not disturb each other: the result is exact."""
    n = 64
    problem = random_problem(1, 3, (n * 16, 0, 0), n_sentences=n, max_length=4)
    for i, sentence in enumerate(problem.sentences):  # predicates of its own for each sentence
        for t, position in enumerate(sentence):
            position[:] = [(16 * i + (t + k) % 16, 1.0 + k / 8) for k in range(5)]
    given = FIRMEST | {"average": 1}
    passes = orders(problem, 3)
    trainers = [train(name, problem, passes, k, lock_free=True, **given)[0] for k in (1, 4)]
    step = [int(trainer.run_state["step"][0]) for trainer in trainers]
    assert step == [3 * n, 3 * n]
    one, many = (trainer.current_weights() for trainer in trainers)
    np.testing.assert_allclose(many, one, rtol=2e-5, atol=2e-6)


@every
def test_lock_free_training_learns(name):
    train_on, test_on = sentences_to_tag(200), sentences_to_tag(50, seed=2)
    model = adaptag.train(
        train_on, algorithm=name, threads=3, parallel="lock-free", passes=10, template="general"
    )
    tagged = [model.tag([word for word, _ in sentence]) for sentence in test_on]
    pairs = [
        (a, b) for s, t in zip(test_on, tagged, strict=True) for (_, a), b in zip(s, t, strict=True)
    ]
    assert np.mean([a == b for a, b in pairs]) > 0.9


# ---- jobs ---------------------------------------------------------------------------------------


def test_a_checkpoint_keeps_the_number_of_threads(tmp_path):
    data, path = sentences_to_tag(), tmp_path / "state"
    options = {"template": "general", "threads": 2}
    whole = adaptag.train(data, passes=4, **options)
    adaptag.train(data, passes=2, checkpoint=str(path), **options)
    assert (Checkpoint.load(path).threads, Checkpoint.load(path).parallel) == (2, "deterministic")
    resumed = adaptag.train(data, passes=4, resume=str(path), template="general")
    assert resumed.weights.tobytes() == whole.weights.tobytes()
    assert resumed.provenance["training_settings"]["threads"] == 2
    with pytest.raises(ParameterError, match="threads is 3, but the checkpoint was trained with"):
        adaptag.train(data, passes=4, resume=str(path), template="general", threads=3)


def test_one_thread_is_the_default_of_online_algorithms():
    data = sentences_to_tag()
    one, default, two = (
        adaptag.train(data, template="general", passes=2, **given).weights.tobytes()
        for given in ({"threads": 1}, {}, {"threads": 2})
    )
    assert one == default != two
