"""The training job: examples, a scorer and settings in, a model out. Everything trains by it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable

from adaptag.dataset.encoded import Examples
from adaptag.errors import DivergenceWarning, ParameterError
from adaptag.training.interrupts import Interrupts
from adaptag.training.result import DIVERGED, Result
from adaptag.training.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from adaptag.training.callbacks import Callback
    from adaptag.training.checkpoint import Checkpoint
    from adaptag.training.engine import Engine
    from adaptag.training.saving import CheckpointFile
    from adaptag.training.settings import TrainingSettings

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
        found: Further ones, found by work that is not done again where a checkpoint is continued.
        checkpoint: The file that the state is saved in while training goes on, and at its end.
        note: What callbacks are told at the start.
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
    found: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: CheckpointFile | None = None
    note: str = ""
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
        pass is finished there is none, and KeyboardInterrupt is raised. Where training diverges
        after that, the model has the last weights that are finite, with a ``DivergenceWarning``.
        """
        if self.settings.calibrate and not isinstance(self.scorer, Calibrator):
            raise ParameterError("calibrate needs development data")
        with Interrupts() as interrupts:
            run = Run(self, interrupts)
            run.train()
        self.result = run.result
        if self.result.stopped == DIVERGED:
            warnings.warn(self.result.error, DivergenceWarning, stacklevel=2)
        # What a checkpoint decides is recorded as it was, not as it was set for the last passes.
        given = {name: v for name, v in self.settings.record().items() if name not in RESULTS}
        given |= {"threads": run.settings.threads, "parallel": run.settings.parallel}
        record = {**self.record, **run.found, "training_settings": given, **self.result.record()}
        model = self.build(self.result.weights, record)
        if self.settings.calibrate and isinstance(self.scorer, Calibrator):
            model = self.scorer.calibrated(model)
        return model
