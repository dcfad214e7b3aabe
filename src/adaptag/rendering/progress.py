"""Displays of progress: lines that stay, and a bar below them while work goes on.

A terminal has a bar of rich, a notebook an output that changes in place, anything else, such as a
log, plain lines. Neither rich nor IPython is imported before there is something for them to show.
"""

from __future__ import annotations

import importlib
import sys
import time
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

__all__ = [
    "Display",
    "NotebookDisplay",
    "PlainDisplay",
    "TerminalDisplay",
    "in_notebook",
    "open_display",
    "terminal_bar",
]

INTERVAL = 0.1  # seconds between two updates of a notebook


class Display(Protocol):
    """Shows the progress of some work; what it shows stays until it is closed or shown anew."""

    def write(self, line: str) -> None:
        """Add a line that stays."""

    def update(self, share: float, text: str) -> None:
        """Show a bar with the share of the work that is finished, 0 to 1, and a text."""

    def close(self) -> None:
        """Remove the bar; the lines stay. The display can be used again."""


def open_display(title: str, *, alone: bool | None = None) -> Display:
    """Choose the display for where Python runs: a notebook, a terminal, or plain lines.

    Args:
        title: What is being done; it stands before the bar.
        alone: Whether no other process draws bars on the terminal; None means that those started
            by another one do not, since they have siblings.
    """
    if in_notebook():
        return NotebookDisplay(title)
    if sys.stderr.isatty() and (not _is_child() if alone is None else alone):
        return TerminalDisplay(title)
    return PlainDisplay()


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")  # a kernel has imported it
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def _is_child() -> bool:
    """Whether another Python process started this one, as joblib does."""
    processes = sys.modules.get("multiprocessing.process")
    return processes is not None and processes.parent_process() is not None


class PlainDisplay:
    """Lines on standard error, and no bar."""

    def write(self, line: str) -> None:
        """Write the line."""
        sys.stderr.write(f"{line}\n")

    def update(self, share: float, text: str) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class TerminalDisplay:
    """Lines on standard error, and a bar of rich below them."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.bar: Progress | None = None
        self.share = 0.0

    def write(self, line: str) -> None:
        """Write the line, above the bar."""
        if self.bar is None:
            sys.stderr.write(f"{line}\n")
        else:
            self.bar.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def update(self, share: float, text: str) -> None:
        """Draw the bar; where the share is smaller than before, the time left is estimated anew."""
        if self.bar is None:
            from rich.progress import TextColumn

            text_column = TextColumn("[cyan]{task.description}[/]")
            self.bar = terminal_bar(self.title, text_column)
            self.task = self.bar.add_task(text, total=1)
            self.bar.start()
        elif share < self.share:
            self.bar.reset(self.task)
        self.share = share
        self.bar.update(self.task, completed=share, description=text)

    def close(self) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None


def terminal_bar(title: str, *amounts: ProgressColumn) -> Progress:
    """Make a bar of rich on standard error: title, bar, further columns, time left."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn(f"[bold]{title}[/]"),
        BarColumn(bar_width=None),
        *amounts,
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
        transient=True,
        expand=True,
    )


class NotebookDisplay:
    """One output of a notebook's cell that changes in place: lines, and a bar below them.

    It needs IPython only, no widgets: so it works wherever a notebook is shown, and a notebook that
    is stored keeps the lines.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.lines: list[str] = []
        self.bar: tuple[float, str] | None = None
        self.handle: Any = None
        self.shown = self.began = 0.0

    def write(self, line: str) -> None:
        """Add the line."""
        self.lines.append(line)
        self._show(at_once=self.bar is None)

    def update(self, share: float, text: str) -> None:
        """Move the bar."""
        if self.bar is None or share < self.bar[0]:
            self.began = time.monotonic()
        self.bar = (share, text)
        self._show()

    def close(self) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar = None
            self._show(at_once=True)

    def _show(self, *, at_once: bool = False) -> None:
        """Show the present state, not more often than a person can see."""
        now = time.monotonic()
        if not at_once and now - self.shown < INTERVAL:
            return
        self.shown = now
        content = {"text/plain": "\n".join(self.lines), "text/html": self._html(now)}
        if self.handle is None:
            display = importlib.import_module("IPython.display").display
            self.handle = display(content, raw=True, display_id=True)
        else:
            self.handle.update(content, raw=True)

    def _html(self, now: float) -> str:
        from html import escape

        lines = escape("\n".join(self.lines))
        parts = [f'<pre style="margin: 0">{lines}</pre>'] if self.lines else []
        if self.bar is not None:
            share, text = self.bar
            left = (now - self.began) * (1 - share) / share if share > 0 else 0.0
            text = f"{text}, {left:.0f} s left" if left >= 1 else text
            parts.append(
                f'<div><progress max="1" value="{share:.3f}"></progress> '
                f"{escape(f'{self.title}  {text}')}</div>"
            )
        return "".join(parts)
