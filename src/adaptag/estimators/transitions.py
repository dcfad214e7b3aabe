"""Which labels may follow each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from adaptag.corpus.chunks import ChunkScheme
from adaptag.corpus.labels import NO_LABEL, check_transitions
from adaptag.errors import ParameterError, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Transitions = str | Iterable[tuple[str | None, str | None]] | None

__all__ = ["SCHEMES", "SEEN", "allowed_transitions"]

SCHEMES = ("bio", "bioes")
SEEN = "seen"


def allowed_transitions(
    transitions: Transitions,
    names: Sequence[str],
    codes: NDArray[np.int32],
    offsets: NDArray[np.int64],
) -> NDArray[np.uint8] | None:
    """Turn what a user allows into a table; raise where the training data goes beyond it.

    Args:
        transitions: a scheme, ``seen`` for what is in the training data, or pairs of labels; None:
            all are allowed. In a pair, None is the outside of a sequence; where no pair says how
            sequences begin, or how they end, all labels may. Labels that are not in the training
            data, as in a part of it, are passed over.
        names: the labels, Y of them.
        codes: those of the training data, ``[T]``.
        offsets: first token of every sequence, then T.

    Returns:
        ``[Y + 1, Y + 1]``, 1 for what is allowed; outside of a sequence is number Y.
    """
    if transitions is None:
        return None
    outside = len(names)
    legal = np.zeros((outside + 1, outside + 1), np.uint8)
    if not isinstance(transitions, (str, Iterable)):
        raise ParameterError(f"transitions is {transitions!r}; allowed: a name, or pairs of labels")
    if not isinstance(transitions, str):
        _allow_pairs(legal, transitions, names)
    elif transitions == SEEN:
        whole = np.insert(codes, offsets, outside)
        known = (whole[:-1] != NO_LABEL) & (whole[1:] != NO_LABEL)
        legal[whole[:-1][known], whole[1:][known]] = 1
    elif transitions in SCHEMES:
        legal = ChunkScheme(names).legal(transitions).astype(np.uint8)
    else:
        raise ParameterError(unknown("transitions", transitions, [*SCHEMES, SEEN]))
    check_transitions(legal, codes, offsets, names)
    return legal


def _allow_pairs(
    legal: NDArray[np.uint8],
    transitions: Iterable[tuple[str | None, str | None]],
    names: Sequence[str],
) -> None:
    numbers: dict[str | None, int] = {name: number for number, name in enumerate(names)}
    numbers[None] = outside = len(names)
    for pair in transitions:
        right = isinstance(pair, (tuple, list)) and len(pair) == 2
        if not right or not all(name is None or isinstance(name, str) for name in pair):
            raise ParameterError(f"transitions: {pair!r}; allowed: pairs of labels")
        if set(pair) <= set(numbers):
            legal[numbers[pair[0]], numbers[pair[1]]] = 1
    for edge in (legal[outside, :outside], legal[:outside, outside]):
        if not edge.any():
            edge[:] = 1
