"""Rows of a matrix as sentences of one token: what classification trains on. Needs SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from adaptag.dataset.encoded import Examples
from adaptag.features.index import Encoded

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["matrix_examples", "merge_equal"]

_MIX = np.array([0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xBF58476D1CE4E5B9], np.uint64)


class MatrixFeatures:
    """The columns of a matrix, each a feature, and one that always fires: the intercept."""

    def __init__(self, n_columns: int, intercept: bool) -> None:
        self.n_columns = n_columns
        self.intercept = intercept

    @property
    def n_of_kind(self) -> tuple[int, int, int]:
        """All have node weights only."""
        return self.n_predicates, 0, 0

    @property
    def n_predicates(self) -> int:
        """The columns, then the intercept."""
        return self.n_columns + self.intercept


def matrix_examples(
    matrix: Any,
    codes: NDArray[np.intp],
    weights: NDArray[np.float64],
    n_classes: int,
    *,
    intercept: bool,
) -> Examples:
    """Make examples of the rows of a matrix; a CSR matrix of float32 values is not copied.

    Args:
        matrix: ``[N, F]``, an array or a sparse matrix.
        codes: The class of every sample, ``[N]``.
        weights: The weights of the samples, ``[N]``.
        n_classes: The number of classes.
        intercept: Whether there is a feature that always fires.
    """
    rows = _csr(matrix)
    n, width = rows.shape
    values = np.ascontiguousarray(rows.data, np.float32)
    encoded = Encoded(
        np.arange(n + 1, dtype=np.int64),
        np.ascontiguousarray(rows.indptr, np.int64),
        _unsigned(rows.indices),
        None if bool((values == 1).all()) else values,
    )
    return Examples(
        MatrixFeatures(width, intercept),
        encoded,
        codes.astype(np.int32),
        tuple(str(k) for k in range(n_classes)),
        weights=None if bool((weights == 1).all()) else weights.astype(np.float32),
        always=width if intercept else None,
    )


def merge_equal(
    matrix: Any, codes: NDArray[np.intp], weights: NDArray[np.float64]
) -> tuple[sparse.csr_matrix, NDArray[np.intp], NDArray[np.float64]]:
    """Merge equal samples of a class and add up their weights; the order changes.

    The objective stays the same, each evaluation costs less, and a sample of weight 2 is the same
    as two of weight 1, to the last bit. Samples are compared by hashes of 64 bits.
    """
    rows = _csr(matrix)
    if not rows.has_sorted_indices:
        rows = rows.sorted_indices()
    entries = rows.indices.astype(np.uint64) * _MIX[0] + rows.data.astype(np.float64).view(
        np.uint64
    )
    entries = (entries ^ (entries >> np.uint64(32))) * _MIX[1]
    entries = (entries ^ (entries >> np.uint64(29))) * _MIX[2]
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entries, dtype=np.uint64)])
    hashes = sums[rows.indptr[1:]] - sums[rows.indptr[:-1]] + codes.astype(np.uint64) * _MIX[0]
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    summed: NDArray[np.float64] = np.bincount(group, weights, len(first)).astype(np.float64)
    return rows[first], codes[first], summed


def _unsigned(indices: NDArray[Any]) -> NDArray[np.uint32]:
    """Column numbers as the core requires them; those of 32 bits are not copied."""
    contiguous = np.ascontiguousarray(indices)
    return (
        contiguous.view(np.uint32) if contiguous.dtype == np.int32 else contiguous.astype(np.uint32)
    )


def _csr(matrix: Any) -> sparse.csr_matrix:
    return matrix if sparse.issparse(matrix) else sparse.csr_matrix(matrix)
