"""Texts with labelled spans become sentences of tokens; JSON lines are read and checked.

A line of a file is a JSON object: a text with spans, as triples or as objects, or tokens with tags.
The names of the keys are also those that doccano and Hugging Face write.
"""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.corpus.columns import ColumnCorpus, no_sentence
from adaptag.corpus.labels import in_one_line
from adaptag.corpus.spans import Span, TaggedText
from adaptag.corpus.tables import TAGS
from adaptag.corpus.text import line_parts
from adaptag.corpus.tokenizers import tokenizer_of
from adaptag.errors import CorpusError, CorpusWarning, counted, described
from adaptag.storage.files import shown

if TYPE_CHECKING:
    from adaptag.corpus.tokenizers import Tokenizer
    from adaptag.storage.files import Source

__all__ = [
    "LabelledText",
    "LabelledTokens",
    "Record",
    "Triple",
    "checked_text",
    "json_object",
    "objects_of_lines",
    "packable",
    "record_of",
    "records_of_data",
    "span_corpus",
    "token_labels",
]

Triple = tuple[int, int, str | None]
"""Start, end and label of a span; the label is None where it cannot be told."""

SPANS = ("spans", "labels", "label", "entities")
STARTS, ENDS = ("start", "start_offset"), ("end", "end_offset")
OUTSIDE = "O"
ALLOWED = "{'text': …, 'spans': [[start, end, label], …]} or {'tokens': […], 'tags': […]}"


@dataclass(frozen=True)
class LabelledText:
    """A text and its spans, sorted, trimmed and checked.

    Attributes:
        text: The text.
        spans: The start, end and label of each span.
        line: The line of the file, or the number of the text in Python data.
        probabilities: The probability of each span, None where it is not known.
    """

    text: str
    spans: tuple[Triple, ...]
    line: int = 0
    probabilities: tuple[float | None, ...] = ()

    def tagged(self) -> TaggedText:
        """The text with those of its spans whose label is known."""
        chances = self.probabilities or [None] * len(self.spans)
        spans = (
            Span(a, b, label, self.text[a:b], p)
            for (a, b, label), p in zip(self.spans, chances, strict=True)
            if label is not None
        )
        return TaggedText(self.text, tuple(spans))


@dataclass(frozen=True)
class LabelledTokens:
    """A sentence that is cut into tokens already, and their labels."""

    tokens: list[str]
    labels: list[str | None]
    line: int = 0


Record = LabelledText | LabelledTokens


# ---- from records to a corpus --------------------------------------------------------------------


def span_corpus(records: Iterable[Record], name: str, tokenizer: Any = None) -> ColumnCorpus:
    """Cut texts into tokens, and give these the labels of the spans, in the scheme ``iob2``.

    Tokens that a span covers in part, or that belong to a span of several sentences, get no label;
    a warning says how many such spans there are, and where the first one is.

    Args:
        records: The texts.
        name: The name of the file, for messages.
        tokenizer: As for ``tokenizer_of``.
    """
    cutter: Tokenizer | None = None
    sentences: list[list[str]] = []
    labels: list[list[str | None]] = []
    lines: list[int] = []
    misfits: list[tuple[int, str]] = []
    for record in records:
        if isinstance(record, LabelledTokens):
            sentences.append(record.tokens)
            labels.append(record.labels)
            lines += [record.line] * len(record.tokens)
            continue
        cutter = cutter or tokenizer_of(tokenizer)
        text = packable(record.text)
        cut = cutter(record.text)
        for places, tags in zip(cut, token_labels(record, cut, misfits), strict=True):
            sentences.append([text[a:b] for a, b in places])
            labels.append(tags)
            lines += [record.line] * len(places)
    if not sentences:
        raise no_sentence(name)
    if misfits:
        _warn(name, misfits)
    corpus = ColumnCorpus.from_sentences(sentences).with_labels(labels)
    numbers = np.array(lines, np.uint32)
    return ColumnCorpus(
        name, corpus.text, corpus.cells, corpus.sentences, numbers, corpus.given_labels
    )


