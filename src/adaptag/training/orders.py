"""Training in several random orders of the sentences at once, and averaging the weights."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.dataset.dropout import Dropout
from adaptag.errors import ModelError
from adaptag.parallel import threads_for
from adaptag.training.online import Trainer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples
    from adaptag.settings import Value
    from adaptag.training.declarations import Algorithm

    Weights = NDArray[np.float32]

__all__ = ["OrderedTraining", "PassPart"]

SLICE_TOKENS = 20_000  # in a part of a pass, between two looks at the time and at interrupts
SLICE_LABELS = 64  # with more of them, parts are smaller: the time of a token grows with the square


@dataclass(frozen=True)
class PassPart:
    """What was done in a part of a pass.

    Attributes:
        loss: The sum of losses.
        correct: The expected number of correct labels.
        tokens: The number of tokens.
        sentences: The number of sentences.
        seconds: The time of training.
        last: Whether the pass ends here.
    """

    loss: float
    correct: float
    tokens: float
    sentences: int
    seconds: float
    last: bool


class OrderedTraining:
    """Trainers of one algorithm on the same data, each with an order of its own; mostly one.

    With one order, several threads share the work of each update. With more, each order is trained
    by one thread, so that the number of threads does not change the result.

    Attributes:
        trainers: One for each order.
        dropout: What is left out of the data.
        batch: The number of sentences per update.
    """

    def __init__(
        self,
        examples: Examples,
        algorithm: Algorithm,
        parameters: Mapping[str, Value],
        seed: int,
        *,
        threads: int | None = None,
        lock_free: bool = False,
    ) -> None:
        """Allocate the state of all trainers.

        Args:
            examples: The training data.
            algorithm: The algorithm.
            parameters: Its parameters; ``orders`` and ``dropout`` are among them.
            seed: The seed of orders and dropout.
            threads: The number of threads; None means 1, or one per core with several orders.
            lock_free: Whether all threads update the same weights at the same time.
        """
        n = int(parameters["orders"])
        self._at_once = 1 if n == 1 else min(n, threads_for(threads))
        sharing = (threads or 1) if n == 1 else 1
        self.trainers = [
            Trainer(examples, algorithm, parameters, threads=sharing, lock_free=lock_free)
            for _ in range(n)
        ]
        self.dropout = Dropout(examples, float(parameters["dropout"]))
        self.batch = self.trainers[0].batch
        self._examples, self._seed = examples, seed
        self._orders, self._drawn = self._all_orders(), 0

    def parts(self, number: int) -> Iterator[PassPart]:
        """Train for a pass, or for what is left of one that was interrupted, part by part."""
        while self._drawn < number:
            order = next(self._orders)
            self._drawn += 1
        updates = -(-order.shape[1] // self.batch)  # in a pass
        order = order[:, self.batch * (self.steps - (number - 1) * updates) :]
        if self.dropout.probability:
            for k, trainer in enumerate(self.trainers):
                trainer.use(self.dropout.in_pass(number, self._seed, k))
        n, step = order.shape[1], self._part_size()
        for first in range(0, n, step):
            part = order[:, first : first + step]
            begin = time.perf_counter()
            loss, correct, tokens = (float(total) for total in self.run(part))
            seconds = time.perf_counter() - begin
            yield PassPart(loss, correct, tokens, part.shape[1], seconds, first + step >= n)

    def _part_size(self) -> int:
        """The number of sentences in a part of a pass, whole updates."""
        examples = self._examples
        tokens = SLICE_TOKENS
        n_labels = len(examples.label_names)
        if n_labels > SLICE_LABELS and any(examples.index.n_of_kind[1:]):
            tokens = max(1, tokens * SLICE_LABELS**2 // n_labels**2)
        size = max(1, tokens * len(examples) // max(1, examples.n_tokens))
        return -(-size // self.batch) * self.batch

    def _all_orders(self) -> Iterator[NDArray[np.uint32]]:
        """The sentences of each pass in all orders ``[K, N]``; those without tokens are missing."""
        lengths = np.diff(self._examples.encoded.sentences)
        more = range(1, len(self.trainers))
        generators = [np.random.default_rng(self._seed)]
        generators += [np.random.default_rng([self._seed, 0, k]) for k in more]
        while True:
            orders = [rng.permutation(len(lengths)).astype(np.uint32) for rng in generators]
            yield np.stack(
                [
                    trainer.arrange(order[lengths[order] > 0], lengths)
                    for trainer, order in zip(self.trainers, orders, strict=True)
                ]
            )

    def run(self, orders: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Train on sentences ``[K, n]``: the mean of what ``Trainer.run`` gives for each order."""
        pairs = list(zip(self.trainers, orders, strict=True))
        if self._at_once == 1:
            totals = [trainer.run(order) for trainer, order in pairs]
        else:
            with ThreadPoolExecutor(self._at_once) as pool:
                totals = list(pool.map(lambda pair: pair[0].run(pair[1]), pairs))
        mean: NDArray[np.float64] = np.mean(totals, axis=0)
        return mean

    def start_from(self, weights: Weights) -> None:
        """Start from the weights of a model."""
        for trainer in self.trainers:
            trainer.weights[:] = weights
            self.dropout.scale(trainer.weights, inverse=True)

    def current_weights(self) -> Weights:
        """The weights as a model needs them: the mean of those of all orders."""
        weights = self.trainers[0].current_weights()
        for trainer in self.trainers[1:]:
            weights += trainer.current_weights()
        if len(self.trainers) > 1:
            weights /= len(self.trainers)
        return self.dropout.scale(weights)

    def sync(self) -> None:
        """Bring the arrays up to date, so that weights are read from them.

        Forms of algorithms that keep rows of their own read weights with other roundings.
        """
        for trainer in self.trainers:
            trainer.arrays()

    @property
    def steps(self) -> int:
        """The number of updates so far, in each order."""
        return int(self.trainers[0].run_state["step"][0])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is needed to continue training, by name."""
        return {
            _name(k, name): array
            for k, trainer in enumerate(self.trainers)
            for name, array in trainer.arrays().items()
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from the ``arrays`` of another training with the same parameters and size."""
        for k, trainer in enumerate(self.trainers):
            names = trainer.arrays()
            try:
                trainer.restore({name: arrays[_name(k, name)] for name in names})
            except KeyError:
                raise ModelError("the state of training does not fit the algorithm") from None


def _name(k: int, name: str) -> str:
    return name if k == 0 else f"{k}.{name}"
