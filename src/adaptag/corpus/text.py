"""Plain text of any length, read in parts of whole lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptag.errors import CorpusError
from adaptag.storage.files import is_at_hand, is_regular, open_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from adaptag.storage.files import Source

__all__ = [
    "LineEnds",
    "TextPart",
    "decoded",
    "line_parts",
    "read_lines",
    "text_parts",
    "unix_line_ends",
]

BLOCK = 1 << 20
LONG = 3 << 20  # a line with more bytes is given in pieces
PAUSES = [c.encode() for c in "。！？；!?;，,、 \t\u3000"]  # after which it is broken, if possible
MARK = "\ufeff".encode()


def unix_line_ends(data: bytes) -> bytes:
    """The text with line feeds, where all line ends are carriage returns alone."""
    if b"\r" not in data or b"\n" in data:
        return data
    return data.replace(b"\r", b"\n")


def decoded(data: bytes, name: str, line: int = 1, *, allowed: str = "UTF-8 text") -> str:
    """Decode UTF-8.

    Args:
        data: The bytes.
        name: The name of the file, for messages.
        line: The number of the first line.
        allowed: What the message says is allowed.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        raise CorpusError(f"{name}:{line}: invalid UTF-8; allowed: {allowed}") from None


class LineEnds:
    """Does what ``unix_line_ends`` does for a text that comes in blocks: the first one decides.

    Args:
        begins: Whether the first block is that of the file. What stands in its middle comes after a
            line feed.
    """

    def __init__(self, *, begins: bool = True) -> None:
        self._replaces: bool | None = None if begins else False  # None: not known yet
        self._held = b""  # a \r that the next block may complete

    def __call__(self, block: bytes) -> bytes:
        """The next block; an empty one is the end."""
        last, block, self._held = not block, self._held + block, b""
        if self._replaces is None:
            if b"\n" in block:
                self._replaces = False
            elif b"\r" in (block if last else block[:-1]):
                self._replaces = True
            elif block.endswith(b"\r"):
                self._held, block = b"\r", block[:-1]
        return block.replace(b"\r", b"\n") if self._replaces else block


@dataclass(frozen=True)
class TextPart:
    """Lines of a text, or a piece of a long line.

    Attributes:
        name: The name of the file, for messages.
        data: The bytes.
        line: The number of the first line.
        continues: Whether the part begins within a line.
    """

    name: str
    data: bytes
    line: int
    continues: bool

    def lines(self) -> list[str]:
        """The lines, with their line ends; raise where they are not UTF-8."""
        *lines, last = decoded(self.data, self.name, self.line).split("\n")
        return [f"{line}\n" for line in lines] + [last] * bool(last)

    def joined(self, words: Iterable[Iterable[str]], separator: str) -> bytes:
        """Words of each line, with separators between them, and the ends of the lines."""
        out: list[str] = []
        for line, words_of_line in zip(self.lines(), words, strict=True):
            before = separator if self.continues and not out else ""
            text = separator.join(words_of_line)
            out.append((before + text if text else "") + line[len(line.rstrip("\r\n")) :])
        return "".join(out).encode()


def text_parts(path: Source, size: int = BLOCK, *, line: int = 1) -> Iterator[TextPart | None]:
    """Read a text of any length in parts of about ``size`` bytes, whole lines each.

    A line of more than three million bytes comes in pieces, so that memory is bounded whatever the
    file. A pipe is read as it comes in: None stands before a part that may be long in coming.
    ``.gz``, ``.xz`` and ``-`` are read as elsewhere; a byte-order mark is left out, and carriage
    returns are line ends where there are no others. ``line`` is the number of the first line, of an
    open file that is read from its middle.
    """
    pending, continues, begins = b"", False, line == 1
    line_ends = LineEnds(begins=begins)
    with open_bytes(path) as file:
        regular = is_regular(file)
        read = file.read if regular else getattr(file, "read1", file.read)
        while True:
            if not regular and not is_at_hand(file):
                yield None
            block = read(size)
            pending += line_ends(block)
            end = pending.rfind(b"\n") + 1 if block else len(pending)
            if end == 0 and len(pending) > LONG:
                end = _end_of_piece(pending)
            if end:
                data = pending[:end].removeprefix(MARK) if begins else pending[:end]
                if data:
                    yield TextPart(shown(path), data, line, continues)
                pending, begins = pending[end:], False
                line += data.count(b"\n")
                continues = not data.endswith(b"\n")
            if not block:
                return


def read_lines(path: Source, size: int = BLOCK, *, line: int = 1) -> Iterator[list[str]]:
    """Read the lines of a UTF-8 file, some at a time, with their line ends.

    The pieces of a long line are lines without an end, but for the last one. ``line`` is the number
    of the first line.
    """
    for part in text_parts(path, size, line=line):
        if part is not None:
            yield part.lines()


def line_parts(path: Source, line: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Read whole lines, some at a time, each time with the number of the first of them."""
    pieces: list[str] = []  # pieces of one long line
    number = line
    for lines in read_lines(path, line=line):
        pieces.append(lines[0])
        if not lines[0].endswith("\n"):
            continue
        lines[0], pieces = "".join(pieces), []
        if not lines[-1].endswith("\n"):
            pieces.append(lines.pop())
        yield number, lines
        number += len(lines)
    if pieces:
        yield number, ["".join(pieces)]


def _end_of_piece(line: bytes) -> int:
    """Where to break a long line: behind the last pause, or else before the last character."""
    ends = [at + len(pause) for pause in PAUSES if (at := line.rfind(pause)) >= 0]
    if ends:
        return max(ends)
    end = len(line) - 1
    while end > 0 and line[end] & 0xC0 == 0x80:
        end -= 1
    return end or len(line)
