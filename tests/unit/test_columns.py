from __future__ import annotations

import gzip
import io
import itertools
import lzma
import os
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptag.corpus.columns import ColumnCorpus, ColumnFormat
from adaptag.errors import AdaptagError, CorpusError, CorpusWarning, FileError

TAB, SPACE = ColumnFormat("tab"), ColumnFormat("space")
GZ, XZ = gzip.compress(b"a b\n" * 99, mtime=0), lzma.compress(b"a b\n" * 99)
EXPECTED = [[["a", "b"], ["c", "d"]], [["e", "f"]]]


def cells(corpus):
    """The corpus as sentences of tokens of cells."""
    text = corpus.text.tobytes()
    tokens = [[text[b:e].decode() for b, e in token] for token in corpus.cells.tolist()]
    bounds = corpus.sentences.tolist()
    return [tokens[b:e] for b, e in itertools.pairwise(bounds)]


def parse(data, written=None):
    return cells(ColumnCorpus.from_bytes(data, format=written))


@pytest.mark.parametrize(
    "data",
    [
        b"a b\nc d\n\ne f\n",
        b"a b\r\nc d\r\n\r\ne f\r\n",
        b"a b\r\nc d\n\ne f",
        b"\xef\xbb\xbfa b\nc d\n\ne f\n",
        b"\n\n\na b\nc d\n\n\n\ne f\n\n\n",
        b"a b\nc d\n \t \ne f\n",
        b"a b\r\nc d\r\n  \r\ne f\r\n",
        b"a   b \n  c \t d\t\n\n e f\n",
        b"a\tb\nc\td\n\ne\tf\n",
        b"a\tb\t \nc\td  \n\ne\tf",
    ],
    ids=[
        "LF",
        "CRLF",
        "mixed, no last newline",
        "BOM",
        "blank lines",
        "spaces in blank line",
        "spaces in CRLF blank line",
        "runs of spaces",
        "tabs",
        "trailing blanks",
    ],
)
def test_forms_of_a_file(data):
    assert parse(data) == EXPECTED


@pytest.mark.parametrize(
    ("data", "written", "expected"),
    [
        (b"New York\tB x\n", None, [[["New York", "B x"]]]),
        (b" a\tb\n", None, [[[" a", "b"]]]),
        (b"a b\nc\td\n", None, [[["a", "b"], ["c", "d"]]]),
        (b"a b\tc\n d  e \t f\n", SPACE, [[["a", "b", "c"], ["d", "e", "f"]]]),
        (b"a b c\n", TAB, [[["a b c"]]]),
        ("a\u00a0b\u3000c\n".encode(), None, [[["a\u00a0b\u3000c"]]]),
        ("Zürich 東京 😀\n".encode(), None, [[["Zürich", "東京", "😀"]]]),
        (b"# x\na b\n#y\nc d\n", ColumnFormat(comment="#"), [[["a", "b"], ["c", "d"]]]),
        (b"# \na b\n", ColumnFormat(comment="# "), [[["a", "b"]]]),
        (b"# b\n", None, [[["#", "b"]]]),
        (b"a b\n%% x\n\n", ColumnFormat(comment="%%"), [[["a", "b"]]]),
        (b"-DOCSTART- X\na b\n", None, [[["-DOCSTART-", "X"], ["a", "b"]]]),
        (
            b"-DOCSTART- -X- O\n\na b\n-DOCSTART-\nc d\n-DOCSTART-s e\n",
            ColumnFormat(skip_docstart=True),
            [[["a", "b"]], [["c", "d"], ["-DOCSTART-s", "e"]]],
        ),
        (b"", None, []),
        (b" \n\t\r\n\n", None, []),
    ],
)
@pytest.mark.filterwarnings("ignore:.*-DOCSTART-")
def test_separators_comments_and_document_starts(data, written, expected):
    assert parse(data, written) == expected


