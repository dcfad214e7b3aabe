"""The double-array trie of Darts, in which CRF++ keeps its features.

A unit has a base (int32) and a check (uint32). The child of a node with base b by byte c is the
unit b + c + 1, and by the end of the string the unit b, where its check is b. The base of the unit
at the end of a string is -1 - value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from adaptag.foreign.binary import BinaryFile

__all__ = ["UNIT", "strings_of"]

UNIT = np.dtype([("base", "<i4"), ("check", "<u4")])
MOST_BYTES = 64  # of all strings, per byte of the file
LONGEST = 8192  # bytes of a string; CRF++ has no longer ones


def strings_of(units: NDArray[np.void], file: BinaryFile) -> list[tuple[int, bytes]]:
    """The values and the strings of a trie, by walking from the end of each string to the root."""
    base, check = units["base"].astype(np.int64), units["check"].astype(np.int64)
    codes = np.arange(len(units)) - check
    ends = np.flatnonzero(base < 0)
    if (codes[ends] != 0).any():
        raise file.fail("a value in the trie is not at the end of a string")
    parents = _parents_of(base, check, file)
    active, nodes = np.arange(len(ends)), parents[ends]
    numbers: list[NDArray[np.int64]] = []
    characters: list[NDArray[np.uint8]] = []
    budget = MOST_BYTES * len(file.data)
    while len(active):
        inside = nodes != 0
        active, nodes = active[inside], nodes[inside]
        budget -= len(active) + 1
        if budget < 0 or len(numbers) > LONGEST:
            raise file.fail("the strings of the trie are too long")
        if (nodes < 0).any() or (codes[nodes] < 1).any() or (codes[nodes] > 256).any():
            raise file.fail("the trie is not connected")
        numbers.append(active)
        characters.append((codes[nodes] - 1).astype(np.uint8))
        nodes = parents[nodes]
    all_numbers = np.concatenate([np.zeros(0, np.int64), *numbers])[::-1]
    order = np.argsort(all_numbers, kind="stable")
    text = np.concatenate([np.zeros(0, np.uint8), *characters])[::-1][order].tobytes()
    bounds = np.cumsum(np.bincount(all_numbers, minlength=len(ends))).tolist()
    values = (-1 - base[ends]).tolist()
    begins = [0, *bounds]
    return [
        (value, text[begin:end]) for value, begin, end in zip(values, begins, bounds, strict=False)
    ]


def _parents_of(
    base: NDArray[np.int64], check: NDArray[np.int64], file: BinaryFile
) -> NDArray[np.int64]:
    """The parent of each unit: the one whose base is its check; -1 where there is none."""
    inner = np.flatnonzero(base > 0)
    inner = inner[np.argsort(base[inner], kind="stable")]
    bases = base[inner]
    if not len(inner) or (np.diff(bases) == 0).any():
        raise file.fail("the trie is empty, or two of its nodes share their children")
    place = np.minimum(np.searchsorted(bases, check), len(inner) - 1)
    return np.where(bases[place] == check, inner[place], -1)
