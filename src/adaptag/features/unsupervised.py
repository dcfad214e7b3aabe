"""What raw text shows about words: accessor variety and mutual information, as further columns.

Text whose words are not known still shows where they end: many different characters stand around
a word, few around a part of one. Two measures of it are columns for a template, after Sun and Xu
(2011), Enhancing Chinese word segmentation using unlabeled data:

- ``AccessorVariety``: how many different characters come before, or after, a string;
- ``MutualInformation``: how much more often two characters are neighbours than by chance.

Raw text is any number of strings. White space of any kind ends a sentence; all other characters
count as they are.

If raw text holds the training sentences, each of their strings is in it at least once; those of
other sentences need not be. A model would learn from a difference that is not there later. So what
raw text has only once counts as if it were not there: ``cutoff`` is 2.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from adaptag.errors import CorpusError, ParameterError, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Counts = NDArray[np.int32]
    Numbers = NDArray[np.int64]

__all__ = ["AccessorVariety", "MutualInformation", "StringTable", "VarietyTable"]

SIDES = ("left", "right")
MAX_LENGTH = 16
MAX_BITS = 64
MAX_CUTOFF = 2**31 - 1
EDGE = "_"  # the string would reach out of the sentence
UNSEEN = "O"  # raw text does not have these neighbours
NAMES = ("0", *(str(1 << b) for b in range(32)))  # each bucket by its least variety


@dataclass(frozen=True, eq=False, repr=False)
class StringTable:
    """The different strings of raw text, of each length up to some, numbered.

    A string of n characters is known by the number of its first n − 1 and by its last character,
    so its key fits in 64 bits whatever n is. Numbers of a length follow the order of its keys.

    Attributes:
        characters: The distinct code points in ascending order, uint32 ``[V]``.
        keys: The keys of the strings of each length from 2 on: the number of the first n − 1
            characters times V, plus the number of the last; ascending, int64 ``[N_n]``.
    """

    characters: NDArray[np.uint32]
    keys: tuple[Numbers, ...]
    _last: list[tuple[str, list[Numbers]]] = field(default_factory=list, init=False)

    def numbers(self, tokens: Sequence[str]) -> list[Numbers]:
        """The numbers of all strings of a sentence, by length and place; -1: not in the text.

        What was found last is kept, since each column needs the same sentence again.

        Returns:
            For each length n, int64 ``[T - n + 1]``, or ``[0]`` if there are fewer tokens.
        """
        text = _characters(tokens)
        for last_text, numbers in self._last[:1]:
            if last_text == text:
                return numbers
        single = _find(self.characters, _codes(text))
        numbers = [single]
        for n, keys in enumerate(self.keys, 1):
            first, last = numbers[-1][:-1], single[n:]
            candidates = first * len(self.characters) + last  # negative if the first is -1
            numbers.append(_find(keys, np.where(last < 0, -1, candidates)))
        self._last[:] = [(text, numbers)]
        return numbers


@dataclass(frozen=True, eq=False, repr=False)
class VarietyTable:
    """The accessor varieties of all strings of raw text, of each length up to some.

    Attributes:
        strings: The strings, numbered.
        left: The number of distinct characters before each string, for each length from 1 on, int32
            ``[N_n]``.
        right: The number of distinct characters after each string, likewise.
    """

    strings: StringTable
    left: tuple[Counts, ...]
    right: tuple[Counts, ...]

    @property
    def longest(self) -> int:
        """The length of the longest strings."""
        return len(self.left)


@dataclass(frozen=True, eq=False)
class AccessorVariety:
    """How many different characters stand next to a string: for each character a power of two.

    The left variety L(s) of a string is the number of different characters that come before it in
    raw text, the right variety R(s) that of those after it (Feng, Chen, Deng and Zheng 2004,
    Accessor variety criteria for Chinese word extraction). As they do, the ends of sentences count
    as if each were a character of its own: a string that begins k sentences has k more.

    The column for ``left`` has, for each character, L of the string that begins with it: many
    accessors speak for a word that begins here. That for ``right`` has R of the string that ends
    with it. Varieties are put into buckets, each named by the least that is in it: 1, 2 (2 and 3),
    4 (4 to 7), 8 (8 to 15), and so on; 0 is for those below the cutoff, and for strings that raw
    text does not have. A string that would reach out of the sentence gives ``_``.

    Attributes:
        table: The varieties; several columns share one table.
        length: The number of characters of the string, 1 to the longest of the table.
        side: ``left`` or ``right``.
        cutoff: A variety below this counts as 0.

    Examples:
        >>> variety = AccessorVariety.learn(["去北京", "在北京玩", "来北京"])
        >>> variety("去北京玩")
        ['0', '2', '0', '_']
        >>> variety.of("北京")
        3
    """

    table: VarietyTable = field(repr=False)
    length: int = 2
    side: str = "left"
    cutoff: int = 2

    def __post_init__(self) -> None:
        _check("cutoff", self.cutoff, 1, MAX_CUTOFF)
        _check("length", self.length, 1, self.table.longest)
        if self.side not in SIDES:
            raise ParameterError(unknown("side", str(self.side), SIDES))

    @classmethod
    def learn(
        cls,
        texts: Iterable[str],
        longest: int = 4,
        *,
        length: int | None = None,
        side: str = "left",
        cutoff: int = 2,
    ) -> AccessorVariety:
        """Count the accessors of all strings of raw text.

        Args:
            texts: Raw text, such as the lines of a file, without spaces between words.
            longest: The maximum number of characters of the strings, 1 to 16.
            length: The number of characters of the string of this column. None means 2, or 1 if
                that is the longest.
            side: ``left`` or ``right``.
            cutoff: A variety below this counts as 0.
        """
        _check("longest", longest, 1, MAX_LENGTH)
        raw = _RawText.of(texts)
        begins = np.concatenate(([True], raw.room[:-1] == 1))  # [T]
        number = np.empty(len(raw.codes), np.int64)  # [T], of the string that begins here
        left, right, keys = [], [], []
        levels = raw.levels(longest + 1)
        # A string with one accessor is a string that is longer by one: so its right variety is the
        # number of longer ones that begin with it, its left variety that of those that end with it.
        for n, (level, longer) in enumerate(itertools.pairwise(levels), 1):
            number[level.at] = level.ids
            starts, ends = level.ids[begins[level.at]], level.ids[raw.room[level.at] == n]
            suffixes, prefixes = number[longer.first + 1], longer.keys // len(raw.characters)
            left.append(_count(level, suffixes) + _count(level, starts))
            right.append(_count(level, prefixes) + _count(level, ends))
            keys.append(level.keys)
        strings = StringTable(raw.characters, tuple(keys[1:]))
        table = VarietyTable(strings, tuple(left), tuple(right))
        return cls(table, min(2, longest) if length is None else length, side, cutoff)

    def columns(self, shortest: int = 2) -> list[AccessorVariety]:
        """The columns of all lengths, from the shortest to the longest of the table.

        Returns:
            For each length the left and the right one; all share the table.
        """
        _check("shortest", shortest, 1, self.table.longest)
        lengths = range(shortest, self.table.longest + 1)
        return [replace(self, length=n, side=side) for n in lengths for side in SIDES]

    def of(self, string: str) -> int:
        """The variety of a string on this side; it may be of any length that the table has."""
        _check("the length of the string", len(string), 1, self.table.longest)
        return int(self._varieties(string, len(string))[0])

    def __call__(self, tokens: Sequence[str]) -> list[str]:
        """The bucket of the string that begins, or ends, at each character; tokens are characters.

        Raises:
            CorpusError: A token is not one character.
        """
        varieties = self._varieties(tokens, self.length)
        varieties[varieties < self.cutoff] = 0
        buckets = np.frexp(varieties)[1]  # 0, 1, 2 and 3, 4 to 7, … → 0, 1, 2, 3, …
        names = [NAMES[b] for b in buckets.tolist()]
        edge = [EDGE] * (len(tokens) - len(names))
        return names + edge if self.side == "left" else edge + names

    def _varieties(self, tokens: Sequence[str], length: int) -> Counts:
        numbers = self.table.strings.numbers(tokens)[length - 1]
        known = numbers >= 0
        varieties = np.zeros(len(numbers), np.int32)
        table = self.table.left if self.side == "left" else self.table.right
        varieties[known] = table[length - 1][numbers[known]]
        return varieties


@dataclass(frozen=True, eq=False)
class MutualInformation:
    """How much more often two characters are neighbours than by chance: bits, as a whole number.

    The pointwise mutual information of neighbours a and b in raw text::

        I(ab) = log2( p(ab) / (p(a) p(b)) )

    where p(a) is the share of a among all characters, p(ab) that of ab among all neighbours. It is
    high inside words. The column has for each character that with the one before it, rounded to
    the nearest whole number and kept between two bounds. The first character of a sentence has
    ``_``; neighbours that raw text does not have, or too seldom, give ``O``.

    Attributes:
        strings: The characters and pairs of raw text, numbered.
        bits: I of each pair, rounded, int32 ``[N_2]``.
        counts: The number of occurrences of each pair, int32 ``[N_2]``.
        behind: Whether the pair is a character and the next one, so that the last character has
            ``_``.
        lowest: The lowest value; anything less counts as this.
        highest: The highest value; anything more counts as this.
        cutoff: Pairs that occur less often count as if they did not occur.

    Examples:
        >>> information = MutualInformation.learn(["去北京", "在北京玩", "来北京"])
        >>> information("去北京玩")
        ['_', 'O', '2', 'O']
    """

    strings: StringTable = field(repr=False)
    bits: Counts = field(repr=False)
    counts: Counts = field(repr=False)
    behind: bool = False
    lowest: int = -5
    highest: int = 15
    cutoff: int = 2

    def __post_init__(self) -> None:
        _check("cutoff", self.cutoff, 1, MAX_CUTOFF)
        for name, value in (("lowest", self.lowest), ("highest", self.highest)):
            _check(name, value, -MAX_BITS, MAX_BITS)
        if self.lowest > self.highest:
            raise ParameterError(
                f"lowest is {self.lowest}, highest is {self.highest}; allowed: lowest <= highest"
            )

    @classmethod
    def learn(
        cls,
        texts: Iterable[str],
        *,
        behind: bool = False,
        lowest: int = -5,
        highest: int = 15,
        cutoff: int = 2,
    ) -> MutualInformation:
        """Count the characters and neighbours of raw text.

        Args:
            texts: Raw text, such as the lines of a file, without spaces between words.
            behind: Whether the pair is a character and the next one.
            lowest: The lowest value, -64 to 64; anything less counts as this.
            highest: The highest value, -64 to 64; anything more counts as this.
            cutoff: Pairs that occur less often count as if they did not occur.
        """
        raw = _RawText.of(texts)
        single, pairs = raw.levels(2)
        counts, together = _count(single, single.ids), _count(pairs, pairs.ids)
        a, b = np.divmod(pairs.keys, len(raw.characters))  # [N_2]
        alone = np.log2(counts) - np.log2(len(single.ids))  # log p(a), [V]
        bits = np.log2(together) - np.log2(max(1, len(pairs.ids))) - alone[a] - alone[b]
        # 2 to the power of k + ½ is no fraction: no pair lies between two whole numbers.
        rounded = np.rint(bits).astype(np.int32)
        strings = StringTable(raw.characters, (pairs.keys,))
        return cls(strings, rounded, together, behind, lowest, highest, cutoff)

    def __call__(self, tokens: Sequence[str]) -> list[str]:
        """The information of each character and its neighbour; tokens are characters.

        Raises:
            CorpusError: A token is not one character.
        """
        numbers = self.strings.numbers(tokens)[1]
        known = numbers >= 0
        known[known] = self.counts[numbers[known]] >= self.cutoff
        bits = np.clip(self.bits[numbers[known]], self.lowest, self.highest)
        names = np.full(len(numbers), UNSEEN, object)
        names[known] = list(map(str, bits.tolist()))
        edge = [EDGE] * (len(tokens) - len(names))
        return [*names, *edge] if self.behind else [*edge, *names]


@dataclass(frozen=True, eq=False)
class _Level:
    """The strings of one length n.

    Attributes:
        keys: The keys of the distinct strings, as in ``StringTable``, int64 ``[N_n]``.
        first: The place where each string first occurs, int64 ``[N_n]``.
        at: The places where a string begins, ascending, int64 ``[M]``.
        ids: The number of the string at each place, int64 ``[M]``.
    """

    keys: Numbers
    first: Numbers
    at: Numbers
    ids: Numbers


@dataclass(frozen=True, eq=False)
class _RawText:
    """Concatenated sentences of raw text.

    Attributes:
        characters: The distinct code points in ascending order, uint32 ``[V]``.
        codes: The numbers of the characters, int64 ``[T]``.
        room: The number of characters from here to the end of the sentence, int64 ``[T]``; 1 at its
            last one.
    """

    characters: NDArray[np.uint32]
    codes: Numbers
    room: Numbers

    @classmethod
    def of(cls, texts: Iterable[str]) -> _RawText:
        """Split texts at white space."""
        if isinstance(texts, (str, bytes)):
            raise ParameterError(f"texts is one {type(texts).__name__}; allowed: a list of strings")
        sentences: list[str] = []
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise CorpusError(f"text {i} is {type(text).__name__}; allowed: strings")
            sentences += text.split()
        if not sentences:
            raise CorpusError("the raw text is empty; allowed: at least one character")
        characters, codes = np.unique(_codes("".join(sentences)), return_inverse=True)
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        room = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))
        return cls(characters, codes, room)

    def levels(self, longest: int) -> Iterator[_Level]:
        """The strings of 1, 2, … characters; none reaches from one sentence into the next."""
        n_characters = len(self.characters)
        at, ids = np.arange(len(self.codes)), np.zeros(len(self.codes), np.int64)
        for n in range(1, longest + 1):
            fits = self.room[at] >= n
            at, ids = at[fits], ids[fits]
            all_keys = ids * n_characters + self.codes[at + n - 1]
            keys, first, ids = np.unique(all_keys, return_index=True, return_inverse=True)
            yield _Level(keys, at[first], at, ids)


def _count(level: _Level, numbers: Numbers) -> Counts:
    """How often each string of a level is among numbers, int32 ``[N_n]``."""
    return np.bincount(numbers, minlength=len(level.keys)).astype(np.int32)


def _characters(tokens: Sequence[str]) -> str:
    """The text of tokens that are characters."""
    if set(map(type, tokens)) != {str} or set(map(len, tokens)) != {1}:
        for t, token in enumerate(tokens):
            if not isinstance(token, str) or len(token) != 1:
                raise CorpusError(f"token {t} is {token!r}; allowed: one character per token")
    return "".join(tokens)


def _codes(text: str) -> NDArray[np.uint32]:
    """The code points of a text, those of lone surrogates too."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint32)


def _find(values: NDArray[np.generic], searched: NDArray[np.generic]) -> Numbers:
    """Find the places of searched values in an ascending array, int64; -1 if missing."""
    if not len(values):
        return np.full(len(searched), -1)
    places = np.searchsorted(values, searched)
    places[places == len(values)] = 0
    return np.where(values[places] == searched, places, -1)


def _check(name: str, value: int, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ParameterError(f"{name} is {value!r}; allowed: whole numbers, {least} to {most}")
    if not least <= value <= most:
        raise ParameterError(f"{name} is {value}; allowed: {least} to {most}")
