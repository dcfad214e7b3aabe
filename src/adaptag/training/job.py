"""The training job: examples, a scorer and settings in, a model out. Everything trains by it."""

from __future__ import annotations

import importlib
import itertools
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np

from adaptag.corpus.settings import AS_IS
from adaptag.errors import ParameterError
from adaptag.settings import AUTO
from adaptag.training.arrays import aligned_zeros
from adaptag.training.batch import Objective
from adaptag.training.callbacks import Callback, PassReport, comparable
from adaptag.training.checkpoint import Checkpoint, checksum
from adaptag.training.initial_rate import find_rate
from adaptag.training.interrupts import Interrupts
from adaptag.training.online import divergence
from adaptag.training.orders import OrderedTraining
from adaptag.training.settings import TrainingSettings
from adaptag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples
    from adaptag.settings import Value

    Weights = NDArray[np.float32]

__all__ = ["Result", "Scorer", "TrainingJob"]

RESULTS = ("algorithm", "parameters", "seed", "passes")  # settings that the result records itself
SLICE_TOKENS = 20_000  # between two looks at the time and at interrupts

M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)


class Scorer(Protocol[M_contra]):
    """Scores a model on development data.

    Attributes:
        metric: What the score is: ``F1`` or ``accuracy``.
    """

    metric: str

    def __call__(self, model: M_contra, /) -> float:
        """The score, in percent."""


@runtime_checkable
class Calibrator(Protocol[M]):
    """A scorer that can calibrate the probabilities of a model on its development data."""

    def calibrated(self, model: M, /) -> M:
        """The model with the temperature that fits the data best."""


@dataclass
class Result:
    """The result of training.

    Attributes:
        algorithm: The name of the algorithm.
        weights: The weights, float32, in the layout of the examples.
        parameters: The algorithm's parameters, defaults included.
        seed: The seed of the order of sentences.
        history: One report per pass.
        best: The pass whose weights these are.
        stopped: Why training ended: ``passes``, ``converged`` (the algorithm's own rule),
            ``callback`` or ``interrupt``.
        make_checkpoint: A function that makes the checkpoint; None for batch algorithms.
    """

    algorithm: str
    weights: Weights
    parameters: dict[str, Value]
    seed: int
    history: list[PassReport] = field(default_factory=list)
    best: int = 0
    stopped: str = "passes"
    make_checkpoint: Callable[[], Checkpoint] | None = field(default=None, repr=False)

    @property
    def checkpoint(self) -> Checkpoint | None:
        """All that is needed to continue later; batch algorithms have none."""
        return None if self.make_checkpoint is None else self.make_checkpoint()

    def record(self) -> dict[str, Any]:
        """How the weights were trained, ready for JSON."""
        return {
            "adaptag": __version__,
            "algorithm": self.algorithm,
            "parameters": self.parameters,
            "seed": self.seed,
            "stopped": self.stopped,
            "best_pass": self.best,
            "passes": [report.outcome() for report in self.history],
        }


@dataclass
class TrainingJob(Generic[M]):
    """One training run.

    Attributes:
        examples: The training data.
        settings: The settings of training.
        build: A function that makes a model from weights and the record of their training.
        scorer: Scores a model after each pass; the best pass is kept. None means that the
            last one is kept.
        start: The weights to start from, in the layout of the examples.
        resume: An earlier run to continue, with its algorithm, parameters, seed and threads.
        callbacks: Objects that are notified of the progress and can stop training.
        record: Further entries of the model's record, in addition to the settings and the passes.
        result: The outcome of the last ``run``.
    """

    examples: Examples
    settings: TrainingSettings
    build: Callable[[Weights, dict[str, Any]], M]
    scorer: Scorer[M] | None = None
    start: Weights | None = None
    resume: Checkpoint | None = None
    callbacks: Sequence[Callback] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    result: Result = field(init=False)

    def run(self) -> M:
        """Train, pass after pass over the shuffled sentences, and build the model.

        An interrupt ends training early: the model reached so far is returned. Before the first
        pass is finished there is none, and KeyboardInterrupt is raised.
        """
        if self.settings.calibrate and not isinstance(self.scorer, Calibrator):
            raise ParameterError("calibrate needs development data")
        with Interrupts() as interrupts:
            run = _Run(self, interrupts)
            run.batch() if not run.algorithm.online else run.online()
        self.result = run.result
        # What a checkpoint decides is recorded as it was, not as it was set for the last passes.
        given = {name: v for name, v in self.settings.record().items() if name not in RESULTS}
        given |= {"threads": run.settings.threads, "parallel": run.settings.parallel}
        record = {**self.record, "training_settings": given, **self.result.record()}
        model = self.build(self.result.weights, record)
        if self.settings.calibrate and isinstance(self.scorer, Calibrator):
            model = self.scorer.calibrated(model)
        return model


