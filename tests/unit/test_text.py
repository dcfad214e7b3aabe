from __future__ import annotations

import gzip
import lzma
import os
import sys
from io import BytesIO, TextIOWrapper

import pytest

from adaptag.corpus import text as module
from adaptag.corpus.text import read_lines, text_parts
from adaptag.errors import CorpusError, FileError

TEXTS = {
    "lines": "我们在北京。\n他们\n\n学习汉语\n",
    "no end": "我们\n在",
    "CRLF": "我们\r\n在\r\n\r\n北京\r",
    "empty": "",
    "line end": "\n",
    "odd spaces": " \t我\u2028们\x85在\x0b北\x0c京\u3000\n\n \n",
    "wide": "😀𠀀é\n𠀁\n",
    "NUL": "\0我\n\0",
}
SIZES = [1, 2, 3, 4, 7, 64, 1 << 20]
sizes = pytest.mark.parametrize("size", SIZES)


def written(tmp_path, data):
    path = tmp_path / "text"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def lines_of(path, *size):
    return [line for lines in read_lines(path, *size) for line in lines]


@sizes
@pytest.mark.parametrize("text", TEXTS)
def test_lines_do_not_depend_on_blocks(tmp_path, text, size):
    path = written(tmp_path, TEXTS[text])
    parts = list(read_lines(path, size))
    assert all(parts)  # no part is empty
    found = [line for lines in parts for line in lines]
    pieces = TEXTS[text].split("\n")
    assert found == [f"{line}\n" for line in pieces[:-1]] + [pieces[-1]] * bool(pieces[-1])
    assert "".join(found) == TEXTS[text]


@sizes
def test_a_byte_order_mark_is_no_text(tmp_path, size):
    path = written(tmp_path, "\ufeff我\n\ufeff们\n")
    assert lines_of(path, size) == ["我\n", "\ufeff们\n"]


@sizes
@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"\xff\n", 1),
        ("我们\n在\n".encode() + b"\xe6\x88\n", 3),
        ("我们\n\n\n在".encode() + b"\x80", 4),
        ("我们\n在\n".encode() + b"\xe6\x88", 3),  # cut off
        (b"\xef\xbb\xbf\n\n\xc0\x80", 3),
        (b"\xed\xa0\x80", 1),  # a surrogate
    ],
)
def test_invalid_utf_8_is_told_with_its_line(tmp_path, data, line, size):
    path = written(tmp_path, data)
    with pytest.raises(CorpusError) as caught:
        lines_of(path, size)
    assert str(caught.value) == f"{path}:{line}: invalid UTF-8; allowed: UTF-8 text"


@pytest.mark.parametrize("size", [1, 5, 30])
@pytest.mark.parametrize(
    "text",
    [
        "我们在北京学习汉语他们在上海学习英语" * 5 + "\n短\n" + "长" * 60,
        "我们在北京，学习汉语。他们、在上海学习！英语；" * 4 + "\n",
        "word by word " * 9 + "\n\n" + "字\t字　" * 20,
    ],
)
def test_long_lines_come_in_pieces(tmp_path, monkeypatch, text, size):
    monkeypatch.setattr(module, "LONG", 3 * 16)
    path = written(tmp_path, text)
    found = lines_of(path, size)
    assert "".join(found) == text
    assert max(map(len, found)) <= 16 + 64
    assert any("\n" not in line for line in found[:-1])
    assert all(line.count("\n") <= 1 and "\n" not in line[:-1] for line in found)


@pytest.mark.parametrize("size", [1, 5, 64])
def test_lines_that_are_not_long_stay_whole(tmp_path, monkeypatch, size):
    monkeypatch.setattr(module, "LONG", 3 * 12)
    lines = ["一二三四五六七八九十，\n"] * 20
    assert lines_of(written(tmp_path, "".join(lines)), size) == lines


def test_long_lines_are_broken_behind_pauses(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LONG", 3 * 8)
    text = "一二三四，五六七。八九十甲乙丙丁，戊己庚辛\n"
    found = lines_of(written(tmp_path, text), 3)
    assert "".join(found) == text
    assert found[0] == "一二三四，五六七。"
    assert all(piece[-1] in "，。\n" for piece in found)


def test_a_line_without_pauses_is_broken_anywhere(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LONG", 3 * 8)
    found = lines_of(written(tmp_path, "字" * 100), 6)
    assert "".join(found) == "字" * 100
    assert len(found) > 5


@pytest.mark.parametrize("place", [2, 3, 4])
def test_errors_behind_pieces_have_the_right_line(tmp_path, monkeypatch, place):
    monkeypatch.setattr(module, "LONG", 4)
    lines = ["字" * 50] * 4
    data = ["\n".join(lines[: place - 1]).encode(), b"\n", "字，字".encode(), b"\xff\n"]
    path = written(tmp_path, b"".join(data))
    with pytest.raises(CorpusError, match=f":{place}: invalid UTF-8"):
        lines_of(path, 3)


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_compressed_files(tmp_path, ending, pack, size):
    path = tmp_path / f"text{ending}"
    path.write_bytes(pack(TEXTS["lines"].encode()))
    assert "".join(lines_of(path, size)) == TEXTS["lines"]
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(FileError, match="damaged compressed file"):
        lines_of(path)


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(TEXTS["CRLF"].encode())))
    assert "".join(lines_of("-")) == TEXTS["CRLF"]


def test_a_pipe_is_read_as_it_comes(monkeypatch):
    out, into = os.pipe()
    with open(out, encoding="utf-8") as stdin, open(into, "wb", buffering=0) as writer:
        monkeypatch.setattr(sys, "stdin", stdin)
        parts = text_parts("-")
        for text in ("我\n", "们\n在", "这\n"):
            assert next(parts) is None  # what comes next may be long in coming
            writer.write(text.encode())
            assert next(parts).lines() == [
                f"{'在' * text.startswith('这')}{text.partition(chr(10))[0]}\n"
            ]
        writer.close()
        assert list(parts) == []


@sizes
@pytest.mark.parametrize("text", TEXTS)
def test_parts_are_whole_lines_with_their_numbers(tmp_path, text, size):
    line, before = 1, b"\n"
    for part in text_parts(written(tmp_path, TEXTS[text]), size):
        assert (part.line, part.continues) == (line, not before.endswith(b"\n"))
        line, before = line + part.data.count(b"\n"), part.data
