"""Pictures of many texts: one HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adaptag.corpus.data import is_text
from adaptag.corpus.lists import as_list
from adaptag.corpus.tagged_texts import texts_of_data
from adaptag.rendering import THRESHOLD
from adaptag.rendering.html import html_page
from adaptag.storage.files import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from adaptag.corpus.spans import TaggedText
    from adaptag.storage.files import PathLike

    Text = TaggedText | Mapping[str, Any]

__all__ = ["render"]


def render(
    texts: Text | Iterable[Text],
    path: PathLike | None = None,
    *,
    title: str = "Tagged text",
    threshold: float = THRESHOLD,
    probabilities: bool = False,
) -> str:
    """Draw texts with coloured spans on an HTML page that needs nothing else.

    Args:
        texts: The texts with their spans, or one of them: ``TaggedText``, or dictionaries like
            those of JSON lines.
        path: The file to write, if one is wanted.
        title: The title of the page.
        threshold: Spans with a lower probability have a dashed border and no fill.
        probabilities: Whether probabilities stand beside the labels, not only in tooltips.

    Returns:
        The HTML.

    Examples:
        >>> import adaptag
        >>> texts = [adaptag.TaggedText("in Rome", (adaptag.Span(3, 7, "LOC", "Rome"),))]
        >>> adaptag.render(texts)[:15]
        '<!DOCTYPE html>'
    """
    listed = [texts] if is_text(texts) else as_list(texts, "the data", "a list of texts with spans")
    drawn = texts_of_data(listed)
    page = html_page(drawn, title=title, threshold=threshold, probabilities=probabilities)
    if path is not None:
        with replace_file(path) as file:
            file.write(page.encode())
    return page
