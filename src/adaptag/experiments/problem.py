"""Problems: what algorithms are trained on, and how their weights are scored.

The comparison of algorithms and the search for settings work on problems alone; ``tasks.py`` makes
them of data and settings.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from adaptag.errors import DivergenceWarning
from adaptag.experiments.significance import f1
from adaptag.training.job import TrainingJob

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples
    from adaptag.experiments.results import Data
    from adaptag.training.callbacks import Callback
    from adaptag.training.checkpoint import Checkpoint
    from adaptag.training.job import Result, Scorer
    from adaptag.training.saving import CheckpointFile
    from adaptag.training.settings import TrainingSettings

    Weights = NDArray[np.float32]
    Counts = Callable[[Weights], NDArray[np.int64]]

__all__ = ["CountScorer", "Part", "Problem"]


@dataclass(frozen=True, eq=False)
class Part:
    """Training data, and the test data that belongs to it.

    Attributes:
        train: The training data.
        counts: A function from weights to the numbers of correct, predicted and gold items of
            every test sentence, int64 ``[N, 3]``.
    """

    train: Examples
    counts: Counts

    def run(
        self,
        settings: TrainingSettings,
        *,
        scorer: Scorer[Weights] | None = None,
        resume: Checkpoint | None = None,
        checkpoint: CheckpointFile | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> Result:
        """Train, and score the weights after each pass; by default by the F1 of their counts."""
        job = TrainingJob(
            self.train,
            settings,
            lambda weights, _: weights,
            scorer or CountScorer(self.counts),
            resume=resume,
            checkpoint=checkpoint,
            callbacks=callbacks,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergenceWarning)  # the result says so
            job.run()
        return job.result


class CountScorer:
    """Scores weights by the F1 of their counts, which is the accuracy where all items count."""

    metric = "F1"

    def __init__(self, counts: Counts) -> None:
        self.counts = counts

    def __call__(self, weights: Weights) -> float:
        """The score, in percent."""
        return float(f1(self.counts(weights).sum(axis=0)))


@dataclass(frozen=True, eq=False)
class Problem:
    """One part; or several, as in cross-validation, whose test sentences are scored together.

    Attributes:
        parts: The training and test data.
        metric: What the F1 of the counts is called.
        train: The name and size of the training data.
        test: The name and size of the test data.
        feature_settings: How the features were made, for reports.
    """

    parts: tuple[Part, ...]
    metric: str
    train: Data
    test: Data
    feature_settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def labels(self) -> int:
        """Labels of the first part."""
        return len(self.parts[0].train.label_names)

    @property
    def features(self) -> int:
        """Features of the first part."""
        return self.parts[0].train.index.n_predicates

    @property
    def weights(self) -> int:
        """Weights of the first part, without the padding of their rows."""
        node, both, edge = self.parts[0].train.index.n_of_kind
        return (node + both) * self.labels + (both + edge) * self.labels**2