def test_document_starts_that_are_not_skipped_are_told(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("a X\n\n-DOCSTART- O\n\nb Y\n\n-DOCSTART- O\n")
    with pytest.warns(CorpusWarning, match=r"train.txt:3: -DOCSTART- .* --skip-docstart") as told:
        corpus = ColumnCorpus.read(path)
    assert (len(told), len(corpus)) == (1, 4)
    assert len(ColumnCorpus.read(path, ColumnFormat(skip_docstart=True))) == 2
    path.write_text("a-DOCSTART- X\n-DOCSTART-s Y\n")
    ColumnCorpus.read(path)  # no warning, which would be an error here


def test_tokens_know_their_lines():
    corpus = ColumnCorpus.from_bytes(b"\n#x\na b\n\n\nc d\n", format=ColumnFormat(comment="#"))
    assert corpus.lines.tolist() == [3, 6]
    assert (corpus.n_tokens, corpus.n_columns, len(corpus)) == (2, 2, 2)


INVALID_UTF8 = {
    "stray continuation": b"\x80",
    "stray byte": b"\xff",
    "overlong 2": b"\xc0\xaf",
    "overlong 2, last": b"\xc1\xbf",
    "overlong 3": b"\xe0\x9f\xbf",
    "overlong 4": b"\xf0\x8f\xbf\xbf",
    "surrogate": b"\xed\xa0\x80",
    "last surrogate": b"\xed\xbf\xbf",
    "above U+10FFFF": b"\xf4\x90\x80\x80",
    "5 bytes": b"\xf8\x88\x80\x80\x80",
    "truncated 2": b"\xc3",
    "truncated 3": b"\xe2\x82",
    "truncated 4": b"\xf0\x9f\x98",
    "broken 4": b"\xf0\x9fx\x98",
}


@pytest.mark.parametrize("bad", INVALID_UTF8.values(), ids=INVALID_UTF8)
@pytest.mark.parametrize("tail", [b"", b" label\n", b" a line that is longer than a word\n"])
def test_invalid_utf8_is_an_error_with_its_place(bad, tail):
    with pytest.raises(UnicodeDecodeError):
        bad.decode()
    with pytest.raises(CorpusError, match=r"^f:3: invalid UTF-8 at byte 4 of the line; "):
        ColumnCorpus.from_bytes("ä b\n\nc ü".encode()[:-2] + b"x" + bad + tail, "f")


@given(st.binary(max_size=12))
@settings(deadline=None)
def test_bytes_are_valid_exactly_where_python_can_decode_them(data):
    data = data.translate(None, b"\0\t\n\r ") + b"abcdefgh"
    try:
        data.decode()
    except UnicodeDecodeError:
        with pytest.raises(CorpusError, match="invalid UTF-8"):
            ColumnCorpus.from_bytes(data)
    else:
        assert ColumnCorpus.from_bytes(data).n_tokens == 1


@pytest.mark.parametrize("data", ["", "\x7f", "\x80߿", "ࠀ퟿￿", "𐀀\U0010ffff"])
def test_the_ends_of_the_utf8_ranges_are_valid(data):
    assert parse(f"{data}x\n".encode()) == [[[f"{data}x"]]]


@pytest.mark.parametrize(
    ("data", "written", "message"),
    [
        (b"a b\n\nc d e\n", None, "f:3: 3 columns; line 1 has 2"),
        (b"\na b c\r\nd\r\n", None, "f:3: 1 column; line 2 has 3"),
        (b"a\tb\nc d\n", None, "f:2: 1 column; line 1 has 2"),
        (b"a\tb\n\tc\n", None, "f:2: column 1 is empty"),
        (b"a\t\tb\n", None, "f:1: column 2 is empty"),
        (b"a b\nc\0 d\n", None, "f:2: a NUL byte at byte 2 of the line"),
        (b"a long line without it\n\n0123456789\0\n", None, "f:3: a NUL byte at byte 11"),
        (b"\xef\xbb\xbfa b\n# c\nd\n", ColumnFormat(comment="#"), "f:3: 1 column; line 1 has 2"),
    ],
)
def test_errors_say_where_and_what(data, written, message):
    with pytest.raises(CorpusError, match=f"^{re.escape(message)}"):
        ColumnCorpus.from_bytes(data, "f", written)


def test_a_labelled_file_needs_two_columns():
    with pytest.raises(CorpusError, match=r"^f:2: 1 column; .* at least 2"):
        ColumnCorpus.from_bytes(b"\na\nb\n", "f").number_labels()


@pytest.mark.parametrize("name", ["x.txt", "x.gz", "x.xz"])
def test_files_plain_and_compressed(tmp_path, name):
    opener = {"x.gz": gzip.open, "x.xz": lzma.open}.get(name, open)
    with opener(tmp_path / name, "wb") as file:
        file.write(b"a b\nc d\n\ne f\n")
    corpus = ColumnCorpus.read(tmp_path / name)
    assert cells(corpus) == EXPECTED
    assert corpus.name == str(tmp_path / name)
    assert in_parts(str(tmp_path / name), 4) == (EXPECTED, [1, 2, 4])


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a b\nc d\n\ne f\n")))
    assert cells(ColumnCorpus.read("-")) == EXPECTED


def test_a_file_may_have_any_name(tmp_path):
    path = tmp_path / os.fsdecode(b"\xff.txt")
    try:
        path.write_bytes(b"a b\n")
    except OSError:
        pytest.skip("the file system allows UTF-8 names only")
    assert cells(ColumnCorpus.read(path)) == [[["a", "b"]]]


@pytest.mark.parametrize("data", [b"", b"\n \n", b"#\n"])
@pytest.mark.parametrize("read", [ColumnCorpus.read, lambda *a: list(ColumnCorpus.read_parts(*a))])
def test_a_file_without_a_sentence(tmp_path, data, read):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(CorpusError, match=f"^{tmp_path / 'x'}:1: no sentence found"):
        read(tmp_path / "x", ColumnFormat(comment="#"))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.gz", GZ[:-9], "damaged compressed file"),
        ("x.gz", GZ[:20] + b"\xff" * 30, "damaged compressed file"),
        ("x.gz", GZ[:-5] + b"\xff" + GZ[-4:], "damaged compressed file"),
        ("x.gz", b"a b\n", "damaged compressed file"),
        ("x.xz", XZ[:-9], "damaged compressed file"),
        ("x.xz", XZ[:30] + b"\xff" * 10 + XZ[40:], "damaged compressed file"),
        ("x.xz", b"a b\n", "damaged compressed file"),
        ("x.txt", None, "cannot read: No such file"),
        (".", None, "cannot read: Is a directory"),
    ],
    ids=["cut", "blocks", "sum", "no gz", "cut xz", "blocks xz", "no xz", "missing", "folder"],
)
@pytest.mark.parametrize("read", [ColumnCorpus.read, lambda p: list(ColumnCorpus.read_parts(p))])
def test_files_that_cannot_be_read(tmp_path, name, data, message, read):
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(FileError, match=f"^{re.escape(str(path))}: {message}"):
        read(path)


