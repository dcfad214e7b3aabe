"""Labels given as Python lists, beside their sentences."""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType
from typing import TYPE_CHECKING

import numpy as np

from adaptag.corpus.offsets import items_of
from adaptag.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["NO_LABEL", "check_transitions", "known_sentences", "number_sequences"]

NO_LABEL = -1  # of a token whose label is not known


def number_sequences(
    sequences: Iterable[Iterable[str | None]],
    offsets: NDArray[np.int64],
    known: Sequence[str] = (),
) -> tuple[NDArray[np.int32], list[str]]:
    """Number labels; names not in ``known`` are added behind it.

    Args:
        sequences: a label for each token of each sentence; None where it is not known.
        offsets: first token of every sentence, then T, ``[N + 1]``.
        known: names that have their numbers already.

    Returns:
        The numbers, int32 ``[T]``, with −1 for None; and all names.
    """
    numbers: dict[str | None, int] = {None: NO_LABEL}
    for name in known:
        numbers[name] = len(numbers) - 1
    found: list[int] = []
    n = 0
    for n, sequence in enumerate(sequences, 1):
        before = len(found)
        if isinstance(sequence, str) or not isinstance(sequence, Iterable):
            raise CorpusError(f"sequence {n}: {sequence!r} for labels; allowed: a list of them")
        for label in sequence:
            number = numbers.get(label) if isinstance(label, (str, NoneType)) else None
            if number is None:
                if not isinstance(label, str):
                    raise CorpusError(
                        f"sequence {n}: the label {label!r}; allowed: a string, or None where it "
                        "is not known"
                    )
                number = numbers[str(label)] = len(numbers) - 1
            found.append(number)
        if n < len(offsets) and len(found) - before != offsets[n] - offsets[n - 1]:
            raise CorpusError(
                f"sequence {n}: {len(found) - before} labels for "
                f"{offsets[n] - offsets[n - 1]} tokens"
            )
    if n != len(offsets) - 1:
        raise CorpusError(f"{n} sequences of labels for {len(offsets) - 1} sequences of tokens")
    return np.array(found, np.int32), [name for name in numbers if name is not None]


def known_sentences(
    codes: NDArray[np.int32], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the sentences whose labels are all known: their tokens, and offsets among these."""
    unknown = np.flatnonzero(codes == NO_LABEL)
    partial = np.searchsorted(offsets, unknown, side="right") - 1
    return items_of(offsets, np.setdiff1d(np.arange(len(offsets) - 1), partial))


def check_transitions(
    legal: NDArray[np.uint8],
    codes: NDArray[np.int32],
    offsets: NDArray[np.int64],
    names: Sequence[str],
) -> None:
    """Raise where the labels of a sequence need a transition that is ruled out.

    Args:
        legal: ``[Y + 1, Y + 1]``, 1 for what is allowed; outside of a sequence is number Y.
        codes: the labels, ``[T]``; −1 where one is not known.
        offsets: first token of every sequence, then T, ``[N + 1]``.
        names: the labels, Y of them.
    """
    outside = len(names)
    whole = np.insert(codes, offsets, outside)  # [T + N + 1]
    borders = offsets + np.arange(len(offsets))
    known = np.flatnonzero(whole != NO_LABEL)
    before, after, steps = whole[known[:-1]], whole[known[1:]], np.diff(known)
    reached = legal.astype(bool)  # in so many steps
    reached[outside, outside] = True  # an empty sequence
    for n in range(1, int(steps.max(initial=0)) + 1):
        wrong = np.flatnonzero((steps == n) & ~reached[before, after])
        if len(wrong):
            first = int(wrong[0])
            number = int(np.searchsorted(borders, known[first + 1]))
            old, new = int(before[first]), int(after[first])
            gap = f", with {n - 1} unknown between them" if n > 1 else ""
            raise CorpusError(
                f"sequence {number}: {'the beginning' if old == outside else repr(names[old])} "
                f"and then {'the end' if new == outside else repr(names[new])}{gap}; "
                "the transitions rule this out"
            )
        reached = reached[:, :outside] @ legal[:outside].astype(bool)
