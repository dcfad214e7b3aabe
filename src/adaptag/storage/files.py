"""Files as bytes: plain, compressed, or standard input; and writing that loses nothing."""

from __future__ import annotations

import contextlib
import gzip
import lzma
import os
import sys
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from adaptag.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    PathLike = str | os.PathLike[str]

__all__ = ["open_bytes", "read_bytes", "replace_file"]

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
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise FileError(f"{path}: damaged compressed file: {error}") from None
    except OSError as error:
        raise FileError(f"{path}: cannot read: {error.strerror or error}") from None


def read_bytes(path: PathLike) -> bytes:
    """Read a whole file."""
    with open_bytes(path) as file:
        return file.read()


@contextlib.contextmanager
def replace_file(path: PathLike) -> Iterator[IO[bytes]]:
    """Write a file beside its place and rename it there when all is written."""
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise FileError(f"{path}: cannot write: {error.strerror or error}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)  # mkstemp's files are for their owner only
        Path(name).replace(target)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FileError(f"{path}: cannot write: {error.strerror or error}") from None
        raise