def test_an_unknown_separator_is_a_clean_error():
    with pytest.raises(AdaptagError, match="comma"):
        ColumnCorpus.from_bytes(b"a b\n", format=ColumnFormat("comma"))


# ---- reading in parts -----------------------------------------------------------------------


def in_parts(path, size, written=None):
    parts = list(ColumnCorpus.read_parts(path, written, size))
    return [s for p in parts for s in cells(p)], [n for p in parts for n in p.lines.tolist()]


SEPARATOR = st.sampled_from([" ", "\t", "  "])
WORD = st.text(st.sampled_from("abé東😀#"), min_size=1, max_size=3)


@st.composite
def files(draw):
    """Lines of one number of columns, blank lines of all sorts, LF or CRLF or both."""
    width = draw(st.integers(1, 3))
    line = st.lists(WORD, min_size=width, max_size=width).map(draw(SEPARATOR).join)
    lines = draw(st.lists(line | st.sampled_from(["", "", "", " ", "\t "]), min_size=1))
    ends = draw(st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"]]))
    text = "".join(x + ends[k % len(ends)] for k, x in enumerate(lines))
    text = draw(st.sampled_from(["", "\ufeff"])) + text
    return (text if draw(st.booleans()) else text.rstrip("\r\n")).encode()


@given(data=files(), size=st.integers(1, 40))
@settings(deadline=None, max_examples=300)
def test_parts_are_the_whole(tmp_path_factory, data, size):
    path = tmp_path_factory.getbasetemp() / "parts.txt"
    path.write_bytes(data)
    whole = ColumnCorpus.from_bytes(data)
    if len(whole) == 0:
        with pytest.raises(CorpusError, match="no sentence"):
            in_parts(path, size)
    else:
        assert in_parts(path, size) == (cells(whole), whole.lines.tolist())


def test_parts_are_small(tmp_path):
    (tmp_path / "x").write_bytes(b"a b\n\n" * 1000)
    parts = list(ColumnCorpus.read_parts(tmp_path / "x", size=100))
    assert sum(map(len, parts)) == 1000
    assert max(map(len, parts)) <= 21


@pytest.mark.parametrize("size", [1, 7, 1 << 23])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a b\n\nc d\n\n\ne\0 f\n", "6: a NUL byte at byte 2"),
        (b"a b\r\n\r\nc d\r\n\r\ne \xff\r\n", "5: invalid UTF-8 at byte 3"),
        (b"a\tb\n\nc\td\n\n\tf\n", "5: column 1 is empty"),
        (b"a b\n\nc d\n\ne f\ng\n", "6: 1 column; line "),
    ],
)
def test_errors_in_later_parts_name_the_line_of_the_file(tmp_path, data, message, size):
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=f"^{re.escape(str(path))}:{message}"):
        in_parts(path, size)


