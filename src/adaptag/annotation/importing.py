"""Reads files into a project: text, column files, and JSON lines with spans."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from adaptag.annotation.labels import check_name, types_of
from adaptag.annotation.records import ImportedText
from adaptag.corpus import span_files
from adaptag.corpus.columns import ColumnCorpus, ColumnFormat
from adaptag.corpus.tagged_texts import join_tokens
from adaptag.corpus.tokenizers import DEFAULT, Tokenizer, tokenizer_of
from adaptag.errors import CorpusError, ParameterError, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["IMPORT_FORMATS", "Imported", "read_texts"]

AUTO, TEXT, COLUMNS, JSONL = "auto", "text", "columns", "jsonl"
IMPORT_FORMATS = (AUTO, TEXT, COLUMNS, JSONL)
ENDINGS = {
    ".jsonl": JSONL,
    ".ndjson": JSONL,
    ".json": JSONL,
    ".conll": COLUMNS,
    ".tsv": COLUMNS,
    ".bio": COLUMNS,
    ".iob": COLUMNS,
    ".iob2": COLUMNS,
    ".md": TEXT,
}
SAMPLE = 200  # lines that the format is guessed from


@dataclass(frozen=True)
class Imported:
    """What a file holds.

    Attributes:
        texts: The texts.
        labels: The names of the labels that occur.
        kind: What labels are given to; None where the file has no labels.
        cut: Spans that begin or end inside a token, which is left without a label.
    """

    texts: list[ImportedText]
    labels: list[str]
    kind: str | None
    cut: int = 0

    @property
    def n_labelled(self) -> int:
        """The number of sentences with labels."""
        return sum(labels is not None for text in self.texts for labels in text.labels)


def read_texts(
    data: bytes,
    name: str,
    format: str = AUTO,  # noqa: A002
    tokenizer: str = DEFAULT,
) -> Imported:
    """Read a file.

    Args:
        data: The file.
        name: Its name, for messages; its ending can say the format.
        format: ``text`` (each line is a text), ``columns`` (a token per line, its label last, if
            there are two columns or more), ``jsonl`` (objects with ``text`` and ``spans``), or
            ``auto``.
        tokenizer: What cuts text and the texts of JSON lines into tokens.
    """
    if format not in IMPORT_FORMATS:
        raise ParameterError(unknown("format", format, IMPORT_FORMATS))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CorpusError(f"{name}:{line}: not UTF-8: byte {data[error.start]:#04x}") from None
    if format == AUTO:
        format = ENDINGS.get(PurePath(name).suffix.lower()) or _guess(text)  # noqa: A001
    read = {TEXT: _read_lines, COLUMNS: _read_columns, JSONL: _read_spans}[format]
    found = read(text, name, tokenizer_of(tokenizer))
    if not found.texts:
        raise CorpusError(f"{name}:1: no sentence found; the file is empty")
    return found


def _guess(text: str) -> str:
    """The format of a file by its first lines.

    Lines of a column file are short and have the same number of columns; sentences end with blank
    lines.
    """
    lines = text.splitlines()[:SAMPLE]
    filled = [line for line in lines if line.strip()]
    if filled and filled[0].lstrip().startswith('{"'):
        return JSONL
    separator = "\t" if filled and "\t" in filled[0] else None
    widths = {len(line.split(separator)) for line in filled}
    has_blank_lines = len(filled) < len(lines)
    same = len(widths) == 1
    return COLUMNS if same and (separator or (has_blank_lines and max(widths) < 8)) else TEXT


def _read_lines(text: str, name: str, tokenize: Tokenizer) -> Imported:  # noqa: ARG001
    """Each line is a text."""
    texts = []
    for line in text.splitlines():
        sentences = tokenize(line)
        if sentences:
            texts.append(ImportedText(line, sentences, [None] * len(sentences)))
    return Imported(texts, [], None)


def _read_columns(text: str, name: str, tokenize: Tokenizer) -> Imported:  # noqa: ARG001
    """The token in the first column, the label in the last of two or more."""
    corpus = ColumnCorpus.from_bytes(text.encode(), name, ColumnFormat(skip_docstart=True))
    data, cells = corpus.text.tobytes(), corpus.cells.tolist()
    words = [data[row[0][0] : row[0][1]].decode() for row in cells]
    last = [data[row[-1][0] : row[-1][1]].decode() for row in cells]
    bounds = list(itertools.pairwise(corpus.sentences.tolist()))
    labels: Sequence[Sequence[str | None] | None] = [None] * len(bounds)
    names: list[str] = []
    kind = None
    if corpus.n_columns > 1:
        labels, names, kind = types_of([last[a:b] for a, b in bounds])
        for label in names:
            if not label:
                raise CorpusError(f"{name}: labels without a type; expected such as B-PER, I-PER")
            check_name(label, kind)
    texts = []
    for (a, b), given in zip(bounds, labels, strict=True):
        joined, tokens = join_tokens(words[a:b])
        texts.append(ImportedText(joined, [tokens], [None if given is None else list(given)]))
    return Imported(texts, names, kind)


def _read_spans(text: str, name: str, tokenize: Tokenizer) -> Imported:
    """JSON lines as for training, and texts without spans, which are not labelled yet."""
    texts: list[ImportedText] = []
    misfits: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            value = span_files.json_object(line, name, number)
            texts += _texts_of(value, name, number, tokenize, misfits)
    given = [labels for item in texts for labels in item.labels if labels is not None]
    if not given:
        return Imported(texts, [], None)
    converted, names, kind = types_of(given)
    for label in names:
        check_name(label, kind)
    rest = iter(converted)
    texts = [
        replace(item, labels=[None if labels is None else next(rest) for labels in item.labels])
        for item in texts
    ]
    return Imported(texts, names, kind, len(misfits))


def _texts_of(
    value: Any, name: str, line: int, tokenize: Tokenizer, misfits: list[tuple[int, str]]
) -> list[ImportedText]:
    """The text of a JSON object, if it has any token; spans that fit badly are appended."""
    is_plain = isinstance(value, dict) and isinstance(value.get("text"), str)
    if is_plain and all(value.get(key) is None for key in span_files.SPANS):
        sentences = tokenize(span_files.packable(value["text"]))
        none: list[list[str | None] | None] = [None] * len(sentences)
        return [ImportedText(span_files.packable(value["text"]), sentences, none)][: len(sentences)]
    record = span_files.record_of(value, name, line)
    if isinstance(record, span_files.LabelledTokens):
        joined, tokens = join_tokens(record.tokens)
        return [ImportedText(joined, [tokens], [record.labels])] if tokens else []
    sentences = tokenize(record.text)
    labels = list(span_files.token_labels(record, sentences, misfits))
    text = span_files.packable(record.text)
    return [ImportedText(text, sentences, [*labels])] if sentences else []
