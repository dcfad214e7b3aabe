"""Words of the user's own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.corpus.data import as_list
from adaptag.corpus.text import unix_line_ends
from adaptag.errors import CorpusError, ParameterError, described
from adaptag.storage.files import check_path, read_bytes, shown

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

    def __repr__(self) -> str:
        first = ", ".join(list(self)[:5])
        more = ", …" if len(self) > 5 else ""
        return f"<UserDictionary of {len(self):,} words{': ' * bool(first)}{first}{more}>"

    def copy(self) -> UserDictionary:
        """A dictionary of its own with the same words."""
        other = UserDictionary(self.fold)
        other.add(self._weights)
        return other

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

    def load(self, path: PathLike, weight: float = WEIGHT) -> None:
        """Add the words of a file: one per line, and after white space its weight or ``force``."""
        check_path(path)
        self.add(_read(path, weight))

    def to_dict(self) -> dict[str, float]:
        """The words, folded, and their weights."""
        return dict(self._weights)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The words and weights as arrays for a file; nothing where there are no words."""
        if not self._weights:
            return {}
        text = "\n".join(self._weights).encode("utf-8", "surrogatepass")
        weights = np.fromiter(self._weights.values(), np.float64, len(self))
        return {"words": np.frombuffer(text, np.uint8), "word_weights": weights}

    def add_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Add what ``to_arrays`` gave; raise where it is damaged."""
        if "words" not in arrays:
            return
        words = arrays["words"].tobytes().decode("utf-8", "surrogatepass").split("\n")
        weights = arrays["word_weights"].tolist()
        if arrays["word_weights"].ndim != 1 or len(words) != len(weights):
            raise ValueError("the words of the dictionary and their weights do not fit together")
        self.add(dict(zip(words, weights, strict=True)))

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
    for word, weight in weights.items():
        if not isinstance(word, str) or not word or any(map(str.isspace, word)):
            raise ParameterError(f"{word!r} is not a word: it is empty or contains white space")
        if not _allowed(weight):
            raise ParameterError(f"the weight of {word!r} is {weight}; allowed: {WEIGHTS}")


def _read(path: PathLike, weight: float) -> dict[str, float]:
    name = shown(path)
    try:
        text = unix_line_ends(read_bytes(path)).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{name}: invalid UTF-8 at byte {error.start + 1}") from None
    weights = {}
    for number, line in enumerate(text.split("\n"), 1):
        cells = line.split()
        if not cells or line.startswith("#"):
            continue
        if len(cells) > 2:
            raise CorpusError(
                f"{name}:{number}: {len(cells)} cells; allowed: a word, and its weight or 'force'"
            )
        weights[cells[0]] = weight if len(cells) == 1 else _weight(cells[1], f"{name}:{number}")
    return weights


def _weight(cell: str, where: str) -> float:
    if cell == "force":
        return FORCE
    try:
        found = float(cell)
    except ValueError:
        found = math.nan
    if not _allowed(found):
        raise CorpusError(f"{where}: weight {cell!r}; allowed: {WEIGHTS}")
    return found


def _allowed(weight: object) -> bool:
    if isinstance(weight, bool) or not isinstance(weight, Real):
        return False
    return weight == FORCE or abs(float(weight)) <= LARGEST