@pytest.mark.parametrize("size", [1, 1 << 23])
@pytest.mark.parametrize(
    "data",
    [
        b"a b\n\nc d\n\ne\n",
        b"a b\n\nc d e\n",
        b"a b\n\nc\td e\n",
        b"a\tb\n\nc d\n",
        b"a b\n\n\xef\xbb\xbfc d\n",
    ],
    ids=["too few", "too many", "space then tab", "tab then space", "BOM inside"],
)
def test_parts_go_by_the_first_line_of_the_file(tmp_path, data, size):
    path = tmp_path / "x"
    path.write_bytes(data)

    def outcome(read):
        try:
            return read()
        except CorpusError as error:
            return str(error)

    whole = outcome(lambda: cells(ColumnCorpus.read(path)))
    assert outcome(lambda: in_parts(path, size)[0]) == whole


# ---- Python data ----------------------------------------------------------------------------


def test_python_data_strings_tuples_generators():
    assert cells(ColumnCorpus.from_sentences([["a", "b"], [], ["ü"]])) == [
        [["a"], ["b"]],
        [],
        [["ü"]],
    ]
    tokens = ((w, c) for w, c in [("a", "x"), ("b", "y")])
    assert cells(ColumnCorpus.from_sentences(iter([tokens]))) == [[["a", "x"], ["b", "y"]]]
    assert ColumnCorpus.from_sentences([]).n_tokens == 0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([[("a", "b"), ("c",)]], "sentence 1, token 2: 1 column; the first token has 2"),
        ([["a"], ["b", ("c", "d")]], "sentence 2, token 2: 2 columns; the first token has 1"),
        ([[()]], "sentence 1, token 1: 0 columns"),
        ([[1]], "token|not iterable"),
        ([[None]], "token|not iterable"),
        ([[("a", 1)]], "sentence 1, token 1: a column is the int 1; allowed: a string"),
        ([[b"a"]], "sentence 1, token 1 is the bytes b'a'; allowed: a string"),
        ([1], "sentence|not iterable"),
        (None, "sentence|not iterable"),
        ([["\ud800"]], "lone surrogate"),
    ],
)
def test_python_data_that_is_no_corpus(data, message):
    with pytest.raises(CorpusError, match=message) as caught:
        ColumnCorpus.from_sentences(data)
    assert "\n" not in str(caught.value)


def test_an_error_of_the_generator_is_its_own():
    def tokens():
        yield "a"
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        ColumnCorpus.from_sentences([tokens()])


# ---- labels ---------------------------------------------------------------------------------


def test_labels_are_numbered_in_order_behind_those_known():
    corpus = ColumnCorpus.from_bytes(b"a x B\nb y A\n\nc x B\n")
    ids, names = corpus.number_labels()
    assert (ids.tolist(), names) == ([0, 1, 0], ["B", "A"])
    ids, names = corpus.number_labels(["A", "C"])
    assert (ids.tolist(), names) == ([2, 0, 2], ["A", "C", "B"])
    assert corpus.number_labels(column=-2)[1] == ["x", "y"]


@pytest.mark.parametrize(
    ("data", "expected", "with_numbers"),
    [
        (b"a b\nc d\n", b"a b L\nc d M\n\n", b"a b 0.250000 L\nc d 1.000000 M\n\n"),
        (b"a\tb\nc\td", b"a\tb\tL\nc\td\tM\n\n", b"a\tb\t0.250000\tL\nc\td\t1.000000\tM\n\n"),
        (b"a\r\n\r\nc\r\n", b"a\tL\n\nc\tM\n\n", b"a\t0.250000\tL\n\nc\t1.000000\tM\n\n"),
        (b" a  b \n c  d\n", b"a  b L\nc  d M\n\n", b"a  b 0.250000 L\nc  d 1.000000 M\n\n"),
    ],
)
def test_labels_are_written_behind_the_columns(data, expected, with_numbers):
    corpus = ColumnCorpus.from_bytes(data)
    ids = np.array([0, 1], np.int32)
    assert corpus.with_label(ids, ["L", "M"]) == expected
    assert corpus.with_label(ids, ["L", "M"], np.array([0.25, 1], np.float32)) == with_numbers


def test_a_sentence_is_a_corpus():
    corpus = ColumnCorpus.from_bytes(b"a b\nc d\n\ne f\n", "name")
    one = corpus.sentence(1)
    assert (cells(one), one.name, one.lines.tolist()) == ([[["e", "f"]]], "name", [4])
