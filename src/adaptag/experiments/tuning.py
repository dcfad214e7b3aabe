"""Choosing settings on training data alone: cross-validation with successive halving.

All combinations of values are trained for a few passes on each fold. The better half continues
until it has made twice as many passes, and so on, until few are left, which make all passes
(Jamieson and Talwalkar 2016, "Non-stochastic best arm identification and hyperparameter
optimization").
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import build, core, cores
from adaptag.corpus.documents import Documents
from adaptag.errors import ParameterError, counted
from adaptag.experiments.declarations import TAGGING
from adaptag.experiments.jobs import Job, Search, run_jobs
from adaptag.experiments.progress import Progress, TuningCallback, TuningProgress
from adaptag.experiments.space import configurations, space_of
from adaptag.experiments.state import State
from adaptag.experiments.tasks import task_of
from adaptag.experiments.trials import ONE_PART, Trial, Tuning, json_value
from adaptag.storage.encodings import TextFile
from adaptag.training.algorithms import algorithm as find_algorithm
from adaptag.training.saving import Every
from adaptag.training.settings import TrainingSettings
from adaptag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.columns import ColumnFormat
    from adaptag.experiments.state import JobResult
    from adaptag.experiments.tasks import Task
    from adaptag.settings import Value
    from adaptag.storage.files import PathLike

__all__ = ["Progress", "Trial", "Tuning", "TuningCallback", "folds_of", "rungs_of", "tune"]

FIRST_PASSES = 3  # minimum before a trial can be dropped
PASSES_FACTOR = 2  # times the default of an online algorithm: the maximum number of passes


def tune(
    data: Any,
    *,
    task: Task | str = TAGGING.name,
    algorithm: str = "adf",
    space: Mapping[str, Iterable[Value]] | None = None,
    also: Iterable[str] = (),
    folds: int = 4,
    held_out: float | None = None,
    shuffle: bool = False,
    passes: int | None = None,
    finalists: int | None = 2,
    seed: int = 1,
    jobs: int | None = None,
    cluster: str | None = None,
    checkpoint: PathLike | None = None,
    every: int | str | None = None,
    restart: bool = False,
    callbacks: Sequence[TuningCallback] = (),
    verbose: bool = False,
    **options: Any,
) -> Tuning:
    """Choose settings by cross-validation on the training data.

    For each fold the features come from its training part alone. The score of a trial is the best
    mean of its folds over the passes, and that number of passes is chosen. Of equal scores the
    smaller sigma is chosen, then the greater l1, the greater cutoff, the lower rate, and the
    earlier combination. The result does not depend on ``jobs``, nor on the cluster.

    Args:
        data: The training data in any form that the task takes, or a pair of data and labels; not
            an encoded dataset, whose features come from all of the data.
        task: What is trained: ``tagging``, ``segmentation`` or ``classification``; or a task with
            its settings, from ``adaptag.experiments.tasks``.
        algorithm: The name of the algorithm to tune.
        space: Values to try, by name; one value fixes a setting. By default rate, sigma, l1,
            aggressiveness, gamma and confidence are searched, as far as the algorithm has them.
            Settings of features that declare values to try, such as ``cutoff``, are allowed too; a
            ``window`` may be a fraction of the sentences, ``"n/10"``.
        also: Further names to search: alpha, beta, window, and settings of features that declare
            values to try, such as cutoff.
        folds: The number of folds; each is held out once.
        held_out: Instead of folds, hold out this fraction of the sentences, once.
        shuffle: Assign sentences to folds at random. By default each fold is a contiguous part of
            the data, which keeps documents together; shuffle data that is sorted.
        passes: The maximum number of passes; by default twice the algorithm's own for online
            algorithms, and the algorithm's own for batch algorithms.
        finalists: Halving ends when this many trials are left; None means no halving.
        seed: The seed of the sentence order in training, and of ``shuffle``.
        jobs: The number of processes; by default one per core. With more than one, a script needs
            ``if __name__ == "__main__":``, as Python's multiprocessing does.
        cluster: Instead of processes on this machine, the address of a Ray cluster, ``auto`` or
            ``local``; see ``adaptag.ray.connect``.
        checkpoint: A file for finished jobs, with a folder beside it for the state of those that
            are running: the same call continues from there later.
        every: How often that state is saved: a number of passes, or a time such as ``"5m"``. By
            default once a minute.
        restart: Start over and discard the content of the file.
        callbacks: Called during the search.
        verbose: Show the progress: a line per round, and a bar on a terminal and in a notebook.
        **options: The settings of the task that all trials share: for tagging ``template``,
            ``rich_edges``, ``metric`` and so on, and ``format``; see
            [the settings](guide/settings.md).

    Raises:
        KeyboardInterrupt: On Ctrl-C; finished jobs are in the file ``checkpoint``.

    Examples:
        >>> from adaptag.corpus.ingredients import ingredients
        >>> from adaptag.experiments.tuning import tune
        >>> lines = ingredients(train=80, dev=0, test=0).train
        >>> data = [list(zip(line.tokens, line.labels)) for line in lines]
        >>> result = tune(data, space={"rate": [0.001, 0.1], "sigma": [5]}, passes=4, jobs=1)
        >>> result.settings
        {'rate': 0.1, 'sigma': 5.0}
    """
    declaration = find_algorithm(algorithm)
    TrainingSettings(passes=passes, seed=seed).check()
    for name, value in (("finalists", finalists), ("jobs", jobs)):
        if value is not None and value < 1:
            raise ParameterError(f"{name} is {value}; allowed: 1 or more")
    if jobs is not None and cluster is not None:
        raise ParameterError("jobs are processes on this machine; a cluster uses all its CPUs")
    interval = Every.of(every)
    resolved_task = task_of(task, options)
    values = space_of(declaration, space, also, resolved_task.declaration.searchable())
    for name in values:
        if name in resolved_task.settings:
            raise ParameterError(f"{name} is given both as a setting and as values to try")
    trials = [Trial(number, settings) for number, settings in enumerate(configurations(values))]
    declared = resolved_task.declaration.declared()
    for trial in trials:
        resolved_task.check({name: v for name, v in trial.settings.items() if name in declared})
    corpus = resolved_task.read(data)
    parts = folds_of(len(corpus), folds, held_out, seed if shuffle else None)
    prepared = resolved_task.prepared(corpus)
    max_passes = passes or declaration.passes * (PASSES_FACTOR if declaration.online else 1)
    rungs = rungs_of(len(trials), max_passes, finalists)
    split = f"{folds} folds" if held_out is None else f"{held_out:g} held out"
    description = {
        "adaptag": f"{__version__} ({build})",
        "task": resolved_task.declaration.name,
        "data": _checksum(corpus),
        "split": f"{split}, shuffled" if shuffle else split,
        "algorithm": algorithm,
        "space": {name: [json_value(v) for v in tried] for name, tried in values.items()},
        "rungs": rungs,
        "seed": seed,
        **prepared.record(),
    }
    with contextlib.ExitStack() as stack:
        ray = None
        if cluster is not None:
            from adaptag.experiments.cluster import connect, run_jobs_on_cluster

            ray = stack.enter_context(connect(cluster))
        state = stack.enter_context(State(checkpoint, description, restart=restart))
        search = Search(prepared, corpus, parts, algorithm, seed, state.folder, interval)
        runner = (
            run_jobs(search, jobs or cores()) if ray is None else run_jobs_on_cluster(search, ray)
        )
        run = stack.enter_context(runner)
        if verbose:
            callbacks = [*callbacks, stack.enter_context(TuningProgress())]
        _successive_halving(search, trials, rungs, state, run, callbacks)
    return Tuning(
        algorithm=algorithm,
        data=os.fspath(data) if isinstance(data, (str, os.PathLike)) else "TRAIN",
        sentences=len(corpus),
        metric=resolved_task.metric(corpus),
        parts=f"{folds} folds" if held_out is None else ONE_PART,
        space=values,
        rungs=tuple(rungs),
        trials=tuple(sorted(trials, key=lambda trial: trial.rank)),
        seed=seed,
        options=(
            *resolved_task.words(),
            *_format_words(resolved_task.format),
            *(["--encoding", data.encoding] if isinstance(data, TextFile) else []),
        ),
        task=resolved_task.declaration.name,
    )


def folds_of(
    sentences: int, folds: int, held_out: float | None = None, seed: int | None = None
) -> tuple[NDArray[np.int64], ...]:
    """The indices of the held-out sentences of each fold; with a seed they are drawn at random."""
    if sentences < 2:
        raise ParameterError(
            f"the training data has {counted(sentences, 'sentence')}; allowed: 2 or more, of "
            "which some are held out"
        )
    order = np.arange(sentences)
    if seed is not None:
        order = np.random.default_rng(seed).permutation(sentences)
    if held_out is not None:
        if not 0 < held_out < 1:
            raise ParameterError(f"held_out is {held_out}; allowed: between 0 and 1")
        first = sentences - round(held_out * sentences)
        if not 0 < first < sentences:
            raise ParameterError(
                f"held_out is {held_out}; of {sentences} sentences both parts need one"
            )
        return (np.sort(order[first:]),)
    if not 2 <= folds <= sentences:
        raise ParameterError(f"folds is {folds}; allowed: 2 to {sentences}, the sentences")
    bounds = [sentences * k // folds for k in range(folds + 1)]
    return tuple(np.sort(order[bounds[k] : bounds[k + 1]]) for k in range(folds))


def rungs_of(trials: int, passes: int, finalists: int | None) -> list[tuple[int, int]]:
    """The rounds of successive halving: the number of trials and of passes of each."""
    sizes, levels = [trials], [passes]
    while finalists is not None and sizes[-1] > finalists:
        sizes.append(max(finalists, -(-sizes[-1] // 2)))
    while len(levels) < len(sizes) and FIRST_PASSES <= -(-levels[0] // 2) < levels[0]:
        levels.insert(0, -(-levels[0] // 2))
    return list(zip(sizes, levels, strict=False))


def _successive_halving(
    search: Search,
    trials: list[Trial],
    rungs: list[tuple[int, int]],
    state: State,
    run: Callable[[Sequence[Job]], Iterator[JobResult]],
    callbacks: Sequence[TuningCallback],
) -> None:
    """Train the trials, round by round.

    A trial's score is its best so far: it never falls, so no trial that was dropped ends above one
    that continued.
    """
    n_folds = len(search.held_out)
    alive, best = trials, None
    for rung, (size, passes) in enumerate(rungs, 1):
        alive = sorted(alive, key=lambda trial: trial.rank)[:size] if rung > 1 else alive
        _remove_checkpoints(search, {trial.number for trial in alive})
        planned = [
            Job(trial.number, trial.settings, fold, passes, may_continue=rung < len(rungs))
            for fold in range(n_folds)  # fold by fold: processes cache its data
            for trial in alive
            if not (trial.ended and trial.ended[fold])
        ]
        finished = {(d.number, d.fold): d for d in state.done.values() if d.passes == passes}
        todo = [job for job in planned if (job.number, job.fold) not in finished]
        done = len(planned) - len(todo)

        def report_progress() -> None:
            for callback in callbacks:
                callback.on_progress(
                    Progress(rung, len(rungs), size, passes, done, len(planned), best)  # noqa: B023
                )

        report_progress()
        for result in run(todo):
            state.add(result)
            finished[result.number, result.fold] = result
            done += 1
            report_progress()
        for trial in alive:
            _add_results(trial, [finished.get((trial.number, fold)) for fold in range(n_folds)])
        best = min(alive, key=lambda trial: trial.rank)


def _add_results(trial: Trial, results: list[JobResult | None]) -> None:
    """Add the results of a round to a trial; a fold without a result had stopped before."""
    if not trial.scores:
        trial.scores = [[] for _ in results]
        trial.ended, trial.fold_seconds = [False] * len(results), [0.0] * len(results)
    for fold, result in enumerate(results):
        if result is not None:
            trial.scores[fold], trial.ended[fold] = result.scores, result.ended
            trial.fold_seconds[fold] = result.seconds


def _remove_checkpoints(search: Search, alive: set[int]) -> None:
    """Remove the checkpoints of trials that were dropped."""
    for path in search.folder.glob("*-*"):
        if path.name.split("-")[0] not in map(str, alive):
            path.unlink(missing_ok=True)


def _checksum(corpus: Any) -> int:
    """Checksum of the sentences and their labels."""
    sentences = corpus.corpus if isinstance(corpus, Documents) else corpus
    values = [getattr(sentences, item.name) for item in fields(sentences)]
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    if hasattr(sentences, "number_labels"):
        labels, names = sentences.number_labels()
        arrays += [labels, np.frombuffer("\n".join(names).encode(), np.uint8)]
    total = 0
    for array in arrays:
        total = core.checksum(np.ascontiguousarray(array).reshape(-1).view(np.uint8), total)
    return int(total)


def _format_words(format: ColumnFormat | str | None) -> list[str]:  # noqa: A002
    """The options of ``adaptag train`` that say how files are written."""
    if format is None or isinstance(format, str):
        return ["--format", format] if format not in (None, "columns") else []
    words = ["--separator", format.separator] if format.separator != "auto" else []
    words += ["--comment", format.comment] if format.comment else []
    return [*words, "--skip-docstart"] if format.skip_docstart else words
