"""Training in several orders of the sentences."""

from __future__ import annotations

import numpy as np
import pytest

from adaptag import StreamTrainer, api
from adaptag.errors import ModelError, ParameterError
from adaptag.training.algorithms import algorithm, algorithms
from adaptag.training.online import Trainer
from adaptag.training.orders import OrderedTraining
from tests.reference.data import random_problem
from tests.unit.making import fit

ONLINE = [name for name, one in algorithms().items() if one.online]


@pytest.mark.parametrize("name", ONLINE)
def test_the_weights_are_the_mean_of_those_of_all_orders(name):
    """Each order by a trainer of its own, one after the other."""
    data = random_problem(1, 3, n_sentences=30).dataset
    given = {"rate": 0.1} if "rate" in [p.name for p in algorithm(name).parameters] else {}
    found = fit(data, algorithm_name=name, parameters=given | {"orders": 3}, passes=2, seed=4)
    total = np.zeros(data.layout.n_weights)
    for k in range(3):
        rng = np.random.default_rng(4 if k == 0 else [4, 0, k])
        trainer = Trainer(data, algorithm(name), given)
        for _ in range(2):
            trainer.run(rng.permutation(len(data)).astype(np.uint32))
        total += trainer.current_weights()
    np.testing.assert_allclose(found.weights, total / 3, rtol=1e-6, atol=1e-7)
    assert np.abs(total).max() > 0


def test_one_order_is_that_of_the_seed():
    data = random_problem(2, 3, n_sentences=30).dataset
    one, other = (fit(data, passes=3, parameters=p) for p in ({}, {"orders": 1}))
    assert one.weights.tobytes() == other.weights.tobytes()


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_the_number_of_threads_changes_no_bit(dropout):
    data = random_problem(3, 3, n_sentences=60).dataset
    given = {"orders": 5, "dropout": dropout}
    results = [fit(data, passes=3, parameters=given, threads=n) for n in (None, 1, 2, 7)]
    assert len({result.weights.tobytes() for result in results}) == 1
    assert len({result.history[-1].loss for result in results}) == 1


def test_losses_are_means_over_the_orders():
    data = random_problem(4, 3, n_sentences=30).dataset
    loss, correct, tokens = Trainer(data, algorithm("adf"), {}).run(np.arange(30, dtype=np.uint32))
    values = algorithm("adf").values_without_sample({"orders": 2})
    training = OrderedTraining(data, algorithm("adf"), values, 1)
    same = np.stack([np.arange(30, dtype=np.uint32)] * 2)
    np.testing.assert_allclose(training.run(same), [loss, correct, tokens])


def test_every_order_leaves_out_other_features():
    data = random_problem(5, 3, n_sentences=30).dataset
    values = algorithm("adf").values_without_sample({"orders": 2, "dropout": 0.5})
    dropout = OrderedTraining(data, algorithm("adf"), values, 1).dropout
    first, second = (dropout.in_pass(1, 1, k).encoded.positions for k in (0, 1))
    assert (first != second).any()


def test_a_run_goes_on_from_its_checkpoint(tmp_path):
    data = random_problem(6, 3, n_sentences=60).dataset
    given = {"orders": 3, "rate": 0.1}
    whole = fit(data, passes=4, parameters=given)
    checkpoint = fit(data, passes=2, parameters=given).checkpoint
    checkpoint.save(tmp_path / "state")
    rest = fit(data, passes=4, resume=type(checkpoint).load(tmp_path / "state"))
    assert rest.weights.tobytes() == whole.weights.tobytes()


def test_the_state_of_other_orders_does_not_fit():
    data = random_problem(6, 3, n_sentences=20).dataset
    values = [algorithm("adf").values_without_sample({"orders": n}) for n in (1, 2)]
    one, two = (OrderedTraining(data, algorithm("adf"), v, 1) for v in values)
    with pytest.raises(ModelError, match="does not fit"):
        two.restore(one.arrays())


def test_training_starts_from_the_weights_of_a_model():
    data = random_problem(7, 3, n_sentences=30).dataset
    start = fit(data, passes=3).weights
    after = fit(data, passes=1, parameters={"rate": 1e-6, "orders": 2}, start=start).weights
    np.testing.assert_allclose(after, start, atol=1e-3)


def test_batch_algorithms_and_streams_have_one_order():
    sentences = [[("a", "X"), ("b", "Y")]] * 3
    with pytest.raises(ParameterError, match="lbfgs: unknown parameter 'orders'"):
        api.train(sentences, algorithm="lbfgs", orders=2)
    with pytest.raises(ParameterError, match="orders is 2; allowed: 1, where data comes in parts"):
        StreamTrainer("general", parameters={"orders": 2}).learn([["a"]], [["X"]])
