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
from adaptag.corpus.text import LineEnds, unix_line_ends
from adaptag.errors import CorpusError, CorpusWarning, ParameterError, counted, unknown
from adaptag.parallel import PART, threads_for
from adaptag.storage.files import is_at_hand, is_regular, open_bytes, read_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from adaptag.storage.files import Source

    Token = str | Sequence[str]

__all__ = [
    "ColumnCorpus",
    "ColumnFormat",
    "ColumnPart",
    "ColumnStart",
    "column_parts",
    "column_start",
    "no_sentence",
]

NEWLINE = ord("\n")
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


@dataclass(frozen=True)
class ColumnStart:
    """Where reading starts, and what the first line of data of the whole file is like.

    Attributes:
        line: The number of the first line that is read.
        separator: What separates the columns; empty if that is not known.
        columns: The number of columns; 0 if that is not known.
        data_line: The number of the first line of data of the file; 0 if that is not known.
    """

    line: int = 1
    separator: str = ""
    columns: int = 0
    data_line: int = 0


class _Reader:
    """Takes a text part by part: all parts are written as the first one is."""

    def __init__(
        self,
        name: str,
        format: ColumnFormat | None,  # noqa: A002
        start: ColumnStart | None = None,
    ) -> None:
        start = start or ColumnStart()
        self.format = format or ColumnFormat()
        self.name = name
        self.warned = False
        self.separator = start.separator or SEPARATORS[self.format.separator]
        self.line = start.line  # the number of the next line
        self.columns = start.columns
        self.data_line = start.data_line  # 0: there was no line of data yet

    def take(self, data: bytes) -> ColumnPart:
        """The next part of the text."""
        part = self.part(data)
        if self.data_line == 0:
            part.parse()
            self.separator, self.columns, self.data_line = part.form
        # many times as fast as data.count
        self.line += int(np.count_nonzero(np.frombuffer(data, np.uint8) == NEWLINE))
        return part

    def part(self, data: bytes) -> ColumnPart:
        """The next part of the text, if it is the last one: nothing is remembered of it."""
        self._warn_of_docstart(data)
        place = self.line, self.columns, self.data_line
        return ColumnPart(self.name, data, self.format, self.separator, place)

    def _warn_of_docstart(self, data: bytes) -> None:
        """Warn once that lines between documents are read as sentences."""
        skipped = self.warned or self.format.skip_docstart
        docstart = None if skipped or DOCSTART not in data else DOCSTART_LINE.search(data)
        if docstart:
            self.warned = True
            line = self.line + data.count(b"\n", 0, docstart.start())
            warnings.warn(
                f"{self.name}:{line}: -DOCSTART- is read as a token; --skip-docstart, or "
                "ColumnFormat(skip_docstart=True), skips such lines",
                CorpusWarning,
                stacklevel=2,
            )


@dataclass(eq=False)
class ColumnPart:
    """Some sentences of a column file, which any thread may parse.

    Attributes:
        name: The name of the file, for messages.
        data: The text of the sentences.
        format: The format of the file.
        separator: What separates the columns; empty if it is not known yet.
        place: The number of the first line; the number of columns, and the line that they were
            counted in, or 0 and 0 if that is not known yet.
    """

    name: str
    data: bytes
    format: ColumnFormat
    separator: str
    place: tuple[int, int, int]
    form: tuple[str, int, int] = ("", 0, 0)  # separator, columns and their line, once parsed
    _corpus: ColumnCorpus | None = None

    def parse(self, threads: int = 1) -> ColumnCorpus:
        """Split the text into cells."""
        if self._corpus is not None:
            return self._corpus
        text = np.frombuffer(self.data, np.uint8)
        try:
            cells, sentences, lines, separator, data_line = core.read_columns(
                text,
                self.name,
                self.separator,
                self.format.comment,
                self.format.skip_docstart,
                self.place,
                threads,
            )
        except core.InputError as error:
            raise CorpusError(str(error)) from None
        self.form = separator, cells.shape[1], data_line
        self._corpus = ColumnCorpus(self.name, text, cells, sentences, lines)
        return self._corpus


def column_parts(
    path: Source,
    format: ColumnFormat | None = None,  # noqa: A002
    size: int = PART,
    *,
    follow: bool = False,
    start: ColumnStart | None = None,
) -> Iterator[ColumnPart | None]:
    """Read a file of any length in parts of about ``size`` bytes, whole sentences each.

    A pipe is read as it comes in: None stands before a part that may be long in coming. With
    ``follow`` the end of the file is not the end: it waits for more to be written. Where an open
    file is at a sentence in its middle, ``start`` says what came before.
    """
    reader, pending = _Reader(shown(path), format, start), bytearray()
    line_ends = LineEnds(begins=start is None or start.line == 1)
    with open_bytes(path) as file:
        regular = is_regular(file) and not follow
        read = file.read if regular else getattr(file, "read1", file.read)
        while True:
            if not regular and not is_at_hand(file):
                yield None
            block = read(size)
            if not block and follow:
                time.sleep(WAIT)
                continue
            seen = len(pending)
            pending += line_ends(block)
            end = _last_blank_line(pending, seen) if block else len(pending)
            if end > 0:
                yield reader.take(bytes(pending[:end]))
                del pending[:end]
            if not block:
                return


