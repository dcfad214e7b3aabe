from __future__ import annotations

import gzip
import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adaptag
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.columns import ColumnCorpus
from adaptag.errors import CorpusError, FileError, ParameterError


def content(corpus):
    """The corpus as sentences of (label, [(attribute, value), …])."""
    text = corpus.text.tobytes()

    def strings(spans):
        return [text[b:e].decode() for ((b, e),) in spans.tolist()]

    items = list(zip(strings(corpus.cells), corpus.values.tolist(), strict=True))
    bounds = corpus.positions.tolist()
    tokens = [
        (label, items[b:e])
        for label, b, e in zip(strings(corpus.labels), bounds, bounds[1:], strict=False)
    ]
    bounds = corpus.sentences.tolist()
    return [tokens[b:e] for b, e in itertools.pairwise(bounds)]


def parse(data):
    return content(AttributeCorpus.from_bytes(data))


A = [[("X", [("a", 1.0), ("b", 2.5)]), ("Y", [])], [("X", [("c", 1.0)])]]


@pytest.mark.parametrize(
    "data",
    [
        b"X\ta\tb:2.5\nY\n\nX\tc\n",
        b"X\ta\tb:2.5\r\nY\r\n\r\nX\tc",
        b"\xef\xbb\xbf\n\nX\ta:1\tb:25e-1\t\nY\t\n \t\nX\tc\n\n",
    ],
)
def test_forms_of_a_file(data):
    assert parse(data) == A


@pytest.mark.parametrize(
    ("written", "name", "value"),
    [
        (r"a\:b", "a:b", 1),
        (r"a\:b:0.5", "a:b", 0.5),
        (r"a\\:3", "a\\", 3),
        (r"a\\\:3", r"a\:3", 1),
        (r"a\b", r"a\b", 1),
        ("a\\", "a\\", 1),
        ("a b:2", "a b", 2),
        ("ü東😀:-1e3", "ü東😀", -1000),
        ("a:0", "a", 0),
        ("a:.5", "a", 0.5),
        ("a:1e-40", "a", np.float32(1e-40)),
        ("a:1e-60", "a", 0),
        ("a:+2", "a", 2),
    ],
)
def test_names_escapes_and_values(written, name, value):
    assert parse(f"L\t{written}\n".encode()) == [[("L", [(name, value)])]]


TEXT = st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0")
NAMES = st.text(TEXT, min_size=1, max_size=5) | st.text("\\:a", min_size=1, max_size=5)
VALUES = st.none() | st.floats(width=32, allow_nan=False, allow_infinity=False)
TOKENS = st.tuples(
    st.sampled_from(["X", "Y:Z", "\\"]), st.lists(st.tuples(NAMES, VALUES), max_size=4)
)


@given(st.lists(st.lists(TOKENS, min_size=1, max_size=3), max_size=3))
@settings(deadline=None)
def test_any_attribute_survives_escaping(sentences):
    def write(name, value):
        escaped = name.replace("\\", "\\\\").replace(":", "\\:")
        return escaped if value is None else f"{escaped}:{value!r}"

    text = "\n".join(
        "".join("\t".join([y, *(write(*item) for item in items)]) + "\n" for y, items in s)
        for s in sentences
    )
    expected = [
        [(y, [(n, 1.0 if v is None else v) for n, v in items]) for y, items in s] for s in sentences
    ]
    assert parse(text.encode()) == expected


