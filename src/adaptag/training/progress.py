"""The progress of a training as a person sees it: a line per pass that stays, and a bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptag.rendering.progress import open_display
from adaptag.training.callbacks import Callback

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adaptag.rendering.progress import Display
    from adaptag.training.callbacks import PassReport

__all__ = ["TrainingProgress"]


class TrainingProgress(Callback):
    """Shows a line per pass, and on a terminal and in a notebook a bar below the lines.

    Args:
        display: Where to show it; None means where Python runs.
    """

    def __init__(self, display: Display | None = None) -> None:
        self.display = open_display("training") if display is None else display
        self.passes = self.sentences = self.done = self.finished = 0

    def on_note(self, text: str) -> None:
        """Write the note."""
        self.display.write(text)

    def on_start(self, passes: int, sentences: int) -> None:
        """Draw the bar."""
        self.passes, self.sentences = passes, sentences
        self.done = self.finished = 0
        self.show_bar()

    def on_progress(self, sentences: int) -> None:
        """Move the bar."""
        self.done += sentences
        self.show_bar()

    def on_pass(self, history: Sequence[PassReport]) -> bool:
        """Write the figures of the pass."""
        self.finished += 1
        self.write_pass(history)
        self.show_bar()
        return False

    def on_end(self, best: PassReport | None) -> None:
        """Remove the bar, and write which pass was best on development data."""
        self.display.close()
        if best is not None and best.dev_score is not None:
            self.display.write(f"best {best.metric} {best.dev_score:.2f}, in pass {best.number}")

    def write_pass(self, history: Sequence[PassReport]) -> None:
        """Write the line of the last pass."""
        self.display.write(str(history[-1]))

    def show_bar(self) -> None:
        """Draw the bar as far as training is."""
        share = self.done / max(1, self.passes * self.sentences)
        self.display.update(min(1.0, share), self.bar_text())

    def bar_text(self) -> str:
        """The text of the bar: the pass that is being made."""
        return f"pass {min(self.finished + 1, self.passes)}/{self.passes}"
