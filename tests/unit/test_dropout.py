"""Dropout of features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adaptag import StreamTrainer, api
from adaptag.dataset.dropout import Dropout
from adaptag.errors import ParameterError
from adaptag.features.index import Encoded
from adaptag.training.algorithms import algorithm, algorithms
from adaptag.training.online import Trainer
from tests.reference.data import random_problem
from tests.unit.making import fit

ONLINE = [name for name, one in algorithms().items() if one.online]


def without_features(examples, number, seed, probability):
    """Token by token: the features that a pass keeps."""
    e = examples.encoded
    node, both, _ = examples.index.n_of_kind
    drawn = np.random.default_rng([seed, number]).random(len(e.predicates), np.float32)
    positions, predicates, values = [0], [], []
    for first, end in zip(e.positions, e.positions[1:], strict=False):
        for k in range(first, end):
            if drawn[k] >= probability or e.predicates[k] >= node + both:
                predicates.append(e.predicates[k])
                values.append(1.0 if e.values is None else e.values[k])
        positions.append(len(predicates))
    encoded = Encoded(
        e.sentences,
        np.array(positions, e.positions.dtype),
        np.array(predicates, e.predicates.dtype),
        None if e.values is None else np.array(values, np.float32),
    )
    return replace(examples, encoded=encoded)


@pytest.mark.parametrize("name", ONLINE)
def test_each_pass_is_trained_without_some_features(name):
    data = random_problem(1, 3, n_sentences=40).dataset
    given = {"rate": 0.1} if "rate" in [p.name for p in algorithm(name).parameters] else {}
    found = fit(data, algorithm_name=name, parameters=given | {"dropout": 0.3}, passes=3, seed=4)
    trainer = Trainer(data, algorithm(name), given)
    orders = np.random.default_rng(4)
    for number in (1, 2, 3):
        order = orders.permutation(len(data))
        part = without_features(data, number, 4, 0.3).select(order)
        trainer.run_on(part)
    expected = trainer.current_weights()
    for predicate in range(data.layout.n_predicates):
        node, both, _ = data.index.n_of_kind
        if predicate < node + both:
            expected[row_of(data, predicate)] *= np.float32(0.7)
    np.testing.assert_array_equal(found.weights, expected)
    assert np.abs(found.weights).max() > 0


def row_of(data, predicate):
    """The place of a predicate's weights: those of nodes, of nodes and edges, of edges."""
    node, both, _ = data.index.n_of_kind
    width = data.layout.width
    sizes = (width, width + data.layout.n_labels * width, data.layout.n_labels * width)
    kind = 0 if predicate < node else 1 if predicate < node + both else 2
    starts = (0, node, node + both)
    first = sum(sizes[k] * count for k, count in enumerate((node, both)) if k < kind) + sizes[
        kind
    ] * (predicate - starts[kind])
    return slice(first, first + sizes[kind])


def test_features_of_transitions_alone_stay():
    data = random_problem(2, 3, n_sentences=200).dataset
    node, both, _ = data.index.n_of_kind
    kept = Dropout(data, 0.9).in_pass(1, 1).encoded.predicates
    all_of = data.encoded.predicates
    assert (kept >= node + both).sum() == (all_of >= node + both).sum()
    share = (kept < node + both).sum() / (all_of < node + both).sum()
    assert share == pytest.approx(0.1, abs=0.03)


def test_no_pass_leaves_out_the_same_features():
    dropout = Dropout(random_problem(2, 3, n_sentences=50).dataset, 0.5)
    first, again, second, other = (
        dropout.in_pass(*pair).encoded.positions for pair in ((1, 1), (1, 1), (2, 1), (1, 2))
    )
    np.testing.assert_array_equal(first, again)
    assert (first != second).any()
    assert (first != other).any()


def test_a_predicate_that_always_fires_keeps_its_weights():
    data = replace(random_problem(3, 3, n_sentences=5).dataset, always=0)
    weights = np.ones(data.layout.n_weights, np.float32)
    scaled = Dropout(data, 0.5).scale(weights.copy())
    width = data.layout.width
    assert (scaled[:width] == 1).all()
    assert (scaled[width : 2 * width] == 0.5).all()
    back = Dropout(data, 0.5).scale(scaled, inverse=True)
    np.testing.assert_array_equal(back, weights)


def test_a_run_goes_on_from_its_checkpoint():
    data = random_problem(4, 3, n_sentences=60).dataset
    whole = fit(data, passes=4, parameters={"dropout": 0.2})
    half = fit(data, passes=2, parameters={"dropout": 0.2})
    rest = fit(data, passes=4, resume=half.checkpoint)
    assert rest.weights.tobytes() == whole.weights.tobytes()


def test_training_starts_from_the_weights_of_a_model():
    data = random_problem(5, 3, n_sentences=60).dataset
    start = fit(data, passes=3).weights
    given = {"rate": 1e-6, "dropout": 0.5}
    after = fit(data, passes=1, parameters=given, start=start).weights
    np.testing.assert_allclose(after, start, atol=1e-3)


def test_batch_algorithms_have_no_dropout():
    sentences = [[("a", "X"), ("b", "Y")]] * 3
    with pytest.raises(ParameterError, match="lbfgs: unknown parameter 'dropout'"):
        api.train(sentences, algorithm="lbfgs", dropout=0.1)


def test_streams_have_no_dropout():
    with pytest.raises(ParameterError, match=r"dropout is 0\.1; allowed: 0, where data comes in"):
        StreamTrainer("general", parameters={"dropout": 0.1}).learn([["a"]], [["X"]])
