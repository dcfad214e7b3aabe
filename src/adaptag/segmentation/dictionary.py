"""Words of the user's own."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.corpus.lists import as_list
from adaptag.errors import CorpusError, ParameterError, described
from adaptag.segmentation.dictionary_files import AUTO, jieba_advice, read_dictionary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from adaptag.storage.files import PathLike

__all__ = ["FORCE", "WEIGHT", "UserDictionary"]

WEIGHT = 5.0
WORDS = "a word, a list of words, or a dictionary of words and weights"
FORCE = math.inf
LARGEST = 1000.0
WEIGHTS = f"-{LARGEST:g} to {LARGEST:g}, or force (in Python infinity)"


class UserDictionary:
    """Words that the segmenter should know, each with a weight.

    A word's weight is added to the score of its labels at each of its characters: the word is
    preferred wherever it occurs, but not where the text around it favours other words. A negative
    weight makes a word less likely. ``FORCE`` (infinity) makes it a word wherever it occurs; of
    forced words that overlap, the first and then the longest is taken.
    """

    def __init__(self, fold: str) -> None:
        self.fold = fold
        self.native = core.Lexicon(fold)
        self._weights: dict[str, float] = {}  # by folded form: spellings of a word are one word
        self._tags: dict[str, str] = {}  # likewise, of those that have one

    def __repr__(self) -> str:
        first = ", ".join(list(self)[:5])
        more = ", …" if len(self) > 5 else ""
        return f"<UserDictionary of {len(self):,} words{': ' * bool(first)}{first}{more}>"

    def copy(self) -> UserDictionary:
        """A dictionary of its own with the same words."""
        other = UserDictionary(self.fold)
        other.update(self)
        return other

    def update(self, other: UserDictionary) -> None:
        """Add the words of another dictionary, with their weights and tags."""
        self.add(other._weights)
        self.set_tags(other._tags)

    def add(self, words: str | Iterable[str] | Mapping[str, float], weight: float = WEIGHT) -> None:
        """Add a word, several, or words with weights of their own; new weights replace old."""
        if isinstance(words, str):
            words = [words]
        if not isinstance(words, Mapping):
            words = as_list(words, "words", WORDS)
            _check_words(words)
        weight_of = words if isinstance(words, Mapping) else dict.fromkeys(words, weight)
        _check(weight_of)
        weights = dict(zip(self._folded(weight_of), map(float, weight_of.values()), strict=True))
        self.native.add(list(weights), np.fromiter(weights.values(), np.float32, len(weights)))
        self._weights |= weights

    def remove(self, words: str | Iterable[str]) -> None:
        """Remove words; those that are not there are ignored."""
        listed = [words] if isinstance(words, str) else as_list(words, "words", WORDS)
        _check_words(listed)
        folded = self._folded(listed)
        self.native.remove(folded)
        for word in folded:
            self._weights.pop(word, None)
            self._tags.pop(word, None)

    def load(
        self,
        path: PathLike,
        weight: float = WEIGHT,
        *,
        format: str = AUTO,  # noqa: A002
    ) -> None:
        """Add the words of a file, one per line.

        Args:
            path: The file.
            weight: The weight of words for which the file has none.
            format: ``weights``: behind the word, its weight or ``force``; ``jieba``: its frequency,
                in place of which the weight is 20, and its tag; ``auto``: that of jieba where any
                line has both.
        """
        entries = read_dictionary(path, format)
        for entry in entries:
            if entry.weight is not None and not _allowed(entry.weight):
                raise CorpusError(
                    f"{entry.where}: weight {entry.cell!r}; allowed: {WEIGHTS}"
                    f"{jieba_advice(entry.cell)}"
                )
        self.add({word: weight if own is None else own for word, own, *_ in entries})
        self.set_tags({entry.word: entry.tag for entry in entries if entry.tag})

    def tag(self, word: str) -> str | None:
        """The part of speech that the user gave a word; None where there is none."""
        return self._tags.get(self._folded([word])[0]) if self._tags else None

    def set_tags(self, tags: Mapping[str, str]) -> None:
        """Give words of the dictionary their parts of speech, which a ``WordTagger`` gives them."""
        for word, tag in tags.items():
            if word not in self:
                raise ParameterError(f"{word!r} is not in the dictionary")
            if not isinstance(tag, str) or not tag or any(map(str.isspace, tag)):
                raise ParameterError(f"the tag of {word!r} is {described(tag)}; allowed: a name")
        self._tags |= dict(zip(self._folded(tags), tags.values(), strict=True))

    def to_dict(self) -> dict[str, float]:
        """The words, folded, and their weights."""
        return dict(self._weights)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The words and weights as arrays for a file; nothing where there are no words."""
        if not self._weights:
            return {}
        weights = np.fromiter(self._weights.values(), np.float64, len(self))
        if (weights == weights[0]).all():
            weights = weights[:1]  # of all words
        arrays: dict[str, NDArray[Any]] = {
            "packed_words": _packed(self._weights),
            "word_weights": weights,
        }
        if self._tags:
            arrays["packed_tags"] = _packed([self._tags.get(word, "") for word in self._weights])
        return arrays

    def add_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Add what ``to_arrays`` gave; raise where it is damaged."""
        if "packed_words" not in arrays:
            return
        words = _unpacked(arrays["packed_words"])
        weights = arrays["word_weights"]
        if weights.ndim != 1 or len(weights) not in (1, len(words)):
            raise ValueError("the words of the dictionary and their weights do not fit together")
        self.add(dict(zip(words, np.resize(weights, len(words)).tolist(), strict=True)))
        if "packed_tags" in arrays:
            tags = zip(words, _unpacked(arrays["packed_tags"]), strict=True)
            self.set_tags({word: tag for word, tag in tags if tag})

    def __len__(self) -> int:
        """Count the words."""
        return len(self._weights)

    def __contains__(self, word: str) -> bool:
        return word in self.native

    def __iter__(self) -> Iterator[str]:
        """The words, as the segmenter sees them: folded."""
        return iter(self._weights)

    def weight(self, word: str) -> float:
        """The weight of a word."""
        if word not in self:
            raise ParameterError(f"{word!r} is not in the dictionary")
        return self._weights[self._folded([word])[0]]

    def _folded(self, words: Iterable[str]) -> list[str]:
        """Fold words, all at once: dictionaries are large."""
        listed = list(words)
        if not listed:
            return []
        codes = np.frombuffer("\n".join(listed).encode("utf-32-le", "surrogatepass"), np.uint32)
        folded = core.fold_codes(codes, self.fold).tobytes()
        return folded.decode("utf-32-le", "surrogatepass").split("\n")


def _check_words(words: Iterable[object]) -> None:
    for word in words:
        if not isinstance(word, str):
            raise ParameterError(f"{described(word)} is not a word; allowed: a string")


def _check(weights: Mapping[str, float]) -> None:
    if "\n".join(map(str, weights)).split() != list(weights):  # else all are words
        for word in weights:
            if not isinstance(word, str) or not word or any(map(str.isspace, word)):
                raise ParameterError(f"{word!r} is not a word: it is empty or contains white space")
    for word, weight in weights.items():
        if not _allowed(weight):
            raise ParameterError(f"the weight of {word!r} is {weight}; allowed: {WEIGHTS}")


def _packed(lines: Iterable[str]) -> NDArray[np.uint8]:
    """Lines of text, compressed."""
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    return np.frombuffer(zlib.compress(text, 9), np.uint8)


def _unpacked(packed: NDArray[Any]) -> list[str]:
    """Read what ``_packed`` gave; raise where it is damaged."""
    try:
        text = zlib.decompress(packed.tobytes())
    except zlib.error:
        raise ValueError("the words of the dictionary are damaged") from None
    return text.decode("utf-8", "surrogatepass").split("\n")


def _allowed(weight: object) -> bool:
    if type(weight) is not float:  # which most are
        if isinstance(weight, bool) or not isinstance(weight, Real):
            return False
        weight = float(weight)
    return weight == FORCE or abs(weight) <= LARGEST
