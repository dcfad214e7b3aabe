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
    from adaptag.pycrfsuite.parameters import Conversion
    from adaptag.training.job import TrainingJob
    from adaptag.training.settings import TrainingSettings

    Weights = NDArray[np.float32]

__all__ = ["restrict", "seen_pairs"]


def restrict(job: TrainingJob[Any], conversion: Conversion) -> int:
    """Have a job train only the weights that CRFsuite would, where its algorithm can.

    Args:
        job: The job, whose features are attributes, those of value 0 included: CRFsuite takes
            them for occurrences. The job goes on without them.
        conversion: Which weights there are.

    Returns:
        The number of weights that are trained.
    """
    examples = job.examples
    node, both, edge = examples.index.n_of_kind
    n_labels = len(examples.label_names)
    n_weights = (node + both) * n_labels + (both + edge) * n_labels**2
    job.data = without_zeros(examples)
    every = conversion.states and conversion.transitions and not conversion.min_frequency
    if both or every or job.settings.chosen.online:
        return n_weights
    mask = seen_pairs(
        examples,
        states=conversion.states,
        transitions=conversion.transitions,
        min_frequency=conversion.min_frequency,
    )
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


def seen_pairs(
    examples: Examples, *, states: bool, transitions: bool, min_frequency: float = 0.0
) -> Weights:
    """Mark the weights that are trained: 1 where a pair occurs in the data, else 0.

    A token whose label is not known may have any.

    Args:
        examples: The training data; its features are attributes and label bigrams.
        states: Whether pairs of attributes and labels are trained that do not occur.
        transitions: Whether pairs of labels are.
        min_frequency: The minimum frequency of a pair: the sum of the values of the attribute, or
            the number of occurrences of labels. 0 for no minimum.
    """
    layout, encoded = examples.layout, examples.encoded
    n_node, _, n_edge = examples.index.n_of_kind
    n_labels, width = layout.n_labels, layout.width
    split = n_node * width
    mask = np.zeros(layout.n_weights, np.float32)
    node = mask[:split].reshape(n_node, width)[:, :n_labels]
    edge = mask[split:].reshape(n_edge, n_labels, width)[:, :, :n_labels]
    node[:], edge[:] = states, transitions
    plain = encoded.predicates < n_node
    predicates = encoded.predicates[plain].astype(np.int64)
    labels = np.repeat(examples.labels, np.diff(encoded.positions))[plain]
    is_first = np.zeros(examples.n_tokens + 1, bool)
    is_first[encoded.sentences] = True
    second = np.flatnonzero(~is_first[:-1])
    before, after = examples.labels[second - 1], examples.labels[second]
    known, both_known = labels != NO_LABEL, (before != NO_LABEL) & (after != NO_LABEL)
    places = predicates[known] * width + labels[known]
    mask[places] = 1
    edge[:, before[both_known], after[both_known]] = 1
    if min_frequency:
        values = None if encoded.values is None else encoded.values[plain][known]
        node *= np.bincount(places, values, split).reshape(-1, width)[:, :n_labels] >= min_frequency
        pairs = before[both_known] * n_labels + after[both_known]
        counts = np.bincount(pairs, minlength=n_labels**2).reshape(n_labels, n_labels)
        edge *= counts >= min_frequency
    node[predicates[~known]] = 1
    if not both_known.all():
        edge[:] = 1
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
