"""Files as bytes: plain, compressed, or standard input; and writing that loses nothing."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import re
import select
import stat
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeGuard

from adaptag.errors import FileError, MissingFileError, described
from adaptag.storage.encodings import TextFile, as_utf8, utf8_of
from adaptag.storage.locks import lock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    PathLike = str | os.PathLike[str]
    Source = PathLike | IO[bytes] | IO[str]

__all__ = [
    "COMPRESSED",
    "check_outputs",
    "check_path",
    "check_writable",
    "first_bytes",
    "folder_to_fill",
    "is_at_hand",
    "is_regular",
    "is_source",
    "open_bytes",
    "read_bytes",
    "real_path",
    "replace_file",
    "shown",
    "unreadable",
]

STDIN = "-"
WINDOWS = os.name == "nt"
TEMPORARY = ".partial"  # how the names of temporary files end
LONGEST_NAME = 255  # bytes of the name of a file, in most filesystems
COMPRESSED = {".gz": "gzip", ".xz": "lzma"}  # the modules that open such files


def is_source(data: object) -> TypeGuard[Source]:
    """Whether data is a path or an open file, which can be read."""
    if isinstance(data, (str, os.PathLike)):
        return True
    return all(callable(getattr(data, name, None)) for name in ("read", "readline"))


@contextlib.contextmanager
def open_bytes(path: Source) -> Iterator[IO[bytes]]:
    """Open a file to read bytes: by its ending ``.gz`` or ``.xz``, or ``-`` for standard input.

    A file that is open already, for text or for bytes, is read from where it is. A ``TextFile`` is
    read as UTF-8 whatever its encoding is.
    """
    try:
        if not isinstance(path, (str, os.PathLike)):
            _check_open(path)
            is_text = isinstance(path, io.TextIOBase)
            yield io.BytesIO(utf8_of(path, shown(path))) if is_text else path  # type: ignore
        elif str(path) == STDIN:
            yield _as_utf8(sys.stdin.buffer, path)
        else:
            check_path(path)
            module = COMPRESSED.get(Path(path).suffix)
            opener: Any = importlib.import_module(module).open if module else open
            with opener(path, "rb") as file:
                yield _as_utf8(file, path)
    except EOFError as error:
        raise _damaged(path, error) from None
    except OSError as error:  # one without a number is that of gzip
        raise (unreadable if error.errno else _damaged)(path, error) from None
    except Exception as error:
        if type(error).__module__ in ("zlib", "_lzma"):
            raise _damaged(path, error) from None
        raise


def _check_open(file: object) -> None:
    if not is_source(file):
        raise FileError(f"the file is {described(file)}; allowed: a path, or an open file")
    if getattr(file, "closed", False):
        raise FileError(f"{shown(file)}: the file is closed; allowed: an open file")


def _as_utf8(file: IO[bytes], path: PathLike) -> IO[bytes]:
    return as_utf8(file, path.encoding, shown(path)) if isinstance(path, TextFile) else file


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


def real_path(path: PathLike) -> Path:
    """The absolute path of a file without symbolic links, as far as they lead somewhere."""
    return Path(os.path.realpath(path))


def first_bytes(path: PathLike, n: int) -> bytes:
    """The first bytes of a regular file that can be read, else none: those of a pipe would be lost.

    Args:
        path: The file.
        n: How many.
    """
    try:
        if not Path(path).is_file():
            return b""
        with Path(path).open("rb") as file:
            return file.read(n)
    except OSError:
        return b""


def read_bytes(path: Source) -> bytes:
    """Read a whole file."""
    with open_bytes(path) as file:
        return file.read()


@contextlib.contextmanager
def replace_file(path: PathLike) -> Iterator[IO[bytes]]:
    """Write a file atomically: a temporary file replaces it when all is written and on the disk.

    So a file of that name is the old one or the new one, complete, also after a power failure.
    Temporary files that killed processes have left of the same file are removed. What is no regular
    file, such as a pipe or a device, is written in place.
    """
    check_path(path)
    target = real_path(path)
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as special:
                yield special
            return
        file = _open_beside(target)
        beside = Path(file.name)
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                if not WINDOWS:
                    beside.replace(target)  # still locked
            if WINDOWS:
                beside.replace(target)  # no open file can be renamed there
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)
        _remove_stale(target)
    except FileError:  # of another file: one that is missing is an OSError too
        raise
    except OSError as error:
        raise FileError(f"{shown(path)}: cannot write: {error.strerror or error}") from None


def _open_beside(target: Path) -> IO[bytes]:
    """Open a new temporary file in the folder of a file.

    It stays locked as long as it is open: so others can tell that it is in use.
    """
    while True:
        beside = target.with_name(f"{_stem_beside(target)}{os.urandom(6).hex()}{TEMPORARY}")
        file = beside.open("xb")
        if not WINDOWS:  # no open file can be removed there
            with contextlib.suppress(OSError):  # some filesystems have no locks
                lock(file, wait=True)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # it was taken for stale before it was locked


def _stem_beside(target: Path) -> str:
    """How the names of the temporary files of a file begin."""
    room = LONGEST_NAME - len(f"..{'0' * 12}{TEMPORARY}")
    name = os.fsdecode(os.fsencode(target.name)[:room])
    return f".{name}."


def _sync_folder(folder: Path) -> None:
    """Have the names of a folder written to the disk, where the system can do that."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _remove_stale(target: Path) -> None:
    """Remove the temporary files of a file that no process has open any more."""
    stem = re.escape(_stem_beside(target))
    pattern = re.compile(rf"{stem}[0-9a-f]{{12}}{re.escape(TEMPORARY)}")
    with contextlib.suppress(OSError):
        for path in target.parent.iterdir():
            if pattern.fullmatch(path.name):
                with contextlib.suppress(OSError):  # it is in use
                    _remove_unused(path)


