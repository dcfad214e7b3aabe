"""Temperature scaling: one number by which all scores are divided, found on held-out data.

With the temperature T, P(y | x) ∝ exp(s(y | x) / T). The best labels do not depend on T; above 1 it
makes probabilities less extreme, below 1 more. T maximises the likelihood of labels that were not
trained on (Guo et al. 2017, "On calibration of modern neural networks").
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from adaptag.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["HIGHEST", "LOWEST", "fit_temperature"]

LOWEST, HIGHEST = 2.0**-6, 2.0**16
PRECISION = 1e-4  # relative, of the temperature
GOLDEN = (math.sqrt(5) - 1) / 2


def fit_temperature(log_likelihood: Callable[[float], float]) -> float:
    """Find the temperature with the highest likelihood, by golden-section search.

    Args:
        log_likelihood: The log-likelihood of held-out labels at a temperature; −∞ is allowed.

    Returns:
        The temperature, from 1/64 to 65,536. Where all held-out labels are predicted right, the
        likelihood has no maximum, and it is close to the lower end.

    Raises:
        CorpusError: The likelihood is the same for all temperatures: no label is known.
    """
    values: dict[float, float] = {}

    def value(exponent: float) -> float:
        """The log-likelihood at the temperature 2^exponent."""
        if exponent not in values:
            values[exponent] = log_likelihood(math.pow(2.0, exponent))
        return values[exponent]

    low, high = math.log2(LOWEST), math.log2(HIGHEST)
    best = 0.0
    for step in (1.0, -1.0):
        while low <= best + step <= high and value(best + step) > value(best):
            best += step
        if best:
            break
    if value(1.0) == value(0.0) == value(-1.0):
        raise CorpusError("the data to calibrate on has no sentence whose labels are known")
    a, b = max(low, best - 1), min(high, best + 1)
    c, d = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    while b - a > PRECISION:
        if value(c) >= value(d):
            b, d = d, c
            c = b - GOLDEN * (b - a)
        else:
            a, c = c, d
            d = a + GOLDEN * (b - a)
    return math.pow(2.0, (a + b) / 2)
