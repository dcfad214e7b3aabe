"""When the state of a training is saved, and how: in the background, while training goes on."""

from __future__ import annotations

import re
import threading
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.errors import AdaptagError, FileError, FileWarning, MissingFileError, ParameterError
from adaptag.storage.files import check_writable, real_path, shown
from adaptag.training.checkpoint import Checkpoint, continued
from adaptag.training.result import INTERRUPT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from numpy.typing import NDArray

    from adaptag.storage.files import PathLike
    from adaptag.training.checkpoint import S
    from adaptag.training.job import TrainingJob

__all__ = ["CheckpointFile", "Every", "Saving"]

LARGE = 64 << 20  # bytes of a state whose copies are prepared
PART = 1 << 20  # values that are looked at together
WEIGHTS = "weights"  # how the names of the arrays of weights end
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
ALLOWED = "a number of passes, such as 1, or a time, such as 30s, 5m or 2h"


@dataclass(frozen=True)
class Every:
    """How often a checkpoint is saved: after some passes, or after some time.

    Attributes:
        passes: The number of passes; None means that the time counts.
        seconds: The time.
    """

    passes: int | None = None
    seconds: float = 60.0

    @classmethod
    def of(cls, value: int | str | None) -> Every:
        """Read a number of passes, or a time such as ``30s``, ``5m`` or ``2h``.

        None means once a minute.
        """
        if value is None:
            return cls()
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", str(value).strip())
        number = float(match[1]) if match and not isinstance(value, bool) else 0.0
        if not match or not number or (not match[2] and number != int(number)):
            raise ParameterError(f"every is {value!r}; allowed: {ALLOWED}")
        return cls(seconds=number * UNITS[match[2]]) if match[2] else cls(int(number))


