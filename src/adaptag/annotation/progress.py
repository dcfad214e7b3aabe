"""How far the labelling is: the learning curve, agreement, and which labels are weak."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from adaptag.annotation.labels import SPANS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from adaptag.annotation.labels import Label
    from adaptag.annotation.records import CurvePoint, StoredAnswer
    from adaptag.evaluation import Evaluation

__all__ = [
    "agreement_between_annotators",
    "agreement_with_model",
    "annotator_rows",
    "curve_points",
    "label_rows",
    "names_given",
]

RECENT = 50  # answers that the agreement with the model is of
FEW = 5  # spans, below which a label is weak in any case
WEAK = 10.0  # percentage points below the score of all labels
MOST_POINTS = 200  # of the curve on a page


def curve_points(curve: Sequence[CurvePoint]) -> list[dict[str, Any]]:
    """The learning curve, ready for JSON; a long one is thinned out, its last point stays."""
    step = -(-len(curve) // MOST_POINTS) or 1
    return [asdict(point) for point in reversed(curve[::-1][::step])]


def agreement_with_model(answers: Sequence[StoredAnswer]) -> dict[str, Any] | None:
    """How often the last answers were what the model had suggested; None before any suggestion."""
    recent = [a for a in answers if a.suggested is not None and a.labels is not None][-RECENT:]
    if not recent:
        return None
    pairs = [
        (suggested, label)
        for a in recent
        for suggested, label in zip(a.suggested or (), a.labels or (), strict=True)
        if label is not None
    ]
    return {
        "answers": len(recent),
        "sentences": sum(a.suggested == a.labels for a in recent) / len(recent),
        "tokens": sum(s == y for s, y in pairs) / max(1, len(pairs)),
    }


def agreement_between_annotators(answers: Iterable[StoredAnswer]) -> dict[str, Any] | None:
    """How many tokens of sentences that two annotators answered have the same label."""
    latest: dict[int, dict[str, StoredAnswer]] = defaultdict(dict)
    for answer in answers:
        if answer.labels is not None:
            latest[answer.sentence][answer.annotator] = answer
    n = same = total = 0
    for by_name in latest.values():
        given = [a.labels or () for a in by_name.values()]
        n += len(given) > 1
        for other in given[1:]:
            total += len(other)
            same += sum(x == y for x, y in zip(given[0], other, strict=True))
    return {"sentences": n, "tokens": same / max(1, total)} if n else None


def annotator_rows(answers: Iterable[StoredAnswer]) -> list[dict[str, Any]]:
    """For each annotator the number of answers, and the median of the seconds they took."""
    seconds: dict[str, list[float]] = defaultdict(list)
    count: Counter[str] = Counter()
    for answer in answers:
        if answer.labels is not None:
            count[answer.annotator] += 1
            if answer.seconds is not None:
                seconds[answer.annotator].append(answer.seconds)
    return [
        {
            "name": name,
            "answers": n,
            "seconds": statistics.median(seconds[name]) if seconds[name] else None,
        }
        for name, n in count.most_common()
    ]


def names_given(answer: StoredAnswer, kind: str) -> list[str]:
    """The labels of an answer: one for each span, or for each token that has a tag."""
    given = [label for label in answer.labels or () if label is not None]
    return [label[2:] for label in given if label.startswith("B-")] if kind == SPANS else given


def label_rows(
    labels: Sequence[Label], count: Mapping[str, int], held_out: Evaluation | None
) -> list[dict[str, Any]]:
    """For each label how often it was given, its score on held-out answers, and why it is weak.

    Args:
        labels: The labels.
        count: How often each was given.
        held_out: The score of the last training.
    """
    rows = []
    for label in labels:
        score = None if held_out is None else held_out.by_type.get(label.name)
        f1 = None if score is None or not score.gold else score.f1
        n = count.get(label.name, 0)
        weak = ""
        if n < FEW:
            weak = "few examples"
        elif held_out is not None and f1 is not None and f1 < held_out.score - WEAK:
            weak = "low score"
        rows.append({"name": label.name, "count": n, "f1": f1, "weak": weak})
    return rows
