"""Files of any filesystem that PyArrow knows: on this machine, in an object store, on HDFS."""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import glob
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import fs

from adaptag.errors import FileError, MissingFileError, ParameterError
from adaptag.storage.files import STDIN, shown, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "AccessError",
    "Folder",
    "InputFile",
    "find_inputs",
    "is_uri",
    "locate",
    "open_file",
    "reason_of",
]

MAGIC = "*?["  # what makes a pattern; in a URI, ? begins the options of the filesystem
HIDDEN = (".", "_")  # how names begin of files in a folder that are no data


class AccessError(FileError):
    """A file cannot be opened, read or written, whatever is in it."""


@dataclass(frozen=True)
class InputFile:
    """A file to read.

    Attributes:
        path: Its absolute path, or its URI.
        name: Its path as it was given, for messages.
        size: Its size in bytes.
        changed: When it was changed, in nanoseconds; 0 if that is not known.
    """

    path: str
    name: str
    size: int
    changed: int


def is_uri(path: str) -> bool:
    """Whether a path names its filesystem, such as ``s3://bucket/folder``."""
    return "://" in path


def locate(path: str) -> tuple[Any, str]:
    """The filesystem of a path or URI, and the path there."""
    return _located(path) if is_uri(path) else (fs.LocalFileSystem(), str(Path(path).absolute()))


@functools.lru_cache(4096)  # to find the region of a bucket takes several requests
def _located(uri: str) -> tuple[Any, str]:
    try:
        filesystem, path = fs.FileSystem.from_uri(uri)
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{uri}: {error}") from None
    return filesystem, path


def open_file(path: str, name: str) -> Any:
    """Open a file to read at any place; ``name`` names it in messages."""
    filesystem, inner = locate(path)
    try:
        return filesystem.open_input_file(inner)
    except FileNotFoundError:
        raise AccessError(
            f"{name}: cannot read: there is no such file on a node of the cluster; all nodes must "
            "see the input"
        ) from None
    except OSError as error:
        raise AccessError(f"{name}: cannot read: {reason_of(error)}") from None


def reason_of(error: OSError) -> str:
    """What an error of PyArrow says, without the path."""
    text = error.strerror or str(error)
    return text.rpartition("Detail: ")[2].rpartition("] ")[2] if "Detail: " in text else text


def find_inputs(inputs: Sequence[str]) -> list[InputFile]:
    """Find the files of inputs, each once: files, folders and patterns, or URIs of such.

    A folder stands for all files in it and below it whose names, and whose folders' names, do not
    begin with ``.`` or ``_``. The files of a folder or a pattern are sorted by their names.
    """
    files: dict[str, InputFile] = {}
    for given in inputs:
        if given == STDIN:
            raise ParameterError("standard input cannot be read by a cluster; give files")
        for file in _files_of(given):
            files.setdefault(file.path, file)
    return list(files.values())


def _files_of(given: str) -> list[InputFile]:
    filesystem, inner = locate(given)
    try:
        info = filesystem.get_file_info(inner)
        if info.type == fs.FileType.NotFound and _is_pattern(inner):
            return _matching(given, filesystem, inner)
        if info.type == fs.FileType.Directory:
            selector = fs.FileSelector(inner, recursive=True)
            return _named(given, inner, filesystem.get_file_info(selector))
    except FileError:  # no file matches
        raise
    except OSError as error:
        raise unreadable(given, error) from None
    if info.type == fs.FileType.NotFound:
        raise MissingFileError(f"{shown(given)}: cannot read: No such file or directory")
    return [_input(given, info)]


def _is_pattern(path: str) -> bool:
    return any(c in path for c in MAGIC)


def _matching(given: str, filesystem: Any, inner: str) -> list[InputFile]:
    """The files that match a pattern, where ``**`` stands for any number of folders."""
    if not is_uri(given):
        matching = glob.glob(given, recursive=True)  # noqa: PTH207  keeps the path as it is given
        paths = sorted(path for path in matching if Path(path).is_file())
        found = [file for path in paths for file in _files_of(path)]
    else:
        parts = PurePosixPath(inner).parts
        fixed = next(k for k, part in enumerate(parts) if _is_pattern(part))
        root = str(PurePosixPath(*parts[:fixed]))
        start, options = given[: given.index(parts[fixed])], _options(given)
        infos = [
            info
            for info in filesystem.get_file_info(fs.FileSelector(root, recursive=True))
            if _matches(PurePosixPath(info.path).relative_to(root).parts, parts[fixed:])
        ]
        found = _named(f"{start.rstrip('/')}{options}", root, infos)
    if not found:
        raise MissingFileError(f"{shown(given)}: no file matches the pattern")
    return found


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[k:], pattern[1:]) for k in range(len(parts) + 1))
    return (
        bool(parts)
        and fnmatch.fnmatchcase(parts[0], pattern[0])
        and _matches(parts[1:], pattern[1:])
    )


