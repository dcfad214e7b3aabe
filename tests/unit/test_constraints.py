"""Constraints on label sequences, against brute force over all label sequences."""

from __future__ import annotations

import functools
import itertools
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adaptag
from adaptag import Constraints
from adaptag.decoding import constrained
from adaptag.errors import AdaptagError, CorpusError, ParameterError
from tests.reference.constraints import satisfies
from tests.reference.crf import chunks

SENTENCE = ["a", "b", "a", "c"]
PLAIN = ["A", "B", "C", "O"]
CHUNKED = ["O", "B-X", "I-X", "B-Y"]
TRAINING = {
    "plain": ([["a", "b", "c", "a"]], [PLAIN], {}),
    "chunked": ([["a", "b", "c", "a"]], [CHUNKED], {"scheme": "as-is"}),
    "bioes": ([["a", "b", "c"]], [["B-X", "I-X", "B-X"]], {"scheme": "bioes"}),
    "to iob1": (
        [["a", "b", "c"]],
        [["B-X", "I-X", "B-X"]],
        {"scheme": "iob2", "output_scheme": "iob1"},
    ),
}


@functools.cache
def model(kind, seed=0):
    """A model with random weights."""
    sentences, labels, options = TRAINING[kind]
    trained = adaptag.train(sentences, labels, passes=1, **options)
    values = np.random.default_rng(seed).normal(0, 1.5, len(trained.weights))
    return replace(trained, weights=np.where(trained.weights != 0, values, 0).astype(np.float32))


@functools.cache
def paths(kind, seed, length):
    """All label sequences that the model can give, with their probabilities."""
    m = model(kind, seed)
    every = itertools.product(m.labels, repeat=length)
    found = {path: m.probability(SENTENCE[:length], path) for path in every}
    return {path: p for path, p in found.items() if p > 0}


def names_of(m):
    return [*m.labels, *m.scheme.types]


@st.composite
def declarations(draw, kind):
    known = names_of(model(kind))
    names = st.sampled_from(known)
    shuffled = st.permutations(known)
    some = st.builds(lambda found, n: found[:n], shuffled, st.integers(1, 2))
    orders = st.builds(lambda found, n: found[:n], shuffled, st.integers(2, 3))
    side = st.one_of(names, st.none())
    pairs = st.tuples(side, side).filter(lambda pair: pair != (None, None)).map(list)
    table = st.dictionaries(names, st.lists(side, min_size=1, max_size=3), max_size=1)
    fixed = st.dictionaries(st.integers(-2, 1), some, max_size=1)
    fields = {
        "at_most_once": some,
        "at_least_once": some,
        "order": st.lists(orders, min_size=1, max_size=2),
        "forbidden_pairs": st.lists(pairs, min_size=1, max_size=2),
        "followed_by": table,
        "preceded_by": table,
        "fixed": fixed,
    }
    chosen = draw(st.lists(st.sampled_from(sorted(fields)), min_size=1, max_size=4, unique=True))
    return {name: draw(fields[name]) for name in chosen}


@st.composite
def cases(draw):
    kind = draw(st.sampled_from(sorted(TRAINING)))
    return kind, draw(st.integers(0, 2)), draw(st.integers(2, 4)), draw(declarations(kind))


def remaining(kind, seed, length, declared):
    m = model(kind, seed)
    every = paths(kind, seed, length)
    left = {y: p for y, p in every.items() if satisfies(y, declared, m.labels, m.scheme.chunked)}
    total = sum(left.values())
    return {y: p / total for y, p in left.items()}


def check(kind, seed, length, declared):
    """Compare all methods with brute force."""
    m, tokens = model(kind, seed), SENTENCE[:length]
    left = remaining(kind, seed, length, declared)
    if not left:
        with pytest.raises(CorpusError, match="no label sequence satisfies the constraints"):
            m.tag(tokens, constraints=declared)
        with pytest.raises(CorpusError, match="no label sequence satisfies the constraints"):
            m.marginals(tokens, constraints=declared)
        return
    best = max(left.values())
    tagged = tuple(m.tag(tokens, constraints=declared))
    assert left[tagged] == pytest.approx(best, rel=1e-3)
    (in_batch,) = m.tag_all([tokens], constraints=declared)
    assert left[tuple(in_batch)] == pytest.approx(best, rel=1e-3)
    table = m.marginals(tokens, constraints=declared)
    for t, label in itertools.product(range(length), m.labels):
        expected = sum(p for y, p in left.items() if y[t] == label)
        assert table[t][label] == pytest.approx(expected, abs=1e-4)
    found = m.nbest(tokens, 5, constraints=declared)
    assert len(found) == min(5, len(left))
    ranked = sorted(left.values(), reverse=True)
    for (path, p), expected in zip(found, ranked, strict=False):
        assert p == pytest.approx(expected, rel=1e-3, abs=1e-6)
        assert left[tuple(path)] == pytest.approx(p, rel=1e-3, abs=1e-6)
    if m.scheme.chunked:
        for s in m.segments(tokens, constraints=declared):
            span = (s.first, s.last, s.type)
            expected = sum(p for y, p in left.items() if span in chunks(y))
            assert s.probability == pytest.approx(expected, abs=1e-4)


@settings(max_examples=120, deadline=None)
@given(cases())
def test_all_methods_agree_with_brute_force(case):
    check(*case)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_branch_and_bound_agrees_with_brute_force(case):
    kind, seed, length, declared = case
    left = remaining(*case)
    m = replace(model(kind, seed))  # without the decoders that were made before
    limit, constrained.SEARCH_FROM = constrained.SEARCH_FROM, 1
    try:
        if left:
            tagged = m.tag(SENTENCE[:length], constraints=declared)
            assert left[tuple(tagged)] == pytest.approx(max(left.values()), rel=1e-3)
        else:
            with pytest.raises(CorpusError, match="no label sequence"):
                m.tag(SENTENCE[:length], constraints=declared)
    finally:
        constrained.SEARCH_FROM = limit
