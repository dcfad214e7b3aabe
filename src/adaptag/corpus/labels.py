"""Labels given as Python lists, beside their sentences."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING

import numpy as np

from adaptag.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["NO_LABEL", "number_sequences"]

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
