"""What the commands that train share: progress is shown, and the model is saved."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from adaptag.cli.output import DIVERGED, end_interrupted, file_size, say
from adaptag.errors import AdaptagWarning, FileError, ParameterError, counted

if TYPE_CHECKING:
    from adaptag.training.callbacks import Callback

__all__ = ["check_every", "model_file", "train_and_save"]

MODEL = Path("model.adaptag")  # where no other one is named


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
    checkpoint: Path | None = None,
) -> None:
    """Train, save the model and say what came out.

    An interrupt keeps the model of the passes that were made. Before the first pass is finished it
    leaves the model file as it is. Training that diverges keeps the last model that is finite, and
    ends with exit code 3.

    Args:
        train: A function that trains and notifies the callbacks of its progress.
        model: The model file to write.
        log: The log file; None means no log.
        begin: The time when the command began.
        provenance: A function that returns the record of the trained model.
        summary: A function that describes the model in a few words.
        checkpoint: The file that the state of training is saved in, if there is one.
    """
    from adaptag.cli.progress import log_end, show_outcome, training_callbacks
    from adaptag.training import result
    from adaptag.training.interrupts import Interrupts

    with Interrupts() as interrupts, warnings.catch_warnings():
        warnings.simplefilter("always", AdaptagWarning)
        try:
            with training_callbacks(log) as callbacks:
                trained = train(callbacks)
                try:
                    trained.save(model)
                except FileError as error:
                    raise _with_checkpoint(error, checkpoint) from None
                seconds = time.perf_counter() - begin
                record = provenance(trained)
                log_end(callbacks, {"seconds": seconds, **record, "model": str(model)})
        except KeyboardInterrupt:
            outcome = f"{model} is unchanged" if model.exists() else "no model was saved"
            if checkpoint is not None and checkpoint.exists():
                outcome += f"; --resume {checkpoint} continues"
            end_interrupted(f" before the first pass was finished: {outcome}")
        show_outcome(record)
        say(f"{model}: {summary(trained)}{file_size(model)}, {seconds:.2f} s in all")
        if interrupts.requested or record["stopped"] == "interrupt":
            passes = len(record["passes"])
            end_interrupted(
                f": the model after {counted(passes, 'finished pass', 'finished passes')} is "
                f"saved in {model}"
            )
        if record["stopped"] == result.DIVERGED:
            say(f"{model} is the model of pass {record['best_pass']}, where all weights are finite")
            raise SystemExit(DIVERGED)


def model_file(named: Path | None, resume: Path | None = None) -> Path:
    """The model file to write; where none is named, a new one, which a resumed run may replace."""
    if named is not None:
        return named
    if MODEL.exists() and resume is None:
        raise ParameterError(
            f"{MODEL} exists already, and no model file is named; --model {MODEL} replaces it, "
            "--model with another name keeps it"
        )
    say(f"the model is written to {MODEL}; --model chooses another file")
    return MODEL


def check_every(every: str | None, checkpoint: Path | None) -> None:
    """Refuse a value of ``--every`` before anything is read."""
    from adaptag.training.saving import Every

    if every is not None and checkpoint is None:
        raise ParameterError("--every needs --checkpoint, or --stream")
    Every.of(every)


def _with_checkpoint(error: FileError, checkpoint: Path | None) -> FileError:
    """Say that the training is not lost where its model cannot be written."""
    if checkpoint is None or not checkpoint.exists():
        return error
    return FileError(
        f"{error}; the training is saved in {checkpoint}: with --resume {checkpoint} and room for "
        "the model, the same command writes it"
    )