class CheckpointFile:
    """The file that the state of a training is saved in while it goes on.

    The arrays are copied, and the copy is written by a thread while training continues. There is at
    most one such thread: where the last state is still being written, the next one waits for its
    turn. A file that cannot be written does not end the training: it is a warning.

    Attributes:
        path: The file.
        every: How often it is written.
        keep_best: Whether the weights of the best pass are saved too.
        keep_last: Whether the last state is saved too, where training was not interrupted.
    """

    def __init__(
        self,
        path: PathLike,
        every: Every | None = None,
        *,
        keep_best: bool = True,
        keep_last: bool = True,
    ) -> None:
        self.path, self.every = Path(path), every or Every()
        self.keep_best, self.keep_last = keep_best, keep_last
        self._thread: threading.Thread | None = None
        self._preparing: threading.Thread | None = None
        self._error: AdaptagError | None = None
        self._copies: dict[str, NDArray[Any]] = {}
        self._passes, self._time = 0, time.monotonic()

    def begin(self, passes: int) -> None:
        """Training begins, after this many passes."""
        self._passes, self._time = passes, time.monotonic()

    def prepare(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Get the memory for copies of a large state while the first pass is running.

        The first use of memory takes longer than the copy itself. Where little time may pass before
        the end, it is not done.
        """
        if self.every.passes is None or sum(a.nbytes for a in arrays.values()) < LARGE:
            return
        self._copies = {name: np.empty_like(a, order="C") for name, a in arrays.items()}
        self._preparing = threading.Thread(
            target=_use, args=(list(self._copies.values()),), name="checkpoint"
        )
        self._preparing.start()

    def offer(self, make: Callable[[], Checkpoint], passes: int) -> None:
        """Save the state after this many passes, if it is time to and the last one is written."""
        if self.every.passes is None:
            due = time.monotonic() - self._time >= self.every.seconds
        else:
            due = passes - self._passes >= self.every.passes
        if not due or (self._thread is not None and self._thread.is_alive()):
            return
        self._wait()
        if self._preparing is not None:
            self._preparing.join()
            self._preparing = None
        self.begin(passes)
        checkpoint = self._selected(make())
        copy = replace(
            checkpoint,
            history=list(checkpoint.history),
            sums=replace(checkpoint.sums),
            parameters=dict(checkpoint.parameters),
            arrays={name: self._copied(name, a) for name, a in checkpoint.arrays.items()},
        )
        self._thread = threading.Thread(target=self._write, args=(copy,), name="checkpoint")
        self._thread.start()

    def finish(self, checkpoint: Checkpoint) -> None:
        """Save the last state, at once."""
        self.close()
        if self.keep_last or checkpoint.stopped == INTERRUPT:
            self._write(self._selected(checkpoint))
            self._wait()

    def close(self) -> None:
        """Wait until what was begun is written."""
        self._wait()
        self._preparing = None
        self._copies.clear()

    def _selected(self, checkpoint: Checkpoint) -> Checkpoint:
        return checkpoint if self.keep_best else replace(checkpoint, best=0, best_weights=None)

    def _copied(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        """Copy an array to where it was copied last time."""
        copy = self._copies.get(name)
        if copy is None or copy.shape != array.shape or copy.dtype != array.dtype:
            copy = self._copies[name] = np.empty_like(array, order="C")
        np.copyto(copy, array)
        return copy

    def _write(self, checkpoint: Checkpoint) -> None:
        """Write the file; but where the training diverges, the last file is worth more."""
        if not all(_finite(a) for name, a in checkpoint.arrays.items() if name.endswith(WEIGHTS)):
            return
        try:
            checkpoint.save(self.path)
        except (AdaptagError, OSError, MemoryError) as error:
            text = str(error) or type(error).__name__
            self._error = error if isinstance(error, AdaptagError) else FileError(text)

    def _wait(self) -> None:
        """Wait for the thread, and warn of what it could not write."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._error is not None:
            error, self._error = self._error, None
            warnings.warn(f"no checkpoint was saved: {error}", FileWarning, stacklevel=2)


def _finite(array: NDArray[Any]) -> bool:
    """Whether all values are finite; a part of them at a time, for arrays are large."""
    flat = array.reshape(-1)
    return all(np.isfinite(flat[k : k + PART]).all() for k in range(0, len(flat), PART))


def _use(arrays: list[NDArray[Any]]) -> None:
    """Write to all of some memory, so that the system hands it out."""
    for array in arrays:
        np.copyto(array, np.zeros((), array.dtype))


@dataclass(frozen=True)
class Saving:
    """Where the state of a training is saved, and what it continues from.

    Attributes:
        file: The file; None means that nothing is saved.
        resume: The checkpoint to continue from, if there is one.
        note: What is worth telling about that.
    """

    file: CheckpointFile | None = None
    resume: Checkpoint | None = None
    note: str = ""

    @classmethod
    def of(
        cls,
        checkpoint: PathLike | None,
        every: int | str | None = None,
        resume: PathLike | None = None,
    ) -> Saving:
        """Open what front ends are given.

        Args:
            checkpoint: The file to save to.
            every: How often; see ``Every.of``.
            resume: The checkpoint to continue from. It need not exist yet if it is also the file to
                save to: so the same call can be repeated until training is finished.
        """
        if every is not None and checkpoint is None:
            raise ParameterError("every says how often a checkpoint is saved: it needs checkpoint")
        interval = Every.of(every)
        file = None
        if checkpoint is not None:
            check_writable(checkpoint)
            file = CheckpointFile(checkpoint, interval)
        if resume is None:
            return cls(file)
        try:
            return cls(file, Checkpoint.load(resume))
        except MissingFileError:
            if checkpoint is None or real_path(checkpoint) != real_path(resume):
                raise
        return cls(file, note=f"{shown(resume)} does not exist yet: training starts")

    def continued(self, settings: S, given: Collection[str]) -> S:
        """The settings of the training; see ``checkpoint.continued``."""
        return settings if self.resume is None else continued(self.resume, settings, given)

    def attach(self, job: TrainingJob[Any]) -> None:
        """Have a job save its state, and continue."""
        job.checkpoint, job.resume, job.note = self.file, self.resume, self.note
