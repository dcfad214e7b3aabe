"""Answers that are probably mistakes: labels that a model of the other answers finds improbable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adaptag.annotation.answers import Answer
    from adaptag.annotation.learner import Learner
    from adaptag.decoding.model import Model

__all__ = ["Disagreement", "disagreements"]

FOLDS = 4
LEAST = 8  # answers, below which there is nothing to compare with


@dataclass(frozen=True)
class Disagreement:
    """An answer that differs from what the model of the other answers says.

    Attributes:
        answer: The answer.
        labels: What the model says.
        probability: The probability of the most improbable label of the answer.
    """

    answer: Answer
    labels: tuple[str, ...]
    probability: float


def disagreements(
    learner: Learner, sentences: Sequence[Sequence[str]], answers: Sequence[Answer], *, seed: int
) -> list[Disagreement]:
    """Compare each answer with a model that was trained without it, likely mistakes first.

    Args:
        learner: Trains the models, one for each fold.
        sentences: The tokens of all sentences of the pool.
        answers: The answers.
        seed: Decides which answers are in which fold.
    """
    if len(answers) < LEAST:
        return []
    fold = np.random.default_rng(seed).permutation(len(answers)) % FOLDS
    found = []
    for k in range(FOLDS):
        trained = learner.train([a for a, f in zip(answers, fold, strict=True) if f != k])
        if trained is None:
            continue
        for answer, f in zip(answers, fold, strict=True):
            if f == k:
                found.append(_compare(trained.model, sentences[answer.sentence], answer))
    return sorted(
        (item for item in found if item is not None),
        key=lambda item: (item.probability, item.answer.sentence),
    )


def _compare(model: Model, words: Sequence[str], answer: Answer) -> Disagreement | None:
    """The difference between an answer and a model; None where there is none."""
    labels = tuple(model.tag(words))
    pairs = list(zip(labels, answer.labels, strict=True))
    if all(given is None or given == label for label, given in pairs):
        return None
    rows = model.marginals(words)
    given = [
        row.get(label, 0.0)
        for row, label in zip(rows, answer.labels, strict=True)
        if label is not None
    ]
    return Disagreement(answer, labels, min(given))
