"""The record of a job in its output folder: what it is, which blocks are finished, the totals.

``_manifest.jsonl`` has one JSON object per line: ``job``, all that the output depends on; one for
each finished block; and at the end ``total``. Readers of folders, such as those of Ray, Spark and
PyArrow, take no file whose name begins with ``_`` or ``.``.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import Counter
from typing import IO, TYPE_CHECKING, Any

from adaptag.errors import FileError, ParameterError
from adaptag.ray.filesystems import HIDDEN, AccessError
from adaptag.storage.locks import lock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from adaptag.ray.filesystems import Folder

    Row = dict[str, Any]

__all__ = ["MANIFEST", "Manifest", "open_manifest"]

MANIFEST = "_manifest.jsonl"
TEMPORARY = "._manifest"
EVERY = 10.0  # seconds between two writes where a file cannot be appended to
PLACE = ("block", "input", "begin", "end", "output", "bytes")  # what is no count


class Manifest:
    """The finished blocks of a job.

    Attributes:
        folder: The output folder.
        job: All that the output depends on.
        rows: What is known of each finished block, by its number.
        total: The totals of a finished job; None if it is not finished.
    """

    def __init__(self, folder: Folder, job: Mapping[str, Any], rows: Mapping[int, Row]) -> None:
        self.folder = folder
        self.job = job
        self.rows = dict(rows)
        self.total: Row | None = None
        self._file: IO[bytes] | None = None  # to append to; None in an object store
        self._written = 0.0

    def add(self, row: Row) -> None:
        """Record a finished block; it is kept whatever happens next."""
        self.rows[row["block"]] = row
        self._append(row)

    def finish(self) -> Row:
        """Record the totals."""
        counts: Counter[str] = Counter()
        for row in self.rows.values():
            counts.update({name: n for name, n in row.items() if _is_count(name, n)})
        self.total = {
            "blocks": len(self.rows),
            "skipped": sum("skipped" in row for row in self.rows.values()),
            **counts,
            "bytes": sum(row.get("bytes", 0) for row in self.rows.values()),
        }
        self._append({"total": self.total})
        return self.total

    def rewrite(self) -> None:
        """Write the whole file anew, atomically."""
        lines: list[Mapping[str, Any]] = [{"job": self.job}, *self.rows.values()]
        if self.total is not None:
            lines.append({"total": self.total})
        self.close()
        with self.folder.write(MANIFEST, TEMPORARY) as out:
            out.write(b"".join(_line(line) for line in lines))
        self._written = time.monotonic()
        if self.folder.is_local:
            self._file = open(self.folder.place(MANIFEST)[1], "ab")  # noqa: PTH123, SIM115

    def close(self) -> None:
        """Close the file, if it is open."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def _append(self, line: Mapping[str, Any]) -> None:
        if self._file is None:
            if self.total is not None or time.monotonic() - self._written > EVERY:
                self.rewrite()
            return
        try:
            self._file.write(_line(line))
            self._file.flush()
        except OSError as error:
            raise AccessError(
                f"{self.folder.name}/{MANIFEST}: cannot write: {error.strerror}"
            ) from None


@contextlib.contextmanager
def open_manifest(
    folder: Folder, job: Mapping[str, Any], *, keep_skipped: bool = True
) -> Iterator[Manifest]:
    """Open the manifest of a job that begins, or goes on; raise where another job has written it.

    While it is open, no other process on this machine can write to the folder.

    Args:
        folder: The output folder.
        job: All that the output depends on.
        keep_skipped: Whether blocks that were skipped are finished. Else they are tried again.
    """
    with _locked(folder):
        found = folder.sizes()
        rows = {}
        if MANIFEST in found:
            rows = _read(folder, job)
        elif any(not name.startswith(HIDDEN) for name in found):
            raise FileError(
                f"{folder.name}: holds files, but no job has written them; choose an empty folder"
            )
        for number, row in list(rows.items()):
            kept = keep_skipped if "skipped" in row else found.get(row["output"]) == row["bytes"]
            if not kept:
                del rows[number]
        manifest = Manifest(folder, job, rows)
        manifest.rewrite()
        try:
            yield manifest
        finally:
            if not folder.is_local:
                manifest.rewrite()
            manifest.close()


@contextlib.contextmanager
def _locked(folder: Folder) -> Iterator[None]:
    """Keep other processes on this machine from writing to the folder, if it is on a disk."""
    if not folder.is_local:
        yield
        return
    descriptor = os.open(folder.place("")[1], os.O_RDONLY)
    try:
        lock(descriptor)
    except OSError:
        os.close(descriptor)
        raise FileError(f"{folder.name}: another process is writing to this folder") from None
    try:
        yield
    finally:
        os.close(descriptor)


def _read(folder: Folder, job: Mapping[str, Any]) -> dict[int, Row]:
    """The finished blocks of a manifest; its last line may have been cut off."""
    lines = []
    for text in folder.read(MANIFEST).splitlines():
        with contextlib.suppress(ValueError):
            lines.append(json.loads(text))
    if not lines or not isinstance(lines[0], dict) or "job" not in lines[0]:
        raise FileError(f"{folder.name}/{MANIFEST}: damaged; choose another folder for --output")
    differences = _differences(lines[0]["job"], json.loads(json.dumps(job)))
    if differences:
        raise ParameterError(
            f"{folder.name}: belongs to another job: {'; '.join(differences)}; choose another "
            "folder for --output"
        )
    return {line["block"]: line for line in lines[1:] if "block" in line}


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What another job has done differently, in words."""
    old, new = _flat(before.get("options", {})), _flat(now["options"])
    found = [
        f"{name} was {old.get(name)!r}, is {new.get(name)!r}"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]
    if before.get("model") != now["model"]:
        found.append("the model was another one")
    if before.get("inputs") != now["inputs"]:
        was = {path: rest for path, *rest in before.get("inputs", [])}
        has = {path: rest for path, *rest in now["inputs"]}
        changed = [path for path in has if path in was and was[path] != has[path]]
        added = [path for path in has if path not in was]
        missing = [path for path in was if path not in has]
        for paths, text in ((changed, "has changed"), (added, "is new"), (missing, "is missing")):
            if paths:
                more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
                found.append(f"input {paths[0]}{more} {text}")
        if not (changed or added or missing):
            found.append("the inputs have another order")
    return found


def _flat(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options by their own names, also those of groups."""
    flat: dict[str, Any] = {}
    for name, value in options.items():
        flat |= _flat(value) if isinstance(value, dict) else {name: value}
    return flat


def _is_count(name: str, value: object) -> bool:
    return name not in PLACE and isinstance(value, int)


def _line(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
