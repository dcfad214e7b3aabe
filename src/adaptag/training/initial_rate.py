"""The initial learning rate, found on a sample of the data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from adaptag._native import core
from adaptag.errors import ParameterError
from adaptag.training.online import Trainer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples
    from adaptag.settings import Value
    from adaptag.training.declarations import Algorithm

__all__ = ["find_rate", "objective"]

SAMPLE = 1000  # sentences
FACTOR = 2.0
SMALLEST, LARGEST = 1e-6, 1e3


def find_rate(
    dataset: Examples,
    algorithm: Algorithm,
    parameters: Mapping[str, Value],
    seed: int = 1,
    start: NDArray[np.float32] | None = None,
) -> float:
    """Find the rate with the best training objective after one pass over a sample.

    He and Wang (2012), section 3.1. Rates are tried by doubling and halving from the algorithm's
    default until the objective no longer falls.

    Args:
        dataset: The training data.
        algorithm: An online algorithm with a rate.
        parameters: The other parameters of the algorithm.
        seed: The seed of the sample and its order.
        start: The initial weights.
    """
    default = next(float(p.default) for p in algorithm.parameters if p.name == "rate")
    rng = np.random.default_rng(seed)
    sample = dataset.select(rng.permutation(len(dataset))[:SAMPLE])
    order = np.arange(len(sample), dtype=np.uint32)
    values: dict[float, float] = {}

    def value(rate: float) -> float:
        if rate not in values:
            values[rate] = _one_pass(sample, algorithm, {**parameters, "rate": rate}, order, start)
        return values[rate]

    rate = default
    for factor in (FACTOR, 1 / FACTOR):
        while SMALLEST < rate * factor < LARGEST and value(rate * factor) < value(rate):
            rate *= factor
        if rate != default:
            break
    return rate


def _one_pass(
    sample: Examples,
    algorithm: Algorithm,
    parameters: Mapping[str, Value],
    order: NDArray[np.uint32],
    start: NDArray[np.float32] | None,
) -> float:
    try:
        trainer = Trainer(sample, algorithm, parameters)
    except ParameterError:  # the prior allows no such rate
        return math.inf
    if start is not None:
        trainer.weights[:] = start
    trainer.run(order)
    value = objective(sample, trainer.current_weights(), parameters)
    return value if math.isfinite(value) else math.inf


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
