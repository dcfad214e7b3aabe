"""What a model suggests for a sentence."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from adaptag.decoding.model import Model

__all__ = ["Suggestion", "suggest"]


@dataclass(frozen=True)
class Suggestion:
    """Labels that a model suggests.

    Attributes:
        labels: A label for each token.
        confidence: The probability that all of them are right.
        spans: The spans: first token, last token, label and probability of each.
        tokens: The probability of each token's label.
    """

    labels: tuple[str, ...]
    confidence: float
    spans: tuple[tuple[int, int, str, float], ...]
    tokens: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """The suggestion, ready for JSON."""
        return asdict(self)


def suggest(model: Model, words: Sequence[str], names: Collection[str]) -> Suggestion | None:
    """Tag a sentence; None where the model gives a label that the project no longer has."""
    legal = "auto" if model.scheme.chunked and model.label_scheme else None
    labels = tuple(model.tag(words, legal=legal))
    if not set(labels) <= set(names):
        return None
    rows = model.marginals(words, legal=legal)
    tokens = tuple(row[label] for row, label in zip(rows, labels, strict=True))
    spans: tuple[tuple[int, int, str, float], ...] = ()
    if model.scheme.chunked:
        spans = tuple(
            (s.first, s.last, s.type, s.probability) for s in model.segments(words, legal=legal)
        )
    return Suggestion(labels, model.probability(words, labels, legal=legal), spans, tokens)
