"""Probabilities in float64, for models of other programs whose printed digits are asked for.

The core computes in float32, several hundred times faster. Here the weights are those of the
program's file, and a sentence is a lattice of scores (Lafferty et al. 2001)::

    α_t(y) = φ_t(y) + log Σ_y′ exp(α_{t−1}(y′) + ψ_t(y′, y))        log Z = log Σ_y exp α_T(y)
    β_t(y) = log Σ_y′ exp(ψ_{t+1}(y, y′) + φ_{t+1}(y′) + β_{t+1}(y′))
    p(y_t = y) = exp(α_t(y) + β_t(y) − log Z)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from adaptag.features.index import Encoded
    from adaptag.model.linear_chain import LinearChain

__all__ = ["DoubleLattice", "DoubleScorer"]


class DoubleScorer:
    """Computes the scores of sentences in float64, with a model's most precise weights."""

    def __init__(self, chain: LinearChain[Any]) -> None:
        in_single = chain.original is not None and chain.original.sums_in_single
        weights: Any = chain.weights
        if chain.original is not None and not in_single:
            weights = chain.original.weights
        exact = replace(chain, weights=weights)
        self._type = np.dtype(np.float32 if in_single else np.float64)
        self._node, self._edge = exact.node_weights(), exact.edge_weights()
        self._first_edge = chain.index.n_of_kind[0]
        self._temperature = chain.temperature

    def lattice(self, encoded: Encoded, sentence: int) -> DoubleLattice:
        """The scores of a sentence."""
        first, end = (int(place) for place in encoded.sentences[sentence : sentence + 2])
        y = self._node.shape[1]
        node, edge = np.zeros((end - first, y)), np.zeros((end - first, y, y))
        bounds = encoded.positions[first : end + 1].tolist()
        for t in range(end - first):
            fired = encoded.predicates[bounds[t] : bounds[t + 1]].astype(np.int64)
            node[t] = self._sum(self._node[fired[fired < len(self._node)]])
            if t:
                pairs = fired[fired >= self._first_edge] - self._first_edge
                edge[t] = self._sum(self._edge[pairs])
        return DoubleLattice(node / self._temperature, edge / self._temperature)

    def _sum(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The sum of rows, one after the other, as the program of the model sums."""
        total: NDArray[Any] = np.zeros(rows.shape[1:], self._type)
        for row in rows:
            total += row
        return total


@dataclass(frozen=True, eq=False)
class DoubleLattice:
    """The scores of a sentence.

    Attributes:
        node: The scores φ of labels, ``[T, Y]``.
        edge: The scores ψ of pairs (previous, current), ``[T, Y, Y]``; those of token 0 are zero.
    """

    node: NDArray[np.float64]
    edge: NDArray[np.float64]

    def marginals(self) -> NDArray[np.float64]:
        """The probability of each label at each token, ``[T, Y]``."""
        alpha, beta = self._alpha(), np.zeros_like(self.node)
        for t in range(len(beta) - 1, 0, -1):
            beta[t - 1] = _log_sum(self.edge[t] + (self.node[t] + beta[t]), axis=1)
        marginals: NDArray[np.float64] = np.exp(alpha + beta - _log_sum(alpha[-1], axis=0))
        return marginals

    def log_probabilities(self, paths: NDArray[np.int32]) -> NDArray[np.float64]:
        """The logarithms of the probabilities of paths ``[k, T]``."""
        t = np.arange(paths.shape[1])
        scores = self.node[t, paths].sum(axis=1)
        scores += self.edge[t[1:], paths[:, :-1], paths[:, 1:]].sum(axis=1)
        log_p: NDArray[np.float64] = scores - _log_sum(self._alpha()[-1], axis=0)
        return log_p

    def _alpha(self) -> NDArray[np.float64]:
        alpha: NDArray[np.float64] = self.node.copy()
        for t in range(1, len(alpha)):
            alpha[t] += _log_sum(alpha[t - 1][:, None] + self.edge[t], axis=0)
        return alpha


def _log_sum(scores: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """The logarithm of a sum of exponentials."""
    largest = scores.max(axis=axis, keepdims=True)
    sums = np.exp(scores - largest).sum(axis=axis)
    logarithms: NDArray[np.float64] = np.log(sums) + largest.squeeze(axis)
    return logarithms
