"""One run of a training job: its passes, its reports, and the best weights so far."""

from __future__ import annotations

import contextlib
import importlib
import math
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from adaptag.corpus.settings import AS_IS
from adaptag.dataset.encoded import Examples
from adaptag.errors import DivergenceError, ParameterError
from adaptag.settings import AUTO
from adaptag.training.arrays import aligned_zeros
from adaptag.training.callbacks import PassReport, comparable
from adaptag.training.checkpoint import Checkpoint, PassSums
from adaptag.training.engine import LocalEngine
from adaptag.training.online import divergence
from adaptag.training.orders import OrderedTraining
from adaptag.training.result import DIVERGED, INTERRUPT, Result
from adaptag.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from adaptag.training.batch import Descent
    from adaptag.training.engine import Engine, OnlineTraining
    from adaptag.training.interrupts import Interrupts
    from adaptag.training.job import TrainingJob

    Weights = NDArray[np.float32]

__all__ = ["Run"]

LOWER = 10.0  # what the learning rate is divided by where training is restarted
SCORER = "scorer."  # before the names of the arrays of a scorer


@runtime_checkable
class ScorerState(Protocol):
    """A scorer that remembers something of each pass."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What it remembers, by name."""

    def restore(self, arrays: Mapping[str, NDArray[Any]], passes: int) -> None:
        """Remember the ``arrays`` of another scorer, as far as these many passes."""


