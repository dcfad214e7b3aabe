"""What a project holds: sentences, answers and points of the learning curve."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from adaptag.errors import AdaptagError

__all__ = [
    "ACCEPTED",
    "CORRECTED",
    "IMPORTED",
    "SKIPPED",
    "CurvePoint",
    "ImportedText",
    "ProjectError",
    "Sentence",
    "StoredAnswer",
    "answer_of",
    "sentence_of",
]

ACCEPTED, CORRECTED, SKIPPED, IMPORTED = "accepted", "corrected", "skipped", "imported"


class ProjectError(AdaptagError):
    """A project cannot be opened or changed."""


@dataclass(frozen=True)
class Sentence:
    """A sentence of a project.

    Attributes:
        number: Its number in the pool.
        text: Its characters.
        tokens: The start and end of each token in ``text``.
        source: The file that it came from.
    """

    number: int
    text: str
    tokens: tuple[tuple[int, int], ...]
    source: str

    @property
    def words(self) -> list[str]:
        """The tokens as strings."""
        return [self.text[start:end] for start, end in self.tokens]

    def to_dict(self) -> dict[str, Any]:
        """The tokens and what stands before each of them, ready for JSON."""
        ends = [0, *(end for _, end in self.tokens)]
        gaps = [self.text[a:start] for a, (start, _) in zip(ends, self.tokens, strict=False)]
        return {
            "sentence": self.number,
            "words": self.words,
            "gaps": gaps,
            "source": self.source,
        }


@dataclass(frozen=True)
class ImportedText:
    """A text to add to a project.

    Attributes:
        text: The text.
        sentences: For each sentence the start and end of its tokens.
        labels: For each sentence the labels of its tokens, or None where it is not labelled.
    """

    text: str
    sentences: list[list[tuple[int, int]]]
    labels: list[list[str | None] | None]


@dataclass(frozen=True)
class StoredAnswer:
    """An answer as it is kept.

    Attributes:
        number: Its number: later answers have higher ones.
        sentence: The number of the sentence.
        annotator: The name of the annotator.
        kind: ``accepted``, ``corrected``, ``skipped`` or ``imported``.
        labels: The labels; None for a sentence that was skipped.
        suggested: What the model had suggested, if anything.
        confidence: The confidence of the suggestion.
        seconds: How long the annotator took.
        time: When it was given, in seconds since 1970.
    """

    number: int
    sentence: int
    annotator: str
    kind: str
    labels: tuple[str | None, ...] | None
    suggested: tuple[str, ...] | None = None
    confidence: float | None = None
    seconds: float | None = None
    time: float = 0.0


@dataclass(frozen=True)
class CurvePoint:
    """A point of the learning curve: the score on held-out answers after so many answers."""

    answers: int
    metric: str
    score: float
    seconds: float
    time: float


def sentence_of(number: int, text: str, tokens: str, source: str) -> Sentence:
    """A sentence with its own characters only; its offsets count from its first token."""
    offsets = json.loads(tokens)
    first, end = offsets[0][0], offsets[-1][1]
    moved = tuple((a - first, b - first) for a, b in offsets)
    return Sentence(number, text[first:end], moved, source)


def answer_of(
    number: int,
    sentence: int,
    annotator: str,
    kind: str,
    labels: str | None,
    suggested: str | None,
    *rest: Any,
) -> StoredAnswer:
    """An answer from its row."""
    given = None if labels is None else tuple(json.loads(labels))
    shown = None if suggested is None else tuple(json.loads(suggested))
    return StoredAnswer(number, sentence, annotator, kind, given, shown, *rest)
