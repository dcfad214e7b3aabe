"""Tables of results as plain text, and as HTML: what ``print`` and a notebook show of objects."""

from __future__ import annotations

import io
from html import escape
from typing import TYPE_CHECKING, Any

from adaptag.rendering.style import style

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.table import Table

__all__ = ["Shown", "facts_table", "html_of", "printed"]

WIDTH = 100  # of printed tables


class Shown:
    """An object that is printed, and shown in notebooks, as tables; a subclass says which."""

    def _shown(self) -> Iterable[Any]:
        """The tables, and lines of text, to show."""
        raise NotImplementedError

    def __str__(self) -> str:
        return printed(self._shown())

    def _repr_html_(self) -> str:
        return html_of(self._shown())


def printed(items: Iterable[Any], width: int = WIDTH) -> str:
    """The text of tables of rich, and of lines, without colours."""
    from rich.console import Console

    console = Console(
        file=io.StringIO(), width=width, color_system=None, force_jupyter=False, highlight=False
    )
    with console.capture() as captured:
        for item in items:
            console.print(item, markup=not isinstance(item, str))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def facts_table(facts: Mapping[str, object]) -> Table:
    """A table of names and what is known of each."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        grid.add_row(Text(name, style="bold"), Text(str(value)))
    return grid


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
            cells += f"<{name}{_kind(column.justify, strong)}>{text}</{name[:2]}>"
        section = " class='adaptag-section'" if row.end_section else ""
        rows.append(f"<tr{section}>{cells}</tr>")
    kind = "" if table.show_header else " class='adaptag-facts'"
    body = "\n".join(rows)
    return (
        f"{title}<div class='adaptag-scroll'><table{kind}>{caption}{head}<tbody>{body}</tbody>"
        "</table></div>\n"
    )


def _kind(justify: str, strong: bool) -> str:
    names = ["adaptag-number"] * (justify == "right") + ["adaptag-strong"] * strong
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