class _Run:
    """One call of ``TrainingJob.run``: its reports, and the best weights so far."""

    def __init__(self, job: TrainingJob[Any], interrupts: Interrupts) -> None:
        settings, resume = job.settings.check(), job.resume
        if resume is not None:
            settings = TrainingSettings.taken_from(
                settings,
                algorithm=resume.algorithm,
                parameters=dict(resume.parameters),
                seed=resume.seed,
                threads=resume.threads,
                parallel=resume.parallel,
            )
        self.job, self.interrupts, self.settings = job, interrupts, settings
        self.examples, self.algorithm = job.examples, settings.chosen
        if resume is not None and not self.algorithm.online:
            raise ParameterError(f"{self.algorithm.name} keeps no state for a checkpoint")
        self.passes = settings.passes or self.algorithm.passes
        self.callbacks = [*job.callbacks, *settings.rules(scored=job.scorer is not None)]
        values = settings.values()
        if values.get("rate") == AUTO:
            values["rate"] = find_rate(
                self.examples, self.algorithm, values, settings.seed, job.start
            )
        self.result = Result(self.algorithm.name, np.empty(0, np.float32), values, settings.seed)
        self.best_weights: Weights | None = None

    def online(self) -> None:
        """Train with an online algorithm."""
        trainer = OrderedTraining(
            self.examples,
            self.algorithm,
            self.result.parameters,
            self.result.seed,
            threads=self.settings.threads,
            lock_free=self.settings.lock_free,
        )
        resume = self.job.resume
        if resume is not None:
            resume.restore(trainer, self.examples)
            self._take_history(resume)
        elif self.job.start is not None:
            trainer.start_from(self.job.start)
        done = len(self.result.history)
        finished = self._finished_part(trainer, done)
        for callback in self.callbacks:
            callback.on_start(self.passes, len(self.examples))
            if self.settings.values().get("rate") == AUTO:
                callback.on_note(f"learning rate {self.result.parameters['rate']:g} (auto)")
        try:
            orders = itertools.islice(trainer.orders(done + self.passes), done, None)
            for number, order in enumerate(orders, 1):
                remaining, finished = order[:, finished:], 0
                trainer.begin_pass(done + number)
                loss, correct, tokens, seconds = self._pass(trainer, remaining)
                # Nothing is left of a pass that was interrupted while it was scored.
                mean, share = loss / max(1, remaining.shape[1]), 100 * correct / max(1, tokens)
                report = PassReport(done + number, seconds, mean, share)
                if self.report(report, trainer.current_weights):
                    self.result.stopped = "callback"
                    break
                self.interrupts.check()
        except KeyboardInterrupt:
            self._interrupted()
        self.finish(trainer.current_weights())
        self.result.make_checkpoint = lambda: Checkpoint(
            self.algorithm.name,
            self.result.parameters,
            self.result.seed,
            self.result.history,
            trainer.arrays(),
            checksum(self.examples),
            self.settings.threads,
            self.settings.parallel,
            getattr(self.job.settings, "scheme", AS_IS),
            self.result.best,
            self.best_weights,
        )

    def _take_history(self, resume: Checkpoint) -> None:
        """Continue the passes of a checkpoint.

        Its best pass counts only where the passes to come are scored by the same metric.
        """
        self.result.history += resume.history
        metric = None if self.job.scorer is None else self.job.scorer.metric
        if metric is not None and resume.best_metric == metric:
            self.best_weights, self.result.best = resume.best_weights, resume.best

    def _finished_part(self, trainer: OrderedTraining, done: int) -> int:
        """How many sentences of the current pass an interrupted run has finished."""
        batch = trainer.batch
        in_a_pass = int(np.count_nonzero(np.diff(self.examples.encoded.sentences)))
        return batch * (trainer.steps - done * -(-in_a_pass // batch))

    def batch(self) -> None:
        """Train with a batch algorithm: a pass is an iteration of the optimiser."""
        objective = Objective(self.examples, self.settings.threads, self.interrupts.check)
        weights = aligned_zeros(objective.n_weights)
        if self.job.start is not None:
            weights[:] = self.job.start
        n, began = len(self.examples), time.perf_counter()
        self.result.stopped = "converged"
        for callback in self.callbacks:
            callback.on_start(self.passes, n)

        def after(x: Weights, value: float) -> bool:
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

        module, name = self.algorithm.minimise.split(":")
        minimise = getattr(importlib.import_module(module), name)
        parameters = {name: float(value) for name, value in self.result.parameters.items()}
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
                minimise(objective, weights, passes=self.passes, after=after, **parameters)
        except KeyboardInterrupt:
            self._interrupted()
        self.finish(weights)

    def _pass(
        self, trainer: OrderedTraining, orders: NDArray[np.uint32]
    ) -> tuple[float, float, float, float]:
        """Train on all sentences: sums of loss, correct labels and tokens, and the seconds."""
        size = max(1, SLICE_TOKENS * len(self.examples) // max(1, self.examples.n_tokens))
        batch = trainer.batch
        step = -(-size // batch) * batch
        totals, seconds = np.zeros(3), 0.0
        n = orders.shape[1]
        for first in range(0, n, step):
            part = orders[:, first : first + step]
            begin = time.perf_counter()
            totals += trainer.run(part)
            seconds += time.perf_counter() - begin
            for callback in self.callbacks:
                callback.on_progress(part.shape[1])
            if first + step < n:
                self.interrupts.check()
        loss, correct, tokens = (float(total) for total in totals)
        return loss, correct, tokens, seconds

    def report(self, report: PassReport, weights: Callable[[], Weights]) -> bool:
        """Score a pass, keep its weights where they are the best, and ask whether to stop."""
        history, scorer = self.result.history, self.job.scorer
        if not math.isfinite(report.loss):
            what = f"the loss of pass {report.number} is {report.loss}"
            raise divergence(self.algorithm.name, self.result.parameters, what)
        if scorer is not None:
            current = weights()
            self._check_finite(current)
            score = scorer(self.job.build(current, {}))
            report = report.scored(score, scorer.metric)
            earlier = comparable([*history, report])[:-1]
            if all(report.score > other.score for other in earlier):
                self.best_weights, self.result.best = current, report.number
        history.append(report)
        answers = [callback.on_pass(history) for callback in self.callbacks]  # ask all
        return any(answers)

    def _interrupted(self) -> None:
        """End training where a pass is finished; else there is nothing to keep."""
        if not self.result.history:
            raise KeyboardInterrupt
        self.result.stopped = "interrupt"

    def finish(self, weights: Weights) -> None:
        """Choose the resulting weights, which must be finite."""
        if self.best_weights is not None:
            weights = self.best_weights
        else:
            self.result.best = len(self.result.history)
        self._check_finite(weights)
        self.result.weights = weights

    def _check_finite(self, weights: Weights) -> None:
        if not np.isfinite(weights).all():
            raise divergence(self.algorithm.name, self.result.parameters, "a weight is not finite")
