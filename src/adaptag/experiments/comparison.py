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
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import build, cores
from adaptag.errors import DivergenceError, ParameterError, unknown
from adaptag.experiments.declarations import TAGGING
from adaptag.experiments.problem import CountScorer
from adaptag.experiments.results import Comparison, Entry, Run, Significance
from adaptag.experiments.significance import (
    block_scores,
    f1,
    paired_t_test,
    randomisation_test,
    require_scipy,
)
from adaptag.experiments.tasks import task_of
from adaptag.training.algorithms import algorithm as find_algorithm
from adaptag.training.callbacks import Callback
from adaptag.training.initial_rate import objective
from adaptag.training.interrupts import Interrupts
from adaptag.training.settings import NEVER, TrainingSettings
from adaptag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.experiments.problem import Part, Problem
    from adaptag.experiments.tasks import Task
    from adaptag.settings import Value
    from adaptag.training.declarations import Algorithm
    from adaptag.training.job import Result

__all__ = [
    "ZERO_TOLERANCE",
    "Candidate",
    "active_weights",
    "check_candidates",
    "compare",
    "compare_candidates",
]

ZERO_TOLERANCE = 1e-6  # times the largest weight: smaller ones are rounding errors and count as 0
NAME = re.compile(r"[A-Za-z][\w.+-]*", re.ASCII)
PASSES = "passes"
INTERRUPT = "interrupt"  # why training ended


@dataclass(frozen=True)
class Candidate:
    """An algorithm with its settings, checked.

    Attributes:
        name: The name in the comparison.
        algorithm: The declaration of the algorithm.
        values: All parameters of the algorithm, defaults included.
        passes: The number of passes; None means the algorithm's default.
    """

    name: str
    algorithm: Algorithm
    values: dict[str, Value]
    passes: int | None

    def settings(self, seed: int) -> TrainingSettings:
        """The settings of a training: all passes are made, whatever their scores."""
        return TrainingSettings(
            algorithm=self.algorithm.name,
            parameters=self.values,
            passes=self.passes,
            seed=seed,
            patience=NEVER,
        )


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
        **options: The settings of the task: for tagging ``template``, ``cutoff`` and so on, and
            ``format``; see [the settings](guide/settings.md).

    Returns:
        The comparison. Ctrl-C keeps the algorithms that were finished, with all seeds.
    """
    candidates = check_candidates(algorithms, parameters or {}, passes)
    _check_seeds(seeds)
    resolved_task = task_of(task, options)
    require_scipy()
    problem = resolved_task.problem(train, test)
    return compare_candidates(
        [(candidate, problem) for candidate in candidates],
        seeds=seeds,
        callbacks=callbacks,
        on_run=on_run,
    )


def compare_candidates(
    candidates: Sequence[tuple[Candidate, Problem]],
    *,
    seeds: Sequence[int] = (1,),
    whole_objective: bool = False,
    callbacks: Sequence[Callback] = (),
    on_run: Callable[[str, int | None, int, int], None] | None = None,
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

    Raises:
        DivergenceError: No algorithm was finished, and training diverged. Where only some diverge,
            the comparison names them in ``errors`` and has the others.
    """
    _check_seeds(seeds)
    require_scipy()
    planned = [
        (candidate, problem, seed)
        for candidate, problem in candidates
        for seed in (seeds if candidate.algorithm.online else [None])
    ]
    outcomes: dict[str, list[_Outcome]] = {candidate.name: [] for candidate, _ in candidates}
    errors: dict[str, str] = {}
    with contextlib.suppress(KeyboardInterrupt), Interrupts() as interrupts:
        for number, (candidate, problem, seed) in enumerate(planned, 1):
            interrupts.check()
            if candidate.name in errors:
                continue
            if on_run is not None:
                on_run(candidate.name, seed, number, len(planned))
            settings = candidate.settings(seeds[0] if seed is None else seed)
            try:
                outcome = _run(problem, candidate, settings, whole_objective, callbacks)
            except DivergenceError as error:
                errors[candidate.name] = str(error)
                continue
            outcomes[candidate.name].append(outcome)
            if outcome.run.stopped == INTERRUPT:
                break
    finished = [
        (candidate, problem)
        for candidate, problem in candidates
        if len(outcomes[candidate.name]) == sum(c is candidate for c, _, _ in planned)
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
        machine(),
        errors,
    )


def _check_seeds(seeds: Sequence[int]) -> None:
    if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise ParameterError(f"seeds are {list(seeds)}; allowed: different numbers, 0 or more")


def active_weights(weights: NDArray[np.float32]) -> int:
    """Count the weights larger than ``ZERO_TOLERANCE`` times the largest, in absolute value.

    Weights that were moved up and down by the same amounts, or averaged, are not always exactly 0;
    float32 leaves a few units in the eighth place.
    """
    sizes = np.abs(weights)
    return int(np.count_nonzero(sizes > ZERO_TOLERANCE * sizes.max(initial=0)))


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


@dataclass(frozen=True, eq=False)
class _Outcome:
    """A run, and the counts of every test sentence after the last pass, int64 ``[N, 3]``."""

    run: Run
    counts: NDArray[np.int64]


class _StartTime(Callback):
    """Records when the first pass begins."""

    began = 0.0

    def on_start(self, passes: int, sentences: int) -> None:  # noqa: ARG002
        self.began = time.perf_counter()


