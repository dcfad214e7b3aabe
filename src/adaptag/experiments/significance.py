"""Significance tests: is one model better than another, or is the difference due to chance?

The papers report t-tests and do not say what is paired. Here there are two choices:

- **Blocks of the test data.** The test sentences are divided into 20 consecutive blocks; the F of a
  block under one model is paired with its F under the other. This tests whether the difference
  generalises to other text. Blocks are consecutive, so that sentences of one document mostly stay
  together, and large, so that their F is nearly normally distributed.
- **Seeds.** The score of one model with a seed is paired with that of the other with the same seed:
  the same order of sentences. This tests whether the difference generalises to other orders, on
  this test data. It says nothing about other text.

Approximate randomisation (Noreen 1989; Yeh 2000) assumes no distribution. If the two models were
the same, it would not matter which of them gave which output of a sentence. So the outputs of
randomly chosen sentences are swapped, and the difference in F is computed again, many times.

Counts are rows of (correct, predicted, gold) items, one row per sentence. Where a model was trained
with several seeds, its counts are summed over them: a sentence is then swapped with all its seeds,
since the outputs of one sentence are not independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

__all__ = ["BLOCKS", "TRIALS", "TTest", "block_scores", "f1", "paired_t_test", "randomisation_test"]

BLOCKS = 20  # of the test sentences, for the t-test
TRIALS = 10_000  # rounds of random swaps
CELLS = 4_000_000  # random bits drawn at a time
ROUNDING = 1e-9  # percentage points of F: smaller differences are rounding errors


@dataclass(frozen=True)
class TTest:
    """A paired, two-sided t-test.

    Attributes:
        t: The mean of the differences, divided by its standard error.
        freedom: The degrees of freedom: the number of pairs minus 1.
        p: The probability of a mean at least as far from 0, if the true mean is 0.
    """

    t: float
    freedom: int
    p: float

    def to_dict(self) -> dict[str, Any]:
        """All figures, ready for JSON."""
        return {"t": self.t, "freedom": self.freedom, "p": self.p}


def require_scipy() -> None:
    """Raise where SciPy is missing: before long work, not after it."""
    try:
        import scipy.special  # noqa: F401
    except ImportError:
        raise ParameterError(
            "significance tests need SciPy; install it: pip install 'adaptag[experiments]'"
        ) from None


def paired_t_test(a: Sequence[float], b: Sequence[float]) -> TTest | None:
    """Test whether the mean of ``a − b`` is 0.

    Returns:
        The test; None where there are fewer than two pairs, or all differences are the same: their
        standard deviation is then 0, and t is undefined.
    """
    require_scipy()
    from scipy.special import stdtr

    if len(a) != len(b):
        raise ParameterError(f"cannot pair {len(a)} values with {len(b)}")
    differences = np.asarray(a, np.float64) - np.asarray(b, np.float64)
    n = len(differences)
    if n < 2 or np.ptp(differences) < ROUNDING:
        return None
    t = float(differences.mean() / (differences.std(ddof=1) / math.sqrt(n)))
    return TTest(t, n - 1, float(2 * stdtr(n - 1, -abs(t))))


def f1(counts: NDArray[Any]) -> NDArray[np.float64]:
    """F1 in percent of counts ``[..., 3]``: 2 · correct / (predicted + gold); 0 where all are 0."""
    total = counts[..., 1] + counts[..., 2]
    share = np.divide(2 * counts[..., 0], total, out=np.zeros(total.shape), where=total > 0)
    return np.asarray(100 * share, np.float64)


def block_scores(counts: Counts, blocks: int = BLOCKS) -> NDArray[np.float64]:
    """F1 of consecutive blocks of sentences of nearly equal size.

    Args:
        counts: The correct, predicted and gold items of every sentence, int64 ``[N, 3]``.
        blocks: The number of blocks; there is at most one per sentence.
    """
    parts = np.array_split(np.asarray(counts), max(1, min(blocks, len(counts))))
    return f1(np.stack([part.sum(axis=0) for part in parts]))


def randomisation_test(a: Counts, b: Counts, *, trials: int = TRIALS, seed: int = 1) -> float:
    """Approximate randomisation of the difference in F1, two-sided.

    Args:
        a: The correct, predicted and gold items of every sentence, by one model, int64 ``[N, 3]``.
        b: The same counts by the other model.
        trials: The number of rounds of random swaps.
        seed: The seed of the random swaps.

    Returns:
        The p-value (k + 1) / (trials + 1), where k rounds had a difference at least as large as the
        observed one. The observed outputs count as a round, so p is never 0.
    """
    if a.shape != b.shape:
        raise ParameterError(f"cannot pair counts of {len(a)} sentences with {len(b)}")
    if trials < 1:
        raise ParameterError(f"trials is {trials}; allowed: 1 or more")
    different = (a != b).any(axis=1)  # swapping the others changes nothing
    width = int(different.sum())
    observed = float(abs(f1(a.sum(axis=0)) - f1(b.sum(axis=0))))
    rng = np.random.default_rng(seed)
    part = max(1, CELLS // max(1, width))
    reached = 0
    for first in range(0, trials, part):
        swaps = rng.integers(0, 2, (min(part, trials - first), width), dtype=np.uint8)
        differences = swapped(a.sum(axis=0), b.sum(axis=0), (a - b)[different], swaps)
        reached += int((np.abs(differences) >= observed - ROUNDING).sum())
    return (reached + 1) / (trials + 1)


def swapped(
    a: Counts, b: Counts, differences: Counts, swaps: NDArray[np.uint8]
) -> NDArray[np.float64]:
    """Differences in F1 with some sentences swapped.

    Args:
        a: The total counts of one model, int64 ``[3]``.
        b: The total counts of the other model, int64 ``[3]``.
        differences: The counts of the first model minus those of the second, by sentence, int64
            ``[n, 3]``.
        swaps: ``[trials, n]``: 1 where a sentence is swapped.
    """
    moved = swaps.astype(np.float64) @ differences.astype(np.float64)  # whole numbers: exact
    return f1(a - moved) - f1(b + moved)
