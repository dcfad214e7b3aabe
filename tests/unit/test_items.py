"""Sequences of feature dictionaries and attribute lists, as python-crfsuite takes them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptag.corpus.attributes import AttributeCorpus
from adaptag.errors import CorpusError


def attributes(*sequences):
    """The (name, value) pairs of each position."""
    corpus = AttributeCorpus.from_items(sequences)
    text = corpus.text.tobytes()
    pairs = [
        (text[begin:end].decode(), float(value))
        for (begin, end), value in zip(corpus.cells[:, 0].tolist(), corpus.values, strict=True)
    ]
    bounds = zip(corpus.positions[:-1], corpus.positions[1:], strict=True)
    return [pairs[a:b] for a, b in bounds], corpus


def flattened(item, prefix=""):
    """The rules of python-crfsuite, in Python."""
    if isinstance(item, dict):
        found = []
        for key, value in item.items():
            if isinstance(value, str):
                found.append((f"{prefix}{key}:{value}", 1.0))
            elif isinstance(value, (dict, list, set, tuple)):
                found += flattened(value, f"{prefix}{key}:")
            else:
                found.append((f"{prefix}{key}", float(np.float32(value))))
        return [pair for pair in found if pair[1] != 0]
    return [(f"{prefix}{name}", 1.0) for name in item]


TEXT = st.text(max_size=4)
VALUES = st.one_of(TEXT, st.booleans(), st.integers(-9, 9), st.floats(-8, 8, width=32))
ITEMS = st.recursive(
    st.lists(TEXT, max_size=3) | st.sets(TEXT, max_size=3),
    lambda inner: st.dictionaries(TEXT, VALUES | inner, max_size=4),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.lists(st.lists(ITEMS, max_size=3), max_size=3))
def test_items_are_flattened(sequences):
    found, corpus = attributes(*sequences)
    assert found == [flattened(item) for sequence in sequences for item in sequence]
    assert np.diff(corpus.sentences).tolist() == [len(sequence) for sequence in sequences]


def test_the_forms_of_a_value():
    item = {
        "word": "Paris",
        "bias": 1.0,
        "upper": False,
        "title": True,
        "n": 3,
        "big": np.float32(0.5),
        "near": ["a", "b"],
        "deep": {"x": {"y": "z"}, "w": 2},
        b"raw": b"bytes",
    }
    (found,), _ = attributes([item])
    assert found == [
        ("word:Paris", 1),
        ("bias", 1),
        ("title", 1),
        ("n", 3),
        ("big", 0.5),
        ("near:a", 1),
        ("near:b", 1),
        ("deep:x:y:z", 1),
        ("deep:w", 2),
        ("raw:bytes", 1),
    ]


def test_a_mapping_that_is_no_dict():
    class Features:
        def __getitem__(self, key):
            return {"a": "b"}[key]

        def items(self):
            return [("a", "b")]

    (found,), _ = attributes([Features()])
    assert found == [("a:b", 1)]


def test_names_are_kept_once():
    _, corpus = attributes([{"word": "the"}] * 50)
    assert corpus.text.tobytes() == b"word:the"
    assert len(corpus.cells) == 50


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("word", "sequence 2, item 1: a string; an item must be a dictionary"),
        ({"a": None}, "sequence 2, item 1, a: a value that is no string"),
        ({"a": float("nan")}, "sequence 2, item 1, a: a value that is not finite"),
        ({"a": 1e300}, "sequence 2, item 1, a: a value that is not finite"),
        ({1: "a"}, "sequence 2, item 1: a name that is no string"),
        ([1], "sequence 2, item 1: a collection with something that is no string"),
        (["a", ["b"]], "sequence 2, item 1: a collection with something that is no string"),
        (5, "sequence 2, item 1: neither a dictionary nor a collection"),
        (np.array(5), "sequence 2, item 1: neither a dictionary nor a collection"),
        ({"a": 1j}, "sequence 2, item 1, a: a value that is no number"),
    ],
)
def test_what_is_refused(item, message):
    with pytest.raises(CorpusError, match=message):
        AttributeCorpus.from_items([[{}], [item]])


def test_items_inside_themselves():
    item = {}
    item["a"] = item
    with pytest.raises(CorpusError, match="more than 16 items inside each other"):
        AttributeCorpus.from_items([[item]])


def test_no_sequences():
    with pytest.raises(CorpusError):
        AttributeCorpus.from_items(5)
