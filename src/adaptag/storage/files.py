"""Files as bytes: plain, compressed, or standard input; and writing that loses nothing."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import select
import stat
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeGuard

from adaptag.errors import FileError, MissingFileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    PathLike = str | os.PathLike[str]
    Source = PathLike | IO[bytes] | IO[str]

__all__ = [
    "COMPRESSED",
    "check_outputs",
    "check_writable",
    "is_at_hand",
    "is_regular",
    "is_source",
    "open_bytes",
    "read_bytes",
    "replace_file",
    "shown",
    "unreadable",
]

STDIN = "-"
COMPRESSED = {".gz": "gzip", ".xz": "lzma"}  # the modules that open such files


def is_source(data: object) -> TypeGuard[Source]:
    """Whether data is a path or an open file, which can be read."""
    if isinstance(data, (str, os.PathLike)):
        return True
    return all(callable(getattr(data, name, None)) for name in ("read", "readline"))


@contextlib.contextmanager
def open_bytes(path: Source) -> Iterator[IO[bytes]]:
    """Open a file to read bytes: by its ending ``.gz`` or ``.xz``, or ``-`` for standard input.

    A file that is open already, for text or for bytes, is read from where it is.
    """
    try:
        if not isinstance(path, (str, os.PathLike)):
            is_text = isinstance(path, io.TextIOBase)
            yield io.BytesIO(path.read().encode()) if is_text else path  # type: ignore
        elif str(path) == STDIN:
            yield sys.stdin.buffer
        else:
            module = COMPRESSED.get(Path(path).suffix)
            opener: Any = importlib.import_module(module).open if module else open
            with opener(path, "rb") as file:
                yield file
    except EOFError as error:
        raise _damaged(path, error) from None
    except OSError as error:  # one without a number is that of gzip
        raise (unreadable if error.errno else _damaged)(path, error) from None
    except Exception as error:
        if type(error).__module__ in ("zlib", "_lzma"):
            raise _damaged(path, error) from None
        raise


def _damaged(path: Source, error: Exception) -> FileError:
    return FileError(f"{shown(path)}: damaged compressed file: {error}")


def is_regular(file: IO[bytes]) -> bool:
    """Whether an open file is a file on disk, or in memory: reading it does not wait for others."""
    try:
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (AttributeError, OSError, ValueError):
        return True


def is_at_hand(file: IO[bytes]) -> bool:
    """Whether reading would not wait: a pipe or a terminal has something to read, or has ended."""
    try:
        poll = select.poll()
        poll.register(file.fileno(), select.POLLIN)
        return bool(poll.poll(0))
    except (AttributeError, OSError, ValueError):
        return True


def unreadable(path: Source, error: OSError) -> FileError:
    """The error of a file that cannot be read."""
    kind = MissingFileError if isinstance(error, FileNotFoundError) else FileError
    return kind(f"{shown(path)}: cannot read: {error.strerror or error}")


def shown(path: Source) -> str:
    """Name a path or an open file in a message, also where the name is not valid UTF-8."""
    if not isinstance(path, (str, os.PathLike)):
        path = str(getattr(path, "name", "<file>"))
    return str(path).encode("utf-8", "backslashreplace").decode()


def read_bytes(path: Source) -> bytes:
    """Read a whole file."""
    with open_bytes(path) as file:
        return file.read()


@contextlib.contextmanager
def replace_file(path: PathLike) -> Iterator[IO[bytes]]:
    """Write a file atomically: a temporary file replaces it when all is written.

    What is no regular file, such as a pipe or a device, is written in place.
    """
    target = Path(path).resolve()
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as special:
                yield special
            return
        beside = _name_beside(target)
        try:
            with beside.open("xb") as file:
                yield file
            beside.replace(target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except FileError:  # of another file: one that is missing is an OSError too
        raise
    except OSError as error:
        raise FileError(f"{shown(path)}: cannot write: {error.strerror or error}") from None


def _name_beside(target: Path) -> Path:
    """A new name in the folder of a file."""
    return target.with_name(f".{target.name}.{os.urandom(6).hex()}")


def check_writable(path: PathLike) -> None:
    """Raise now where ``replace_file`` would raise after long work."""
    target = Path(path).resolve()
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        beside = _name_beside(target)
        beside.open("xb").close()
        beside.unlink()
    except OSError as error:
        raise FileError(f"{shown(path)}: cannot write: {error.strerror or error}") from None


def check_outputs(
    outputs: Mapping[str, PathLike | None], inputs: Mapping[str, PathLike | None]
) -> None:
    """Raise where an output cannot be written, or would overwrite an input or another output.

    Args:
        outputs: The files to write, by the name of the option that gives each; None if not given.
        inputs: The files to read, likewise.
    """
    used = {Path(path).resolve(): name for name, path in inputs.items() if path is not None}
    for name, path in outputs.items():
        if path is None:
            continue
        target = Path(path).resolve()
        if target in used and (target.is_file() or not target.exists()):
            raise FileError(
                f"{shown(path)}: {name} and {used[target]} are the same file; "
                f"choose another file for {name}"
            )
        used[target] = name
        check_writable(path)
