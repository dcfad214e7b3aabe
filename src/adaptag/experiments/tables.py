"""Tables of text, and how scores, times and probabilities are written in them."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table as RichTable

__all__ = ["MISSING", "Mean", "Table", "best_cells", "format_p", "format_score", "format_seconds"]

MISSING = "–"  # a cell without a value


class Mean(NamedTuple):
    """The mean over seeds, and the standard deviation where there are several."""

    value: float
    deviation: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean | None:
        """The mean of some values; None where there are none."""
        if not values:
            return None
        several = len(values) > 1
        return cls(statistics.mean(values), statistics.stdev(values) if several else None)


class Table(NamedTuple):
    """A table of text.

    Attributes:
        head: The names of the columns.
        rows: The cells of each row.
        best: The cells with the best values, as row and column.
        numbers: Whether all columns but the first hold numbers.
    """

    head: list[str]
    rows: list[list[str]]
    best: frozenset[tuple[int, int]] = frozenset()
    numbers: bool = True

    def select(self, columns: Sequence[int]) -> Table:
        """The table with some of its columns only."""
        rows = [[row[c] for c in columns] for row in self.rows]
        best = {(r, columns.index(c)) for r, c in self.best if c in columns}
        return Table([self.head[c] for c in columns], rows, frozenset(best))

    def markdown(self) -> str:
        """The table in Markdown; the best values are bold."""
        bold = [
            [f"**{cell}**" if (r, c) in self.best else cell for c, cell in enumerate(row)]
            for r, row in enumerate(self.rows)
        ]
        rule = ["---", *["---:" if self.numbers else "---"] * (len(self.head) - 1)]
        lines = [self.head, rule, *bold]
        return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)

    def rich(self, title: str) -> RichTable:
        """The table for the terminal; the best values are bold."""
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        result = RichTable(title=Text(title), title_justify="left", box=box.HORIZONTALS)
        for column, head in enumerate(self.head):
            result.add_column(Text(head), justify="right" if column else "left", no_wrap=not column)
        for r, row in enumerate(self.rows):
            cells = [
                Text(cell, "bold" if (r, c) in self.best else "") for c, cell in enumerate(row)
            ]
            result.add_row(*cells)
        return result


def format_score(mean: Mean | None) -> str:
    """A score as text, with its deviation where there is one."""
    if mean is None:
        return MISSING
    spread = "" if mean.deviation is None else f" ± {mean.deviation:.2f}"
    return f"{mean.value:.2f}{spread}"


def format_seconds(value: float) -> str:
    """Seconds as text, with fewer digits the longer they are."""
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def format_p(p: float | None) -> str:
    """A probability as text."""
    return MISSING if p is None else f"{p:.4f}" if p >= 0.0001 else "< 0.0001"


def best_cells(
    rows: Sequence[Sequence[str]], ranks: Sequence[Mapping[int, float | None]]
) -> frozenset[tuple[int, int]]:
    """Find the highest ranks of every column that has any, and what looks the same."""
    best = set()
    for column in ranks[0] if len(ranks) > 1 else ():
        there = {r: rank[column] for r, rank in enumerate(ranks) if rank[column] is not None}
        if there:
            top = rows[max(there, key=lambda r: there[r] or 0.0)][column].split()[0]
            best |= {(r, column) for r in there if rows[r][column].split()[0] == top}
    return frozenset(best)
