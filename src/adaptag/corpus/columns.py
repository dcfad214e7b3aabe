"""Sentences of columns: one token per line, or Python lists of tokens."""

from __future__ import annotations

import re
import time
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from adaptag._native import core
from adaptag.corpus.labels import GivenLabels
from adaptag.corpus.offsets import items_of
from adaptag.errors import CorpusError, CorpusWarning, ParameterError, unknown
from adaptag.storage.files import open_bytes, read_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from adaptag.storage.files import Source

    Token = str | Sequence[str]

__all__ = ["ColumnCorpus", "ColumnFormat"]

DOCSTART = b"-DOCSTART-"
DOCSTART_LINE = re.compile(rb"^-DOCSTART-(?=\s|$)", re.MULTILINE)
WAIT = 0.2  # seconds until a file is looked at again
SEPARATORS = {"auto": "", "tab": "\t", "space": " "}


@dataclass(frozen=True)
class ColumnFormat:
    """The format of a column file.

    Attributes:
        separator: ``tab``, ``space`` (any run of spaces and tabs), or ``auto``: tab where the first
            line has one, else space.
        comment: Lines that start with this text are skipped. If it is empty, no line is.
        skip_docstart: Whether ``-DOCSTART-`` lines are skipped.
    """

    separator: str = "auto"
    comment: str = ""
    skip_docstart: bool = False

    def __post_init__(self) -> None:
        if self.separator not in SEPARATORS:
            raise ParameterError(unknown("separator", self.separator, SEPARATORS))


class _Reader:
    """Parses a text part by part: all parts are written as the first one is."""

    def __init__(self, name: str, format: ColumnFormat | None) -> None:  # noqa: A002
        self.format = format or ColumnFormat()
        self.name = name
        self.separator = SEPARATORS[self.format.separator]
        self.warned = False
        self.part = (1, 0, 0)  # the next line's number; columns and number of the first data line

    def read(self, data: bytes) -> ColumnCorpus:
        text = np.frombuffer(data, np.uint8)
        line, columns, _ = self.part
        self._warn_of_docstart(data, line)
        try:
            cells, sentences, lines, self.separator, data_line = core.read_columns(
                text,
                self.name,
                self.separator,
                self.format.comment,
                self.format.skip_docstart,
                self.part,
            )
        except core.InputError as error:
            raise CorpusError(str(error)) from None
        columns = cells.shape[1] if len(cells) else columns
        self.part = (line + data.count(b"\n"), columns, data_line)
        return ColumnCorpus(self.name, text, cells, sentences, lines)

    def _warn_of_docstart(self, data: bytes, first_line: int) -> None:
        """Warn once that lines between documents are read as sentences."""
        skipped = self.warned or self.format.skip_docstart
        docstart = None if skipped or DOCSTART not in data else DOCSTART_LINE.search(data)
        if docstart:
            self.warned = True
            line = first_line + data.count(b"\n", 0, docstart.start())
            warnings.warn(
                f"{self.name}:{line}: -DOCSTART- is read as a token; --skip-docstart, or "
                "ColumnFormat(skip_docstart=True), skips such lines",
                CorpusWarning,
                stacklevel=2,
            )


