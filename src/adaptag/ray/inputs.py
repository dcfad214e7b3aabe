"""Files in blocks that any worker can read by itself: every sentence is in exactly one of them.

A text file is cut at multiples of a size, without looking into it. A block begins at the first
sentence, or line, that begins at its first byte or later, and ends where the next block begins, as
splits of Hadoop do. Compressed files are one block each; a block of a Parquet file is some of its
row groups.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from adaptag.errors import FileError
from adaptag.ray.filesystems import AccessError, open_file, reason_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adaptag.ray.filesystems import InputFile

__all__ = [
    "BLOCK",
    "JSON",
    "LINES",
    "PARQUET",
    "SENTENCES",
    "TEXT",
    "Block",
    "format_of",
    "lines_before",
    "open_block",
    "read_block",
    "split_files",
    "suffix_of",
]

BLOCK = 32 << 20  # bytes

TEXT, JSON, PARQUET = "text", "json", "parquet"
FORMATS = {".jsonl": JSON, ".json": JSON, ".ndjson": JSON, ".parquet": PARQUET}

LINES = (b"\n",)  # what comes before a line,
SENTENCES = (b"\n\n", b"\n\r\n")  # and before a sentence
Boundary = tuple[bytes, ...]

WINDOW = 1 << 16
CHUNK = 1 << 20
COMPRESSED: dict[str, Any] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".xz": lzma.LZMAFile,
    ".bz2": bz2.BZ2File,
    ".zst": lambda file: pa.CompressedInputStream(file, "zstd"),
}


@dataclass(frozen=True)
class Block:
    """A part of a file.

    Attributes:
        path: The absolute path of the file, or its URI.
        name: The path as it was given, for messages.
        begin: The first byte, before it is moved to the beginning of a sentence or a line. In a
            Parquet file, the first row group.
        end: The byte, or row group, that is the first of the next block.
        size: The bytes that are read for it, about.
    """

    path: str
    name: str
    begin: int
    end: int
    size: int


def suffix_of(path: str) -> str:
    """The ending of the name of a file without that of its compression, such as ``.jsonl``."""
    name = PurePosixPath(path.partition("?")[0] if "://" in path else path)
    return PurePosixPath(name.stem if name.suffix in COMPRESSED else name.name).suffix


def format_of(path: str) -> str:
    """The format of a file by its ending: ``json`` (lines), ``parquet``, or else ``text``."""
    return FORMATS.get(suffix_of(path), TEXT)


def _compression(path: str) -> str | None:
    suffix = PurePosixPath(path.partition("?")[0] if "://" in path else path).suffix
    return suffix if suffix in COMPRESSED else None


def split_files(files: Sequence[InputFile], size: int = BLOCK) -> list[Block]:
    """Cut files into blocks of about ``size`` bytes, in their order; empty files have none."""
    blocks: list[Block] = []
    for file in files:
        if format_of(file.path) == PARQUET:
            blocks += _row_groups(file, size)
        elif _compression(file.path):
            blocks += [Block(file.path, file.name, 0, file.size, file.size)] * (file.size > 0)
        else:
            ends = [*range(size, file.size, size), file.size]
            blocks += [
                Block(file.path, file.name, begin, end, end - begin)
                for begin, end in zip([0, *ends], ends, strict=False)
                if begin < end
            ]
    return blocks


def _row_groups(file: InputFile, size: int) -> list[Block]:
    """Blocks of whole row groups, of about ``size`` bytes each as they are in memory."""
    import pyarrow.parquet as pq

    with open_file(file.path, file.name) as opened:
        try:
            metadata = pq.ParquetFile(opened).metadata
        except (pa.ArrowException, OSError) as error:
            raise FileError(f"{file.name}: not a Parquet file: {error}") from None
    sizes = [metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups)]
    blocks, begin = [], 0
    for end in range(1, len(sizes) + 1):
        if end == len(sizes) or sum(sizes[begin : end + 1]) > size:
            share = file.size * sum(sizes[begin:end]) // max(1, sum(sizes))
            blocks.append(Block(file.path, file.name, begin, end, share))
            begin = end
    return blocks


def open_block(block: Block, boundary: Boundary) -> io.BufferedReader:
    """Open a block of a text file: whole sentences, or lines, from its beginning to its end."""
    file = open_file(block.path, block.name)
    compression = _compression(block.path)
    if compression:
        return io.BufferedReader(_Part(COMPRESSED[compression](file), block.name), WINDOW)
    begin = _boundary(file, block.begin, boundary)
    end = _boundary(file, max(begin, block.end), boundary)
    file.seek(begin)
    return io.BufferedReader(_Part(file, block.name, end - begin), WINDOW)


def read_block(block: Block, boundary: Boundary) -> bytes:
    """Read a block of a text file."""
    with open_block(block, boundary) as file:
        return file.read()


def lines_before(block: Block, boundary: Boundary) -> int:
    """Count the lines of the file before a block; only errors need that."""
    if block.begin == 0 or _compression(block.path):
        return 0
    with open_file(block.path, block.name) as file:
        left = _boundary(file, block.begin, boundary)
        file.seek(0)
        lines = 0
        while left > 0 and (data := file.read(min(CHUNK, left))):
            lines += int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))
            left -= len(data)
    return lines


def _boundary(file: Any, position: int, boundary: Boundary) -> int:
    """The first place at a position or behind it where a sentence or a line may begin."""
    size = int(file.size())
    if position <= 0 or position >= size:
        return min(max(position, 0), size)
    longest = max(len(mark) for mark in boundary)
    at = max(0, position - longest)  # of the first byte of the window
    file.seek(at)
    window = b""
    while data := file.read(WINDOW):
        window += data
        ends: list[int] = [
            at + found + len(mark)
            for mark in boundary
            if (found := window.find(mark, max(0, position - len(mark) - at))) >= 0
        ]
        if ends:
            return min(ends)
        kept = min(len(window), longest - 1)
        at += len(window) - kept
        window = window[len(window) - kept :]
    return size


class _Part(io.RawIOBase):
    """A part of an open file, or all of it, as a file with a name."""

    def __init__(self, file: Any, name: str, size: int | None = None) -> None:
        self._file = file
        self._left = size
        self.name = name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        if self._left is not None:
            view = view[: self._left]
            return self._read(view) if len(view) else 0
        return int(self._file.readinto(view))

    def _read(self, view: memoryview) -> int:
        assert self._left is not None
        try:
            n = int(self._file.readinto(view))
        except OSError as error:
            raise AccessError(f"{self.name}: cannot read: {reason_of(error)}") from None
        if n == 0:
            raise AccessError(f"{self.name}: the file became shorter while it was read")
        self._left -= n
        return n

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
