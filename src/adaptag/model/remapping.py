"""The weights and the training state of a model, remapped to the layout of a larger one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from adaptag.errors import ParameterError
from adaptag.training.arrays import aligned_zeros

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from adaptag._native import core

__all__ = ["blocks_of", "remap_state", "remap_weights"]

Scalar = TypeVar("Scalar", bound=np.generic)


def remap_weights(
    array: NDArray[Scalar], old_layout: core.Layout, new_layout: core.Layout
) -> NDArray[Scalar]:
    """Move weights to another layout, mostly a larger one.

    Args:
        array: ``[n_weights]`` of the old layout.
        old_layout: The current layout.
        new_layout: The layout to convert to. Labels, and the predicates of each kind, have the same
            order in both layouts; those that only one of them has come last.

    Returns:
        A new array ``[n_weights]`` of the new layout, zeros where a label or predicate is new.
    """
    if array.shape != (old_layout.n_weights,):
        raise ParameterError(
            f"weights of shape {array.shape}; the old layout needs ({old_layout.n_weights},)"
        )
    remapped: NDArray[Scalar] = aligned_zeros(new_layout.n_weights, array.dtype)
    same_labels = old_layout.n_labels == new_layout.n_labels
    used = old_layout.width if same_labels else min(old_layout.n_labels, new_layout.n_labels)
    for old, new in zip(blocks_of(array, old_layout), blocks_of(remapped, new_layout), strict=True):
        n, rows = (min(a, b) for a, b in zip(old.shape[:2], new.shape[:2], strict=True))
        new[:n, :rows, :used] = old[:n, :rows, :used]  # without the padding
    return remapped


def remap_state(
    arrays: Mapping[str, NDArray[Any]], old_layout: core.Layout, new_layout: core.Layout
) -> dict[str, NDArray[Any]]:
    """Move the state of training to another layout, by name, as ``Trainer.arrays`` gives it."""
    remapped = {}
    for name, array in arrays.items():
        if name == "run_state":
            remapped[name] = array.copy()
        elif name == "row_state":
            remapped[name] = _remap_rows(array, old_layout, new_layout)
        else:
            remapped[name] = remap_weights(array, old_layout, new_layout)
    return remapped


def _remap_rows(
    array: NDArray[np.uint8], old_layout: core.Layout, new_layout: core.Layout
) -> NDArray[np.uint8]:
    """Move the state of each predicate, which has the same number of bytes everywhere."""
    if not len(array):
        return np.zeros(0, np.uint8)
    size, remainder = divmod(len(array), old_layout.n_predicates)
    if remainder:
        raise ParameterError("the state does not fit the number of features")
    remapped = np.zeros(new_layout.n_predicates * size, np.uint8)
    old_begin = new_begin = 0
    for n_old, n_new in zip(_kinds(old_layout), _kinds(new_layout), strict=True):
        n = min(n_old, n_new) * size
        remapped[new_begin : new_begin + n] = array[old_begin : old_begin + n]
        old_begin, new_begin = old_begin + n_old * size, new_begin + n_new * size
    return remapped


def _kinds(layout: core.Layout) -> tuple[int, int, int]:
    return layout.n_node, layout.n_both, layout.n_edge


def blocks_of(array: NDArray[Scalar], layout: core.Layout) -> Iterator[NDArray[Scalar]]:
    """Views of the weights of each kind, ``[predicates, rows, width]``; see ``layout.hpp``.

    The rows of a predicate are its node weights, then the edge weights of each previous label.
    """
    begin, y = 0, layout.n_labels
    for n, rows in zip(_kinds(layout), (1, 1 + y, y), strict=True):
        end = begin + n * rows * layout.width
        yield array[begin:end].reshape(n, rows, layout.width)
        begin = end
