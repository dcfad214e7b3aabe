"""The calibration of a segmenter: how often words of some probability are words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adaptag.decoding.temperature import fit_temperature
from adaptag.parallel import threads_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from adaptag._native import core
    from adaptag.corpus.segmented import SegmentedCorpus
    from adaptag.segmentation.predictor import SegmentPredictor

__all__ = ["best_temperature", "word_predictions"]

SUREST = 1 - 1e-7  # a probability closer to 0 or 1 counts as this


def word_predictions(
    native: core.Segmenter, dictionary: core.Lexicon, corpus: SegmentedCorpus
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Cut a segmented text anew: the probability of each word, and whether it is right."""
    _, starts, probabilities = native.marks(corpus.texts(), dictionary, threads_for(None))
    gold = np.zeros(len(starts) + 1, bool)
    lengths = [len(word) for words in corpus.words() for word in words]
    gold[np.cumsum([0, *lengths])] = True
    first = np.flatnonzero(starts)
    end = np.append(first[1:], len(starts))
    before = np.cumsum(gold) - gold  # how many gold words begin before each character
    right = gold[first] & gold[end] & (before[end] - before[first] == 1)
    return probabilities[first], right


def best_temperature(
    predictor: SegmentPredictor, dictionary: core.Lexicon, corpus: SegmentedCorpus
) -> float:
    """Find the temperature with which it is most likely that just the right words are right.

    It maximises Σ log P(w) over the words that are cut right plus Σ log (1 − P(w)) over the others.
    """

    def log_likelihood(temperature: float) -> float:
        native = predictor.with_temperature(temperature).native
        p, right = word_predictions(native, dictionary, corpus)
        chances = np.clip(np.where(right, p, 1 - p), 1 - SUREST, SUREST)
        return float(np.log(chances, dtype=np.float64).sum())

    return fit_temperature(log_likelihood)
