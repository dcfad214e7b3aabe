"""Label sequences written in another scheme: the same chunks, other labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.corpus.chunks import ChunkScheme, LabelScheme, role_of
from adaptag.corpus.labels import NO_LABEL
from adaptag.corpus.settings import SCHEMES
from adaptag.errors import ParameterError, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Expansion", "LabelConversion", "TrainingLabels", "followed_scheme"]

MOST_REWRITTEN = 0.02  # of the labels of chunks, where they follow a scheme with some slips

# How the chunk of a token relates to the token before, and to the one after.
CONTINUES, STARTS, SPLITS = 0, 1, 2  # it splits where a chunk of the same type ends right before
STAYS, ENDS = 0, 1
UNKNOWN_BEFORE, UNKNOWN_AFTER = 3, 2  # the neighbour's label is not known
CONTEXTS = [(before, after) for before in range(4) for after in range(3)]
# The contexts that a scheme tells apart, by the code of each context.
BEFORE = {
    "iob1": (CONTINUES, CONTINUES, SPLITS),
    "iob2": (CONTINUES, STARTS, STARTS),
    "ioe2": (CONTINUES, CONTINUES, CONTINUES),
    "bioes": (CONTINUES, STARTS, STARTS),
}
AFTER = {
    "iob1": (STAYS, STAYS),
    "iob2": (STAYS, STAYS),
    "ioe2": (STAYS, ENDS),
    "bioes": (STAYS, ENDS),
}
SINGLE = {"iob1": "I", "iob2": "B", "ioe2": "E", "bioes": "S"}  # a chunk of one token


def role_in(scheme: str, before: int, after: int) -> str:
    """The role of a chunk's token in a scheme, by its context."""
    if scheme == "iob1":
        return "B" if before == SPLITS else "I"
    if scheme == "iob2":
        return "I" if before == CONTINUES else "B"
    if scheme == "ioe2":
        return "E" if after == ENDS else "I"
    return {
        (True, True): "S",
        (True, False): "B",
        (False, True): "E",
        (False, False): "I",
    }[before != CONTINUES, after == ENDS]


