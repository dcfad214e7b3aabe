"""Sentences of words, as word segmentation learns from them: one per line, words between spaces."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from adaptag._native import core
from adaptag.corpus.offsets import items_of
from adaptag.corpus.settings import TAG_SETS
from adaptag.corpus.text import unix_line_ends
from adaptag.errors import CorpusError, ParameterError, unknown
from adaptag.storage.files import read_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from adaptag.storage.files import Source

__all__ = ["SegmentedCorpus", "tag_names"]


def tag_names(tags: str) -> tuple[str, ...]:
    """The labels of a tag set, each once."""
    if tags not in TAG_SETS:
        raise ParameterError(unknown("tag set", tags, TAG_SETS))
    return tuple(dict.fromkeys(TAG_SETS[tags]))


@dataclass(frozen=True, eq=False, repr=False)
class SegmentedCorpus:
    """Characters of all sentences, and where words begin.

    Attributes:
        name: The name of the file, for messages.
        codes: The code points of all characters, uint32 ``[T]``.
        sentences: The first character of every sentence, then T, int64 ``[N + 1]``.
        starts: A 1 where a word begins, uint8 ``[T]``.
    """

    name: str
    codes: NDArray[np.uint32]
    sentences: NDArray[np.int64]
    starts: NDArray[np.uint8]

    @classmethod
    def read(cls, path: Source) -> SegmentedCorpus:
        """Read a file of spaced text: plain, ``.gz``, ``.xz``, or ``-`` for standard input."""
        corpus = cls.from_bytes(read_bytes(path), shown(path))
        if len(corpus) == 0:
            raise CorpusError(f"{shown(path)}:1: no sentence found; the file is empty")
        return corpus

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "<bytes>") -> SegmentedCorpus:
        """Parse spaced text: one sentence per line, words between white space of any kind."""
        try:
            text = np.frombuffer(unix_line_ends(data), np.uint8)
            codes, sentences, starts = core.read_segmented(text, name)
        except core.InputError as error:
            raise CorpusError(str(error)) from None
        return cls(name, codes, sentences, starts)

    @classmethod
    def from_sentences(
        cls, sentences: Iterable[Iterable[str]], name: str = "<sentences>"
    ) -> SegmentedCorpus:
        """Make a corpus of sentences of words."""
        try:
            return cls(name, *core.pack_words(sentences))
        except core.InputError as error:
            raise CorpusError(f"{name}: {error}") from None

    def __repr__(self) -> str:
        words = int(self.starts.sum(dtype=np.int64))
        sizes = f"{len(self):,} sentences, {words:,} words, {len(self.codes):,} characters"
        return f"<SegmentedCorpus {self.name!r}: {sizes}>"

    def __len__(self) -> int:
        """Count the sentences."""
        return len(self.sentences) - 1

    @property
    def n_characters(self) -> int:
        """Characters of all sentences."""
        return len(self.codes)

    def sizes(self) -> dict[str, int]:
        """The numbers of sentences, characters and words, by name."""
        return {
            "sentences": len(self),
            "characters": self.n_characters,
            "words": self.n_words,
        }

    @property
    def n_words(self) -> int:
        """Words of all sentences."""
        return int(self.starts.sum())

    def texts(self) -> list[str]:
        """The sentences without spaces."""
        text = _text(self.codes)
        bounds = self.sentences.tolist()
        return [text[a:b] for a, b in itertools.pairwise(bounds)]

    def words(self) -> list[list[str]]:
        """The words of every sentence."""
        text = _text(self.codes)
        begins = np.flatnonzero(self.starts)
        ends = np.append(begins, len(text))[1:].tolist()
        all_words = [text[a:b] for a, b in zip(begins.tolist(), ends, strict=True)]
        bounds = np.searchsorted(begins, self.sentences).tolist()
        return [all_words[a:b] for a, b in itertools.pairwise(bounds)]

    def select(self, sentences: Iterable[int]) -> SegmentedCorpus:
        """Return the corpus of some of the sentences, in this order."""
        items, ends = items_of(self.sentences, np.fromiter(sentences, np.int64))
        return SegmentedCorpus(self.name, self.codes[items], ends, self.starts[items])

    def labels(self, tags: str) -> NDArray[np.int32]:
        """Number every character's label in a tag set, int32 ``[T]``."""
        names = tag_names(tags)
        begin, inside, end, single = (names.index(name) for name in TAG_SETS[tags])
        starts = self.starts.astype(bool)
        ends = np.append(starts[1:], True) if len(starts) else starts
        table = np.array([[inside, end], [begin, single]], np.int32)
        labels: NDArray[np.int32] = table[starts.astype(np.intp), ends.astype(np.intp)]
        return labels


def _text(codes: NDArray[np.uint32]) -> str:
    return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
