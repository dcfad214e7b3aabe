"""The API of python-crfsuite: items, taggers and the log, beside the real one where it is there."""

from __future__ import annotations

import importlib
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adaptag
from adaptag import pycrfsuite as ours
from adaptag.errors import AdaptagError, CorpusError, FileError, ModelError, ParameterError
from adaptag.pycrfsuite._logparser import TrainLogParser
from tests.unit.test_crfsuite_models import LABELS, random_sequences

WEATHER = [
    {"walk": 1, "shop": 0.5}, {"walk": True}, {"walk": 1, "clean": 0.5}, {"clean": 1, "sun": False},
    {}, {"clean": 2.5, "wind": "strong"}, {"clean": 1, "in": {"town": {"a", "b"}}},
]  # fmt: skip
TAGS = ["sunny", "sunny", "sunny", "rainy", "rainy", "rainy", "好"]


@pytest.fixture(scope="module")
def real():
    return pytest.importorskip("pycrfsuite", reason="python-crfsuite is not installed")


@pytest.fixture(params=["model.crfsuite", "model.adaptag"])
def path(request, tmp_path):
    """A model of either format, trained on one sequence."""
    trainer = ours.Trainer(params={"c2": 0.01}, verbose=False)
    trainer.append(WEATHER, TAGS)
    trainer.train(tmp_path / request.param)
    return tmp_path / request.param


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=4)
VALUES = st.one_of(TEXT, st.booleans(), st.integers(-9, 9), st.floats(-8, 8))
ITEMS = st.recursive(
    st.lists(TEXT, max_size=3) | st.sets(TEXT, max_size=3),
    lambda inner: st.dictionaries(TEXT, VALUES | inner, max_size=4),
    max_leaves=8,
)


@settings(deadline=None)
@given(sequence=st.lists(ITEMS, max_size=3))
def test_items_are_those_of_python_crfsuite(real, sequence):
    found = ours.ItemSequence(sequence)
    assert found.items() == real.ItemSequence(sequence).items()
    assert len(found) == len(sequence)
    assert ours.ItemSequence(found.items()).items() == found.items()
    assert repr(found) == f"<ItemSequence of size {len(sequence)}>"


def test_names_may_be_bytes():
    assert ours.ItemSequence([{b"a": "x", "b": b"y"}, [b"c"]]).items() == [
        {"a:x": 1.0, "b:y": 1.0},
        {"c": 1.0},
    ]
    with pytest.raises(CorpusError, match="not valid UTF-8"):
        ours.ItemSequence([[b"\xff"]]).items()


@pytest.mark.parametrize(
    "bad", ["foo", ["foo"], [[{"foo": 1}]], [{"a": None}], [{1: 2}], [{"a": float("nan")}], 5, None]
)
def test_wrong_items_are_refused(bad, path):
    with pytest.raises(CorpusError):
        ours.ItemSequence(bad)
    tagger = ours.Tagger()
    tagger.open(path)
    for call in (tagger.tag, tagger.set) if bad is not None else (tagger.set,):
        with pytest.raises(CorpusError):
            call(bad)
    trainer = ours.Trainer(verbose=False)
    with pytest.raises(AdaptagError):
        trainer.append(bad, ["x"])
    trainer.append([["a"]], ["x"])
    trainer.train("")


def test_taggers_agree_with_python_crfsuite(real, tmp_path):
    trainer = real.Trainer("lbfgs", {"max_iterations": 30}, verbose=False)
    rng = random.Random(2)
    for sequence in random_sequences(1, 60, values=True):
        trainer.append(sequence, rng.choices(LABELS, k=len(sequence)))
    path = str(tmp_path / "model")
    trainer.train(path)
    theirs, mine = real.Tagger(), ours.Tagger()
    theirs.open(path)
    mine.open(path)
    assert mine.labels() == theirs.labels()
    for sequence in random_sequences(3, 200, values=True):
        tags = theirs.tag(sequence)
        assert mine.tag(sequence) == mine.tag(ours.ItemSequence(sequence)) == tags
        assert mine.probability(tags) == pytest.approx(theirs.probability(tags), rel=1e-11)
        for t in range(len(sequence)):
            for label in theirs.labels():
                assert abs(mine.marginal(label, t) - theirs.marginal(label, t)) < 1e-12
    expected, found = theirs.info(), mine.info()
    assert (found.header, found.labels) == (expected.header, expected.labels)
    assert found.attributes == expected.attributes
    for name in ("transitions", "state_features"):
        shown = {key: float(f"{weight:.6f}") for key, weight in getattr(found, name).items()}
        assert shown == getattr(expected, name)
    theirs.dump(str(tmp_path / "theirs.txt"))
    mine.dump(tmp_path / "mine.txt")
    texts = [(tmp_path / name).read_text("utf-8") for name in ("theirs.txt", "mine.txt")]
    assert [line.strip() for line in texts[0].split("\n") if line.strip()] == [
        line.strip() for line in texts[1].split("\n") if line.strip()
    ]


def test_a_tagger_opens_both_formats(path):
    tagger = ours.Tagger()
    with tagger.open(str(path)) as opened:
        assert opened is tagger
        assert tagger.tag(WEATHER) == tagger.tag() == TAGS
        assert 0 < tagger.probability(TAGS) < 1
        assert sum(tagger.marginal(y, 2) for y in tagger.labels()) == pytest.approx(1)
        assert tagger.tag([]) == []
        info = tagger.info()
    assert info.header["num_labels"] == "3"
    assert int(info.header["size"]) == path.stat().st_size
    assert {"walk", "wind:strong", "in:town:a"} <= set(info.attributes)
    assert info.state_features["walk", "sunny"] > info.state_features.get(("walk", "rainy"), 0)
    with ours.Tagger().open_inmemory(path.read_bytes()) as tagger:
        tagger.set(WEATHER[:2])
        assert tagger.tag() == TAGS[:2]
        assert tagger.info() == info


