"""Bins of predictions and the expected calibration error, against a plain version."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adaptag
from adaptag.errors import CorpusError, ParameterError
from adaptag.evaluation.calibration import Calibration, Reliability, reliability
from adaptag.experiments.charts import reliability_chart
from tests.reference.calibration import bin_of, expected_calibration_error

edges = st.builds(lambda k, n: k / n, st.integers(0, 20), st.integers(20, 20))
predictions = st.lists(st.tuples(st.floats(0, 1) | edges, st.booleans()), min_size=1, max_size=60)


@given(predictions, st.integers(1, 25))
def test_the_error_is_that_of_the_plain_version(pairs, bins):
    p, right = [x for x, _ in pairs], [x for _, x in pairs]
    found = reliability(p, right, bins)
    assert found.ece == pytest.approx(expected_calibration_error(p, right, bins), abs=1e-12)
    counts = np.bincount([bin_of(x, bins) for x in p], minlength=bins)
    assert found.counts.tolist() == counts.tolist()
    assert found.count == len(p)
    assert found.accuracy == pytest.approx(np.mean(right))
    assert found.probability == pytest.approx(np.mean(p))
    assert 0 <= found.ece <= 1
    assert found.ece >= abs(found.probability - found.accuracy) - 1e-12
    for each in found.bins:
        assert each.low - 1e-12 <= each.probability <= each.high + 1e-12
        assert each.count > 0


@given(predictions, st.randoms())
def test_the_order_does_not_matter(pairs, random):
    shuffled = random.sample(pairs, len(pairs))
    errors = [reliability(*zip(*each, strict=True)).ece for each in (pairs, shuffled)]
    assert errors[0] == pytest.approx(errors[1], abs=1e-12)


def test_predictions_that_are_calibrated_have_no_error():
    rng = np.random.default_rng(1)
    p = rng.random(200_000)
    right = rng.random(200_000) < p
    assert reliability(p, right).ece < 0.005
    assert reliability(np.minimum(1, 1.3 * p), right).ece > 0.1


def test_no_predictions_have_no_error():
    empty = reliability([], [])
    assert (empty.ece, empty.count, empty.accuracy, empty.bins) == (0, 0, 0, [])


@pytest.mark.parametrize(
    "arguments", [([0.5], [True, False]), ([0.5], [True], 0), ([[0.5]], [[True]])]
)
def test_what_does_not_fit_is_refused(arguments):
    with pytest.raises(ParameterError):
        reliability(*arguments)


def model_and_data():
    sentences = [["a", "b", "c"], ["c", "a"], ["b"], ["x", "a", "b"]] * 4
    labels = [["B-X", "I-X", "O"], ["O", "B-X"], ["B-Y"], ["O", "B-X", "I-X"]] * 3
    labels += [["O", "O", "O"], ["O", "B-X"], ["B-Y"], ["O", "B-X", "B-X"]]
    return adaptag.train(sentences, labels, passes=3), sentences, labels


def test_a_tagger_is_measured_by_tokens_segments_and_sequences():
    """Against its own marginals, segments and n best, one sentence after the other."""
    model, sentences, labels = model_and_data()
    found = model.calibration(sentences, labels, bins=7)
    items = {"tokens": [], "segments": [], "sequences": []}
    for sentence, gold in zip(sentences, labels, strict=True):
        best = model.tag(sentence)
        for row, y, truth in zip(model.marginals(sentence), best, gold, strict=True):
            items["tokens"].append((row[y], y == truth))
        spans = model.scheme.spans(
            np.array([model.labels.index(y) for y in gold]), np.array([0, len(gold)])
        ).tolist()
        for s in model.segments(sentence):
            span = [s.first, s.last + 1, model.scheme.types.index(s.type)]
            items["segments"].append((s.probability, span in spans))
        items["sequences"].append((model.probability(sentence, best), best == gold))
    assert list(found.parts) == list(items)
    for name, pairs in items.items():
        p, right = zip(*pairs, strict=True)
        assert found[name].count == len(pairs)
        assert 0 < found[name].accuracy < 1
        expected = expected_calibration_error(p, right, 7)
        assert found[name].ece == pytest.approx(expected, abs=1e-5)


def test_labels_that_mark_no_chunks_have_no_segments():
    model = adaptag.train([["a", "b"]], [["x", "y"]], passes=1)
    assert list(model.calibration([["a", "b"]], [["x", "y"]]).parts) == ["tokens", "sequences"]
    with pytest.raises(CorpusError, match="no sentence whose labels are all known"):
        model.calibration([["a", "b"]], [["x", None]])


def test_the_printed_table_and_the_json():
    found = Calibration(
        {"tokens": reliability([0.99, 0.98, 0.3, 0.32], [True, True, False, True], 10)}, 1.5
    )
    text = str(found)
    assert "expected calibration error 0.2525" in text
    assert "0.900 – 1.000" in text
    assert "temperature 1.5" in text
    assert repr(found) == "<Calibration: ECE of tokens 0.2525>"
    record = json.loads(json.dumps(found.to_dict()))
    assert record["temperature"] == 1.5
    assert record["tokens"]["ece"] == pytest.approx(0.2525)
    first = record["tokens"]["bins"][0]
    assert first["count"] == 1
    assert (first["low"], first["right"]) == (0.2, 0.0)


def test_the_chart_has_a_line_for_each_kind():
    part = Reliability(np.array([3, 5]), np.array([1.0, 4.5]), np.array([1, 5]))
    chart = reliability_chart({"tokens": part, "words": part}, title="T")
    assert chart.startswith("<svg")
    assert chart.count("ECE 0.0625") == 2
