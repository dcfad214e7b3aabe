"""The training job: examples, a scorer and settings in, a model out. Everything trains by it."""

from __future__ import annotations

import importlib
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np

from adaptag.corpus.settings import AS_IS
from adaptag.dataset.encoded import Examples
from adaptag.errors import ParameterError
from adaptag.settings import AUTO
from adaptag.training.arrays import aligned_zeros
from adaptag.training.callbacks import Callback, PassReport, comparable
from adaptag.training.checkpoint import Checkpoint
from adaptag.training.engine import LocalEngine
from adaptag.training.interrupts import Interrupts
from adaptag.training.online import divergence
from adaptag.training.settings import TrainingSettings
from adaptag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.settings import Value
    from adaptag.training.engine import Engine, OnlineTraining

    Weights = NDArray[np.float32]

__all__ = ["Result", "Scorer", "TrainingJob"]

RESULTS = ("algorithm", "parameters", "seed", "passes")  # settings that the result records itself

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
        data: The training data: examples in this process, or an engine that computes elsewhere.
        settings: The settings of training.
        build: A function that makes a model from weights and the record of their training.
        scorer: Scores a model after each pass; the best pass is kept. None means that the
            last one is kept.
        keep_best: Whether the best pass is kept where passes are scored; else the last one is.
        start: The weights to start from, in the layout of the examples.
        resume: An earlier run to continue, with its algorithm, parameters, seed and threads.
        callbacks: Objects that are notified of the progress and can stop training.
        record: Further entries of the model's record, in addition to the settings and the passes.
        save: A function that takes the checkpoint after each pass of an online algorithm.
        result: The outcome of the last ``run``.
    """

    data: Examples | Engine
    settings: TrainingSettings
    build: Callable[[Weights, dict[str, Any]], M]
    scorer: Scorer[M] | None = None
    keep_best: bool = field(default=True, kw_only=True)
    start: Weights | None = None
    resume: Checkpoint | None = None
    callbacks: Sequence[Callback] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    save: Callable[[Checkpoint], None] | None = None
    result: Result = field(init=False)

    @property
    def examples(self) -> Examples:
        """The training data, where it is in this process."""
        if not isinstance(self.data, Examples):
            raise TypeError("the training data lies elsewhere")
        return self.data

    def run(self) -> M:
        """Train, pass after pass over the shuffled sentences, and build the model.

        An interrupt ends training early: the model reached so far is returned. Before the first
        pass is finished there is none, and KeyboardInterrupt is raised.
        """
        if self.settings.calibrate and not isinstance(self.scorer, Calibrator):
            raise ParameterError("calibrate needs development data")
        with Interrupts() as interrupts:
            run = _Run(self, interrupts)
            run.train()
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
        self.algorithm = settings.chosen
        self.engine: Engine = LocalEngine(job.data) if isinstance(job.data, Examples) else job.data
        if resume is not None and not self.algorithm.online:
            raise ParameterError(f"{self.algorithm.name} keeps no state for a checkpoint")
        self.passes = settings.passes or self.algorithm.passes
        self.callbacks = [*job.callbacks, *settings.rules(scored=job.scorer is not None)]
        values = settings.values()
        if values.get("rate") == AUTO:
            values["rate"] = self.engine.find_rate(self.algorithm, values, settings.seed, job.start)
        self.result = Result(self.algorithm.name, np.empty(0, np.float32), values, settings.seed)
        self.best_weights: Weights | None = None

    def train(self) -> None:
        """Train, and tell the callbacks how it ended."""
        best: PassReport | None = None
        try:
            self.online() if self.algorithm.online else self.batch()
            best = self.result.history[self.result.best - 1] if self.result.best else None
        finally:
            for callback in self.callbacks:
                callback.on_end(best)

    def online(self) -> None:
        """Train with an online algorithm."""
        trainer = self.engine.online(self.algorithm, self.result.parameters, self.settings)
        resume = self.job.resume
        if resume is not None:
            resume.restore(trainer, self.engine)
            self._take_history(resume)
        elif self.job.start is not None:
            trainer.start_from(self.job.start)
        done = len(self.result.history)
        for callback in self.callbacks:
            callback.on_start(self.passes, self.engine.n_sentences)
            if self.settings.values().get("rate") == AUTO:
                callback.on_note(f"learning rate {self.result.parameters['rate']:g} (auto)")
        try:
            for number in range(done + 1, done + self.passes + 1):
                stop = self.report(self._pass(trainer, number), trainer.current_weights)
                if self.job.save is not None:
                    self.job.save(self._checkpoint(trainer))
                if stop:
                    self.result.stopped = "callback"
                    break
                self.interrupts.check()
        except KeyboardInterrupt:
            self._interrupted()
        self.finish(trainer.current_weights())
        self.result.make_checkpoint = lambda: self._checkpoint(trainer)

    def _checkpoint(self, trainer: OnlineTraining) -> Checkpoint:
        return Checkpoint(
            self.algorithm.name,
            self.result.parameters,
            self.result.seed,
            self.result.history,
            trainer.arrays(),
            self.engine.checksum(),
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

    def batch(self) -> None:
        """Train with a batch algorithm: a pass is an iteration of the optimiser."""
        objective = self.engine.objective(self.settings, self.interrupts.check)
        weights = aligned_zeros(objective.n_weights)
        if self.job.start is not None:
            weights[:] = self.job.start
        n, began = self.engine.n_sentences, time.perf_counter()
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

    def _pass(self, trainer: OnlineTraining, number: int) -> PassReport:
        """Train for a pass; nothing is left of one that was interrupted while it was scored."""
        loss = correct = tokens = seconds = 0.0
        sentences = 0
        for part in trainer.parts(number):
            loss, correct, tokens = loss + part.loss, correct + part.correct, tokens + part.tokens
            sentences, seconds = sentences + part.sentences, seconds + part.seconds
            for callback in self.callbacks:
                callback.on_progress(part.sentences)
            if not part.last:
                self.interrupts.check()
        mean, share = loss / max(1, sentences), 100 * correct / max(1, tokens)
        return PassReport(number, seconds, mean, share)

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
            is_best = all(report.score > other.score for other in earlier)
            if is_best and self.job.keep_best:
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
