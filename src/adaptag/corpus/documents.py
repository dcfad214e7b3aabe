r"""Labelled documents, one per line, as attribute sentences of one token.

Three formats::

    svmlight   label index:value …  # comment
    counts     feature:count …  #label#:positive
    text       label<TAB>text
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np

from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.labels import check_names, in_one_line, is_text
from adaptag.corpus.settings import DocumentFormat
from adaptag.corpus.text import line_parts
from adaptag.errors import CorpusError, ParameterError, counted, described
from adaptag.settings import AUTO
from adaptag.storage.files import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from adaptag.storage.files import Source

__all__ = [
    "Documents",
    "parse",
    "read_documents",
    "read_parts",
    "tokenise",
]

LABEL = "#label#:"
EXAMPLES = {
    "svmlight": "label index:value …",
    "counts": f"feature:count … {LABEL}label",
    "text": "label<TAB>text",
}
NO_LABEL = "?"  # stands for the label of a document that need not have one
NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
SVMLIGHT_START = re.compile(r"(?:[^\s:]+[ \t]+)?(?:qid:\S*[ \t]+)?\d+:", re.ASCII)
SVMLIGHT = re.compile(
    rf"{SVMLIGHT_START.pattern}{NUMBER}(?:[ \t]+\d+:{NUMBER})*[ \t]*(?:#.*)?", re.ASCII
)

# Scripts without spaces between words: Thai, Lao, Burmese, Khmer, kana, Han.
UNSPACED = (
    "\u0e01-\u0e4f\u0e81-\u0eff\u1000-\u104f\u1780-\u17d3\u3005-\u3007\u3041-\u309f\u30a0-\u30ff"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)
ASCII_TOKEN = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*|\S")  # what _token() finds there, faster


def resolve_format(
    requested: DocumentFormat, lines: Sequence[str], where: str, first: int = 1
) -> DocumentFormat:
    """Return the format, with ``auto`` replaced by that of the first line, if there is one."""
    name = requested.format
    if name == AUTO:
        first_document = next(((k, x) for k, x in enumerate(lines, first) if not _comment(x)), None)
        if first_document is None:
            return requested
        name = _format_of(first_document[1]) or AUTO
        if name == AUTO:
            raise CorpusError(
                f"{where}:{first_document[0]}: the line is in none of the formats svmlight "
                f"({EXAMPLES['svmlight']}), counts ({EXAMPLES['counts']}) and text "
                f"({EXAMPLES['text']})"
            )
    binary = name == "text" if requested.binary is None else requested.binary
    return DocumentFormat(format=name, bigrams=requested.bigrams, binary=binary)


@dataclass(frozen=True, eq=False, repr=False)
class Documents:
    """Labelled documents that were read, and how they were written.

    Attributes:
        corpus: The documents, each a sentence of one token.
        format: How they are written, without ``auto``.
    """

    corpus: AttributeCorpus
    format: DocumentFormat

    @classmethod
    def read(cls, path: Source, format: DocumentFormat | None = None) -> Documents:  # noqa: A002
        """Read a file; its first line shows the format unless one is given."""
        return cls(*read_documents(path, (format or DocumentFormat()).check()))

    @classmethod
    def from_texts(
        cls,
        texts: Sequence[str],
        labels: Sequence[str] | None,
        format: DocumentFormat | None = None,  # noqa: A002
    ) -> Documents:
        """Make documents of texts, which are Python strings, and the class of each."""
        requested = format or DocumentFormat()
        if requested.format not in (AUTO, "text"):
            raise ParameterError(f"format is {requested.format!r}; texts in a list are 'text'")
        for number, text in enumerate(texts, 1):
            if not isinstance(text, str):
                raise CorpusError(f"text {number} is {described(text)}; allowed: a string")
            if not is_text(text):
                raise CorpusError(f"text {number} has a lone surrogate; allowed: Unicode text")
        names = [NO_LABEL] * len(texts) if labels is None else list(labels)
        if len(names) != len(texts):
            raise CorpusError(f"{counted(len(names), 'label')} for {counted(len(texts), 'text')}")
        for number, label in enumerate(names, 1):
            if not isinstance(label, str) or not label.strip() or not in_one_line(label):
                raise CorpusError(
                    f"label {number} is {label!r}; allowed: a string without tabs and line ends"
                )
        check_names(list(dict.fromkeys(names)), "labels")
        binary = True if requested.binary is None else requested.binary
        document_format = DocumentFormat(format="text", bigrams=requested.bigrams, binary=binary)
        lines = [
            f"{label}\t{' '.join(text.split())}" for label, text in zip(names, texts, strict=True)
        ]
        return cls(parse(lines, document_format, "<data>"), document_format)

    def __repr__(self) -> str:
        sizes = f"{len(self):,} documents, format {self.format.format}"
        return f"<Documents {self.corpus.name!r}: {sizes}>"

    def __len__(self) -> int:
        """Count the documents."""
        return len(self.corpus)

    def select(self, documents: NDArray[np.int64]) -> Documents:
        """Return some of the documents, in this order."""
        return replace(self, corpus=self.corpus.select(documents))


def _comment(line: str) -> bool:
    return not line.strip() or (line[0] == "#" and "\t" not in line and not line.startswith(LABEL))


def _format_of(line: str) -> str | None:
    """Return the format of a labelled document; None where it is in no format."""
    tab = "\t" in line
    line = line.strip(" \t\r\n")
    if re.split("[ \t]", line)[-1].startswith(LABEL):
        return "counts"
    if SVMLIGHT.fullmatch(line) or (not tab and SVMLIGHT_START.match(line)):
        return "svmlight"
    return "text" if tab else None


def read_documents(
    path: Source, document_format: DocumentFormat
) -> tuple[AttributeCorpus, DocumentFormat]:
    """Read labelled documents: plain, ``.gz``, ``.xz``, or ``-`` for standard input.

    Returns:
        The documents, each a sentence of one token, and their format, not ``auto``.
    """
    name, parts = shown(path), []
    for first, lines in line_parts(path):
        document_format = resolve_format(document_format, lines, name, first)
        if document_format.format != AUTO:
            parts.append(parse(lines, document_format, name, first))
    corpus = _join(parts, name)
    if len(corpus) == 0:
        raise CorpusError(f"{name}:1: no document found; the file is empty")
    if len(corpus.cells) == 0:
        raise CorpusError(
            f"{name}:{corpus.lines[0]}: no document has a feature; "
            f"write {EXAMPLES[document_format.format]}"
        )
    return corpus, document_format


def read_parts(
    path: Source,
    document_format: DocumentFormat,
    *,
    labelled: bool = True,
    bare: bool = False,
    line: int = 1,
) -> Iterator[AttributeCorpus]:
    """Read documents some at a time, so that memory is bounded.

    Args:
        path: The file.
        document_format: The format of the file, not ``auto``.
        labelled: Whether each document must have a label. Otherwise labels are ignored.
        bare: Whether no document has a label; in the format ``text`` a tab is then white space.
        line: The number of the first line, of an open file that is read from its middle.
    """
    for first, lines in line_parts(path, line):
        yield parse(lines, document_format, shown(path), first, labelled=labelled, bare=bare)


def parse(
    lines: Sequence[str],
    document_format: DocumentFormat,
    name: str = "<lines>",
    first: int = 1,
    *,
    labelled: bool = True,
    bare: bool = False,
) -> AttributeCorpus:
    """Parse the lines of documents; blank ones are skipped.

    Args:
        lines: The lines, with or without line ends.
        document_format: The format of the lines, not ``auto``.
        name: The name of the file, for messages.
        first: The number of the first line.
        labelled: Whether each document must have a label. Otherwise labels are ignored.
        bare: Whether no document has a label; in the format ``text`` a tab is then white space.
    """
    parser = {"svmlight": _svmlight, "counts": _counts, "text": _text}[document_format.format]
    numbers, attribute_lines = [], []
    for number, line in enumerate(lines, first):
        stripped = line.rstrip("\r\n").replace("\r", " ")  # within a line it is white space
        if not stripped.strip():
            continue
        try:
            if "\0" in stripped:
                raise ValueError("a NUL character; allowed: UTF-8 text")
            parsed = parser(stripped, document_format, bare)
            if parsed is None:
                continue
            label, fields = parsed
            if labelled and not label:
                raise ValueError(f"no label; write {EXAMPLES[document_format.format]}")
        except ValueError as error:
            raise CorpusError(f"{name}:{number}: {error}") from None
        numbers.append(number)
        attribute_lines.append("\t".join([(labelled and label) or NO_LABEL, *fields]))
    corpus = _from_core(attribute_lines, name, numbers)
    nonzero = corpus.values != 0  # what is not written is 0, so 0 may as well not be written
    if not nonzero.all():
        positions = np.concatenate([[0], np.cumsum(nonzero)])[corpus.positions]
        corpus = replace(
            corpus, cells=corpus.cells[nonzero], values=corpus.values[nonzero], positions=positions
        )
    return replace(corpus, values=np.ones_like(corpus.values)) if document_format.binary else corpus


def _from_core(lines: list[str], name: str, numbers: list[int]) -> AttributeCorpus:
    """Let the core read attribute lines, and make each a sentence of its own."""
    text = "\n".join(["", *lines])  # an empty line first, so that no label is a byte-order mark
    try:
        corpus = AttributeCorpus.from_bytes(text.encode(), name)
    except CorpusError:
        for number, line in zip(numbers, lines, strict=True):
            for field in line.split("\t")[1:]:
                _check(field, f"{name}:{number}")
        raise
    return replace(
        corpus,
        sentences=np.arange(len(numbers) + 1, dtype=np.int64),
        lines=np.array(numbers, np.uint32),
    )


def _check(field: str, where: str) -> None:
    """Raise where the core refuses an attribute."""
    try:
        AttributeCorpus.from_bytes(f"x\t{field}".encode())
    except CorpusError:
        unescaped = field.replace("\\:", ":").replace("\\\\", "\\")
        raise CorpusError(
            f"{where}: {unescaped!r}; allowed: feature:value, the value a finite number"
        ) from None


def _fields(line: str) -> list[str]:
    return [field for field in line.replace("\t", " ").split(" ") if field]


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace(":", "\\:")


def _pair(field: str, colons: int | None = None) -> str:
    """Check ``feature:value`` and write it as the core reads it; colons part at the last one."""
    name, colon, value = field.rpartition(":")
    if not colon or not name or (colons and field.count(":") > colons):
        raise ValueError(f"{field!r}; allowed: feature:value")
    return f"{_escaped(name)}:{value}"


def _svmlight(line: str, _: DocumentFormat, bare: bool) -> tuple[str, list[str]] | None:
    fields = _fields(line.partition("#")[0])
    if not fields:
        return None
    label = "" if bare or ":" in fields[0] else fields.pop(0)
    if fields and fields[0].startswith("qid:"):
        raise ValueError("'qid:' makes groups for ranking; allowed: a label, then index:value")
    # Where there are as many colons as fields, each has one, or the core refuses a field with two.
    if "\\" in line or "".join(fields).count(":") != len(fields):
        fields = [_pair(field, 1) for field in fields]
    return label, fields


def _counts(line: str, _: DocumentFormat, bare: bool) -> tuple[str, list[str]]:
    fields = _fields(line)
    label = ""
    if not bare and fields[-1].startswith(LABEL):
        label = fields.pop()[len(LABEL) :]
        if not label:
            raise ValueError(f"the label after {LABEL!r} is empty")
    if "\\" in line or "".join(fields).count(":") != len(fields):
        fields = [_pair(field) for field in fields]
    return label, fields


def _text(line: str, document_format: DocumentFormat, bare: bool) -> tuple[str, list[str]]:
    label, tab, text = ("", "", line) if bare else line.partition("\t")
    if not tab:
        label, text = "", line
    words = tokenise(text)
    if ":" in text or "\\" in text:
        words = [_escaped(word) for word in words]
    names = chain(words, map(" ".join, pairwise(words)) if document_format.bigrams else ())
    if document_format.binary:
        return label.strip(), list(dict.fromkeys(names))
    return label.strip(), [f"{name}:{count}" for name, count in Counter(names).items()]


def tokenise(text: str) -> list[str]:
    """Split a text into lower-case words.

    A word is a run of letters and digits, with the accents and vowel signs that belong to them and
    with apostrophes inside. In scripts without spaces between words (Han, kana, Thai, Lao, Khmer,
    Burmese) every character is a word of its own, and so is every other character that is not white
    space.

    Examples:
        >>> from adaptag.corpus.documents import tokenise
        >>> tokenise("Don't buy: 3 stars, 不好!")
        ["don't", 'buy', ':', '3', 'stars', ',', '不', '好', '!']
    """
    lower = text.lower()
    return (ASCII_TOKEN if lower.isascii() else _token()).findall(lower)


@functools.cache
def _token() -> re.Pattern[str]:
    ranges: list[list[int]] = []
    for code in range(0x300, 0x1F000):
        if unicodedata.category(chr(code))[0] == "M":
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    marks = "".join(f"{chr(a)}-{chr(b)}" for a, b in ranges)
    letters = f"[^\\W_{UNSPACED}]"
    run = f"{letters}+(?:[{marks}]+{letters}*)*"
    return re.compile(f"{run}(?:['’]{run})*|[{UNSPACED}][{marks}]*|\\S[{marks}]*")


def _join(parts: list[AttributeCorpus], name: str) -> AttributeCorpus:
    """Concatenate corpora."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return _from_core([], name, [])
    texts = np.cumsum([0, *(len(part.text) for part in parts)])
    features = np.cumsum([0, *(len(part.values) for part in parts)])
    if texts[-1] >= 2**32:
        raise CorpusError(f"{name}: the features take more than 4 GiB; split the file")
    shifts = texts[:-1].astype(np.uint32)
    positions = [part.positions[:-1] + f for part, f in zip(parts, features, strict=False)]
    lines = np.concatenate([part.lines for part in parts])
    return AttributeCorpus(
        name,
        np.concatenate([part.text for part in parts]),
        np.concatenate([part.cells + shift for part, shift in zip(parts, shifts, strict=True)]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([*positions, features[-1:]]),
        np.concatenate([part.labels + shift for part, shift in zip(parts, shifts, strict=True)]),
        np.arange(len(lines) + 1, dtype=np.int64),
        lines,
    )
