"""Feature strings back to the tokens they were made of, by the lines of a template.

CRF++ keeps strings: ``U05:a/b/c`` of the line ``U05:%x[-1,0]/%x[0,0]`` is the feature of the tokens
``a`` and ``b/c`` as well as of ``a/b`` and ``c``. An index here keeps tokens, so such a string
becomes several predicates with the same weights, and scores are the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adaptag.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adaptag.features.template import Template

    Token = tuple[str, bool]  # what follows it, and the length that it has at least

__all__ = ["FeatureMatcher"]

HOLE = re.compile(r"%x\[\]")
MAYBE_EMPTY = ("m", "M")  # the macros whose values may be empty


class FeatureMatcher:
    """Finds all ways in which the lines of a template make a feature string.

    Attributes:
        template: The template, each hole of whose skeletons is ``%x[]``.
        steps: The number of steps that may still be taken, for all strings.
        name: The file, for messages.
    """

    def __init__(self, template: Template, steps: int, name: str = "<bytes>") -> None:
        self.template = template
        self.name = name
        self.steps = steps
        self._forms: dict[str, list[tuple[int, list[Token]]]] = {}  # by the text before a token
        for number, skeleton in enumerate(template.skeletons):
            first, *others = HOLE.split(skeleton)
            same = [line for line in template.lines if line.skeleton == skeleton]
            shortest = [
                min(line.macros[hole].name not in MAYBE_EMPTY for line in same)
                for hole in range(len(others))
            ]
            tokens = list(zip(others, shortest, strict=True))
            self._forms.setdefault(first, []).append((number, tokens))
        self._lengths = sorted({len(first) for first in self._forms})

    def matches(self, feature: str) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Give the number of each skeleton that can make the string, with the tokens."""
        for length in self._lengths:
            self._step()
            for number, others in self._forms.get(feature[:length], ()):
                self._step()
                if not others:
                    if len(feature) == length:
                        yield number, ()
                elif feature.endswith(others[-1][0]):
                    for tokens in self._splits(feature, length, others):
                        yield number, tokens

    def _splits(self, text: str, begin: int, tokens: list[Token]) -> Iterator[tuple[str, ...]]:
        """Split what follows ``begin`` into tokens, each with its separator behind."""
        self._step()
        (separator, shortest), *others = tokens
        if not others:
            end = len(text) - len(separator)
            if end >= begin + shortest:
                yield (text[begin:end],)
            return
        end = text.find(separator, begin + shortest)
        while end >= 0:
            for rest in self._splits(text, end + len(separator), others):
                yield text[begin:end], *rest
            end = text.find(separator, end + 1)

    def _step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise ModelError(f"{self.name}: its features can be made of tokens in too many ways")
