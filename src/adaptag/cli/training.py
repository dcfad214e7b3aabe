"""What the commands that train share: outputs checked, progress shown, the model saved."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import typer

from adaptag.cli.output import say

if TYPE_CHECKING:
    from adaptag.training.callbacks import Callback

__all__ = ["INTERRUPTED", "check_files", "interruptible", "train_and_save"]

INTERRUPTED = 130  # the exit code of a program that Ctrl-C ended


class Saved(Protocol):
    """Something that has a file."""

    def save(self, path: Path, /) -> None:
        """Write the file."""


S = TypeVar("S", bound=Saved)


def interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """Let Ctrl-C end a command with a message and the exit code 130."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except KeyboardInterrupt:
            say("interrupted: files that were not finished are unchanged")
            raise typer.Exit(INTERRUPTED) from None

    return wrapped


def check_files(
    outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | str | None]
) -> None:
    """Refuse outputs that cannot be written, or that are inputs too, before anything is read."""
    from adaptag.storage.files import check_outputs

    files = {name: path for name, path in inputs.items() if path is not None and str(path) != "-"}
    check_outputs(outputs, files)


def train_and_save(
    train: Callable[[Sequence[Callback]], S],
    model: Path,
    *,
    log: Path | None,
    begin: float,
    provenance: Callable[[S], Mapping[str, Any]],
    summary: Callable[[S], str],
) -> None:
    """Train, save the model and say what came out.

    An interrupt keeps the model of the passes that were made. Before the first pass is finished it
    leaves the model file as it is.

    Args:
        train: A function that trains and notifies the callbacks of its progress.
        model: The model file to write.
        log: The log file; None means no log.
        begin: The time when the command began.
        provenance: A function that returns the record of the trained model.
        summary: A function that describes the model in a few words.
    """
    from adaptag.cli.progress import log_end, show_outcome, training_callbacks
    from adaptag.training.interrupts import Interrupts

    with Interrupts() as interrupts:
        try:
            with training_callbacks(log) as callbacks:
                trained = train(callbacks)
                trained.save(model)
                seconds = time.perf_counter() - begin
                record = provenance(trained)
                log_end(callbacks, {"seconds": seconds, **record, "model": str(model)})
        except KeyboardInterrupt:
            outcome = f"{model} is unchanged" if model.exists() else "no model was saved"
            say(f"interrupted before the first pass was finished: {outcome}")
            raise typer.Exit(INTERRUPTED) from None
        show_outcome(record)
        size = model.stat().st_size / 1e6
        say(f"{model}: {summary(trained)}{size:.1f} MB, {seconds:.2f} s in all")
        if interrupts.requested or record["stopped"] == "interrupt":
            passes = len(record["passes"])
            say(f"interrupted: the model after {passes} finished passes is saved in {model}")
            raise typer.Exit(INTERRUPTED)
