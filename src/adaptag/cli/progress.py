"""Showing work: training, bars on a terminal, JSON lines in a file."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from adaptag.cli.output import say
from adaptag.rendering.progress import terminal_bar
from adaptag.training.callbacks import Callback
from adaptag.training.progress import TrainingProgress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rich.progress import Progress
    from typing_extensions import Self

    from adaptag.streams.trainer import Progress as StreamProgress
    from adaptag.training.callbacks import PassReport

__all__ = [
    "JsonLog",
    "NoBar",
    "byte_bar",
    "log_end",
    "share_bar",
    "show_outcome",
    "streaming",
    "training_callbacks",
    "working",
]


@contextmanager
def training_callbacks(log: Path | None) -> Iterator[list[Callback]]:
    """Show the progress of training, and write its log if there is one."""
    with ExitStack() as stack:
        callbacks: list[Callback] = [TrainingProgress()]
        if log:
            callbacks.append(stack.enter_context(JsonLog(log)))
        yield callbacks


def log_end(callbacks: Sequence[Callback], content: dict[str, Any]) -> None:
    """Write what training ended with to the log, where there is one."""
    for callback in callbacks:
        if isinstance(callback, JsonLog):
            callback.write("end", content)


def show_outcome(provenance: Mapping[str, Any]) -> None:
    """Write the temperature of a model that was calibrated."""
    if "temperature" in provenance:
        say(f"calibrated on dev: temperature {provenance['temperature']:.4g}")


@contextmanager
def streaming(log: Path | None) -> Iterator[Callable[..., None]]:
    """Show how a stream is learned: a changing line on a terminal, else one per save."""
    from rich.console import Console

    with ExitStack() as stack:
        file = stack.enter_context(JsonLog(log)) if log else None
        status = None
        if sys.stderr.isatty():
            status = stack.enter_context(Console(stderr=True).status("waiting for the stream"))

        def show(progress: StreamProgress, *, saved: bool) -> None:
            text = (
                f"{progress.sentences:,} sentences  {progress.features:,} features  "
                f"score {progress.score.score:.2f}  recently {progress.recent.score:.2f}"
            )
            if status is not None:
                status.update(f"learning  [cyan]{text}[/]")
            if saved and status is None:
                say(f"{text}  saved")
            if saved and file is not None:
                figures = {
                    "sentences": progress.sentences,
                    "tokens": progress.tokens,
                    "features": progress.features,
                    "score": progress.score.score,
                    "recent": progress.recent.score,
                }
                file.write("saved", figures)

        yield show


class JsonLog(Callback):
    """JSON lines in a file: start, one per pass, end."""

    def __init__(self, path: Path) -> None:
        self.path, self.failed = path, False

    def __enter__(self) -> Self:
        from adaptag.errors import FileError

        try:
            self.file = self.path.open("w", encoding="utf-8")
        except OSError as error:
            raise FileError(f"{self.path}: cannot write: {error.strerror}") from None
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self.file.close()

    def on_note(self, text: str) -> None:
        """Log the note."""
        self.write("note", {"text": text})

    def on_start(self, passes: int, sentences: int) -> None:
        """Log what training begins with."""
        self.write("start", {"passes": passes, "sentences": sentences})

    def on_pass(self, history: Sequence[PassReport]) -> bool:
        """Log the figures of the pass."""
        self.write("pass", history[-1].to_dict())
        return False

    def write(self, event: str, content: dict[str, Any]) -> None:
        """Log one event; a log that cannot be written ends, and the work goes on."""
        if self.failed:
            return
        try:
            self.file.write(json.dumps({"event": event, **content}) + "\n")
            self.file.flush()
        except OSError as error:
            self.failed = True
            say(f"note: {self.path}: cannot write: {error.strerror}; the log ends here")


def working(text: str) -> AbstractContextManager[object]:
    """Show on a terminal that work of unknown length is in progress."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(text)


def byte_bar(title: str, *, rate: bool = False) -> Progress | NoBar:
    """Make a progress bar over bytes, or with the rate too; it is shown only on a terminal."""
    if not sys.stderr.isatty():
        return NoBar()
    from rich.progress import DownloadColumn, TransferSpeedColumn

    return terminal_bar(title, DownloadColumn(), *([TransferSpeedColumn()] if rate else []))


def share_bar(title: str) -> Progress | NoBar:
    """Make a progress bar over a share of work, 0 to 1; it is shown only on a terminal."""
    if not sys.stderr.isatty():
        return NoBar()
    from rich.progress import TaskProgressColumn

    return terminal_bar(title, TaskProgressColumn())


class NoBar(AbstractContextManager["NoBar"]):
    """What stands for a progress bar where there is no terminal: rich need not be imported."""

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def add_task(self, description: str, total: float | None) -> Any:
        """Do nothing."""

    def advance(self, task: Any, amount: float) -> None:
        """Do nothing."""

    def update(self, task: Any, *, completed: float) -> None:
        """Do nothing."""
