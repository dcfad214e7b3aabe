"""Tables of results as HTML: what a notebook shows of objects."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from adaptag.rendering.style import style

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

__all__ = ["html_of"]


def html_of(items: Iterable[Any]) -> str:
    """Tables of rich, and lines of text, as a fragment of HTML with its own style."""
    from rich.table import Table

    parts = [
        _html_table(item) if isinstance(item, Table) else f"<p>{escape(str(item))}</p>\n"
        for item in items
    ]
    return f"<div class='adaptag'>\n<style>{style()}</style>\n{''.join(parts)}</div>\n"


def _html_table(table: Table) -> str:
    title = f"<p class='adaptag-title'>{escape(_plain(table.title))}</p>\n" if table.title else ""
    caption = f"<caption>{escape(_plain(table.caption))}</caption>" if table.caption else ""
    bold = [str(column.style) == "bold" for column in table.columns]
    head = ""
    if table.show_header:
        cells = "".join(
            f"<th scope='col'{_kind(column.justify, False)}>{escape(_plain(column.header))}</th>"
            for column in table.columns
        )
        head = f"<thead><tr>{cells}</tr></thead>"
    rows = []
    columns = [list(column.cells) for column in table.columns]
    for r, row in enumerate(table.rows):
        cells = ""
        for c, column in enumerate(table.columns):
            cell = columns[c][r]
            strong = bold[c] or "bold" in str(row.style) or "bold" in str(_style(cell))
            name = "th scope='row'" if c == 0 else "td"
            text = escape(_plain(cell))
            drawn = c > 0 and column.no_wrap  # a bar of characters
            cells += f"<{name}{_kind(column.justify, strong, drawn)}>{text}</{name[:2]}>"
        section = " class='adaptag-section'" if row.end_section else ""
        rows.append(f"<tr{section}>{cells}</tr>")
    kind = "" if table.show_header else " class='adaptag-facts'"
    body = "\n".join(rows)
    return (
        f"{title}<div class='adaptag-scroll'><table{kind}>{caption}{head}<tbody>{body}</tbody>"
        "</table></div>\n"
    )


def _kind(justify: str, strong: bool, drawn: bool = False) -> str:
    wanted = {"number": justify == "right", "strong": strong, "drawn": drawn}
    names = [f"adaptag-{name}" for name, is_wanted in wanted.items() if is_wanted]
    return f" class='{' '.join(names)}'" if names else ""


def _style(cell: Any) -> Any:
    """The style of a cell, in whatever form it was added."""
    from rich.text import Text

    if isinstance(cell, str):
        cell = Text.from_markup(cell)
    return [cell.style, *(span.style for span in cell.spans)] if isinstance(cell, Text) else ""


def _plain(cell: Any) -> str:
    """The characters of a cell."""
    from rich.text import Text

    if isinstance(cell, str):
        return Text.from_markup(cell).plain
    return cell.plain if isinstance(cell, Text) else str(cell)
