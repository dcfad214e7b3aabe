"""The state of a comparison: its finished runs in a file, and those that are running beside it."""

from __future__ import annotations

import json
import shutil
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import build, core
from adaptag.errors import AdaptagError, FileError, FileWarning, ModelError, ParameterError
from adaptag.experiments.results import Run
from adaptag.experiments.runs import Outcome
from adaptag.experiments.state import differing, remove_unused
from adaptag.experiments.trials import json_value
from adaptag.storage.files import replace_file, shown
from adaptag.storage.tensors import read_tensors, write_tensors
from adaptag.training.checkpoint import Checkpoint, checksum
from adaptag.training.result import INTERRUPT
from adaptag.training.saving import CheckpointFile, Every
from adaptag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from adaptag.experiments.problem import Problem
    from adaptag.experiments.runs import PlannedRun
    from adaptag.storage.files import PathLike

__all__ = ["RunState"]

KIND = "comparison"


class RunState:
    """The finished runs of a comparison, in a file that is replaced when one more is finished.

    A folder beside the file holds the checkpoints of the run that is going on. It is removed at the
    end. Where there is no file, nothing is saved.

    Attributes:
        done: The outcomes of the finished runs, by their numbers.
    """

    def __init__(
        self,
        path: PathLike | None,
        planned: Sequence[PlannedRun],
        *,
        whole_objective: bool,
        every: Every,
        restart: bool = False,
    ) -> None:
        """Open the file of a comparison, or begin a new one.

        Args:
            path: The file; that of another comparison is refused.
            planned: The runs.
            whole_objective: As in ``compare_candidates``.
            every: How often the state of the run that is going on is saved.
            restart: Whether to discard the content of an existing file.
        """
        self.done: dict[int, Outcome] = {}
        self._interrupted, self._every = False, every
        self._path = None if path is None else Path(path)
        if self._path is None:
            return
        self._description = json.loads(json.dumps(_description(planned, whole_objective)))
        self._folder = self._path.with_name(self._path.name + ".checkpoints")
        if self._path.exists() and not restart:
            self._load()
        else:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._save()
        try:
            self._folder.mkdir(exist_ok=True)
        except OSError as error:
            raise FileError(f"{self._folder}: cannot write: {error.strerror}") from None

    def add(self, number: int, outcome: Outcome) -> None:
        """Add a run that is finished; one that was interrupted has its checkpoints."""
        if outcome.run.stopped == INTERRUPT:
            self._interrupted = True
            return
        self.done[number] = outcome
        if self._path is None:
            return
        try:
            self._save()
        except FileError as error:
            warnings.warn(f"a finished run was not saved: {error}", FileWarning, stacklevel=2)
            return
        for path in self._folder.glob(f"{number}-*"):
            path.unlink(missing_ok=True)

    def file(self, number: int, part: int) -> tuple[CheckpointFile | None, Checkpoint | None]:
        """Where the training of a run on a part of its problem is saved, and what is there."""
        if self._path is None:
            return None, None
        path = self._folder / f"{number}-{part}"
        try:
            earlier = Checkpoint.load(path)
        except AdaptagError:
            earlier = None
        return CheckpointFile(path, self._every), earlier

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove what only a run that is going on needs, where none was interrupted.

        A file without a finished run is removed too.
        """
        if self._path is None or self._interrupted:
            return
        if error is None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if (error is None or isinstance(error, Exception)) and not self.done:
            remove_unused(self._path, self._folder)

    def _save(self) -> None:
        header = {
            "comparison": self._description,
            "runs": {str(number): asdict(outcome.run) for number, outcome in self.done.items()},
        }
        counts = {str(number): outcome.counts for number, outcome in self.done.items()}
        assert self._path is not None
        with replace_file(self._path) as file:
            write_tensors(file, KIND, header, counts)

    def _load(self) -> None:
        assert self._path is not None
        header, tensors = read_tensors(self._path, KIND, verify=True, copy=True)
        where = shown(self._path)
        try:
            saved = dict(header["comparison"])
            runs = {int(number): Run.from_dict(run) for number, run in header["runs"].items()}
            self.done = {
                number: Outcome(run, tensors[str(number)].reshape(-1, 3))
                for number, run in runs.items()
            }
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{where}: malformed state of a comparison: {error}") from None
        difference = differing(saved, self._description)
        if difference and runs:  # nothing done: nothing lost
            raise ParameterError(
                f"{where}: the state of another comparison: {difference}; name another file, or "
                "start over (restart, --restart)"
            )


def _description(planned: Sequence[PlannedRun], whole_objective: bool) -> Mapping[str, Any]:
    """What the outcome of a comparison depends on."""
    problems = {id(run.problem): run.problem for run in planned}
    numbers = {key: number for number, key in enumerate(problems)}
    return {
        "adaptag": f"{__version__} ({build})",
        "data": [_checksum(problem) for problem in problems.values()],
        "runs": [
            {
                "name": run.candidate.name,
                "algorithm": run.candidate.algorithm.name,
                "parameters": {n: json_value(v) for n, v in run.settings.values().items()},
                "passes": run.settings.passes,
                "seed": run.seed,
                "data": numbers[id(run.problem)],
            }
            for run in planned
        ],
        "whole_objective": whole_objective,
    }


def _checksum(problem: Problem) -> list[int]:
    """Checksums of the training data, and of what weights of 0 give on the test data."""
    sums = []
    for part in problem.parts:
        counts = part.counts(np.zeros(part.train.layout.n_weights, np.float32))
        rows = np.ascontiguousarray(counts).reshape(-1).view(np.uint8)
        sums += [checksum(part.train), int(core.checksum(rows, 0))]
    return sums
