"""The jobs of a search: each trains one trial on one fold, in this process or in several."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag import api
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.model import Model
from adaptag.errors import AdaptagError
from adaptag.experiments.space import CUTOFF, resolve
from adaptag.experiments.state import JobResult
from adaptag.settings import AUTO
from adaptag.training.algorithms import algorithm
from adaptag.training.callbacks import Callback
from adaptag.training.checkpoint import Checkpoint, checksum
from adaptag.training.loop import fit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from adaptag.corpus.data import Corpus
    from adaptag.experiments.space import Settings

__all__ = ["Job", "Task", "run_jobs"]

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
DISK_ROOM = 1 << 30  # bytes of free disk space that checkpoints leave
MOST_ENCODED = 8  # pairs of training and held-out part that a process caches


@dataclass(frozen=True, eq=False)
class Task:
    """What all jobs of a search share.

    Attributes:
        corpus: The training data.
        held_out: For each fold, the indices of the sentences that are scored.
        encoding: The arguments of ``api.encode``, without the cutoff.
        algorithm: The name of the algorithm.
        seed: The seed of the sentence order.
        folder: The folder of checkpoints.
    """

    corpus: Corpus
    held_out: tuple[NDArray[np.int64], ...]
    encoding: dict[str, Any]
    algorithm: str
    seed: int
    folder: Path

    def parts(self, fold: int, cutoff: int = 1) -> tuple[Dataset, Dataset]:
        """Encode the training part of a fold, and its held-out part with the same features."""
        held_out = self.held_out[fold]
        others = np.setdiff1d(np.arange(len(self.corpus)), held_out)
        training = api.encode(self.corpus.select(others), cutoff=cutoff, **self.encoding)
        rest = self.corpus.select(held_out)
        return training, Dataset.encode(rest, training.index, training.label_names)


@dataclass(frozen=True)
class Job:
    """Train one trial on one fold up to a number of passes."""

    number: int
    settings: Settings
    fold: int
    passes: int


class Worker:
    """Runs jobs, and caches the encoded data that they share."""

    def __init__(self, task: Task, stopped: Callable[[], bool]) -> None:
        self.task = task
        self.stopped = stopped
        self.parts = lru_cache(MOST_ENCODED)(task.parts)

    def run(self, job: Job) -> JobResult | None:
        """Run a job; None means that it was interrupted."""
        if self.stopped():
            return None
        training, rest = self.parts(job.fold, int(job.settings.get(CUTOFF, 1)))
        settings = resolve(job.settings, len(training))
        path = self.task.folder / f"{job.number}-{job.fold}"
        resume = self._checkpoint(path, training, settings, job.passes)
        history = [] if resume is None else resume.history
        ended = False
        if len(history) < job.passes:

            def score(weights: NDArray[np.float32]) -> float:
                model = Model(training.label_names, training.index, weights, {})
                return api.evaluate_model(model, rest).score

            result = fit(
                training,
                algorithm_name=self.task.algorithm,
                parameters=settings,
                passes=job.passes - len(history),
                seed=self.task.seed,
                resume=resume,
                score=score,
                callbacks=[_Stopping(self.stopped)],
                threads=1,
            )
            history = result.history
            ended = result.stopped == "converged"
            self._keep(result.checkpoint, path)
            if result.stopped == "interrupt":
                return None
        scores = [report.score for report in history]
        seconds = sum(report.seconds for report in history)
        return JobResult(job.number, job.fold, job.passes, scores, seconds, ended)

    def _keep(self, state: Checkpoint | None, path: Path) -> None:
        """Save a checkpoint; without disk space for it, a later job starts from the beginning."""
        if state is None:
            return
        size = sum(array.nbytes for array in state.arrays.values())
        with contextlib.suppress(AdaptagError, OSError):
            if shutil.disk_usage(self.task.folder).free > size + DISK_ROOM:
                replace(state, best=0, best_weights=None).save(path)

    def _checkpoint(
        self, path: Path, training: Dataset, settings: Settings, passes: int
    ) -> Checkpoint | None:
        """The checkpoint of an earlier job of the trial, if there is one that fits."""
        try:
            state = Checkpoint.load(path)
        except AdaptagError:
            return None
        expected = algorithm(self.task.algorithm).values(settings)
        saved = dict(state.parameters)
        if expected.get("rate") == AUTO:
            expected["rate"] = saved.get("rate", AUTO)
        same = (state.algorithm, saved, state.seed) == (
            self.task.algorithm,
            expected,
            self.task.seed,
        )
        fits = same and len(state.history) <= passes and state.data == checksum(training)
        return state if fits else None


class _Stopping(Callback):
    """Interrupts training when the search was interrupted."""

    def __init__(self, stopped: Callable[[], bool]) -> None:
        self.stopped = stopped

    def on_progress(self, sentences: int) -> None:  # noqa: ARG002
        if self.stopped():
            raise KeyboardInterrupt


_worker: Worker | None = None


def _begin(task: Task, stopped: Any) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process stops the others
    _worker = Worker(task, stopped.is_set)


def _run(job: Job) -> JobResult | None:
    assert _worker is not None
    return _worker.run(job)


@contextlib.contextmanager
def run_jobs(
    task: Task, processes: int
) -> Iterator[Callable[[Sequence[Job]], Iterator[JobResult]]]:
    """Yield a function that runs jobs and yields their results as they finish; Ctrl-C stops all.

    With one process, jobs run in this process. Batch algorithms use BLAS and always run in other
    processes: the number of BLAS threads is fixed when a process starts, and changes results.
    """
    if processes == 1 and algorithm(task.algorithm).online:
        worker = Worker(task, lambda: False)

        def in_turn(jobs: Sequence[Job]) -> Iterator[JobResult]:
            for job in jobs:
                yield _finished(worker.run(job))

        yield in_turn
        return
    context = multiprocessing.get_context("spawn")
    stopped = context.Event()
    pool = ProcessPoolExecutor(processes, context, _begin, (task, stopped))

    def at_once(jobs: Sequence[Job]) -> Iterator[JobResult]:
        for future in as_completed([pool.submit(_run, job) for job in jobs]):
            yield _finished(future.result())

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


def _finished(result: JobResult | None) -> JobResult:
    if result is None:
        raise KeyboardInterrupt
    return result
