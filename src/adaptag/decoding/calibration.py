"""The calibration of a tagger's probabilities: measured, and improved by a temperature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adaptag.corpus.chunks import ChunkScheme
from adaptag.corpus.labels import NO_LABEL, known_sentences
from adaptag.decoding.temperature import fit_temperature
from adaptag.errors import CorpusError
from adaptag.evaluation.calibration import BINS, Calibration, Reliability, reliability

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples
    from adaptag.decoding.model import Model
    from adaptag.decoding.options import DecodingOptions

__all__ = ["best_temperature", "measure_calibration"]

TINY = np.float32(1e-38)  # a smaller probability counts as this


def measure_calibration(
    model: Model, data: Examples, options: DecodingOptions, *, bins: int = BINS
) -> Calibration:
    """Compare the probabilities of predicted labels, chunks and sequences with how often they hold.

    Sentences with labels that are not known do not count.
    """
    data = _fully_labelled(data)
    predicted = model.tag_encoded(data.encoded, options)
    marginals = model.marginals_encoded(data.encoded, options)
    right = predicted == _numbers(model, data)
    parts = {"tokens": reliability(marginals[np.arange(len(right)), predicted], right, bins)}
    if model.scheme.chunked:
        parts["segments"] = _segments(model, data, options, bins)
    best = model.nbest_encoded(data.encoded, 1, options)
    log_p = np.concatenate([scores for _, scores in best])
    all_right = np.logical_and.reduceat(right, data.encoded.sentences[:-1])
    parts["sequences"] = reliability(np.exp(log_p), all_right, bins)
    return Calibration(parts, model.temperature)


def best_temperature(model: Model, data: Examples) -> float:
    """Find the temperature with which the labels of held-out data are most likely, each by itself.

    It maximises Σ_t log P(y_t | x), not log P(y | x): whole sequences are right or wrong as one,
    and the temperature that suits them leaves the probabilities of single labels too extreme.
    Labels that are not known, or that the model does not have, are left out.
    """
    if model.rewrites_labels:  # labels of a sentence are written in another scheme together
        data = _fully_labelled(data)
    numbers = _numbers(model, data)
    tokens = np.flatnonzero(numbers != NO_LABEL)
    gold = numbers[tokens]

    def log_likelihood(temperature: float) -> float:
        table = model.with_temperature(temperature).marginals_encoded(data.encoded)
        return float(np.log(np.maximum(table[tokens, gold], TINY), dtype=np.float64).sum())

    return fit_temperature(log_likelihood)


def _numbers(model: Model, data: Examples) -> NDArray[np.int32]:
    """The label of each token by its number in the model; −1 where it has none."""
    labels, names = data.labels, data.label_names
    if model.rewrites_labels:
        labels, names = model.rewrite(names, labels, data.encoded.sentences)
    numbers = {name: number for number, name in enumerate(model.labels)}
    table = [*(numbers.get(name, NO_LABEL) for name in names), NO_LABEL]
    return np.array(table, np.int32)[labels]


def _fully_labelled(data: Examples) -> Examples:
    """The sentences whose labels are all known, without empty ones."""
    offsets = data.encoded.sentences
    tokens, _ = known_sentences(data.labels, offsets)
    if not len(tokens):
        raise CorpusError("the data has no sentence whose labels are all known")
    return data.select(np.unique(np.searchsorted(offsets, tokens, side="right") - 1))


def _segments(model: Model, data: Examples, options: DecodingOptions, bins: int) -> Reliability:
    """The chunks of the best labels: right where the gold labels have the same chunk."""
    scheme = ChunkScheme(data.label_names)
    offsets = data.encoded.sentences
    gold = {
        (first, end, scheme.types[kind])
        for first, end, kind in scheme.spans(data.labels, offsets).tolist()
    }
    right: list[bool] = []
    probabilities: list[float] = []
    starts: NDArray[np.int64] = offsets[:-1]
    for start, segments in zip(
        starts.tolist(), model.segments_encoded(data.encoded, options), strict=True
    ):
        for segment in segments:
            right.append((start + segment.first, start + segment.last + 1, segment.type) in gold)
            probabilities.append(segment.probability)
    return reliability(probabilities, right, bins)
