"""An evaluation as a table for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from adaptag.errors import counted

if TYPE_CHECKING:
    from adaptag.evaluation.scores import Evaluation, Score

__all__ = ["table"]

_MOST_LABELS = 30


def table(evaluation: Evaluation) -> Table:
    """Return a table with one row per type, the most frequent first, then the overall score.

    Of labels that are not chunk labels only the 30 most frequent are shown.
    """
    chunked = evaluation.chunks is not None
    rows = sorted(evaluation.by_type.items(), key=lambda item: (-item[1].gold, item[0]))
    shown = rows if chunked else rows[:_MOST_LABELS]
    caption = (
        f"token accuracy {evaluation.accuracy:.2f}% "
        f"({evaluation.correct_tokens:,} of {evaluation.tokens:,})"
        if evaluation.tokens
        else "spans with the same start, end and label are right"
    )
    if left_out := len(rows) - len(shown):
        caption += f"\n{counted(left_out, 'less frequent label')} left out"

    result = Table(box=box.HORIZONTALS, caption=caption, caption_justify="left")
    result.add_column("type" if chunked else "label", no_wrap=True)
    for heading in ("precision", "recall"):
        result.add_column(heading, justify="right")
    result.add_column("F1", justify="right", style="bold")
    for heading in ("gold", "predicted", "correct"):
        result.add_column(heading, justify="right", style="dim")
    for name, score in shown:
        result.add_row(Text(name), *_cells(score))
    result.add_section()
    result.add_row("overall", *_cells(evaluation.total), style="bold")
    return result


def _cells(score: Score) -> list[str]:
    rates = (score.precision, score.recall, score.f1)
    counts = (score.gold, score.predicted, score.correct)
    return [f"{rate:.2f}" for rate in rates] + [f"{count:,}" for count in counts]
