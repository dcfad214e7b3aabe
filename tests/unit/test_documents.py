from __future__ import annotations

import gzip
import io
import lzma
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptag.classification.documents import LENGTH, DocumentClassifier, Scaling
from adaptag.corpus import documents as module
from adaptag.corpus import text as text_module
from adaptag.corpus.documents import (
    Documents,
    parse,
    read_documents,
    read_parts,
    resolve_format,
    tokenise,
)
from adaptag.corpus.settings import FORMATS, DocumentFormat
from adaptag.decoding.model import Model
from adaptag.errors import CorpusError, ModelError, ParameterError

SVMLIGHT, COUNTS = DocumentFormat(format="svmlight"), DocumentFormat(format="counts")
WORDS = DocumentFormat(format="text", bigrams=False, binary=False)
names = st.text(
    st.characters(exclude_characters=" \t\r\n\0", exclude_categories=["Cs"]), min_size=1, max_size=8
)
values = st.floats(width=32, allow_nan=False, allow_infinity=False).filter(bool)


def content(corpus):
    """Label and features of every document, as Python data."""
    data = corpus.text.tobytes()

    def text(span):
        return data[span[0, 0] : span[0, 1]].decode()

    assert corpus.sentences.tolist() == list(range(corpus.n_tokens + 1))
    found = []
    for k, label in enumerate(corpus.labels):
        span = slice(corpus.positions[k], corpus.positions[k + 1])
        features = zip(map(text, corpus.cells[span]), corpus.values[span].tolist(), strict=True)
        found.append((text(label), list(features)))
    return found


# ---- svmlight -------------------------------------------------------------------------------


def test_svmlight():
    lines = ["# head\n", "+1 3:0.5\t7:-2e1  # a 1:1\r\n", "\n", "-1\n", " a,b 10:+4 \n"]
    corpus = parse(lines, SVMLIGHT)
    assert content(corpus) == [
        ("+1", [("3", 0.5), ("7", -20.0)]),
        ("-1", []),
        ("a,b", [("10", 4.0)]),
    ]
    assert corpus.lines.tolist() == [2, 4, 5]


def test_a_byte_order_mark_inside_a_file_is_text():
    found = content(parse(["\ufeff 1:1", "x \ufeff:1"], SVMLIGHT))
    assert found == [("\ufeff", [("1", 1)]), ("x", [("\ufeff", 1)])]


def test_zeros_are_left_out():
    lines = ["a 1:0 2:1 3:0", "b 1:0", "a 4:2 5:-0.0"]
    assert content(parse(lines, SVMLIGHT)) == [("a", [("2", 1)]), ("b", []), ("a", [("4", 2)])]


def test_binary_values():
    corpus = parse(["a 1:7 2:-3 3:0"], DocumentFormat(format="svmlight", binary=True))
    assert content(corpus) == [("a", [("1", 1), ("2", 1)])]


def test_documents_to_classify_need_no_label():
    lines = ["1:2 3:4", "x 1:2"]
    found = content(parse(lines, SVMLIGHT, labelled=False))
    assert [features for _, features in found] == [[("1", 2), ("3", 4)], [("1", 2)]]
    assert len({label for label, _ in found}) == 1
    with pytest.raises(CorpusError, match=r"^f:2: 'x'; allowed: feature:value$"):
        parse(lines, SVMLIGHT, "f", labelled=False, bare=True)


@given(names.filter(lambda name: ":" not in name and "#" not in name), values)
def test_svmlight_round_trip(name, value):
    corpus = parse([f"{name} {name}:{value!r} {name}x:1"], SVMLIGHT)
    assert content(corpus) == [(name, [(name, value), (name + "x", 1)])]


# ---- counts ---------------------------------------------------------------------------------


def test_counts():
    lines = [
        "a:1 b_c:2 http://x:80:3 ::4 #label#:positive\n",
        "#label#:a:b",
        "\\:1 \\::2 #label#:n",
    ]
    assert content(parse(lines, COUNTS)) == [
        ("positive", [("a", 1), ("b_c", 2), ("http://x:80", 3), (":", 4)]),
        ("a:b", []),
        ("n", [("\\", 1), ("\\:", 2)]),
    ]
    assert content(parse(["a\\:1 #label#:n"], COUNTS)) == [("n", [("a\\", 1)])]
    assert content(parse(["n a\\:1"], SVMLIGHT)) == [("n", [("a\\", 1)])]


