"""What figures depend on, and tables as Markdown and on the terminal."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Container


class Table(NamedTuple):
    """A title, column heads, and rows of text."""

    title: str
    head: list[str]
    rows: list[list[str]]


def machine(requirements: Path | None = None) -> dict[str, str]:
    """What the figures depend on; with the peers' versions where they are given."""
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"model name\s*: (.*)", cpuinfo)
    try:
        adaptag = importlib.metadata.version("adaptag")
    except importlib.metadata.PackageNotFoundError:
        adaptag = "not installed"
    peers = requirements.read_text(encoding="utf-8") if requirements else ""
    pins = re.findall(r"^(\S+)==(\S+)$", peers, re.MULTILINE)
    return {
        "processor": model[1] if model else platform.processor(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "adaptag": adaptag,
    } | dict(pins)


def figure(value: float | None, form: str = ".2f") -> str:
    return "-" if value is None else format(value, form)


def markdown_table(table: Table, texts: Container[int] = (0,)) -> str:
    """The head and rows, without the title; columns stand to the right, but for those of texts."""
    rule = ["---" if column in texts else "---:" for column in range(len(table.head))]
    lines = [table.head, rule, *table.rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def described(machine: dict[str, str]) -> str:
    """The machine as one line of text."""
    return "; ".join(f"{name} {value}" for name, value in machine.items())


def show(shown: list[Table]) -> None:
    """Print tables on the terminal."""
    from rich.console import Console
    from rich.table import Table as RichTable

    console = Console()
    console.width = max(console.width, 180)
    for title, head, rows in shown:
        table = RichTable(title=title)
        for column, name in enumerate(head):
            table.add_column(name, justify="right" if column else "left", no_wrap=not column)
        for row in rows:
            table.add_row(*row)
        console.print(table)
