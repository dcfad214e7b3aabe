"""What the readers of foreign models share: an index of given features, within bounded memory."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.errors import ModelError
from adaptag.features.index import NO_TOKEN, TENSORS, FeatureIndex
from adaptag.model.linear_chain import LinearChain
from adaptag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.features.template import Template

__all__ = [
    "LARGEST",
    "build_chain",
    "build_index",
    "chain_of",
    "check_labels",
    "check_memory",
    "check_size",
]

LARGEST = 1e18  # sums of larger weights would look like transitions that are ruled out
PADDING = 8  # labels that the padding of a row of weights has room for
FREE_BYTES = 256 << 20  # weights that any file may need
BYTES_PER_BYTE = 32  # and weights per byte of a larger file


def check_size(name: str, size: int, n_labels: int, n_node: int, n_edge: int) -> None:
    """Raise where the weights would take much more memory than the file has bytes.

    A file may hold few of the weights of each feature; in memory each feature has one for each
    label, or for each pair of labels.
    """
    check_labels(name, n_labels)
    needed = 4 * (n_labels + PADDING) * (n_node + n_edge * n_labels)
    what = f"weights of {n_node + n_edge:,} features and {n_labels:,} labels"
    check_memory(name, size, needed, what)


def check_labels(name: str, n_labels: int) -> None:
    """Raise where there are no labels, or more than a model can have."""
    if not 1 <= n_labels <= 32767:
        raise ModelError(f"{name}: {n_labels} labels; allowed: 1 to 32767")


def check_memory(name: str, size: int, needed: int, what: str) -> None:
    """Raise where something would take much more memory than the file has bytes."""
    allowed = max(FREE_BYTES, BYTES_PER_BYTE * size)
    if needed > allowed:
        raise ModelError(
            f"{name}: the {what} take {needed:,} bytes; "
            f"allowed for a file of {size:,} bytes: {allowed:,}"
        )


def build_index(
    name: str,
    template: Template,
    strings: Sequence[bytes],
    keys: NDArray[np.uint32],
    n_of_kind: tuple[int, int, int],
    n_columns: int | None = None,
) -> FeatureIndex:
    """Build the index of these predicates.

    Args:
        name: The file, for messages.
        template: The template; its macros are all ``%x``.
        strings: The distinct strings of the vocabulary.
        keys: The skeleton of each predicate, then the numbers of its strings, ``[P, 1 + arity]``.
        n_of_kind: How many predicates have node, node and edge, and edge weights.
        n_columns: The feature columns of the data; None for attributes.
    """
    program = template.program()
    offsets = np.fromiter(accumulate(map(len, strings), initial=0), np.int64, len(strings) + 1)
    n_sources = len({(m.column, m.name) for line in template.lines for m in line.macros})
    n_bytes = int(offsets[-1])
    check_memory(name, n_bytes, 4 * n_sources * len(strings), "strings of columns")
    builder = core.IndexBuilder(
        program,
        np.frombuffer(b"".join(strings) or b"\0", np.uint8)[:n_bytes],
        offsets.astype(np.uint32),
        np.full((n_sources, len(strings)), NO_TOKEN, np.uint32),
        np.ascontiguousarray(keys, np.uint32),
        n_of_kind,
    )
    tables = builder.snapshot()
    tensors = {tensor: tables[tensor] for tensor in TENSORS}
    return FeatureIndex(template, tables["n_of_kind"], tensors, n_columns)


def build_chain(
    name: str,
    source: str,
    labels: Sequence[str],
    index: FeatureIndex,
    node: NDArray[np.float32],
    edge: NDArray[np.float32],
) -> LinearChain[FeatureIndex]:
    """Lay out the weights as the core needs them.

    Args:
        name: The file, for messages.
        source: The program that the file is of.
        labels: The labels, Y of them.
        index: The index, whose predicates have node weights or edge weights, none has both.
        node: The node weights, ``[P, Y]``.
        edge: The edge weights, ``[E, Y, Y]``: (previous, current).
    """
    n_node, _, n_edge = index.n_of_kind
    y = len(labels)
    layout = core.Layout(y, n_node, 0, n_edge)
    weights = np.zeros(layout.n_weights, np.float32)
    split = n_node * layout.width
    weights[:split].reshape(n_node, layout.width)[:, :y] = node
    weights[split:].reshape(n_edge, y, layout.width)[:, :, :y] = edge
    return chain_of(name, source, labels, index, weights)


def chain_of(
    name: str,
    source: str,
    labels: Sequence[str],
    index: FeatureIndex,
    weights: NDArray[np.float32],
    configuration: Mapping[str, Any] | None = None,
) -> LinearChain[FeatureIndex]:
    """The chain of weights that are laid out already; see ``build_chain``."""
    if len(set(labels)) != len(labels):
        raise ModelError(f"{name}: a label stands twice in the file")
    if not (np.abs(weights) <= LARGEST).all():
        raise ModelError(f"{name}: a weight is not finite, or larger than {LARGEST:g}")
    provenance = {"source": source, "adaptag": __version__}
    return LinearChain(
        tuple(labels), index, weights, provenance, configuration=dict(configuration or {})
    )
