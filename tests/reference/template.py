"""CRF++ templates the slow way: every feature is a string, made by replacing text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

MACRO = re.compile(r"%([a-z]+)(\d*)\[([+-]?\d+),(\d+)\]")


def lower(token):
    """Lower case, one character for each."""
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in token)


def shape(token):
    """X, x, d, o for upper case, lower case, digits, other letters; at most two alike in a row."""

    def draw(character):
        category = unicodedata.category(character)
        if category in ("Lu", "Lt"):
            return "X"
        if category == "Ll":
            return "x"
        if category[0] == "N":
            return "d"
        return "o" if category[0] in "LM" else character

    return re.sub(r"(.)\1\1+", r"\1\1", "".join(map(draw, token)), flags=re.DOTALL)


def transformed(name, length, token):
    """What a macro makes of a token."""
    return {
        "x": lambda: token,
        "lower": lambda: lower(token),
        "shape": lambda: shape(token),
        "prefix": lambda: token[: int(length)],
        "suffix": lambda: token[-int(length) :],
    }[name]()


def expand(line, sentence, t):
    """The feature of one template line at position t of a sentence of tuples."""

    def replace(macro):
        name, length, row, column = macro.groups()
        i = t + int(row)
        if i < 0:
            return f"_B{i}"
        if i >= len(sentence):
            return f"_B+{i - len(sentence) + 1}"
        return transformed(name, length, sentence[i][int(column)])

    return MACRO.sub(replace, line)


def features(template, sentence):
    """The features at each position; edge features (B) need a position before."""
    lines = [line.rstrip() for line in template.split("\n")]
    lines = [line for line in lines if line and not line.startswith("#")]
    return [
        Counter(expand(line, sentence, t) for line in lines if t > 0 or line[0] != "B")
        for t in range(len(sentence))
    ]


def counts(template, sentences):
    """How often each feature occurs in a corpus."""
    total = Counter()
    for sentence in sentences:
        for position in features(template, sentence):
            total += position
    return total
