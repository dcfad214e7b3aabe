"""The training of segmenters: spaced text in, a linear chain out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adaptag.corpus.segmented import tag_names
from adaptag.dataset.encoded import Examples
from adaptag.evaluation.segmentation import evaluate_segmentation
from adaptag.features.characters import CharacterIndex
from adaptag.model.linear_chain import LinearChain
from adaptag.parallel import threads_for
from adaptag.segmentation.calibration import best_temperature
from adaptag.segmentation.dictionary import UserDictionary
from adaptag.segmentation.predictor import Patterns
from adaptag.training.job import TrainingJob

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from adaptag.corpus.segmented import SegmentedCorpus
    from adaptag.features.settings import CharacterFeatures
    from adaptag.segmentation.settings import SegmenterSettings
    from adaptag.training.settings import TrainingSettings

    Chain = LinearChain[CharacterIndex]

__all__ = ["segmentation_chain", "segmentation_examples", "segmentation_job"]


def segmentation_job(
    corpus: SegmentedCorpus,
    segmenter: SegmenterSettings,
    features: CharacterFeatures,
    training: TrainingSettings,
    *,
    dev: SegmentedCorpus | None = None,
) -> TrainingJob[Chain]:
    """The job that trains the chain of a segmenter on a corpus."""
    tags = segmenter.check().tags
    index = CharacterIndex.build(corpus, features)

    def build(weights: NDArray[np.float32], record: dict[str, Any]) -> Chain:
        return segmentation_chain(tags, index, weights, record)

    record = {
        **corpus.sizes(),
        "feature_settings": {**features.record(), **segmenter.record()},
    }
    scorer = None if dev is None else _WordScorer(dev, segmenter)
    examples = segmentation_examples(index, corpus, tags)
    return TrainingJob(examples, training, build, scorer, record=record)


class _WordScorer:
    """Scores chains by the F1 of words on development data."""

    metric = "F1"

    def __init__(self, corpus: SegmentedCorpus, settings: SegmenterSettings) -> None:
        self.corpus, self.settings = corpus, settings
        self.texts, self.words = corpus.texts(), corpus.words()

    def calibrated(self, model: Chain) -> Chain:
        predictor = Patterns(model, self.settings).predictor()
        no_words = UserDictionary(model.index.features.fold).native
        return model.with_temperature(best_temperature(predictor, no_words, self.corpus))

    def __call__(self, model: Chain) -> float:
        native = Patterns(model, self.settings).predictor().native
        no_words = UserDictionary(model.index.features.fold).native
        found = native.cut(self.texts, no_words, threads_for(None))
        return evaluate_segmentation(self.words, found, model.index.lexicon().__contains__).f1


def segmentation_chain(
    tags: str, index: CharacterIndex, weights: NDArray[np.float32], record: Mapping[str, Any]
) -> Chain:
    """A trained chain, without what belongs to the segmenter."""
    return LinearChain(tag_names(tags), index, weights, record)


def segmentation_examples(index: CharacterIndex, corpus: SegmentedCorpus, tags: str) -> Examples:
    """The examples of a corpus to train on."""
    return Examples(index, index.encode(corpus), corpus.labels(tags), tag_names(tags))