def _named(given: str, inner: str, infos: Sequence[Any]) -> list[InputFile]:
    """The files of a folder, which was given by this name, without those that are no data."""
    files = []
    for info in sorted(infos, key=lambda info: str(info.path)):
        below = info.path[len(inner.rstrip("/")) + 1 :]
        if info.type == fs.FileType.File and not any(
            part.startswith(HIDDEN) for part in below.split("/")
        ):
            options = _options(given)
            path = f"{given.removesuffix(options).rstrip('/')}/{below}{options}"
            files.append(_input(path, info))
    return files


def _options(given: str) -> str:
    """The options of the filesystem, at the end of a URI."""
    return "".join(given.partition("?")[1:]) if is_uri(given) else ""


def _input(path: str, info: Any) -> InputFile:
    absolute = path if is_uri(path) else str(Path(path).absolute())
    return InputFile(absolute, shown(path), int(info.size or 0), int(info.mtime_ns or 0))


@dataclass(frozen=True)
class Folder:
    """A folder to write files into, by their names.

    Attributes:
        path: Its absolute path, or its URI.
        name: Its path as it was given, for messages.
    """

    path: str
    name: str

    @classmethod
    def of(cls, given: str) -> Folder:
        """The folder of a path or URI, on whatever node it is written."""
        return cls(given if is_uri(given) else str(Path(given).absolute()), shown(given))

    @property
    def is_local(self) -> bool:
        """Whether it is on the disk of this machine, or mounted there."""
        return isinstance(locate(self.path)[0], fs.LocalFileSystem)

    def place(self, name: str) -> tuple[Any, str]:
        """The filesystem, and the path of a file there."""
        filesystem, inner = locate(self.path)
        return filesystem, f"{inner.rstrip('/')}/{name}"

    def create(self) -> None:
        """Make the folder, and those above it."""
        filesystem, inner = locate(self.path)
        with self._writing(""):
            if filesystem.get_file_info(inner).type == fs.FileType.File:
                raise AccessError(f"{self.name}: a file; with a cluster --output is a folder")
            filesystem.create_dir(inner, recursive=True)

    def sizes(self) -> dict[str, int]:
        """The names of all files in the folder, and their sizes."""
        filesystem, inner = locate(self.path)
        selector = fs.FileSelector(inner, allow_not_found=True)
        try:
            infos = filesystem.get_file_info(selector)
        except OSError as error:
            raise unreadable(self.name, error) from None
        return {info.base_name: int(info.size or 0) for info in infos if info.is_file}

    def size(self, name: str) -> int | None:
        """The size of a file; None if there is none."""
        filesystem, path = self.place(name)
        info = filesystem.get_file_info(path)
        return int(info.size) if info.is_file else None

    def read(self, name: str) -> bytes:
        """Read a whole file."""
        filesystem, path = self.place(name)
        try:
            with filesystem.open_input_file(path) as file:
                data: bytes = file.read()
        except OSError as error:
            raise FileError(f"{self.name}/{name}: cannot read: {reason_of(error)}") from None
        return data

    @contextlib.contextmanager
    def write(self, name: str, temporary: str) -> Iterator[IO[bytes]]:
        """Write a file atomically: it has another name until all is written."""
        filesystem, path = self.place(name)
        with self._writing(name):
            beside = self.place(temporary)[1]
            with filesystem.open_output_stream(beside) as out:
                yield out
            filesystem.move(beside, path)

    def touch(self, name: str) -> None:
        """Make an empty file."""
        filesystem, path = self.place(name)
        with self._writing(name):
            filesystem.open_output_stream(path).close()

    def remove(self, name: str) -> None:
        """Remove a file, if there is one."""
        filesystem, path = self.place(name)
        with contextlib.suppress(FileNotFoundError):
            filesystem.delete_file(path)

    @contextlib.contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        where = f"{self.name}/{name}" if name else self.name
        try:
            yield
        except FileError:  # of another file
            raise
        except OSError as error:
            raise AccessError(f"{where}: cannot write: {reason_of(error)}") from None
