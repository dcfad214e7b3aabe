"""Scores of classification: accuracy, the scores of each class, and confusions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.errors import AdaptagError
from adaptag.evaluation.scores import Score
from adaptag.rendering.tables import Shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from rich.table import Table

__all__ = ["ClassificationScore", "class_table", "confusion_table", "evaluate_classes"]

MOST_CLASSES = 30  # in the table of classes
MOST_CONFUSED = 10  # in the table of confusions


@dataclass(frozen=True, eq=False, repr=False)
class ClassificationScore(Shown):
    """How well predicted classes match the gold ones.

    Printed, and in a notebook, it is a table of the classes and one of confusions.

    Attributes:
        labels: The classes that occur, gold or predicted, the most frequent gold ones first.
        confusion: The number of documents of each gold class (row) by predicted class (column),
            ``[Y, Y]``.
    """

    labels: tuple[str, ...]
    confusion: NDArray[np.int64]

    def __repr__(self) -> str:
        classes = f"{len(self.labels)} classes, {self.total.gold:,} documents"
        rates = f"accuracy {self.accuracy:.2f}, macro F1 {self.macro_f1:.2f}"
        return f"<ClassificationScore: {rates}; {classes}>"

    def _shown(self) -> list[Any]:
        return [class_table(self), confusion_table(self)]

    @property
    def total(self) -> Score:
        """The score of all documents: each is predicted, and each is gold."""
        n = int(self.confusion.sum())
        return Score(int(self.confusion.trace()), n, n)

    @property
    def accuracy(self) -> float:
        """The percentage of documents with the right class."""
        return self.total.recall

    @property
    def metric(self) -> str:
        """What ``score`` is."""
        return "accuracy"

    @property
    def score(self) -> float:
        """The one number to compare by."""
        return self.accuracy

    @property
    def by_class(self) -> dict[str, Score]:
        """The documents of each class: right, predicted, and in the gold data (the support)."""
        counts = (self.confusion.diagonal(), self.confusion.sum(axis=0), self.confusion.sum(axis=1))
        rows = np.stack(counts, axis=1).tolist()
        return {name: Score(*row) for name, row in zip(self.labels, rows, strict=True)}

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the classes."""
        scores = self.by_class.values()
        return sum(score.f1 for score in scores) / len(scores) if scores else 0.0

    def to_dict(self) -> dict[str, Any]:
        """All numbers, ready for JSON."""
        return {
            "accuracy": self.accuracy,
            "macro_f1": self.macro_f1,
            "documents": self.total.gold,
            "correct": self.total.correct,
            "by_class": {name: score.to_dict() for name, score in self.by_class.items()},
            "labels": list(self.labels),
            "confusion": self.confusion.tolist(),
        }


def evaluate_classes(
    gold: NDArray[np.integer[Any]], predicted: NDArray[np.integer[Any]], labels: Sequence[str]
) -> ClassificationScore:
    """Compare classes, given as indices into ``labels`` (all distinct).

    Examples:
        >>> import numpy as np
        >>> from adaptag.evaluation.classification import evaluate_classes
        >>> score = evaluate_classes(np.array([0, 1, 1]), np.array([0, 0, 1]), ["+", "-"])
        >>> score.labels, score.confusion.tolist()
        (('-', '+'), [[1, 1], [0, 1]])
    """
    if gold.shape != predicted.shape:
        raise AdaptagError(f"{gold.size} right classes but {predicted.size} predicted ones")
    used = np.union1d(gold, predicted)
    counts = np.bincount(gold, minlength=len(labels))[used]
    order = used[np.argsort(-counts, kind="stable")]
    place = np.zeros(len(labels), np.int64)
    place[order] = np.arange(len(order))
    n = len(order)
    cells = np.bincount(place[gold] * n + place[predicted], minlength=n * n)
    return ClassificationScore(tuple(labels[k] for k in order), cells.reshape(n, n))


def class_table(score: ClassificationScore) -> Table:
    """Return a table with one row per class, for up to 30 classes, the most frequent first."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    total = score.total
    caption = f"accuracy {score.accuracy:.2f}% ({total.correct:,} of {total.gold:,})"
    if (left_out := len(score.labels) - MOST_CLASSES) > 0:
        caption += f"\n{left_out} less frequent class{'es' * (left_out > 1)} left out"
    result = Table(box=box.HORIZONTALS, caption=caption, caption_justify="left")
    result.add_column("class", no_wrap=True)
    for heading in ("precision", "recall", "F1", "support"):
        result.add_column(heading, justify="right", style="bold" if heading == "F1" else "")
    scores = score.by_class
    for name in score.labels[:MOST_CLASSES]:
        class_score = scores[name]
        rates = (class_score.precision, class_score.recall, class_score.f1)
        result.add_row(Text(name), *(f"{rate:.2f}" for rate in rates), f"{class_score.gold:,}")
    result.add_section()
    n = max(1, len(scores))
    means = (sum(getattr(s, rate) for s in scores.values()) / n for rate in ("precision", "recall"))
    result.add_row("mean", *(f"{m:.2f}" for m in means), f"{score.macro_f1:.2f}", f"{total.gold:,}")
    return result


def confusion_table(score: ClassificationScore) -> Table:
    """Return a table of the predicted classes (columns) of the largest gold classes (rows)."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    n = min(MOST_CONFUSED, len(score.labels))
    caption = f"the {n} largest classes" if n < len(score.labels) else None
    result = Table(box=box.HORIZONTALS, caption=caption, caption_justify="left")
    result.add_column("right ↓ predicted →", no_wrap=True)
    for name in score.labels[:n]:
        result.add_column(Text(name), justify="right")
    for k, name in enumerate(score.labels[:n]):
        cells = [f"{count:,}" for count in score.confusion[k, :n].tolist()]
        cells[k] = f"[bold]{cells[k]}[/]"
        result.add_row(Text(name), *cells)
    return result
