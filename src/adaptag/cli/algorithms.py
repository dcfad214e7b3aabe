"""``adaptag algorithms``: what can train a model, and when to use which."""

from __future__ import annotations

from typing import Annotated

from adaptag.cli.arguments import argument
from adaptag.errors import counted

__all__ = ["algorithms"]


def algorithms(
    name: Annotated[
        str | None, argument(help="Show the parameters of this one.", show_default=False)
    ] = None,
) -> None:
    """List the training algorithms: what each optimises, and when to use it."""
    from rich.console import Console
    from rich.table import Table

    from adaptag.training.algorithms import algorithm, algorithms

    table = Table(show_lines=name is None, title_justify="left", caption_justify="left")
    if name is not None:
        selected = algorithm(name)
        table.title = f"{selected.name}: {selected.objective}"
        table.caption = f"{selected.advice} Default: {counted(selected.passes, 'pass', 'passes')}."
        for heading in ("parameter", "default", "allowed", "what it does"):
            table.add_column(heading, no_wrap=heading in ("parameter", "default"))
        for p in selected.parameters:
            table.add_row(p.name, p.shown_default, p.bounds, p.help)
    else:
        table.caption = "adaptag algorithms NAME shows the parameters of one."
        for heading in ("algorithm", "optimises", "when to use it"):
            table.add_column(heading, no_wrap=heading == "algorithm")
        for declaration in algorithms().values():
            table.add_row(declaration.name, declaration.objective, declaration.advice)
    Console().print(table)
