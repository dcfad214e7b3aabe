"""New words: found with the segmentation, and used to segment again."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from adaptag.segmentation.cutter import Cutter

__all__ = ["WEIGHT", "Detection", "NewWord", "detect", "may_be_new"]

WEIGHT = 2.0


@dataclass(frozen=True)
class NewWord:
    """A word that the training data does not have.

    Attributes:
        text: The word.
        count: The number of times it was cut as a word.
        probability: The probability of its best occurrence.
        example: The text around that occurrence.
    """

    text: str
    count: int
    probability: float
    example: str


@dataclass(frozen=True)
class Detection:
    """The result of a search for new words: the segmentation, and the words.

    Attributes:
        segmentation: The words of every text.
        new_words: The new words, by decreasing count, then probability.
        rounds: The number of times the texts were segmented.
    """

    segmentation: list[list[str]]
    new_words: list[NewWord] = field(repr=False)
    rounds: int

    def dictionary(self) -> str:
        """The new words as the text of a dictionary file, with the weight of a certain one."""
        return "".join(f"{word.text}\t{WEIGHT:g}\n" for word in self.new_words)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the segmentation, ready for JSON."""
        return {"rounds": self.rounds, "new_words": [asdict(word) for word in self.new_words]}


def detect(
    segmenter: Cutter,
    texts: Sequence[str],
    *,
    threshold: float = 0.5,
    rounds: int = 10,
    weight: float = WEIGHT,
) -> Detection:
    """Segment texts, take probable words that are unknown for new words, and segment again.

    Sun, Wang and Li (2012): a word that is not in the lexicon and has a probability above the
    threshold joins the lexicon, until no more are found. Words of one character, numbers, and what
    begins or ends with punctuation are no new words. A new word is preferred from then on, by its
    weight times how far its probability lies above the threshold: ``weight`` where it is certain.

    Args:
        segmenter: The segmenter, which knows the words of its training data and of its dictionary.
        texts: The texts to search.
        threshold: The probability that a new word must exceed.
        rounds: The maximum number of times the texts are segmented.
        weight: The number that a new word adds to the score of its labels at each of its
            characters.
    """
    if not 0 <= threshold < 1:
        raise ParameterError(f"threshold is {threshold}; allowed: 0 to 1, without 1")
    if rounds < 1:
        raise ParameterError(f"rounds is {rounds}; allowed: 1 or more")
    extra = segmenter.dictionary.copy()
    new_words: dict[str, NewWord] = {}
    for number in range(1, rounds + 1):  # noqa: B007
        offsets, starts, probabilities = segmenter.marks(texts, extra=extra.native)
        occurrences = _unknown_words(segmenter, texts, offsets, starts, probabilities)
        added = {
            word: weight * (new.probability - threshold) / (1 - threshold)
            for word, new in occurrences.items()
            if word not in new_words and new.probability > threshold
        }
        new_words = {
            word: occurrences.get(word, replace(old, count=0)) for word, old in new_words.items()
        } | {word: occurrences[word] for word in added}
        if not added:
            break
        extra.add(added)
    words = sorted(
        (word for word in new_words.values() if word.count),
        key=lambda word: (-word.count, -word.probability, word.text),
    )
    return Detection(_pieces(texts, offsets, starts), words, number)


def _unknown_words(
    segmenter: Cutter,
    texts: Sequence[str],
    offsets: NDArray[np.int64],
    starts: NDArray[np.uint8],
    probabilities: NDArray[np.float32],
) -> dict[str, NewWord]:
    """Count the words of a segmentation that neither training data nor dictionary have."""
    begins = np.flatnonzero(starts)
    unknown = segmenter.lexicon_.unknown(texts, starts)
    ends = np.append(begins, len(starts))[np.searchsorted(begins, unknown) + 1]
    numbers = np.searchsorted(offsets, unknown, side="right") - 1  # which text each is in
    firsts = offsets[numbers]
    new_words: dict[str, NewWord] = {}
    for number, a, b, p in zip(
        numbers.tolist(),
        (unknown - firsts).tolist(),
        (ends - firsts).tolist(),
        probabilities[unknown].tolist(),
        strict=True,
    ):
        text = texts[number]
        word = text[a:b]
        if word in segmenter.dictionary or not may_be_new(word):
            continue
        best = new_words.get(word)
        if best is None:
            new_words[word] = NewWord(word, 1, p, _around(text, a, b))
        elif p > best.probability:
            new_words[word] = NewWord(word, best.count + 1, p, _around(text, a, b))
        else:
            new_words[word] = replace(best, count=best.count + 1)
    return new_words


def may_be_new(word: str) -> bool:
    """Whether a word is more than a character, a number, or something with punctuation."""
    ends = word[0].isalnum() and word[-1].isalnum()
    return len(word) > 1 and ends and any(map(str.isalpha, word))


def _pieces(
    texts: Sequence[str], offsets: NDArray[np.int64], starts: NDArray[np.uint8]
) -> list[list[str]]:
    """The words of every text."""
    cut = []
    for text, first, last in zip(texts, offsets, offsets[1:], strict=False):
        bounds = [*np.flatnonzero(starts[first:last]).tolist(), len(text)]
        cut.append([text[a:b] for a, b in itertools.pairwise(bounds)])
    return cut


def _around(text: str, begin: int, end: int, reach: int = 10) -> str:
    before = text[max(0, begin - reach) : begin].rpartition("\n")[2]
    after = text[end : end + reach].partition("\n")[0].rstrip("\r")
    return f"{before}[{text[begin:end]}]{after}"
