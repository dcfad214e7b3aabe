"""Texts in, words out."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from adaptag._native import core
from adaptag.corpus.data import SEGMENTATION, corpus_of
from adaptag.corpus.lists import as_list
from adaptag.errors import CorpusError
from adaptag.evaluation.segmentation import SegmentationScore, evaluate_segmentation
from adaptag.parallel import threads_for
from adaptag.segmentation.new_words import Detection, detect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.segmented import SegmentedCorpus
    from adaptag.corpus.text import TextPart
    from adaptag.segmentation.dictionary import UserDictionary
    from adaptag.storage.files import Source

    Segmented = Source | SegmentedCorpus | Iterable[Iterable[str]]

__all__ = ["Cutter", "Word"]

TEXTS = "a list of strings"
ASCII = re.compile("[\0-\x7f\uff01-\uff5e]")  # in no part of a word: letters may be folded
SUBWORDS = (2, 3)  # the lengths of words that are looked for in longer ones


@dataclass(frozen=True)
class Word:
    """A word of a text: where it begins, and the probability that exactly this is a word."""

    text: str
    start: int
    probability: float


class Cutter:
    """What can be done with text; a subclass says by which scores, and with which words."""

    @property
    def _native(self) -> core.Segmenter:
        """The core's segmenter."""
        raise NotImplementedError

    @property
    def dictionary(self) -> UserDictionary:
        """Words of the user's own."""
        raise NotImplementedError

    @property
    def lexicon_(self) -> core.Lexicon:
        """All words of the training data."""
        raise NotImplementedError

    @property
    def _knows(self) -> Callable[[str], bool]:
        """Whether a word is one of the training data."""
        return self.lexicon_.__contains__

    def cut(self, text: str) -> list[str]:
        """Cut a text into words."""
        try:
            return self._native.cut_text(text, self.dictionary.native)
        except core.InputError as error:
            raise _refusal(error) from None

    def cut_all(self, texts: Iterable[str], threads: int | None = None) -> list[list[str]]:
        """Cut many texts, on all cores unless ``threads`` says otherwise."""
        n = threads_for(threads)
        try:
            return self._native.cut(as_list(texts, "texts", TEXTS), self.dictionary.native, n)
        except core.InputError as error:
            raise _refusal(error) from None

    def cut_for_search(self, text: str) -> list[str]:
        """Cut a text into words for the index of a search engine, without white space.

        Before each word of three characters and more come the known words in it: those of two
        characters, then those of three. Known are the words of the training data and of the
        dictionary.
        """
        found = []
        for word in self.cut(text):
            for n in SUBWORDS[: max(0, len(word) - 2)]:
                parts = (word[i : i + n] for i in range(len(word) - n + 1))
                found += [part for part in parts if not ASCII.search(part) and self.is_word(part)]
            if not word.isspace():
                found.append(word)
        return found

    def is_word(self, text: str) -> bool:
        """Whether a text is a word of the training data or of the dictionary."""
        return text in self.lexicon_ or text in self.dictionary

    def compared(self, text: str) -> str:
        """A text in the characters of the training data; as long as the text."""
        return text

    def spaced(self, text: bytes, separator: str = " ", *, continues: bool = False) -> bytes | None:
        """Cut UTF-8 text, with separators between the words instead of its white space.

        Line ends stay. Many parts of a text can be cut by several threads at the same time.

        Args:
            text: The text.
            separator: What to write between words.
            continues: Whether the text goes on with a line: a separator comes before its first
                word.

        Returns:
            The text, or None where it is not UTF-8.
        """
        dictionary = self.dictionary.native
        try:
            return self._native.spaced(text, separator.encode(), continues, dictionary)
        except core.InputError:
            return None

    def cut_part(
        self,
        part: TextPart,
        separator: str = " ",
        *,
        probabilities: bool = False,
        search: bool = False,
    ) -> bytes:
        """Cut a part of a file in this thread; raise where it is not UTF-8.

        Args:
            part: The part.
            separator: What to write between words.
            probabilities: Whether to write one word per line instead, a tab and its probability,
                and an empty line after each line of the text.
            search: Whether to write the words of ``cut_for_search``.
        """
        if search:
            words_of = self.cut_for_search
            return part.joined([words_of(line) for line in part.lines()], separator)
        if not probabilities:
            spaced = self.spaced(part.data, separator, continues=part.continues)
            if spaced is None:
                part.lines()  # says where it is not UTF-8
            return spaced or b""
        out = []
        lines = part.lines()
        for line, words in zip(lines, self.words_all(lines, 1), strict=True):
            without_spaces = (word for word in words if not word.text.isspace())
            out += [f"{word.text}\t{word.probability:.6f}\n" for word in without_spaces]
            out.append("\n" * line.endswith("\n"))
        return "".join(out).encode()

    def words(self, text: str) -> list[Word]:
        """Cut a text into words with their places and probabilities."""
        return self.words_all([text], 1)[0]

    def words_all(self, texts: Iterable[str], threads: int | None = None) -> list[list[Word]]:
        """Cut many texts into words with their places and probabilities."""
        all_texts = as_list(texts, "texts", TEXTS)
        offsets, starts, probabilities = self.marks(all_texts, threads)
        all_words = []
        for text, first, last in zip(all_texts, offsets, offsets[1:], strict=False):
            begins = np.flatnonzero(starts[first:last])
            bounds = itertools.pairwise([*begins.tolist(), len(text)])
            chances = probabilities[first:last][begins].tolist()
            all_words.append(
                [Word(text[a:b], a, p) for (a, b), p in zip(bounds, chances, strict=True)]
            )
        return all_words

    def new_words(
        self, texts: Iterable[str], *, threshold: float = 0.5, rounds: int = 10
    ) -> Detection:
        """Find words that the training data does not have; see ``new_words.detect``."""
        listed = as_list(texts, "texts", TEXTS)
        return detect(self, listed, threshold=threshold, rounds=rounds)

    def read(
        self, data: Segmented, words: Iterable[Sequence[str]] | None = None
    ) -> SegmentedCorpus:
        """Read segmented text, to score on it several times; the arguments are those of ``fit``."""
        corpus: SegmentedCorpus = corpus_of(data, words, task=SEGMENTATION)
        return corpus

    def evaluate(
        self, data: Segmented, words: Iterable[Sequence[str]] | None = None
    ) -> SegmentationScore:
        """Cut segmented text anew, and score the words; the arguments are those of ``fit``."""
        corpus = self.read(data, words)
        return evaluate_segmentation(corpus.words(), self.cut_all(corpus.texts()), self._knows)

    def marks(
        self, texts: Sequence[str], threads: int | None = None, extra: core.Lexicon | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.float32]]:
        """Find where words begin in concatenated texts.

        Returns:
            The first character of every text, then T, int64 ``[N + 1]``; 1 where a word begins,
            uint8 ``[T]``; there the word's probability, float32 ``[T]``.
        """
        dictionary = self.dictionary.native if extra is None else extra
        n = threads_for(threads)
        try:
            return self._native.marks(texts, dictionary, n)
        except core.InputError as error:
            raise _refusal(error) from None


def _refusal(error: Exception) -> CorpusError:
    """The error of bad input that an error of the core stands for."""
    return CorpusError(f"texts: {error}")
