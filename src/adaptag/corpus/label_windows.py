"""What label schemes depend on: which labels stand side by side, and how often.

A label is written in another scheme by its neighbours alone. So windows of a few labels decide all
that concerns the labels of training data: its scheme, the labels to train with, and the transitions
between them. They are small, and those of parts of the data can be merged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.corpus.labels import NO_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.schemes import LabelConversion

__all__ = ["LabelWindows", "neighbours"]

WIDTH = 4  # one label before, and two after, so that both labels of a transition can be converted


def neighbours(
    ids: NDArray[np.integer[Any]], offsets: NDArray[np.integer[Any]], outside: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The labels before and after each token, ``[T]``; ``outside`` beyond the sentence."""
    left, right = np.append(outside, ids)[:-1], np.append(ids, outside)[1:]
    filled = np.diff(offsets) > 0
    left[offsets[:-1][filled]] = outside
    right[offsets[1:][filled] - 1] = outside
    return left, right


@dataclass(frozen=True, eq=False)
class LabelWindows:
    """How often labels occur beside which others.

    Attributes:
        names: The labels, Y of them, in the order of their first occurrence.
        labels: The windows that occur, int32 ``[n, 4]``: the label before a token, its own, and the
            two after it; −1 where one is not known, Y outside of the sentence.
        counts: How often each occurs, int64 ``[n]``.
        has_empty: Whether some sentence has no token.
    """

    names: tuple[str, ...]
    labels: NDArray[np.int32]
    counts: NDArray[np.int64]
    has_empty: bool = False

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
    ) -> LabelWindows:
        """Count the windows of some sentences.

        Args:
            names: The labels.
            ids: The number of every token's label, ``[T]``; −1 where it is not known.
            offsets: The first token of every sentence, then T, ``[N + 1]``.
        """
        outside = len(names)
        left, right = neighbours(ids, offsets, outside)
        second = np.where(right == outside, outside, np.append(right, outside)[1:])
        codes, counts = np.unique(_codes((left, ids, right, second), outside), return_counts=True)
        empty = bool((np.diff(offsets) == 0).any())
        return cls(tuple(names), _windows(codes, outside), counts.astype(np.int64), empty)

    @classmethod
    def merged(cls, parts: Iterable[LabelWindows]) -> LabelWindows:
        """The windows of all data, of those of its parts in their order."""
        parts = list(parts)
        names = tuple(dict.fromkeys(name for part in parts for name in part.names))
        numbers = {name: number for number, name in enumerate(names)}
        outside = len(names)
        codes = [
            _codes(np.array([*map(numbers.get, part.names), outside, NO_LABEL])[part.labels.T],
                   outside)
            for part in parts
        ]  # fmt: skip
        found, places = np.unique(np.concatenate(codes), return_inverse=True)
        counts = np.zeros(len(found), np.int64)
        np.add.at(counts, places, np.concatenate([part.counts for part in parts]))
        empty = any(part.has_empty for part in parts)
        return cls(names, _windows(found, outside), counts, empty)

    @property
    def contexts(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """The label before, the label itself, and the one after it, ``[n]`` each."""
        before, label, after, _ = self.labels.T
        return before, label, after

    @property
    def some_unknown(self) -> bool:
        """Whether the label of some token is not known."""
        return bool((self.labels[:, 1] == NO_LABEL).any())

    def transitions(self, conversion: LabelConversion | None = None) -> NDArray[np.uint8]:
        """The transitions that occur, ``[Y + 1, Y + 1]``; outside of a sentence is number Y.

        Args:
            conversion: How the labels are written. None means as they are.
        """
        before, label, after, second = self.labels.T
        outside = own_outside = len(self.names)
        first, next_label = label, after
        if conversion is not None:
            outside = len(conversion.outputs)
            ends = after == own_outside
            first = conversion.write(before, label, after)
            following = conversion.write(label, np.where(ends, NO_LABEL, after), second)
            next_label = np.where(ends, np.int32(outside), following)
        table = np.zeros((outside + 1, outside + 1), np.uint8)
        known = first != NO_LABEL
        table[outside, first[known & (before == own_outside)]] = 1
        known &= next_label != NO_LABEL
        table[first[known], next_label[known]] = 1
        table[outside, outside] = self.has_empty
        return table


def _codes(windows: Sequence[NDArray[Any]] | NDArray[Any], outside: int) -> NDArray[np.int64]:
    """One number for each window."""
    codes = np.zeros(len(windows[0]), np.int64)
    for labels in windows:
        codes = codes * (outside + 2) + (labels - NO_LABEL)
    return codes


def _windows(codes: NDArray[np.int64], outside: int) -> NDArray[np.int32]:
    """The windows of these numbers, ``[n, 4]``."""
    powers = (outside + 2) ** np.arange(WIDTH - 1, -1, -1, dtype=np.int64)
    return (codes[:, None] // powers % (outside + 2) + NO_LABEL).astype(np.int32)
