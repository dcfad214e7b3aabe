"""Extractors: what is known of the tokens of a sentence, as one more column for a template.

An extractor looks at the tokens of a sentence and gives one string for each. ``add_columns`` puts
the values of several of them after a sentence's own columns, and templates name it as any other
column: ``U:%x[0,2]``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adaptag.errors import CorpusError, ParameterError
from adaptag.features.clustering import cluster_words
from adaptag.features.settings import ClusterSettings
from adaptag.storage.files import read_bytes, shown

if TYPE_CHECKING:
    from adaptag.storage.files import PathLike

    Token = str | Sequence[str]

__all__ = ["Clusters", "Gazetteer", "MaximumMatching", "add_columns", "orthography", "substrings"]

Extractor = Callable[[Sequence[str]], Sequence[str]]

OUTSIDE = "O"
GREEK = frozenset(
    [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "zeta",
        "eta",
        "theta",
        "iota",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
        "omicron",
        "pi",
        "rho",
        "sigma",
        "tau",
        "upsilon",
        "phi",
        "chi",
        "psi",
        "omega",
    ]
)
SINGLES = frozenset(",.()[]-/:;%'\"+*=<>")  # punctuation that stands for itself
PATTERNS = (
    ("digit", re.compile(r"[0-9]")),
    ("two-digits", re.compile(r"[0-9]{2}")),
    ("digits", re.compile(r"[0-9]+")),
    ("number", re.compile(r"[0-9.,%]*[0-9][0-9.,%]*")),
    ("roman", re.compile(r"(?=[IVX])X{0,3}(?:IX|IV|V?I{0,3})")),
    ("sequence", re.compile(r"[ATGCU]{3,}")),
)


def orthography(tokens: Sequence[str]) -> list[str]:
    """How each token is written: ``lower``, ``Title``, ``capitals+digit+dash``, ``greek``, ….

    One mode for each token, for names as those of genes: numbers, Roman numerals, sequences of
    bases, Greek letters, punctuation, and else the case of its letters with what stands between
    them.
    """
    return [_mode(token) for token in tokens]


def _mode(token: str) -> str:
    if token.lower() in GREEK:
        return "greek"
    for name, pattern in PATTERNS:
        if pattern.fullmatch(token):
            return name
    letters = [c for c in token if c.isalpha()]
    if not letters:
        return token if token in SINGLES else "symbols"
    if len(letters) == 1:
        case = "capital" if letters[0].isupper() else "letter"
    elif all(c.isupper() for c in letters):
        case = "capitals"
    elif not any(c.isupper() for c in letters):
        case = "lower"
    elif letters[0].isupper() and not any(c.isupper() for c in letters[1:]):
        case = "Title"
    else:
        case = "Mixed" if letters[0].isupper() else "mixed"
    marks = {
        "digit": any(c.isdigit() for c in token),
        "dash": "-" in token,
        "slash": "/" in token,
        "greek": not GREEK.isdisjoint(re.split(r"[^a-z]+", token.lower())),
    }
    return "+".join([case, *(name for name, there in marks.items() if there)])


@dataclass(frozen=True)
class Clusters:
    """Clusters of words, such as Brown's: the cluster of each token, or the first bits of its name.

    Attributes:
        cluster_of: The name of each word's cluster.
        prefix: The number of characters of the name that are kept. None means all.
        lower: Whether a token that is not found is looked up in lower case as well.
    """

    cluster_of: Mapping[str, str]
    prefix: int | None = None
    lower: bool = True

    @classmethod
    def read(cls, path: PathLike, prefix: int | None = None) -> Clusters:
        """Read lines ``cluster<TAB>word[<TAB>count]``, as Brown clustering writes them."""
        entries = {}
        for where, line in _lines(path):
            cluster, tab, word = line.partition("\t")
            if not tab or not cluster or not word.split("\t")[0]:
                raise CorpusError(f"{where}: {line[:40]!r}; allowed: cluster<TAB>word")
            entries[word.split("\t")[0]] = cluster
        return cls(entries, prefix)

    @classmethod
    def learn(
        cls, sentences: Iterable[Sequence[str]], prefix: int | None = None, **settings: int
    ) -> Clusters:
        """Find clusters of words in raw text, by their neighbours.

        Args:
            sentences: Lists of tokens.
            prefix: The number of characters of the code that are kept. None means all.
            settings: Those of `ClusterSettings`: ``clusters``, ``cutoff``, ``passes``.
        """
        words = cluster_words(sentences, ClusterSettings(**settings))
        return cls({entry.word: entry.code for entry in words}, prefix)

    def __call__(self, tokens: Sequence[str]) -> list[str]:
        """The cluster of each token; ``O`` for unknown ones."""
        return [self._of(token)[: self.prefix] for token in tokens]

    def _of(self, token: str) -> str:
        cluster = self.cluster_of.get(token)
        if cluster is None and self.lower:
            cluster = self.cluster_of.get(token.lower())
        return OUTSIDE if cluster is None else cluster


@dataclass(frozen=True)
class Gazetteer:
    """Lists of names: where the longest of them lie, as ``B-type``, ``I-type`` and ``O``.

    Attributes:
        entries: The names, each a tuple of tokens, and their types.
        lower: Whether case is ignored.
    """

    entries: Mapping[tuple[str, ...], str]
    lower: bool = False
    _longest: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        entries = {self._key(name): kind for name, kind in self.entries.items() if name}
        object.__setattr__(self, "entries", entries)
        object.__setattr__(self, "_longest", max(map(len, entries), default=0))

    @classmethod
    def read(cls, path: PathLike, *, lower: bool = False) -> Gazetteer:
        """Read lines ``name<TAB>type``, the tokens of a name separated by spaces."""
        entries = {}
        for where, line in _lines(path):
            name, tab, kind = line.partition("\t")
            if not tab or not name.split() or not kind.strip():
                raise CorpusError(f"{where}: {line[:40]!r}; allowed: name<TAB>type")
            entries[tuple(name.split())] = kind.strip()
        return cls(entries, lower)

    def __call__(self, tokens: Sequence[str]) -> list[str]:
        """Mark names from left to right, the longest that begins at each token."""
        keys, found, t = self._key(tokens), [OUTSIDE] * len(tokens), 0
        while t < len(keys):
            for n in range(min(self._longest, len(keys) - t), 0, -1):
                kind = self.entries.get(keys[t : t + n])
                if kind is not None:
                    found[t : t + n] = [f"B-{kind}"] + [f"I-{kind}"] * (n - 1)
                    t += n
                    break
            else:
                t += 1
        return found

    def _key(self, tokens: Sequence[str]) -> tuple[str, ...]:
        return tuple(token.lower() for token in tokens) if self.lower else tuple(tokens)


@dataclass(frozen=True)
class MaximumMatching:
    """The words that maximum matching finds, as places of characters: ``B``, ``M``, ``E``, ``S``.

    Attributes:
        words: The lexicon.
        backward: Whether matching goes from the end of the sentence to its beginning.
    """

    words: frozenset[str]
    backward: bool = False
    _longest: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", frozenset(self.words))
        object.__setattr__(self, "_longest", max(map(len, self.words), default=1))

    @classmethod
    def read(cls, path: PathLike, *, backward: bool = False) -> MaximumMatching:
        """Read a lexicon: the first field of each line is a word."""
        return cls(frozenset(line.split()[0] for _, line in _lines(path)), backward)

    def __call__(self, tokens: Sequence[str]) -> list[str]:
        """The place of each character; tokens are characters."""
        text = tokens[::-1] if self.backward else tokens
        found: list[str] = []
        t = 0
        while t < len(text):
            n = next(
                (
                    n
                    for n in range(min(self._longest, len(text) - t), 1, -1)
                    if "".join(text[t : t + n][:: -1 if self.backward else 1]) in self.words
                ),
                1,
            )
            places = ["S"] if n == 1 else ["B", *["M"] * (n - 2), "E"]
            found += places[:: -1 if self.backward else 1]
            t += n
        return found[::-1] if self.backward else found


def substrings(token: str, longest: int = 9, shortest: int = 1) -> list[str]:
    """All different substrings of a token, by where they begin and then by length.

    They are attributes of one token, for data of attributes: a column holds only one value. With
    the defaults they are those that Tsuruoka, Tsujii and Ananiadou (2009), section 4.2, have for
    named entities.

    Args:
        token: Any string.
        longest: The maximum number of characters.
        shortest: The minimum number of characters, 1 or more.

    Examples:
        >>> substrings("gaga", longest=3, shortest=2)
        ['ga', 'gag', 'ag', 'aga']
    """
    if not isinstance(token, str):
        raise CorpusError(f"the token is {token!r}; allowed: a string")
    if shortest < 1:
        raise ParameterError(f"shortest is {shortest}; allowed: 1 or more")
    if longest < shortest:
        raise ParameterError(f"longest is {longest}; allowed: {shortest} (the shortest) or more")
    all_substrings = (
        token[start:end]
        for start in range(len(token))
        for end in range(start + shortest, min(start + longest, len(token)) + 1)
    )
    return list(dict.fromkeys(all_substrings))


def add_columns(
    sentences: Iterable[Sequence[Token]], extractors: Sequence[Extractor], *, before: int = 0
) -> list[list[tuple[str, ...]]]:
    """Add the values that extractors find for the first column after a sentence's columns.

    Args:
        sentences: Lists of tokens, which are strings or tuples of columns.
        extractors: The extractors, each of which adds one column.
        before: The number of columns that stay last, such as 1 for the label.
    """
    extended = []
    for sentence in sentences:
        rows = [(token,) if isinstance(token, str) else tuple(token) for token in sentence]
        words = [row[0] for row in rows]
        added = list(zip(*(extract(words) for extract in extractors), strict=True))
        added = added or [()] * len(rows)
        extended.append(
            [
                (*row[: len(row) - before], *more, *row[len(row) - before :])
                for row, more in zip(rows, added, strict=True)
            ]
        )
    return extended


def _lines(path: PathLike) -> Iterator[tuple[str, str]]:
    """The lines of a UTF-8 file that are not blank, each with its place."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{shown(path)}: invalid UTF-8 at byte {error.start + 1}") from None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield f"{shown(path)}:{number}", line
