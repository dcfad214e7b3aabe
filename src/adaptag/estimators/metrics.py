"""Scores of label sequences, under the names that users of sklearn-crfsuite know.

``y_true`` and ``y_pred`` are lists of label lists. Positions whose true label is None do not count.
All but the report can be handed to ``sklearn.metrics.make_scorer``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

try:
    import sklearn  # noqa: F401
except ImportError:
    raise ImportError("metrics need scikit-learn: pip install 'adaptag[sklearn]'") from None

from sklearn import metrics

from adaptag.errors import AdaptagError
from adaptag.estimators.weights import checked_weights
from adaptag.evaluation import evaluate_sequences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Labels = Sequence[Sequence[str | None]]

__all__ = [
    "chunk_f1_score",
    "flat_accuracy_score",
    "flat_classification_report",
    "flat_f1_score",
    "flat_fbeta_score",
    "flat_precision_score",
    "flat_recall_score",
    "sequence_accuracy_score",
]


def flat_accuracy_score(y_true: Labels, y_pred: Labels, **kwargs: Any) -> float:
    """Return the share of labels that are right; see ``sklearn.metrics.accuracy_score``.

    Here and below, ``sample_weight`` has a weight for each sequence.
    """
    return float(_flat(metrics.accuracy_score, y_true, y_pred, **kwargs))


def flat_precision_score(y_true: Labels, y_pred: Labels, **kwargs: Any) -> Any:
    """Return the precision of labels; see ``sklearn.metrics.precision_score``."""
    return _flat(metrics.precision_score, y_true, y_pred, **kwargs)


def flat_recall_score(y_true: Labels, y_pred: Labels, **kwargs: Any) -> Any:
    """Return the recall of labels; see ``sklearn.metrics.recall_score``."""
    return _flat(metrics.recall_score, y_true, y_pred, **kwargs)


def flat_f1_score(y_true: Labels, y_pred: Labels, **kwargs: Any) -> Any:
    """Return the F1 of labels; see ``sklearn.metrics.f1_score``."""
    return _flat(metrics.f1_score, y_true, y_pred, **kwargs)


def flat_fbeta_score(y_true: Labels, y_pred: Labels, beta: float, **kwargs: Any) -> Any:
    """Return the F-beta of labels; see ``sklearn.metrics.fbeta_score``."""
    return _flat(metrics.fbeta_score, y_true, y_pred, beta=beta, **kwargs)


def flat_classification_report(
    y_true: Labels, y_pred: Labels, labels: Sequence[str] | None = None, **kwargs: Any
) -> Any:
    """Make a table of all labels; see ``sklearn.metrics.classification_report``."""
    return _flat(metrics.classification_report, y_true, y_pred, labels=labels, **kwargs)


def sequence_accuracy_score(
    y_true: Labels, y_pred: Labels, sample_weight: ArrayLike | None = None
) -> float:
    """Return the share of sequences, of those with known labels, whose labels are all right.

    A sequence with another number of labels is wrong. The score is 0 where there are no sequences.
    """
    _check_number(y_true, y_pred)
    if not len(y_true):
        return 0.0
    weights = np.ones(len(y_true))
    if sample_weight is not None:
        weights = checked_weights(sample_weight, len(y_true))
    known = np.array([any(label is not None for label in truth) for truth in y_true], bool)
    right = [
        len(truth) == len(guess)
        and all(a is None or a == b for a, b in zip(truth, guess, strict=True))
        for truth, guess in zip(y_true, y_pred, strict=True)
    ]
    return _mean(np.array(right, bool), weights * known)


def chunk_f1_score(y_true: Labels, y_pred: Labels) -> float:
    """Return the F1 of chunks as conlleval counts it, from 0 to 1.

    Chunks are known only where all labels are, so sequences with None are ignored.
    """
    _check(y_true, y_pred)
    pairs = [pair for pair in zip(y_true, y_pred, strict=True) if None not in pair[0]]
    gold: Any = [truth for truth, _ in pairs]
    predicted: Any = [guess for _, guess in pairs]
    evaluation = evaluate_sequences(gold, predicted)
    if evaluation.chunks is None and set(evaluation.by_type) - {"O"}:
        raise AdaptagError("the labels do not mark chunks (B-X, I-X, …); see flat_f1_score")
    return 0.0 if evaluation.chunks is None else evaluation.chunks.f1 / 100


def _check_number(y_true: Labels, y_pred: Labels) -> None:
    if len(y_true) != len(y_pred):
        raise AdaptagError(f"y_true holds {len(y_true)} sequences, y_pred {len(y_pred)}")


def _check(y_true: Labels, y_pred: Labels) -> None:
    _check_number(y_true, y_pred)
    for number, (truth, guess) in enumerate(zip(y_true, y_pred, strict=True), 1):
        if len(truth) != len(guess):
            raise AdaptagError(
                f"sequence {number}: y_true holds {len(truth)} labels, y_pred {len(guess)}"
            )


def _flat(
    metric: Any,
    y_true: Labels,
    y_pred: Labels,
    sample_weight: ArrayLike | None = None,
    **kwargs: Any,
) -> Any:
    """Call a metric on the labels of all positions that are known."""
    _check(y_true, y_pred)
    pairs = [
        pair
        for truth, guess in zip(y_true, y_pred, strict=True)
        for pair in zip(truth, guess, strict=True)
        if pair[0] is not None
    ]
    if not pairs:
        raise AdaptagError("y_true holds no label that is known")
    if sample_weight is not None:
        counts = [sum(label is not None for label in truth) for truth in y_true]
        kwargs["sample_weight"] = np.repeat(checked_weights(sample_weight, len(y_true)), counts)
    truths, guesses = zip(*pairs, strict=True)
    return metric(list(truths), list(guesses), **kwargs)


def _mean(right: NDArray[np.bool_], weights: NDArray[np.float64]) -> float:
    if not weights.any():
        raise AdaptagError("y_true holds no label that is known")
    return float(np.average(right, weights=weights))
