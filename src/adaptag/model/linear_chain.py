"""The parameters of a linear chain, and the file they are kept in."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, ClassVar

import numpy as np

from adaptag._native import core
from adaptag.dataset.encoded import index_from_file, index_to_file
from adaptag.errors import ModelError
from adaptag.storage.stored import Stored
from adaptag.storage.tensors import write_tensors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from typing_extensions import Self

    from adaptag.features.index import FeatureIndex

__all__ = ["LinearChain"]

VERSION = 2
STATE = "state."  # before the names of its tensors


@dataclass(frozen=True, eq=False, repr=False)
class LinearChain(Stored):
    """Labels, features and weights.

    Attributes:
        labels: names of the labels.
        index: the feature index, with its template.
        weights: float32, rows of predicates one after the other; see ``layout.hpp``.
        provenance: where the model comes from: version, algorithm, parameters, seed, scores.
        legal: transitions that are possible, uint8 ``[Y + 1, Y + 1]``, the last row and column
            being outside of the sentence; None: all are.
        state: what training goes on from, by name, where it was kept.
    """

    kind: ClassVar[str] = "model"

    labels: tuple[str, ...]
    index: FeatureIndex
    weights: NDArray[np.float32]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    legal: NDArray[np.uint8] | None = field(default=None, kw_only=True)
    state: Mapping[str, NDArray[Any]] = field(default_factory=dict, kw_only=True)

    def __repr__(self) -> str:
        name, features = type(self).__name__, self.index.n_predicates
        return f"<{name} of {len(self.labels)} labels, {features:,} features>"

    @cached_property
    def layout(self) -> core.Layout:
        """How the weights lie in memory."""
        return core.Layout(len(self.labels), *self.index.n_of_kind)

    @property
    def n_weights(self) -> int:
        """Weights of the model, without the padding of their rows."""
        node, both, edge = self.index.n_of_kind
        y = len(self.labels)
        return (node + both) * y + (both + edge) * y * y

    def node_weights(self) -> NDArray[np.float32]:
        """Node weights of all predicates that have them, ``[P, Y]``; a view where possible."""
        node, both, _ = self.index.n_of_kind
        y, w = self.layout.n_labels, self.layout.width
        plain = self.weights[: node * w].reshape(node, w)[:, :y]
        if not both:
            return plain
        rows = self.weights[node * w : node * w + both * w * (1 + y)].reshape(both, w * (1 + y))
        return np.concatenate([plain, rows[:, :y]])

    def edge_weights(self) -> NDArray[np.float32]:
        """Edge weights of all predicates that have them, ``[P, Y, Y]``: (previous, current)."""
        node, both, edge = self.index.n_of_kind
        y, w = self.layout.n_labels, self.layout.width
        begin, end = node * w, node * w + both * w * (1 + y)
        rich = self.weights[begin:end].reshape(both, 1 + y, w)[:, 1:, :y]
        return np.concatenate([rich, self.weights[end:].reshape(edge, y, w)[:, :, :y]])

    def weights_of(
        self, predicate: int
    ) -> tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]:
        """The node weights ``[Y]`` and edge weights ``[Y, Y]`` of a predicate, where it has any."""
        node, both, _ = self.index.n_of_kind
        y, w = self.layout.n_labels, self.layout.width
        if predicate < node:
            return self.weights[predicate * w :][:y], None
        begin = node * w + (predicate - node) * w * (1 + y)
        if predicate < node + both:
            rows = self.weights[begin : begin + w * (1 + y)].reshape(1 + y, w)[:, :y]
            return rows[0], rows[1:]
        begin = node * w + both * w * (1 + y) + (predicate - node - both) * w * y
        return None, self.weights[begin : begin + w * y].reshape(y, w)[:, :y]

    def _write(self, file: IO[bytes]) -> None:
        header, tensors = index_to_file(self.index)
        header |= {
            "version": VERSION,
            "labels": list(self.labels),
            "provenance": dict(self.provenance),
        }
        tensors["weights"] = self.weights
        tensors |= {f"{STATE}{name}": array for name, array in self.state.items()}
        if self.legal is not None:
            tensors["legal"] = self.legal
        write_tensors(file, self.kind, header, tensors)

    @classmethod
    def _from_file(
        cls, header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], name: str
    ) -> Self:
        try:
            if header["version"] != VERSION:
                raise ValueError(f"version {header['version']}; this adaptag reads {VERSION}")
            labels = tuple(str(label).encode().decode() for label in header["labels"])
            index = index_from_file(header, tensors)
            state = {
                name.removeprefix(STATE): array
                for name, array in tensors.items()
                if name.startswith(STATE)
            }
            model = cls(
                labels,
                index,
                tensors["weights"],
                dict(header["provenance"]),
                legal=tensors.get("legal"),
                state=state,
            )
            if model.legal is not None and (
                model.legal.dtype != np.uint8 or model.legal.shape != (len(labels) + 1,) * 2
            ):
                raise ValueError("the transitions have the wrong type or shape")
            if model.weights.dtype != np.float32 or model.weights.ndim != 1:
                raise ValueError("weights have the wrong type or shape")
            if len(model.weights) != model.layout.n_weights or len(set(labels)) != len(labels):
                raise ValueError("labels and weights do not fit together")
        except (KeyError, TypeError, ValueError, OverflowError, RuntimeError) as error:
            raise ModelError(f"{name}: malformed model: {error}") from None
        return model
