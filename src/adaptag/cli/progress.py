"""Showing work: a bar on a terminal, plain lines in a log, JSON lines in a file."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from adaptag.cli.output import say
from adaptag.training.callbacks import Callback, PassLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from rich.progress import Progress, ProgressColumn
    from typing_extensions import Self

    from adaptag.experiments.results import Run
    from adaptag.streams.trainer import Progress as StreamProgress
    from adaptag.training.callbacks import PassReport

__all__ = [
    "JsonLog",
    "NoBar",
    "RunProgress",
    "TrainingBar",
    "byte_bar",
    "log_end",
    "progress_callback",
    "share_bar",
    "show_outcome",
    "show_run",
    "streaming",
    "training_callbacks",
    "working",
]


def progress_callback() -> AbstractContextManager[Callback]:
    """Choose how to show training: a bar on a terminal, else one line per pass."""
    return TrainingBar() if sys.stderr.isatty() else nullcontext(PassLines())


@contextmanager
def training_callbacks(log: Path | None) -> Iterator[list[Callback]]:
    """Show the progress of training, and write its log if there is one."""
    with ExitStack() as stack:
        callbacks: list[Callback] = [stack.enter_context(progress_callback())]
        if log:
            callbacks.append(stack.enter_context(JsonLog(log)))
        yield callbacks


def log_end(callbacks: Sequence[Callback], content: dict[str, Any]) -> None:
    """Write what training ended with to the log, where there is one."""
    for callback in callbacks:
        if isinstance(callback, JsonLog):
            callback.write("end", content)


def show_outcome(provenance: Mapping[str, Any]) -> None:
    """Write which pass was best on development data."""
    passes, best = provenance["passes"], provenance["best_pass"]
    if passes and passes[-1]["dev_score"] is not None:
        report = passes[best - 1]
        say(f"best dev {report['dev_metric']} {report['dev_score']:.2f}, in pass {best}")
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


class TrainingBar(Callback):
    """A progress bar with passes, loss, score and time left."""

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.bar = Progress(
            TextColumn("[bold]training[/]"),
            BarColumn(bar_width=None),
            TextColumn("pass {task.fields[done]}/{task.fields[passes]}"),
            TextColumn("[cyan]{task.fields[figures]}[/]"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            expand=True,
        )
        self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.stop()

    def on_note(self, text: str) -> None:
        """Write the note above the bar."""
        self.bar.console.print(text, markup=False, highlight=False)

    def on_start(self, passes: int, sentences: int) -> None:
        """Draw the bar."""
        self.task = self.bar.add_task(
            "", total=passes * sentences, done=0, passes=passes, figures=""
        )

    def on_progress(self, sentences: int) -> None:
        """Move the bar."""
        self.bar.advance(self.task, sentences)

    def on_pass(self, history: Sequence[PassReport]) -> bool:
        """Show the figures of the pass."""
        self.bar.update(self.task, done=history[-1].number, figures=history[-1].figures())
        return False


class JsonLog(Callback):
    """JSON lines in a file: start, one per pass, end."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Self:
        from adaptag.errors import FileError

        try:
            self.file = self.path.open("w", encoding="utf-8")
        except OSError as error:
            raise FileError(f"{self.path}: cannot write: {error.strerror}") from None
        return self

    def __exit__(self, *_: object) -> None:
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
        """Log one event."""
        self.file.write(json.dumps({"event": event, **content}) + "\n")
        self.file.flush()


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

    return _bar(title, DownloadColumn(), *([TransferSpeedColumn()] if rate else []))


def share_bar(title: str) -> Progress | NoBar:
    """Make a progress bar over a share of work, 0 to 1; it is shown only on a terminal."""
    if not sys.stderr.isatty():
        return NoBar()
    from rich.progress import TaskProgressColumn

    return _bar(title, TaskProgressColumn())


def _bar(title: str, *amounts: ProgressColumn) -> Progress:
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


def show_run(name: str, seed: int | None, number: int, of: int, run: Run) -> None:
    """Write one line for one of several trainings, which is finished."""
    say(f"{_run_name(name, seed, number, of)}: {_reached(run.scores[-1], len(run.scores))}")


def _run_name(name: str, seed: int | None, number: int, of: int) -> str:
    seed_text = "" if seed is None else f", seed {seed}"
    return f"{number}/{of}  {name}{seed_text}"


def _reached(score: float, passes: int) -> str:
    return f"{score:.2f} after {passes} pass{'es' * (passes > 1)}"


class RunProgress(Callback):
    """One line for each of several trainings, and its bar on a terminal.

    Args:
        title: The text before each line.
        alone: Whether no other process draws progress bars.
    """

    def __init__(self, title: str = "", *, alone: bool = True) -> None:
        self.title = title
        self.alone = alone

    def __enter__(self) -> Self:
        self.bar = TrainingBar().__enter__() if self.alone and sys.stderr.isatty() else None
        self.head, self.reached = "", ""
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar:
            self.bar.bar.stop()
        self._write_line()

    def on_run(self, name: str, seed: int | None, number: int, of: int) -> None:
        """Write how the previous training ended, and name the one that begins."""
        self._write_line()
        self.head = f"{self.title}{_run_name(name, seed, number, of)}"

    def _write_line(self) -> None:
        if self.reached:
            say(f"{self.head}: {self.reached}")
        self.reached = ""

    def on_start(self, passes: int, sentences: int) -> None:
        """Draw a new bar."""
        if self.bar:
            for task in self.bar.bar.task_ids:
                self.bar.bar.remove_task(task)
            self.bar.on_start(passes, sentences)

    def on_progress(self, sentences: int) -> None:
        """Move the bar."""
        if self.bar:
            self.bar.on_progress(sentences)

    def on_pass(self, history: Sequence[PassReport]) -> bool:
        """Note the score."""
        self.reached = _reached(history[-1].score, len(history))
        if self.bar:
            self.bar.on_pass(history)
        return False
