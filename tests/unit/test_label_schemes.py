"""The scheme and the metric of labels are those of the training data as a whole."""

from __future__ import annotations

import numpy as np
import pytest

import adaptag
from adaptag.corpus.chunks import ChunkScheme, LabelScheme
from adaptag.corpus.label_windows import LabelWindows
from adaptag.corpus.schemes import followed_scheme
from adaptag.errors import ParameterError

# The same chunks, [New York] [Paris] and a name right after another one, in four schemes.
WORDS = ["in", "New", "York", "or", "Paris", "Rome", "today"]
LABELS = {
    "iob1": ["O", "I-LOC", "I-LOC", "O", "I-LOC", "B-LOC", "O"],
    "iob2": ["O", "B-LOC", "I-LOC", "O", "B-LOC", "B-LOC", "O"],
    "ioe2": ["O", "I-LOC", "E-LOC", "O", "E-LOC", "E-LOC", "O"],
    "bioes": ["O", "B-LOC", "E-LOC", "O", "S-LOC", "S-LOC", "O"],
}


def model(labels, **options):
    return adaptag.train([WORDS] * 4, [labels] * 4, passes=10, **options)


@pytest.mark.parametrize("scheme", LABELS)
def test_the_scheme_is_found_in_the_training_data(scheme):
    trained = model(LABELS[scheme])
    assert trained.label_scheme == scheme
    assert trained.tag(WORDS, legal="auto") == trained.tag(WORDS, legal=scheme) == LABELS[scheme]
    assert adaptag.Model.from_bytes(trained.to_bytes()).label_scheme == scheme
    assert trained.evaluate([WORDS], [LABELS[scheme]], legal="auto").chunks.f1 == 100


@pytest.mark.parametrize("scheme", LABELS)
def test_another_scheme_is_refused_with_the_reason(scheme):
    """``iob2`` on IOB1 labels used to rule out what the model had learned: F1 9.8 for 84.2."""
    trained = model(LABELS[scheme])
    for other in set(LABELS) - {scheme}:
        with pytest.raises(ParameterError, match=f"'{other}', but .* '{scheme}'.*: auto, {scheme}"):
            trained.tag(WORDS, legal=other)


@pytest.mark.parametrize("scheme", LABELS)
def test_legal_sequences_are_those_of_the_scheme(scheme):
    """Every way to write chunks in the scheme is legal, and nothing else is."""
    names = sorted({f"{role}-{t}" for role in "BIES" for t in "XY"} | {"O"})
    roles = {"iob1": "BI", "iob2": "BI", "ioe2": "IE", "bioes": "BIES"}[scheme]
    names = [name for name in names if name[0] in roles or name == "O"]
    chunks = ChunkScheme(names)
    legal = chunks.legal(scheme)
    outside = len(names)
    rng = np.random.default_rng(0)
    written = np.zeros_like(legal)
    for _ in range(400):
        ids = [names.index(label) for label in write(scheme, rng)]
        for before, after in zip([outside, *ids], [*ids, outside], strict=True):
            written[before, after] = True
    written[outside, outside] = legal[outside, outside]
    assert (legal == written).all()


def write(scheme, rng):
    """Random chunks, in a scheme."""
    labels, last = [], None
    for _ in range(rng.integers(1, 7)):
        kind = rng.choice(["O", "X", "Y"])
        if kind == "O":
            labels, last = [*labels, "O"], None
            continue
        n = int(rng.integers(1, 6))
        roles = {
            "iob1": ["B" if last == kind else "I"] + ["I"] * (n - 1),
            "iob2": ["B"] + ["I"] * (n - 1),
            "ioe2": ["I"] * (n - 1) + ["E"],
            "bioes": ["S"] if n == 1 else ["B"] + ["I"] * (n - 2) + ["E"],
        }[scheme]
        labels, last = [*labels, *(f"{role}-{kind}" for role in roles)], kind
    return labels


def test_a_slip_in_the_labels_does_not_change_the_scheme():
    names = ["O", "B-X", "I-X"]
    ids = np.array([1, 2, 0] * 50 + [0, 2, 2])
    assert (
        LabelScheme().count(LabelWindows.of(names, ids, np.array([0, len(ids)]))).name(names)
        == "iob2"
    )


@pytest.mark.parametrize(("slips", "scheme"), [(4, "iob2"), (5, None)])
def test_labels_follow_a_scheme_where_at_most_one_in_fifty_is_a_slip(slips, scheme):
    ids = np.array([1, 2, 0] * 100 + [0, 2] * slips)
    windows = LabelWindows.of(["O", "B-X", "I-X"], ids, np.array([0, len(ids)]))
    assert followed_scheme(windows) == scheme


def test_labels_that_mark_no_chunks_have_no_scheme():
    trained = adaptag.train([["a", "b"]], [["DT", "NN"]], passes=1)
    assert trained.label_scheme is None
    for legal in ("auto", "iob2"):
        with pytest.raises(ParameterError, match="mark no chunks"):
            trained.tag(["a"], legal=legal)


def test_one_label_that_is_no_chunk_label_does_not_change_the_metric():
    """It used to turn F1 into accuracy, for the best pass too, without a word."""
    labels = [LABELS["iob2"]] * 30 + [["XYZ", *LABELS["iob2"][1:]]]
    sentences = [WORDS] * 31
    dev = [list(zip(WORDS, LABELS["iob2"], strict=True))]
    trained = adaptag.train(sentences, labels, dev=dev, passes=2)
    assert {p["dev_metric"] for p in trained.provenance["passes"]} == {"F1"}
    result = trained.evaluate(sentences, labels)
    assert result.metric == "F1"
    assert result.chunks.gold == 3 * 31
    assert adaptag.evaluate([["B-X", "I-X", "XYZ"]], [["B-X", "I-X", "O"]]).chunks.f1 == 100
    # Also where only the data that is scored has such a label.
    plain = model(LABELS["iob2"])
    assert plain.evaluate([["x"], WORDS], [["XYZ"], LABELS["iob2"]]).metric == "F1"


def test_the_metric_can_be_set():
    dev = [list(zip(WORDS, LABELS["iob2"], strict=True))]
    trained = model(LABELS["iob2"], metric="accuracy", dev=dev)
    assert trained.provenance["passes"][0]["dev_metric"] == "accuracy"
    assert trained.evaluate(dev).metric == "accuracy"
    assert trained.evaluate(dev, metric="F1").metric == "F1"
    with pytest.raises(ParameterError, match="metric is 'F1', but no label marks a chunk"):
        adaptag.train([["a"]], [["NN"]], metric="F1")
    assert adaptag.evaluate([["B-X", "O"]], [["B-X", "B-X"]], metric="accuracy").score == 50


def test_part_of_speech_tags_are_not_chunks():
    for tags in (["NN", "VB", "M", "B"], ["O", "NN", "I"], ["A", "B", "C"]):
        assert not ChunkScheme(tags).chunked, tags
    assert ChunkScheme(["O", "B-X", "I-X", "XYZ"]).chunked
    assert ChunkScheme(["O", "B-X", "XYZ"], chunked=True).other_labels == ("XYZ",)
