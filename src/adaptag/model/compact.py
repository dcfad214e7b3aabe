"""Compact models: the weights that matter, in few bytes."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.errors import ModelError, ParameterError, unknown
from adaptag.features.index import FeatureIndex
from adaptag.model.compact_index import VALUE_SIZES, CompactIndex, pack_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from adaptag.model.linear_chain import LinearChain

__all__ = ["PRUNE", "check_prune", "choose_threshold", "compact_index", "kept_weights", "threshold"]

PRUNE = 0.05  # the threshold unless another one is given
BLOCK = 1 << 22  # weights that are looked at together
EXACT_UNITS = 1 << 24  # whole numbers up to here are exact as float32
MOST_EXPONENT = 20
THRESHOLDS = [0.01 * 2 ** (k / 4) for k in range(33)]  # tried by ``choose_threshold``: to 2.56


def threshold(prune: float, ranks: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """The size from which on weights are kept, by the rank of a feature among ``n``.

    Features are numbered by decreasing frequency, so the rank of a feature tells how often it
    fires, and so how many errors the loss of its weight can make: ``prune · (rank / n) ** 0.25``.
    """
    return prune * (ranks / n) ** 0.25


def check_prune(prune: Any) -> None:
    """Raise unless a threshold of weights can be one."""
    if not isinstance(prune, Real) or not 0 <= float(prune) < math.inf:
        raise ParameterError(f"prune is {prune!r}; allowed: numbers from 0")


def kept_weights(
    chain: LinearChain[Any], prune: float
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    """The weights that are not pruned: predicates, previous labels, labels, values.

    A node weight has the previous label −1, and comes before the edge weights of its predicate.
    """
    parts = list(_kept_blocks(chain, prune))
    predicates, previous, labels, values = (
        np.concatenate(each) for each in zip(*parts, strict=True)
    )
    return predicates, previous, labels, values


def _kept_blocks(chain: LinearChain[Any], prune: float) -> Iterator[tuple[NDArray[Any], ...]]:
    layout, y = chain.layout, len(chain.states)
    total = layout.n_predicates
    begin = first = 0
    yield tuple(np.zeros(0, dtype) for dtype in (np.int64, np.int32, np.int32, np.float32))
    for n, rows, shift in (
        (layout.n_node, 1, 1),
        (layout.n_both, 1 + y, 1),
        (layout.n_edge, y, 0),
    ):
        size = rows * layout.width
        step = max(1, BLOCK // size)
        for a in range(0, n, step):
            b = min(n, a + step)
            block = chain.weights[begin + a * size : begin + b * size]
            block = block.reshape(b - a, rows, layout.width)[:, :, :y]
            limits = threshold(prune, np.arange(a + 1, b + 1, dtype=np.float64), total)
            large = np.abs(block) >= limits[:, None, None].astype(np.float32)
            p, r, j = np.nonzero(large & (block != 0))
            yield (
                p + (first + a),
                (r - shift).astype(np.int32),
                j.astype(np.int32),
                block[p, r, j],
            )
        begin, first = begin + n * size, first + n


def compact_index(
    chain: LinearChain[Any], *, prune: float = PRUNE, weights: str = "int8", names: bool = True
) -> CompactIndex:
    """Prune and quantise the weights of a linear chain with a feature index.

    Args:
        chain: The model.
        prune: The size from which on the weights of the rarest features are kept; see
            ``threshold``. 0 keeps all that are not 0.
        weights: How weights are stored: ``int8``, ``float16`` or ``float32``.
        names: Whether the names of features are kept.
    """
    index = chain.index
    if weights not in VALUE_SIZES:
        raise ParameterError(unknown("weights", weights, VALUE_SIZES))
    check_prune(prune)
    if isinstance(index, CompactIndex):
        raise ParameterError("the model is compact already; make another one from the full model")
    if not isinstance(index, FeatureIndex) or index.is_hashed:
        raise ParameterError("a model with hashed features cannot be made compact")
    if not np.isfinite(chain.weights).all():
        raise ModelError("a weight of the model is not finite; it cannot be made compact")
    try:
        return _compact_index(chain, index, prune, weights, names=names)
    except ValueError as error:
        raise ModelError(f"the model is damaged: {error}") from None


def _compact_index(
    chain: LinearChain[Any], index: FeatureIndex, prune: float, weights: str, *, names: bool
) -> CompactIndex:
    """Build the tables; a ValueError says that those of the full model are damaged."""
    predicates, previous, labels, values = kept_weights(chain, prune)
    kept, counts = np.unique(predicates, return_counts=True)
    fingerprints = core.compact_fingerprints(
        index.tensors["vocabulary_bytes"],
        index.tensors["vocabulary_offsets"],
        np.ascontiguousarray(index.tensors["keys"][kept]),
    )
    exponent = _exponent(values, len(index.template.lines))
    buckets, rows = core.build_compact(
        fingerprints,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        previous,
        labels,
        values,
        len(chain.states),
        VALUE_SIZES[weights],
        exponent,
    )
    tensors: dict[str, NDArray[Any]] = {"buckets": buckets, "rows": rows}
    if names:
        tensors["names"] = pack_names(index, kept)
    return CompactIndex.of_tables(
        index, tensors, n_labels=len(chain.states), weights=weights, exponent=exponent
    )


def _exponent(values: NDArray[np.float32], n_lines: int) -> int:
    """The largest k for which a sum over all lines, in units of 2 ** −k, is exact as float32."""
    most = float(np.abs(values).max(initial=0.0)) * max(1, n_lines)
    if most == 0:
        return MOST_EXPONENT
    return max(0, min(MOST_EXPONENT, math.floor(math.log2(EXACT_UNITS / most))))


def choose_threshold(
    score: Callable[[float | None], float] | None, within: float | None, prune: float | None
) -> float:
    """The threshold that was given, or the highest one that costs no more than ``within``.

    Args:
        score: Scores the model of a threshold, or the full one for None; None where there is
            nothing to score on.
        within: How much of the score may be lost.
        prune: The threshold, if it is given.

    The thresholds that are tried rise by a factor of 2 ** (1/4). They are bisected: scores fall
    with the threshold, but for small ups and downs.
    """
    if within is None:
        return PRUNE if prune is None else prune
    if prune is not None:
        raise ParameterError("within and prune cannot be combined")
    if score is None:
        raise ParameterError("within needs development data to score on: give dev")
    if not 0 <= within < math.inf:
        raise ParameterError(f"within is {within}; allowed: from 0")
    least = score(None) - within
    low, high = 0, len(THRESHOLDS)  # thresholds before low are good enough, those from high on not
    while low < high:
        middle = (low + high) // 2
        if score(THRESHOLDS[middle]) >= least:
            low = middle + 1
        else:
            high = middle
    if low:
        return THRESHOLDS[low - 1]
    if score(0.0) < least:
        raise ParameterError(
            f"no model of this form scores within {within} of the full one; allowed: a larger "
            "within, or weights of more bits"
        )
    return 0.0
