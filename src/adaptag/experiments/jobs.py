"""The jobs of a search: one trial on one fold, for some passes more; in this process or several."""

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
from adaptag.experiments.state import Done
from adaptag.training.algorithms import algorithm
from adaptag.training.callbacks import Callback
from adaptag.training.checkpoint import Checkpoint, checksum
from adaptag.settings import AUTO
from adaptag.training.loop import fit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from adaptag.experiments.space import Settings
    from adaptag.corpus.data import Corpus

__all__ = ["Job", "Task", "run_jobs"]

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
DISK_ROOM = 1 << 30  # bytes that checkpoints leave free
MOST_ENCODED = 8  # pairs of training and held-out part that a process keeps


@dataclass(frozen=True, eq=False)
class Task:
    """What all jobs of a search share.

    Attributes:
        corpus: the training data.
        held_out: for each fold, the numbers of the sentences that are scored.
        encoding: arguments of ``api.encode``, without the cutoff.
        algorithm: its name.
        seed: of the order of sentences.
        folder: for checkpoints.
    """

    corpus: Corpus
    held_out: tuple[NDArray[np.int64], ...]
    encoding: dict[str, Any]
    algorithm: str
    seed: int
    folder: Path

    def parts(self, fold: int, cutoff: int = 1) -> tuple[Dataset, Dataset]:
        """Encode the training part of a fold, and with its features what is held out."""
        held_out = self.held_out[fold]
        others = np.setdiff1d(np.arange(len(self.corpus)), held_out)
        training = api.encode(self.corpus.select(others), cutoff=cutoff, **self.encoding)
        rest = self.corpus.select(held_out)
        return training, Dataset.encode(rest, training.index, training.label_names)


@dataclass(frozen=True)
class Job:
    """Train one trial on one fold until it has made so many passes."""

    number: int
    settings: Settings
    fold: int
    passes: int


class Worker:
    """Does jobs, and keeps what they share."""

    def __init__(self, task: Task, stopped: Callable[[], bool]) -> None:
        self.task = task
        self.stopped = stopped
        self.parts = lru_cache(MOST_ENCODED)(task.parts)

    def run(self, job: Job) -> Done | None:
        """Do a job; None: it was interrupted."""
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
        return Done(job.number, job.fold, job.passes, scores, seconds, ended)

    def _keep(self, state: Checkpoint | None, path: Path) -> None:
        """Save where a job ended; where there is no room, a later job starts anew."""
        if state is None:
            return
        size = sum(array.nbytes for array in state.arrays.values())
        with contextlib.suppress(AdaptagError, OSError):
            if shutil.disk_usage(self.task.folder).free > size + DISK_ROOM:
                replace(state, best=0, best_weights=None).save(path)

    def _checkpoint(
        self, path: Path, training: Dataset, settings: Settings, passes: int
    ) -> Checkpoint | None:
        """Where an earlier job of the trial ended, if that is known and of use."""
        try:
            state = Checkpoint.load(path)
        except AdaptagError:
            return None
        expected = algorithm(self.task.algorithm).values(settings)
        found = dict(state.parameters)
        if expected.get("rate") == AUTO:
            expected["rate"] = found.get("rate", AUTO)
        same = (state.algorithm, found, state.seed) == (
            self.task.algorithm,
            expected,
            self.task.seed,
        )
        fits = same and len(state.history) <= passes and state.data == checksum(training)
        return state if fits else None


class _Stopping(Callback):
    """Ends training where it stands when the search was interrupted."""

    def __init__(self, stopped: Callable[[], bool]) -> None:
        self.stopped = stopped

    def on_progress(self, sentences: int) -> None:  # noqa: ARG002
        if self.stopped():
            raise KeyboardInterrupt


_worker: Worker | None = None


def _begin(task: Task, stopped: Any) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process tells the others
    _worker = Worker(task, stopped.is_set)


def _run(job: Job) -> Done | None:
    assert _worker is not None
    return _worker.run(job)


@contextlib.contextmanager
def run_jobs(task: Task, processes: int) -> Iterator[Callable[[Sequence[Job]], Iterator[Done]]]:
    """Give a function that does jobs, in any order of their ends; Ctrl-C stops all at once.

    One process is this one. Batch algorithms, whose vectors go through BLAS, always get others: how
    many threads BLAS has is settled when a process starts, and changes bits.
    """
    if processes == 1 and algorithm(task.algorithm).online:
        worker = Worker(task, lambda: False)

        def in_turn(jobs: Sequence[Job]) -> Iterator[Done]:
            for job in jobs:
                yield _finished(worker.run(job))

        yield in_turn
        return
    context = multiprocessing.get_context("spawn")
    stopped = context.Event()
    pool = ProcessPoolExecutor(processes, context, _begin, (task, stopped))

    def at_once(jobs: Sequence[Job]) -> Iterator[Done]:
        for future in as_completed([pool.submit(_run, job) for job in jobs]):
            yield _finished(future.result())

    others = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # for the processes to come
    try:
        yield at_once
    except BrokenProcessPool:
        raise AdaptagError(
            "a process of the search was ended from outside: perhaps for want of memory, then use "
            'fewer jobs; or it could not start, in a script without if __name__ == "__main__":'
        ) from None
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)
        for name, value in others.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _finished(done: Done | None) -> Done:
    if done is None:
        raise KeyboardInterrupt
    return done
