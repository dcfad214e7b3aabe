"""Who computes in a training, and on what: this process on its examples, or workers of a cluster.

The training job asks an engine for what it needs, and knows nothing of where the data lies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from adaptag.training.batch import Objective
from adaptag.training.checkpoint import checksum
from adaptag.training.initial_rate import find_rate
from adaptag.training.needs import check_training_memory, warn_of_long_passes
from adaptag.training.orders import OrderedTraining

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples
    from adaptag.settings import Value
    from adaptag.training.declarations import Algorithm
    from adaptag.training.orders import PassPart
    from adaptag.training.settings import TrainingSettings

    Weights = NDArray[np.float32]

__all__ = ["BatchObjective", "Engine", "LocalEngine", "OnlineTraining"]

BATCH_ARRAYS = 5  # of as many numbers as weights: two points, gradient, direction, result


class OnlineTraining(Protocol):
    """The training with an online algorithm, pass after pass."""

    def start_from(self, weights: Weights) -> None:
        """Start from the weights of a model."""

    def parts(self, number: int) -> Iterator[PassPart]:
        """Train for a pass, or for what is left of it, and tell how it goes, part by part.

        Passes are numbered from 1, and follow each other.
        """

    def current_weights(self) -> Weights:
        """The weights as a model needs them; a new array."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is needed to continue training, by name."""

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from the ``arrays`` of another training with the same parameters and size."""


class BatchObjective(Protocol):
    """The loss of all data and its gradient; see ``batch.Objective``."""

    layout: Any
    n_weights: int
    threads: int
    accuracy: float

    def add(self, x: Weights, gradient: Weights) -> float:
        """Return the loss at ``x``; its gradient is added to ``gradient``."""


class Engine(Protocol):
    """Training data, and what computes on it."""

    @property
    def n_sentences(self) -> int:
        """The number of sentences."""

    def checksum(self) -> int:
        """Checksum of all that training sees."""

    def find_rate(
        self,
        algorithm: Algorithm,
        parameters: Mapping[str, Value],
        seed: int,
        start: Weights | None,
    ) -> float:
        """Find the initial learning rate on a sample; see ``initial_rate.find_rate``."""

    def online(
        self,
        algorithm: Algorithm,
        parameters: Mapping[str, Value],
        settings: TrainingSettings,
    ) -> OnlineTraining:
        """Prepare the training with an online algorithm."""

    def objective(
        self, settings: TrainingSettings, after_evaluation: Callable[[], None]
    ) -> BatchObjective:
        """Prepare the objective of a batch algorithm; the function may raise to stop it."""


@dataclass(frozen=True, eq=False)
class LocalEngine:
    """Examples in this process, on its threads."""

    examples: Examples

    @property
    def n_sentences(self) -> int:
        """The number of sentences."""
        return len(self.examples)

    def checksum(self) -> int:
        """Checksum of all that training sees."""
        return checksum(self.examples)

    def find_rate(
        self,
        algorithm: Algorithm,
        parameters: Mapping[str, Value],
        seed: int,
        start: Weights | None,
    ) -> float:
        """Find the initial learning rate on a sample."""
        self._check_online(algorithm, 1)
        return find_rate(self.examples, algorithm, parameters, seed, start)

    def online(
        self,
        algorithm: Algorithm,
        parameters: Mapping[str, Value],
        settings: TrainingSettings,
    ) -> OnlineTraining:
        """Prepare the training with an online algorithm."""
        self._check_online(algorithm, int(parameters["orders"]))
        warn_of_long_passes(self.examples)
        return OrderedTraining(
            self.examples,
            algorithm,
            parameters,
            settings.seed,
            threads=settings.threads,
            lock_free=settings.lock_free,
        )

    def objective(
        self, settings: TrainingSettings, after_evaluation: Callable[[], None]
    ) -> BatchObjective:
        """Prepare the objective of a batch algorithm."""
        pairs = 2 * int(settings.values().get("memory", 0))
        check_training_memory(self.examples, pairs + BATCH_ARRAYS)
        warn_of_long_passes(self.examples)
        return Objective(self.examples, settings.threads, after_evaluation)

    def _check_online(self, algorithm: Algorithm, orders: int) -> None:
        """Raise where an online algorithm needs more memory than there is."""
        arrays = 1 + bool(algorithm.per_weight_state)  # in training, and one for the result
        row_bytes = np.dtype(list(algorithm.row_state)).itemsize
        check_training_memory(self.examples, orders * arrays + 1, orders * row_bytes)
