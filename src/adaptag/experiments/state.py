"""The state of a search: JSON lines in a file, one per finished job."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptag.errors import FileError, FileWarning, ParameterError
from adaptag.storage.files import read_bytes, replace_file, shown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from typing_extensions import Self

    from adaptag.storage.files import PathLike

__all__ = ["JobResult", "State", "differing", "remove_unused"]

KIND = "adaptag tune"
MOST_SHOWN = 60  # characters of a value in a message


@dataclass(frozen=True)
class JobResult:
    """The result of a job.

    Attributes:
        number: The number of the trial.
        fold: The number of the fold.
        passes: The number of passes that were requested.
        scores: The scores after each pass, from the first pass on.
        seconds: The training time, from the first pass on.
        ended: Whether the algorithm stopped by its own rule.
    """

    number: int
    fold: int
    passes: int
    scores: list[float]
    seconds: float
    ended: bool = False

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Read a line of a state file; malformed content raises a ``ValueError``."""
        number, fold, passes = (int(content[name]) for name in ("number", "fold", "passes"))
        scores = [float(score) for score in content["scores"]]
        if not 0 < len(scores) <= passes or not all(0 <= score <= 100 for score in scores):
            raise ValueError("scores")
        return cls(number, fold, passes, scores, float(content["seconds"]), bool(content["ended"]))

    @property
    def key(self) -> tuple[int, int, int]:
        """Identifies the job."""
        return self.number, self.fold, self.passes


class State:
    """The finished jobs of a search, saved in a file if one is given.

    The file's first line describes the search. Each finished job adds a line in one write, and a
    line that a crash cut off is dropped. A folder next to the file holds the checkpoints of trials
    that may continue; without a file it is a temporary folder.

    Attributes:
        done: The results of the finished jobs.
        folder: The folder of checkpoints.
    """

    def __init__(
        self, path: PathLike | None, search: Mapping[str, Any], *, restart: bool = False
    ) -> None:
        """Open the state.

        Args:
            path: The file; None means that nothing is saved.
            search: A description of the search; the file of another search is refused.
            restart: Whether to discard the content of an existing file.
        """
        self.done: dict[tuple[int, int, int], JobResult] = {}
        self._path = None if path is None else Path(path)
        self._search = json.loads(json.dumps({"kind": KIND, **search}))
        if self._path is None:
            self.folder = Path(tempfile.mkdtemp(prefix="adaptag-tune-"))
            return
        self.folder = self._path.with_name(self._path.name + ".checkpoints")
        if self._path.exists() and not restart:
            self._load(self._path)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
        lines = [self._search, *(asdict(result) for result in self.done.values())]
        with replace_file(self._path) as file:
            file.write(b"".join(map(_line, lines)))
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise FileError(f"{self.folder}: cannot write: {error.strerror}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None or self._path is None:
            shutil.rmtree(self.folder, ignore_errors=True)
        elif isinstance(error, Exception) and not self.done:
            remove_unused(self._path, self.folder)

    def add(self, result: JobResult) -> None:
        """Add the result of a job."""
        self.done[result.key] = result
        if self._path is None:
            return
        try:
            with self._path.open("ab", buffering=0) as file:
                file.write(_line(asdict(result)))
                os.fsync(file.fileno())
        except OSError as error:
            text = f"a finished job was not saved: {self._path}: cannot write: {error.strerror}"
            warnings.warn(text, FileWarning, stacklevel=2)

    def _load(self, path: Path) -> None:
        where = shown(path)
        lines = read_bytes(path).split(b"\n")[:-1]  # a line without a line break is incomplete
        try:
            content = [json.loads(line) for line in lines]
            saved = content[0]
            if saved["kind"] != KIND:
                raise ValueError
            jobs = [JobResult.from_dict(fields) for fields in content[1:]]
        except (IndexError, KeyError, TypeError, ValueError):
            raise FileError(f"{where}: not the state of a search, or damaged") from None
        difference = differing(saved, self._search)
        if difference and jobs:  # nothing done: nothing lost
            raise ParameterError(
                f"{where}: the state of another search: {difference}; name another file, or start "
                "over (restart, --restart)"
            )
        self.done = {job.key: job for job in jobs}


def remove_unused(path: Path, folder: Path) -> None:
    """Remove a file without a finished job, and its folder; not where that has a checkpoint."""
    with contextlib.suppress(OSError):
        folder.rmdir()
        path.unlink()


def differing(saved: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """The first difference between two descriptions of a search, in words; empty: there is none."""
    for name, value in expected.items():
        if saved.get(name) != value:
            return f"{name} is {_short(saved.get(name))} there, {_short(value)} here"
    return ""


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content).encode() + b"\n"


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…"