class Run:
    """One call of ``TrainingJob.run``: its reports, and the best weights so far."""

    def __init__(self, job: TrainingJob[Any], interrupts: Interrupts) -> None:
        settings, resume = job.settings.check(), job.resume
        self.requested = settings.values()
        if resume is not None:
            self.requested = dict(resume.requested)
            settings = TrainingSettings.taken_from(
                settings,
                algorithm=resume.algorithm,
                parameters=dict(resume.parameters),
                seed=resume.seed,
                threads=resume.threads if resume.counts_threads else settings.threads,
                parallel=resume.parallel,
            )
        self.job, self.interrupts, self.settings = job, interrupts, settings
        self.resume, self.restarts = resume, 0 if resume is None else resume.restarts
        self.algorithm = settings.chosen
        self.engine: Engine = LocalEngine(job.data) if isinstance(job.data, Examples) else job.data
        earlier = None if resume is None else resume.passes
        self.passes = settings.passes or earlier or self.algorithm.passes
        self.rules = settings.rules(scored=job.scorer is not None)
        self.callbacks = [*job.callbacks, *settings.reporters(), *self.rules]
        values = settings.values()
        if values.get("rate") == AUTO:
            values["rate"] = self.engine.find_rate(self.algorithm, values, settings.seed, job.start)
        self.result = Result(self.algorithm.name, np.empty(0, np.float32), values, settings.seed)
        self.best_weights: Weights | None = None
        self.sums, self.stopped = PassSums(), ""
        self.found = {**({} if resume is None else resume.record), **job.found}
        if resume is not None:
            self._take(resume)

    def _take(self, resume: Checkpoint) -> None:
        """Continue the passes of a checkpoint.

        Its best pass counts only where the passes to come are scored by the same metric.
        """
        resume.check_data(self.data)
        if self.passes < len(resume.history):
            raise ParameterError(
                f"passes is {self.passes}, but the checkpoint has {len(resume.history)} finished "
                "passes; allowed: as many or more, since they are those of the whole run"
            )
        self.result.history += resume.history
        self.sums = PassSums(**vars(resume.sums))
        scorer = self.job.scorer
        if scorer is not None and resume.best_metric == scorer.metric:
            self.best_weights, self.result.best = resume.best_weights, resume.best
        if isinstance(scorer, ScorerState):
            arrays = {n[len(SCORER) :]: a for n, a in resume.arrays.items() if n.startswith(SCORER)}
            scorer.restore(arrays, len(resume.history))

    @cached_property
    def data(self) -> int:
        """The checksum of the training data."""
        return self.engine.checksum()

    def train(self) -> None:
        """Train, and tell the callbacks how it ended."""
        best: PassReport | None = None
        try:
            while not self._trained():
                pass
            best = self.result.history[self.result.best - 1] if self.result.best else None
        finally:
            for callback in self.callbacks:
                callback.on_end(best)
            if self.job.checkpoint is not None:
                self.job.checkpoint.close()

    def _trained(self) -> bool:
        """Train to the end; false if training diverged and is to start again, at a lower rate."""
        self._tell_start()
        try:
            self._online() if self.algorithm.online else self._batch()
        except DivergenceError as error:
            rate = self.result.parameters.get("rate")
            if self.restarts < self.settings.restarts and isinstance(rate, float):
                self._restart(error, rate / LOWER)
                return False
            self._end_finite(error)
        return True

    def _tell_start(self) -> None:
        notes = [self.job.note] if self.job.note else []
        if self.settings.values().get("rate") == AUTO and not self.restarts:
            notes.append(f"learning rate {self.result.parameters['rate']:g} (auto)")
        if self.resume is not None:
            n = len(self.resume.history)
            ended = self._ended()
            how = f": training had ended ({ended})" if ended else ""
            notes.append(f"continuing after {n} finished pass{'es' * (n != 1)}{how}")
        for callback in self.callbacks:
            callback.on_start(self.passes, self.engine.n_sentences)
            for note in notes:
                callback.on_note(note)
        if self.job.checkpoint is not None:
            self.job.checkpoint.begin(len(self.result.history))

    def _ended(self) -> str:
        """Why the training that is continued had ended; empty if it goes on."""
        history, resume = self.result.history, self.resume
        if resume is None:
            return ""
        if resume.stopped == "converged":
            return resume.stopped
        scorer = self.job.scorer
        metric = None if scorer is None else scorer.metric
        scored = bool(history) and history[-1].dev_metric == metric
        between_passes = scored and not self.sums.sentences
        if between_passes and any(rule.on_pass(history) for rule in self.rules):
            return "callback"
        return "passes" if len(history) >= self.passes else ""

    # ---- online algorithms ---------------------------------------------------------------------

    def _online(self) -> None:
        """Train with an online algorithm."""
        trainer = self._new_trainer()
        self.result.make_checkpoint = lambda: self._checkpoint(trainer)
        ended = self._ended()
        if self.job.checkpoint is not None and isinstance(trainer, OrderedTraining) and not ended:
            self.job.checkpoint.prepare(trainer.arrays())
        try:
            for number in range(len(self.result.history) + 1, self.passes + 1):
                if ended:
                    break
                self._pass(trainer, number)
                if self.report(self.sums.report(number), trainer.current_weights):
                    ended = "callback"
                self._save_if_due()
                self.interrupts.check()
        except KeyboardInterrupt:
            self._interrupted()
        else:
            self.result.stopped = ended or "passes"
        if isinstance(trainer, OrderedTraining):
            trainer.sync()  # whether a checkpoint was saved or not, weights are read alike
        self.finish(trainer.current_weights())

    def _new_trainer(self) -> OnlineTraining:
        """A trainer in the state that the run began with."""
        trainer = self.engine.online(self.algorithm, self.result.parameters, self.settings)
        if self.resume is not None:
            trainer.restore(self.resume.arrays)
        elif self.job.start is not None:
            trainer.start_from(self.job.start)
        return trainer

    def _pass(self, trainer: OnlineTraining, number: int) -> None:
        """Train for a pass, or for what is left of it."""
        sums = self.sums
        for part in trainer.parts(number):
            sums.loss += part.loss
            sums.correct += part.correct
            sums.tokens += part.tokens
            sums.sentences += part.sentences
            sums.seconds += part.seconds
            if not math.isfinite(part.loss):
                raise self._diverged(f"the loss is {part.loss} in pass {number}")
            for callback in self.callbacks:
                callback.on_progress(part.sentences)
            if not part.last:
                self.interrupts.check()
                self._save_if_due()

    # ---- batch algorithms ----------------------------------------------------------------------

    def _batch(self) -> None:
        """Train with a batch algorithm: a pass is an iteration of the optimiser."""
        objective = self.engine.objective(self.settings, self.interrupts.check)
        start = aligned_zeros(objective.n_weights)
        if self.job.start is not None:
            start[:] = self.job.start
        module, name = self.algorithm.minimise.split(":")
        minimise = getattr(importlib.import_module(module), name)
        parameters = {name: float(value) for name, value in self.result.parameters.items()}
        descent: Descent = minimise(objective, start, **parameters)
        if self.resume is not None:
            descent.restore(self.resume.arrays)
        self.result.make_checkpoint = lambda: self._checkpoint(descent)
        n, began, history = self.engine.n_sentences, time.perf_counter(), self.result.history

        def after(x: Weights, value: float) -> bool:
            nonlocal began
            seconds = time.perf_counter() - began
            for callback in self.callbacks:
                callback.on_progress(n)
            report = PassReport(len(history) + 1, seconds, value / n, objective.accuracy)
            stop = self.report(report, x.copy)
            if stop or len(history) == self.passes:
                self.result.stopped = "callback" if stop else "passes"
            self._save_if_due()
            began = time.perf_counter()
            return stop

        self.result.stopped = self._ended() or "converged"
        try:
            if not self._ended():
                with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
                    descent.run(self.passes - len(history), after)
        except KeyboardInterrupt:
            self._interrupted()
        if descent.value is not None and not math.isfinite(descent.value):
            raise self._diverged(f"the objective is {descent.value}")
        self.finish(descent.x)

    # ---- what both share -----------------------------------------------------------------------

    def report(self, report: PassReport, weights: Callable[[], Weights]) -> bool:
        """Score a pass, keep its weights where they are the best, and ask whether to stop."""
        history, scorer = self.result.history, self.job.scorer
        if not math.isfinite(report.loss):
            raise self._diverged(f"the loss of pass {report.number} is {report.loss}")
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
        self.sums = PassSums()
        answers = [callback.on_pass(history) for callback in self.callbacks]  # ask all
        return any(answers)

    def _save_if_due(self) -> None:
        if self.job.checkpoint is not None and self.result.make_checkpoint is not None:
            self.job.checkpoint.offer(self.result.make_checkpoint, len(self.result.history))

    def _checkpoint(self, training: OnlineTraining | Descent) -> Checkpoint:
        scorer = self.job.scorer
        remembered: dict[str, NDArray[Any]] = {}
        if isinstance(scorer, ScorerState):
            remembered = {SCORER + name: array for name, array in scorer.arrays().items()}
        return Checkpoint(
            self.algorithm.name,
            self.result.parameters,
            self.result.seed,
            self.result.history,
            {**training.arrays(), **remembered},
            self.data,
            self.settings.threads,
            self.settings.parallel,
            getattr(self.job.settings, "scheme", None) or AS_IS,
            self.result.best,
            self.best_weights,
            self.requested,
            self.passes,
            self.stopped,
            self.sums,
            self.restarts,
            self.found,
        )

    def _interrupted(self) -> None:
        """End training where a pass is finished; else there is nothing to keep but the state."""
        self.stopped = self.result.stopped = INTERRUPT
        if not self.result.history:
            self._save_last()
            raise KeyboardInterrupt

    def finish(self, weights: Weights) -> None:
        """Choose the resulting weights, which must be finite, and save the last state."""
        if self.best_weights is not None:
            weights = self.best_weights
        else:
            self.result.best = len(self.result.history)
        self._check_finite(weights)
        self.result.weights, self.stopped = weights, self.result.stopped
        self._save_last()

    def _save_last(self) -> None:
        if self.job.checkpoint is not None and self.result.make_checkpoint is not None:
            self.job.checkpoint.finish(self.result.make_checkpoint())

    # ---- divergence ----------------------------------------------------------------------------

    def _diverged(self, what: str) -> DivergenceError:
        return divergence(self.algorithm.name, self.result.parameters, what)

    def _check_finite(self, weights: Weights) -> None:
        if not np.isfinite(weights).all():
            raise self._diverged("a weight is not finite")

    def _restart(self, error: DivergenceError, rate: float) -> None:
        """Begin again with a lower learning rate."""
        for callback in self.callbacks:
            callback.on_note(f"{error}; training starts again with rate {rate:g}")
        self.restarts += 1
        self.resume, self.sums = None, PassSums()
        self.best_weights, self.result.best = None, 0
        self.result.history.clear()
        self.result.parameters["rate"] = rate

    def _end_finite(self, error: DivergenceError) -> None:
        """End with the weights of the best pass, or of the last one after which all are finite.

        No copy of them is kept while training goes well: the passes are made again, which gives the
        same bits. Where none was finished, the error is raised.
        """
        history = self.result.history
        weights = self.best_weights
        if weights is None and history and self.algorithm.online:
            weights = self._last_finite()
        if weights is None:
            raise error
        self.result.weights, self.result.stopped = weights, DIVERGED
        self.result.error = str(error)
        self.result.make_checkpoint = None

    def _last_finite(self) -> Weights | None:
        """The weights of the last pass after which all are finite, and which ends the history."""
        trainer, weights = self._new_trainer(), None
        finished = 0 if self.resume is None else len(self.resume.history)
        with contextlib.suppress(DivergenceError):  # of threads that train lock-free
            for number in range(finished, len(self.result.history) + 1):
                for _ in trainer.parts(number) if number > finished else ():
                    self.interrupts.check()
                if number:
                    current = trainer.current_weights()
                    self._check_finite(current)
                    weights, self.result.best = current, number
        del self.result.history[self.result.best :]
        return weights
