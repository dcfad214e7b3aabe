"""Trains a model from the answers so far."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptag.api import train

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adaptag.annotation.answers import Answer
    from adaptag.decoding.model import Model
    from adaptag.evaluation import Evaluation

__all__ = ["Learner", "Trained"]


@dataclass(frozen=True)
class Trained:
    """A model and its score on held-out answers."""

    model: Model
    held_out: Evaluation | None
    n_answers: int
    seconds: float


class Learner:
    """Trains models on answers to sentences of a pool."""

    def __init__(
        self,
        sentences: Sequence[Sequence[str]],
        *,
        template: str = "general",
        labels: Sequence[str] = (),
        seed: int = 1,
        held_out: float = 0.2,
    ) -> None:
        self.sentences, self.template, self.labels = sentences, template, labels
        self.seed, self.every = seed, round(1 / held_out)

    def train(self, answers: Sequence[Answer]) -> Trained | None:
        """Train on all answers; None where there are too few."""
        begin = time.perf_counter()
        if len({label for answer in answers for label in answer.labels}) < 2 or len(answers) < 3:
            return None
        training = [a for a in answers if a.sentence % self.every]
        dev = [a for a in answers if a.sentence % self.every == 0 and None not in a.labels]
        score = None
        if training and dev and len({x for a in training for x in a.labels}) > 1:
            score = self._train(training).evaluate(*self._data(dev))
        model = self._train(answers)
        return Trained(model, score, len(answers), time.perf_counter() - begin)

    def _data(
        self, answers: Sequence[Answer]
    ) -> tuple[list[list[str]], list[tuple[str | None, ...]]]:
        return [list(self.sentences[a.sentence]) for a in answers], [a.labels for a in answers]

    def _train(self, answers: Sequence[Answer]) -> Model:
        sentences, labels = self._data(answers)
        return train(
            sentences, labels, template=self.template, seed=self.seed, passes=8, scheme="as-is"
        )
