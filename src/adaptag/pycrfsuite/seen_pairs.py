"""Weights only for what occurs in the training data, as CRFsuite has them by default.

The batch algorithms keep a weight at 0 whose gradient is always 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.corpus.labels import NO_LABEL
from adaptag.features.index import Encoded
from adaptag.training.batch import Objective
from adaptag.training.engine import LocalEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples
    from adaptag.training.job import TrainingJob
    from adaptag.training.settings import TrainingSettings

    Weights = NDArray[np.float32]

__all__ = ["restrict", "seen_pairs"]


def restrict(job: TrainingJob[Any], *, states: bool, transitions: bool) -> int:
    """Have a job train only weights of pairs that occur in its data, where its algorithm can.

    Args:
        job: The job, whose features are attributes, those of value 0 included: CRFsuite takes
            them for occurrences. The job goes on without them.
        states: Whether all pairs of attributes and labels are trained nevertheless.
        transitions: Whether all pairs of labels are.

    Returns:
        The number of weights that are trained.
    """
    examples = job.examples
    node, both, edge = examples.index.n_of_kind
    n_labels = len(examples.label_names)
    n_weights = (node + both) * n_labels + (both + edge) * n_labels**2
    job.data = without_zeros(examples)
    if both or job.settings.chosen.online or (states and transitions):
        return n_weights
    mask = seen_pairs(examples, states=states, transitions=transitions)
    job.data = SeenPairsEngine(job.data, mask)
    return int(np.count_nonzero(mask))


def without_zeros(examples: Examples) -> Examples:
    """The same data without attributes of value 0."""
    encoded = examples.encoded
    if encoded.values is None or encoded.values.all():
        return examples
    kept = encoded.values != 0
    positions = np.concatenate([[0], np.cumsum(kept)])[encoded.positions]
    return replace(
        examples,
        encoded=Encoded(
            encoded.sentences, positions, encoded.predicates[kept], encoded.values[kept]
        ),
    )


def seen_pairs(examples: Examples, *, states: bool, transitions: bool) -> Weights:
    """Mark the weights that are trained: 1 where a pair occurs in the data, else 0.

    A token whose label is not known may have any.

    Args:
        examples: The training data; its features are attributes and label bigrams.
        states: Whether all pairs of attributes and labels are trained.
        transitions: Whether all pairs of labels are.
    """
    layout = examples.layout
    n_node, _, n_edge = examples.index.n_of_kind
    n_labels, width = layout.n_labels, layout.width
    split = n_node * width
    mask = np.zeros(layout.n_weights, np.float32)
    node = mask[:split].reshape(n_node, width)[:, :n_labels]
    edge = mask[split:].reshape(n_edge, n_labels, width)[:, :, :n_labels]
    labels, encoded = examples.labels, examples.encoded
    if states:
        node[:] = 1
    else:
        of_feature = np.repeat(labels, np.diff(encoded.positions))
        plain = encoded.predicates < n_node
        known = plain & (of_feature != NO_LABEL)
        node[encoded.predicates[known], of_feature[known]] = 1
        node[encoded.predicates[plain & ~known]] = 1
    if transitions or (labels == NO_LABEL).any():
        edge[:] = 1
    else:
        is_first = np.zeros(len(labels) + 1, bool)
        is_first[encoded.sentences] = True
        second = np.flatnonzero(~is_first[:-1])
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
