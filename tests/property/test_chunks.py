from __future__ import annotations

import itertools
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptag.corpus.chunks import ChunkScheme
from adaptag.evaluation import evaluate_ids, evaluate_sequences
from tests.reference.conlleval import conlleval

TYPES = ("", "A", "B-x")


def alphabet(prefixes):
    return ["O", *(f"{p}-{t}" if t else p for p in prefixes for t in TYPES)]


ALPHABETS = {
    "IOB": alphabet("IB"),
    "IOE": alphabet("IE"),
    "BIOES": alphabet("BIES"),
    "BILOU": alphabet("BILU"),
    "BMES": alphabet("BMES"),
    "all": alphabet("BIESLUM"),
}


def corpora(labels):
    tokens = st.tuples(st.sampled_from(labels), st.sampled_from(labels))
    return st.lists(st.lists(tokens | tokens.map(lambda t: (t[0], t[0])), max_size=12), max_size=5)


@pytest.mark.parametrize("name", ALPHABETS)
@settings(deadline=None)
@given(data=st.data())
def test_any_sequences_score_as_in_conlleval(name, data):
    labels = ALPHABETS[name]
    corpus = data.draw(corpora(labels))
    gold, predicted = ([[pair[side] for pair in s] for s in corpus] for side in (0, 1))
    expected = conlleval(gold, predicted)

    ids = [np.array([labels.index(x) for s in side for x in s], int) for side in (gold, predicted)]
    evaluation = evaluate_ids(*ids, np.cumsum([0, *map(len, corpus)]), labels)

    assert evaluation.tokens == expected["tokens"]
    assert evaluation.correct_tokens == expected["correct_tokens"]
    assert evaluation.accuracy == expected["accuracy"]
    assert astuple(evaluation.chunks) == expected["overall"]
    assert {t: astuple(s) for t, s in evaluation.by_type.items()} == expected["by_type"]
    if any(label != "O" for label in itertools.chain(*gold, *predicted)):
        assert evaluate_sequences(gold, predicted) == evaluation


def encode(chunks, length, scheme):
    """The labels that spell the chunks (first, stop, type), which are in order."""
    labels = ["O"] * length
    for k, (first, stop, kind) in enumerate(chunks):
        after_same = k > 0 and chunks[k - 1][1:] == (first, kind)
        before_same = k + 1 < len(chunks) and chunks[k + 1][::2] == (stop, kind)
        prefixes = ["I"] * (stop - first)
        if scheme in ("IOB2", "BIOES") or (scheme == "IOB1" and after_same):
            prefixes[0] = "B"
        if scheme in ("IOE2", "BIOES") or (scheme == "IOE1" and before_same):
            prefixes[-1] = "E"
        if scheme == "BIOES" and stop == first + 1:
            prefixes = ["S"]
        labels[first:stop] = [f"{p}-{kind}" if kind else p for p in prefixes]
    return labels


@st.composite
def chunkings(draw):
    """A sentence's length and its chunks, out of runs of tokens that are a chunk or are not."""
    runs = draw(st.lists(st.tuples(st.integers(1, 4), st.none() | st.sampled_from(TYPES))))
    stops = [0, *itertools.accumulate(length for length, _ in runs)]
    chunks = [(i, j, t) for i, j, (_, t) in zip(stops, stops[1:], runs, strict=False)]
    return stops[-1], [chunk for chunk in chunks if chunk[2] is not None]


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "IOE1", "IOE2", "BIOES"])
@settings(deadline=None)
@given(sentences=st.lists(chunkings(), max_size=4))
def test_encoded_chunks_are_found_again(scheme, sentences):
    chunk_scheme = ChunkScheme(alphabet("BIES"))
    labels = [x for length, chunks in sentences for x in encode(chunks, length, scheme)]
    ids = np.array([chunk_scheme.labels.index(label) for label in labels], int)
    offsets = np.cumsum([0, *(length for length, _ in sentences)])

    found = chunk_scheme.spans(ids, offsets).tolist()

    assert found == [
        [offset + first, offset + stop, chunk_scheme.types.index(kind)]
        for offset, (_, chunks) in zip(offsets, sentences, strict=False)
        for first, stop, kind in chunks
    ]


@pytest.mark.parametrize(
    ("name", "prefixes", "scheme"), [("iob2", "BI", "IOB2"), ("bioes", "BIES", "BIOES")]
)
def test_a_sequence_is_legal_if_its_chunks_would_be_spelled_so(name, prefixes, scheme):
    labels = ["O", *(f"{p}-{t}" for p in prefixes for t in "XY")]
    chunk_scheme = ChunkScheme(labels)
    legal, outside = chunk_scheme.legal(name), len(labels)
    for length in range(4):
        for ids in itertools.product(range(outside), repeat=length):
            spans = chunk_scheme.spans(np.array(ids, int), np.array([0, length]))
            chunks = [(i, j, chunk_scheme.types[t]) for i, j, t in spans.tolist()]
            well_formed = encode(chunks, length, scheme) == [labels[i] for i in ids]
            path = [outside, *ids, outside]
            assert legal[path[:-1], path[1:]].all() == well_formed, [labels[i] for i in ids]
