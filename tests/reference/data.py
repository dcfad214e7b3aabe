"""Small random training data, as the oracle wants it and as the core wants it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from adaptag._native import core
from adaptag.dataset.encoded import Dataset
from adaptag.features.index import Encoded, FeatureIndex
from adaptag.features.template import Template
from tests.reference.crf import Weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

KINDS = {  # numbers of node, both and edge predicates
    "all": (4, 3, 3),
    "node": (6, 0, 0),
    "both": (0, 5, 0),
    "edge": (0, 0, 5),
    "chain": (6, 0, 1),
}


@dataclass(frozen=True)
class Problem:
    """Labelled sentences, each a list of positions, each a list of (predicate, value).

    The label −1 stands for one that is not known; legal [Y + 1, Y + 1] says which may follow which.
    """

    n_labels: int
    n_of_kind: tuple[int, int, int]
    sentences: Sequence[Sequence[Sequence[tuple[int, float]]]]
    labels: Sequence[Sequence[int]]
    weights: Sequence[float] | None = None
    legal: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.sentences)

    def weight(self, i: int) -> float:
        """That of a sentence's loss and updates."""
        return 1.0 if self.weights is None else self.weights[i]

    @property
    def has_node(self) -> NDArray[np.bool_]:
        """[P]: which predicates have node weights."""
        return np.repeat([True, True, False], self.n_of_kind)

    @property
    def has_edge(self) -> NDArray[np.bool_]:
        """[P]: which predicates have edge weights."""
        return np.repeat([False, True, True], self.n_of_kind)

    def zeros(self) -> Weights:
        p, y = sum(self.n_of_kind), self.n_labels
        return Weights(np.zeros((p, y)), np.zeros((p, y, y)))

    def random_weights(self, seed: int, scale: float = 1.0) -> Weights:
        """Multiples of 1/8: with binary values, float32 adds a few of them up exactly."""
        rng = np.random.default_rng(seed)
        node, edge = (np.round(rng.normal(0, scale, w.shape) * 8) / 8 for w in self.zeros())
        return self.masked(Weights(node, edge))

    def masked(self, w: Weights) -> Weights:
        """Zeros for the weights that a predicate's kind does not have."""
        return Weights(w.node * self.has_node[:, None], w.edge * self.has_edge[:, None, None])

    # ---- the core's side ----------------------------------------------------------------------

    @cached_property
    def dataset(self) -> Dataset:
        positions = [position for sentence in self.sentences for position in sentence]
        pairs = [pair for position in positions for pair in position]
        values = np.array([value for _, value in pairs], np.float32)
        encoded = Encoded(
            np.cumsum([0, *map(len, self.sentences)], dtype=np.int64),
            np.cumsum([0, *map(len, positions)], dtype=np.int64),
            np.array([predicate for predicate, _ in pairs], np.uint32),
            None if (values == 1).all() else values,
        )
        index = FeatureIndex(Template("B"), self.n_of_kind, {})
        labels = np.array([y for gold in self.labels for y in gold], np.int32)
        names = tuple(f"L{y}" for y in range(self.n_labels))
        weights = None if self.weights is None else np.array(self.weights, np.float32)
        return Dataset(index, encoded, labels, names, weights=weights, legal=self.legal)

    @cached_property
    def native(self) -> core.Dataset:
        return self.dataset.native(self.dataset.layout)

    def decoder(self, weights: Weights, temperature: float = 1.0) -> core.Decoder:
        """A decoder of encoded data; its feature index has no template lines and is not used."""
        index = core.FeatureIndex(core.Program([], [], -1, 0), self.n_of_kind)
        names = list(self.dataset.label_names)
        return core.Decoder(
            self.dataset.layout, self.pack(weights), index, names, None, temperature
        )

    @property
    def places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the core keeps each weight, [P, Y] and [P, Y, Y]; −1 where there is none."""
        y = self.n_labels
        width = 4 if y <= 4 else -(-y // 8) * 8
        node, edge = (np.full(w.shape, -1) for w in self.zeros())
        begin = 0
        for predicate in range(sum(self.n_of_kind)):
            if self.has_node[predicate]:
                node[predicate] = begin + np.arange(y)
                begin += width
            if self.has_edge[predicate]:
                edge[predicate] = begin + width * np.arange(y)[:, None] + np.arange(y)
                begin += width * y
        assert begin == self.dataset.layout.n_weights
        return node, edge

    def pack(self, weights: Weights, dtype: type = np.float32) -> NDArray:
        """The core's flat weights."""
        flat = np.zeros(self.dataset.layout.n_weights, dtype)
        for place, w in zip(self.places, weights, strict=True):
            flat[place[place >= 0]] = w[place >= 0]
        return flat

    def unpack(self, flat: NDArray) -> Weights:
        node, edge = (
            np.where(place >= 0, np.asarray(flat, np.float64)[place], 0) for place in self.places
        )
        return Weights(node, edge)

    def padding(self, flat: NDArray) -> NDArray:
        """What lies between the weights."""
        used = np.concatenate([place.ravel() for place in self.places])
        return np.delete(flat, used[used >= 0])


def random_problem(
    seed: int,
    n_labels: int,
    n_of_kind: tuple[int, int, int] = KINDS["all"],
    *,
    n_sentences: int = 4,
    max_length: int = 6,
    values: bool = False,
    edges_at_start: bool = False,
) -> Problem:
    """Positions of any number of predicates, also none; some fire twice.

    Half of the positions have the edge predicates of the one before, so that the core shares
    matrices. Real values are multiples of 1/4, also negative. The encoder leaves out predicates
    with edge weights only at the start of a sentence; with ``edges_at_start`` they are there, and
    must not count.
    """
    rng = np.random.default_rng(seed)
    ends = np.cumsum([0, *n_of_kind])

    def draw(kind: int) -> list[tuple[int, float]]:
        low, high = ends[kind : kind + 2]
        ids = rng.integers(low, high, rng.integers(0, 4)).tolist() if high > low else []
        return [(p, float(rng.integers(-6, 7)) / 4 if values else 1.0) for p in ids]

    def sentence() -> list[list[tuple[int, float]]]:
        positions: list[list[tuple[int, float]]] = []
        with_edges: list[tuple[int, float]] = []
        for t in range(rng.integers(1, max_length + 1)):
            if t < 2 or rng.random() < 0.5:
                with_edges = draw(1) + (draw(2) if t > 0 or edges_at_start else [])
            positions.append(draw(0) + with_edges)
        return positions

    sentences = [sentence() for _ in range(n_sentences)]
    labels = [rng.integers(0, n_labels, len(s)).tolist() for s in sentences]
    return Problem(n_labels, n_of_kind, sentences, labels)