@given(st.lists(st.tuples(names, values), min_size=1, max_size=5), names)
def test_counts_round_trip(features, label):
    written = " ".join(f"{name}:{value!r}" for name, value in features)
    assert content(parse([f"{written} #label#:{label}\n"], COUNTS)) == [(label, features)]
    if not features[-1][0].startswith("#label#"):
        assert content(parse([written], COUNTS, labelled=False)) == [("?", features)]


# ---- text -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't  STOP", ["don't", "stop"]),
        ("'quoted' rock’n’roll'", ["'", "quoted", "'", "rock’n’roll", "'"]),
        ("x_y 3.5 a-b!!", ["x", "_", "y", "3", ".", "5", "a", "-", "b", "!", "!"]),
        ("我爱NLP，ok", ["我", "爱", "nlp", "，", "ok"]),
        ("カナ と 한국어", ["カ", "ナ", "と", "한국어"]),
        ("e\u0301tude हिन्दी สวัสดี", ["e\u0301tude", "हिन्दी", "ส", "วั", "ส", "ดี"]),
        (" \t", []),
    ],
)
def test_words_of_a_text(text, words):
    assert tokenise(text) == words


@given(st.text(st.characters(max_codepoint=127)))
def test_the_short_way_for_ascii_finds_the_same(text):
    assert tokenise(text) == module._token().findall(text.lower())


@given(st.text())
def test_words_cover_all_but_white_space(text):
    assert "".join(tokenise(text)) == "".join(text.lower().split())


def test_text():
    lines = ["pos\tGood, good \\: book\tx\n", " sci fi \t\n"]
    assert content(parse(lines, WORDS)) == [
        ("pos", [("good", 2), (",", 1), ("\\", 1), (":", 1), ("book", 1), ("x", 1)]),
        ("sci fi", []),
    ]
    both = parse(["a\tx y x y"], DocumentFormat(format="text", binary=False))
    assert content(both) == [("a", [("x", 2), ("y", 2), ("x y", 2), ("y x", 1)])]
    binary = parse(["a\tx y x y"], DocumentFormat(format="text", binary=True))
    assert content(binary) == [("a", [("x", 1), ("y", 1), ("x y", 1), ("y x", 1)])]


def test_text_without_labels():
    lines = ["a b", "a\tb", "\tc"]
    seen = [
        [[name for name, _ in features] for _, features in content(parse(lines, WORDS, **how))]
        for how in ({"labelled": False}, {"labelled": False, "bare": True})
    ]
    assert seen == [[["a", "b"], ["b"], ["c"]], [["a", "b"], ["a", "b"], ["c"]]]


# ---- files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "name"),
    [
        ("+1 1:2 3:4.5e-3 # x", "svmlight"),
        ("1 qid:3 1:2", "svmlight"),
        ("0\t1:2\t2:.5", "svmlight"),
        ("1 3:nan", "svmlight"),
        ("a:1 #label#:x", "counts"),
        ("#label#:x", "counts"),
        ("x\tgo at 7:30", "text"),
        ("x\t", "text"),
        ("#x\ty", "text"),
    ],
)
def test_the_first_line_tells_the_format(first, name):
    found = resolve_format(DocumentFormat(), ["\n", "# a comment\n", first + "\n"], "f")
    assert (found.format, found.binary) == (name, name == "text")
    assert (
        resolve_format(DocumentFormat(binary=not found.binary), [first], "f").binary
        is not found.binary
    )


def test_no_format():
    with pytest.raises(CorpusError, match=r"^f:3: the line is in none of the formats svmlight"):
        resolve_format(DocumentFormat(), ["\n", "\n", "hello world\n"], "f")
    with pytest.raises(ParameterError, match="format is 'svm'; allowed: auto, svmlight"):
        DocumentFormat(format="svm").check()


@pytest.mark.parametrize("block", [3, 1 << 20])
@pytest.mark.parametrize("form", ["plain", "gz", "xz", "crlf", "bom", "stdin"])
def test_files(tmp_path, monkeypatch, form, block):
    monkeypatch.setattr(text_module.read_lines, "__defaults__", (block,))
    monkeypatch.setattr(text_module, "LONG", 4)
    text = "\n# c\n+1 1:2 2:3\n\n-1 3:1.5\n+1 1:1"
    data = text.encode()
    path = tmp_path / f"f.{form}"
    if form == "stdin":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        path = "-"
    else:
        change = {
            "gz": gzip.compress,
            "xz": lzma.compress,
            "crlf": lambda d: d.replace(b"\n", b"\r\n"),
            "bom": lambda d: b"\xef\xbb\xbf" + d,
        }
        path.write_bytes(change.get(form, bytes)(data))
    corpus, written = read_documents(path, DocumentFormat())
    assert written == DocumentFormat(format="svmlight", binary=False)
    assert content(corpus) == [
        ("+1", [("1", 2), ("2", 3)]),
        ("-1", [("3", 1.5)]),
        ("+1", [("1", 1)]),
    ]
    assert corpus.lines.tolist() == [3, 5, 6]