@dataclass(frozen=True, eq=False)
class LabelConversion:
    """Writes sequences over some labels in a scheme.

    The chunks of a sequence are found as conlleval finds them, so sequences that break the rules of
    their scheme are read too; what is written follows the rules. Labels that are no chunk labels
    stay as they are.

    The label that is written for a token depends on its own label and on those of its neighbours.
    Both are looked up: ``table[label, before[previous, label], after[label, next]]``.

    Attributes:
        labels: The labels that are read, Y of them.
        outputs: The labels that are written.
        scheme: The scheme in which they are written.
        before: uint8 ``[Y + 1, Y + 1]``, how the chunk of the second label relates to the first:
            it continues (0), starts (1), or starts right after a chunk of the same type (2).
        after: uint8 ``[Y + 1, Y + 1]``, whether the chunk of the first label ends before the
            second. Contexts between which the scheme makes no difference have the same number.
        table: int32 ``[Y, 4, 3]``, the numbers of the outputs; the last context on each side is a
            neighbour whose label is not known. −1: what would be written depends on it.
    """

    labels: tuple[str, ...]
    outputs: tuple[str, ...]
    scheme: str
    before: NDArray[np.uint8] = field(repr=False)
    after: NDArray[np.uint8] = field(repr=False)
    table: NDArray[np.int32] = field(repr=False)

    @classmethod
    def of(
        cls,
        labels: Sequence[str],
        scheme: str,
        known: Sequence[str] = (),
        *,
        legal: NDArray[np.uint8] | None = None,
    ) -> LabelConversion:
        """Make the conversion from labels to a scheme.

        Args:
            labels: The labels that are read.
            scheme: The scheme to write, one of ``SCHEMES``.
            known: Names of outputs that come first. A label that is written is the first of them
                with its role and type, so that the L and U of BILOU are kept.
            legal: The transitions that sequences have, uint8 ``[Y + 1, Y + 1]``. None means that
                all may occur.
        """
        if scheme not in SCHEMES:
            raise ParameterError(unknown("label scheme", scheme, SCHEMES))
        chunks = ChunkScheme(labels, chunked=True)
        y = len(chunks.labels)
        types = np.append(chunks.type_of, -1)
        same = (types[:, None] == types) & (types >= 0)
        before = np.where(chunks.starts, np.where(same, SPLITS, STARTS), CONTINUES)
        before = np.array(BEFORE[scheme])[before]
        after = np.array(AFTER[scheme])[np.where(chunks.ends, ENDS, STAYS)]
        names = _Names(known)
        possible = np.ones((y + 1, y + 1), bool) if legal is None else legal.astype(bool)
        table = np.full((y, 4, 3), NO_LABEL, np.int32)
        for label, name in enumerate(chunks.labels):
            if chunks.type_of[label] < 0:
                table[label] = names.number(name)
                continue
            kind = chunks.types[chunks.type_of[label]]
            befores = np.unique(before[possible[:, label], label])
            afters = np.unique(after[label, possible[label]])
            for b in befores.tolist():
                for a in afters.tolist():
                    table[label, b, a] = names.find(role_in(scheme, b, a), kind)
        _fill_unknown(table, before[:y, :y], after[:y, :y], possible[:y, :y])
        return cls(
            chunks.labels,
            tuple(names.names),
            scheme,
            before.astype(np.uint8),
            after.astype(np.uint8),
            table,
        )

    def apply(
        self, ids: NDArray[np.integer[Any]], offsets: NDArray[np.integer[Any]]
    ) -> NDArray[np.int32]:
        """Write the labels of a corpus.

        Args:
            ids: The number of every token's label, ``[T]``; −1 where it is not known.
            offsets: The first token of every sentence, then T, ``[N + 1]``.

        Returns:
            The number of the label that is written, ``[T]``; −1 where it is not known, or depends
            on a neighbour whose label is not known.
        """
        outside = len(self.labels)
        left, right = np.append(NO_LABEL, ids)[:-1], np.append(ids, NO_LABEL)[1:]
        filled = np.diff(offsets) > 0
        left[offsets[:-1][filled]] = right[offsets[1:][filled] - 1] = outside
        before = np.where(left == NO_LABEL, UNKNOWN_BEFORE, self.before[left, ids])
        after = np.where(right == NO_LABEL, UNKNOWN_AFTER, self.after[ids, right])
        written: NDArray[np.int32] = self.table[ids, before, after]
        return np.where(ids == NO_LABEL, np.int32(NO_LABEL), written)

    def expand(self, legal: NDArray[np.uint8]) -> Expansion:
        """Split each label by its contexts, so that what is written depends on nothing else.

        Args:
            legal: The transitions that are possible, ``[Y + 1, Y + 1]``.
        """
        y = len(self.labels)
        possible = legal.astype(bool)
        parts = [
            (label, before, after)
            for label in range(y)
            for before, after in CONTEXTS
            if (possible[:, label] & (self.before[:, label] == before)).any()
            and (possible[label] & (self.after[label] == after)).any()
        ]
        label, before, after = np.array([*parts, (y, 0, 0)], np.int32).T
        between = np.ix_(label, label)
        allowed = possible[between]
        allowed[:-1] &= (self.after[between] == after[:, None])[:-1]
        allowed[:, :-1] &= (self.before[between] == before)[:, :-1]
        return Expansion(
            np.ascontiguousarray(label[:-1]),
            self.table[label[:-1], before[:-1], after[:-1]],
            allowed.astype(np.uint8),
        )


@dataclass(frozen=True, eq=False)
class Expansion:
    """Labels split by their contexts, R of them.

    Attributes:
        label_of: int32 ``[R]``, the label that was split.
        output_of: int32 ``[R]``, the label that is written.
        legal: uint8 ``[R + 1, R + 1]``, the transitions that are possible; the last row and column
            are the outside of the sentence.
    """

    label_of: NDArray[np.int32]
    output_of: NDArray[np.int32]
    legal: NDArray[np.uint8]


class _Names:
    """The names of outputs, which are numbered as they are first asked for."""

    def __init__(self, known: Sequence[str]) -> None:
        self.names = list(known)
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.by_part: dict[tuple[str, str], str] = {}
        self.prefixes: dict[str, str] = {}
        for name in self.names:
            role, (prefix, _, kind) = role_of(name), name.partition("-")
            if role not in "O?":
                self.by_part.setdefault((role, kind), name)
                self.prefixes.setdefault(role, prefix)

    def number(self, name: str) -> int:
        """The number of a name."""
        if name not in self.numbers:
            self.numbers[name] = len(self.names)
            self.names.append(name)
        return self.numbers[name]

    def find(self, role: str, kind: str) -> int:
        """The number of the label with a role and a type."""
        prefix = self.prefixes.get(role, role)
        return self.number(self.by_part.get((role, kind), f"{prefix}-{kind}" if kind else prefix))