@dataclass(frozen=True, eq=False)
class ColumnCorpus:
    """Sentences of tokens with a fixed number of columns, as spans of one text.

    Attributes:
        name: The name of the file, for messages.
        text: The UTF-8 text, uint8.
        cells: The begin and end of every cell in the text, uint32 ``[T, C, 2]``.
        sentences: The first token of every sentence, then T, int64 ``[N + 1]``.
        lines: The line number of every token, uint32 ``[T]``; empty for Python data.
        given_labels: The labels that were given separately. None means that they are in the last
            column, if there are any.
    """

    name: str
    text: NDArray[np.uint8]
    cells: NDArray[np.uint32]
    sentences: NDArray[np.int64]
    lines: NDArray[np.uint32]
    given_labels: GivenLabels | None = None

    @classmethod
    def read(cls, path: Source, format: ColumnFormat | None = None) -> ColumnCorpus:  # noqa: A002
        """Read a column file: plain, ``.gz``, ``.xz``, or ``-`` for standard input."""
        corpus = cls.from_bytes(read_bytes(path), shown(path), format)
        if len(corpus) == 0:
            raise CorpusError(f"{shown(path)}:1: no sentence found; the file is empty")
        return corpus

    @classmethod
    def read_parts(
        cls,
        path: Source,
        format: ColumnFormat | None = None,  # noqa: A002
        size: int = 1 << 23,
        *,
        follow: bool = False,
    ) -> Iterator[ColumnCorpus]:
        """Read a file of any length in parts of up to ``size`` bytes, whole sentences each.

        A pipe is read as it comes in. With ``follow`` the end of the file is not the end: it waits
        for more to be written.
        """
        reader, pending, any_sentence = _Reader(shown(path), format), b"", False
        with open_bytes(path) as file:
            while True:
                block = file.read1(size) if hasattr(file, "read1") else file.read(size)
                if not block and follow:
                    time.sleep(WAIT)
                    continue
                pending += block
                end = _last_blank_line(pending) if block else len(pending)
                if end > 0:
                    corpus = reader.read(pending[:end])
                    pending = pending[end:]
                    any_sentence = any_sentence or len(corpus) > 0
                    if len(corpus) > 0:
                        yield corpus
                if not block:
                    break
        if not any_sentence:
            raise CorpusError(f"{shown(path)}:1: no sentence found; the file is empty")

    @classmethod
    def from_bytes(
        cls,
        data: bytes,
        name: str = "<bytes>",
        format: ColumnFormat | None = None,  # noqa: A002
    ) -> ColumnCorpus:
        """Parse the text of a column file."""
        return _Reader(name, format).read(data)

    @classmethod
    def from_sentences(cls, sentences: Iterable[Iterable[Token]]) -> ColumnCorpus:
        """Make a corpus of sentences of tokens; a token is a string or a tuple of columns."""
        try:
            text, cells, offsets = core.pack_columns(sentences)
        except core.InputError as error:
            raise CorpusError(str(error)) from None
        return cls("<data>", text, cells, offsets, np.empty(0, np.uint32))

    def __len__(self) -> int:
        """Count the sentences."""
        return len(self.sentences) - 1

    @property
    def n_columns(self) -> int:
        """Columns of every token."""
        return int(self.cells.shape[1])

    def n_feature_columns(self, *, labelled: bool) -> int:
        """Columns that features are made of: all but the label's, where it is in the last one."""
        return self.n_columns - (labelled and self.given_labels is None)

    def with_labels(self, labels: Iterable[Iterable[str | None]]) -> ColumnCorpus:
        """Return the sentences with labels; None stands for a label that is not known."""
        return replace(self, given_labels=GivenLabels.of(labels, self.sentences))

    @property
    def n_tokens(self) -> int:
        """Tokens of all sentences."""
        return int(self.cells.shape[0])

    def sentence(self, number: int) -> ColumnCorpus:
        """One sentence as a corpus of its own."""
        first, end = (int(offset) for offset in self.sentences[number : number + 2])
        offsets = np.array([0, end - first], np.int64)
        return ColumnCorpus(
            self.name, self.text, self.cells[first:end], offsets, self.lines[first:end]
        )

    def select(self, sentences: NDArray[np.int64]) -> ColumnCorpus:
        """Return the corpus of some of the sentences, in this order."""
        tokens, starts = items_of(self.sentences, sentences)
        lines = self.lines[tokens] if len(self.lines) else self.lines
        labels = None if self.given_labels is None else self.given_labels.select(tokens)
        return ColumnCorpus(self.name, self.text, self.cells[tokens], starts, lines, labels)

    def number_labels(
        self, known: Sequence[str] = (), column: int = -1
    ) -> tuple[NDArray[np.int32], list[str]]:
        """Number the labels; names not in ``known`` are appended to it.

        They are those that were given separately, or else those in ``column``.
        """
        if self.given_labels is not None:
            return self.given_labels.number(known)
        if self.n_columns < 2:
            where = self.lines[0] if len(self.lines) else 1
            raise CorpusError(
                f"{self.name}:{where}: 1 column; a labelled file needs at least 2, the label last"
            )
        ids, names = core.number_labels(self.text, self.cells, column % self.n_columns, list(known))
        return ids, names

    def last_column_holds_labels(self, labels: Sequence[str], *, labelled: bool) -> bool:
        """Whether all values of the last feature column, of two or more, are labels."""
        columns = self.n_feature_columns(labelled=labelled)
        if columns < 2 or not self.n_tokens:
            return False
        _, names = core.number_labels(self.text, self.cells, columns - 1, list(labels))
        return len(names) == len(labels)

    def with_label(
        self,
        labels: NDArray[np.int32],
        names: Sequence[str],
        probabilities: NDArray[np.float32] | None = None,
    ) -> bytes:
        """Write the text with a label, after an optional probability, as the last column."""
        return core.write_columns(
            self.text, self.cells, self.sentences, labels, list(names), probabilities
        )


def _last_blank_line(data: bytes) -> int:
    """Find where the last blank line ends: a place to cut between sentences; 0: nowhere."""
    return max(data.rfind(mark) + len(mark) if mark in data else 0 for mark in (b"\n\n", b"\n\r\n"))