@pytest.mark.parametrize(
    "value", ["", "x", "1x", "1:2", " 1", "1 ", "nan", "inf", "-inf", "1e39", "0x1", "1,5", "--1"]
)
def test_a_bad_value_names_the_line(value):
    with pytest.raises(CorpusError, match=re.escape(f"f:3: value '{value}' after ':'; allowed: ")):
        AttributeCorpus.from_bytes(f"X\ta\n\nX\ta\tb:{value}\tc\n".encode(), "f")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"X\ta\n\tb\n", "f:2: the label is empty"),
        (b"X\ta\t\tb\n", "f:1: an attribute is empty"),
        (b"X\ta\nX\t:2\n", "f:2: an attribute is empty"),
        (b"X\ta\r\n\r\nX\tb\0\r\n", "f:3: a NUL byte at byte 4"),
        (b"X\t\xc0\x80\n", "f:1: invalid UTF-8 at byte 3"),
    ],
)
def test_errors_say_where_and_what(data, message):
    with pytest.raises(CorpusError, match=f"^{message}"):
        AttributeCorpus.from_bytes(data, "f")


def test_files(tmp_path):
    plain, packed, empty = (tmp_path / name for name in ("x", "x.gz", "empty"))
    plain.write_bytes(b"X\ta\tb:2.5\nY\n\nX\tc\n")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    empty.write_bytes(b"\n \n")
    corpus = adaptag.read(packed, "attributes")
    assert content(corpus) == content(AttributeCorpus.read(plain)) == A
    assert corpus.lines.tolist() == [1, 2, 4]
    assert (len(corpus), corpus.n_tokens, corpus.name) == (2, 3, str(packed))
    assert corpus.number_labels(["Y"])[1] == ["Y", "X"]
    with pytest.raises(CorpusError, match=f"^{empty}:1: no sentence found"):
        AttributeCorpus.read(empty)
    with pytest.raises(FileError, match=f"^{tmp_path / 'no'}: cannot read"):
        AttributeCorpus.read(tmp_path / "no")
    with pytest.raises(ParameterError, match="'crfsuite'; allowed"):
        adaptag.read(plain, "crfsuite")


# ---- a model of attributes ------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained():
    data = b"X\ta\tb:2.5\nY\tc:-1\n\nX\ta:0.5\tc\\:d\n\nY\tc\n" * 5
    corpus = AttributeCorpus.from_bytes(data)
    return adaptag.train(corpus, passes=5), corpus


def test_attributes_are_features_with_values(trained):
    model, corpus = trained
    names = [model.index.name(p) for p in range(model.index.n_predicates)]
    assert sorted(names) == ["B", "a", "b", "c", "c:d"]
    encoded = model.index.encode(corpus)
    first, second = encoded.positions[1:3].tolist()
    found = {names[p]: v for p, v in zip(encoded.predicates, encoded.values.tolist(), strict=True)}
    assert [names[p] for p in encoded.predicates[:first]] == ["a", "b"]
    assert encoded.values[:first].tolist() == [1, 2.5]
    assert [names[p] for p in encoded.predicates[first:second]] == ["c", "B"]
    assert encoded.values[first:second].tolist() == [-1, 1]
    assert found["B"] == 1
    assert [model.labels[y] for y in model.tag_corpus(corpus)[:4]] == ["X", "Y", "X", "Y"]


def test_unknown_attributes_are_left_out(trained):
    model, _ = trained
    encoded = model.index.encode(AttributeCorpus.from_bytes(b"X\tnew:3\tb:4\n"))
    assert [model.index.name(p) for p in encoded.predicates] == ["b"]
    assert encoded.values.tolist() == [4]


@pytest.mark.parametrize("method", ["tag", "marginals", "segments"])
def test_tokens_are_no_attributes(trained, method):
    with pytest.raises(
        CorpusError, match=r"the token 'a'; .* dictionaries and lists of attributes"
    ):
        getattr(trained[0], method)(["a", "b"])


def test_columns_and_attributes_do_not_mix(trained):
    model = adaptag.train([["a"]], [["x"]], passes=1)
    with pytest.raises(CorpusError, match="holds attributes; the model needs columns"):
        model.tag_corpus(trained[1])
    with pytest.raises(CorpusError, match="holds columns; the model was trained on attributes"):
        trained[0].evaluate(ColumnCorpus.from_sentences([[("a", "x")]]))
    with pytest.raises(ParameterError, match="cannot be combined with a template"):
        adaptag.encode(trained[1], template="B")