def packable(text: str) -> str:
    """The text with lone surrogates, which no file can hold, replaced; its length is the same."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text


def token_labels(
    record: LabelledText, cut: list[list[tuple[int, int]]], misfits: list[tuple[int, str]]
) -> list[list[str | None]]:
    """The labels of the tokens of a text, by sentences; spans that fit badly are appended."""
    places = [place for sentence in cut for place in sentence]
    sentence_of = [n for n, sentence in enumerate(cut) for _ in sentence]
    labels: list[str | None] = [OUTSIDE] * len(places)
    first = 0
    for start, end, label in record.spans:
        while first < len(places) and places[first][1] <= start:
            first += 1
        last = first
        while last < len(places) and places[last][0] < end:
            last += 1
        inside = range(first, last)
        fits = (
            bool(inside)
            and places[first][0] == start
            and places[last - 1][1] == end
            and sentence_of[first] == sentence_of[last - 1]
        )
        if not fits:
            misfits.append((record.line, record.text[start:end]))
        suffix = f"-{label}" if label else ""
        for token in inside:
            known = fits and label is not None
            labels[token] = ("I" if token > first else "B") + suffix if known else None
        first = max(first, last - 1)  # two spans may cut the same token
    bounds = np.cumsum([0, *map(len, cut)]).tolist()
    return [labels[a:b] for a, b in itertools.pairwise(bounds)]


def _warn(name: str, misfits: list[tuple[int, str]]) -> None:
    n, (line, text) = len(misfits), misfits[0]
    warnings.warn(
        f"{_place(name, line)}: the span {text[:40]!r} does not consist of whole tokens of one "
        f"sentence; the labels of its tokens count as not known ({counted(n, 'such span')})",
        CorpusWarning,
        stacklevel=3,
    )


# ---- from JSON to records ------------------------------------------------------------------------


def objects_of_lines(path: Source) -> Iterator[tuple[int, Any]]:
    """Read JSON lines: the number of each line that is not blank, and its value."""
    name = shown(path)
    for number, lines in line_parts(path):
        for line, text in enumerate(lines, number):
            if not text.isspace():
                yield line, json_object(text, name, line)


def json_object(text: str, name: str, line: int) -> Any:
    """The value that JSON stands for; raise where it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        column = f", character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else ""
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise CorpusError(
            f"{name}:{line}{column}: not JSON: {reason}; allowed: one JSON object per line"
        ) from None


def record_of(value: Any, name: str, line: int) -> Record:
    """Check a JSON object, and make a record of it."""
    place = _place(name, line)
    if not isinstance(value, Mapping):
        raise CorpusError(f"{place}: {described(value)}; allowed: {ALLOWED}")
    if "text" in value:
        key = next((key for key in SPANS if value.get(key) is not None), None)
        if key is None:
            raise CorpusError(f"{place}: a text without spans; allowed: {ALLOWED}")
        if not isinstance(value[key], Sequence) or isinstance(value[key], str):
            raise CorpusError(
                f"{place}: {key!r} is {described(value[key])}; allowed: a list of "
                "[start, end, label]"
            )
        triples = [_triple(span, key, place) for span in value[key]]
        return checked_text(value["text"], triples, name, line, _chances(value, key, place))
    if "tokens" in value:
        return _tokens(value, place, line)
    raise CorpusError(f"{place}: the keys {', '.join(map(repr, value))}; allowed: {ALLOWED}")


def _tokens(value: Mapping[str, Any], place: str, line: int) -> LabelledTokens:
    key = next((key for key in TAGS if key in value), None)
    if key is None:
        raise CorpusError(f"{place}: tokens without tags; allowed: {ALLOWED}")
    tokens, tags = value["tokens"], value[key]
    for items, title in ((tokens, "tokens"), (tags, key)):
        if not isinstance(items, Sequence) or isinstance(items, str):
            raise CorpusError(f"{place}: {title!r} is {described(items)}; allowed: a list")
    if len(tokens) != len(tags):
        raise CorpusError(
            f"{place}: {counted(len(tokens), 'token')} and {counted(len(tags), 'tag')}"
        )
    for item in tokens:
        if not isinstance(item, str) or not item:
            raise CorpusError(f"{place}: a token is {described(item)}; allowed: a string")
    for item in tags:
        if item is not None and not (isinstance(item, str) and item and in_one_line(item)):
            raise CorpusError(
                f"{place}: a tag is {described(item)}; allowed: a string without tabs and line "
                "ends, or null where it is not known"
            )
    return LabelledTokens([packable(token) for token in tokens], list(tags), line)


