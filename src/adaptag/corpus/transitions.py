"""Which labels may follow each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from adaptag.corpus.chunks import ChunkScheme, LabelScheme
from adaptag.corpus.settings import SCHEMES
from adaptag.errors import ParameterError, unknown
from adaptag.settings import AUTO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.label_windows import LabelWindows
    from adaptag.corpus.schemes import TrainingLabels

    Transitions = str | Iterable[tuple[str | None, str | None]] | None

__all__ = ["SEEN", "converted_transitions", "legal_transitions", "scheme_transitions"]

SEEN = "seen"


def scheme_transitions(legal: str, names: Sequence[str], scheme: str | None) -> NDArray[np.uint8]:
    """The transitions that a scheme allows, ``[Y + 1, Y + 1]``.

    Args:
        legal: The scheme, or ``auto`` for that of the training data.
        names: The labels, Y of them.
        scheme: The scheme of the training data; None means that its labels mark no chunks.
    """
    if not isinstance(legal, str) or (legal != AUTO and legal not in SCHEMES):
        raise ParameterError(unknown("label scheme", legal, [AUTO, *SCHEMES]))
    if scheme is None:
        raise ParameterError(
            f"legal is {legal!r}, but the labels mark no chunks (B-X, I-X, …): they have no scheme"
        )
    if legal not in (AUTO, scheme):
        raise ParameterError(
            f"legal is {legal!r}, but the training labels follow the scheme {scheme!r}, whose "
            f"label sequences {legal!r} would rule out; allowed: {AUTO}, {scheme}"
        )
    return ChunkScheme(names).legal(scheme).astype(np.uint8)


def legal_transitions(legal: Transitions, windows: LabelWindows) -> NDArray[np.uint8] | None:
    """Turn what a user allows into a table.

    Args:
        legal: A scheme, ``auto`` for that of the training data, ``seen`` for the transitions that
            occur in it, or pairs of labels. None allows all. In a pair, None is the outside
            of a sequence; where no pair says how sequences begin, or how they end, all labels may.
            Labels that are not in the training data, as in a part of it, are skipped.
        windows: The labels of the training data, Y of them.

    Returns:
        ``[Y + 1, Y + 1]``, 1 for what is allowed; outside of a sequence is number Y.
    """
    if legal is None:
        return None
    names = windows.names
    if not isinstance(legal, (str, Iterable)):
        raise ParameterError(f"legal is {legal!r}; allowed: a name, or pairs of labels")
    if not isinstance(legal, str):
        return _allowed_pairs(legal, names)
    if legal == SEEN:
        return windows.transitions()
    if legal not in (AUTO, *SCHEMES):
        raise ParameterError(unknown("legal", legal, [AUTO, *SCHEMES, SEEN]))
    return scheme_transitions(legal, names, LabelScheme().count(windows).name(names))


def converted_transitions(
    legal: Transitions, labels: TrainingLabels, windows: LabelWindows, schemes: Sequence[str]
) -> NDArray[np.uint8]:
    """Turn what a user allows into a table of labels that were converted to another scheme.

    Their own rules always hold, and with them those of the scheme that they were converted from.

    Args:
        legal: As for ``legal_transitions``, but for pairs.
        labels: The converted labels.
        windows: The labels of the training data, before the conversion.
        schemes: The schemes that may be named: before and after the conversion.
    """
    if legal == SEEN:
        return labels.legal & windows.transitions(labels.conversion)
    if legal is not None and not isinstance(legal, str):
        raise ParameterError(
            "legal is given as pairs of labels, which are not those that are trained; allowed: a "
            "name, or no conversion to another label scheme"
        )
    if legal not in (None, AUTO, *schemes):
        raise ParameterError(unknown("legal", str(legal), [AUTO, *schemes, SEEN]))
    return labels.legal


def _allowed_pairs(
    pairs: Iterable[tuple[str | None, str | None]], names: Sequence[str]
) -> NDArray[np.uint8]:
    """The transitions of these pairs, ``[Y + 1, Y + 1]``."""
    numbers: dict[str | None, int] = {name: number for number, name in enumerate(names)}
    numbers[None] = outside = len(names)
    table = np.zeros((outside + 1, outside + 1), np.uint8)
    for pair in pairs:
        right = isinstance(pair, (tuple, list)) and len(pair) == 2
        if not right or not all(name is None or isinstance(name, str) for name in pair):
            raise ParameterError(f"legal: {pair!r}; allowed: pairs of labels")
        if set(pair) <= set(numbers):
            table[numbers[pair[0]], numbers[pair[1]]] = 1
    for edge in (table[outside, :outside], table[:outside, outside]):
        if not edge.any():
            edge[:] = 1
    return table
