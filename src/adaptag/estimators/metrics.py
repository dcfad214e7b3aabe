"""Scores of label sequences, under the names that users of sklearn-crfsuite know.

``y_true`` and ``y_pred`` hold a list of labels for each sequence. Positions whose true label is
None do not count. All but the report can be handed to ``sklearn.metrics.make_scorer``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

try:
    import sklearn  # noqa: F401
except ImportError:
    raise ImportError("metrics need scikit-learn: pip install 'adaptag[sklearn]'") from None

from sklearn import metrics

from adaptag.corpus.lists import label_lists
from adaptag.errors import AdaptagError
from adaptag.estimators.weights import checked_weights
from adaptag.evaluation import evaluate_sequences

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Labels = Iterable[Iterable[str | None]]
    Pairs = list[tuple[list[str | None], list[str | None]]]

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
    pairs = _label_pairs(y_true, y_pred)
    if not pairs:
        return 0.0
    weights = np.ones(len(pairs))
    if sample_weight is not None:
        weights = checked_weights(sample_weight, len(pairs))
    known = np.array([any(label is not None for label in truth) for truth, _ in pairs], bool)
    right = [
        len(truth) == len(guess)
        and all(a is None or a == b for a, b in zip(truth, guess, strict=True))
        for truth, guess in pairs
    ]
    return _mean(np.array(right, bool), weights * known)


def chunk_f1_score(y_true: Labels, y_pred: Labels) -> float:
    """Return the F1 of chunks as conlleval counts it, from 0 to 1.

    Chunks are known only where all labels are, so sequences with None are ignored.
    """
    pairs = [pair for pair in _aligned_pairs(y_true, y_pred) if None not in pair[0]]
    gold: Any = [truth for truth, _ in pairs]
    predicted: Any = [guess for _, guess in pairs]
    evaluation = evaluate_sequences(gold, predicted)
    if evaluation.chunks is None and set(evaluation.by_type) - {"O"}:
        raise AdaptagError("the labels do not mark chunks (B-X, I-X, …); see flat_f1_score")
    return 0.0 if evaluation.chunks is None else evaluation.chunks.f1 / 100


def _label_pairs(y_true: Labels, y_pred: Labels) -> Pairs:
    """The true and the predicted labels of each sequence."""
    truths = label_lists(y_true, "y_true", "sequence")
    guesses = label_lists(y_pred, "y_pred", "sequence")
    if len(truths) != len(guesses):
        raise AdaptagError(f"y_true holds {len(truths)} sequences, y_pred {len(guesses)}")
    return list(zip(truths, guesses, strict=True))


def _aligned_pairs(y_true: Labels, y_pred: Labels) -> Pairs:
    """The same; raise where a sequence has not as many of both."""
    pairs = _label_pairs(y_true, y_pred)
    for number, (truth, guess) in enumerate(pairs, 1):
        if len(truth) != len(guess):
            raise AdaptagError(
                f"sequence {number}: y_true holds {len(truth)} labels, y_pred {len(guess)}"
            )
    return pairs


def _flat(
    metric: Any,
    y_true: Labels,
    y_pred: Labels,
    sample_weight: ArrayLike | None = None,
    **kwargs: Any,
) -> Any:
    """Call a metric on the labels of all positions that are known."""
    sequences = _aligned_pairs(y_true, y_pred)
    pairs = [
        pair
        for truth, guess in sequences
        for pair in zip(truth, guess, strict=True)
        if pair[0] is not None
    ]
    if not pairs:
        raise AdaptagError("y_true holds no label that is known")
    if sample_weight is not None:
        counts = [sum(label is not None for label in truth) for truth, _ in sequences]
        kwargs["sample_weight"] = np.repeat(checked_weights(sample_weight, len(counts)), counts)
    truths, guesses = zip(*pairs, strict=True)
    return metric(list(truths), list(guesses), **kwargs)


def _mean(right: NDArray[np.bool_], weights: NDArray[np.float64]) -> float:
    if not weights.any():
        raise AdaptagError("y_true holds no label that is known")
    return float(np.average(right, weights=weights))