def column_start(path: Source, format: ColumnFormat | None = None) -> ColumnStart:  # noqa: A002
    """Find what the first line of data of a file is like; all others must be like it."""
    reader = _Reader(shown(path), format)
    with open_bytes(path) as file:
        for line in file:
            reader.take(unix_line_ends(line))
            if reader.data_line:
                break
    return ColumnStart(1, reader.separator, reader.columns, reader.data_line)


@dataclass(frozen=True, eq=False, repr=False)
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
    def read(
        cls,
        path: Source,
        format: ColumnFormat | None = None,  # noqa: A002
        threads: int | None = None,
    ) -> ColumnCorpus:
        """Read a column file: plain, ``.gz``, ``.xz``, or ``-`` for standard input."""
        corpus = cls.from_bytes(read_bytes(path), shown(path), format, threads)
        if len(corpus) == 0:
            raise no_sentence(path)
        return corpus

    @classmethod
    def read_parts(
        cls,
        path: Source,
        format: ColumnFormat | None = None,  # noqa: A002
        size: int = PART,
        *,
        follow: bool = False,
    ) -> Iterator[ColumnCorpus]:
        """Read a file of any length in parts of about ``size`` bytes, whole sentences each.

        A pipe is read as it comes in. With ``follow`` the end of the file is not the end: it waits
        for more to be written.
        """
        any_sentence = False
        for part in column_parts(path, format, size, follow=follow):
            corpus = None if part is None else part.parse()
            if corpus is not None and len(corpus) > 0:
                any_sentence = True
                yield corpus
        if not any_sentence:
            raise no_sentence(path)

    @classmethod
    def from_bytes(
        cls,
        data: bytes,
        name: str = "<bytes>",
        format: ColumnFormat | None = None,  # noqa: A002
        threads: int | None = None,
    ) -> ColumnCorpus:
        """Parse the text of a column file; the number of threads does not change the result."""
        n = threads_for(threads, size=len(data))
        return _Reader(name, format).part(unix_line_ends(data)).parse(n)

    @classmethod
    def from_sentences(cls, sentences: Iterable[Iterable[Token]]) -> ColumnCorpus:
        """Make a corpus of sentences of tokens; a token is a string or a tuple of columns."""
        try:
            text, cells, offsets = core.pack_columns(sentences)
        except core.InputError as error:
            raise CorpusError(str(error)) from None
        return cls("<data>", text, cells, offsets, np.empty(0, np.uint32))

    def __repr__(self) -> str:
        sizes = (
            f"{counted(len(self), 'sentence')}, {counted(self.n_tokens, 'token')}, "
            f"{counted(self.n_columns, 'column')}"
        )
        return f"<ColumnCorpus {self.name!r}: {sizes}>"

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
        self, known: Sequence[str] = (), column: int = -1, threads: int | None = None
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
        n = threads_for(threads, tokens=self.n_tokens)
        ids, names = core.number_labels(
            self.text, self.cells, column % self.n_columns, list(known), n
        )
        return ids, names

    def last_column_holds_labels(self, labels: Sequence[str], *, labelled: bool) -> bool:
        """Whether all values of the last feature column, of two or more, are labels."""
        columns = self.n_feature_columns(labelled=labelled)
        if columns < 2 or not self.n_tokens:
            return False
        return core.holds_only(self.text, self.cells, columns - 1, list(labels))

    def last_column_values(self, *, labelled: bool) -> list[str] | None:
        """The values of the last feature column, of two or more; None where there are fewer."""
        columns = self.n_feature_columns(labelled=labelled)
        if columns < 2:
            return None
        return core.number_labels(self.text, self.cells, columns - 1, [])[1]

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


def no_sentence(path: Source) -> CorpusError:
    """The error of a file that holds nothing."""
    return CorpusError(f"{shown(path)}:1: no sentence found; the file is empty")


def _last_blank_line(data: bytearray, seen: int) -> int:
    """Find where the last blank line ends: a place to cut between sentences; 0: nowhere.

    In the bytes that were ``seen`` before there is none.
    """
    ends = [0]
    for mark in (b"\n\n", b"\n\r\n"):
        at = data.rfind(mark, max(0, seen - len(mark) + 1))
        ends.append(at + len(mark) if at >= 0 else 0)
    return max(ends)
