"""Brown clustering by recounting everything for every candidate: slow and obvious."""

from __future__ import annotations

import itertools
import math
from collections import Counter

RARE, LIMIT = "<rare>", "<limit>"


def likelihood(sentences, class_of) -> float:
    """F = Σ N(g, h) log N(g, h) - 2 Σ N(g) log N(g) of a text, given the class of each word."""
    pairs, singles = Counter(), Counter()
    for sentence in sentences:
        classes = [class_of.get(word, RARE) for word in sentence] + [LIMIT]
        singles.update(classes)
        pairs.update(itertools.pairwise([LIMIT, *classes]))
    return sum(n * math.log(n) for n in pairs.values()) - 2 * sum(
        n * math.log(n) for n in singles.values()
    )


def frequent_words(sentences, cutoff) -> list[str]:
    """Words by decreasing count, equal ones by their spelling."""
    counts = Counter(word for sentence in sentences for word in sentence)
    return sorted((w for w in counts if counts[w] >= cutoff), key=lambda w: (-counts[w], w))


def exchange(sentences, n_classes, cutoff, passes) -> dict[str, int]:
    """The class of each word after some passes of the exchange algorithm."""
    words = frequent_words(sentences, cutoff)
    n_classes = min(n_classes, len(words))
    class_of = {word: k for k, word in enumerate(words[:n_classes])}
    for _ in range(passes):
        for word in words:
            old = class_of.get(word)
            if list(class_of.values()).count(old) == 1:
                continue
            scores = [likelihood(sentences, {**class_of, word: c}) for c in range(n_classes)]
            best = max(scores)
            choices = [c for c in range(n_classes) if scores[c] >= best - 1e-9]
            class_of[word] = old if old in choices else choices[0]
    return class_of


def merge(sentences, class_of) -> list[tuple[frozenset[int], frozenset[int], float]]:
    """The mergers of classes, best first at each step, each with its change of F."""
    groups = [frozenset([c]) for c in sorted(set(class_of.values()))]
    mergers = []
    while len(groups) > 1:
        base = _grouped(sentences, class_of, groups)
        scored = []
        for a, b in itertools.combinations(groups, 2):
            merged = [g for g in groups if g not in (a, b)] + [a | b]
            scored.append((_grouped(sentences, class_of, merged) - base, a, b))
        gain, a, b = max(scored, key=lambda entry: entry[0])
        groups = [g for g in groups if g not in (a, b)] + [a | b]
        mergers.append((a, b, gain))
    return mergers


def _grouped(sentences, class_of, groups) -> float:
    group_of = {c: k for k, group in enumerate(groups) for c in group}
    return likelihood(sentences, {word: group_of[c] for word, c in class_of.items()})
