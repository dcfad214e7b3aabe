"""Dropout of features: each pass sees the data without a random part of its features."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from adaptag._native import core
from adaptag.features.index import Encoded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples

    Weights = NDArray[np.float32]

__all__ = ["Dropout"]


class Dropout:
    """Training data without some of its features, and what that means for weights.

    Each feature of each token is left out with the same probability, anew in every pass. Features
    of transitions alone stay, and so does a predicate that always fires. A model sees all features:
    its weights are those of training times the probability that a feature stays.
    """

    def __init__(self, examples: Examples, probability: float) -> None:
        """Prepare the data.

        Args:
            examples: The training data.
            probability: The probability with which a feature is left out, less than 1.
        """
        self.examples, self.probability = examples, probability
        node, both, _ = examples.index.n_of_kind
        self.droppable = node + both  # predicates; the others are those of transitions alone
        self.n_weights = core.Layout(len(examples.label_names), node, both, 0).n_weights

    def in_pass(self, number: int, seed: int, order: int = 0) -> Examples:
        """The data of a pass in one of several orders; the same numbers leave out the same."""
        if not self.probability:
            return self.examples
        e = self.examples.encoded
        rng = np.random.default_rng([seed, number, order] if order else [seed, number])
        kept = rng.random(len(e.predicates), np.float32) >= self.probability
        kept |= e.predicates >= self.droppable
        before = np.concatenate([[0], np.cumsum(kept)])
        values = None if e.values is None else e.values[kept]
        encoded = Encoded(e.sentences, before[e.positions], e.predicates[kept], values)
        return replace(self.examples, encoded=encoded)

    def scale(self, weights: Weights, *, inverse: bool = False) -> Weights:
        """Make weights of training those of a model, in place; or the inverse."""
        if self.probability:
            stays = np.float32(1 - self.probability)
            factor = 1 / stays if inverse else stays
            always = self._always(weights).copy()
            weights[: self.n_weights] *= factor
            self._always(weights)[:] = always
        return weights

    def _always(self, weights: Weights) -> Weights:
        """The weights of the predicate that always fires."""
        if self.examples.always is None:
            return weights[:0]
        width = core.Layout(len(self.examples.label_names), 1, 0, 0).n_weights
        return weights[self.examples.always * width :][:width]
