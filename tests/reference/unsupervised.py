"""Accessor variety and mutual information by plain counting over sentences."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def sentences(texts: Sequence[str]) -> list[str]:
    return [sentence for text in texts for sentence in text.split()]


def variety(texts: Sequence[str], string: str, side: str) -> int:
    """Different characters next to a string, each end of a sentence being one of its own."""
    accessors: set[object] = set()
    for s, sentence in enumerate(sentences(texts)):
        for i in range(len(sentence) - len(string) + 1):
            if sentence[i : i + len(string)] == string:
                at = i - 1 if side == "left" else i + len(string)
                accessors.add(sentence[at] if 0 <= at < len(sentence) else ("end", s))
    return len(accessors)


def bucket(number: int) -> str:
    """The greatest power of two that is not above a number, or 0."""
    return str(max((2**k for k in range(40) if 2**k <= number), default=0))


def variety_column(
    texts: Sequence[str], tokens: str, length: int, side: str, cutoff: int
) -> list[str]:
    found = []
    for i in range(len(tokens)):
        start, end = (i, i + length) if side == "left" else (i + 1 - length, i + 1)
        inside = start >= 0 and end <= len(tokens)
        number = variety(texts, tokens[start:end], side)
        found.append(bucket(number if number >= cutoff else 0) if inside else "_")
    return found


def information(texts: Sequence[str], a: str, b: str, cutoff: int) -> int | None:
    """log2 p(ab) / (p(a) p(b)), rounded, without rounding errors; None: too few such neighbours."""
    single = Counter(itertools.chain.from_iterable(sentences(texts)))
    pairs = Counter(pair for s in sentences(texts) for pair in itertools.pairwise(s))
    if pairs[a, b] < cutoff:
        return None
    n, m = sum(single.values()), sum(pairs.values())
    ratio = Fraction(pairs[a, b], m) / (Fraction(single[a], n) * Fraction(single[b], n))
    # log2 r is nearer to k than to its neighbours where k − ½ < log2 r < k + ½.
    return next(
        k
        for k in range(-80, 80)
        if Fraction(2) ** (2 * k - 1) < ratio**2 < Fraction(2) ** (2 * k + 1)
    )


def information_column(
    texts: Sequence[str], tokens: str, lowest: int, highest: int, behind: bool, cutoff: int
) -> list[str]:
    bits = [information(texts, a, b, cutoff) for a, b in itertools.pairwise(tokens)]
    names = ["O" if b is None else str(min(max(b, lowest), highest)) for b in bits]
    if not tokens:
        return []
    return [*names, "_"] if behind else ["_", *names]
