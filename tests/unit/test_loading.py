"""Models of any kind: loaded by one function, inspected by one command, refused by their names."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import adaptag
from adaptag.classification.documents import DocumentClassifier
from adaptag.decoding.model import Model
from adaptag.errors import MissingFileError, ModelError, WrongKindError
from adaptag.loading import chain_of
from adaptag.segmentation.segmenter import Segmenter
from tests.reference import segmentation as oracle

SENTENCES = [["the", "cat", "sat"], ["a", "dog", "ran"]] * 4
LABELS = [["D", "N", "V"]] * 8
WORDS = [["我们", "喜欢", "学习"], ["他", "来到", "北京"]] * 4
TEXTS, CLASSES = ["a good day", "a bad day", "so good", "so bad"], ["yes", "no", "yes", "no"]
CLASSES_BY_KIND = {"model": Model, "segmenter": Segmenter, "classifier": DocumentClassifier}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of each kind, full and compact; a dataset and a checkpoint."""
    path = tmp_path_factory.mktemp("models")
    models = {
        "model": adaptag.train(SENTENCES, LABELS, passes=3, checkpoint=path / "checkpoint"),
        "segmenter": Segmenter.train(WORDS, passes=3),
        "classifier": DocumentClassifier.train(TEXTS, CLASSES, passes=3),
    }
    for name, model in models.items():
        model.save(path / name)
        model.compact().save(path / f"{name}-small")
    adaptag.encode(SENTENCES, LABELS).save(path / "dataset")
    return path


def answers(model):
    """What a model says of some data."""
    if isinstance(model, Model):
        return model.tag(["the", "dog", "sat"])
    if isinstance(model, Segmenter):
        return model.cut("他喜欢北京")
    return model.predict(["good", "bad"])


@pytest.mark.parametrize("kind", CLASSES_BY_KIND)
@pytest.mark.parametrize("form", ["", "-small"])
def test_the_file_says_which_kind_it_is(folder, kind, form):
    path = folder / f"{kind}{form}"
    loaded = adaptag.load(path, verify=True)
    assert type(loaded) is CLASSES_BY_KIND[kind]
    assert loaded.kind == kind
    assert loaded.is_compact == bool(form)
    assert answers(loaded) == answers(CLASSES_BY_KIND[kind].load(path))
    assert chain_of(loaded).labels == chain_of(pickle.loads(pickle.dumps(loaded))).labels


@pytest.mark.parametrize("kind", CLASSES_BY_KIND)
def test_data_is_read_once_and_scored_several_times(folder, kind):
    loaded = adaptag.load(folder / kind)
    data = {"model": (SENTENCES, LABELS), "segmenter": (WORDS,), "classifier": (TEXTS, CLASSES)}
    read = loaded.read(*data[kind])
    score = loaded.evaluate(read)
    assert score.metric == {"segmenter": "F1"}.get(kind, "accuracy")
    assert score.score == loaded.evaluate(*data[kind]).score == 100


def test_a_classifier_goes_through_bytes(folder):
    classifier = adaptag.load(folder / "classifier")
    again = DocumentClassifier.from_bytes(classifier.to_bytes())
    assert again.format == classifier.format
    assert again.scaling == classifier.scaling
    assert np.array_equal(again.model.weights, classifier.model.weights)


def test_what_is_no_model_is_refused(folder, tmp_path):
    with pytest.raises(MissingFileError):
        adaptag.load(tmp_path / "nothing")
    (tmp_path / "text").write_text("a b c\n" * 10)
    with pytest.raises(ModelError, match="not an adaptag model"):
        adaptag.load(tmp_path / "text")
    with pytest.raises(WrongKindError, match="holds an adaptag dataset; expected an adaptag model"):
        adaptag.load(folder / "dataset")


def test_an_error_survives_a_pickle(folder):
    with pytest.raises(WrongKindError) as caught:
        Model.load(folder / "segmenter")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert (again.found, again.expected) == ("segmenter", "model")


@pytest.mark.parametrize(
    ("command", "file", "advice"),
    [
        (["tag", "data", "-m"], "segmenter", "adaptag segment cut takes a segmenter"),
        (["tag", "data", "-m"], "classifier-small", "adaptag classify predict takes a classifier"),
        (["segment", "cut", "data", "-m"], "model-small", "adaptag tag takes a model"),
        (["classify", "predict", "data", "-m"], "segmenter-small", "adaptag segment cut takes"),
        (["learn", "--stream", "data"], "classifier", "adaptag classify predict takes"),
        (["train", "data", "-m", "m", "--from"], "segmenter", "adaptag segment cut takes"),
        (["inspect"], "dataset", "adaptag train takes a dataset"),
        (["compact", "-o", "o"], "checkpoint", "adaptag train --resume takes a checkpoint"),
    ],
)
def test_a_command_says_which_one_takes_the_file(program, folder, tmp_path, command, file, advice):
    (tmp_path / "data").write_text("the D\n\n")
    done = program(*command, folder / file)
    assert done.code == 2
    kind = file.removesuffix("-small")
    assert done.err.startswith(f"adaptag: {folder / file}: holds an adaptag {kind}; expected an ")
    assert advice in done.err


@pytest.mark.parametrize(
    ("file", "lines"),
    [
        ("model", ["tagger", "3: D, N, V", "label scheme", "loss per sentence", "Strongest", "→"]),
        ("model-small", ["compact tagger", "prune 0.05, weights int8", "Strongest", "→"]),
        ("segmenter", ["segmenter", "3: B, I, E", "known words", "tags", "c0=", "(always)", "→"]),
        ("segmenter-small", ["compact segmenter", "of two characters", "of type int8", "prune"]),
        ("classifier", ["classifier", "normalise", "loss per document", "documents", "good"]),
        ("classifier-small", ["compact classifier", "2: yes, no", "good"]),
    ],
)
def test_all_kinds_are_inspected(program, folder, file, lines):
    done = program("inspect", folder / file, "--top", 3, "--verify")
    assert done.code == 0
    for line in lines:
        assert line in done.out
    assert ("Transitions" in done.out) == (file in ("model", "model-small", "segmenter"))


def test_patterns_of_a_compact_segmenter_are_counted(folder):
    predictor = chain_of(adaptag.load(folder / "segmenter-small"))
    one, two, more = predictor.n_of_length
    assert one == len({c for words in WORDS for word in words for c in word}) + 1  # and outside
    slow = oracle.Predictor(predictor.tensors, predictor.numbers["outside"], "bie")
    lengths = [len(pattern) for pattern in slow.patterns]
    assert (two, more) == (lengths.count(2), len(lengths) - lengths.count(2))
    assert two > 0
    assert more > 0
    assert one + two + more == predictor.n_predicates


@pytest.mark.parametrize("kind", ["segmenter", "classifier"])
def test_only_taggers_are_explained(program, folder, kind):
    done = program("inspect", folder / kind, "--explain", "x")
    assert done.code == 2
    assert f"the model is a {kind}" in done.err
    assert "--probabilities" in done.err