def _fill_unknown(
    table: NDArray[np.int32],
    before: NDArray[np.integer[Any]],
    after: NDArray[np.integer[Any]],
    possible: NDArray[np.bool_],
) -> None:
    """Fill in what is written beside a neighbour whose label is not known, where that is certain.

    Args:
        table: ``[Y, 4, 3]``, changed in place.
        before: How each label relates to the one before, ``[Y, Y]``.
        after: How each label relates to the one after, ``[Y, Y]``.
        possible: The transitions that may occur, ``[Y, Y]``.
    """
    for label in range(len(table)):
        befores = np.unique(before[possible[:, label], label])
        afters = np.unique(after[label, possible[label]])
        for b in range(3):
            table[label, b, UNKNOWN_AFTER] = _common(table[label, b, afters])
        for a in range(2):
            table[label, UNKNOWN_BEFORE, a] = _common(table[label, befores, a])
        both = table[label][np.ix_(befores, afters)]
        table[label, UNKNOWN_BEFORE, UNKNOWN_AFTER] = _common(both.ravel())


def _common(values: NDArray[np.int32]) -> int:
    """The one value that there is, or −1."""
    distinct = np.unique(values)
    return int(distinct[0]) if len(distinct) == 1 else NO_LABEL


@dataclass(frozen=True, eq=False)
class TrainingLabels:
    """The labels of training data in the scheme to train with.

    Attributes:
        ids: The number of every token's label, int32 ``[T]``; −1 where it is not known.
        names: The labels: those of a model to start from, those that occur, and for each type the
            label of a chunk of one token, so that every sentence has a labelling that follows the
            rules. Where some labels are not known, all labels of the scheme.
        legal: The transitions that are possible, uint8 ``[Y + 1, Y + 1]``: those of the scheme.
        scheme: The scheme.
    """

    ids: NDArray[np.int32]
    names: tuple[str, ...]
    legal: NDArray[np.uint8]
    scheme: str

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        scheme: str,
        known: Sequence[str] = (),
    ) -> TrainingLabels:
        """Write the labels of training data in a scheme.

        Args:
            names: The labels of the data.
            ids: The number of every token's label, ``[T]``; −1 where it is not known.
            offsets: The first token of every sentence, then T, ``[N + 1]``.
            scheme: The scheme to train with.
            known: The labels of a model to start from, which come first.
        """
        conversion = LabelConversion.of(names, scheme, known)
        codes = conversion.apply(ids, offsets)
        kept = np.arange(len(conversion.outputs)) < len(known)
        kept[codes[codes != NO_LABEL]] = True
        kept |= [role_of(name) == SINGLE[scheme] for name in conversion.outputs]
        if (ids == NO_LABEL).any():
            kept[:] = True
        numbers = np.append(np.cumsum(kept) - 1, NO_LABEL).astype(np.int32)
        labels = tuple(name for name, keep in zip(conversion.outputs, kept, strict=True) if keep)
        legal = ChunkScheme(labels, chunked=True).legal(scheme).astype(np.uint8)
        return cls(numbers[codes], labels, legal, scheme)


def followed_scheme(
    names: Sequence[str], ids: NDArray[np.int32], offsets: NDArray[np.int64]
) -> str | None:
    """The scheme that labels follow, but for some slips; None if they follow none.

    Labels that mark no chunks follow none, nor do those that are mostly written otherwise in the
    scheme that comes closest.
    """
    scheme = LabelScheme().count(names, ids, offsets).name(names)
    if scheme is None:
        return None
    conversion = LabelConversion.of(names, scheme, names)
    written = conversion.apply(ids, offsets)
    marked = np.append(ChunkScheme(names).type_of >= 0, False)[ids] & (written != NO_LABEL)
    rewritten = np.count_nonzero(marked & (written != ids))
    return scheme if rewritten <= MOST_REWRITTEN * np.count_nonzero(marked) else None
