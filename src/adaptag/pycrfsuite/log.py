"""The log of training, in the form of CRFsuite's."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.training.callbacks import Callback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from adaptag.dataset.encoded import Dataset
    from adaptag.decoding.model import Model
    from adaptag.pycrfsuite.parameters import Declaration
    from adaptag.training.callbacks import PassReport

__all__ = ["Holdout", "IterationLog", "end_lines", "head_lines", "parameter_lines"]

PROGRESS = [part for number in range(10) for part in (str(number), *"....")] + ["10"]


def head_lines(values: Mapping[str, Any], holdout: int) -> Iterator[str]:
    """The lines before the data is read."""
    if holdout >= 0:
        yield f"Holdout group: {holdout + 1}\n"
        yield "\n"
    yield "Feature generation\n"
    yield "type: CRF1d\n"
    for name, value in values.items():
        if name.startswith("feature."):
            yield f"{name}: {_shown(value)}\n"


def parameter_lines(
    algorithm: Declaration, values: Mapping[str, Any], n_features: int, seconds: float
) -> Iterator[str]:
    """The lines after the data was read, and before the first iteration."""
    yield from PROGRESS
    yield "\n"
    yield f"Number of features: {n_features}\n"
    yield f"Seconds required: {seconds:.3f}\n"
    yield "\n"
    yield f"{algorithm.title}\n"
    for name, value in values.items():
        if not name.startswith("feature."):
            yield f"{name}: {_shown(value)}\n"
    yield "\n"


def end_lines(n_weights: int, n_attributes: int, n_labels: int, seconds: float) -> Iterator[str]:
    """The lines after the model was written."""
    yield f"Number of active features: {n_weights}\n"
    yield f"Number of active attributes: {n_attributes}\n"
    yield f"Number of active labels: {n_labels}\n"
    yield f"Seconds required: {seconds:.3f}\n"
    yield "\n"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.6f}" if isinstance(value, float) else str(value)


class Holdout:
    """Tags held-out data after each iteration, and counts.

    Attributes:
        metric: What the score is.
        data: The held-out data.
    """

    metric = "accuracy"

    def __init__(self, data: Dataset) -> None:
        self.data = data
        self.predicted = np.zeros(0, np.int32)

    def __call__(self, model: Model) -> float:
        """The share of labels that are right, in percent."""
        self.predicted = model.tag_encoded(self.data.encoded)
        return 100.0 * float(np.mean(self.predicted == self.data.labels))

    def lines(self) -> Iterator[str]:
        """The scores as lines of the log."""
        gold, predicted, names = self.data.labels, self.predicted, self.data.label_names
        right = gold == predicted
        n = len(names)
        counts = [np.bincount(ids, minlength=n) for ids in (gold[right], predicted, gold)]
        match, model, reference = counts
        yield "Performance by label (#match, #model, #ref) (precision, recall, F1):\n"
        for label, name in enumerate(names):
            m, k, r = int(match[label]), int(model[label]), int(reference[label])
            shown = ", ".join(f"{x:.4f}" for x in _scores(m, k, r)) if k or r else "******, " * 3
            yield f"    {name}: ({m}, {k}, {r}) ({shown.removesuffix(', ')})\n"
        table = [_scores(*map(int, row)) for row in zip(*counts, strict=True)]
        mean = np.mean(table, axis=0)
        average = ", ".join(f"{x:.6f}" for x in mean)
        yield f"Macro-average precision, recall, F1: ({average})\n"
        starts = self.data.encoded.sentences
        whole = [bool(right[a:b].all()) for a, b in itertools.pairwise(starts)]
        for what, found, of in (
            ("Item", int(right.sum()), len(right)),
            ("Instance", sum(whole), len(whole)),
        ):
            yield f"{what} accuracy: {found} / {of} ({found / max(1, of):.4f})\n"


def _scores(match: int, model: int, reference: int) -> tuple[float, float, float]:
    """Precision, recall and F1; 0 where they are not defined."""
    precision, recall = match / max(1, model), match / max(1, reference)
    f1 = 2 * precision * recall / (precision + recall) if match else 0.0
    return precision, recall, f1


class IterationLog(Callback):
    """Writes the lines of each iteration."""

    def __init__(self, message: Callable[[str], None], n: int, holdout: Holdout | None) -> None:
        self.message, self.n, self.holdout = message, n, holdout

    def on_pass(self, history: Sequence[PassReport]) -> bool:
        """Write the figures of the last pass."""
        report = history[-1]
        self.message(f"***** Iteration #{report.number} *****\n")
        self.message(f"Loss: {report.loss * self.n:.6f}\n")
        self.message(f"Seconds required for this iteration: {report.seconds:.3f}\n")
        for line in () if self.holdout is None else self.holdout.lines():
            self.message(line)
        self.message("\n")
        return False
