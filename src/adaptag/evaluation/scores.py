"""Token accuracy and chunk precision, recall and F1, as conlleval counts them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.corpus.chunks import ChunkScheme
from adaptag.corpus.lists import label_lists
from adaptag.errors import AdaptagError, CorpusError, ParameterError, described, unknown
from adaptag.rendering.tables import Shown
from adaptag.settings import AUTO

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = [
    "Evaluation",
    "Score",
    "conlleval_text",
    "evaluate_ids",
    "evaluate_sequences",
    "marks_chunks",
    "metric_of",
    "sentence_counts",
]

F1 = "F1"
ACCURACY = "accuracy"
METRICS = (AUTO, F1, ACCURACY)


def _percent(part: int, total: int) -> float:
    return 100 * part / total if total else 0.0


@dataclass(frozen=True, repr=False)
class Score:
    """How many items are right, were predicted, and are in the gold data."""

    correct: int
    predicted: int
    gold: int

    @classmethod
    def total(cls, scores: Iterable[Score]) -> Score:
        """The score of all items together (micro average)."""
        counts = ((score.correct, score.predicted, score.gold) for score in scores)
        return cls(*map(sum, zip((0, 0, 0), *counts, strict=True)))

    def __repr__(self) -> str:
        rates = f"F1 {self.f1:.2f}, precision {self.precision:.2f}, recall {self.recall:.2f}"
        counts = f"{self.correct:,} right of {self.predicted:,} predicted, {self.gold:,} gold"
        return f"<{type(self).__name__}: {rates}; {counts}>"

    @property
    def precision(self) -> float:
        """The percentage of the predicted items that are right."""
        return _percent(self.correct, self.predicted)

    @property
    def recall(self) -> float:
        """The percentage of the gold items that were found."""
        return _percent(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, in percent."""
        p, r = self.precision, self.recall
        return 2 * p * r / (p + r) if p + r else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Counts and percentages, ready for JSON."""
        rates = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return asdict(self) | rates


@dataclass(frozen=True, repr=False)
class Evaluation(Shown):
    """How well predicted labels match gold labels.

    Printed, and in a notebook, it is a table with a row for each type.

    Attributes:
        tokens: The number of tokens; 0 where spans of texts were compared, not tokens.
        correct_tokens: The number of tokens with the right label.
        chunks: The score of all chunks; none if the labels are not chunk labels.
        by_type: The score of each chunk type that occurs; if the labels are not chunk labels, of
            the tokens with each label.
    """

    tokens: int
    correct_tokens: int
    chunks: Score | None
    by_type: dict[str, Score]

    def __repr__(self) -> str:
        accuracy = f"accuracy {self.accuracy:.2f} of {self.tokens:,} tokens"
        if self.chunks is None:
            return f"<Evaluation: {accuracy}>"
        rates = f"F1 {self.f1:.2f}, precision {self.precision:.2f}, recall {self.recall:.2f}"
        return f"<Evaluation: {rates}{f'; {accuracy}' if self.tokens else ''}>"

    def _shown(self) -> list[Any]:
        from adaptag.evaluation.table import table

        return [table(self)]

    @property
    def total(self) -> Score:
        """The score of all types together: of all chunks, or of all tokens."""
        return Score.total(self.by_type.values()) if self.chunks is None else self.chunks

    @property
    def precision(self) -> float:
        """The percentage of the predicted chunks that are right.

        Where the labels are not chunk labels, it is the accuracy: each token has one gold and one
        predicted label.
        """
        return self.total.precision

    @property
    def recall(self) -> float:
        """The percentage of the gold chunks that were found; without chunks the accuracy."""
        return self.total.recall

    @property
    def f1(self) -> float:
        """F1 of all chunks (micro average), in percent; without chunks the accuracy."""
        return self.total.f1

    @property
    def accuracy(self) -> float:
        """The percentage of tokens with the right label."""
        return _percent(self.correct_tokens, self.tokens)

    @property
    def metric(self) -> str:
        """What ``score`` is: ``F1`` of chunks, or ``accuracy`` of tokens."""
        return "accuracy" if self.chunks is None else "F1"

    @property
    def score(self) -> float:
        """The one number to compare by: chunk F1 if there are chunks, else token accuracy."""
        return self.accuracy if self.chunks is None else self.chunks.f1

    @property
    def _counted(self) -> bool:
        return bool(self.tokens or self.by_type)

    def __add__(self, other: Evaluation) -> Evaluation:
        """The evaluation of both data together."""
        if not self._counted or not other._counted:
            return self if self._counted else other
        chunked = self.chunks is not None and other.chunks is not None
        names = {**self.by_type, **other.by_type}
        none = Score(0, 0, 0)
        by_type = {
            name: Score.total([self.by_type.get(name, none), other.by_type.get(name, none)])
            for name in names
        }
        return Evaluation(
            self.tokens + other.tokens,
            self.correct_tokens + other.correct_tokens,
            Score.total(by_type.values()) if chunked else None,
            by_type,
        )

    def to_dict(self) -> dict[str, Any]:
        """All numbers, ready for JSON."""
        return {
            "score": self.score,
            "accuracy": self.accuracy,
            "tokens": self.tokens,
            "correct_tokens": self.correct_tokens,
            "chunks": self.chunks and self.chunks.to_dict(),
            "by_type": {name: score.to_dict() for name, score in self.by_type.items()},
        }


def marks_chunks(metric: str, labels: Sequence[str]) -> bool:
    """Whether a metric scores chunks; ``auto`` does where the labels, as a whole, mark them."""
    if not isinstance(metric, str) or metric not in METRICS:
        raise ParameterError(unknown("metric", metric, METRICS))
    if metric == F1 and not ChunkScheme(labels, chunked=True).chunked:
        raise ParameterError("metric is 'F1', but no label marks a chunk (B-X, I-X, …)")
    return ChunkScheme(labels).chunked if metric == AUTO else metric == F1


def metric_of(metric: str, labels: Sequence[str]) -> str:
    """The metric for labels: ``F1`` or ``accuracy``, decided by the labels where it is ``auto``."""
    return F1 if marks_chunks(metric, labels) else ACCURACY


def evaluate_ids(
    gold: NDArray[np.integer[Any]],
    predicted: NDArray[np.integer[Any]],
    sentence_offsets: NDArray[np.integer[Any]],
    labels: Sequence[str],
    *,
    metric: str = AUTO,
) -> Evaluation:
    """Compare two labellings of a corpus, given as indices into ``labels`` (all distinct).

    Args:
        gold: The gold labels, ``[T]``.
        predicted: The predicted labels, ``[T]``.
        sentence_offsets: ``[N+1]``, where each sentence starts, then the number of tokens.
        labels: The names of the labels.
        metric: ``F1`` scores chunks, ``accuracy`` tokens, ``auto`` what the labels mark.
    """
    if gold.shape != predicted.shape:
        raise AdaptagError(f"{gold.size} gold labels but {predicted.size} predicted ones")
    scheme = ChunkScheme(labels, chunked=marks_chunks(metric, labels))
    right = gold[gold == predicted]
    if scheme.chunked:
        same, guess, truth = _chunks(scheme, gold, predicted, sentence_offsets)
        by_type = _by_type(scheme.types, same[:, 2], guess[:, 2], truth[:, 2])
        chunks = Score.total(by_type.values())
    else:
        by_type, chunks = _by_type(labels, right, predicted, gold), None
    return Evaluation(gold.size, right.size, chunks, by_type)


def sentence_counts(
    gold: NDArray[np.integer[Any]],
    predicted: NDArray[np.integer[Any]],
    sentence_offsets: NDArray[np.integer[Any]],
    labels: Sequence[str],
    *,
    metric: str = AUTO,
) -> NDArray[np.int64]:
    """Count the correct, predicted and gold items of each sentence, ``[N, 3]``.

    Items are chunks, or tokens where the labels are not chunk labels: F1 of the sums is then token
    accuracy.
    """
    scheme = ChunkScheme(labels, chunked=marks_chunks(metric, labels))
    if scheme.chunked:
        first_tokens = [c[:, 0] for c in _chunks(scheme, gold, predicted, sentence_offsets)]
    else:
        tokens = np.arange(gold.size)
        first_tokens = [tokens[gold == predicted], tokens, tokens]
    n = len(sentence_offsets) - 1
    places = [np.searchsorted(sentence_offsets, first, "right") - 1 for first in first_tokens]
    return np.stack([np.bincount(p, minlength=n) for p in places], axis=1).astype(np.int64)


def _chunks(
    scheme: ChunkScheme,
    gold: NDArray[np.integer[Any]],
    predicted: NDArray[np.integer[Any]],
    sentence_offsets: NDArray[np.integer[Any]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The chunks that are correct, predicted and gold, each ``[n, 3]``, as ``spans`` gives them."""
    guess, truth = (scheme.spans(ids, sentence_offsets) for ids in (predicted, gold))
    # Chunks do not overlap, so a gold chunk can only equal the one predicted from its start.
    guess_from = np.zeros((gold.size, 3), dtype=np.int64)
    guess_from[guess[:, 0]] = guess
    return truth[(guess_from[truth[:, 0]] == truth).all(axis=1)], guess, truth


