"""The weights of a model of another program, in the precision of its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["OriginalWeights"]


@dataclass(frozen=True, eq=False)
class OriginalWeights:
    """What the file of another program has that a linear chain here has no place for.

    Attributes:
        weights: The weights, float64, laid out as those of the chain, which are float32.
        numbers: The number of the first weight of each predicate in the file, int64 ``[P]``; None
            where the file does not number them.
        sums_in_single: Whether the program sums the weights of a label in float32, one by one.
    """

    weights: NDArray[np.float64]
    numbers: NDArray[np.int64] | None = None
    sums_in_single: bool = False
