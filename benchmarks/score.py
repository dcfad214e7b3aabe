"""Chunk F as conlleval counts it, for IOB2 labels, and token accuracy.

usage: python score.py GOLD PREDICTED    (the label is the last column of either file)
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from chunking import read

if TYPE_CHECKING:
    from pathlib import Path


def chunks(labels: list[str]) -> set[tuple[int, int, str]]:
    """Chunks (start, end, type); an `I` that continues nothing starts a chunk, as in conlleval."""
    found = set()
    start, kind = 0, ""  # the open chunk; no chunk is open where kind is ""
    for position, label in enumerate([*labels, "O"]):
        prefix, _, label_kind = label.partition("-")
        if kind and not (prefix == "I" and label_kind == kind):
            found.add((start, position, kind))
            kind = ""
        if prefix != "O" and not kind:
            start, kind = position, label_kind
    return found


def chunk_f(gold: str | Path, predicted: str | Path) -> float:
    """F (in percent) of the predicted chunks: 2 · correct / (gold + predicted)."""
    correct = total = 0
    for right, guess in zip(read(gold), read(predicted), strict=True):
        if len(right) != len(guess):
            raise ValueError(f"{predicted}: {len(guess)} tokens where {gold} has {len(right)}")
        right_chunks = chunks([token[-1] for token in right])
        guess_chunks = chunks([token[-1] for token in guess])
        correct += len(right_chunks & guess_chunks)
        total += len(right_chunks) + len(guess_chunks)
    return 200 * correct / total if total else 0.0


def accuracy(gold: str | Path, predicted: str | Path) -> float:
    """Tokens whose label is right, in percent."""
    pairs = [
        (right[-1], guess[-1])
        for rights, guesses in zip(read(gold), read(predicted), strict=True)
        for right, guess in zip(rights, guesses, strict=True)
    ]
    return 100 * sum(right == guess for right, guess in pairs) / len(pairs)


if __name__ == "__main__":
    print(f"{chunk_f(sys.argv[1], sys.argv[2]):.2f}")
