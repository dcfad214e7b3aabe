"""Word segmentation the slow way: features are strings, paths are lists of words.

The features are those of Sun, Wang and Li (2012), section 3.2.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tests.reference.crf import Scores, log_sum, path_score

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Span = tuple[int, int]

OUTSIDE = "⌷"
LONGEST = 6
TAGS = {"bie": "BIEB", "bies": "BIES", "bmes": "BMES"}  # begin, inside, end, a word of its own


def fold(text: str, how: str) -> str:
    if how == "none":
        return text
    narrow = "".join(chr(ord(c) - 0xFEE0) if "！" <= c <= "～" else c for c in text)
    if how == "width":
        return narrow
    digits = "".join("0" if c in "0123456789" else c for c in narrow)
    return "".join("a" if c.isascii() and c.isalpha() else c for c in digits)


# ---- features -----------------------------------------------------------------------------------


def unigram_dictionary(sentences: Sequence[Sequence[str]], cutoff: int) -> set[str]:
    """U: frequent words of up to 6 characters, those of one character too."""
    counts = Counter(word for sentence in sentences for word in sentence)
    return {word for word, n in counts.items() if n >= cutoff > 0 and len(word) <= LONGEST}


def bigram_dictionary(
    sentences: Sequence[Sequence[str]], cutoff: int
) -> dict[tuple[str, str], int]:
    """B: frequent pairs of neighbours, both words of U."""
    words = unigram_dictionary(sentences, cutoff)
    counts = Counter(pair for sentence in sentences for pair in itertools.pairwise(sentence))
    return {pair: n for pair, n in counts.items() if n >= cutoff and words.issuperset(pair)}


@dataclass(frozen=True)
class Items:
    """What features are made of, with counts."""

    characters: Mapping[str, float]
    bigrams: Mapping[str, float]
    words: Mapping[str, float]  # of U, with 2 to 6 characters
    single: set[str]  # of U, with one
    word_bigrams: Mapping[tuple[str, str], float]  # of B, but for pairs of single characters

    def counts(self) -> dict[str, float]:
        """How often each item occurs; repetitions are one item, and the most frequent one."""
        return {
            "repetition": math.inf,
            **{f"c={c}": n for c, n in self.characters.items()},
            **{f"cc={cc}": n for cc, n in self.bigrams.items()},
            **{f"w={w}": n for w, n in self.words.items()},
            **{f"ww={a}|{b}": n for (a, b), n in self.word_bigrams.items()},
        }

    def rich(self, cutoff: int, share: float) -> set[str]:
        """Those with edge weights: frequent enough, and as frequent as the last of the share."""
        counts = self.counts()
        chosen = sorted(counts.values(), reverse=True)[: int(share * len(counts))]
        least = max(cutoff, chosen[-1]) if chosen else math.inf
        return {item for item, n in counts.items() if n >= least}


def items(sentences: Sequence[Sequence[str]], cutoff: int, word_cutoff: int) -> Items:
    texts = ["".join(words) for words in sentences]
    characters = Counter("".join(texts))
    padded = [OUTSIDE + text + OUTSIDE for text in texts]
    bigrams = Counter(a + b for text in padded for a, b in itertools.pairwise(text))
    counts = Counter(word for sentence in sentences for word in sentence)
    words = unigram_dictionary(sentences, word_cutoff)
    pairs = bigram_dictionary(sentences, word_cutoff) if word_cutoff else {}
    kept = {c: n for c, n in characters.items() if n >= cutoff}
    return Items(
        {**kept, OUTSIDE: len(sentences) + 1},
        {cc: n for cc, n in bigrams.items() if n >= cutoff},
        {w: counts[w] for w in words if len(w) > 1},
        {w for w in words if len(w) == 1},
        {(a, b): n for (a, b), n in pairs.items() if len(a + b) > 2},
    )


def features(text: str, known: Items) -> list[list[str]]:
    """The names of the features that fire at each position, sorted."""
    return [sorted(features_at(text, i, known)) for i in range(len(text))]


def features_at(text: str, i: int, known: Items) -> Iterator[str]:
    def character(j: int) -> str:
        return text[j] if 0 <= j < len(text) else OUTSIDE

    def inside(*places: int) -> bool:
        return all(0 <= j < len(text) for j in places)

    yield "always"
    for j in range(-2, 3):
        if character(i + j) in known.characters:
            yield f"c{j}={character(i + j)}"
    for j in range(-2, 2):
        pair = character(i + j) + character(i + j + 1)
        if pair in known.bigrams:
            yield f"c{j}c{j + 1}={pair}"
    for gap, places in ((1, range(-2, 2)), (2, range(-3, 2))):
        for j in places:
            if inside(i + j, i + j + gap) and text[i + j] == text[i + j + gap]:
                yield f"c{j}=c{j + gap}"
    yield from word_features(text, i, known)


def word_features(text: str, i: int, known: Items) -> Iterator[str]:
    """x_{j,i} is text[j : i + 1]; all the constraints are i − 6 < j < i < k < i + 6."""

    def is_word(word: str) -> bool:
        # Where characters must be more frequent than words, a word needs its own.
        seen = all(c in known.characters for c in word) and (
            len(word) == 1 or word[:2] in known.bigrams
        )
        return seen and (word in known.words or word in known.single)

    befores = range(max(0, i - 5), i)
    behinds = range(i + 1, min(len(text), i + 6))
    for j in befores:
        if is_word(text[j : i + 1]):
            yield f"ends={text[j : i + 1]}"
    for k in behinds:
        if is_word(text[i : k + 1]):
            yield f"starts={text[i : k + 1]}"
    for j, k in itertools.product(befores, behinds):
        for name, a, b in (
            ("before", text[j:i], text[i : k + 1]),
            ("behind", text[j : i + 1], text[i + 1 : k + 1]),
        ):
            if (a, b) in known.word_bigrams and is_word(a) and is_word(b):
                yield f"{name}={a}|{b}"


def item_of(name: str) -> str:
    """The item that a feature belongs to."""
    kind, _, what = name.partition("=")
    if kind in ("ends", "starts"):
        return f"w={what}"
    if kind in ("before", "behind"):
        return f"ww={what}"
    if kind.count("c") == 2:
        return f"cc={what}"
    # c0=c1 is a repetition, c0=c a character.
    return "repetition" if len(what) > 1 else f"c={what}"


# ---- paths --------------------------------------------------------------------------------------


def segmentations(length: int) -> Iterator[list[Span]]:
    """Every way to cut so many characters into words."""
    for cuts in itertools.product((False, True), repeat=max(0, length - 1)):
        bounds = [0, *(t for t, cut in enumerate(cuts, 1) if cut), length]
        yield list(itertools.pairwise(bounds))


def label_names(tags: str) -> list[str]:
    return list(dict.fromkeys(TAGS[tags]))


def label_at(k: int, length: int, tags: str) -> int:
    """The label of the k-th character of a word."""
    begin, inside, end, single = TAGS[tags]
    name = single if length == 1 else begin if k == 0 else end if k == length - 1 else inside
    return label_names(tags).index(name)


def labels(words: Sequence[Span], tags: str) -> list[int]:
    return [label_at(k, b - a, tags) for a, b in words for k in range(b - a)]


def legal(tags: str) -> np.ndarray:
    """[Y + 1, Y + 1]: which label may follow which; Y is outside."""
    n = len(label_names(tags))
    found = np.zeros((n + 1, n + 1), bool)
    for words in segmentations(5):
        path = [n, *labels(words, tags), n]
        found[path[:-1], path[1:]] = True
    return found


def with_dictionary(s: Scores, text: str, weights: Mapping[str, float], tags: str) -> Scores:
    """Scores with the weights of the user's words; forced ones count elsewhere."""
    node = s.node.copy()
    for a, b in itertools.combinations(range(len(text) + 1), 2):
        weight = weights.get(text[a:b], 0.0)
        if not math.isfinite(weight):
            continue
        if b - a == 1 and tags == "bie":  # no label of its own: half of it for a word behind it
            node[a, label_at(0, 1, tags)] += weight / 2
            if b < len(text):
                node[b, label_at(0, 1, tags)] += weight / 2
            continue
        for k in range(b - a):
            node[a + k, label_at(k, b - a, tags)] += weight
    return Scores(node, s.edge)


