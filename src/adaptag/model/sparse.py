"""Models with many zeros, as L1 regularisation makes them: in the file zeros take no space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.features.index import NO_TOKEN, TENSORS, FeatureIndex
from adaptag.model.compact_index import CompactIndex
from adaptag.model.remapping import blocks_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from adaptag.model.linear_chain import LinearChain

__all__ = ["dense_weights", "is_sparse", "sparse_tensors", "without_zero_rows"]

SHARE = 4  # sparse where no more than one of so many weights is not 0
SMALLEST = 1 << 16  # weights from which on it is worth the while
POSITIONS, VALUES = "weights.positions", "weights.values"


def is_sparse(chain: LinearChain[Any]) -> bool:
    """Whether the weights are stored without their zeros."""
    n = len(chain.weights)
    if not SMALLEST <= n < 1 << 32:
        return False
    return int(np.count_nonzero(chain.weights)) * SHARE <= chain.n_weights


def sparse_tensors(weights: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    """The weights that are not 0, and where they are."""
    positions = np.flatnonzero(weights)
    return {POSITIONS: positions.astype(np.uint32), VALUES: weights[positions]}


def dense_weights(tensors: Mapping[str, NDArray[Any]], n: int) -> NDArray[np.float32]:
    """All ``n`` weights of a file; raise where it is damaged."""
    if POSITIONS not in tensors:
        weights: NDArray[np.float32] = tensors["weights"]
        return weights
    positions, values = tensors[POSITIONS], tensors[VALUES]
    if positions.dtype != np.uint32 or values.dtype != np.float32:
        raise ValueError("weights have the wrong type")
    if positions.shape != values.shape or positions.ndim != 1:
        raise ValueError("weights have the wrong shape")
    if len(positions) and int(positions.max()) >= n:
        raise ValueError("the position of a weight is out of range")
    dense = np.zeros(n, np.float32)
    dense[positions] = values
    return dense


def without_zero_rows(chain: LinearChain[Any]) -> tuple[Any, NDArray[np.float32]]:
    """The index without the features whose weights are all 0, and its weights.

    Scores are the same to the bit, and a feature that comes up again in more training data is
    added again. Features that follow from others, or from a hash, are kept.
    """
    index, layout = chain.index, chain.layout
    if not isinstance(index, FeatureIndex) or isinstance(index, CompactIndex) or index.is_hashed:
        return index, chain.weights
    used = [block.any(axis=(1, 2)) for block in blocks_of(chain.weights, layout)]
    if not any(rows.any() for rows in used):
        return index, chain.weights
    weights = [
        block[rows].ravel()
        for block, rows in zip(blocks_of(chain.weights, layout), used, strict=True)
    ]
    tables = _builder_of(index, np.concatenate(used), [int(rows.sum()) for rows in used]).snapshot()
    tensors = {name: tables[name] for name in TENSORS}
    smaller = FeatureIndex(index.template, tables["n_of_kind"], tensors, index.n_columns)
    return smaller, np.concatenate(weights)


def _builder_of(
    index: FeatureIndex, kept: NDArray[np.bool_], n_of_kind: list[int]
) -> core.IndexBuilder:
    """A builder that knows only some of the predicates, and only their tokens."""
    keys = index.tensors["keys"][kept]
    tokens = keys[:, 1:]
    known = tokens != NO_TOKEN
    used = np.unique(tokens[known])
    offsets = index.tensors["vocabulary_offsets"].astype(np.int64)
    numbers = np.full(len(offsets), NO_TOKEN, np.uint32)
    numbers[used] = np.arange(len(used))
    tokens[known] = numbers[tokens[known]]
    text = index.tensors["vocabulary_bytes"]
    parts = [text[offsets[number] : offsets[number + 1]] for number in used.tolist()]
    lengths = np.array([len(part) for part in parts], np.uint32)
    derived = index.tensors["derived"][:, used]
    mapped = np.where(derived != NO_TOKEN, numbers[np.minimum(derived, len(offsets) - 1)], NO_TOKEN)
    node, both, edge = n_of_kind
    return core.IndexBuilder(
        index.template.program(),
        np.concatenate([np.zeros(0, np.uint8), *parts]),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32),
        np.ascontiguousarray(mapped, np.uint32),
        np.ascontiguousarray(keys),
        (node, both, edge),
    )