def _remove_unused(path: Path) -> None:
    """Remove a temporary file; raise an OSError where a process has it open."""
    if WINDOWS:
        path.unlink()
        return
    with path.open("rb+") as file:
        lock(file)
        path.unlink()


def check_path(path: object) -> None:
    """Raise unless a path is given as one, and can be the name of a file."""
    name = b"\0"
    if isinstance(path, (str, os.PathLike)):
        with contextlib.suppress(UnicodeEncodeError):
            name = os.fsencode(path)
    if b"\0" in name or not name:
        raise FileError(f"the file is {described(path)}; allowed: a path")


def check_writable(path: PathLike) -> None:
    """Raise now where ``replace_file`` would raise after long work."""
    check_path(path)
    try:
        target = real_path(path)
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with contextlib.suppress(FileNotFoundError):
            target.stat()  # a name that is too long cannot even be looked up
        with _open_beside(target) as file:
            pass
        Path(file.name).unlink()
    except OSError as error:
        raise FileError(f"{shown(path)}: cannot write: {error.strerror or error}") from None


@contextlib.contextmanager
def folder_to_fill(folder: Path) -> Iterator[None]:
    """Make a folder, with those around it; what was made is removed where it stays empty."""
    try:
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{shown(folder)}: cannot create the folder: {error.strerror}") from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # it has been filled
            for path in made:
                path.rmdir()


def check_outputs(
    outputs: Mapping[str, PathLike | None], inputs: Mapping[str, PathLike | None]
) -> None:
    """Raise where an output cannot be written, or would overwrite an input or another output.

    Args:
        outputs: The files to write, by the name of the option that gives each; None if not given.
        inputs: The files to read, likewise.
    """
    used = {real_path(path): name for name, path in inputs.items() if path is not None}
    for name, path in outputs.items():
        if path is None:
            continue
        target = real_path(path)
        if target in used and (target.is_file() or not target.exists()):
            raise FileError(
                f"{shown(path)}: {name} and {used[target]} are the same file; "
                f"choose another file for {name}"
            )
        used[target] = name
        check_writable(path)
