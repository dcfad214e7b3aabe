"""The scores of labelled spans of texts, by characters: tokens play no part."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from adaptag.errors import AdaptagError, described
from adaptag.evaluation.scores import Evaluation, Score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adaptag.corpus.spans import TaggedText

__all__ = ["evaluate_spans"]


def evaluate_spans(gold: Sequence[TaggedText], predicted: Sequence[TaggedText]) -> Evaluation:
    """Compare the spans of texts: right are those whose start, end and label all agree.

    Args:
        gold: The texts with the right spans.
        predicted: The same texts, in the same order, with the predicted spans.

    Raises:
        AdaptagError: The texts are not the same.
    """
    if len(gold) != len(predicted):
        raise AdaptagError(f"{len(gold)} gold texts but {len(predicted)} predicted ones")
    counts: tuple[Counter[str], Counter[str], Counter[str]] = (Counter(), Counter(), Counter())
    for number, (truth, guess) in enumerate(zip(gold, predicted, strict=True), 1):
        if truth.text != guess.text:
            raise AdaptagError(
                f"text {number}: {described(truth.text)} in the gold data, but "
                f"{described(guess.text)} in the predicted data"
            )
        right, found = (
            {(span.start, span.end, span.label) for span in text} for text in (truth, guess)
        )
        for counter, spans in zip(counts, (right & found, found, right), strict=True):
            counter.update(label for _, _, label in spans)
    names = sorted({*counts[1], *counts[2]})
    by_type = {name: Score(*(counter[name] for counter in counts)) for name in names}
    return Evaluation(0, 0, Score.total(by_type.values()), by_type)
