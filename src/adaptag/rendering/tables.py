"""Tables of results as plain text: what ``print`` shows of objects."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.table import Table

__all__ = ["Shown", "facts_table", "printed"]

WIDTH = 100  # of printed tables


class Shown:
    """An object that is printed, and shown in notebooks, as tables; a subclass says which."""

    def _shown(self) -> Iterable[Any]:
        """The tables, and lines of text, to show."""
        raise NotImplementedError

    def __str__(self) -> str:
        return printed(self._shown())

    def _repr_html_(self) -> str:
        from adaptag.rendering.html_tables import html_of

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
