"""One online algorithm at work on one dataset."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.errors import DivergenceError, ModelError, ParameterError
from adaptag.training.algorithms import DATA_PARAMETERS
from adaptag.training.arrays import aligned_zeros

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples
    from adaptag.settings import Value
    from adaptag.training.declarations import Algorithm

__all__ = ["PASS_SIZE", "Trainer", "divergence"]

BALANCED = 8  # updates whose sentences are exchanged
MAX_STEPS = 1 << 32  # updates that algorithms can count
PASS_SIZE = 10_000  # sentences that count as a pass where the data comes in parts


class Trainer:
    """Weights, state arrays and the core's run over them.

    Attributes:
        weights: The weights as the algorithm stores them, with some of its work still pending. They
            may be written before training starts; ``arrays`` brings them up to date.
        per_weight_state: The number that the algorithm keeps for each weight, by its name. It is
            empty where there is none.
        row_state: The state of each predicate, a structured array.
        run_state: The state of the whole run, a structured array of one element.
        parameters: All parameters of the algorithm.
        batch: The number of sentences per update: the parameter ``batch``, or the number of threads
            where that is larger, unless they train lock-free; 1 where a special form counts each
            sentence as one.
    """

    def __init__(
        self,
        dataset: Examples,
        algorithm: Algorithm,
        parameters: Mapping[str, Value],
        *,
        pass_size: int | None = None,
        threads: int = 1,
        lock_free: bool = False,
    ) -> None:
        """Allocate the state.

        Args:
            dataset: The training data, or the first part of it.
            algorithm: The algorithm.
            parameters: The parameters that differ from their defaults. Those of
                ``DATA_PARAMETERS`` are not for it: see ``OrderedTraining``.
            pass_size: The number of sentences in a pass, for regularisation and schedules; by
                default that of the dataset.
            threads: The number of threads. The same number gives the same bits.
            lock_free: Whether all threads update the same weights at the same time. If so, two runs
                differ.
        """
        layout = dataset.layout
        for parameter in DATA_PARAMETERS:
            value = parameters.get(parameter.name, parameter.default)
            if pass_size is not None and value != parameter.default:
                raise ParameterError(
                    f"{parameter.name} is {value:g}; allowed: {parameter.default:g}, where data "
                    "comes in parts"
                )
        self.algorithm = algorithm.name
        self.parameters = algorithm.values_without_sample(parameters)
        self.weights = aligned_zeros(layout.n_weights)
        names = [algorithm.per_weight_state] if algorithm.per_weight_state else []
        self.per_weight_state = {name: aligned_zeros(layout.n_weights) for name in names}
        self.row_state = aligned_zeros(layout.n_predicates, np.dtype(list(algorithm.row_state)))
        self.run_state = np.zeros(1, np.dtype(list(algorithm.run_state)))
        self._layout = layout
        self._data = dataset.native(layout)
        try:
            self._run = core.Training(
                algorithm.name,
                layout,
                self._data,
                [
                    p.number(self.parameters[p.name])
                    for p in algorithm.parameters
                    if p not in DATA_PARAMETERS
                ],
                self.weights,
                self.per_weight_state.get(algorithm.per_weight_state, np.empty(0, np.float32)),
                _bytes(self.row_state),
                _bytes(self.run_state),
                pass_size,
                threads,
                lock_free,
            )
        except ValueError as error:
            raise ParameterError(f"{algorithm.name}: {error}") from None
        self.batch: int = self._run.batch
        self._balances = threads > 1 and not lock_free and self.batch > 1

    def arrange(self, order: NDArray[np.uint32], lengths: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Put sentences of about the same length into the same update, for threads to share.

        Without that, threads would wait for the one with the longest sentence. Sentences change
        places within ``BALANCED`` updates; the order of updates stays about random.

        Args:
            order: The sentences of a pass.
            lengths: The number of tokens of all sentences ``[N]``.
        """
        if not self._balances:
            return order
        size = BALANCED * self.batch
        full = len(order) // size * size
        windows = order[:full].reshape(-1, size)
        by_length = np.argsort(-lengths[windows], axis=1, kind="stable")
        updates = by_length.reshape(-1, BALANCED, self.batch)
        turns = np.argsort(updates.min(axis=2), axis=1)  # as they came, by their first sentence
        places = np.take_along_axis(updates, turns[:, :, None], axis=1).reshape(-1, size)
        arranged = np.take_along_axis(windows, places, axis=1)
        return np.concatenate([arranged.ravel(), order[full:]])

    def use(self, dataset: Examples) -> None:
        """Train on other data from now on, of the same features and as many sentences."""
        self._data = dataset.native(self._layout)

    def run(self, order: NDArray[np.uint32]) -> tuple[float, float, int]:
        """Train on sentences in order: sums of loss and of expected correct labels, tokens."""
        with self._refusals():
            return self._run.run(self._data, order)

    def run_on(self, part: Examples) -> tuple[float, float, int, NDArray[np.int32]]:
        """Train on other sentences of the same features, in their order.

        Returns:
            What ``run`` does, and the best label of each token, found right before it was learned.
        """
        best = np.zeros(part.n_tokens, np.int32)
        order = np.arange(len(part), dtype=np.uint32)
        with self._refusals():
            return *self._run.run(part.native(self._layout), order, best), best

    @contextlib.contextmanager
    def _refusals(self) -> Iterator[None]:
        """Raise a divergence where the core finds no path, which finite scores cannot cause."""
        try:
            yield
        except core.NoPathError:
            raise divergence(self.algorithm, self.parameters, "a score is not finite") from None

    def current_weights(self) -> NDArray[np.float32]:
        """The weights as a model needs them: averaged, with all pending updates applied.

        It is a new array: reading does not affect training.
        """
        out = aligned_zeros(len(self.weights))
        self._run.read(out)
        return out

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is needed to continue training, by name."""
        self._run.sync()
        return {
            "weights": self.weights,
            "row_state": _bytes(self.row_state),
            "run_state": _bytes(self.run_state),
            **self.per_weight_state,
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from the ``arrays`` of another trainer of the same algorithm and size."""
        try:
            for name, array in self.arrays().items():
                array[:] = arrays[name]
        except (KeyError, ValueError, TypeError):
            raise ModelError("the state of training does not fit the algorithm") from None
        if int(self.run_state["step"][0]) >= MAX_STEPS:
            raise ModelError("the state of training is damaged: 2^32 updates or more are done")


def divergence(algorithm: str, parameters: Mapping[str, Value], what: str) -> DivergenceError:
    """Return the error of training that diverged."""
    rate = parameters.get("rate")
    lower = f" (rate is {rate:g})" if isinstance(rate, float) else ""
    return DivergenceError(
        f"{algorithm}: training diverged: {what}; lower the learning rate{lower}, regularise more "
        "(a smaller sigma), or scale the values of the features"
    )


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return array.view(np.uint8) if array.dtype.itemsize else np.empty(0, np.uint8)
