"""Label sequences written in another scheme: the same chunks, other labels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.corpus.chunks import ChunkScheme, LabelScheme, role_of
from adaptag.corpus.label_windows import neighbours
from adaptag.corpus.labels import NO_LABEL
from adaptag.corpus.settings import SCHEMES
from adaptag.errors import ParameterError, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.label_windows import LabelWindows

__all__ = ["Expansion", "LabelConversion", "TrainingLabels", "followed_scheme"]

MOST_REWRITTEN = 0.02  # of the labels of chunks, where they follow a scheme with some slips

# How the chunk of a token relates to the token before, and to the one after.
CONTINUES, STARTS, SPLITS = 0, 1, 2  # it splits where a chunk of the same type ends right before
STAYS, ENDS = 0, 1
UNKNOWN_BEFORE, UNKNOWN_AFTER = 3, 2  # the neighbour's label is not known
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
            for b in sorted(set(before[possible[:, label], label].tolist())):
                for a in sorted(set(after[label, possible[label]].tolist())):
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
        left, right = neighbours(ids, offsets, len(self.labels))
        return self.write(left, ids, right)

    def write(
        self,
        left: NDArray[np.integer[Any]],
        ids: NDArray[np.integer[Any]],
        right: NDArray[np.integer[Any]],
    ) -> NDArray[np.int32]:
        """Write labels between their neighbours, ``[n]`` each; see ``apply``.

        A neighbour is −1 where it is not known, Y where it is outside of the sentence.
        """
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
        befores = [(possible & (self.before == code)).any(axis=0)[:y] for code in range(4)]
        afters = [(possible & (self.after == code)).any(axis=1)[:y] for code in range(3)]
        occurring = np.stack(befores, axis=1)[:, :, None] & np.stack(afters, axis=1)[:, None]
        parts = np.argwhere(occurring)  # [R, 3]: label, before, after
        label, before, after = np.append(parts, [(y, 0, 0)], axis=0).astype(np.int32).T
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
        befores = sorted(set(before[possible[:, label], label].tolist()))
        afters = sorted(set(after[label, possible[label]].tolist()))
        rows = table[label].tolist()
        for b in range(3):
            table[label, b, UNKNOWN_AFTER] = _common({rows[b][a] for a in afters})
        for a in range(2):
            table[label, UNKNOWN_BEFORE, a] = _common({rows[b][a] for b in befores})
        both = {rows[b][a] for b in befores for a in afters}
        table[label, UNKNOWN_BEFORE, UNKNOWN_AFTER] = _common(both)


def _common(values: set[int]) -> int:
    """The one value that there is, or −1."""
    return next(iter(values)) if len(values) == 1 else NO_LABEL


@dataclass(frozen=True, eq=False)
class TrainingLabels:
    """The labels of training data in the scheme to train with.

    Attributes:
        conversion: The conversion from the labels of the data. It writes the labels of a model to
            start from, those that occur, and for each type the label of a chunk of one token, so
            that every sentence has a labelling that follows the rules. Where some labels are not
            known, it writes all labels of the scheme.
        legal: The transitions that are possible, uint8 ``[Y + 1, Y + 1]``: those of the scheme.
    """

    conversion: LabelConversion
    legal: NDArray[np.uint8]

    @classmethod
    def of(cls, windows: LabelWindows, scheme: str, known: Sequence[str] = ()) -> TrainingLabels:
        """Write the labels of training data in a scheme.

        Args:
            windows: The labels of the data.
            scheme: The scheme to train with.
            known: The labels of a model to start from, which come first.
        """
        conversion = LabelConversion.of(windows.names, scheme, known)
        codes = conversion.write(*windows.contexts)
        kept = np.arange(len(conversion.outputs)) < len(known)
        kept[codes[codes != NO_LABEL]] = True
        kept |= [role_of(name) == SINGLE[scheme] for name in conversion.outputs]
        if windows.some_unknown:
            kept[:] = True
        numbers = np.append(np.where(kept, np.cumsum(kept) - 1, NO_LABEL), NO_LABEL)
        labels = tuple(name for name, keep in zip(conversion.outputs, kept, strict=True) if keep)
        legal = ChunkScheme(labels, chunked=True).legal(scheme).astype(np.uint8)
        table = numbers.astype(np.int32)[conversion.table]
        return cls(replace(conversion, outputs=labels, table=table), legal)

    @property
    def names(self) -> tuple[str, ...]:
        """The labels that are trained, Y of them."""
        return self.conversion.outputs

    @property
    def scheme(self) -> str:
        """The scheme to train with."""
        return self.conversion.scheme


def followed_scheme(windows: LabelWindows) -> str | None:
    """The scheme that labels follow, but for some slips; None if they follow none.

    Labels that mark no chunks follow none, nor do those that are mostly written otherwise in the
    scheme that comes closest.
    """
    names = windows.names
    scheme = LabelScheme().count(windows).name(names)
    if scheme is None:
        return None
    conversion = LabelConversion.of(names, scheme, names)
    written, ids = conversion.write(*windows.contexts), windows.labels[:, 1]
    marked = np.append(ChunkScheme(names).type_of >= 0, False)[ids] & (written != NO_LABEL)
    rewritten = windows.counts[marked & (written != ids)].sum()
    return scheme if rewritten <= MOST_REWRITTEN * windows.counts[marked].sum() else None
