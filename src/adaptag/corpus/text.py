"""Plain text of any length, read line by line."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from adaptag.errors import CorpusError
from adaptag.storage.files import open_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adaptag.storage.files import Source

__all__ = ["read_lines"]

BLOCK = 1 << 20
LONG = 1 << 20  # a line with more characters is given in pieces
PAUSES = "。！？；!?;，,、 \t\u3000"  # after which it is broken, if possible


def read_lines(path: Source, size: int = BLOCK) -> Iterator[list[str]]:
    """Read the lines of a UTF-8 file, some at a time, with their line ends.

    A line of more than a million characters comes in pieces, all but the last without a line end,
    so that memory is bounded whatever the file. ``.gz``, ``.xz`` and ``-`` are read as elsewhere.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    pending, number = "", 1
    with open_bytes(path) as file:
        read = getattr(file, "read1", file.read)  # what a pipe has now, not a whole block
        while True:
            block = read(size)
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                line = number + bytes(error.object[: error.start]).count(b"\n")
                raise CorpusError(
                    f"{shown(path)}:{line}: invalid UTF-8; allowed: UTF-8 text"
                ) from None
            pending += text
            end = len(pending) if not block else pending.rfind("\n") + 1
            if end == 0 and len(pending) > LONG:
                end = 1 + max(pending.rfind(pause) for pause in PAUSES) or len(pending)
            if end:
                lines = pending[:end].split("\n")
                number += len(lines) - 1
                last = lines.pop()
                yield [f"{line}\n" for line in lines] + [last] * bool(last)
                pending = pending[end:]
            if not block:
                return
