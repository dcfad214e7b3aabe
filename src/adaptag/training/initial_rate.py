"""The initial learning rate, found on a sample of the data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from adaptag._native import core
from adaptag.errors import DivergenceError, ParameterError
from adaptag.training.online import Trainer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples
    from adaptag.settings import Value
    from adaptag.training.declarations import Algorithm

__all__ = ["find_rate", "objective", "progressive_loss", "sample_size"]

SAMPLE = (2_000, 10_000)  # sentences: a quarter of the data, within these bounds
FEWEST = 100  # sentences; with fewer, their losses say little
FACTOR = 2.0
SMALLEST, LARGEST = 1e-6, 1e3
DIVERGED = 1e200  # more than any loss
DIGITS = 2  # significant ones of the result
# The rate falls with the sentences that there are for each one of the sample, to this power. Only
# that of ADF is found too high for much data: the rates of the others do not fall within a pass.
DECAY = {"adf": 1 / 6}


def find_rate(
    dataset: Examples,
    algorithm: Algorithm,
    parameters: Mapping[str, Value],
    seed: int = 1,
    start: NDArray[np.float32] | None = None,
    *,
    n_sentences: int | None = None,
) -> float:
    """Find the rate with which a pass over a sample predicts best what comes next in it.

    Rates are tried by doubling or halving until the loss no longer falls; then the least of the
    parabola through the best one and its neighbours is taken. That of ADF is multiplied by
    (n / sample)^(−1/6), where n is the number of sentences. Data of fewer than ``FEWEST`` sentences
    gets the rate that the search would start from.

    Args:
        dataset: The training data.
        algorithm: An online algorithm with a rate.
        parameters: The other parameters of the algorithm.
        seed: The seed of the sample and its order.
        start: The initial weights.
        n_sentences: The sentences of all data, where the dataset is a part of it.
    """
    first = next(p.start for p in algorithm.parameters if p.name == "rate")
    n = len(dataset) if n_sentences is None else n_sentences
    if n < FEWEST:
        return first
    rng = np.random.default_rng(seed)
    sample = dataset.select(rng.permutation(len(dataset))[: sample_size(n)])
    losses: dict[int, float] = {}

    def loss(step: int) -> float:
        if step not in losses:
            rate = first * FACTOR**step
            if not SMALLEST < rate < LARGEST:
                return math.inf
            value = progressive_loss(sample, algorithm, {**parameters, "rate": rate}, start)
            # Where training diverges, a lower rate is better.
            losses[step] = value if value < math.inf else DIVERGED * rate
        return losses[step]

    best = 0
    for direction in (1, -1):
        while loss(best + direction) < loss(best):
            best += direction
        if best != 0:
            break
    step = best + _least(loss(best - 1), loss(best), loss(best + 1))
    share = len(sample) / n
    rate = first * FACTOR**step * share ** DECAY.get(algorithm.name, 0)
    return float(f"{rate:.{DIGITS}g}")


def sample_size(n_sentences: int) -> int:
    """How many of the sentences a rate is found on."""
    return min(max(n_sentences // 4, SAMPLE[0]), SAMPLE[1], n_sentences)


def _least(left: float, middle: float, right: float) -> float:
    """Where the parabola through values at −1, 0 and 1, the least at 0, has its least value."""
    bend = left - 2 * middle + right
    return (left - right) / (2 * bend) if 0 < bend < math.inf else 0.0


def progressive_loss(
    sample: Examples,
    algorithm: Algorithm,
    parameters: Mapping[str, Value],
    start: NDArray[np.float32] | None = None,
) -> float:
    """The loss of a sample's second half, each sentence before it is learned, in one pass.

    It is infinite where training diverges, or where the prior does not allow the rate.
    """
    try:
        trainer = Trainer(sample, algorithm, parameters)
    except ParameterError:
        return math.inf
    if start is not None:
        trainer.weights[:] = start
    first, second = np.array_split(np.arange(len(sample), dtype=np.uint32), 2)
    try:
        trainer.run(first)
        loss, _, _ = trainer.run(second)
    except DivergenceError:
        return math.inf
    return loss if math.isfinite(loss) else math.inf


def objective(
    dataset: Examples, weights: NDArray[np.float32], parameters: Mapping[str, Value]
) -> float:
    """What the likelihood methods minimise: Σ −log P(y | x) + ‖w‖² / (2σ²) + C ‖w‖₁."""
    data = dataset.native(dataset.layout)
    loss, *_ = core.Objective(dataset.layout, data)(weights, None, 1)
    sigma, l1 = float(parameters.get("sigma", math.inf)), float(parameters.get("l1", 0))
    if sigma < math.inf:
        loss += float(np.dot(weights, weights)) / (2 * sigma**2)
    return loss + l1 * float(np.abs(weights).sum()) if l1 else loss
