"""The one way in for data: what is accepted becomes the same corpus, and all else is refused."""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools

import numpy as np
import pandas as pd
import pytest

import adaptag
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.columns import ColumnCorpus
from adaptag.corpus.data import CLASSIFICATION, SEGMENTATION, corpus_of
from adaptag.errors import CorpusError, MissingFileError, ParameterError

SENTENCES = [["the", "cat"], ["a", "dog", "sat"]]
LABELS = [["D", "N"], ["D", "N", "V"]]
TEXT = "the D\ncat N\n\na D\ndog N\nsat V\n"
FEATURES = [[{"w": word, "first": k == 0} for k, word in enumerate(s)] for s in SENTENCES]


def content(corpus):
    """Sentences of (columns, label)."""
    ids, names = corpus.number_labels()
    features = corpus.n_feature_columns(labelled=True)
    text = corpus.text.tobytes()
    tokens = [
        (tuple(text[a:b].decode() for a, b in cells[:features]), names[y])
        for cells, y in zip(corpus.cells.tolist(), ids.tolist(), strict=True)
    ]
    bounds = corpus.sentences.tolist()
    return [tokens[a:b] for a, b in itertools.pairwise(bounds)]


@pytest.fixture
def opened():
    """Opens files, and closes them after the test."""
    with contextlib.ExitStack() as stack:
        yield lambda path, mode="r": stack.enter_context(path.open(mode))


def forms(tmp_path, opened):
    path = tmp_path / "train.txt"
    path.write_text(TEXT)
    packed = tmp_path / "train.txt.gz"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    joined = [list(zip(s, y, strict=True)) for s, y in zip(SENTENCES, LABELS, strict=True)]
    yield "path", (path,)
    yield "string", (str(path),)
    yield "compressed", (packed,)
    yield "open for text", (opened(path),)
    yield "open for bytes", (opened(path, "rb"),)
    yield "in memory", (io.StringIO(TEXT),)
    yield "bytes in memory", (io.BytesIO(TEXT.encode()),)
    yield "labels beside", (SENTENCES, LABELS)
    yield "labels inside", (joined,)
    yield "lists for tokens", ([[list(token) for token in s] for s in joined],)
    yield "generators", ((iter(s) for s in SENTENCES), (iter(y) for y in LABELS))
    yield "tuples", (tuple(map(tuple, SENTENCES)), tuple(map(tuple, LABELS)))
    yield "arrays", ([np.array(s) for s in SENTENCES], LABELS)
    yield "a frame", (pd.DataFrame({"tokens": SENTENCES, "tags": LABELS}),)
    yield "a frame and labels", (pd.DataFrame({"tokens": SENTENCES}), LABELS)
    yield "a corpus", (ColumnCorpus.from_bytes(TEXT.encode()),)


def test_all_forms_of_data_are_alike(tmp_path, opened):
    expected = [
        [((word,), label) for word, label in zip(s, y, strict=True)]
        for s, y in zip(SENTENCES, LABELS, strict=True)
    ]
    weights = adaptag.train(SENTENCES, LABELS, passes=2).weights.tobytes()
    for name, data in forms(tmp_path, opened):
        assert content(corpus_of(*data)) == expected, name
    for name, data in forms(tmp_path, opened):
        model = adaptag.train(*data, passes=2)
        assert model.weights.tobytes() == weights, name
        assert model.labels == ("D", "N", "V"), name


def test_feature_dictionaries_are_features():
    """They used to be taken for tokens, and their keys for columns."""
    model = adaptag.train(FEATURES, LABELS, passes=20)
    names = [model.index.name(p) for p in range(model.index.n_predicates)]
    assert {"w:the", "w:cat", "first"} <= set(names)
    assert [model.tag(s) for s in FEATURES] == LABELS
    assert model.tag_all(FEATURES) == LABELS
    assert model.evaluate(FEATURES, LABELS).accuracy == 100
    trainer = adaptag.StreamTrainer()
    trainer.learn(FEATURES, LABELS)
    assert trainer.model().index.template.attributes


def test_labels_that_are_not_known():
    corpus = corpus_of(SENTENCES, [[None, "N"], ["D", "N", None]])
    ids, names = corpus.number_labels()
    assert (ids.tolist(), names) == ([-1, 0, 1, 0, -1], ["N", "D"])
    ids, names = corpus.number_labels(["D", "X"])
    assert (ids.tolist(), names) == ([-1, 2, 0, 2, -1], ["D", "X", "N"])
    part = corpus.select(np.array([1]))
    assert part.number_labels(["N"])[0].tolist() == [1, 0, -1]
    model = adaptag.train(SENTENCES, [[None, "N"], ["D", "N", "V"]], passes=5)
    assert set(model.labels) == {"D", "N", "V"}