def _run(
    problem: Problem,
    candidate: Candidate,
    settings: TrainingSettings,
    whole_objective: bool,
    callbacks: Sequence[Callback],
) -> _Outcome:
    """Train on every part, and score after each pass.

    Counts are added up over the parts; seconds, objective and active weights are their means. A
    part that stopped before the others stays as it was.
    """
    trained: list[_Trained] = []
    for part in problem.parts:
        if trained and trained[-1].result.stopped == INTERRUPT:
            raise KeyboardInterrupt
        trained.append(_train(part, settings, whole_objective, callbacks))
    passes = max(len(part.sums) for part in trained)
    sums = np.sum([_extended(part.sums, passes) for part in trained], axis=0)
    curves = {
        name: np.mean([_extended(getattr(part, name), passes) for part in trained], axis=0)
        for name in ("seconds", "objective", "active")
    }
    counts = np.concatenate([part.counts for part in trained])
    first, last = trained[0].result, trained[-1].result
    run = Run(
        settings.seed,
        tuple(f1(sums).tolist()),
        tuple(curves["seconds"].tolist()),
        tuple(curves["objective"].tolist()),
        tuple(curves["active"].round().astype(int).tolist()),
        _percent(sums[-1, 0], sums[-1, 1]),
        _percent(sums[-1, 0], sums[-1, 2]),
        {n: float(v) for n, v in first.parameters.items() if v != candidate.values[n]},
        INTERRUPT if last.stopped == INTERRUPT else first.stopped,
    )
    return _Outcome(run, counts)


@dataclass(frozen=True, eq=False)
class _Trained:
    """A training on one part: curves with one value per pass, and the counts of the last pass."""

    result: Result
    sums: NDArray[np.int64]
    seconds: NDArray[np.float64]
    objective: NDArray[np.float64]
    active: NDArray[np.int64]
    counts: NDArray[np.int64]


class _CurveScorer(CountScorer):
    """Scores weights, and notes the curves of a training.

    Attributes:
        rows: The counts of every test sentence after the last pass.
        sums: Their sums after each pass.
        active: The number of active weights after each pass.
        losses: The objective after each pass, if it is computed.
    """

    def __init__(self, part: Part, values: Mapping[str, Value] | None) -> None:
        super().__init__(part.counts)
        self.train, self.values = part.train, values
        self.rows = np.zeros((0, 3), np.int64)
        self.sums: list[NDArray[np.int64]] = []
        self.active: list[int] = []
        self.losses: list[float] = []

    def __call__(self, weights: NDArray[np.float32]) -> float:
        self.rows = self.counts(weights)
        self.sums.append(self.rows.sum(axis=0))
        self.active.append(active_weights(weights))
        if self.values is not None:
            self.losses.append(objective(self.train, weights, self.values) / len(self.train))
        return float(f1(self.sums[-1]))


def _train(
    part: Part,
    settings: TrainingSettings,
    whole_objective: bool,
    callbacks: Sequence[Callback],
) -> _Trained:
    scorer = _CurveScorer(part, settings.values() if whole_objective else None)
    begin, start = time.perf_counter(), _StartTime()
    result = part.run(settings, scorer=scorer, callbacks=[start, *callbacks])
    n = len(result.history)
    if result.stopped == INTERRUPT and n < (settings.passes or settings.chosen.passes):
        raise KeyboardInterrupt
    seconds = start.began - begin + np.cumsum([report.seconds for report in result.history])
    return _Trained(
        result,
        np.array(scorer.sums[:n], np.int64).reshape(n, 3),
        np.asarray(seconds, np.float64),
        np.array(scorer.losses[:n] or [report.loss for report in result.history]),
        np.array(scorer.active[:n], np.int64),
        scorer.rows,
    )


def _extended(curve: NDArray[Any], passes: int) -> NDArray[Any]:
    """A curve that stays at its last value up to a number of passes."""
    missing = passes - len(curve)
    return np.concatenate([curve, np.repeat(curve[-1:], missing, axis=0)]) if missing else curve


def _percent(part: int, total: int) -> float:
    return 100 * float(part) / float(total) if total else 0.0


def check_candidates(
    algorithms: Sequence[str], parameters: Mapping[str, Mapping[str, Value]], passes: int | None
) -> list[Candidate]:
    """Check names and settings, before anything is read.

    Args:
        algorithms: The algorithms, as in ``compare``.
        parameters: The settings of each algorithm by its name; ``passes`` may be among them.
        passes: The number of passes of algorithms whose settings give none.
    """
    candidates: dict[str, Candidate] = {}
    for text in algorithms:
        name, _, other = text.partition("=")
        if name in candidates:
            raise ParameterError(
                f"algorithm {name!r} is given twice; another name for one: other={name}"
            )
        declaration = find_algorithm(other if "=" in text else name)
        if not NAME.fullmatch(name):
            raise ParameterError(
                f"name {name!r}; allowed: a letter, then letters, digits and . + - _"
            )
        settings = dict(parameters.get(name, {}))
        own_passes = _passes(name, settings.pop(PASSES, passes))
        candidates[name] = Candidate(name, declaration, declaration.values(settings), own_passes)
    if not candidates:
        raise ParameterError("no algorithm is given; expected one or more names")
    for name in parameters:
        if name not in candidates:
            raise ParameterError(f"settings of {unknown('algorithm', name, candidates)}")
    return list(candidates.values())


def _passes(name: str, value: Value | None) -> int | None:
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not (number >= 1 and number.is_integer()):
        raise ParameterError(f"{name}: passes is {value!r}; allowed: 1 or more")
    return int(number)


def _entry(candidate: Candidate, problem: Problem, outcomes: Sequence[_Outcome]) -> Entry:
    values = {n: "inf" if v == math.inf else v for n, v in candidate.values.items()}
    runs = tuple(outcome.run for outcome in outcomes)
    algorithm = candidate.algorithm
    return Entry(candidate.name, algorithm.name, algorithm.online, values, problem.weights, runs)


def _significance(
    finished: Sequence[tuple[str, Sequence[_Outcome]]], seeds: int
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