def test_closed_taggers(path):
    tagger = ours.Tagger()
    for _ in range(2):
        for call in (
            tagger.labels, tagger.info, tagger.dump, tagger.tag, lambda: tagger.tag(WEATHER),
            lambda: tagger.set(WEATHER), lambda: tagger.probability(TAGS),
            lambda: tagger.marginal("sunny", 0),
        ):  # fmt: skip
            for kind in (ValueError, RuntimeError, ours.TaggerClosedError, AdaptagError):
                with pytest.raises(kind, match="no model"):
                    call()
        tagger.open(path)
        tagger.close()


def test_wrong_labels_and_positions(path):
    tagger = ours.Tagger()
    tagger.open(path)
    assert tagger.probability([]) == 0
    tagger.set(WEATHER)
    with pytest.raises(ParameterError, match="2 labels for 7 items"):
        tagger.probability(["sunny", "rainy"])
    for call in (lambda: tagger.probability(["x"] * 7), lambda: tagger.marginal("suny", 0)):
        with pytest.raises(RuntimeError, match="unknown label"):
            call()
    for position in (-1, 7):
        with pytest.raises(ParameterError, match="allowed: 0 to 6"):
            tagger.marginal("sunny", position)


def test_files_that_are_no_models(tmp_path, path):
    tagger = ours.Tagger()
    with pytest.raises(FileNotFoundError):
        tagger.open(tmp_path / "none")
    with pytest.raises(FileError, match="directory"):
        tagger.open(tmp_path)
    with pytest.raises(ParameterError, match="str"):
        tagger.open_inmemory("text")
    data = path.read_bytes()
    rng = random.Random(1)
    for k in range(200):
        damaged = bytearray(data)
        for _ in range(1 + k % 3):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            tagger.open_inmemory(bytes(damaged[: len(data) if k % 2 else rng.randrange(len(data))]))
        except ModelError:
            pass
        else:
            assert len(tagger.tag(WEATHER)) == len(WEATHER)
    for text in (b"", b"lCRF", b"lCRFfoo" * 100, b"something else"):
        with pytest.raises(ModelError):
            tagger.open_inmemory(text)


def test_models_of_another_form_are_refused(tmp_path):
    adaptag.train([["a", "b"]], [["X", "Y"]], passes=1).save(tmp_path / "words")
    with pytest.raises(ModelError, match=r"words: .*template"):
        ours.Tagger().open(tmp_path / "words")


def test_dump_prints(path, capsys):
    tagger = ours.Tagger()
    tagger.open(path)
    tagger.dump()
    text = capsys.readouterr().out
    assert "LABELS = {\n      0: sunny\n" in text
    assert "(0) wind:strong --> rainy: " in text


def test_a_dump_that_cannot_be_written(path, tmp_path):
    tagger = ours.Tagger()
    tagger.open(path)
    for place in (tmp_path, tmp_path / "none" / "x"):
        with pytest.raises(FileError, match="cannot write: "):
            tagger.dump(place)


def test_a_tagger_of_a_model_in_memory():
    model = adaptag.train([WEATHER], [TAGS], passes=20, scheme="as-is")
    tagger = ours.Tagger.of(model)
    assert tagger.tag(WEATHER) == model.tag(WEATHER)
    marginals = model.marginals(WEATHER)
    found = [{y: tagger.marginal(y, t) for y in model.labels} for t in range(len(WEATHER))]
    for row, expected in zip(found, marginals, strict=True):
        np.testing.assert_allclose(list(row.values()), list(expected.values()), atol=1e-5)


def test_features_without_weights_are_left_out():
    sequences = random_sequences(6, 30)
    labels = [[("a", "b")["ü東😀" in item] for item in sequence] for sequence in sequences]
    model = adaptag.train(sequences, labels, algorithm="owlqn", l1=1.0, scheme="as-is")
    table = model.node_weights()
    expected = {
        (model.index.name(p), model.labels[y]): float(table[p, y])
        for p, y in zip(*np.nonzero(table), strict=True)
    }
    info = ours.Tagger.of(model).info()
    assert info.state_features == expected
    assert set(info.attributes) == {name for name, _ in expected}
    assert len(info.attributes) < len(table)


def test_the_log_is_parsed_as_python_crfsuite_does(real):
    lines = []

    class Recorder(real.Trainer):
        def message(self, message):
            lines.append(message)

    recorder = Recorder("lbfgs", {"max_iterations": 3})
    for k, sequence in enumerate(random_sequences(1, 20)):
        recorder.append(sequence, [LABELS[k % 3] for k in range(len(sequence))], k % 2)
    recorder.train("", holdout=1)
    expected, parser = (
        importlib.import_module("pycrfsuite._logparser").TrainLogParser(),
        TrainLogParser(),
    )
    for line in lines:
        assert parser.feed(line) == expected.feed(line)
    assert parser.events == expected.events
    assert parser.last_log == expected.last_log
    assert len(parser.iterations) == 3
    for name in ("iterations", "featgen_percent", "featgen_num_features", "featgen_seconds",
                 "training_seconds", "storing_seconds"):  # fmt: skip
        assert getattr(parser, name) == getattr(expected, name), name
