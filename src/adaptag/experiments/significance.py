"""Is one model better than another, or was it luck? Two paired tests.

The papers report t-tests and do not say what is paired. Here there are two choices:

- **Blocks of the test data.** The test sentences are cut into 20 blocks of neighbours; a block's F
  under one model is paired with its F under the other. This asks whether the difference would hold
  on other text. Blocks are neighbours, so that sentences of one document mostly stay together, and
  large, so that their F is near to normally distributed.
- **Seeds.** The score of one model with a seed is paired with that of the other with the same seed:
  the same order of sentences. This asks whether the difference would hold with other orders, on
  this very test data. It says nothing of other text.

Approximate randomisation (Noreen 1989; Yeh 2000) assumes no distribution. Were the two models the
same, it would not matter which of them gave which output of a sentence. So outputs are swapped by
tossing a coin for every sentence, and the difference in F is computed anew, many times.

Counts are rows of (correct, predicted, gold) items, one row a sentence. Where a model was trained
with several seeds, its counts are summed over them: a sentence is then swapped with all its seeds,
since the outputs of one sentence do not come about independently.
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
TRIALS = 10_000  # rounds of swaps
CELLS = 4_000_000  # coins tossed at a time
ROUNDING = 1e-9  # of F in percent: differences that are nearer than this are the same


@dataclass(frozen=True)
class TTest:
    """A paired, two-sided t-test.

    Attributes:
        t: mean of the differences in units of its standard error.
        freedom: degrees of freedom: pairs minus 1.
        p: probability of a mean as far from 0 or farther, were the true one 0.
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
        The test; none where there are fewer than two pairs, or all differences are the same: their
        deviation is then 0, and t has no value.
    """
    require_scipy()
    from scipy.special import stdtr

    if len(a) != len(b):
        raise ParameterError(f"{len(a)} values are to be paired with {len(b)}")
    differences = np.asarray(a, np.float64) - np.asarray(b, np.float64)
    n = len(differences)
    if n < 2 or np.ptp(differences) < ROUNDING:
        return None
    t = float(differences.mean() / (differences.std(ddof=1) / math.sqrt(n)))
    return TTest(t, n - 1, float(2 * stdtr(n - 1, -abs(t))))


def f1(counts: NDArray[Any]) -> NDArray[np.float64]:
    """F1 in percent of counts ``[..., 3]``: 2 · correct / (predicted + gold); 0 where all are 0."""
    whole = counts[..., 1] + counts[..., 2]
    share = np.divide(2 * counts[..., 0], whole, out=np.zeros(whole.shape), where=whole > 0)
    return np.asarray(100 * share, np.float64)


def block_scores(counts: Counts, blocks: int = BLOCKS) -> NDArray[np.float64]:
    """F1 of blocks of neighbouring sentences, near equal in their number of sentences.

    Args:
        counts: int64 ``[N, 3]``: correct, predicted and gold items of every sentence.
        blocks: how many, at most one a sentence.
    """
    parts = np.array_split(np.asarray(counts), max(1, min(blocks, len(counts))))
    return f1(np.stack([part.sum(axis=0) for part in parts]))


def randomisation_test(a: Counts, b: Counts, *, trials: int = TRIALS, seed: int = 1) -> float:
    """Approximate randomisation of the difference in F1, two-sided.

    Args:
        a: int64 ``[N, 3]``: correct, predicted and gold items of every sentence, by one model, and
        b: by the other.
        trials: rounds of swaps.
        seed: of the coins.

    Returns:
        p = (k + 1) / (trials + 1), where k rounds had a difference as large as the real one, or
        larger. The real outputs count as a round, so p is never 0.
    """
    if a.shape != b.shape:
        raise ParameterError(f"counts of {len(a)} sentences are to be paired with {len(b)}")
    if trials < 1:
        raise ParameterError(f"trials is {trials}; allowed: 1 or more")
    different = (a != b).any(axis=1)  # swapping the others changes nothing
    width = int(different.sum())
    real = float(abs(f1(a.sum(axis=0)) - f1(b.sum(axis=0))))
    rng = np.random.default_rng(seed)
    part = max(1, CELLS // max(1, width))
    reached = 0
    for first in range(0, trials, part):
        coins = rng.integers(0, 2, (min(part, trials - first), width), dtype=np.uint8)
        differences = swapped(a.sum(axis=0), b.sum(axis=0), (a - b)[different], coins)
        reached += int((np.abs(differences) >= real - ROUNDING).sum())
    return (reached + 1) / (trials + 1)


def swapped(
    a: Counts, b: Counts, differences: Counts, coins: NDArray[np.uint8]
) -> NDArray[np.float64]:
    """Differences in F1 with some sentences swapped.

    Args:
        a: int64 ``[3]``: all counts of one model, and
        b: of the other.
        differences: int64 ``[n, 3]``: counts of the first minus those of the second, by sentence.
        coins: ``[trials, n]``: 1 where a sentence is swapped.
    """
    moved = coins.astype(np.float64) @ differences.astype(np.float64)  # whole numbers: exact
    return f1(a - moved) - f1(b + moved)
