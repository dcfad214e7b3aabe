"""The temperature of a segmenter: brute force over all cuts, files, training."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from adaptag.corpus.segmented import SegmentedCorpus
from adaptag.errors import ModelError, ParameterError
from adaptag.segmentation.calibration import word_predictions
from adaptag.segmentation.segmenter import Segmenter
from adaptag.storage.tensors import tensors_from_buffer, write_tensors
from tests.reference import segmentation as oracle
from tests.reference.calibration import cooled, expected_calibration_error
from tests.unit.test_segmenter import (
    TRAIN,
    random_segmenter,
    random_text,
    rounded_scores_of,
    tag_sets,
)

DEV = [["我", "在", "大学"], ["北", "京", "大", "学"], ["学生", "去", "上海"], ["他们看", "我们"]]


@pytest.fixture(scope="module")
def trained():
    return Segmenter.train(TRAIN, algorithm="averaged-perceptron", passes=20)


@tag_sets
@pytest.mark.parametrize("temperature", [0.5, 2.0, 30.0])
@pytest.mark.parametrize("seed", range(3))
def test_probabilities_of_words_are_those_of_divided_scores(tags, temperature, seed):
    plain = random_segmenter(seed, tags)
    warm = Segmenter.from_model(plain.model_.with_temperature(temperature), tags=tags)
    text = random_text(seed, 8)
    cuts = oracle.Cuts(cooled(rounded_scores_of(plain, text), temperature), tags)
    words = warm.words(text)
    assert [word.text for word in words] == warm.cut(text) == plain.cut(text)
    wanted = [cuts.probability((word.start, word.start + len(word.text))) for word in words]
    np.testing.assert_allclose([word.probability for word in words], wanted, rtol=1e-5, atol=1e-6)


def test_words_are_right_where_the_gold_text_has_the_same(trained):
    corpus = SegmentedCorpus.from_sentences(DEV)
    p, right = word_predictions(trained._native, trained.dictionary.native, corpus)
    expected = []
    for gold in DEV:
        spans, begin = set(), 0
        for word in gold:
            spans.add((begin, begin + len(word)))
            begin += len(word)
        for word in trained.words("".join(gold)):
            span = (word.start, word.start + len(word.text))
            expected.append((word.probability, span in spans))
    assert list(zip(p.tolist(), right.tolist(), strict=True)) == expected
    assert 0 < sum(right) < len(right)
    measured = trained.calibration(DEV, bins=4)
    assert measured["words"].ece == pytest.approx(
        expected_calibration_error(p.tolist(), right.tolist(), 4)
    )


def test_the_temperature_is_the_most_likely_one(trained):
    calibrated = trained.calibrated(DEV)
    found = calibrated.model_.temperature
    assert calibrated.cut_all(map("".join, DEV)) == trained.cut_all(map("".join, DEV))

    def log_likelihood(temperature):
        model = trained.model_.with_temperature(temperature)
        warm = Segmenter.from_model(model, tags=trained.tags)
        corpus = SegmentedCorpus.from_sentences(DEV)
        p, right = word_predictions(warm._native, warm.dictionary.native, corpus)
        return np.log(np.where(right, p, 1 - p).astype(float)).sum()

    best = log_likelihood(found)
    assert all(best >= log_likelihood(found * factor) for factor in (0.8, 0.95, 1.05, 1.25))


def test_files_copies_and_compact_segmenters_keep_it(trained, tmp_path):
    trained.dictionary.add({"汉语": 2.0})
    calibrated = trained.calibrated(DEV)
    assert calibrated.dictionary.to_dict() == {"汉语": 2.0}
    temperature = calibrated.model_.temperature
    assert temperature != 1
    calibrated.save(tmp_path / "m")
    small = calibrated.compact(prune=0, weights="int16")
    small.save(tmp_path / "s")
    for copy in (
        Segmenter.load(tmp_path / "m"),
        pickle.loads(pickle.dumps(calibrated)),
        small,
        Segmenter.load(tmp_path / "s"),
    ):
        assert copy.model_.temperature == temperature
        for one, other in zip(
            copy.words("我们在北京"), calibrated.words("我们在北京"), strict=True
        ):
            assert one.probability == pytest.approx(other.probability, rel=1e-3)
    assert small.calibrated(DEV).model_.temperature == pytest.approx(temperature, rel=1e-2)


@pytest.mark.parametrize("temperature", [0, -1.0, "2", None, True, float("nan")])
def test_damaged_temperatures_are_refused(trained, temperature):
    small = trained.compact(prune=0)
    header, tensors = tensors_from_buffer(small.to_bytes(), "segmenter")
    file = io.BytesIO()
    write_tensors(file, "segmenter", {**header, "temperature": temperature}, tensors)
    with pytest.raises(ModelError, match="malformed segmenter"):
        Segmenter.from_bytes(file.getvalue())


def test_training_calibrates():
    options = {"algorithm": "averaged-perceptron", "passes": 5, "dev": DEV}
    plain = Segmenter.train(TRAIN, **options)
    calibrated = Segmenter.train(TRAIN, **options, calibrate=True)
    assert calibrated.model_.temperature == plain.calibrated(DEV).model_.temperature != 1
    assert calibrated.model_.weights.tobytes() == plain.model_.weights.tobytes()
    with pytest.raises(ParameterError, match="calibrate needs development data"):
        Segmenter.train(TRAIN, calibrate=True)
    streamed = Segmenter(algorithm="averaged-perceptron").fit(TRAIN)
    streamed = streamed.calibrated(DEV).partial_fit(DEV)
    assert streamed.model_.temperature == 1
    assert "temperature" not in streamed.model_.provenance


def test_the_command_line(program):
    for name, sentences in (("train", TRAIN), ("dev", DEV)):
        Path(name).write_text("".join(" ".join(words) + "\n" for words in sentences))
    arguments = ("-m", "m", "-a", "averaged-perceptron", "--dev", "dev", "--calibrate")
    done = program("segment", "train", "train", *arguments)
    assert done.code == 0
    assert "calibrated on dev: temperature" in done.err
    done = program("segment", "evaluate", "dev", "-m", "m", "--calibration", "--chart", "c.svg")
    assert done.code == 0
    assert "expected calibration error" in done.out
    done = program("segment", "evaluate", "dev", "-m", "m", "--calibration", "--json")
    assert list(json.loads(done.out)["calibration"]) == ["temperature", "words"]
    assert program("calibrate", "m", "--dev", "dev", "-o", "n").code == 0
    assert program("segment", "evaluate", "dev", "dev", "--calibration").code == 2
