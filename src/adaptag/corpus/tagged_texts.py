"""Tokens with labels as texts with labelled spans; and tagged files of any format as such texts."""

from __future__ import annotations

import io
import itertools
import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.corpus.chunks import ChunkScheme
from adaptag.corpus.columns import ColumnCorpus, no_sentence
from adaptag.corpus.span_files import OUTSIDE, LabelledTokens, record_of
from adaptag.corpus.spans import Span, TaggedText
from adaptag.errors import ParameterError, unknown
from adaptag.settings import AUTO
from adaptag.storage.files import read_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.columns import ColumnFormat
    from adaptag.corpus.span_files import Record
    from adaptag.storage.files import Source

__all__ = [
    "TokenSpan",
    "column_texts",
    "first_column",
    "join_tokens",
    "read_tagged_texts",
    "texts_of_data",
    "token_spans",
    "token_text",
]

COLUMNS, JSON_LINES = "columns", "jsonl"
# Characters of scripts that are written without spaces: Chinese, Japanese, and their punctuation.
UNSPACED = re.compile(
    "[\u2e80-\u312f\u31a0-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]"
)

TokenSpan = tuple[int, int, str, float | None]
"""The first and the last token of a span, its label, and its probability if it is known."""


def join_tokens(tokens: Iterable[str]) -> tuple[str, list[tuple[int, int]]]:
    """Join tokens with spaces, but for those between Chinese or Japanese characters.

    Returns:
        The text, and the start and end of each token in it.

    Examples:
        >>> from adaptag.corpus.tagged_texts import join_tokens
        >>> join_tokens(["in", "Rome"])
        ('in Rome', [(0, 2), (3, 7)])
        >>> join_tokens("北京。")[0]
        '北京。'
    """
    places: list[tuple[int, int]] = []
    parts: list[str] = []
    length, last = 0, ""
    for token in tokens:
        if last and token and not (UNSPACED.match(last) and UNSPACED.match(token[0])):
            parts.append(" ")
            length += 1
        parts.append(token)
        places.append((length, length + len(token)))
        length, last = length + len(token), token[-1:]
    return "".join(parts), places


def first_column(corpus: ColumnCorpus, start: int, end: int) -> list[str]:
    """The first column of the tokens from ``start`` to before ``end``."""
    cells = corpus.cells[start:end, 0].tolist()
    return [corpus.text[a:b].tobytes().decode("utf-8", "replace") for a, b in cells]


def token_text(tokens: Sequence[str], spans: Iterable[TokenSpan]) -> TaggedText:
    """Make a text of tokens and their spans."""
    text, places = join_tokens(tokens)
    made = []
    for first, last, label, probability in spans:
        start, end = places[first][0], places[last][1]
        made.append(Span(start, end, label, text[start:end], probability))
    return TaggedText(text, tuple(made), tuple(places))


def token_spans(
    scheme: ChunkScheme, ids: NDArray[np.int32], offsets: NDArray[np.int64]
) -> Iterator[list[TokenSpan]]:
    """The spans of each sentence: a span for each chunk.

    Where the labels mark no chunks, each token is a span, except those with the label ``O``.

    Args:
        scheme: The labels.
        ids: The label of each token, by number; negative where it is not known.
        offsets: ``[N+1]``, where each sentence starts, then the number of tokens.
    """
    bounds = itertools.pairwise(offsets.tolist())
    if not scheme.chunked:
        names = [scheme.labels[y] if y >= 0 else OUTSIDE for y in ids.tolist()]
        for a, b in bounds:
            yield [(t, t, name, None) for t, name in enumerate(names[a:b]) if name != OUTSIDE]
        return
    # A label that is not known is in no chunk: it counts as what is outside of a sentence.
    rows = iter(scheme.spans(np.where(ids < 0, len(scheme.labels), ids), offsets).tolist())
    row = next(rows, None)
    for a, b in bounds:
        spans: list[TokenSpan] = []
        while row is not None and row[0] < b:
            spans.append((row[0] - a, row[1] - 1 - a, scheme.types[row[2]], None))
            row = next(rows, None)
        yield spans


