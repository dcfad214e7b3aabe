"""The jobs of a search: each trains one trial on one fold, in this process or in several."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.errors import AdaptagError, CorpusError, DivergenceError
from adaptag.experiments.space import resolve
from adaptag.experiments.state import JobResult
from adaptag.settings import AUTO
from adaptag.training.algorithms import algorithm
from adaptag.training.callbacks import Callback
from adaptag.training.checkpoint import Checkpoint, checksum
from adaptag.training.result import DIVERGED, INTERRUPT
from adaptag.training.saving import CheckpointFile, Every
from adaptag.training.settings import NEVER, TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples
    from adaptag.experiments.problem import Part
    from adaptag.experiments.space import Settings
    from adaptag.experiments.tasks import Task

__all__ = ["ONE_THREAD", "Job", "Search", "Worker", "finished", "run_jobs"]

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
DISK_ROOM = 1 << 30  # bytes of free disk space that checkpoints leave
MOST_PAIRS = 10  # steps that a batch algorithm remembers, by default
MOST_ENCODED = 8  # pairs of training and held-out part that a process caches


@dataclass(frozen=True, eq=False)
class Search:
    """What all jobs of a search share.

    Attributes:
        task: What is trained and scored.
        corpus: The training data.
        held_out: For each fold, the indices of the sentences that are scored.
        algorithm: The name of the algorithm.
        seed: The seed of the sentence order.
        folder: The folder of checkpoints.
        every: How often the checkpoint of a job that is running is saved.
    """

    task: Task
    corpus: Any
    held_out: tuple[NDArray[np.int64], ...]
    algorithm: str
    seed: int
    folder: Path
    every: Every = field(default_factory=Every)

    def part(self, fold: int, features: tuple[tuple[str, Any], ...] = ()) -> Part:
        """Encode the training part of a fold, and its held-out part with the same features."""
        held_out = self.held_out[fold]
        others = np.setdiff1d(np.arange(len(self.corpus)), held_out)
        corpora = self.corpus.select(others), self.corpus.select(held_out)
        try:
            return self.task.part(*corpora, dict(features), threads=1)
        except CorpusError as error:
            n = len(self.held_out)
            part = f"fold {fold + 1} of {n}" if n > 1 else "the held-out part"
            raise CorpusError(
                f"{error}; that is the data without {part}; shuffle (--shuffle) mixes data that "
                "is sorted"
            ) from None

    def split(self, settings: Settings) -> tuple[Settings, tuple[tuple[str, Any], ...]]:
        """The parameters of the algorithm, and the settings of the features."""
        declared = self.task.declaration.declared()
        parameters = {name: value for name, value in settings.items() if name not in declared}
        return parameters, tuple((n, value) for n, value in settings.items() if n in declared)


@dataclass(frozen=True)
class Job:
    """Train one trial on one fold up to a number of passes.

    Attributes:
        number: The number of the trial.
        settings: The settings of the trial.
        fold: The number of the fold.
        passes: The number of passes, from the first pass on.
        may_continue: Whether a later round may continue the trial, from its checkpoint.
    """

    number: int
    settings: Settings
    fold: int
    passes: int
    may_continue: bool = True

    @property
    def place(self) -> tuple[int, int]:
        """The trial and the fold, which the jobs of all rounds share."""
        return self.number, self.fold


class Worker:
    """Runs jobs, and caches the encoded data that they share."""

    def __init__(self, search: Search, stopped: Callable[[], bool]) -> None:
        self.search = search
        self.stopped = stopped
        self.part = lru_cache(MOST_ENCODED)(search.part)

    def run(self, job: Job) -> JobResult | None:
        """Run a job from its checkpoint in the folder, if there is one; None: it was interrupted.

        The new checkpoint replaces it there, while the job runs and at its end.
        """
        if self.stopped():
            return None
        path = self.search.folder / f"{job.number}-{job.fold}"
        file = CheckpointFile(path, self.search.every, keep_best=False, keep_last=job.may_continue)
        result, _ = self.train(job, _load(path), file)
        return result

    def train(
        self, job: Job, earlier: Checkpoint | None, file: CheckpointFile | None = None
    ) -> tuple[JobResult | None, Checkpoint | None]:
        """Train from the checkpoint of an earlier job, if there is one that fits.

        Training that diverges ends there, with the scores of the passes before, or else 0. Without
        disk space for checkpoints, none are saved: a later job starts from the beginning.

        Returns:
            The result, None if it was interrupted; and a checkpoint, if there is something to
            continue.
        """
        parameters, features = self.search.split(job.settings)
        part = self.part(job.fold, features)
        settings = TrainingSettings(
            algorithm=self.search.algorithm,
            parameters=resolve(parameters, len(part.train)),
            seed=self.search.seed,
            patience=NEVER,
            threads=1,
        )
        if earlier is not None and not self._fits(earlier, part.train, settings, job.passes):
            earlier = None
        if file is not None and not self._has_room(part.train):
            file = None
        history = [] if earlier is None else earlier.history
        ended, checkpoint = False, None
        if len(history) < job.passes:
            try:
                result = part.run(
                    replace(settings, passes=job.passes),
                    resume=earlier,
                    checkpoint=file,
                    callbacks=[_Stopping(self.stopped)],
                )
            except KeyboardInterrupt:  # before the end of the first pass
                return None, None
            except DivergenceError:
                ended = True
            else:
                history = result.history
                ended = result.stopped in ("converged", DIVERGED)
                interrupted = result.stopped == INTERRUPT
                if job.may_continue or interrupted:
                    checkpoint = result.checkpoint
                if checkpoint is not None:
                    checkpoint = replace(checkpoint, best=0, best_weights=None)
                if interrupted:
                    return None, checkpoint
        scores = [report.score for report in history] or [0.0]
        seconds = sum(report.seconds for report in history)
        done = JobResult(job.number, job.fold, job.passes, scores, seconds, ended)
        return done, checkpoint

    def _has_room(self, training: Examples) -> bool:
        """Whether there is disk space for a checkpoint."""
        chosen = algorithm(self.search.algorithm)
        vectors = 2 if chosen.online else 2 * MOST_PAIRS + 2
        size = 4 * training.layout.n_weights * vectors
        try:
            return shutil.disk_usage(self.search.folder).free > size + DISK_ROOM
        except OSError:
            return False

    def _fits(
        self, checkpoint: Checkpoint, training: Examples, settings: TrainingSettings, passes: int
    ) -> bool:
        """Whether a checkpoint is that of an earlier job of the same trial."""
        saved, expected = dict(checkpoint.parameters), settings.values()
        if expected.get("rate") == AUTO:
            expected["rate"] = saved.get("rate", AUTO)
        return (
            (checkpoint.algorithm, saved) == (self.search.algorithm, expected)
            and checkpoint.seed == self.search.seed
            and len(checkpoint.history) <= passes
            and checkpoint.data == checksum(training)
        )


def _load(path: Path) -> Checkpoint | None:
    """The checkpoint in a file, if there is one."""
    try:
        return Checkpoint.load(path)
    except AdaptagError:
        return None


class _Stopping(Callback):
    """Interrupts training when the search was interrupted."""

    def __init__(self, stopped: Callable[[], bool]) -> None:
        self.stopped = stopped

    def on_progress(self, sentences: int) -> None:  # noqa: ARG002
        if self.stopped():
            raise KeyboardInterrupt


_worker: Worker | None = None


def _begin(search: Search, stopped: Any) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process stops the others
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker = Worker(search, stopped.is_set)


def _end_with_parent() -> None:
    """End this process when the one that started it does, even if that was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(job: Job) -> JobResult | None:
    assert _worker is not None
    return _worker.run(job)


