"""Texts with labelled spans of characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

__all__ = ["Span", "TaggedText"]


@dataclass(frozen=True)
class Span:
    """A labelled part of a text.

    Attributes:
        start: The first character.
        end: The end: the character after the last one.
        label: The label, such as the type of a named entity.
        text: The characters from ``start`` to ``end``.
        probability: The probability of exactly this span with this label, if it is known.
    """

    start: int
    end: int
    label: str
    text: str
    probability: float | None = None


@dataclass(frozen=True)
class TaggedText(Sequence[Span]):
    """A text and its labelled spans, of which it is a sequence.

    Attributes:
        text: The text.
        spans: The spans, in the order of the text; they do not overlap.
        tokens: The start and end of each token, if the text was cut into tokens.
    """

    text: str
    spans: tuple[Span, ...]
    tokens: tuple[tuple[int, int], ...] = ()

    @overload
    def __getitem__(self, index: int) -> Span: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Span, ...]: ...
    def __getitem__(self, index: int | slice) -> Span | tuple[Span, ...]:
        return self.spans[index]

    def __len__(self) -> int:
        return len(self.spans)

    def to_dict(self) -> dict[str, Any]:
        """The text and its spans, ready for JSON: ``{"text": …, "spans": [[start, end, label]]}``.

        Where all spans have a probability, they follow as ``probabilities``.
        """
        spans = [[span.start, span.end, span.label] for span in self.spans]
        result: dict[str, Any] = {"text": self.text, "spans": spans}
        probabilities = [span.probability for span in self.spans]
        if probabilities and None not in probabilities:
            result["probabilities"] = probabilities
        return result