def column_texts(
    corpus: ColumnCorpus, ids: NDArray[np.int32], names: Sequence[str]
) -> Iterator[TaggedText]:
    """Make texts of the first column and of the labels, by number; see ``token_spans``."""
    spans = token_spans(ChunkScheme(names), ids, corpus.sentences)
    for (a, b), found in zip(itertools.pairwise(corpus.sentences.tolist()), spans, strict=True):
        yield token_text(first_column(corpus, a, b), found)


def read_tagged_texts(
    path: Source,
    format: str = AUTO,  # noqa: A002
    columns: ColumnFormat | None = None,
) -> Iterator[TaggedText]:
    """Read texts with spans from a file: plain, ``.gz``, ``.xz``, or ``-`` for standard input.

    Args:
        path: The file.
        format: ``columns``: a column file, the token first and the label last; a format of
            labelled texts, such as ``jsonl``; or ``docbin``. ``auto``: what the ending of the file
            says, or else what its first line looks like.
        columns: The format of a column file.
    """
    from adaptag.corpus.annotation_files import READERS
    from adaptag.corpus.data import format_of
    from adaptag.corpus.docbin import DOCBIN_FORMATS, is_docbin, read_docbin

    if format not in (formats := (AUTO, COLUMNS, *READERS, *DOCBIN_FORMATS)):
        raise ParameterError(unknown("format", format, formats))
    name = format_of(path) if format == AUTO else format
    if is_docbin(name):
        corpus = read_docbin(path, name)
        yield from column_texts(corpus, *corpus.number_labels())
        return
    if name not in (None, COLUMNS):
        yield from _read_texts(path, name)
        return
    data = read_bytes(path)
    if name is None and _is_json(data):
        file = io.BytesIO(data)
        file.name = shown(path)
        yield from _read_texts(file, JSON_LINES)
        return
    corpus = ColumnCorpus.from_bytes(data, shown(path), columns)
    if len(corpus) == 0:
        raise no_sentence(path)
    yield from column_texts(corpus, *corpus.number_labels())


def texts_of_data(items: Iterable[Any]) -> list[TaggedText]:
    """The texts of Python data: tagged texts as they are, dictionaries like those of JSON lines."""
    texts = list(items)
    others = [k for k, item in enumerate(texts) if not isinstance(item, TaggedText)]
    records = [record_of(texts[k], f"text {k + 1}", 0) for k in others]
    for k, text in zip(others, _texts_of_records(records), strict=True):
        texts[k] = text
    return texts


def _is_json(data: bytes) -> bool:
    """Whether the first line with anything on it is an object."""
    line = data.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
    try:
        return line.startswith(b"{") and isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return line.startswith((b'{"', b'{ "'))


def _read_texts(path: Source, format: str) -> Iterator[TaggedText]:  # noqa: A002
    """The texts of a file of labelled texts."""
    from adaptag.corpus.annotation_files import read_records

    records = list(read_records(path, format))
    if not records:
        raise no_sentence(path)
    return _texts_of_records(records)


def _texts_of_records(records: Sequence[Record]) -> Iterator[TaggedText]:
    """The texts of records; the tags of all that are cut into tokens are one label set."""
    cut = [record for record in records if isinstance(record, LabelledTokens)]
    labels = [label for record in cut for label in record.labels]
    numbers = {name: n for n, name in enumerate(dict.fromkeys(filter(None, labels)))}
    ids = np.array([-1 if label is None else numbers[label] for label in labels], np.int32)
    offsets = np.cumsum([0, *(len(record.tokens) for record in cut)])
    spans = token_spans(ChunkScheme(list(numbers)), ids, offsets)
    for record in records:
        if isinstance(record, LabelledTokens):
            yield token_text(record.tokens, next(spans))
        else:
            yield record.tagged()
