"""Comparison of algorithms: the same data, the same order of sentences, one run.

``compare`` encodes the training data of a task once, for all algorithms. ``compare_candidates``
takes a problem for each candidate, so their features may differ. For a seed, every online algorithm
sees the sentences in the same order, pass by pass. After each pass the weights are scored on the
test data, which is not counted as training time. An iteration of a batch algorithm counts as a
pass; the order of sentences has no effect on it, so it is trained once, whatever the number of
seeds.
"""

from __future__ import annotations

import contextlib
import math
import os
import platform
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import build, cores
from adaptag.errors import DivergenceError, ParameterError
from adaptag.experiments.candidates import Candidate, check_candidates
from adaptag.experiments.declarations import TAGGING
from adaptag.experiments.progress import RunProgress
from adaptag.experiments.results import Comparison, Entry, Significance
from adaptag.experiments.run_state import RunState
from adaptag.experiments.runs import Outcome, PlannedRun, run_candidate
from adaptag.experiments.significance import (
    block_scores,
    paired_t_test,
    randomisation_test,
    require_scipy,
)
from adaptag.experiments.tasks import task_of
from adaptag.training.interrupts import Interrupts
from adaptag.training.result import INTERRUPT
from adaptag.training.saving import Every
from adaptag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from adaptag.experiments.problem import Problem
    from adaptag.experiments.results import Run
    from adaptag.experiments.tasks import Task
    from adaptag.settings import Value
    from adaptag.storage.files import PathLike
    from adaptag.training.callbacks import Callback

__all__ = ["compare", "compare_candidates", "machine"]


def compare(
    train: Any,
    test: Any,
    *,
    task: Task | str = TAGGING.name,
    algorithms: Sequence[str] = ("adf", "sgd"),
    passes: int | None = None,
    seeds: Sequence[int] = (1,),
    parameters: Mapping[str, Mapping[str, Value]] | None = None,
    callbacks: Sequence[Callback] = (),
    on_run: Callable[[str, int | None, int, int], None] | None = None,
    on_result: Callable[[str, int | None, int, int, Run], None] | None = None,
    cluster: str | None = None,
    checkpoint: PathLike | None = None,
    every: int | str | None = None,
    restart: bool = False,
    verbose: bool = False,
    **options: Any,
) -> Comparison:
    """Train algorithms on the same data, and score each of them after each pass.

    Args:
        train: Training data in any form that the task takes, or a pair of data and labels.
        test: Labelled data to score on, likewise.
        task: What is trained: ``tagging``, ``segmentation`` or ``classification``; or a task with
            its settings, from ``adaptag.experiments.tasks``.
        algorithms: Names of algorithms. ``slow=sgd`` is the algorithm ``sgd`` by the name ``slow``:
            so one algorithm can be compared with several settings. The others are tested against
            the first.
        passes: The number of passes; by default each algorithm's own.
        seeds: The seeds of the sentence orders.
        parameters: Settings by the name of the algorithm; ``passes`` may be among them.
        callbacks: Called during each training, and can stop it.
        on_run: Called before each training with the algorithm's name, the seed (none for a batch
            algorithm), the number of the training, and how many there are.
        on_result: Called after each training with the algorithm's name, the seed, how many are
            finished, how many there are, and the run.
        cluster: The address of a Ray cluster, ``auto`` or ``local``; see ``adaptag.ray.connect``.
            Its trainings run at the same time, and give the same scores. There are no ``callbacks``
            and no ``on_run`` then.
        checkpoint: A file for finished runs, with a folder beside it for the state of the one that
            is going on: the same call continues from there later.
        every: How often that state is saved: a number of passes, or a time such as ``"5m"``. By
            default once a minute.
        restart: Start over and discard the content of that file.
        verbose: Show the progress: a line per training, and a bar on a terminal and in a notebook.
        **options: The settings of the task: for tagging ``template``, ``cutoff`` and so on, and
            ``format``; see [the settings](guide/settings.md).

    Returns:
        The comparison. Ctrl-C keeps the algorithms that were finished, with all seeds.
    """
    candidates = check_candidates(algorithms, parameters or {}, passes)
    _check_seeds(seeds)
    _check_callbacks(cluster, callbacks, on_run)
    resolved_task = task_of(task, options)
    require_scipy()
    problem = resolved_task.problem(train, test)
    with contextlib.ExitStack() as stack:
        if verbose:
            progress = stack.enter_context(RunProgress())
            if cluster is None:
                callbacks = [*callbacks, progress]
                on_run = _both(on_run, progress.on_run)
            else:
                on_result = _both(on_result, progress.on_result)
        return compare_candidates(
            [(candidate, problem) for candidate in candidates],
            seeds=seeds,
            callbacks=callbacks,
            on_run=on_run,
            on_result=on_result,
            cluster=cluster,
            checkpoint=checkpoint,
            every=every,
            restart=restart,
        )


