"""What the readers of foreign models share: an index of given features, within bounded memory."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.errors import ModelError
from adaptag.features.index import NO_TOKEN, TENSORS, FeatureIndex
from adaptag.model.compact_index import CompactIndex
from adaptag.model.linear_chain import LinearChain
from adaptag.model.original import OriginalWeights
from adaptag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.features.template import Template

__all__ = [
    "BYTES_PER_WEIGHT",
    "LARGEST",
    "build_index",
    "chain_of",
    "check_labels",
    "check_memory",
    "check_size",
    "numbered_chain",
    "rounded_chain",
    "why_not_writable",
]

LARGEST = 1e18  # sums of larger weights would look like transitions that are ruled out
PADDING = 8  # labels that the padding of a row of weights has room for
BYTES_PER_WEIGHT = 12  # float64, and float32
FREE_BYTES = 256 << 20  # weights that any file may need
BYTES_PER_BYTE = 32  # and weights per byte of a larger file


def check_size(name: str, size: int, n_labels: int, n_node: int, n_edge: int) -> None:
    """Raise where the weights would take much more memory than the file has bytes.

    A file may hold few of the weights of each feature; in memory each feature has one for each
    label, or for each pair of labels.
    """
    check_labels(name, n_labels)
    needed = BYTES_PER_WEIGHT * (n_labels + PADDING) * (n_node + n_edge * n_labels)
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
        template: The template.
        strings: The distinct strings of the vocabulary.
        keys: The skeleton of each predicate, then the numbers of its strings, ``[P, 1 + arity]``.
        n_of_kind: How many predicates have node, node and edge, and edge weights.
        n_columns: The feature columns of the data; None for attributes.
    """
    program = template.program()
    offsets = np.fromiter(accumulate(map(len, strings), initial=0), np.int64, len(strings) + 1)
    macros = [macro for line in template.lines for macro in line.macros]
    n_sources = len({(m.column, m.name, m.length, m.pattern) for m in macros})
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


def numbered_chain(
    name: str,
    source: str,
    labels: Sequence[str],
    index: FeatureIndex,
    weights: NDArray[np.float64],
    numbers: NDArray[np.int64],
    *,
    sums_in_single: bool = False,
) -> LinearChain[FeatureIndex]:
    """Lay out weights that are numbered in the file, and keep them in its precision.

    Args:
        name: The file, for messages.
        source: The program that the file is of.
        labels: The labels, Y of them.
        index: The index.
        weights: All weights of the file.
        numbers: The number of the first weight of each predicate. Its node weights come before its
            edge weights, which are sorted by previous label, then label.
        sums_in_single: Whether the program sums them in float32.
    """
    n_node, n_both, n_edge = index.n_of_kind
    y = len(labels)
    layout = core.Layout(y, n_node, n_both, n_edge)
    laid_out = np.zeros(layout.n_weights)
    begin = first = 0
    for n, n_rows in ((n_node, 1), (n_both, 1 + y), (n_edge, y)):
        end = begin + n * n_rows * layout.width
        rows = laid_out[begin:end].reshape(n, n_rows, layout.width)
        offsets = np.arange(n_rows * y).reshape(1, n_rows, y)
        rows[:, :, :y] = weights[numbers[first : first + n, None, None] + offsets]
        begin, first = end, first + n
    original = OriginalWeights(laid_out, numbers, sums_in_single)
    return rounded_chain(name, source, labels, index, original)


def rounded_chain(
    name: str,
    source: str,
    labels: Sequence[str],
    index: FeatureIndex,
    original: OriginalWeights,
) -> LinearChain[FeatureIndex]:
    """The chain of weights that are laid out already, and kept in the precision of the file."""
    with np.errstate(over="ignore"):  # what is too large is found below
        rounded = original.weights.astype(np.float32)
    return chain_of(name, source, labels, index, rounded, original=original)


def chain_of(
    name: str,
    source: str,
    labels: Sequence[str],
    index: FeatureIndex,
    weights: NDArray[np.float32],
    configuration: Mapping[str, Any] | None = None,
    original: OriginalWeights | None = None,
) -> LinearChain[FeatureIndex]:
    """The chain of weights that are laid out already."""
    if len(set(labels)) != len(labels):
        raise ModelError(f"{name}: a label stands twice in the file")
    if not (np.abs(weights) <= LARGEST).all():
        raise ModelError(f"{name}: a weight is not finite, or larger than {LARGEST:g}")
    provenance = {"source": source, "adaptag": __version__}
    return LinearChain(
        tuple(labels),
        index,
        weights,
        provenance,
        configuration=dict(configuration or {}),
        original=original,
    )


def why_not_writable(chain: LinearChain[Any]) -> str:
    """Why no other program has a form for what the model has; empty where there is no reason."""
    if not isinstance(chain.index, FeatureIndex):
        return "it is no tagger"
    if isinstance(chain.index, CompactIndex):
        return "it is compact"
    if chain.index.is_hashed:
        return "its features are hashed and have no names"
    if chain.states != chain.labels or chain.legal is not None:
        return "it was trained with another label scheme; train with scheme='as-is'"
    if chain.temperature != 1:
        return "it is calibrated"
    if any("\0" in label for label in chain.labels):
        return "a label contains a NUL character"
    return ""