@contextlib.contextmanager
def run_jobs(
    search: Search, processes: int
) -> Iterator[Callable[[Sequence[Job]], Iterator[JobResult]]]:
    """Yield a function that runs jobs and yields their results as they finish; Ctrl-C stops all.

    With one process, jobs run in this process. Batch algorithms use BLAS and always run in other
    processes: the number of BLAS threads is fixed when a process starts, and changes results.
    """
    if processes == 1 and algorithm(search.algorithm).online:
        worker = Worker(search, lambda: False)

        def in_turn(jobs: Sequence[Job]) -> Iterator[JobResult]:
            for job in jobs:
                yield finished(worker.run(job))

        yield in_turn
        return
    context = multiprocessing.get_context("spawn")
    stopped = context.Event()
    pool = ProcessPoolExecutor(processes, context, _begin, (search, stopped))

    def at_once(jobs: Sequence[Job]) -> Iterator[JobResult]:
        for future in as_completed([pool.submit(_run, job) for job in jobs]):
            yield finished(future.result())

    others = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # for processes started from here on
    try:
        yield at_once
    except BrokenProcessPool:
        raise AdaptagError(
            "a process of the search was killed, perhaps for lack of memory: then use fewer jobs; "
            'or it could not start, in a script without if __name__ == "__main__":'
        ) from None
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)
        for name, value in others.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def finished(result: JobResult | None) -> JobResult:
    """The result of a job; one that was interrupted interrupts the search."""
    if result is None:
        raise KeyboardInterrupt
    return result
