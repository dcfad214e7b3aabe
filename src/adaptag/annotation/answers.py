"""What a person answered to a sentence."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Answer"]


@dataclass(frozen=True)
class Answer:
    """The labels that a person gave to the tokens of a sentence.

    Attributes:
        sentence: The number of the sentence in the pool.
        labels: A label for each token, such as ``B-PER``; None where a token was not labelled.
    """

    sentence: int
    labels: tuple[str | None, ...]
