"""Chains of attributes with few weights each, in float64: what CRFsuite's models hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.errors import ModelError
from adaptag.foreign.chains import why_not_writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from adaptag.features.index import FeatureIndex
    from adaptag.model.linear_chain import LinearChain

__all__ = ["SparseChain"]


@dataclass(frozen=True, eq=False)
class SparseChain:
    """Labels, attributes and their weights.

    Attributes:
        labels: The names of the labels, Y of them.
        attributes: The names of the attributes, A of them.
        rows: The first weight of each attribute, then F, int64 ``[A + 1]``.
        targets: The label of each weight, uint32 ``[F]``.
        weights: The weights of attributes and labels, float64 ``[F]``.
        transitions: The weights of label bigrams, float64 ``[Y, Y]``: (previous, current).
    """

    labels: tuple[str, ...]
    attributes: Sequence[bytes]
    rows: NDArray[np.int64]
    targets: NDArray[np.uint32]
    weights: NDArray[np.float64]
    transitions: NDArray[np.float64]

    @property
    def sources(self) -> NDArray[np.int64]:
        """The attribute of each weight, ``[F]``."""
        return np.repeat(np.arange(len(self.attributes)), np.diff(self.rows))

    @classmethod
    def of(cls, chain: LinearChain[Any]) -> SparseChain:
        """The weights of a model that are not 0; raise where it has no such form.

        Attributes without weights are left out, as CRFsuite does.
        """
        _check(chain)
        index: FeatureIndex = chain.index
        if chain.original is not None:
            chain = replace(chain, weights=chain.original.weights)  # type: ignore[arg-type]
        node = chain.node_weights()
        used = np.flatnonzero(node.any(axis=1))
        source, target = np.nonzero(node[used])
        offsets = index.tensors["vocabulary_offsets"].tolist()
        text = index.tensors["vocabulary_bytes"].tobytes()
        tokens = index.tensors["keys"][used, 1].tolist()
        return cls(
            chain.labels,
            [text[offsets[token] : offsets[token + 1]] for token in tokens],
            np.searchsorted(source, np.arange(len(used) + 1)).astype(np.int64),
            target.astype(np.uint32),
            node[used][source, target].astype(np.float64),
            chain.edge_weights().sum(axis=0, dtype=np.float64),
        )

    def tagger(self) -> core.ItemTagger:
        """What tags sequences of items with these weights."""
        ends = np.fromiter(accumulate(map(len, self.attributes), initial=0), np.int64)
        text = np.frombuffer(b"".join(self.attributes) or b"\0", np.uint8)[: int(ends[-1])]
        return core.ItemTagger(
            text,
            ends.astype(np.uint32),
            self.rows,
            self.targets,
            self.weights,
            self.transitions,
            list(self.labels),
        )


def _check(chain: LinearChain[Any]) -> None:
    """Raise where a chain has more than attributes and label bigrams."""
    reason = why_not_writable(chain) or _why_no_attributes(chain.index)
    if reason:
        raise ModelError(f"the model cannot be written as a CRFsuite model: {reason}")


def _why_no_attributes(index: FeatureIndex) -> str:
    """Why the features are not those of CRFsuite; empty where they are."""
    if not index.template.attributes:
        return "its features come from a template, not from attributes"
    if index.n_of_kind[1]:
        return "its attributes have edge weights"
    if (index.tensors["keys"][: index.n_of_kind[0], 0] != 0).any():
        return "it has features beside those of attributes"
    return ""
