"""Files in blocks: every sentence and every line is in exactly one of them."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow", reason="a cluster needs PyArrow")

import pyarrow.parquet as pq  # noqa: E402

from adaptag.corpus.columns import ColumnCorpus  # noqa: E402
from adaptag.errors import FileError, MissingFileError, ParameterError  # noqa: E402
from adaptag.ray import inputs  # noqa: E402
from adaptag.ray.filesystems import Folder, InputFile, find_inputs  # noqa: E402
from adaptag.ray.inputs import (  # noqa: E402
    LINES,
    SENTENCES,
    Block,
    format_of,
    lines_before,
    open_block,
    read_block,
    split_files,
    suffix_of,
)

PIECES = ["a", "word", "é", "\n", "\n\n", "\r\n", "\r\n\r\n", "\n\r\n", " ", "\n\n\n"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join).map(str.encode)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("inputs") / "x.txt"


def written(path, data):
    path.write_bytes(data)
    return find_inputs([str(path)])


@given(text=TEXTS, size=st.integers(1, 30), window=st.integers(1, 8))
def test_blocks_are_the_file_whatever_their_size(path, text, size, window):
    files = written(path, text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "WINDOW", window)
        for boundary in (LINES, SENTENCES):
            parts = [read_block(block, boundary) for block in split_files(files, size)]
            assert b"".join(parts) == text
            before = b""
            for part in filter(None, parts):
                assert not before or before.endswith(boundary)
                before += part


@given(text=TEXTS, size=st.integers(1, 30))
def test_sentences_of_blocks_are_those_of_the_file(path, text, size):
    files = written(path, text)

    def sentences(data):
        corpus = ColumnCorpus.from_bytes(data)
        cells = [bytes(corpus.text[a:b]) for (a, b) in corpus.cells.reshape(-1, 2).tolist()]
        return [cells[a:b] for a, b in zip(corpus.sentences, corpus.sentences[1:], strict=False)]

    text = text.replace(b" ", b"_")
    path.write_bytes(text)
    blocks = [read_block(block, SENTENCES) for block in split_files(files, size)]
    assert [s for data in blocks for s in sentences(data)] == sentences(text)


@given(text=TEXTS, size=st.integers(1, 30))
def test_lines_before_a_block(path, text, size):
    for boundary in (LINES, SENTENCES):
        lines = 0
        for block in split_files(written(path, text), size):
            assert lines_before(block, boundary) == lines
            lines += read_block(block, boundary).count(b"\n")


@pytest.mark.parametrize(
    ("ending", "compress"),
    [
        (".gz", gzip.compress),
        (".gz", lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:])),
        (".xz", lzma.compress),
        (".bz2", bz2.compress),
        (".zst", lambda data: pa.compress(data, codec="zstd", asbytes=True)),
    ],
)
def test_compressed_files_are_one_block(tmp_path, ending, compress):
    text = b"a\n\nb\n\n" * 1000
    file = tmp_path / f"x.txt{ending}"
    file.write_bytes(compress(text))
    (block,) = split_files(find_inputs([str(file)]), 10)
    assert read_block(block, SENTENCES) == text
    assert lines_before(block, SENTENCES) == 0
    with open_block(block, LINES) as opened:
        assert opened.name == str(file)


def test_row_groups_of_parquet(tmp_path):
    path = tmp_path / "x.parquet"
    table = pa.table({"text": [f"{k:04d}" * 50 for k in range(100)]})
    pq.write_table(table, path, row_group_size=10, compression=None, use_dictionary=False)
    files = find_inputs([str(path)])
    (whole,) = split_files(files)
    assert (whole.begin, whole.end, whole.size) == (0, 10, files[0].size)
    assert [(b.begin, b.end) for b in split_files(files, 1)] == [(k, k + 1) for k in range(10)]
    blocks = split_files(files, 5000)
    assert 1 < len(blocks) < 10
    assert [k for b in blocks for k in range(b.begin, b.end)] == list(range(10))
    assert split_files([]) == []
    (tmp_path / "y.parquet").write_bytes(b"no Parquet")
    with pytest.raises(FileError, match=r"y\.parquet: not a Parquet file: "):
        split_files(find_inputs([str(tmp_path / "y.parquet")]))


def test_formats_and_endings():
    names = ["x.conll", "x", "a.b/x", "x.jsonl.gz", "s3://b/x.parquet?region=a.b", "x.zst"]
    assert [suffix_of(name) for name in names] == [".conll", "", "", ".jsonl", ".parquet", ""]
    assert [format_of(name) for name in names[2:5]] == ["text", "json", "parquet"]


def test_inputs_are_files_folders_and_patterns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("d/b.txt", "d/a.txt", "d/e/c.txt", "d/.hidden", "d/_manifest.jsonl", "x[1].txt"):
        Path(name).parent.mkdir(exist_ok=True, parents=True)
        Path(name).write_text(name)

    def names(*given):
        return [file.name for file in find_inputs(given)]

    assert names("d/b.txt") == ["d/b.txt"]
    assert names("d") == names("d/") == ["d/a.txt", "d/b.txt", "d/e/c.txt"]
    assert names("d/b.txt", "d", "d/../d/a.txt")[:3] == ["d/b.txt", "d/a.txt", "d/e/c.txt"]
    assert names("d/*.txt") == ["d/a.txt", "d/b.txt"]
    assert names("d/**/*.txt") == ["d/a.txt", "d/b.txt", "d/e/c.txt"]
    assert names("x[1].txt") == ["x[1].txt"]
    uri = f"file://{tmp_path}/d"
    assert names(uri) == [f"{uri}/{name}" for name in ("a.txt", "b.txt", "e/c.txt")]
    assert names(f"{uri}/*.txt") == [f"{uri}/a.txt", f"{uri}/b.txt"]
    assert names(f"{uri}/**/c.*") == [f"{uri}/e/c.txt"]
    (file,) = find_inputs(["d/b.txt"])
    stat = Path("d/b.txt").stat()
    assert file == InputFile(str(tmp_path / "d/b.txt"), "d/b.txt", 7, stat.st_mtime_ns)
    assert read_block(split_files(find_inputs([f"{uri}/a.txt"]))[0], LINES) == b"d/a.txt"


def test_inputs_that_are_not_there(tmp_path):
    for wanted, message in {
        "missing.txt": "missing.txt: cannot read: No such file or directory",
        "d/*.txt": "d/*.txt: no file matches the pattern",
    }.items():
        with pytest.raises(MissingFileError) as raised:
            find_inputs([wanted])
        assert str(raised.value) == message
    with pytest.raises(ParameterError, match="standard input cannot be read by a cluster"):
        find_inputs(["-"])
    with pytest.raises(FileError, match=r"foo://x: Unrecognized filesystem"):
        find_inputs(["foo://x"])
    gone = Block(str(tmp_path / "gone"), "gone", 0, 5, 5)
    with pytest.raises(FileError, match=r"gone: cannot read: there is no such file on a node of"):
        open_block(gone, LINES)


def test_a_file_that_becomes_shorter(tmp_path):
    path = tmp_path / "x"
    (block,) = split_files(written(path, b"a\n" * 2000))
    file = open_block(block, LINES)
    path.write_bytes(b"a\n")
    with file, pytest.raises(ValueError, match=r"x: the file became shorter while it was read"):
        file.read()


def test_a_folder_writes_files_as_a_whole(tmp_path):
    folder = Folder.of(str(tmp_path / "a" / "b"))
    folder.create()
    assert folder.sizes() == {}
    with folder.write("x", ".x.1") as out:
        out.write(b"abc")
        assert set(folder.sizes()) == {".x.1"}
    assert folder.sizes() == {"x": 3}
    assert (folder.read("x"), folder.size("x"), folder.size("y")) == (b"abc", 3, None)
    with pytest.raises(TypeError), folder.write("x", ".x.2") as out:
        out.write(0)
    assert folder.read("x") == b"abc"
    for name in (".x.2", ".x.2"):
        folder.remove(name)
    assert folder.sizes() == {"x": 3}
    with pytest.raises(FileError, match=r"x: a file; with a cluster --output is a folder"):
        Folder.of(str(tmp_path / "a" / "b" / "x")).create()
    with pytest.raises(FileError, match=r"nowhere/x: cannot write: No such file"):
        Folder.of(str(tmp_path / "nowhere")).touch("x")
