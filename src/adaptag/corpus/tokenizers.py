"""Tokenizers: text in, the start and end of every token out, sentence by sentence.

A line is a sentence: what ``str.splitlines`` takes for the end of a line always ends one.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from adaptag.corpus.english_tokens import english_tokens
from adaptag.corpus.word_boundaries import characters_in, words_in
from adaptag.errors import ParameterError, described, unknown

__all__ = [
    "CUSTOM",
    "DEFAULT",
    "SEGMENTER",
    "STORED_NAMES",
    "TOKENIZERS",
    "Tokenizer",
    "check_tokenizer",
    "is_segmenter_file",
    "tokenizer_name",
    "tokenizer_of",
]

DEFAULT = "unicode"
SEGMENTER = "segmenter"
CUSTOM = "custom"
_NOT_BLANK = re.compile(r"\S+")

Place = tuple[int, int]
Cut = Callable[[str], Iterable[Place]]


@dataclass(frozen=True)
class Tokenizer:
    """A named way to cut text into tokens.

    Attributes:
        name: The name that a model stores: one of ``TOKENIZERS``, ``segmenter`` or ``custom``.
        cut: A function that finds the tokens of a line: the start and end of each, in order.
    """

    name: str
    cut: Cut

    def __call__(self, text: str) -> list[list[Place]]:
        """Find the tokens of a text: for each line that has any, the start and end of each."""
        lines = text.splitlines()
        if len(lines) == 1:
            tokens = list(self.cut(lines[0]))
            return [tokens] if tokens else []
        sentences, start = [], 0
        for line, whole in zip(lines, text.splitlines(keepends=True), strict=True):
            tokens = [(start + a, start + b) for a, b in self.cut(line)]
            if tokens:
                sentences.append(tokens)
            start += len(whole)
        return sentences


def _blocks_in(text: str) -> list[Place]:
    return [match.span() for match in _NOT_BLANK.finditer(text)]


TOKENIZERS: dict[str, Tokenizer] = {
    DEFAULT: Tokenizer(DEFAULT, words_in),
    "whitespace": Tokenizer("whitespace", _blocks_in),
    "characters": Tokenizer("characters", characters_in),
    "english": Tokenizer("english", english_tokens),
}
"""The tokenizers that need nothing else, by name.

``unicode`` finds words by the rules of Unicode (UAX #29), every other visible character being a
token of its own; ``whitespace`` takes what stands between blanks; ``characters`` takes each visible
character, with its marks; ``english`` cuts as English treebanks do.
"""

STORED_NAMES = (*TOKENIZERS, SEGMENTER, CUSTOM)
"""The names that a model may have stored."""


def tokenizer_of(tokenizer: Any) -> Tokenizer:
    """Make a tokenizer of what a user gives.

    Args:
        tokenizer: A name of ``TOKENIZERS``, a ``Segmenter``, a function from a line to the start
            and end of each of its tokens, or None for the default.
    """
    if tokenizer is None:
        tokenizer = DEFAULT
    if isinstance(tokenizer, Tokenizer):
        return tokenizer
    if isinstance(tokenizer, str) and tokenizer in TOKENIZERS:
        return TOKENIZERS[tokenizer]
    if isinstance(tokenizer, (str, os.PathLike)):
        raise ParameterError(_why_not(str(tokenizer)))
    if getattr(tokenizer, "kind", None) == SEGMENTER:
        return Tokenizer(SEGMENTER, _words_of(tokenizer.cut))
    if not callable(tokenizer):
        raise ParameterError(
            f"tokenizer is {described(tokenizer)}; allowed: {', '.join(TOKENIZERS)}, a Segmenter, "
            "or a function that gives the start and end of each token"
        )
    return Tokenizer(CUSTOM, _checked(tokenizer))


def check_tokenizer(tokenizer: Any) -> None:
    """Raise where a value is neither a tokenizer nor the file of a segmenter."""
    if not is_segmenter_file(tokenizer):
        tokenizer_of(tokenizer)


def is_segmenter_file(tokenizer: Any) -> bool:
    """Whether a value is the path of a segmenter, and not the name of a tokenizer."""
    from adaptag.storage.ready import is_ready
    from adaptag.storage.tensors import kind_of

    if not isinstance(tokenizer, (str, os.PathLike)) or tokenizer in STORED_NAMES:
        return False
    is_file = is_ready(tokenizer) or os.path.isfile(tokenizer)  # noqa: PTH113
    return is_file and kind_of(tokenizer) == SEGMENTER


def tokenizer_name(tokenizer: Any) -> str | None:
    """The name under which a model stores a tokenizer; None where none is given."""
    if tokenizer is None or (isinstance(tokenizer, str) and tokenizer in STORED_NAMES):
        return tokenizer
    if isinstance(tokenizer, (str, os.PathLike)):  # a file
        return SEGMENTER
    return tokenizer_of(tokenizer).name


def _why_not(name: str) -> str:
    """The message that a name or a path is no tokenizer."""
    if name == SEGMENTER:
        return "the tokenizer is a segmenter; give it: tokenizer=adaptag.load(…), --tokenizer FILE"
    if name == CUSTOM:
        return "the tokenizer is a function of your own; give it: tokenizer=…"
    if is_segmenter_file(name):
        return f"{name} is the file of a segmenter; load it: tokenizer=adaptag.load({name!r})"
    return unknown("tokenizer", name, TOKENIZERS) + "; or a segmenter"


def _words_of(cut: Callable[[str], list[str]]) -> Cut:
    """The places of the words that a segmenter cuts a line into."""

    def places(line: str) -> list[Place]:
        words = cut(line)
        ends = list(itertools.accumulate(map(len, words)))
        starts = [0, *ends[:-1]]
        return [
            (a, b) for a, b, word in zip(starts, ends, words, strict=True) if not word.isspace()
        ]

    return places


def _checked(function: Callable[[str], Iterable[Any]]) -> Cut:
    """The tokens of a user's function, checked: inside the line, in order, and not empty."""

    def places(line: str) -> list[Place]:
        before, result = 0, []
        for pair in function(line):
            try:
                start, end = pair
                right = before <= start < end <= len(line)
            except (TypeError, ValueError):
                right = False
            if not right:
                raise ParameterError(
                    f"the tokenizer gave {described(pair)} for {described(line)}; allowed: "
                    f"(start, end) with {before} ≤ start < end ≤ {len(line)}"
                )
            if not line[start:end].isspace():
                result.append((int(start), int(end)))
            before = end
        return result

    return places
