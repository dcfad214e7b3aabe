"""Cuts raw text into sentences of tokens."""

from __future__ import annotations

import re

__all__ = ["tokenize"]

TOKEN = re.compile(r"\w+(?:['’.,]\w+)*|[^\w\s]")


def tokenize(text: str) -> list[list[tuple[int, int]]]:
    """For each line of a text the start and end of its tokens."""
    sentences, start = [], 0
    for line in text.splitlines(keepends=True):
        tokens = [(start + m.start(), start + m.end()) for m in TOKEN.finditer(line)]
        start += len(line)
        if tokens:
            sentences.append(tokens)
    return sentences
