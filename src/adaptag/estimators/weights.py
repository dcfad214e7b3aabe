"""Weights of sequences: those given, and those of their labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.corpus.labels import NO_LABEL
from adaptag.corpus.lists import as_list
from adaptag.errors import CorpusError, ParameterError, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "BALANCED",
    "SEQUENCES",
    "checked_weights",
    "weighted_sequences",
    "with_class_weights",
]

BALANCED = "balanced"
LARGEST = 1e9  # weight of a sequence: one that counts for more makes any training diverge
SEQUENCES = "a list of sequences"


def checked_weights(sample_weight: ArrayLike, n: int) -> NDArray[np.float64]:
    """Weights of ``n`` sequences, ``[N]``: none below 0, and not all 0."""
    weights = np.asarray(sample_weight, np.float64)
    if weights.shape != (n,):
        raise ParameterError(f"sample_weight has the shape {weights.shape}; allowed: ({n},)")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ParameterError("a sample_weight is negative or not finite; allowed: 0 or more")
    if n and not weights.any():
        raise ParameterError("every sample_weight is zero; at least one must be above 0")
    return weights


def weighted_sequences(
    X: Any, y: Any, sample_weight: ArrayLike | None
) -> tuple[Sequence[Any], Sequence[Any], NDArray[np.float64] | None]:
    """Sequences to learn from, with their labels and weights; those of weight 0 are ignored."""
    if y is None:
        raise ParameterError("training requires y to be passed, but the target y is None")
    y, X = as_list(y, "y", SEQUENCES), as_list(X, "X", SEQUENCES)
    if len(X) == 0:
        raise CorpusError("X holds 0 sequences; allowed: 1 or more")
    if len(X) != len(y):
        raise CorpusError(f"X holds {len(X)} sequences, y the labels of {len(y)}")
    if sample_weight is None:
        return X, y, None
    weights = checked_weights(sample_weight, len(X))
    selected = np.flatnonzero(weights).tolist()
    return [X[i] for i in selected], [y[i] for i in selected], weights[selected]


def with_class_weights(
    weights: NDArray[np.float64] | None,
    class_weight: Mapping[str, float] | str | None,
    codes: NDArray[np.int32],
    offsets: NDArray[np.int64],
    names: Sequence[str],
) -> NDArray[np.float32] | None:
    """Multiply the weight of each sequence by the mean weight of its known labels.

    Args:
        weights: The weights of the sequences, ``[N]``. None means that all are 1.
        class_weight: The weights of the labels, or ``balanced``.
        codes: The label of every token, ``[T]``; −1 where it is not known.
        offsets: The first token of every sequence, then T, ``[N + 1]``.
        names: The names of the labels.

    Returns:
        The weights ``[N]``; None means that all are 1.
    """
    if class_weight is not None:
        n = len(offsets) - 1
        known = codes != NO_LABEL
        sequence = np.repeat(np.arange(n), np.diff(offsets))[known]
        of_class = _class_weights(class_weight, codes[known], names)
        sums = np.bincount(sequence, of_class[codes[known]], n)
        counts = np.bincount(sequence, minlength=n)
        means = np.where(counts > 0, sums / np.maximum(counts, 1), 1.0)
        weights = means if weights is None else weights * means
    if weights is not None and float(weights.max(initial=0)) > LARGEST:
        raise ParameterError(
            f"the weight of a sequence, sample_weight times class_weight, is {weights.max():g}; "
            f"allowed: up to {LARGEST:g}"
        )
    return None if weights is None else weights.astype(np.float32)


def _class_weights(
    class_weight: Any, codes: NDArray[np.int32], names: Sequence[str]
) -> NDArray[np.float64]:
    if isinstance(class_weight, str):
        if class_weight != BALANCED:
            raise ParameterError(unknown("class_weight", class_weight, [BALANCED]))
        counts = np.bincount(codes, minlength=len(names))
        return len(codes) / (len(names) * np.maximum(counts, 1))
    if not isinstance(class_weight, Mapping):
        raise ParameterError(
            f"class_weight is {class_weight!r}; allowed: a dictionary, or {BALANCED!r}"
        )
    weights = np.array([class_weight.get(name, 1.0) for name in names], np.float64)
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ParameterError("a class_weight is negative or not finite; allowed: 0 or more")
    return weights