def _triple(span: Any, key: str, place: str) -> tuple[Any, Any, Any]:
    """The start, end and label of a span that is a list or an object."""
    if isinstance(span, Span):
        return span.start, span.end, span.label
    if isinstance(span, Mapping):
        start, end = (
            next((span[name] for name in names if name in span), None) for names in (STARTS, ENDS)
        )
        return start, end, span.get("label")
    if isinstance(span, Sequence) and not isinstance(span, str) and len(span) == 3:
        return span[0], span[1], span[2]
    raise CorpusError(
        f"{place}: {key!r} has {described(span)}; allowed: [start, end, label], or an object with "
        "start, end and label"
    )


def _chances(value: Mapping[str, Any], key: str, place: str) -> list[float | None]:
    """The probability of each span, from a list beside the spans or from the spans themselves."""
    spans, chances = value[key], value.get("probabilities")
    if chances is None:
        chances = [span.get("probability") if isinstance(span, Mapping) else None for span in spans]
    if not isinstance(chances, Sequence) or len(chances) != len(spans):
        raise CorpusError(
            f"{place}: 'probabilities' is {described(chances)}; allowed: a list of {len(spans)} "
            "numbers, one for each span"
        )
    for chance in chances:
        is_number = isinstance(chance, (int, float)) and not isinstance(chance, bool)
        if chance is not None and not (is_number and 0 <= chance <= 1):
            raise CorpusError(f"{place}: a probability is {described(chance)}; allowed: 0 to 1")
    return [
        span.probability if isinstance(span, Span) else chance
        for span, chance in zip(spans, chances, strict=True)
    ]


def checked_text(
    text: Any,
    spans: Iterable[tuple[Any, Any, Any]],
    name: str,
    line: int,
    probabilities: Iterable[float | None] = (),
) -> LabelledText:
    """Check the spans of a text, trim their blanks and sort them.

    A label that is None means that it cannot be told; such spans may overlap others.
    """
    place = _place(name, line)
    if not isinstance(text, str):
        raise CorpusError(f"{place}: the text is {described(text)}; allowed: a string")
    chances: dict[tuple[int, int, str], float | None] = {}  # of the spans whose label is known
    unknown: list[tuple[int, int]] = []
    for (start, end, label), chance in itertools.zip_longest(spans, probabilities):
        if not (_is_number(start) and _is_number(end)):
            raise CorpusError(
                f"{place}: a span from {described(start)} to {described(end)}; allowed: whole "
                "numbers"
            )
        if not 0 <= start <= end <= len(text):
            raise CorpusError(
                f"{place}: a span from {start} to {end}; the text has "
                f"{counted(len(text), 'character')}"
            )
        begin = start + len(text[start:end]) - len(text[start:end].lstrip())
        stop = end - (len(text[begin:end]) - len(text[begin:end].rstrip()))
        if begin >= stop:
            raise CorpusError(f"{place}: the span from {start} to {end} is empty or blank")
        if label is None:
            unknown.append((begin, stop))
            continue
        if not (isinstance(label, str) and in_one_line(label)):
            raise CorpusError(
                f"{place}: a label is {described(label)}; allowed: a string without tabs and line "
                "ends"
            )
        chances[begin, stop, label] = chance
    known = sorted(chances)
    for left, right in itertools.pairwise(known):
        if right[0] < left[1]:
            raise CorpusError(
                f"{place}: the spans {list(left)} and {list(right)} overlap; allowed: spans that "
                "do not"
            )
    merged = _merged(known, unknown)
    kept = (None if label is None else chances[a, b, label] for a, b, label in merged)
    return LabelledText(text, merged, line, tuple(kept))


def _merged(
    known: list[tuple[int, int, str]], unknown: list[tuple[int, int]]
) -> tuple[Triple, ...]:
    """All spans; those that overlap one whose label cannot be told are joined with it."""
    spans: list[Triple] = sorted(
        [*known, *((start, end, None) for start, end in unknown)], key=lambda span: span[:2]
    )
    merged: list[Triple] = []
    for start, end, label in spans:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]), None)
        else:
            merged.append((start, end, label))
    return tuple(merged)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _place(name: str, line: int) -> str:
    return f"{name}:{line}" if line else name


# ---- Python data ---------------------------------------------------------------------------------


def records_of_data(items: list[Any]) -> list[Record]:
    """The records of Python data: tagged texts, or dictionaries like those of JSON lines."""
    records: list[Record] = []
    for number, item in enumerate(items, 1):
        value = item
        if isinstance(item, TaggedText):
            value = {"text": item.text, "spans": item.spans}
        records.append(record_of(value, f"text {number}", 0))
    return records
