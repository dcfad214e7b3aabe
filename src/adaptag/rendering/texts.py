"""What every picture of a text is made of: its parts, inside and outside of spans."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Protocol

from adaptag.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "Part",
    "SpanLike",
    "TextLike",
    "check_threshold",
    "label_of",
    "line_parts",
    "percent",
    "text_parts",
    "visible",
]

HIDDEN = re.compile(r"[^\t\n -\x7e\xa0-\ud7ff\ue000-\U0010ffff]")
UNNAMED = "span"  # what a span without a label is called


class SpanLike(Protocol):
    """A labelled span of a text, such as ``adaptag.Span``."""

    @property
    def start(self) -> int:
        """The first character."""

    @property
    def end(self) -> int:
        """The character after the last one."""

    @property
    def label(self) -> str:
        """The label."""

    @property
    def probability(self) -> float | None:
        """The probability of the span, if it is known."""


class TextLike(Protocol):
    """A text with spans, such as ``adaptag.TaggedText``."""

    @property
    def text(self) -> str:
        """The text."""

    @property
    def spans(self) -> Sequence[SpanLike]:
        """The spans, in the order of the text."""


class Part(NamedTuple):
    """A part of a text.

    Attributes:
        text: The characters.
        span: The span that they belong to, if there is one.
        last: Whether the span ends here: it may be continued on the next line.
    """

    text: str
    span: SpanLike | None
    last: bool = True


def text_parts(tagged: TextLike) -> Iterator[Part]:
    """Cut a text at the borders of its spans.

    Raises:
        ParameterError: A span lies outside of the text, is empty, or overlaps the one before it.
    """
    end = 0
    for span in tagged.spans:
        if not end <= span.start < span.end <= len(tagged.text):
            raise ParameterError(
                f"span {span.start} to {span.end} ({span.label}) of a text of {len(tagged.text)} "
                f"characters; allowed: from {end} on, in the order of the text, without overlap"
            )
        if span.start > end:
            yield Part(tagged.text[end : span.start], None)
        yield Part(tagged.text[span.start : span.end], span)
        end = span.end
    if end < len(tagged.text):
        yield Part(tagged.text[end:], None)


def line_parts(tagged: TextLike) -> Iterator[list[Part]]:
    """Cut a text at the borders of its spans, line by line; line breaks are left out."""
    line: list[Part] = []
    for part in text_parts(tagged):
        pieces = part.text.splitlines(keepends=True)
        for k, piece in enumerate(pieces):
            content = piece.splitlines()[0]
            if content:
                line.append(Part(content, part.span, k == len(pieces) - 1))
            if len(content) < len(piece):
                yield line
                line = []
    yield line


def label_of(span: SpanLike) -> str:
    """The label that is shown."""
    return span.label or UNNAMED


def percent(probability: float) -> str:
    """A probability in percent; only certainty is 100 %.

    Examples:
        >>> from adaptag.rendering.texts import percent
        >>> percent(0.973), percent(0.9999), percent(1.0)
        ('97%', '99.9%', '100%')
    """
    if not 0.005 <= probability < 0.995 and probability not in (0, 1):
        return f"{min(max(probability, 0.001), 0.999):.1%}"
    return f"{probability:.0%}"


def visible(text: str) -> str:
    """Replace control characters and lone surrogates: a terminal would obey them, HTML has none."""
    return HIDDEN.sub(_picture, text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"


def check_threshold(threshold: float) -> float:
    """Raise where a threshold of probabilities is none."""
    if not 0 <= threshold <= 1:
        raise ParameterError(f"threshold is {threshold}; allowed: 0 to 1")
    return threshold