def test_parts_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(text_module.read_lines, "__defaults__", (64,))
    (tmp_path / "f").write_text("a 1:1 2:1\n" * 100)
    parts = list(read_parts(tmp_path / "f", SVMLIGHT))
    assert sum(map(len, parts)) == 100
    assert max(map(len, parts)) <= 7
    assert np.concatenate([part.lines for part in parts]).tolist() == list(range(1, 101))


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("svmlight", "1 qid:3 1:2", "'qid:' makes groups for ranking; allowed: a label, then"),
        ("svmlight", "1 1:2 x", "'x'; allowed: feature:value"),
        ("svmlight", "1 1:2:3 x", "'1:2:3'; allowed: feature:value"),
        ("svmlight", "1 1:2 :3", "':3'; allowed: feature:value"),
        ("svmlight", "1 1:2 3:", "'3:'; allowed: feature:value, the value a finite number"),
        ("svmlight", "1 1:2 3:nan", "'3:nan'; allowed: feature:value, the value a finite number"),
        ("svmlight", "1 3:1e50", "'3:1e50'; allowed: feature:value, the value a finite number"),
        ("svmlight", "1 3:1_0", "'3:1_0'; allowed"),
        ("svmlight", "1:2 3:4", "no label; write label index:value …"),
        ("counts", "a:1 b:2", "no label; write feature:count … #label#:label"),
        ("counts", "a:1 #label#:", "the label after '#label#:' is empty"),
        ("counts", "#label#:x a:1", "no label; write feature:count … #label#:label"),
        ("counts", "a:1 b #label#:x", "'b'; allowed: feature:value"),
        ("counts", "a:1 b:c:d #label#:x", "'b:c:d'; allowed: feature:value, the value a finite"),
        ("text", "no tab", "no label; write label<TAB>text"),
        ("text", " \ttext", "no label; write label<TAB>text"),
        ("text", "a\tb\0c", "a NUL character; allowed: UTF-8 text"),
    ],
)
def test_errors_say_where_and_what(tmp_path, name, line, message):
    good = {"svmlight": "1 1:1", "counts": "a:1 #label#:x", "text": "a\tb"}[name]
    (tmp_path / "f").write_text(f"{good}\n\n{line}\n{good}\n")
    with pytest.raises(CorpusError) as caught:
        read_documents(tmp_path / "f", DocumentFormat(format=name))
    assert str(caught.value).startswith(f"{tmp_path}/f:3: {message}")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "f:1: no document found; the file is empty"),
        (b"\n # \n", "f:1: no document found; the file is empty"),
        (b"1 1:1\n1 2:\xff\n", "f:2: invalid UTF-8"),
        (b"a\n1\n", "f:1: no document has a feature; write label index:value"),
    ],
)
def test_files_that_hold_no_documents(tmp_path, data, message):
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(CorpusError, match=message):
        read_documents(tmp_path / "f", SVMLIGHT)


@given(
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=60),
    st.sampled_from(FORMATS),
    st.booleans(),
)
def test_any_line_is_read_or_refused(line, name, labelled):
    message = ""
    try:
        corpus = parse([line], DocumentFormat(format=name), "f", labelled=labelled)
        assert np.isfinite(corpus.values).all()
        assert len(corpus) == len(corpus.labels) <= 1
    except CorpusError as error:
        message = str(error)
    assert re.match("f:1: |$", message)


# ---- scaling, and models --------------------------------------------------------------------


def lengths(corpus):
    return [sum(value**2 for _, value in features) ** 0.5 for _, features in content(corpus)]


def test_documents_of_one_length():
    corpus = parse(["a 1:3 2:4", "b", "a 1:1e30", "b 3:-1e-3"], SVMLIGHT)
    scaled = Scaling.of(corpus, True)(corpus)
    assert lengths(scaled) == pytest.approx([LENGTH, 0, LENGTH, LENGTH])
    assert content(scaled)[0][1] == [("1", pytest.approx(2.4)), ("2", pytest.approx(3.2))]


