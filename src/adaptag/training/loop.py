"""The pass loop: the same for every online algorithm, and its counterpart for batch ones."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.errors import ParameterError
from adaptag.training.algorithms import algorithm
from adaptag.training.arrays import aligned_zeros
from adaptag.training.batch import Objective, lbfgs, owlqn
from adaptag.training.calibration import calibrate
from adaptag.training.callbacks import Callback, PassReport
from adaptag.training.checkpoint import Checkpoint, checksum
from adaptag.training.declarations import AUTO
from adaptag.training.online import Trainer
from adaptag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples
    from adaptag.training.declarations import Algorithm, Value

    Score = Callable[[NDArray[np.float32]], float]

__all__ = ["Result", "fit"]

SLICE_TOKENS = 20_000  # between looks at the clock and at Ctrl-C


@dataclass
class Result:
    """What training gives.

    Attributes:
        algorithm: its name.
        weights: float32, in the dataset's layout.
        parameters: the algorithm's parameters, defaults included.
        seed: of the order of sentences.
        history: one report a pass.
        best: the pass whose weights these are.
        stopped: why training ended: ``passes``, ``converged`` (the algorithm's own rule),
            ``callback`` or ``interrupt``.
        keep: makes the checkpoint; batch algorithms have none.
    """

    algorithm: str
    weights: NDArray[np.float32]
    parameters: dict[str, Value]
    seed: int
    history: list[PassReport] = field(default_factory=list)
    best: int = 0
    stopped: str = "passes"
    keep: Callable[[], Checkpoint] | None = field(default=None, repr=False)

    @property
    def checkpoint(self) -> Checkpoint | None:
        """All that is needed to go on later; batch algorithms have none."""
        return None if self.keep is None else self.keep()

    def provenance(self) -> dict[str, Any]:
        """How the weights came about, ready for JSON."""
        return {
            "adaptag": __version__,
            "algorithm": self.algorithm,
            "parameters": self.parameters,
            "seed": self.seed,
            "stopped": self.stopped,
            "best_pass": self.best,
            "passes": [report.outcome() for report in self.history],
        }


def fit(
    dataset: Examples,
    *,
    algorithm_name: str = "adf",
    parameters: Mapping[str, Value] | None = None,
    passes: int | None = None,
    seed: int = 1,
    start: NDArray[np.float32] | None = None,
    resume: Checkpoint | None = None,
    score: Score | None = None,
    callbacks: Sequence[Callback] = (),
    threads: int | None = None,
) -> Result:
    """Train weights, pass after pass over the shuffled sentences.

    Args:
        dataset: the training data.
        algorithm_name: one of ``algorithms``.
        parameters: the algorithm's parameters that differ from their defaults.
        passes: passes at most; the algorithm's own number unless given.
        seed: of the order of sentences; the same seed gives the same bits.
        start: weights to start from, in the dataset's layout.
        resume: go on where an earlier run ended, with its algorithm, parameters and seed.
        score: scores weights on development data after each pass; the best weights are kept.
        callbacks: watch, and stop.
        threads: of a batch algorithm; one for each core unless given.

    Ctrl-C ends training early: the weights reached so far are returned.
    """
    chosen = algorithm(resume.algorithm if resume else algorithm_name)
    if passes is None:
        passes = chosen.passes
    if passes < 1:
        raise ParameterError(f"passes is {passes}; allowed: 1 or more")
    if resume:
        parameters, seed, start = resume.parameters, resume.seed, None
    if seed < 0:
        raise ParameterError(f"seed is {seed}; allowed: 0 or more")
    values = chosen.values(parameters or {})
    if values.get("rate") == AUTO:
        values["rate"] = calibrate(dataset, chosen, values, seed, start)
    run = _Run(dataset, chosen, values, passes, seed, score, callbacks)
    if chosen.online:
        run.online(start, resume)
    else:
        run.batch(start, threads)
    return run.result


class _Run:
    """One call of ``fit``: its reports, and the best weights so far."""

    def __init__(
        self,
        dataset: Examples,
        chosen: Algorithm,
        values: dict[str, Value],
        passes: int,
        seed: int,
        score: Score | None,
        callbacks: Sequence[Callback],
    ) -> None:
        self.dataset, self.chosen, self.passes = dataset, chosen, passes
        self.score, self.callbacks = score, callbacks
        self.result = Result(chosen.name, np.empty(0, np.float32), values, seed)
        self.best_weights: NDArray[np.float32] | None = None

    def online(self, start: NDArray[np.float32] | None, resume: Checkpoint | None) -> None:
        """Train with an online algorithm."""
        trainer = Trainer(self.dataset, self.chosen, self.result.parameters)
        if start is not None:
            trainer.weights[:] = start
        done = 0
        if resume:
            resume.restore(trainer, self.dataset)
            self.result.history += resume.history
            self.best_weights, self.result.best = resume.best_weights, resume.best
            done = len(resume.history)
        behind = self._behind(trainer, done)
        for callback in self.callbacks:
            callback.on_start(self.passes, len(self.dataset))
        try:
            for number, order in enumerate(self._orders(done), 1):
                rest, behind = order[behind:], 0
                loss, correct, tokens, seconds = self._pass(trainer, rest)
                # Nothing is left of a pass that was interrupted while it was scored.
                mean, share = loss / max(1, len(rest)), 100 * correct / max(1, tokens)
                report = PassReport(done + number, seconds, mean, share)
                if self.report(report, trainer.current_weights):
                    self.result.stopped = "callback"
                    break
        except KeyboardInterrupt:
            self.result.stopped = "interrupt"
        self.finish(trainer.current_weights())
        self.result.keep = lambda: Checkpoint(
            self.chosen.name,
            self.result.parameters,
            self.result.seed,
            self.result.history,
            trainer.arrays(),
            checksum(self.dataset),
            self.result.best,
            self.best_weights,
        )

    def _orders(self, done: int) -> Iterator[NDArray[np.uint32]]:
        """Shuffle the sentences anew for each pass; those that were made before are skipped."""
        rng = np.random.default_rng(self.result.seed)
        lengths = np.diff(self.dataset.encoded.sentences)
        for number in range(done + self.passes):
            order = rng.permutation(len(self.dataset)).astype(np.uint32)
            if number >= done:
                yield order[lengths[order] > 0]

    def _behind(self, trainer: Trainer, done: int) -> int:
        """How many sentences of the current pass an interrupted run has behind it."""
        batch = int(trainer.parameters["batch"])
        in_a_pass = int(np.count_nonzero(np.diff(self.dataset.encoded.sentences)))
        return batch * (int(trainer.run_state["step"][0]) - done * -(-in_a_pass // batch))

    def batch(self, start: NDArray[np.float32] | None, threads: int | None) -> None:
        """Train with a batch algorithm: a pass is an iteration of the optimiser."""
        objective = Objective(self.dataset, threads)
        weights = aligned_zeros(objective.n_weights)
        if start is not None:
            weights[:] = start
        n, began = len(self.dataset), time.perf_counter()
        self.result.stopped = "converged"
        for callback in self.callbacks:
            callback.on_start(self.passes, n)

        def after(x: NDArray[np.floating[Any]], value: float) -> bool:
            nonlocal began
            weights[:] = x
            seconds = time.perf_counter() - began
            number = len(self.result.history) + 1
            for callback in self.callbacks:
                callback.on_progress(n)
            stop = self.report(
                PassReport(number, seconds, value / n, objective.accuracy), weights.copy
            )
            if stop or number == self.passes:
                self.result.stopped = "callback" if stop else "passes"
            began = time.perf_counter()
            return stop

        minimise: Callable[..., Any] = lbfgs if self.chosen.name == "lbfgs" else owlqn
        try:
            minimise(
                objective,
                weights.astype(np.float64),
                passes=self.passes,
                after=after,
                **{name: float(value) for name, value in self.result.parameters.items()},
            )
        except KeyboardInterrupt:
            self.result.stopped = "interrupt"
        self.finish(weights)

    def _pass(
        self, trainer: Trainer, order: NDArray[np.uint32]
    ) -> tuple[float, float, float, float]:
        """Train on all sentences: sums of loss, correct labels and tokens, and the seconds."""
        size = max(1, SLICE_TOKENS * len(self.dataset) // max(1, self.dataset.n_tokens))
        batch = int(trainer.parameters["batch"])
        step = -(-size // batch) * batch
        totals, seconds = np.zeros(3), 0.0
        for first in range(0, len(order), step):
            part = order[first : first + step]
            begin = time.perf_counter()
            totals += trainer.run(part)
            seconds += time.perf_counter() - begin
            for callback in self.callbacks:
                callback.on_progress(len(part))
        loss, correct, tokens = (float(total) for total in totals)
        return loss, correct, tokens, seconds

    def report(self, report: PassReport, weights: Callable[[], NDArray[np.float32]]) -> bool:
        """Score a pass, keep its weights where they are the best, and ask whether to stop."""
        history = self.result.history
        if self.score:
            current = weights()
            report = report.scored(self.score(current))
            if all(report.score > earlier.score for earlier in history):
                self.best_weights, self.result.best = current, report.number
        history.append(report)
        answers = [callback.on_pass(history) for callback in self.callbacks]  # ask all
        return any(answers)

    def finish(self, weights: NDArray[np.float32]) -> None:
        """Settle which weights are given back."""
        if self.best_weights is not None:
            weights = self.best_weights
        else:
            self.result.best = len(self.result.history)
        self.result.weights = weights
