"""Answers that are probably mistakes: labels that models of other answers find improbable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptag.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adaptag.annotation.answers import Answer
    from adaptag.annotation.learner import Learner
    from adaptag.decoding.model import Model

__all__ = ["Disagreement", "disagreements"]

DOUBTFUL = 0.5  # the probability below which another label is expected


@dataclass(frozen=True)
class Disagreement:
    """An answer that models of other answers find improbable.

    Attributes:
        answer: The answer.
        labels: What is more probable: the best labels without those that are doubtful.
        probability: The probability of the most improbable label of the answer.
    """

    answer: Answer
    labels: tuple[str, ...]
    probability: float


def disagreements(
    learner: Learner, model: Model, sentences: Sequence[Sequence[str]], answers: Sequence[Answer]
) -> list[Disagreement]:
    """Compare answers with models that were trained without them, likely mistakes first.

    Args:
        learner: Trains the models.
        model: A model of all answers.
        sentences: The tokens of all sentences of the pool.
        answers: The answers.
    """
    given = {answer.sentence: answer for answer in answers}
    found = []
    for number, probabilities in learner.label_probabilities(answers).items():
        doubtful = probabilities < DOUBTFUL
        if not doubtful.any():
            continue
        answer = given[number]
        allowed = [
            [name for name in model.labels if name != label] if doubt else None
            for label, doubt in zip(answer.labels, doubtful.tolist(), strict=True)
        ]
        try:
            labels = tuple(model.tag(sentences[number], allowed=allowed))
        except CorpusError:  # no labels are left that may follow each other
            labels = tuple(model.tag(sentences[number]))
        found.append(Disagreement(answer, labels, float(probabilities.min())))
    return sorted(found, key=lambda item: (item.probability, item.answer.sentence))