def test_one_factor_for_all():
    corpus = parse(["a 1:3 2:4", "b", "a 1:7"], SVMLIGHT)
    scaled = Scaling.of(corpus, False)(corpus)
    assert np.mean(np.square(lengths(scaled))) == pytest.approx(LENGTH**2)
    assert lengths(scaled)[2] / lengths(scaled)[0] == pytest.approx(7 / 5)


TRAIN = [f"{'+' if k % 3 else '-'} {k % 3}:1 {3 + k % 7}:2" for k in range(60)]


@pytest.fixture(scope="module")
def trained():
    return DocumentClassifier.train(Documents(parse(TRAIN, SVMLIGHT), SVMLIGHT), passes=3)


def test_an_intercept_fires_in_every_document(trained):
    index = trained.model.index
    assert "U:intercept" in [index.name(k) for k in range(index.n_predicates)]
    empty = trained.probabilities(parse(["unknown:1"], SVMLIGHT, labelled=False))
    assert empty[0, trained.labels.index("+")] > 0.55


def test_texts_and_documents_are_classified():
    texts = ["good film", "bad film", "good", "bad"]
    classifier = DocumentClassifier.train(texts, ["+", "-", "+", "-"], passes=5)
    documents = classifier.read(texts, ["+", "-", "+", "-"])
    expected = classifier.probabilities(documents.corpus)
    for data in (texts, tuple(texts), iter(texts), np.array(texts), documents, documents.corpus):
        assert classifier.predict(data, threads=1) == ["+", "-", "+", "-"], type(data)
    for data in (texts, iter(texts), documents):
        np.testing.assert_array_equal(classifier.probabilities(data), expected)
    assert classifier.predict([]) == []
    assert classifier.predict(["", "good"])[1] == "+"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("good film", "the data is the string 'good film'; allowed: a list of texts, or documents"),
        (Path("good"), r"the data is the \w+Path .*; allowed: a list of texts, or documents"),
        (
            io.StringIO("good"),
            "the data is the StringIO .*; allowed: a list of texts, or documents",
        ),
        (None, "the data is None; allowed: a list of texts, or documents that were read"),
        (["good", 5], "text 2 is the int 5; allowed: a string"),
    ],
)
def test_what_cannot_be_classified(data, message):
    classifier = DocumentClassifier.train(["good", "bad"], ["+", "-"], passes=1)
    for use in (classifier.predict, classifier.probabilities):
        with pytest.raises(CorpusError, match=f"^{message}"):
            use(data)


def test_features_are_no_texts(trained):
    with pytest.raises(ParameterError, match="format is 'svmlight'; texts in a list are 'text'"):
        trained.predict(["good"])


def test_the_scale_of_the_data_does_not_matter():
    """With one factor for all, data a thousand times as large gives the same probabilities."""
    large = [line.replace(":1", ":1000").replace(":2", ":2000") for line in TRAIN]
    found = []
    for lines in (TRAIN, large):
        corpus = parse(lines, SVMLIGHT)
        classifier = DocumentClassifier.train(Documents(corpus, SVMLIGHT), passes=3)
        found.append(classifier.probabilities(corpus))
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


def altered(trained, **changes):
    documents = {**trained.model.configuration["documents"], **changes}
    told = {key: value for key, value in documents.items() if value is not None}
    model = trained.model
    return Model(model.labels, model.index, model.weights, configuration={"documents": told})


@pytest.mark.parametrize(
    "changes",
    [
        {"format": None},
        {"format": "auto"},
        {"format": "x"},
        {"bigrams": 1},
        {"binary": "yes"},
        {"normalise": None},
        {"factor": 0},
        {"factor": float("nan")},
        {"factor": "x"},
        {"factor": []},
    ],
)
def test_damaged_models_are_refused(trained, changes):
    assert DocumentClassifier.of(altered(trained)).scaling == trained.scaling
    with pytest.raises(ModelError, match=r"^m: malformed classifier: "):
        DocumentClassifier.of(altered(trained, **changes), "m")


def test_development_data_must_be_alike():
    train = Documents(parse(TRAIN, SVMLIGHT), SVMLIGHT)
    dev = Documents(parse(["+\tx"], WORDS), WORDS)
    with pytest.raises(ParameterError, match="read like the training data"):
        DocumentClassifier.train(train, dev=dev)
