"""Scores of word segmentation, as the script of the SIGHAN bakeoffs counts them.

The script compares the words of a line with ``diff``: a word is right where it is part of the
longest common subsequence of the gold and the predicted words (Emerson 2005). Words that are not in
the training data are out of vocabulary (OOV), the others in vocabulary (IV).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from adaptag.errors import CorpusError, described
from adaptag.evaluation.scores import Score
from adaptag.rendering.tables import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.table import Table

__all__ = ["SegmentationScore", "evaluate_segmentation", "segmentation_table"]

LONG_LINE = 500  # words; longer ones are compared in parts
LONG_PART = 4 * LONG_LINE  # words of both sides without a common boundary, after which one is made


@dataclass(frozen=True, repr=False)
class SegmentationScore(Shown, Score):
    """Words right, predicted and in the gold data; and those of the gold data that are OOV.

    Printed, and in a notebook, it is a table.

    Attributes:
        oov: The number of gold words that are not in the training data.
        oov_correct: The number of those that were predicted.
    """

    oov: int = 0
    oov_correct: int = 0

    def _shown(self) -> list[Any]:
        return [segmentation_table(self)]

    @property
    def metric(self) -> str:
        """What ``score`` is."""
        return "F1"

    @property
    def score(self) -> float:
        """The one number to compare by."""
        return self.f1

    @property
    def oov_rate(self) -> float:
        """The percentage of the gold words that are OOV."""
        return Score(self.oov, self.oov, self.gold).recall

    @property
    def oov_recall(self) -> float:
        """The percentage of the OOV words that were found: the recall of new word detection."""
        return Score(self.oov_correct, self.oov, self.oov).recall

    @property
    def iv_recall(self) -> float:
        """The percentage of the other words that were found."""
        known = self.gold - self.oov
        return Score(self.correct - self.oov_correct, known, known).recall

    def to_dict(self) -> dict[str, Any]:
        """Counts and percentages, ready for JSON."""
        rates = ("precision", "recall", "f1", "oov_rate", "oov_recall", "iv_recall")
        return asdict(self) | {name: getattr(self, name) for name in rates}


def evaluate_segmentation(
    gold: Iterable[Sequence[str]],
    predicted: Iterable[Sequence[str]],
    known: Callable[[str], bool] = lambda _: True,
) -> SegmentationScore:
    """Score predicted words against gold words, sentence by sentence.

    Args:
        gold: The gold words of every sentence.
        predicted: The predicted words of every sentence.
        known: Whether a word is in the training data.

    Examples:
        >>> from adaptag.evaluation.segmentation import evaluate_segmentation
        >>> gold, predicted = [["研究", "生命"]], [["研究生", "命"]]
        >>> score = evaluate_segmentation(gold, predicted, {"研究"}.__contains__)
        >>> score.f1, score.oov_rate
        (0.0, 50.0)
    """
    correct = n_gold = n_predicted = oov = oov_correct = 0
    predictions = iter(predicted)
    number = 0
    for number, words in enumerate(gold, 1):
        predicted_words = next(predictions, None)
        if predicted_words is None or "".join(words) != "".join(predicted_words):
            texts = "".join(words), "".join(predicted_words or [])
            raise CorpusError(
                f"sentence {number}: gold and predicted words are of different texts: "
                f"{' and '.join(map(described, texts))}"
            )
        right = common_words(words, predicted_words)
        new = [not known(word) for word in words]
        correct += sum(right)
        n_gold += len(words)
        n_predicted += len(predicted_words)
        oov += sum(new)
        oov_correct += sum(a and b for a, b in zip(right, new, strict=True))
    if next(predictions, None) is not None:
        raise CorpusError(f"there are more predicted than gold sentences, of which {number}")
    return SegmentationScore(correct, n_predicted, n_gold, oov, oov_correct)


def common_words(gold: Sequence[str], predicted: Sequence[str]) -> list[bool]:
    """Mark the gold words of a longest common subsequence (Myers 1986)."""
    right = [False] * len(gold)
    first = 0
    last_gold, last_predicted = len(gold), len(predicted)
    while first < min(last_gold, last_predicted) and gold[first] == predicted[first]:
        right[first] = True
        first += 1
    while (
        min(last_gold, last_predicted) > first
        and gold[last_gold - 1] == predicted[last_predicted - 1]
    ):
        last_gold, last_predicted = last_gold - 1, last_predicted - 1
        right[last_gold] = True
    for a, b in _parts(gold[first:last_gold], predicted[first:last_predicted]):
        for x in _matches(
            gold[first + a.start : first + a.stop], predicted[first:][b.start : b.stop]
        ):
            right[first + a.start + x] = True
    return right


def _parts(gold: Sequence[str], predicted: Sequence[str]) -> Iterator[tuple[slice, slice]]:
    """Divide long lines where both have a boundary: time and memory grow with the square.

    Where no boundary is common for very many words, as beside a word of thousands of characters,
    they are divided anyway.
    """
    a = b = a_length = b_length = 0
    a_first = b_first = 0
    while a < len(gold) and b < len(predicted):
        if a_length <= b_length:
            a_length += len(gold[a])
            a += 1
        else:
            b_length += len(predicted[b])
            b += 1
        too_long = a - a_first + b - b_first >= LONG_PART
        if too_long or (a_length == b_length and a - a_first >= LONG_LINE):
            yield slice(a_first, a), slice(b_first, b)
            a_first, b_first = a, b
    yield slice(a_first, len(gold)), slice(b_first, len(predicted))


def _matches(a: Sequence[str], b: Sequence[str]) -> list[int]:
    """Positions in ``a`` of a longest common subsequence: the shortest edit script, backwards."""
    if not a or not b:
        return []
    if len(a) + len(b) >= LONG_PART:  # words of one side only are right nowhere
        common = set(a) & set(b)
        places = [x for x, word in enumerate(a) if word in common]
        if len(places) < len(a):
            rest = [word for word in b if word in common]
            return [places[x] for x in _matches([a[x] for x in places], rest)]
    furthest = {1: 0}  # diagonal x − y → the largest x reached with this many edits
    trace = []
    for edits in range(len(a) + len(b) + 1):
        trace.append(dict(furthest))
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1])
            x = furthest[k + 1] if down else furthest[k - 1] + 1
            while x < len(a) and x - k < len(b) and a[x] == b[x - k]:
                x += 1
            furthest[k] = x
            if x >= len(a) and x - k >= len(b):
                return _trace_back(trace, len(a), len(b))
    raise AssertionError("an edit script always exists")


def _trace_back(trace: list[dict[int, int]], x: int, y: int) -> list[int]:
    positions: list[int] = []
    for edits in range(len(trace) - 1, -1, -1):
        before, k = trace[edits], x - y
        down = k == -edits or (k != edits and before[k - 1] < before[k + 1])
        x_before = before[k + 1] if down else before[k - 1]
        x_start = (x_before if down else x_before + 1) if edits else 0
        positions += range(x_start, x)
        x = x_before
        y = x - (k + 1 if down else k - 1)
    return positions


def segmentation_table(score: SegmentationScore) -> Table:
    """The figures of a bakeoff, as a table for the terminal."""
    from rich import box
    from rich.table import Table

    caption = f"{score.gold:,} gold words, {score.predicted:,} predicted, {score.correct:,} right"
    result = Table(box=box.HORIZONTALS, caption=caption, caption_justify="left")
    for heading in ("precision", "recall", "F1", "OOV rate", "OOV recall", "IV recall"):
        result.add_column(heading, justify="right", style="bold" if heading == "F1" else "")
    rates = (score.precision, score.recall, score.f1)
    vocabulary = (score.oov_rate, score.oov_recall, score.iv_recall)
    result.add_row(*(f"{rate:.2f}" for rate in (*rates, *vocabulary)))
    return result
