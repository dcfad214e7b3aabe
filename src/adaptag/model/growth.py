"""The weights of a model, moved to where they lie after it has grown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from adaptag.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from adaptag._native import core

__all__ = ["transplant"]

Scalar = TypeVar("Scalar", bound=np.generic)


def transplant(
    array: NDArray[Scalar], old_layout: core.Layout, new_layout: core.Layout
) -> NDArray[Scalar]:
    """Move weights to a larger layout.

    Args:
        array: ``[n_weights]`` of the old layout.
        old_layout: how they lie.
        new_layout: how they shall lie: the old labels are its first ones, and the old predicates
            are the first ones of each kind, in the same order.

    Returns:
        A new array ``[n_weights]`` of the new layout, zeros where a label or predicate is new.
    """
    _check(array, old_layout, new_layout)
    moved = np.zeros(new_layout.n_weights, array.dtype)
    same_labels = old_layout.n_labels == new_layout.n_labels
    used = old_layout.width if same_labels else old_layout.n_labels  # padding stays behind
    for old, new in zip(_blocks(array, old_layout), _blocks(moved, new_layout), strict=True):
        n, rows, _ = old.shape
        new[:n, :rows, :used] = old[:, :, :used]
    return moved


def _kinds(layout: core.Layout) -> tuple[int, int, int]:
    return layout.n_node, layout.n_both, layout.n_edge


def _blocks(array: NDArray[Scalar], layout: core.Layout) -> Iterator[NDArray[Scalar]]:
    """Views of the weights of each kind, ``[predicates, rows, width]``; see ``layout.hpp``.

    The rows of a predicate are its node weights, then the edge weights of each previous label.
    """
    begin, y = 0, layout.n_labels
    for n, rows in zip(_kinds(layout), (1, 1 + y, y), strict=True):
        end = begin + n * rows * layout.width
        yield array[begin:end].reshape(n, rows, layout.width)
        begin = end


def _check(array: NDArray[Any], old: core.Layout, new: core.Layout) -> None:
    if array.shape != (old.n_weights,):
        raise ParameterError(
            f"weights of shape {array.shape}; the old layout needs ({old.n_weights},)"
        )
    for name in ("n_labels", "n_node", "n_both", "n_edge"):
        before, after = getattr(old, name), getattr(new, name)
        if after < before:
            raise ParameterError(f"{name} is {after}; allowed: {before}, as before, or more")
