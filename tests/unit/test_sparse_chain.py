"""Chains of attributes in float64, against the slow version and brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptag.foreign.crfsuite import crfsuite_bytes, read_sparse
from adaptag.foreign.sparse_chain import SparseChain
from tests.reference.crf import BruteForce, Scores, best_path, forward_backward

WEIGHTS = st.floats(-5, 5).map(lambda x: round(x, 2))  # so that ties occur


def chain_of(table, transitions):
    """The chain whose attributes a0, a1, … have these weights [A, Y]; zeros are left out."""
    source, target = np.nonzero(table)
    return SparseChain(
        tuple(f"y{k}" for k in range(table.shape[1])),
        [f"a{k}".encode() for k in range(len(table))],
        np.searchsorted(source, np.arange(len(table) + 1)).astype(np.int64),
        target.astype(np.uint32),
        table[source, target],
        np.ascontiguousarray(transitions),
    )


def scores_of(sequence, table, transitions):
    node = np.zeros((len(sequence), table.shape[1]))
    for t, item in enumerate(sequence):
        for name, value in item.items():
            node[t] += table[int(name[1:])] * value
    return Scores(node, np.broadcast_to(transitions, (len(sequence), *transitions.shape)))


@st.composite
def cases(draw, max_labels, max_length):
    n_labels = draw(st.integers(1, max_labels))
    table = np.array(
        draw(
            st.lists(
                st.lists(WEIGHTS, min_size=n_labels, max_size=n_labels), min_size=3, max_size=3
            )
        )
    )
    scale = draw(st.sampled_from([1.0, 1.0, 400.0]))  # the last one needs log space
    transitions = scale * np.array(
        draw(
            st.lists(
                st.lists(WEIGHTS, min_size=n_labels, max_size=n_labels),
                min_size=n_labels,
                max_size=n_labels,
            )
        )
    )
    names = st.sampled_from(["a0", "a1", "a2"])
    items = st.dictionaries(names, st.floats(-2, 2), max_size=3)
    sequence = draw(st.lists(items, min_size=1, max_size=max_length))
    return table, transitions, sequence


@settings(deadline=None, max_examples=200)
@given(cases(3, 5))
def test_all_paths(case):
    table, transitions, sequence = case
    scores = scores_of(sequence, table, transitions)
    every = BruteForce(scores)
    tagger = chain_of(table, transitions).tagger()
    path = [int(label[1:]) for label in tagger.tag_items(sequence)]
    assert every.scores[every.number(path)] == pytest.approx(
        every.scores.max(), rel=1e-12, abs=1e-9
    )
    for k, labels in enumerate(every.paths.tolist()):
        assert math.exp(tagger.log_probability(labels)) == pytest.approx(
            every.probabilities[k], abs=1e-9
        )
    marginals = every.marginals().node
    for t in range(len(sequence)):
        for y in range(table.shape[1]):
            assert tagger.marginal(y, t) == pytest.approx(marginals[t, y], abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(cases(9, 30))
def test_long_sequences(case):
    table, transitions, sequence = case
    scores = scores_of(sequence, table, transitions)
    tagger = chain_of(table, transitions).tagger()
    assert tagger.tag_items(sequence) == [f"y{y}" for y in best_path(scores)]
    expected = forward_backward(scores)
    found = [[tagger.marginal(y, t) for y in range(table.shape[1])] for t in range(len(sequence))]
    np.testing.assert_allclose(found, expected.node, atol=1e-9)


@settings(deadline=None, max_examples=50)
@given(cases(4, 2))
def test_files_give_the_same_weights(case):
    table, transitions, _ = case
    chain = chain_of(table, transitions)
    again = read_sparse(crfsuite_bytes(chain))
    assert (again.labels, again.attributes) == (chain.labels, list(chain.attributes))
    for name in ("rows", "targets", "weights", "transitions"):
        np.testing.assert_array_equal(getattr(again, name), getattr(chain, name))


def test_arrays_that_do_not_fit_are_refused():
    chain = chain_of(np.eye(3), np.zeros((3, 3)))
    for name, value, message in (
        ("rows", chain.rows[:-1], "fit together"),
        ("rows", chain.rows[::-1].copy(), "fit together"),
        ("targets", chain.targets + np.uint32(1), "out of range"),
        ("weights", chain.weights[1:], "fit together"),
        ("transitions", np.zeros((2, 3)), "fit together"),
    ):
        parts = {field: getattr(chain, field) for field in chain.__dataclass_fields__}
        with pytest.raises(ValueError, match=message):
            SparseChain(**{**parts, name: value}).tagger()


def test_positions_and_labels_are_checked():
    tagger = chain_of(np.eye(2), np.zeros((2, 2))).tagger()
    tagger.set([{"a0": 1}])
    for call in (
        lambda: tagger.marginal(0, 1),
        lambda: tagger.marginal(0, -1),
        lambda: tagger.marginal(2, 0),
        lambda: tagger.log_probability([0, 0]),
        lambda: tagger.log_probability([2]),
    ):
        with pytest.raises(ValueError, match=r"label|position"):
            call()


def test_another_sequence_may_be_tagged_while_one_is_read():
    tagger = chain_of(np.eye(2), np.zeros((2, 2))).tagger()

    def items():
        yield {"a0": 1}
        assert tagger.tag_items([{"a1": 1}] * 50) == ["y1"] * 50
        yield {"a1": 1}

    assert tagger.tag_items(items()) == ["y0", "y1"]
    with pytest.raises(ValueError, match="no string"):
        tagger.tag_items([{"a1": 1}, {1: 2}])
    assert tagger.tag() == ["y0", "y1"]  # what is refused changes nothing
