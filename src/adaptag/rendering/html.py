"""Texts with coloured spans as HTML: no script, and nothing from elsewhere."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from adaptag.rendering import THRESHOLD
from adaptag.rendering.colours import assign_colours
from adaptag.rendering.style import page_of, style
from adaptag.rendering.texts import (
    check_threshold,
    label_of,
    line_parts,
    percent,
    visible,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from adaptag.rendering.texts import Part, SpanLike, TextLike

__all__ = ["direction", "html_fragment", "html_page", "language"]

LANGUAGES = (  # what tells the languages apart that share Han characters
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
    ("zh", re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")),
)


def html_page(
    texts: Iterable[TextLike],
    *,
    title: str = "Tagged text",
    note: str = "",
    threshold: float = THRESHOLD,
    probabilities: bool = False,
) -> str:
    """A page of texts with coloured spans, complete in itself.

    Args:
        texts: The texts and their spans.
        title: The title and heading.
        note: A sentence below the heading.
        threshold: Spans with a lower probability are drawn as uncertain.
        probabilities: Whether probabilities stand beside the labels, not only on hover.
    """
    listed = list(texts)
    below = f"<p class='adaptag-note'>{_escaped(note)}</p>\n" if note else ""
    body = f"<h1>{_escaped(title)}</h1>\n{below}{_body(listed, threshold, probabilities)}"
    return page_of(_escaped(title), body)


def html_fragment(
    texts: Iterable[TextLike], *, threshold: float = THRESHOLD, probabilities: bool = False
) -> str:
    """The same as a part of another page, with its own style: what a notebook shows."""
    body = _body(list(texts), threshold, probabilities)
    return f"<div class='adaptag'>\n<style>{style()}</style>\n{body}</div>\n"


def _body(texts: Sequence[TextLike], threshold: float, probabilities: bool) -> str:
    check_threshold(threshold)
    spans = [span for text in texts for span in text.spans]
    colours = assign_colours(map(label_of, spans))
    blocks = [_text(text, colours, threshold, probabilities) for text in texts]
    return _legend(spans, colours, threshold) + "".join(blocks)


def _legend(spans: Sequence[SpanLike], colours: Mapping[str, int], threshold: float) -> str:
    """The labels with their colours and numbers, and what a dashed border means."""
    counts = Counter(map(label_of, spans))
    items = [
        f"<li><span class='adaptag-span adaptag-{colours[label]}'>"
        f"<bdi class='adaptag-label'>{_escaped(label)}</bdi></span> {counts[label]:,}</li>"
        for label in sorted(counts)
    ]
    if any(map(_is_uncertain, spans, [threshold] * len(spans))):
        items.append(
            "<li><span class='adaptag-span adaptag-unsure'>dashed</span> probability below "
            f"{percent(threshold)}</li>"
        )
    return f"<ul class='adaptag-legend' aria-label='Labels'>{''.join(items)}</ul>\n" * bool(items)


def _text(
    tagged: TextLike, colours: Mapping[str, int], threshold: float, probabilities: bool
) -> str:
    lines = []
    side = direction(tagged.text) or "ltr"
    for parts in line_parts(tagged):
        side = direction("".join(part.text for part in parts)) or side
        content = "".join(_part(part, colours, threshold, probabilities) for part in parts)
        lines.append(f"<p dir='{side}'>{content or '<br>'}</p>")
    lang = language(tagged.text)
    return f"<div class='adaptag-text' lang='{lang}'>{''.join(lines)}</div>\n"


def _part(part: Part, colours: Mapping[str, int], threshold: float, probabilities: bool) -> str:
    text, span = _escaped(part.text), part.span
    if span is None:
        return text
    label, p = label_of(span), span.probability
    name, kind = _escaped(label), f"adaptag-{colours[label]}"
    title, figure = name, ""
    if _is_uncertain(span, threshold):
        kind += " adaptag-unsure"
    if p is not None:
        title = f"{name}, probability {p:.4f}"
        # No space before it: at the end of a line it would move to the other side of a label that
        # is beside right-to-left text.
        if probabilities:
            figure = f"<span class='adaptag-figure'>&nbsp;{percent(p)}</span>"
        else:
            figure = f"<span class='adaptag-hidden'>, probability {percent(p)}</span>"
    side = direction(part.text) or "ltr"
    tag = ""
    if part.last:
        tag = f"<span class='adaptag-label' dir='auto' lang='en'>{name}{figure}</span>"
    return f"<mark class='adaptag-span {kind}' dir='{side}' title='{title}'>{text}{tag}</mark>"


def _is_uncertain(span: SpanLike, threshold: float) -> bool:
    return span.probability is not None and span.probability < threshold


def _escaped(text: str) -> str:
    return escape(visible(text))


def direction(text: str) -> str:
    """``rtl`` or ``ltr``, as the first letter with a direction says; empty if there is none."""
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind in ("L", "R", "AL"):
            return "ltr" if kind == "L" else "rtl"
    return ""


def language(text: str) -> str:
    """The language whose forms of Han characters a text needs; empty where that is not known.

    Examples:
        >>> from adaptag.rendering.html import language
        >>> language("他在北京"), language("東京へ行く"), language("in Rome")
        ('zh', 'ja', '')
    """
    return next((name for name, letters in LANGUAGES if letters.search(text)), "")
