"""Sentences of attributes with values, as CRFsuite's files hold them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.corpus.labels import GivenLabels
from adaptag.corpus.offsets import items_of
from adaptag.corpus.text import unix_line_ends
from adaptag.errors import CorpusError
from adaptag.parallel import threads_for
from adaptag.storage.files import read_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from adaptag.storage.files import Source

__all__ = ["AttributeCorpus"]


@dataclass(frozen=True, eq=False, repr=False)
class AttributeCorpus:
    r"""Lines ``label<TAB>attribute[:value]…``; ``\:`` stands for a colon, ``\\`` for a backslash.

    Attributes:
        name: The name of the file, for messages.
        text: The names of attributes and labels, unescaped, uint8.
        cells: The begin and end of every attribute's name, uint32 ``[F, 1, 2]``.
        values: The values of the attributes, float32 ``[F]``.
        positions: The first attribute of every token, then F, int64 ``[T + 1]``.
        labels: The begin and end of every label, uint32 ``[T, 1, 2]``.
        sentences: The first token of every sentence, then T, int64 ``[N + 1]``.
        lines: The line number of every token, uint32 ``[T]``; empty for Python data.
        given_labels: The labels that were given separately, as Python data; None if there are none.
    """

    name: str
    text: NDArray[np.uint8]
    cells: NDArray[np.uint32]
    values: NDArray[np.float32]
    positions: NDArray[np.int64]
    labels: NDArray[np.uint32]
    sentences: NDArray[np.int64]
    lines: NDArray[np.uint32]
    given_labels: GivenLabels | None = None

    @classmethod
    def read(cls, path: Source) -> AttributeCorpus:
        """Read an attribute file: plain, ``.gz``, ``.xz``, or ``-`` for standard input."""
        corpus = cls.from_bytes(read_bytes(path), shown(path))
        if len(corpus) == 0:
            raise CorpusError(f"{shown(path)}:1: no sentence found; the file is empty")
        if len(corpus.cells) == 0:
            raise CorpusError(f"{shown(path)}:1: no attribute found; write label<TAB>attribute…")
        return corpus

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "<bytes>") -> AttributeCorpus:
        """Parse the text of an attribute file."""
        try:
            text = np.frombuffer(unix_line_ends(data), np.uint8)
            return cls(name, *core.read_attributes(text, name))
        except core.InputError as error:
            raise CorpusError(str(error)) from None

    @classmethod
    def from_items(
        cls, sequences: Iterable[Iterable[Any]], *, keep_zeros: bool = False
    ) -> AttributeCorpus:
        """Make a corpus of Python data without labels: sequences of items, as in python-crfsuite.

        An item is a collection of strings, the attributes; or a dictionary from names to values. A
        string as value gives the attribute ``name:string``, a number (or a bool) the attribute
        ``name`` with this value, and an item in turn its attributes with ``name:`` before them.
        Attributes of value 0 are ignored unless they are to be kept.
        """
        try:
            return cls._packed(core.pack_items(sequences, keep_zeros))
        except core.InputError as error:
            raise CorpusError(str(error)) from None

    @classmethod
    def from_packed(cls, items: core.ItemPacker) -> AttributeCorpus:
        """Make a corpus of the sequences that were added, see ``from_items``."""
        return cls._packed(items.arrays())

    @classmethod
    def _packed(cls, arrays: tuple[NDArray[Any], ...]) -> AttributeCorpus:
        text, cells, values, positions, sentences = arrays
        labels = np.zeros((len(positions) - 1, 1, 2), np.uint32)
        lines = np.empty(0, np.uint32)
        return cls("<data>", text, cells, values, positions, labels, sentences, lines)

    def __repr__(self) -> str:
        sizes = f"{len(self):,} sentences, {self.n_tokens:,} tokens, {len(self.cells):,} attributes"
        return f"<AttributeCorpus {self.name!r}: {sizes}>"

    def __len__(self) -> int:
        """Count the sentences."""
        return len(self.sentences) - 1

    @property
    def n_tokens(self) -> int:
        """Tokens of all sentences."""
        return len(self.positions) - 1

    def select(self, sentences: NDArray[np.int64]) -> AttributeCorpus:
        """Return the corpus of some of the sentences, in this order."""
        tokens, starts = items_of(self.sentences, sentences)
        attributes, positions = items_of(self.positions, tokens)
        return AttributeCorpus(
            self.name,
            self.text,
            self.cells[attributes],
            self.values[attributes],
            positions,
            self.labels[tokens],
            starts,
            self.lines[tokens] if len(self.lines) else self.lines,
            None if self.given_labels is None else self.given_labels.select(tokens),
        )

    def with_labels(self, labels: Iterable[Iterable[str | None]]) -> AttributeCorpus:
        """Return the sentences with labels; None stands for a label that is not known."""
        return replace(self, given_labels=GivenLabels.of(labels, self.sentences))

    def number_labels(
        self, known: Sequence[str] = (), *, threads: int | None = None
    ) -> tuple[NDArray[np.int32], list[str]]:
        """Number the labels; names not in ``known`` are appended to it."""
        if self.given_labels is not None:
            return self.given_labels.number(known)
        ids, names = core.number_labels(
            self.text, self.labels, 0, list(known), threads_for(threads, tokens=self.n_tokens)
        )
        return ids, names
