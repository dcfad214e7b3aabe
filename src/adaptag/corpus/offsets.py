"""Consecutive groups of an array, given by the offset where each begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["items_of"]


def items_of(
    offsets: NDArray[np.int64], groups: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of all items of some groups, and the offsets of the groups among them."""
    lengths = np.diff(offsets)[groups]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    items = np.arange(ends[-1]) + np.repeat(offsets[groups] - ends[:-1], lengths)
    return items, ends
