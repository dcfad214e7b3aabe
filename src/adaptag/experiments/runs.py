"""A run of a comparison: a candidate is trained, and scored after each pass."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.errors import DivergenceError, ModelError
from adaptag.experiments.problem import CountScorer
from adaptag.experiments.results import Run
from adaptag.experiments.significance import f1
from adaptag.training.callbacks import Callback
from adaptag.training.initial_rate import objective
from adaptag.training.result import DIVERGED, INTERRUPT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.experiments.candidates import Candidate
    from adaptag.experiments.problem import Part, Problem
    from adaptag.settings import Value
    from adaptag.training.checkpoint import Checkpoint
    from adaptag.training.job import Result
    from adaptag.training.saving import CheckpointFile
    from adaptag.training.settings import TrainingSettings

__all__ = [
    "ZERO_TOLERANCE",
    "Outcome",
    "PlannedRun",
    "active_weights",
    "run_candidate",
]

ZERO_TOLERANCE = 1e-6  # times the largest weight: smaller ones are rounding errors and count as 0


def active_weights(weights: NDArray[np.float32]) -> int:
    """Count the weights larger than ``ZERO_TOLERANCE`` times the largest, in absolute value.

    Weights that were moved up and down by the same amounts, or averaged, are not always exactly 0;
    float32 leaves a few units in the eighth place.
    """
    sizes = np.abs(weights)
    return int(np.count_nonzero(sizes > ZERO_TOLERANCE * sizes.max(initial=0)))


@dataclass(frozen=True, eq=False)
class Outcome:
    """A run, and the counts of every test sentence after the last pass, int64 ``[N, 3]``."""

    run: Run
    counts: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PlannedRun:
    """A run that a comparison will make.

    Attributes:
        candidate: What is trained.
        problem: What it is trained on.
        seed: The seed of the sentence order; None for a batch algorithm.
        settings: The settings of training.
    """

    candidate: Candidate
    problem: Problem
    seed: int | None
    settings: TrainingSettings


class _StartTime(Callback):
    """Records when the first pass begins."""

    began = 0.0

    def on_start(self, passes: int, sentences: int) -> None:  # noqa: ARG002
        self.began = time.perf_counter()


def run_candidate(
    problem: Problem,
    candidate: Candidate,
    settings: TrainingSettings,
    whole_objective: bool,
    callbacks: Sequence[Callback],
    file: Callable[[int], tuple[CheckpointFile | None, Checkpoint | None]] | None = None,
) -> Outcome:
    """Train on every part, and score after each pass.

    Counts are added up over the parts; seconds, objective and active weights are their means. A
    part that stopped before the others stays as it was.

    Args:
        problem: What is trained on.
        candidate: What is trained.
        settings: The settings of training.
        whole_objective: As in ``compare_candidates``.
        callbacks: Called during the training.
        file: Gives, for the number of a part, the file of the checkpoint of its training, and what
            is in that file.

    Raises:
        DivergenceError: Training diverged, on any part and in any pass.
    """
    trained: list[_Trained] = []
    for number, part in enumerate(problem.parts):
        if trained and trained[-1].result.stopped == INTERRUPT:
            raise KeyboardInterrupt
        saving = (None, None) if file is None else file(number)
        trained.append(_train(part, settings, whole_objective, callbacks, *saving))
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
    return Outcome(run, counts)


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

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What is noted, by name."""
        return {
            "rows": self.rows,
            "sums": np.array(self.sums, np.int64).reshape(-1, 3),
            "active": np.array(self.active, np.int64),
            "losses": np.array(self.losses, np.float64),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]], passes: int) -> None:
        """Note the ``arrays`` of another scorer, as far as these many passes."""
        try:
            self.rows = arrays["rows"].copy()
            self.sums = list(arrays["sums"][:passes].copy())
            self.active = arrays["active"][:passes].tolist()
            self.losses = arrays["losses"][:passes].tolist()
        except KeyError:
            raise ModelError("the checkpoint is not that of a comparison") from None


def _train(
    part: Part,
    settings: TrainingSettings,
    whole_objective: bool,
    callbacks: Sequence[Callback],
    checkpoint: CheckpointFile | None,
    resume: Checkpoint | None,
) -> _Trained:
    scorer = _CurveScorer(part, settings.values() if whole_objective else None)
    begin, start = time.perf_counter(), _StartTime()
    result = part.run(
        settings,
        scorer=scorer,
        resume=resume,
        checkpoint=checkpoint,
        callbacks=[start, *callbacks],
    )
    if result.stopped == DIVERGED:
        raise DivergenceError(result.error)
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
