"""The pass loop: the same for every algorithm."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.errors import ParameterError
from adaptag.training.algorithms import Algorithm, algorithm
from adaptag.training.callbacks import Callback, PassReport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Dataset

    Score = Callable[[NDArray[np.float32]], float]

__all__ = ["Result", "Trainer", "fit"]

SLICE_TOKENS = 20_000  # between looks at the clock and at Ctrl-C


@dataclass
class Result:
    """What training gives.

    Attributes:
        weights: float32, in the dataset's layout.
        parameters: the algorithm's parameters, defaults included.
        history: one report a pass.
        best: the pass whose weights these are.
        stopped: why training ended: ``passes``, ``callback`` or ``interrupt``.
    """

    weights: NDArray[np.float32]
    parameters: dict[str, float]
    history: list[PassReport] = field(default_factory=list)
    best: int = 0
    stopped: str = "passes"


class Trainer:
    """One algorithm at work on one dataset: weights, state arrays and the core's run over them."""

    def __init__(
        self, dataset: Dataset, chosen: Algorithm, parameters: Mapping[str, float]
    ) -> None:
        layout = dataset.layout
        self.parameters = chosen.values(parameters)
        self.weights = _aligned_zeros(layout.n_weights)
        self.rows = np.zeros(layout.n_predicates, np.dtype(list(chosen.row)))
        self.clock = np.zeros(1, np.dtype(list(chosen.clock)))
        self.n_sentences = len(dataset)
        self._data = dataset.native(layout)
        try:
            self._run = core.Training(
                chosen.name,
                layout,
                list(self.parameters.values()),
                len(dataset),
                self.weights,
                _bytes(self.rows).reshape(layout.n_predicates, self.rows.itemsize),
                _bytes(self.clock),
            )
        except ValueError as error:
            raise ParameterError(f"{chosen.name}: {error}") from None

    def run(self, order: NDArray[np.uint32]) -> tuple[float, float, int]:
        """Train on sentences in order: sums of loss and of expected correct labels, tokens."""
        return self._run.run(self._data, order)

    def current_weights(self) -> NDArray[np.float32]:
        """The weights, with everything that was put off applied."""
        self._run.flush()
        return self.weights


def fit(
    dataset: Dataset,
    *,
    algorithm_name: str = "adf",
    parameters: Mapping[str, float] | None = None,
    passes: int = 10,
    seed: int = 1,
    score: Score | None = None,
    callbacks: Sequence[Callback] = (),
) -> Result:
    """Train weights, pass after pass over the shuffled sentences.

    Args:
        dataset: the training data.
        algorithm_name: one of ``algorithms``.
        parameters: the algorithm's parameters that differ from their defaults.
        passes: passes at most.
        seed: of the order of sentences; the same seed gives the same bits.
        score: scores weights on development data after each pass; the best weights are kept.
        callbacks: watch, and stop.

    Ctrl-C ends training early: the weights reached so far are returned.
    """
    if passes < 1:
        raise ParameterError(f"passes is {passes}; allowed: 1 or more")
    if seed < 0:
        raise ParameterError(f"seed is {seed}; allowed: 0 or more")
    trainer = Trainer(dataset, algorithm(algorithm_name), parameters or {})
    rng = np.random.default_rng(seed)
    step = max(1, SLICE_TOKENS * len(dataset) // max(1, dataset.n_tokens))
    result = Result(trainer.weights, trainer.parameters)
    best_weights: NDArray[np.float32] | None = None
    for callback in callbacks:
        callback.on_start(passes, len(dataset))
    try:
        for number in range(1, passes + 1):
            order = rng.permutation(len(dataset)).astype(np.uint32)
            totals, seconds = np.zeros(3), 0.0
            for first in range(0, len(order), step):
                part = order[first : first + step]
                begin = time.perf_counter()
                totals += trainer.run(part)
                seconds += time.perf_counter() - begin
                for callback in callbacks:
                    callback.on_progress(len(part))
            dev_score = score(trainer.current_weights()) if score else None
            loss, accuracy = totals[0] / len(dataset), 100 * totals[1] / totals[2]
            report = PassReport(number, seconds, float(loss), float(accuracy), dev_score)
            if score and all(report.score > earlier.score for earlier in result.history):
                best_weights, result.best = trainer.weights.copy(), number
            result.history.append(report)
            answers = [callback.on_pass(result.history) for callback in callbacks]
            if any(answers):
                result.stopped = "callback"
                break
    except KeyboardInterrupt:
        result.stopped = "interrupt"
    if best_weights is None:
        result.weights, result.best = trainer.current_weights(), len(result.history)
    else:
        result.weights = best_weights
    return result


def _aligned_zeros(n: int) -> NDArray[np.float32]:
    """Zeros that start at a cache line, so that no row lies in more lines than it must."""
    line = 64
    memory = np.zeros(n * 4 + line, np.uint8)
    begin = -memory.ctypes.data % line
    return memory[begin : begin + n * 4].view(np.float32)


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return array.view(np.uint8)
