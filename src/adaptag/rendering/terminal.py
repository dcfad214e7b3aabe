"""Texts with coloured spans for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptag.rendering import THRESHOLD
from adaptag.rendering.colours import PALETTE, assign_colours
from adaptag.rendering.texts import label_of, percent, text_parts, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.text import Text

    from adaptag.rendering.texts import SpanLike, TextLike

__all__ = ["coloured_text", "plain_text"]


def coloured_text(
    tagged: TextLike, colours: Mapping[str, int] | None = None, threshold: float = THRESHOLD
) -> Text:
    """The text with its spans in colours, each followed by its label and its probability.

    Args:
        tagged: The text and its spans.
        colours: The colour of each label, as ``assign_colours`` gives it. None means that those of
            this text alone are assigned.
        threshold: Spans with a lower probability are underlined and have a question mark.
    """
    from rich.text import Text

    if colours is None:
        colours = assign_colours(map(label_of, tagged.spans))
    text = Text()
    for characters, span, note in _runs(tagged, threshold):
        if span is None:
            text.append(characters)
            continue
        number = colours.get(label_of(span))
        colour = "default" if number is None else PALETTE[number].terminal
        text.append(characters, f"{'underline' if note.endswith('?]') else 'bold'} {colour}")
        text.append(note, f"dim {colour}")
    return text


def plain_text(tagged: TextLike, threshold: float = THRESHOLD) -> str:
    """What ``coloured_text`` says, without colours.

    Examples:
        >>> from adaptag.corpus.spans import Span, TaggedText
        >>> from adaptag.rendering.terminal import plain_text
        >>> plain_text(TaggedText("in Rome", (Span(3, 7, "LOC", "Rome", 0.42),)))
        'in Rome [LOC 42%?]'
    """
    return "".join(f"{text}{note}" for text, _, note in _runs(tagged, threshold))


def _runs(tagged: TextLike, threshold: float) -> Iterator[tuple[str, SpanLike | None, str]]:
    """The parts of a text: characters, their span, and what is written after it."""
    for characters, span, _ in text_parts(tagged):
        note = ""
        if span is not None:
            p = span.probability
            figure = "" if p is None else f" {percent(p)}{'?' if p < threshold else ''}"
            note = f" [{visible(label_of(span))}{figure}]"
        yield visible(characters), span, note