def _by_type(names: Sequence[str], *items: NDArray[np.integer[Any]]) -> dict[str, Score]:
    """Count the correct, predicted and gold items of each type that occurs."""
    counts = np.stack([np.bincount(types, minlength=len(names)) for types in items], axis=1)
    return {name: Score(*row) for name, row in zip(names, counts.tolist(), strict=True) if any(row)}


def evaluate_sequences(
    gold: Iterable[Iterable[str]], predicted: Iterable[Iterable[str]], *, metric: str = AUTO
) -> Evaluation:
    """Compare the labels of sentences.

    Args:
        gold: The gold labels of each sentence.
        predicted: The predicted labels of each sentence.
        metric: ``F1`` scores chunks, ``accuracy`` tokens, ``auto`` what the labels mark.

    Raises:
        AdaptagError: The two differ in the number of sentences, or of labels in a sentence.
    """
    truths, guesses = _checked_labels(gold, "gold"), _checked_labels(predicted, "predicted")
    if len(truths) != len(guesses):
        raise AdaptagError(f"{len(truths)} gold sentences but {len(guesses)} predicted ones")
    for number, (truth, guess) in enumerate(zip(truths, guesses, strict=True), start=1):
        if len(truth) != len(guess):
            raise AdaptagError(
                f"sentence {number}: {len(truth)} gold labels but {len(guess)} predicted ones"
            )
    labels = sorted({*chain(*truths), *chain(*guesses)})
    index = {label: i for i, label in enumerate(labels)}
    true_ids, predicted_ids = (
        np.array([index[label] for label in chain(*side)], dtype=np.int32)
        for side in (truths, guesses)
    )
    offsets = np.cumsum([0, *map(len, truths)])
    return evaluate_ids(true_ids, predicted_ids, offsets, labels, metric=metric)


