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
from adaptag.features.index import Encoded
from adaptag.features.settings import FOLDS, CharacterFeatures
from adaptag.storage.stored import PickledFields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from adaptag.corpus.segmented import SegmentedCorpus

__all__ = ["CharacterIndex", "word_list"]

KIND = "characters"
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
    listed = list(words)
    lexicon = core.Lexicon(fold)
    lexicon.add(listed, np.zeros(len(listed), np.float32))
    return lexicon


@dataclass(frozen=True, eq=False, repr=False)
class CharacterIndex(PickledFields):
    """The items of a training corpus that are features; see ``segment_index.hpp``.

    Attributes:
        features: Which features there are.
        counts: The number of words that are features, and for each block of items the number of
            those with edge weights.
        tensors: The items, by decreasing frequency; ``word_counts`` holds the number of occurrences
            of each word.
    """

    features: CharacterFeatures
    counts: Mapping[str, Any]
    tensors: Mapping[str, NDArray[np.uint32]]

    @classmethod
    def build(cls, corpus: SegmentedCorpus, features: CharacterFeatures) -> CharacterIndex:
        """Collect the items of a corpus."""
        features.check()
        tables = core.build_segment_tables(
            core.fold_codes(corpus.codes, features.fold),
            corpus.sentences,
            corpus.starts,
            features.cutoff,
            features.word_cutoff,
            0 if features.plain_edges else features.edge_cutoff,
            0.0 if features.plain_edges else features.edge_share,
        )
        counts = {name: tables[name] for name in ("n_unigrams", "n_parts", "n_rich")}
        return cls(features, counts, {name: tables[name] for name in TENSORS})

    def to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Header entries and tensors that hold the index in a file."""
        header = {"kind": KIND, "features": self.features.record(), "counts": dict(self.counts)}
        return header, dict(self.tensors)

    @classmethod
    def from_file(
        cls, header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]
    ) -> CharacterIndex:
        """Rebuild an index from what ``to_file`` gave; raise where it is damaged."""
        tables = {}
        for name, ndim in TENSORS.items():
            tables[name] = tensors[name]
            if tables[name].dtype != np.uint32 or tables[name].ndim != ndim:
                raise ValueError(f"index.{name} has the wrong type or shape")
        if len(tables["word_counts"]) != len(tables["word_offsets"]) - 1:
            raise ValueError("words and their counts do not fit together")
        for name, most in (("characters", OUTSIDE), ("word_symbols", OUTSIDE - 1)):
            if int(tables[name].max(initial=0)) > most:
                raise ValueError(f"index.{name}: a character is out of range")
        if any(tables[name].shape[1] != 2 for name in ("bigrams", "word_bigrams")):
            raise ValueError("a bigram has not two parts")
        counts: dict[str, Any] = {
            name: int(header["counts"][name]) for name in ("n_unigrams", "n_parts")
        }
        counts["n_rich"] = tuple(int(n) for n in header["counts"]["n_rich"])
        given = {name: header["features"][name] for name in CharacterFeatures.declared()}
        index = cls(CharacterFeatures(**given).check(), counts, tables)
        index.native  # noqa: B018  builds the core's tables, which checks them
        return index

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
        lexicon = core.Lexicon(self.features.fold)
        lexicon.add_symbols(self.tensors["word_symbols"], self.tensors["word_offsets"])
        return lexicon

    @property
    def first_rare_word(self) -> int:
        """The first of the words that are too rare, or too long, to be features."""
        return int(self.counts["n_parts"]) if self.features.word_cutoff > 0 else self.n_words

    def word_text(self) -> NDArray[np.uint8]:
        """All words of the training data as UTF-8 text, one per line."""
        bounds = self.tensors["word_offsets"][1:-1].astype(np.int64)
        symbols = np.insert(self.tensors["word_symbols"], bounds, ord("\n"))
        text = symbols.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        return np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)

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
