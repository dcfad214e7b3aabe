"""The scores of models on labelled data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adaptag.corpus.labels import known_sentences
from adaptag.decoding.options import DecodingOptions
from adaptag.errors import CorpusError
from adaptag.evaluation import Evaluation, evaluate_ids, metric_of, sentence_counts
from adaptag.settings import AUTO
from adaptag.training.interrupts import interruptible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples
    from adaptag.decoding.model import Model

__all__ = ["TagScorer"]


class TagScorer:
    """Scores models on labelled data; sentences with labels that are not known do not count.

    Attributes:
        metric: What the score is: ``F1`` of chunks or ``accuracy`` of tokens.
    """

    def __init__(
        self, data: Examples, metric: str = AUTO, options: DecodingOptions | None = None
    ) -> None:
        self.data = data
        self.options = options or DecodingOptions()
        self.metric = metric_of(metric, data.label_names)
        self._tokens, self._starts = known_sentences(data.labels, data.encoded.sentences)
        if not len(self._tokens):
            raise CorpusError("the data to score on has no sentence whose labels are all known")

    def evaluate(self, model: Model) -> Evaluation:
        """Tag the data, and compare with its labels."""
        return evaluate_ids(*self._labels(model), metric=self.metric)

    def calibrated(self, model: Model) -> Model:
        """The model with the temperature that fits the data."""
        return model.calibrated(self.data)

    def counts(self, model: Model) -> NDArray[np.int64]:
        """Count the correct, predicted and gold items of each sentence, ``[N, 3]``."""
        return sentence_counts(*self._labels(model), metric=self.metric)

    def _labels(
        self, model: Model
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], tuple[str, ...]]:
        """Gold and predicted labels of the sentences that count, their offsets, and the names."""
        predicted = model.tag_encoded(self.data.encoded, self.options)[self._tokens]
        gold, names = self.data.labels[self._tokens], self.data.label_names
        if model.rewrites_labels:
            gold, names = model.rewrite(names, gold, self._starts)
        if names[: len(model.labels)] != model.labels:
            names = tuple(dict.fromkeys([*names, *model.labels]))
            numbers = {name: number for number, name in enumerate(names)}
            predicted = np.array([numbers[name] for name in model.labels], np.int32)[predicted]
        return gold, predicted, self._starts, names

    def __call__(self, model: Model) -> float:
        """The score in percent."""
        with interruptible():
            return self.evaluate(model).score
