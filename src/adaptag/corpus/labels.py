"""Labels given as Python lists, separate from their sentences."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING

import numpy as np

from adaptag.corpus.lists import is_iterable
from adaptag.corpus.offsets import items_of
from adaptag.errors import CorpusError, CorpusWarning, counted, described

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = [
    "NO_LABEL",
    "GivenLabels",
    "check_names",
    "check_transitions",
    "in_one_line",
    "is_text",
    "known_sentences",
    "number_sequences",
    "warn_of_unknown_labels",
]

NO_LABEL = -1  # of a token whose label is not known
OUTSIDE = "O"
MAX_LABELS = 32_767  # the core keeps them in 16 bits


def check_names(names: Sequence[str], where: str) -> None:
    """Raise where labels are too many, or cannot be written as text."""
    if len(names) > MAX_LABELS:
        raise CorpusError(
            f"{where}: {len(names):,} labels; allowed: up to {MAX_LABELS:,}; is what was read as "
            "labels something else?"
        )
    for name in names:
        if not is_text(name):
            raise CorpusError(
                f"{where}: the label {described(name)} has a lone surrogate; allowed: Unicode text"
            )


def warn_of_unknown_labels(found: Iterable[str], known: Iterable[str], where: str) -> None:
    """Warn where data to score on has no label of the training data, whatever their scheme."""
    names = [name for name in found if name != OUTSIDE]
    if not names or {_type(name) for name in names} & {_type(name) for name in known}:
        return
    shown = ", ".join(names[:3]) + ", …" * (len(names) > 3)
    warnings.warn(
        f"{where}: none of its labels ({shown}) is in the training data, so none can be predicted",
        CorpusWarning,
        stacklevel=2,
    )


def _type(label: str) -> str:
    return label.partition("-")[2] or label


def is_text(name: str) -> bool:
    """Whether a string can be written: lone surrogates stand for no character."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def in_one_line(name: str) -> bool:
    """Whether a name can be a part of a line of a file: it has no tab and no line end."""
    return not any(character in name for character in "\t\r\n")


@dataclass(frozen=True, eq=False)
class GivenLabels:
    """The labels of a corpus that were given separately, as Python data.

    Attributes:
        ids: The number of every token's label, int32 ``[T]``; −1 where it is not known.
        names: The labels, in the order of their first occurrence.
    """

    ids: NDArray[np.int32]
    names: tuple[str, ...]

    @classmethod
    def of(
        cls, sequences: Iterable[Iterable[str | None]], offsets: NDArray[np.int64]
    ) -> GivenLabels:
        """Number the labels of each sentence; None stands for a label that is not known."""
        ids, names = number_sequences(sequences, offsets)
        return cls(ids, tuple(names))

    def select(self, tokens: NDArray[np.int64]) -> GivenLabels:
        """The labels of some of the tokens."""
        return GivenLabels(self.ids[tokens], self.names)

    def number(self, known: Sequence[str] = ()) -> tuple[NDArray[np.int32], list[str]]:
        """Number the labels; names not in ``known`` are appended to it."""
        occurring = [self.names[number] for number in _in_order(self.ids)]
        names = list(dict.fromkeys([*known, *occurring]))
        numbers = {name: number for number, name in enumerate(names)}
        table = np.array([*(numbers.get(name, 0) for name in self.names), NO_LABEL], np.int32)
        return table[self.ids], names


def _in_order(ids: NDArray[np.int32]) -> list[int]:
    """The numbers of labels that occur, in the order of their first occurrence."""
    values, first = np.unique(ids[ids != NO_LABEL], return_index=True)
    return [int(value) for value in values[np.argsort(first)]]


def number_sequences(
    sequences: Iterable[Iterable[str | None]],
    offsets: NDArray[np.int64],
    known: Sequence[str] = (),
) -> tuple[NDArray[np.int32], list[str]]:
    """Number labels; names not in ``known`` are appended to it.

    Args:
        sequences: A label for each token of each sentence; None where it is not known.
        offsets: The first token of every sentence, then T, ``[N + 1]``.
        known: The names that have their numbers already.

    Returns:
        The numbers, int32 ``[T]``, with −1 for None; and all names.
    """
    numbers: dict[str | None, int] = {None: NO_LABEL}
    for name in known:
        numbers[name] = len(numbers) - 1
    ids: list[int] = []
    n = 0
    for n, sequence in enumerate(sequences, 1):
        before = len(ids)
        if isinstance(sequence, str) or not is_iterable(sequence):
            raise CorpusError(
                f"labels of sentence {n}: {described(sequence)}; allowed: a list of labels"
            )
        for label in sequence:
            number = numbers.get(label) if isinstance(label, (str, NoneType)) else None
            if number is None:
                if not isinstance(label, str):
                    raise CorpusError(
                        f"labels of sentence {n}: {described(label)}; allowed: a string, or None "
                        "where the label is not known"
                    )
                if not is_text(label):
                    raise CorpusError(
                        f"labels of sentence {n}: {described(label)} has a lone surrogate; "
                        "allowed: Unicode text"
                    )
                number = numbers[str(label)] = len(numbers) - 1
            ids.append(number)
        if n < len(offsets) and len(ids) - before != offsets[n] - offsets[n - 1]:
            raise CorpusError(
                f"sentence {n}: {counted(len(ids) - before, 'label')} for "
                f"{counted(offsets[n] - offsets[n - 1], 'token')}"
            )
    if n != len(offsets) - 1:
        raise CorpusError(
            f"labels of {counted(n, 'sentence')} for {counted(len(offsets) - 1, 'sentence')}"
        )
    return np.array(ids, np.int32), [name for name in numbers if name is not None]


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
        codes: The label of every token, ``[T]``; −1 where it is not known.
        offsets: The first token of every sentence, then T, ``[N + 1]``.
        names: The names of the labels, Y of them.
    """
    outside = len(names)
    padded = np.insert(codes, offsets, outside)  # [T + N + 1]
    borders = offsets + np.arange(len(offsets))
    known = np.flatnonzero(padded != NO_LABEL)
    before, after, steps = padded[known[:-1]], padded[known[1:]], np.diff(known)
    reached = legal.astype(bool)  # in n steps
    reached[outside, outside] = True  # an empty sequence
    for n in range(1, int(steps.max(initial=0)) + 1):
        wrong = np.flatnonzero((steps == n) & ~reached[before, after])
        if len(wrong):
            first = int(wrong[0])
            number = int(np.searchsorted(borders, known[first + 1]))
            old, new = int(before[first]), int(after[first])
            gap = f", with {n - 1} unknown between them" if n > 1 else ""
            raise CorpusError(
                f"sentence {number}: {'the beginning' if old == outside else repr(names[old])} "
                f"and then {'the end' if new == outside else repr(names[new])}{gap}; "
                "the transitions rule this out"
            )
        reached = reached[:, :outside] @ legal[:outside].astype(bool)
