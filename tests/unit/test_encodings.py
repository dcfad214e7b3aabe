"""Text in other encodings is read as UTF-8 text is, and bytes that are none are located."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adaptag
from adaptag.annotation.store import Store
from adaptag.corpus.columns import ColumnCorpus, column_parts
from adaptag.corpus.segmented import SegmentedCorpus
from adaptag.corpus.text import read_lines
from adaptag.errors import CorpusError, ParameterError
from adaptag.storage.encodings import as_utf8
from adaptag.storage.files import read_bytes

TEXT = "Café NN X\nfür IN O\n\nßtraße NN X\n"
CHINESE = "小明 在 图书馆 看 书\n我们 喜欢 看 书\n"
ENCODINGS = (
    "utf-8",
    "utf-8-sig",
    "utf-16",
    "utf-16-le",
    "utf-32",
    "utf-7",
    "gb18030",
    "iso2022_jp",
)


class Trickle(io.BytesIO):
    """A pipe that gives a few bytes at a time."""

    def read1(self, size=-1):
        return super().read1(min(size, 3) if size > 0 else 3)


@given(
    text=st.text(st.characters(codec="gb18030"), max_size=60),
    encoding=st.sampled_from([e for e in ENCODINGS if e != "iso2022_jp"]),
    trickle=st.booleans(),
)
def test_any_text_is_read_as_utf8(text, encoding, trickle):
    kind = Trickle if trickle else io.BytesIO
    expected = text.removeprefix("\ufeff") if encoding == "utf-8-sig" else text
    file = as_utf8(kind(text.encode(encoding)), encoding, "f")
    found = file.read().decode()
    if encoding == "utf-8-sig":
        found, expected = found.removeprefix("\ufeff"), expected.removeprefix("\ufeff")
    assert found == expected


@given(st.binary(max_size=40), st.sampled_from(ENCODINGS[2:]))
def test_any_bytes_are_read_or_refused(data, encoding):
    """As Python reads a file that is opened with the encoding."""
    try:
        expected = io.TextIOWrapper(io.BytesIO(data), encoding, newline="").read()
        expected.encode()
    except UnicodeError:
        with pytest.raises(CorpusError, match=rf"^f:\d+: .*; allowed: {encoding} text$"):
            as_utf8(io.BytesIO(data), encoding, "f").read()
    else:
        assert as_utf8(Trickle(data), encoding, "f").read().decode() == expected


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (b"a b\nc \xff\n", "ascii", "f:2: byte 0xff is not ascii; allowed: ascii text"),
        ("我 O\n们 O\n".encode("gbk") + b"\xff O\n", "gbk", "f:3: byte 0xff is not gbk"),
        (b"a\rb\r\x81", "cp1252", "f:3: byte 0x81 is not cp1252"),
        ("a\nb".encode("utf-16")[:-1], "utf-16", "f:2: the text ends within a character; allowed"),
        (b"\n" * 3_000_000 + b"\x80", "ascii", "f:3000001: byte 0x80 is not ascii"),
    ],
)
def test_the_line_of_a_byte_that_is_not_in_the_encoding(data, encoding, message):
    with pytest.raises(CorpusError, match=f"^{message}"):
        as_utf8(io.BytesIO(data), encoding, "f").read()


@pytest.mark.parametrize("encoding", ["nonsense", "hex", "rot13", "a\0b", "", "é"])
def test_an_unknown_encoding_is_refused(encoding):
    with pytest.raises(ParameterError, match=r"unknown encoding .*; allowed: .*latin-1"):
        adaptag.TextFile("x", encoding)


def test_an_encoding_is_a_name_and_a_path_a_path():
    with pytest.raises(ParameterError, match=r"encoding is .*8.*; allowed: a name"):
        adaptag.read("x", encoding=8)
    for path in (5, None):
        with pytest.raises(ParameterError, match=r"path is .*; allowed: a path"):
            adaptag.TextFile(path, "utf-8")


def test_a_text_file_is_read_wherever_a_path_is(tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(TEXT.encode("latin-1")))
    file = adaptag.TextFile(path, "latin-1")
    plain = ColumnCorpus.from_bytes(TEXT.encode())
    for corpus in (ColumnCorpus.read(file), adaptag.read(path, encoding="latin-1")):
        assert corpus.text.tobytes() == plain.text.tobytes()
        np.testing.assert_array_equal(corpus.cells, plain.cells)
    assert [part.parse().n_tokens for part in column_parts(file, size=8) if part] == [2, 1]
    assert "".join(line for lines in read_lines(file) for line in lines) == TEXT
    assert read_bytes(file) == TEXT.encode()
    path.write_bytes(gzip.compress(CHINESE.encode("gbk")))
    words = SegmentedCorpus.read(adaptag.TextFile(str(path), "gbk")).words()
    assert words == [line.split() for line in CHINESE.splitlines()]


def test_training_and_scoring_in_an_encoding(tmp_path):
    plain, other = tmp_path / "plain", tmp_path / "other"
    plain.write_text(TEXT, encoding="utf-8")
    other.write_text(TEXT, encoding="latin-1")
    options = {"passes": 3, "rate": 0.1}
    expected = adaptag.train(plain, dev=plain, **options)
    trained = adaptag.train(other, dev=other, encoding="latin-1", **options)
    np.testing.assert_array_equal(trained.weights, expected.weights)
    file = adaptag.TextFile(other, "latin-1")
    assert trained.evaluate(file).score == expected.evaluate(plain).score
    assert adaptag.encode(other, encoding="latin-1").n_tokens == 3
    assert adaptag.evaluate_file(other, encoding="latin-1").tokens == 3


def test_files_that_are_open_for_text(tmp_path):
    path = tmp_path / "x"
    path.write_text(TEXT, encoding="latin-1")
    with path.open(encoding="latin-1") as file:
        assert adaptag.read(file).n_tokens == 3
    with (
        path.open(encoding="ascii") as file,
        pytest.raises(CorpusError, match=r"x:1: byte 0xe9 is"),
    ):
        adaptag.read(file)
    with (
        path.open(encoding="ascii", errors="surrogateescape") as file,
        pytest.raises(CorpusError, match="x:1: a lone surrogate"),
    ):
        adaptag.read(file)


def test_an_open_file_has_its_own_encoding():
    with pytest.raises(ParameterError, match="encoding is for paths; open the file with its"):
        adaptag.read(io.BytesIO(TEXT.encode("latin-1")), encoding="latin-1")


@pytest.mark.parametrize("given", [{"format": "jsonl"}, {"encoding": "latin-1"}])
def test_formats_and_encodings_are_those_of_files(tmp_path, given):
    sentences = [[("a", "X"), ("b", "Y")]]
    for use in (adaptag.train, adaptag.encode, adaptag.read):
        with pytest.raises(ParameterError, match=r"^\w+ is .*, but the data is in no file"):
            use(sentences, **given)
    path = tmp_path / "x"
    path.write_text('{"tokens": ["a", "b"], "tags": ["X", "Y"]}' if "format" in given else "a X\n")
    for data, dev in ((path, sentences), (sentences, path)):
        assert adaptag.train(data, dev=dev, passes=1, **given).labels[0] == "X"


def test_texts_with_spans_in_an_encoding(tmp_path):
    lines = tmp_path / "x.jsonl"
    lines.write_text('{"text": "Bär isst", "spans": [[0, 3, "X"]]}\n', encoding="utf-16")
    assert adaptag.read(lines, encoding="utf-16").n_tokens == 2
    folder = tmp_path / "brat"
    folder.mkdir()
    (folder / "a.txt").write_text("Bär isst", encoding="latin-1")
    (folder / "a.ann").write_text("T1\tX 0 3\tBär\n", encoding="latin-1")
    assert adaptag.read(folder, encoding="latin-1").n_tokens == 2
    (tmp_path / "x.spacy").write_bytes(b"")
    with pytest.raises(ParameterError, match="a DocBin is no text, so it has no encoding"):
        adaptag.read(tmp_path / "x.spacy", encoding="latin-1")


# ---- commands --------------------------------------------------------------------------------


@pytest.fixture
def files(program):
    Path("utf8.txt").write_text(TEXT, encoding="utf-8")
    Path("latin.txt").write_text(TEXT, encoding="latin-1")
    Path("words.txt").write_text(CHINESE, encoding="gbk")
    Path("raw.txt").write_text("我们看书\n", encoding="gbk")
    Path("documents.txt").write_text("gut\tschöner Film\nschlecht\töder Film\n", encoding="latin-1")
    return program


def ok(program, *arguments):
    """Run a command that must succeed."""
    done = program(*arguments)
    assert done.code == 0, done.err
    return done


def test_every_command_for_columns_reads_an_encoding(files):
    latin = "--encoding", "latin-1"
    ok(files, "train", "utf8.txt", "-m", "plain", "--passes", "2")
    ok(files, "train", "latin.txt", "-m", "m", "--dev", "latin.txt", "--passes", "2", *latin)
    tagged = ok(files, "tag", "utf8.txt", "-m", "m").out
    assert ok(files, "tag", "latin.txt", "-m", "m", *latin).out == tagged
    assert "Café" in ok(files, "tag", "latin.txt", "-m", "m", "--show", *latin).out
    ok(files, "evaluate", "latin.txt", "-m", "m", *latin)
    ok(files, "evaluate", "latin.txt", *latin)
    ok(files, "encode", "latin.txt", "-o", "d", *latin)
    ok(files, "learn", "m", "--stream", "latin.txt", *latin)
    ok(files, "train", "latin.txt", "--stream", "-m", "s", *latin)
    ok(files, "calibrate", "m", "--dev", "latin.txt", "-o", "c", *latin)
    ok(files, "compact", "m", "--dev", "latin.txt", "--within", "90", "-o", "small", *latin)
    ok(files, "clusters", "latin.txt", "-o", "paths", "--cutoff", "1", "--clusters", "2", *latin)
    assert "ßtraße" in Path("paths").read_text(encoding="utf-8")
    assert "Café" in ok(files, "render", "latin.txt", "-o", "-", *latin).out
    Path("iob").write_text("für I-X\nx I-X\n", encoding="latin-1")
    assert ok(files, "convert-labels", "iob", "--to", "iob2", *latin).out == "für B-X\nx I-X\n"
    Path("text").write_text("Straße für\n", encoding="latin-1")
    ok(files, "train", "utf8.txt", "-m", "words", "--columns", "0", "--passes", "2")
    assert "Straße" in ok(files, "tag", "--text", "text", "-m", "words", *latin).out


def test_texts_to_label_are_read_in_an_encoding(files):
    Path("text").write_text("Straße für\n", encoding="latin-1")
    with Store("p", create=True):
        pass
    options = "--import", "text", "--encoding", "latin-1", "--export", "out.jsonl"
    assert "text: 1 sentence added" in files("annotate", "p", *options).err
    with Store("p") as store:
        assert [one.text for one in store.sentences()] == ["Straße für"]


def test_segmenters_and_classifiers_read_an_encoding(files):
    gbk = "--encoding", "gbk"
    ok(files, "segment", "train", "words.txt", "--dev", "words.txt", "-m", "s", *gbk)
    assert ok(files, "segment", "cut", "raw.txt", "-m", "s", *gbk).out == "我们 看 书\n"
    ok(files, "segment", "evaluate", "words.txt", "-m", "s", *gbk)
    ok(files, "segment", "evaluate", "words.txt", "words.txt", "--words", "words.txt", *gbk)
    ok(files, "segment", "new-words", "raw.txt", "-m", "s", *gbk)
    latin = "--encoding", "latin-1"
    ok(files, "classify", "train", "documents.txt", "--dev", "documents.txt", "-m", "c", *latin)
    predicted = ok(files, "classify", "predict", "documents.txt", "-m", "c", *latin).out
    assert predicted == "gut\nschlecht\n"
    ok(files, "classify", "evaluate", "documents.txt", "-m", "c", *latin)


def test_tuning_and_comparing_read_an_encoding(files):
    pytest.importorskip("matplotlib")
    Path("many").write_text(TEXT * 4, encoding="latin-1")
    quick = "--rate", "0.1", "--sigma", "5", "--passes", "1", "--folds", "2", "--jobs", "1"
    said = ok(files, "tune", "many", "--encoding", "latin-1", "--columns", "0,1", *quick).out
    assert "--columns 0,1 --encoding latin-1" in said.splitlines()[-1]
    compare = "compare", "many", "many", "--encoding", "latin-1", "--seeds", "1", "--passes", "1"
    assert "adf, seed 1: test score " in ok(files, *compare, "-a", "adf").err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train latin.txt -m m", "latin.txt:1: invalid UTF-8 at byte 4 of the line; allowed: UTF-8 "
         "text, or text in the encoding that --encoding names"),
        ("train latin.txt -m m --encoding ascii", "latin.txt:1: byte 0xe9 is not ascii; allowed: "
         "ascii text"),
        ("segment train words.txt -m m --encoding ascii", "words.txt:1: byte 0xd0 is not ascii"),
        ("classify train documents.txt -m m", "documents.txt:1: invalid UTF-8; allowed: UTF-8 "
         "text, or text in the encoding that --encoding names"),
        ("train latin.txt -m m --encoding latin", ""),
        ("train latin.txt -m m --encoding latin-x", "unknown encoding 'latin-x'; allowed: "),
        ("train latin.txt -m m --encoding latin-1 --stream --follow", "--encoding cannot be comb"),
        ("train latin.txt -m m --encoding latin-1 --workers 2", "--encoding cannot be combined "),
        ("tag latin.txt -m m --encoding latin-1 --cluster local -o o", "--text, --json-lines, "),
        ("segment cut raw.txt -m m --encoding gbk --cluster local -o o", "--search, --tagger, "),
    ],
)  # fmt: skip
def test_wrong_encodings_are_located(files, arguments, message):
    done = files(*arguments.split())
    if not message:
        assert done.code == 0
        return
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith(f"adaptag: {message}")
    assert not Path("m").exists()