def compare_candidates(
    candidates: Sequence[tuple[Candidate, Problem]],
    *,
    seeds: Sequence[int] = (1,),
    whole_objective: bool = False,
    callbacks: Sequence[Callback] = (),
    on_run: Callable[[str, int | None, int, int], None] | None = None,
    on_result: Callable[[str, int | None, int, int, Run], None] | None = None,
    cluster: str | None = None,
    checkpoint: PathLike | None = None,
    every: int | str | None = None,
    restart: bool = False,
) -> Comparison:
    """Train every candidate on its problem, and score it after each pass.

    Args:
        candidates: Each with its problem; all have the same test sentences. The others are tested
            against the first, and sizes of data are those of its problem.
        seeds: The seeds of the sentence orders.
        whole_objective: After each pass, compute the objective of the weights on all training
            data, regularisation included, instead of the loss accumulated during the pass.
        callbacks: As in ``compare``.
        on_run: As in ``compare``.
        on_result: As in ``compare``.
        cluster: As in ``compare``.
        checkpoint: As in ``compare``.
        every: As in ``compare``.
        restart: As in ``compare``.

    Raises:
        DivergenceError: No algorithm was finished, and training diverged. Where only some diverge,
            the comparison names them in ``errors`` and has the others.
    """
    _check_seeds(seeds)
    _check_callbacks(cluster, callbacks, on_run)
    require_scipy()
    planned = [
        PlannedRun(c, problem, seed, c.settings(seeds[0] if seed is None else seed))
        for c, problem in candidates
        for seed in (seeds if c.algorithm.online else [None])
    ]
    state = RunState(
        checkpoint,
        planned,
        whole_objective=whole_objective,
        every=Every.of(every),
        restart=restart,
    )
    results: dict[int, Outcome | DivergenceError] = {**state.done}
    todo = [number for number in range(len(planned)) if number not in results]
    where = machine()
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(KeyboardInterrupt))
        stack.enter_context(state)
        interrupts = stack.enter_context(Interrupts())
        if cluster is None:
            runs = _run_here(
                planned, todo, whole_objective, interrupts.check, callbacks, on_run, state
            )
        else:
            from adaptag.experiments.cluster import connect, describe, run_planned_on_cluster

            ray = stack.enter_context(connect(cluster))
            where |= {"cluster": describe(ray)}
            runs = run_planned_on_cluster(
                planned, todo, ray, whole_objective=whole_objective, check=interrupts.check
            )
        for number, result in stack.enter_context(contextlib.closing(runs)):
            results[number] = result
            if isinstance(result, Outcome):
                state.add(number, result)
            if on_result is not None and isinstance(result, Outcome):
                name, seed = planned[number].candidate.name, planned[number].seed
                on_result(name, seed, len(results), len(planned), result.run)
    outcomes: dict[str, list[Outcome]] = {candidate.name: [] for candidate, _ in candidates}
    errors: dict[str, str] = {}
    for number in sorted(results):
        name, result = planned[number].candidate.name, results[number]
        if isinstance(result, Outcome):
            outcomes[name].append(result)
        else:
            errors.setdefault(name, str(result))
    finished = [
        (candidate, problem)
        for candidate, problem in candidates
        if len(outcomes[candidate.name]) == sum(run.candidate is candidate for run in planned)
    ]
    if len(errors) == len(candidates):
        raise DivergenceError("; ".join(errors.values()))
    first = candidates[0][1]
    return Comparison(
        first.train,
        first.test,
        first.labels,
        first.features,
        first.metric,
        dict(first.feature_settings),
        tuple(seeds),
        tuple(
            _entry(candidate, problem, outcomes[candidate.name]) for candidate, problem in finished
        ),
        tuple(c.name for c, p in candidates if (c, p) not in finished and c.name not in errors),
        tuple(_significance([(c.name, outcomes[c.name]) for c, _ in finished], len(seeds))),
        where,
        errors,
    )


