"""The linear chain in float64 NumPy: slow and obvious, to check the core against.

A sentence is a list of positions, a position a list of (predicate, value). Weights are dense,
node [P, Y] and edge [P, Y, Y]; edge weights count at positions t > 0 only.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tests.reference.conlleval import chunk_ends, chunk_starts, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Position = Sequence[tuple[int, float]]


class Weights(NamedTuple):
    node: Array  # [P, Y]
    edge: Array  # [P, Y, Y]: (previous, current)


class Scores(NamedTuple):
    node: Array  # [T, Y]
    edge: Array  # [T, Y, Y]; edge[0] is never used


class Marginals(NamedTuple):
    log_z: float
    node: Array  # [T, Y]
    edge: Array  # [T, Y, Y]; edge[0] is zero


def scores(sentence: Sequence[Position], weights: Weights) -> Scores:
    n_labels = weights.node.shape[1]
    node = np.zeros((len(sentence), n_labels))
    edge = np.zeros((len(sentence), n_labels, n_labels))
    for t, position in enumerate(sentence):
        for predicate, value in position:
            node[t] += value * weights.node[predicate]
            edge[t] += value * weights.edge[predicate]
    return Scores(node, edge)


def constrained(s: Scores, legal: Array | None = None, allowed: Array | None = None) -> Scores:
    """Scores of −∞ for what is ruled out: allowed [T, Y], legal [Y + 1, Y + 1], Y is outside."""
    node, edge = s.node.copy(), s.edge.copy()
    if allowed is not None:
        node[~allowed.astype(bool)] = -np.inf
    if legal is not None:
        node[0, ~legal[-1, :-1].astype(bool)] = -np.inf
        node[-1, ~legal[:-1, -1].astype(bool)] = -np.inf
        edge[1:, ~legal[:-1, :-1].astype(bool)] = -np.inf
    return Scores(node, edge)


class BruteForce:
    """Every path [Y^T, T] with its score and its probability."""

    def __init__(self, s: Scores) -> None:
        length, self.n_labels = s.node.shape
        self.paths = np.array(list(itertools.product(range(self.n_labels), repeat=length)))
        self.scores = np.zeros(len(self.paths))
        for t in range(length):
            self.scores += s.node[t, self.paths[:, t]]
            if t > 0:
                self.scores += s.edge[t, self.paths[:, t - 1], self.paths[:, t]]
        self.log_z = float(log_sum(self.scores))
        self.probabilities = np.exp(self.scores - self.log_z)

    def number(self, path: Sequence[int]) -> int:
        """Which of all paths this is."""
        return int(np.ravel_multi_index(tuple(path), (self.n_labels,) * self.paths.shape[1]))

    def marginals(self) -> Marginals:
        length = self.paths.shape[1]
        node = np.zeros((length, self.n_labels))
        edge = np.zeros((length, self.n_labels, self.n_labels))
        for t in range(length):
            np.add.at(node[t], self.paths[:, t], self.probabilities)
            if t > 0:
                np.add.at(edge[t], (self.paths[:, t - 1], self.paths[:, t]), self.probabilities)
        return Marginals(self.log_z, node, edge)

    def best(self, n: int) -> list[int]:
        """Numbers of the n best paths that are possible, best first."""
        order = np.argsort(-self.scores, kind="stable")[:n]
        return [int(k) for k in order if self.scores[k] > -np.inf]

    def segments(self, labels: Sequence[str]) -> dict[tuple[int, int, str], float]:
        """The probability of every chunk (first, last, type): the sum over paths that hold it."""
        found: dict[tuple[int, int, str], float] = {}
        for path, probability in zip(self.paths, self.probabilities, strict=True):
            for chunk in chunks([labels[y] for y in path]):
                found[chunk] = found.get(chunk, 0.0) + probability
        return found


def chunks(labels: Sequence[str]) -> list[tuple[int, int, str]]:
    """(first, last, type) of every chunk, by the rules of conlleval."""
    tags = [parse(label) for label in ("O", *labels, "O")]
    found, first = [], 0
    for t in range(1, len(tags)):
        if tags[t - 1][0] != "O" and chunk_ends(tags[t - 1], tags[t]):
            found.append((first - 1, t - 2, tags[t - 1][1]))
        if chunk_starts(tags[t - 1], tags[t]):
            first = t
    return found


def log_sum(x: Array, axis: int | None = None) -> Array:
    """The logarithm of Σ exp(x)."""
    top = np.max(x, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.squeeze(np.log(np.exp(x - top).sum(axis=axis, keepdims=True)) + top, axis=axis)


def forward_backward(s: Scores) -> Marginals:
    """In log space, for sentences with too many paths to list."""
    length = len(s.node)
    alpha, beta = s.node.copy(), np.zeros_like(s.node)
    for t in range(1, length):
        alpha[t] += log_sum(alpha[t - 1, :, None] + s.edge[t], axis=0)
    for t in range(length - 1, 0, -1):
        beta[t - 1] = log_sum(s.edge[t] + s.node[t] + beta[t], axis=1)
    log_z = float(log_sum(alpha[-1]))
    edge = np.zeros_like(s.edge)
    edge[1:] = np.exp(
        alpha[:-1, :, None] + s.edge[1:] + (s.node[1:] + beta[1:])[:, None, :] - log_z
    )
    return Marginals(log_z, np.exp(alpha + beta - log_z), edge)


def best_path(s: Scores) -> list[int]:
    """Viterbi, for sentences with too many paths to list."""
    best, back = s.node[0], []
    for t in range(1, len(s.node)):
        into = best[:, None] + s.edge[t]
        back.append(into.argmax(axis=0))
        best = into.max(axis=0) + s.node[t]
    path = [int(best.argmax())]
    for step in reversed(back):
        path.append(int(step[path[-1]]))
    return path[::-1]


def lead(s: Scores) -> float:
    """By how much the best path leads: its score minus that of the second best."""
    to, onward = s.node.copy(), np.zeros_like(s.node)
    for t in range(1, len(s.node)):
        to[t] += (to[t - 1, :, None] + s.edge[t]).max(axis=0)
    for t in range(len(s.node) - 1, 0, -1):
        onward[t - 1] = (s.edge[t] + s.node[t] + onward[t]).max(axis=1)
    through = to + onward  # of the best path with label y at t
    best = through[0].max()
    through[np.arange(len(s.node)), best_path(s)] = -np.inf
    return float(best - through.max())


def path_score(s: Scores, path: Sequence[int]) -> float:
    return float(
        sum(s.node[t, y] + (s.edge[t, path[t - 1], y] if t else 0.0) for t, y in enumerate(path))
    )


def features(sentence: Sequence[Position], path: Sequence[int], zeros: Weights) -> Weights:
    """φ(x, y): how often each feature fires on a path, times its values; added to zeros."""
    for t, (position, y) in enumerate(zip(sentence, path, strict=True)):
        for predicate, value in position:
            zeros.node[predicate, y] += value
            if t > 0:
                zeros.edge[predicate, path[t - 1], y] += value
    return zeros


def agreeing(gold: Sequence[int], n_labels: int) -> Array:
    """[T, Y]: which labels agree with what is known; −1 is not known."""
    return np.array([[known in (-1, y) for y in range(n_labels)] for known in gold])


def loss_and_gradient(
    sentence: Sequence[Position],
    gold: Sequence[int],
    weights: Weights,
    legal: Array | None = None,
) -> tuple[float, Weights]:
    """−log P(gold | x) and its gradient, expected minus observed counts of every feature.

    What is observed are the paths that agree with what is known of gold: mostly one.
    """
    s = constrained(scores(sentence, weights), legal)
    every = forward_backward(s)
    observed = forward_backward(constrained(s, allowed=agreeing(gold, s.node.shape[1])))
    gradient = Weights(np.zeros_like(weights.node), np.zeros_like(weights.edge))
    for t, position in enumerate(sentence):
        for predicate, value in position:
            gradient.node[predicate] += value * (every.node[t] - observed.node[t])
            gradient.edge[predicate] += value * (every.edge[t] - observed.edge[t])
    return every.log_z - observed.log_z, gradient
