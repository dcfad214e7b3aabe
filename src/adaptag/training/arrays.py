"""Memory that the core works on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.errors import MemoryLimitError
from adaptag.storage.memory import shown_size

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["aligned_zeros"]


def aligned_zeros(n: int, dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """Zeros that start at a cache line, so that no row lies in more lines than it must."""
    lines, size = 128, np.dtype(dtype).itemsize  # two, which processors load together
    if size == 0:  # a row without state
        return np.zeros(n, dtype)
    try:
        memory = np.zeros(n * size + lines, np.uint8)
    except MemoryError:
        raise MemoryLimitError(
            f"out of memory: {shown_size(n * size)} for {n:,} weights or features cannot be had"
        ) from None
    begin = -memory.ctypes.data % lines
    return memory[begin : begin + n * size].view(dtype)