def forced_words(text: str, weights: Mapping[str, float]) -> list[Span]:
    """From left to right, the longest forced word that starts where the last one has ended."""
    found, t = [], 0
    while t < len(text):
        ends = [b for b in range(t + 1, len(text) + 1) if weights.get(text[t:b]) == math.inf]
        if ends:
            found.append((t, max(ends)))
        t = max(ends, default=t + 1)
    return found


class Cuts:
    """Every way to cut a text, with its score."""

    def __init__(self, s: Scores, tags: str, forced: Sequence[Span] = ()) -> None:
        every = segmentations(len(s.node))
        self.all = [words for words in every if set(forced) <= set(words)]
        self.scores = np.array([path_score(s, labels(words, tags)) for words in self.all])

    def best(self) -> list[Span]:
        return self.all[int(self.scores.argmax())]

    def probability(self, word: Span) -> float:
        """The share of all cuts that hold a word."""
        holds = np.array([word in words for words in self.all])
        return float(np.exp(log_sum(self.scores[holds]) - log_sum(self.scores)))


# ---- compiled predictors ------------------------------------------------------------------------

NONE = 0xFFFFFFFF
SPACE = 1 << 31


class Predictor:
    """The tables of a predictor, read back as patterns; integers, so scores are exact.

    ``segment_predictor.hpp`` says which positions a pattern adds to, and what transitions are.
    """

    def __init__(self, tables: Mapping[str, np.ndarray], outside: int, tags: str) -> None:
        self.tags = tags
        self.rows = tables["rows"].astype(np.int64)
        self.constants = tables["constant_rows"].astype(np.int64)
        self.entry = tables["entries"][tables["pages"]].reshape(-1)
        self.outside = outside
        shifts = np.zeros(len(tables["character_rows"]), np.int64)
        for entry in {*self.entry[self.entry < SPACE].tolist(), outside}:
            shifts[entry & 0xFFFFFF] = entry >> 24
        self.characters = tables["character_rows"].astype(np.int64) << shifts[:, None, None]
        self.patterns = {}  # numbers of characters → [positions, 8]
        slots = tables["slots"].tolist()
        for parent, last, row, _ in slots:
            if parent == NONE or row == NONE:
                continue
            numbers = [last]
            while parent >= len(self.characters):
                parent, before, _, _ = slots[parent - len(self.characters)]
                numbers.append(before)
            key = (parent, *reversed(numbers))
            n = max(len(key), 4) if len(key) == 2 else len(key)
            self.patterns[key] = self.rows[row >> 4 :][:n] << (row & 15)
        self.longest = max(map(len, self.patterns), default=2)

    def scores(self, text: str, how: str) -> np.ndarray:
        """[T, 8]: the sum of all rows that add to a position of a text without white space."""
        n = len(text)
        folded = fold(text, how)
        codes = [ord(c) for c in text]
        inside = [int(self.entry[code]) & 0xFFFFFF for code in codes]
        o = self.outside & 0xFFFFFF
        numbers = [o, o, *inside, o, o]
        total = np.tile(self.constants[0], (n, 1))

        def add(first: int, rows: np.ndarray) -> None:
            for k, row in enumerate(rows):
                if 0 <= first + k < n:
                    total[first + k] += row

        for j in range(-2, n + 2):
            add(j - 2, self.characters[numbers[j + 2]])
            for length in range(2, min(self.longest, n + 4 - (j + 2)) + 1):
                key = tuple(numbers[j + 2 : j + 2 + length])
                if key in self.patterns:
                    add(j - (length == 2), self.patterns[key])
        for j in range(n):
            if folded[j : j + 2] == folded[j] * 2:
                add(j - 1, self.constants[1:5])
            if j + 2 < n and folded[j] == folded[j + 2]:
                add(j - 1, self.constants[5:10])
        return total

    def crf_scores(self, text: str, how: str, exponent: int) -> Scores:
        """The scores as those of a CRF; transitions that are not legal have none."""
        begin, inside, end, single = (label_names(self.tags).index(c) for c in TAGS[self.tags])
        pairs = [
            (end, begin), (single, begin), (begin, inside), (inside, inside), (begin, end),
            (inside, end), (end, single), (single, single),
        ]  # fmt: skip
        scores = self.scores(text, how) * 2.0**-exponent
        n, y = len(text), len(label_names(self.tags))
        node, edge = np.zeros((n, y)), np.zeros((n, y, y))
        n_transitions = 6 if self.tags == "bie" else 8
        if self.tags != "bie":
            node[0, single] = scores[0, 0]
        for k in range(1, n_transitions):
            edge[1:, pairs[k][0], pairs[k][1]] = scores[1:, k]
        return Scores(node, edge)

    def path_score(self, scores: np.ndarray, words: Sequence[Span]) -> int:
        """The score of a way to cut."""
        roles = [self._role(k, b - a) for a, b in words for k in range(b - a)]
        total = int(scores[0, 0]) if roles[0] == "S" else 0
        for t in range(1, len(roles)):
            total += self._transition(scores[t], roles[t - 1], roles[t])
        return total

    def best_score(self, scores: np.ndarray) -> int:
        """The score of the best way to cut."""
        four = self.tags != "bie"
        after = {"B": "IE", "I": "IE", "E": "BS" if four else "B", "S": "BS"}
        if not four:
            after["B"] = "BIE"  # a word of one character
        best = {"B": 0, **({"S": int(scores[0, 0])} if four else {})}
        for row in scores[1:]:
            step: dict[str, int] = {}
            for role, score in best.items():
                for to in after[role]:
                    value = score + self._transition(row, role, to)
                    step[to] = max(step.get(to, value), value)
            best = step
        return max(score for role, score in best.items() if role in ("E", "S" if four else "B"))

    def _role(self, k: int, length: int) -> str:
        if length == 1:
            return "B" if self.tags == "bie" else "S"
        return "B" if k == 0 else "E" if k == length - 1 else "I"

    def _transition(self, row: np.ndarray, before: str, role: str) -> int:
        if before == "B" and role == "B":  # with three tags
            before = "S"
        k = ["EB", "SB", "BI", "II", "BE", "IE", "ES", "SS"].index(before + role)
        return int(row[k]) if k else 0
