"""Files as bytes: plain, compressed, or standard input; and writing that loses nothing."""

from __future__ import annotations

import contextlib
import errno
import gzip
import lzma
import os
import sys
import tempfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from adaptag.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    PathLike = str | os.PathLike[str]

__all__ = ["check_writable", "open_bytes", "read_bytes", "replace_file", "shown"]

STDIN = "-"
OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}


@contextlib.contextmanager
def open_bytes(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a file to read bytes: by its ending ``.gz`` or ``.xz``, or ``-`` for standard input."""
    try:
        if str(path) == STDIN:
            yield sys.stdin.buffer
        else:
            opener = OPENERS.get(Path(path).suffix, open)
            with opener(path, "rb") as file:
                yield file
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise FileError(f"{shown(path)}: damaged compressed file: {error}") from None
    except OSError as error:
        raise FileError(f"{shown(path)}: cannot read: {error.strerror or error}") from None


def shown(path: PathLike) -> str:
    """Name a path in a message, also where it is no valid UTF-8."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def read_bytes(path: PathLike) -> bytes:
    """Read a whole file."""
    with open_bytes(path) as file:
        return file.read()


@contextlib.contextmanager
def replace_file(path: PathLike) -> Iterator[IO[bytes]]:
    """Write a file beside its place and rename it there when all is written.

    What is no regular file, such as a pipe or a device, is written in place.
    """
    target = Path(path).resolve()
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as special:
                yield special
            return
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
            umask = os.umask(0)
            os.umask(umask)
            Path(name).chmod(0o666 & ~umask)  # mkstemp's files are for their owner only
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FileError(f"{shown(path)}: cannot write: {error.strerror or error}") from None


def check_writable(path: PathLike) -> None:
    """Raise now where ``replace_file`` would raise after long work."""
    target = Path(path).resolve()
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise FileError(f"{shown(path)}: cannot write: {error.strerror or error}") from None
