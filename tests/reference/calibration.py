"""Calibration in plain Python: one prediction after the other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tests.reference.crf import BruteForce, Scores

if TYPE_CHECKING:
    from collections.abc import Sequence


def bin_of(probability: float, bins: int) -> int:
    """The first bin whose upper end is not below the probability."""
    return next(k for k in range(bins) if k == bins - 1 or probability <= (k + 1) / bins)


def expected_calibration_error(
    probabilities: Sequence[float], right: Sequence[bool], bins: int
) -> float:
    """Σ over bins of (share of predictions) · |mean probability − share that is right|."""
    members: list[list[int]] = [[] for _ in range(bins)]
    for number, probability in enumerate(probabilities):
        members[bin_of(probability, bins)].append(number)
    total = 0.0
    for numbers in filter(None, members):
        mean = sum(probabilities[i] for i in numbers) / len(numbers)
        share = sum(right[i] for i in numbers) / len(numbers)
        total += len(numbers) / len(probabilities) * abs(mean - share)
    return total


def cooled(s: Scores, temperature: float) -> Scores:
    """The scores of a sentence, divided by a temperature."""
    return Scores(s.node / temperature, s.edge / temperature)


def label_log_likelihood(
    scores: Sequence[Scores], labels: Sequence[Sequence[int]], temperature: float
) -> float:
    """Σ_t log P(y_t | x) over all sentences, by listing all paths; −1 is not known."""
    total = 0.0
    for s, gold in zip(scores, labels, strict=True):
        table = BruteForce(cooled(s, temperature)).marginals().node
        total += sum(math.log(table[t, y]) for t, y in enumerate(gold) if y >= 0)
    return total