@pytest.mark.parametrize(
    ("data", "labels", "message"),
    [
        (5, LABELS, "the data is the int 5; allowed: a path, an open file, a table, or a list"),
        (None, LABELS, "the data is None"),
        ({"a": 1}, LABELS, "the data is the dict {'a': 1}"),
        (b"the cat", LABELS, "the data is the bytes b'the cat'"),
        (["the cat"], [["D", "N"]], "sentence 1 is the string 'the cat'; allowed: a list of"),
        ([["a"], "the cat"], [["D"], ["D", "N"]], "sentence 2 is the string 'the cat'"),
        ([{"w": "the"}], [["D"]], "sentence 1 is the dict {'w': 'the'}"),
        ([[5]], [["D"]], "sentence 1: the token is the int 5; allowed: a string, a tuple"),
        ([[None]], [["D"]], "token"),
        ([["a", {"w": "b"}]], [["D", "N"]], "token 2"),
        ([[{"w": "b"}, "a"]], [["D", "N"]], "an item must be a dictionary"),
        (SENTENCES, "DN", "labels is the string 'DN'; allowed: a list"),
        (SENTENCES, ["DN", "DNV"], "labels of sentence 1: the string 'DN'"),
        (SENTENCES, [["D", 1], ["D", "N", "V"]], "labels of sentence 1: the int 1"),
        (SENTENCES, LABELS[:1], "labels of 1 sentence for 2 sentences"),
        (SENTENCES, [["D"], ["D", "N", "V"]], "sentence 1: 1 label for 2 tokens"),
        (FEATURES, None, "sentences of features need their labels"),
        ([], [], "the data holds no sentence"),
    ],
)
def test_what_is_no_data_is_refused_with_what_was_found(data, labels, message):
    with pytest.raises(CorpusError, match=message):
        adaptag.train(data, labels)


def test_a_string_is_no_sentence():
    """It used to be labelled character by character."""
    model = adaptag.train(SENTENCES, LABELS, passes=2)
    for call in (model.tag, model.marginals, model.segments, lambda s: model.tag_all([s])):
        with pytest.raises(CorpusError, match="the cat"):
            call("the cat")
    with pytest.raises(CorpusError, match="the string"):
        model.tag_all("the cat")
    with pytest.raises(CorpusError):
        model.tag([{"w": "the"}])


def test_a_file_that_is_not_there():
    with pytest.raises(MissingFileError, match="no-such-file: cannot read: No such file"):
        adaptag.train("no-such-file")
    for call in (
        lambda: adaptag.read("no-such-file"),
        lambda: adaptag.Model.load("no-such-file"),
        lambda: adaptag.Segmenter.load("no-such-file"),
        lambda: adaptag.Segmenter().fit("no-such-file"),
    ):
        with pytest.raises(FileNotFoundError):
            call()


def test_labels_go_with_python_data(tmp_path, opened):
    path = tmp_path / "f"
    path.write_text(TEXT)
    for data in (path, opened(path), ColumnCorpus.from_bytes(TEXT.encode())):
        with pytest.raises(ParameterError, match="labels can only be given with Python data"):
            adaptag.train(data, LABELS)


def test_words_and_documents_come_in_by_the_same_door(tmp_path, opened):
    path = tmp_path / "words.txt"
    path.write_text("天 天\n中国 人\n")
    words = [["天", "天"], ["中国", "人"]]
    for data in (
        (path,), (opened(path),), (words,), (["天天", "中国 人"], words), (map(iter, words),)
    ):  # fmt: skip
        assert corpus_of(*data, task=SEGMENTATION).words() == words
    with pytest.raises(CorpusError, match=r"the data is the int 5; allowed: .* list of words"):
        corpus_of(5, task=SEGMENTATION)
    path.write_text("good\tnice film\nbad\tdull\n")
    texts = ["nice film", "dull"]
    for data in ((path,), (opened(path),), (texts, ["good", "bad"])):
        documents = corpus_of(*data, task=CLASSIFICATION)
        assert documents.corpus.number_labels()[1] == ["good", "bad"]
        assert isinstance(documents.corpus, AttributeCorpus)
    with pytest.raises(CorpusError, match="texts need their labels"):
        corpus_of(texts, task=CLASSIFICATION)
    with pytest.raises(CorpusError, match="text 2 is the int 5"):
        corpus_of(["a", 5], ["x", "y"], task=CLASSIFICATION)
    with pytest.raises(CorpusError, match="1 label for 2 texts"):
        corpus_of(texts, ["good"], task=CLASSIFICATION)
