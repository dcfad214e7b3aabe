"""Texts with labelled spans, read from tagged files: JSON lines, or columns with the label last."""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Any

from adaptag.corpus.chunks import ChunkScheme
from adaptag.corpus.columns import ColumnCorpus, no_sentence
from adaptag.corpus.spans import Span, TaggedText
from adaptag.errors import CorpusError, ParameterError, described, unknown
from adaptag.settings import AUTO
from adaptag.storage.files import read_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from adaptag.corpus.columns import ColumnFormat
    from adaptag.storage.files import Source

__all__ = [
    "FORMATS",
    "column_texts",
    "first_column",
    "join_tokens",
    "read_tagged_texts",
    "token_text",
]

COLUMNS, JSON_LINES = "columns", "jsonl"
FORMATS = (AUTO, COLUMNS, JSON_LINES)
OUTSIDE = "O"
# Characters of scripts that are written without spaces: Chinese, Japanese, and their punctuation.
UNSPACED = re.compile(
    "[\u2e80-\u312f\u31a0-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]"
)


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


def token_text(
    tokens: Sequence[str], spans: Iterable[tuple[int, int, str, float | None]]
) -> TaggedText:
    """Make a text of tokens.

    Args:
        tokens: The tokens.
        spans: The first and the last token of each span, its label, and its probability if known.
    """
    text, places = join_tokens(tokens)
    made = []
    for first, last, label, probability in spans:
        start, end = places[first][0], places[last][1]
        made.append(Span(start, end, label, text[start:end], probability))
    return TaggedText(text, tuple(made), tuple(places))


def column_texts(
    corpus: ColumnCorpus, ids: NDArray[np.int32], names: Sequence[str]
) -> Iterator[TaggedText]:
    """Make texts of the first column and of the labels, by number: a span for each chunk.

    Where the labels mark no chunks, each token is a span, but for those with the label ``O``.
    """
    scheme = ChunkScheme(names)
    rows = iter(scheme.spans(ids, corpus.sentences).tolist() if scheme.chunked else ())
    row = next(rows, None)
    for a, b in itertools.pairwise(corpus.sentences.tolist()):
        spans: list[tuple[int, int, str, float | None]] = []
        if not scheme.chunked:
            labels = [names[y] for y in ids[a:b].tolist()]
            spans = [(t, t, label, None) for t, label in enumerate(labels) if label != OUTSIDE]
        while row is not None and row[0] < b:
            spans.append((row[0] - a, row[1] - 1 - a, scheme.types[row[2]], None))
            row = next(rows, None)
        yield token_text(first_column(corpus, a, b), spans)


def read_tagged_texts(
    path: Source,
    format: str = AUTO,  # noqa: A002
    columns: ColumnFormat | None = None,
) -> Iterator[TaggedText]:
    """Read texts with spans from a file: plain, ``.gz``, ``.xz``, or ``-`` for standard input.

    Args:
        path: The file.
        format: ``jsonl``: an object ``{"text": …, "spans": [[start, end, label], …]}`` on each
            line, optionally with ``probabilities``; ``columns``: a column file, the token first and
            the label last; ``auto``: what the first line looks like.
        columns: The format of a column file.
    """
    if format not in FORMATS:
        raise ParameterError(unknown("format", format, FORMATS))
    data = read_bytes(path)
    if format == JSON_LINES or (format == AUTO and _is_json(data)):
        yield from _json_texts(data, shown(path))
        return
    corpus = ColumnCorpus.from_bytes(data, shown(path), columns)
    if len(corpus) == 0:
        raise no_sentence(path)
    yield from column_texts(corpus, *corpus.number_labels())


def _is_json(data: bytes) -> bool:
    """Whether the first line with anything on it is an object."""
    line = data.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
    try:
        return line.startswith(b"{") and isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return line.startswith((b'{"', b'{ "'))


def _json_texts(data: bytes, name: str) -> Iterator[TaggedText]:
    found = False
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        found = True
        where = f"{name}:{number}"
        try:
            content = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
        except (ValueError, RecursionError) as error:
            raise CorpusError(f"{where}: not JSON: {error}") from None
        try:
            yield _text_of(content)
        except CorpusError as error:
            raise CorpusError(f"{where}: {error}") from None
    if not found:
        raise CorpusError(f"{name}:1: no text found; the file is empty")


def _text_of(content: Any) -> TaggedText:
    """The text and spans of an object of JSON."""
    if not isinstance(content, dict) or not isinstance(content.get("text"), str):
        raise CorpusError(
            f'{described(content)}; expected {{"text": …, "spans": [[start, end, label], …]}}'
        )
    text, listed = content["text"], content.get("spans", [])
    if not isinstance(listed, list):
        raise CorpusError(f"spans are {described(listed)}; expected a list")
    probabilities = content.get("probabilities") or [None] * len(listed)
    if not isinstance(probabilities, list) or len(probabilities) != len(listed):
        raise CorpusError(f"probabilities do not fit the {len(listed)} spans")
    spans = sorted(map(_span_of, itertools.repeat(text), listed, probabilities), key=_place)
    for before, span in itertools.pairwise(spans):
        if span.start < before.end:
            raise CorpusError(
                f"spans {before.start} to {before.end} and {span.start} to {span.end} overlap"
            )
    return TaggedText(text, tuple(spans))


def _place(span: Span) -> tuple[int, int]:
    return span.start, span.end


def _span_of(text: str, item: Any, probability: Any) -> Span:
    if isinstance(item, dict):
        probability = item.get("probability", probability)
        item = [item.get(key) for key in ("start", "end", "label")]
    if not (
        isinstance(item, list)
        and len(item) == 3
        and all(type(offset) is int for offset in item[:2])
        and isinstance(item[2], str)
    ):
        raise CorpusError(f"a span is {described(item)}; expected [start, end, label]")
    start, end, label = item
    if not 0 <= start < end <= len(text):
        raise CorpusError(f"span {start} to {end} of a text of {len(text)} characters")
    if probability is not None and not (
        isinstance(probability, (int, float)) and 0 <= probability <= 1
    ):
        raise CorpusError(f"a probability is {described(probability)}; allowed: 0 to 1")
    return Span(start, end, label, text[start:end], probability)
