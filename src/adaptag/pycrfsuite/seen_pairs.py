"""Weights only for what occurs in the training data, as CRFsuite has them by default.

The batch algorithms keep a weight at 0 whose gradient is always 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.training.batch import Objective
from adaptag.training.engine import LocalEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples
    from adaptag.training.settings import TrainingSettings

    Weights = NDArray[np.float32]

__all__ = ["SeenPairsEngine", "seen_pairs"]


def seen_pairs(examples: Examples, *, states: bool, transitions: bool) -> Weights:
    """Mark the weights that are trained: 1 where a pair occurs in the data, else 0.

    A token whose label is not known may have any.

    Args:
        examples: The training data; its features are attributes and label bigrams.
        states: Whether all pairs of attributes and labels are trained.
        transitions: Whether all pairs of labels are.
    """
    layout = examples.layout
    n_node, n_both, n_edge = examples.index.n_of_kind
    y, width = layout.n_labels, layout.width
    split = n_node * width
    mask = np.zeros(layout.n_weights, np.float32)
    node = mask[:split].reshape(n_node, width)[:, :y]
    edge = mask[split:].reshape(n_both + n_edge, -1, width)[:, -y:, :y]
    labels = examples.labels
    if states or n_both:
        node[:] = 1
    else:
        predicates = examples.encoded.predicates
        of_feature = np.repeat(labels, np.diff(examples.encoded.positions))
        plain = predicates < n_node
        known = plain & (of_feature >= 0)
        node[predicates[known], of_feature[known]] = 1
        node[predicates[plain & (of_feature < 0)]] = 1
    if transitions or n_both or (labels < 0).any():
        edge[:] = 1
    else:
        inside = np.ones(len(labels), bool)
        starts = examples.encoded.sentences[:-1]
        inside[starts[starts < len(labels)]] = False
        second = np.flatnonzero(inside)
        edge[:, labels[second - 1], labels[second]] = 1
    return mask


@dataclass(frozen=True, eq=False)
class SeenPairsEngine(LocalEngine):
    """Examples in this process, some of whose weights are not trained.

    Attributes:
        mask: 1 for the weights that are trained, else 0, float32.
    """

    mask: Weights

    def objective(
        self, settings: TrainingSettings, after_evaluation: Callable[[], None]
    ) -> Objective:
        """Prepare the objective of a batch algorithm."""
        return _SeenObjective(self.mask, self.examples, settings.threads, after_evaluation)


class _SeenObjective(Objective):
    """The loss, with a gradient of 0 for weights that are not trained."""

    def __init__(self, mask: Weights, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.mask = mask

    def add(self, x: Weights, gradient: Weights) -> float:
        """Return the loss at ``x``; its gradient is added to ``gradient``."""
        loss = super().add(x, gradient)
        gradient *= self.mask
        return loss