def _checked_labels(sentences: Iterable[Iterable[str]], side: str) -> list[list[str]]:
    """The labels of each sentence as a list; raise unless they are strings."""
    lists = label_lists(sentences, side)
    for number, labels in enumerate(lists, 1):
        for label in labels:
            if not isinstance(label, str):
                raise CorpusError(
                    f"{side}, sentence {number}: a label is {described(label)}; allowed: a string"
                )
    return lists


def conlleval_text(evaluation: Evaluation) -> str:
    """What ``conlleval.pl`` prints; for labels that are not chunk labels, ``conlleval.pl -r``.

    With ``-r`` each token whose label is not ``O`` is a phrase. The script repeats the line of
    chunks without a type; here it stands once.
    """
    by_type = {
        name: score
        for name, score in sorted(evaluation.by_type.items())
        if evaluation.chunks is not None or name != "O"
    }
    total = Score.total(by_type.values())
    text = (
        f"processed {evaluation.tokens} tokens with {total.gold} phrases; "
        f"found: {total.predicted} phrases; correct: {total.correct}.\n"
    )
    if evaluation.tokens:
        text += f"accuracy: {evaluation.accuracy:6.2f}%; {_rates(total)}\n"
    for name, score in by_type.items():
        text += f"{name:>17}: {_rates(score)}  {score.predicted}\n"
    return text


def _rates(score: Score) -> str:
    return f"precision: {score.precision:6.2f}%; recall: {score.recall:6.2f}%; FB1: {score.f1:6.2f}"
