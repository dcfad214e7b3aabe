"""Text files in encodings other than UTF-8: read as the UTF-8 text that all readers take."""

from __future__ import annotations

import codecs
import io
import os
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, NoReturn

from adaptag.errors import CorpusError, ParameterError, described

if TYPE_CHECKING:
    from adaptag.storage.files import PathLike

__all__ = ["TextFile", "as_utf8", "utf8_of", "with_encoding"]

EXAMPLES = "utf-8, latin-1, cp1252, gbk, gb18030, big5, shift_jis, euc-kr, utf-16"
BLOCK = 1 << 20  # bytes that are decoded at a time


@dataclass(frozen=True)
class TextFile(os.PathLike[str]):
    """The path of a text file together with its encoding.

    It can be given wherever the path of a text file can: column files, texts, documents, and data
    to train on, to score on or to tag.

    Attributes:
        path: The path; ``.gz``, ``.xz`` and ``-`` as for other files.
        encoding: The name of a text encoding of Python, such as ``latin-1``, ``gbk`` or ``utf-16``.

    Examples:
        >>> import adaptag
        >>> adaptag.TextFile("train.txt", encoding="gbk")
        TextFile(path='train.txt', encoding='gbk')
    """

    path: PathLike
    encoding: str

    def __post_init__(self) -> None:
        """Raise where the path or the encoding is none."""
        if not isinstance(self.path, (str, os.PathLike)):
            raise ParameterError(f"path is {described(self.path)}; allowed: a path")
        if not isinstance(self.encoding, str):
            raise ParameterError(f"encoding is {described(self.encoding)}; allowed: a name")
        try:
            "a".encode(self.encoding)
            codecs.getincrementaldecoder(self.encoding)
        except (LookupError, ValueError):  # of names that are none, and of codecs without text
            raise ParameterError(
                f"unknown encoding {self.encoding!r}; allowed: the text encodings of Python, such "
                f"as {EXAMPLES}"
            ) from None

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return str(self.path)


def with_encoding(data: Any, encoding: str | None) -> Any:
    """The data, where it is a path as one of a file in this encoding; None leaves all as it is."""
    if encoding is not None and callable(getattr(data, "read", None)):
        raise ParameterError("encoding is for paths; open the file with its encoding instead")
    if encoding is None or isinstance(data, TextFile) or not isinstance(data, (str, os.PathLike)):
        return data
    return TextFile(data, encoding)


def as_utf8(file: IO[bytes], encoding: str, name: str) -> IO[bytes]:
    """A file of text in an encoding, as a file of UTF-8 text; ``name`` is for messages."""
    if codecs.lookup(encoding).name == "utf-8":
        return file
    return io.BufferedReader(_Decoded(file, encoding, name), BLOCK)


def utf8_of(file: IO[str], name: str) -> bytes:
    """All that is left of a file that is open for text; raise where it is not in its encoding."""
    try:
        return file.read().encode()
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise _undecodable(
            name, line, error.object[error.start : error.end], error.encoding
        ) from None
    except UnicodeEncodeError as error:
        line = error.object.count("\n", 0, error.start) + 1
        raise CorpusError(f"{name}:{line}: a lone surrogate; allowed: Unicode text") from None


class _Decoded(io.RawIOBase):
    """Decodes a file, block by block, and gives the text as UTF-8."""

    def __init__(self, file: IO[bytes], encoding: str, name: str) -> None:
        self._file = file
        self._read = getattr(file, "read1", file.read)  # does not wait for a whole block
        self._encoding, self._name = encoding, name
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._pending = b""
        self._line_feeds = self._returns = 0  # in what was decoded

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def readinto(self, buffer: Any) -> int:
        while not self._pending:
            block = self._read(BLOCK)
            self._pending = self._decoded(block)
            if not block:
                break
        n = min(len(buffer), len(self._pending))
        buffer[:n], self._pending = self._pending[:n], self._pending[n:]
        return n

    def _decoded(self, block: bytes) -> bytes:
        state = self._decoder.getstate()
        try:
            text = self._decoder.decode(block, final=not block)
            data = text.encode()
        except UnicodeError:
            self._decoder.setstate(state)
            self._raise_at(block)
        self._count(text)
        return data

    def _count(self, text: str) -> None:
        self._line_feeds += text.count("\n")
        self._returns += text.count("\r")

    def _raise_at(self, block: bytes) -> NoReturn:
        """Decode again, byte by byte, to the one that cannot be, and raise with its line."""
        found = b""
        try:
            for at in range(len(block)):
                found = block[at : at + 1]
                text = self._decoder.decode(found)
                text.encode()
                self._count(text)
            found = b""
        except UnicodeDecodeError as error:
            found = error.object[error.start : error.end]
        except UnicodeError:
            pass
        line = (self._line_feeds or self._returns) + 1
        raise _undecodable(self._name, line, found, self._encoding)


def _undecodable(name: str, line: int, data: bytes, encoding: str) -> CorpusError:
    found = "the text ends within a character"
    if data:
        found = f"byte{'s' * (len(data) > 1)} {' '.join(f'0x{byte:02x}' for byte in data)}"
        found += f" {'are' if len(data) > 1 else 'is'} not {encoding}"
    return CorpusError(f"{name}:{line}: {found}; allowed: {encoding} text")
