"""Texts with labelled spans of characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

from adaptag.errors import ParameterError, unknown
from adaptag.rendering import THRESHOLD

__all__ = ["Span", "TaggedText"]

AGGREGATION_STRATEGIES = ("simple", "none")
SHOWN = 40  # characters of a text that its repr shows


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


@dataclass(frozen=True, repr=False)
class TaggedText(Sequence[Span]):
    """A text and its labelled spans, of which it is a sequence.

    Printed, each span is followed by its label and probability; in a notebook, it is coloured.

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

    def __repr__(self) -> str:
        start = self.text if len(self.text) <= SHOWN else f"{self.text[:SHOWN]}…"
        counts = Counter(span.label for span in self.spans)
        labels = ", ".join(f"{count} {label}" for label, count in counts.most_common())
        return f"<TaggedText {start!r}: {labels or 'no spans'}>"

    def __str__(self) -> str:
        from adaptag.rendering.terminal import plain_text

        return plain_text(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(
        self,
        *,
        page: bool = False,
        title: str = "Tagged text",
        threshold: float = THRESHOLD,
        probabilities: bool = False,
    ) -> str:
        """Draw the text as HTML, with a colour for each label and a legend.

        The HTML needs nothing from elsewhere and has no script. It is light or dark as the reader
        prefers. The probability of a span is its tooltip.

        Args:
            page: Whether to make a complete page, not only a part of one.
            title: The title of the page.
            threshold: Spans with a lower probability have a dashed border and no fill.
            probabilities: Whether probabilities stand beside the labels, too.

        Examples:
            >>> from adaptag.corpus.spans import Span, TaggedText
            >>> html = TaggedText("in Rome", (Span(3, 7, "LOC", "Rome", 0.98),)).to_html()
            >>> "title='LOC, probability 0.9800'" in html
            True
        """
        from adaptag.rendering.html import html_fragment, html_page

        if page:
            return html_page([self], title=title, threshold=threshold, probabilities=probabilities)
        return html_fragment([self], threshold=threshold, probabilities=probabilities)

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

    def to_entities(self, aggregation_strategy: str = "simple") -> list[dict[str, Any]]:
        """The spans in the form that token-classification pipelines of Hugging Face return.

        Args:
            aggregation_strategy: ``simple`` gives a dictionary for each span: ``entity_group``,
                ``score``, ``word``, ``start``, ``end``. ``none`` gives one for each token of a
                span: ``entity`` (with B- or I- before the label), ``score`` (that of the span),
                ``index`` (the number of the token, from 1), ``word``, ``start``, ``end``.

        Returns:
            The dictionaries, in the order of the text; ``score`` is None where it is not known.

        Examples:
            >>> from adaptag.corpus.spans import Span, TaggedText
            >>> TaggedText("Ann sings", (Span(0, 3, "PER", "Ann", 0.9),)).to_entities()
            [{'entity_group': 'PER', 'score': 0.9, 'word': 'Ann', 'start': 0, 'end': 3}]
        """
        if aggregation_strategy not in AGGREGATION_STRATEGIES:
            raise ParameterError(
                unknown("aggregation strategy", aggregation_strategy, AGGREGATION_STRATEGIES)
            )
        if aggregation_strategy == "simple":
            return [
                {"entity_group": span.label, "score": span.probability}
                | {"word": span.text, "start": span.start, "end": span.end}
                for span in self.spans
            ]
        if self.spans and not self.tokens:
            raise ParameterError("the text has no tokens; allowed: aggregation_strategy='simple'")
        return [
            {"entity": f"{'B' if start == span.start else 'I'}-{span.label}"}
            | {"score": span.probability, "index": number}
            | {"word": self.text[start:end], "start": start, "end": end}
            for span in self.spans
            for number, (start, end) in enumerate(self.tokens, 1)
            if span.start <= start and end <= span.end
        ]
