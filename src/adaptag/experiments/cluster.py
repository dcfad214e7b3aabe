"""Searches and comparisons on a Ray cluster: each job or run is a task.

Data is put into the object store once, and each process of the cluster reads it once. Checkpoints
stay in the object store, on the node that made them, until the next round needs them elsewhere.
"""

from __future__ import annotations

import contextlib
import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from adaptag.errors import DivergenceError, counted
from adaptag.experiments.jobs import ONE_THREAD, Worker, finished
from adaptag.experiments.runs import run_candidate
from adaptag.ray.connection import connect, n_cpus
from adaptag.ray.tasks import LostError, Tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from adaptag.experiments.candidates import Candidate
    from adaptag.experiments.jobs import Job, Search
    from adaptag.experiments.runs import Outcome, PlannedRun
    from adaptag.experiments.state import JobResult
    from adaptag.ray.tasks import Shared
    from adaptag.training.checkpoint import Checkpoint
    from adaptag.training.settings import TrainingSettings

__all__ = ["connect", "describe", "run_jobs_on_cluster", "run_planned_on_cluster"]


def describe(ray: Any) -> str:
    """The cluster in a few words."""
    nodes, cpus = len(_nodes(ray)), n_cpus(ray)
    sizes = f"{counted(nodes, 'node')} with {counted(cpus, 'CPU')}"
    return f"Ray cluster of {sizes} that may be busy"


def _nodes(ray: Any) -> list[Any]:
    return [node for node in ray.nodes() if node["Alive"]]


# ---- the search for settings -------------------------------------------------------------------


@contextlib.contextmanager
def run_jobs_on_cluster(
    search: Search, ray: Any
) -> Iterator[Callable[[Sequence[Job]], Iterator[JobResult]]]:
    """Yield a function that runs jobs and yields their results as they finish; Ctrl-C stops all.

    The driver holds references to checkpoints, not their content. A trial whose checkpoint was lost
    starts from the beginning, with the same result.
    """
    with Tasks(ray, dict.fromkeys(ONE_THREAD, "1")) as tasks:
        shared = tasks.share(search)
        checkpoints: dict[tuple[int, int], Any] = {}

        def submit(job: Job) -> None:
            tasks.submit(job, _run_job, shared, job, checkpoints.get(job.place), leaves=True)

        def at_once(jobs: Sequence[Job]) -> Iterator[JobResult]:
            for place in set(checkpoints) - {job.place for job in jobs}:
                del checkpoints[place]
            for job in jobs:
                submit(job)
            for task in tasks.finished():
                job = task.item
                try:
                    result = finished(tasks.result(task))
                except LostError:
                    if checkpoints.pop(job.place, None) is None:
                        raise
                    submit(job)
                    continue
                if job.may_continue:
                    checkpoints[job.place] = task.left
                yield result

        yield at_once


def _run_job(
    shared: Shared, job: Job, earlier: Checkpoint | None
) -> tuple[JobResult | None, Checkpoint | None]:
    """Run a job, on a node."""
    return _worker(shared).train(job, earlier)


@functools.lru_cache(maxsize=1)
def _worker(shared: Shared) -> Worker:
    """The worker of this process, which caches the encoded data that jobs share."""
    return Worker(shared.get(), lambda: False)


# ---- comparisons -------------------------------------------------------------------------------


def run_planned_on_cluster(
    planned: Sequence[PlannedRun],
    todo: Sequence[int],
    ray: Any,
    *,
    whole_objective: bool,
    check: Callable[[], None],
) -> Generator[tuple[int, Outcome | DivergenceError], None, None]:
    """Yield the outcome of runs with their numbers, as they finish.

    Args:
        planned: The runs.
        todo: The numbers of those that are to be made.
        ray: The module, connected to a cluster.
        whole_objective: As for ``run_candidate``.
        check: A function that raises where the comparison is to be interrupted.
    """
    largest = max([1, *(int(node["Resources"].get("CPU", 0)) for node in _nodes(ray))])
    with Tasks(ray) as tasks:
        distinct = {id(run.problem): run.problem for run in planned}
        problems = {key: tasks.share(problem) for key, problem in distinct.items()}
        needed = [_cpus(run.candidate, largest) for run in planned]
        # Those that need many CPUs come first: they would wait until all others are finished.
        for number in sorted(todo, key=lambda number: -needed[number]):
            run, cpus = planned[number], needed[number]
            settings = replace(run.settings, threads=cpus)
            arguments = problems[id(run.problem)], run.candidate, settings, whole_objective
            tasks.submit(number, _run_planned, *arguments, cpus=cpus)
        for task in tasks.finished(check):
            try:
                outcome = tasks.result(task)
            except DivergenceError as error:
                outcome = error
            yield task.item, outcome


def _cpus(candidate: Candidate, largest: int) -> int:
    """The CPUs of a run, whose number changes no result: a batch algorithm takes a whole node."""
    return min(int(candidate.values["orders"]), largest) if candidate.algorithm.online else largest


def _run_planned(
    shared: Shared, candidate: Candidate, settings: TrainingSettings, whole_objective: bool
) -> Outcome:
    """Train a candidate, on a node."""
    return run_candidate(shared.get(), candidate, settings, whole_objective, ())
