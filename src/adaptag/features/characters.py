"""The features of word segmentation: characters, their bigrams, repetitions, dictionary words.

Sun, Wang and Li (2012), section 3.2. What fires where is in ``segment_index.hpp``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.errors import ParameterError, unknown
from adaptag.features.index import NO_LIMIT, EdgeLimit, Encoded, check_cutoff

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from adaptag.corpus.segmented import SegmentedCorpus

__all__ = ["FOLDS", "CharacterFeatures", "CharacterIndex", "word_list"]

FOLDS = {
    "none": "characters as they are",
    "width": "full-width digits, letters and punctuation are taken for their half-width forms",
    "types": "as width, and all digits are alike, all Latin letters are alike",
}
TENSORS = {
    "characters": 1,
    "bigrams": 2,
    "word_symbols": 1,
    "word_offsets": 1,
    "word_counts": 1,
    "word_bigrams": 2,
}
OUTSIDE = 0x110000
ALWAYS = "always"


def word_list(words: Iterable[str], fold: str = "none") -> core.Lexicon:
    """A set of words in which words are looked up folded."""
    if fold not in FOLDS:
        raise ParameterError(unknown("fold", fold, FOLDS))
    found = list(words)
    lexicon = core.Lexicon(fold)
    lexicon.add(found, np.zeros(len(found), np.float32))
    return lexicon


@dataclass(frozen=True)
class CharacterFeatures:
    """Which features a segmenter has.

    Attributes:
        fold: one of ``FOLDS``: how characters are seen.
        cutoff: characters and character bigrams that occur less often are left out.
        word_cutoff: likewise words and word bigrams of the training data; 0: no word features.
        edges: which features have edge weights; None: none.
    """

    fold: str = "types"
    cutoff: int = 1
    word_cutoff: int = 3
    edges: EdgeLimit | None = NO_LIMIT

    def __post_init__(self) -> None:
        if self.fold not in FOLDS:
            raise ParameterError(unknown("fold", self.fold, FOLDS))
        check_cutoff("cutoff", self.cutoff)
        check_cutoff("word_cutoff", self.word_cutoff, least=0)


@dataclass(frozen=True, eq=False, repr=False)
class CharacterIndex:
    """The items of a training corpus that are features; see ``segment_index.hpp``.

    Attributes:
        features: which features there are.
        counts: how many words are features, and of each block of items how many have edge weights.
        tensors: the items, by falling frequency; ``word_counts`` says how often each word occurred.
    """

    features: CharacterFeatures
    counts: Mapping[str, Any]
    tensors: Mapping[str, NDArray[np.uint32]]

    @classmethod
    def build(cls, corpus: SegmentedCorpus, features: CharacterFeatures) -> CharacterIndex:
        """Collect the items of a corpus."""
        found = core.build_segment_tables(
            core.fold_codes(corpus.codes, features.fold),
            corpus.sentences,
            corpus.starts,
            features.cutoff,
            features.word_cutoff,
            features.edges.cutoff if features.edges else 0,
            features.edges.share if features.edges else 0.0,
        )
        counts = {name: found[name] for name in ("n_unigrams", "n_parts", "n_rich")}
        return cls(features, counts, {name: found[name] for name in TENSORS})

    def encode(self, corpus: SegmentedCorpus) -> Encoded:
        """Find the predicates of a corpus."""
        symbols = core.fold_codes(corpus.codes, self.features.fold)
        positions, predicates = self.native.encode(symbols, corpus.sentences)
        return Encoded(corpus.sentences, positions, predicates, None)

    @cached_property
    def native(self) -> core.SegmentIndex:
        """The core's tables."""
        t, c = self.tensors, self.counts
        return core.SegmentIndex(
            t["characters"],
            t["bigrams"],
            t["word_symbols"],
            t["word_offsets"],
            t["word_bigrams"],
            c["n_unigrams"],
            c["n_parts"],
            c["n_rich"],
        )

    @property
    def n_of_kind(self) -> tuple[int, int, int]:
        """How many predicates have node, node and edge, and edge weights."""
        return self.native.n_of_kind

    @property
    def n_predicates(self) -> int:
        """Predicates of all kinds."""
        return sum(self.n_of_kind)

    @property
    def n_words(self) -> int:
        """Words of the training data."""
        return len(self.tensors["word_counts"])

    def lexicon(self) -> core.Lexicon:
        """All words of the training data, to look words up in."""
        return self._words(0, 1, 0.0)

    def rare_words(self, weight: float) -> core.Lexicon:
        """The words of two characters and more that are too rare, or too long, to be features."""
        used = self.features.word_cutoff > 0
        return self._words(self.counts["n_parts"] if used else self.n_words, 2, weight)

    def _words(self, first: int, shortest: int, weight: float) -> core.Lexicon:
        lexicon = core.Lexicon(self.features.fold)
        t = self.tensors
        lexicon.add_symbols(t["word_symbols"], t["word_offsets"], first, shortest, weight)
        return lexicon

    def name(self, predicate: int) -> str:
        """Name a predicate: ``c-1=国``, ``c0c1=中国``, ``c-2=c-1``, ``ends=中国``, …."""
        block, item, place = self.native.name(predicate)
        if block == 5:
            return ALWAYS
        if block == 0:
            first, gap = (place - 2, 1) if place < 4 else (place - 7, 2)
            return f"c{first}=c{first + gap}"
        if block == 1:
            return f"c{place - 2}={self._character(item)}"
        if block == 2:
            return f"{('ends', 'starts')[place]}={self._word(item)}"
        if block == 3:
            a, b = self.tensors["bigrams"][item]
            return f"c{place - 2}c{place - 1}={self._character(a)}{self._character(b)}"
        a, b = self.tensors["word_bigrams"][item]
        return f"{('before', 'behind')[place]}={self._word(a)}|{self._word(b)}"

    def _character(self, number: int) -> str:
        symbol = int(self.tensors["characters"][number])
        return "⌷" if symbol == OUTSIDE else chr(symbol)

    def _word(self, number: int) -> str:
        begin, end = self.tensors["word_offsets"][number : number + 2]
        return "".join(map(chr, self.tensors["word_symbols"][begin:end]))
