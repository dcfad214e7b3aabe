"""The progress of comparisons and searches: a line per training or round, and a bar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptag.errors import counted
from adaptag.rendering.progress import open_display
from adaptag.training.progress import TrainingProgress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from adaptag.experiments.results import Run
    from adaptag.experiments.trials import Trial
    from adaptag.training.callbacks import PassReport

HELD_OUT = "test"  # the data that is scored on

__all__ = ["Progress", "RunProgress", "TuningCallback", "TuningProgress"]


class RunProgress(TrainingProgress):
    """A line for each of several trainings, and a bar for the one that is being made.

    Args:
        title: The text before each line.
        alone: Whether no other process draws progress bars, as for ``open_display``.
    """

    def __init__(self, title: str = "", *, alone: bool | None = None) -> None:
        super().__init__(open_display("training", alone=alone))
        self.title = title
        self.head = self.figures = self.reached = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.display.close()
        self._write_reached()

    def on_run(self, name: str, seed: int | None, number: int, of: int) -> None:
        """Write how the previous training ended, and name the one that begins."""
        self._write_reached()
        self.head, self.figures = f"{self.title}{_run_name(name, seed, number, of)}", ""

    def on_result(self, name: str, seed: int | None, number: int, of: int, run: Run) -> None:
        """Write a line for a training that was made elsewhere, and is finished."""
        reached = _reached(run.scores[-1], len(run.scores))
        self.display.write(f"{self.title}{_run_name(name, seed, number, of)}: {reached}")

    def on_note(self, text: str) -> None:
        """Do nothing: there is one line per training."""

    def on_end(self, best: PassReport | None) -> None:
        """Do nothing: the next training may begin."""

    def write_pass(self, history: Sequence[PassReport]) -> None:
        """Note the score, for the line of this training."""
        self.reached = _reached(history[-1].score, len(history))
        self.figures = history[-1].figures(HELD_OUT)

    def bar_text(self) -> str:
        """The text of the bar: the training, its pass, and the figures of the last one."""
        return f"{self.head}  {super().bar_text()}  {self.figures}".strip()

    def _write_reached(self) -> None:
        if self.reached:
            self.display.write(f"{self.head}: {self.reached}")
        self.reached = ""


def _run_name(name: str, seed: int | None, number: int, of: int) -> str:
    seed_text = "" if seed is None else f", seed {seed}"
    return f"{number}/{of}  {name}{seed_text}"


def _reached(score: float, passes: int) -> str:
    return f"{HELD_OUT} score {score:.2f} after {counted(passes, 'pass', 'passes')}"


@dataclass(frozen=True)
class Progress:
    """The progress of a search.

    Attributes:
        rung: The number of the round, from 1.
        rungs: The number of rounds.
        trials: The number of trials in this round.
        passes: The number of passes that each of them makes, from the first pass on.
        done: The number of jobs finished in this round.
        jobs: The number of jobs in this round: trials × folds.
        best: The best trial so far among those that all folds have scored.
    """

    rung: int
    rungs: int
    trials: int
    passes: int
    done: int
    jobs: int
    best: Trial | None


class TuningCallback:
    """Called during a search; override what is needed."""

    def on_progress(self, progress: Progress) -> None:
        """Called when a round begins, and when a job has finished."""


class TuningProgress(TuningCallback):
    """A line per round of a search, and a bar for the one that is being made."""

    def __init__(self) -> None:
        self.display = open_display("tuning")
        self.rung = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.display.close()

    def on_progress(self, progress: Progress) -> None:
        """Write the line of a round that begins, and move the bar."""
        best = "" if progress.best is None else f"  best so far {progress.best.mean:.2f}"
        head = f"round {progress.rung}/{progress.rungs}"
        if progress.rung != self.rung:
            self.rung = progress.rung
            finished = f", {progress.done} finished before" if progress.done else ""
            self.display.write(
                f"{head}: {counted(progress.trials, 'trial')}, "
                f"{counted(progress.passes, 'pass', 'passes')}, "
                f"{counted(progress.jobs, 'job')}{finished}{best}"
            )
        self.display.update(
            progress.done / max(1, progress.jobs),
            f"{head}, job {progress.done}/{progress.jobs}{best}",
        )