def _run_here(
    planned: Sequence[PlannedRun],
    todo: Sequence[int],
    whole_objective: bool,
    check: Callable[[], None],
    callbacks: Sequence[Callback],
    on_run: Callable[[str, int | None, int, int], None] | None,
    state: RunState,
) -> Generator[tuple[int, Outcome | DivergenceError], None, None]:
    """Make the runs in this process, in turn; an algorithm that diverged is not run again."""
    diverged = set()
    for number in todo:
        check()
        run = planned[number]
        name = run.candidate.name
        if name in diverged:
            continue
        if on_run is not None:
            on_run(name, run.seed, number + 1, len(planned))
        result: Outcome | DivergenceError
        try:
            result = run_candidate(
                run.problem,
                run.candidate,
                run.settings,
                whole_objective,
                callbacks,
                partial(state.file, number),
            )
        except DivergenceError as error:
            diverged.add(name)
            result = error
        yield number, result
        if isinstance(result, Outcome) and result.run.stopped == INTERRUPT:
            return


def _both(first: Callable[..., None] | None, second: Callable[..., None]) -> Callable[..., None]:
    """One function that calls two, where there are two."""

    def call(*arguments: Any) -> None:
        if first is not None:
            first(*arguments)
        second(*arguments)

    return call


def _check_callbacks(cluster: str | None, callbacks: Sequence[Callback], on_run: object) -> None:
    if cluster is not None and (callbacks or on_run is not None):
        raise ParameterError("on a cluster there are no callbacks and no on_run; use on_result")


def _check_seeds(seeds: Sequence[int]) -> None:
    if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise ParameterError(f"seeds are {list(seeds)}; allowed: different numbers, 0 or more")


def machine() -> dict[str, str]:
    """What the times of a comparison depend on."""
    model = None
    if Path("/proc/cpuinfo").exists():
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        model = re.search(r"model name\s*: (.*)", text)
    return {
        "processor": model[1] if model else platform.processor() or platform.machine(),
        "cores": f"{cores()} of {os.cpu_count() or 1}",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "adaptag": f"{__version__} (core {build})",
    }


def _entry(candidate: Candidate, problem: Problem, outcomes: Sequence[Outcome]) -> Entry:
    values = {n: "inf" if v == math.inf else v for n, v in candidate.values.items()}
    runs = tuple(outcome.run for outcome in outcomes)
    algorithm = candidate.algorithm
    return Entry(candidate.name, algorithm.name, algorithm.online, values, problem.weights, runs)


def _significance(
    finished: Sequence[tuple[str, Sequence[Outcome]]], seeds: int
) -> list[Significance]:
    """Test every algorithm against the first, by the outputs after the last pass.

    Counts are means over seeds, times the number of seeds: so those of a batch algorithm, which has
    one run, weigh as much as the others'.
    """
    results = []
    columns = [
        (name, outcomes * (seeds // len(outcomes)))
        for name, outcomes in ((name, list(outcomes)) for name, outcomes in finished)
    ]
    for name, outcomes in columns[1:]:
        first, others = columns[0]
        a, b = (np.sum([o.counts for o in side], axis=0) for side in (outcomes, others))
        ends_a, ends_b = ([o.run.scores[-1] for o in side] for side in (outcomes, others))
        results.append(
            Significance(
                name,
                first,
                float(np.mean(ends_a) - np.mean(ends_b)),
                paired_t_test(block_scores(a).tolist(), block_scores(b).tolist()),
                randomisation_test(a, b),
                paired_t_test(ends_a, ends_b),
            )
        )
    return results
