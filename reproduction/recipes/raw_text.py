"""Features of characters, words and raw text for word segmentation, as attributes of characters.

Those of Sun, Wang and Li (2012), and accessor variety and mutual information of raw text, after
He and Wang (2012). As they do, a feature that is false does not fire: a template, where a column
always has a value, gives features that fire almost everywhere.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from adaptag.features.extractors import Extractor

__all__ = ["KnownWords", "character_attributes"]

LEAST = 3  # occurrences that make words and pairs of words of the training data known
LONGEST = 6  # characters of a known word
OUTSIDE = "#"


@dataclass(frozen=True)
class KnownWords:
    """The frequent words, and pairs of neighbouring words, of training data."""

    words: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    first: frozenset[str]  # the first words of the pairs

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]]) -> KnownWords:
        """Count the words of segmented sentences."""
        words = Counter(word for sentence in sentences for word in sentence)
        pairs = Counter(pair for sentence in sentences for pair in itertools.pairwise(sentence))
        known = frozenset(pair for pair, n in pairs.items() if n >= LEAST)
        return cls(
            frozenset(word for word, n in words.items() if n >= LEAST),
            known,
            frozenset(word for word, _ in known),
        )

    def pairs_at(self, text: str, place: int) -> list[str]:
        """The known pairs whose second word begins at a place."""
        return [
            f"{before}|{after}"
            for a in range(1, min(LONGEST, place) + 1)
            if (before := text[place - a : place]) in self.first
            for b in range(1, min(LONGEST, len(text) - place) + 1)
            if (before, after := text[place : place + b]) in self.pairs
        ]


def character_attributes(
    text: str, known: KnownWords, columns: Sequence[Extractor]
) -> Iterator[list[str]]:
    """The features of every character of a sentence.

    Args:
        text: The characters.
        known: The words of the training data.
        columns: What raw text says about each character, in a window of three.
    """
    n = len(text)
    padded = f"{OUTSIDE * 2}{text}{OUTSIDE * 2}"
    values = [[OUTSIDE, *column(text), OUTSIDE] for column in columns]
    pairs = [known.pairs_at(text, place) for place in range(n + 1)]
    for i in range(n):
        window = padded[i : i + 5]
        features = [f"c{k}{character}" for k, character in enumerate(window)]
        features += [f"b{k}{window[k : k + 2]}" for k in range(4)]
        features += [f"same{k}" for k in _equal(text, i, 1, range(-2, 2))]
        features += [f"next{k}" for k in _equal(text, i, 2, range(-3, 2))]
        for length in range(2, LONGEST + 1):
            if i + 1 >= length and text[i + 1 - length : i + 1] in known.words:
                features.append(f"ends {text[i + 1 - length : i + 1]}")
            if i + length <= n and text[i : i + length] in known.words:
                features.append(f"begins {text[i : i + length]}")
        features += [f"before {pair}" for pair in pairs[i]]
        features += [f"after {pair}" for pair in pairs[i + 1]]
        for c, column in enumerate(values):
            features += [f"r{c}.{k}{column[i + k]}" for k in range(3)]
        yield features


def _equal(text: str, i: int, distance: int, places: range) -> list[int]:
    """The places relative to i whose character comes again at a distance."""
    last = len(text) - distance
    return [j for j in places if 0 <= i + j < last and text[i + j] == text[i + j + distance]]
