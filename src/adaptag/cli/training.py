"""What the commands that train share: progress is shown, and the model is saved."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from adaptag.cli.output import INTERRUPTED, say

if TYPE_CHECKING:
    from adaptag.training.callbacks import Callback

__all__ = ["train_and_save"]


class Saved(Protocol):
    """Something that has a file."""

    def save(self, path: Path, /) -> None:
        """Write the file."""


S = TypeVar("S", bound=Saved)


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
            raise SystemExit(INTERRUPTED) from None
        show_outcome(record)
        size = model.stat().st_size / 1e6
        say(f"{model}: {summary(trained)}{size:.1f} MB, {seconds:.2f} s in all")
        if interrupts.requested or record["stopped"] == "interrupt":
            passes = len(record["passes"])
            say(f"interrupted: the model after {passes} finished passes is saved in {model}")
            raise SystemExit(INTERRUPTED)
