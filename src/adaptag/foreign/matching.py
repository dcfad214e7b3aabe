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

__all__ = ["FeatureMatcher"]

HOLE = re.compile(r"%x\[\]")


class FeatureMatcher:
    """Finds all ways in which the lines of a template make a feature string.

    Attributes:
        template: The template, whose macros are all ``%x``.
        steps: The number of steps that may still be taken, for all strings.
        name: The file, for messages.
    """

    def __init__(self, template: Template, steps: int, name: str = "<bytes>") -> None:
        self.template = template
        self.name = name
        self.steps = steps
        self._forms: dict[str, list[tuple[int, list[str]]]] = {}  # by the text before a token
        for number, skeleton in enumerate(template.skeletons):
            first, *others = HOLE.split(skeleton)
            self._forms.setdefault(first, []).append((number, others))
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
                elif feature.endswith(others[-1]):
                    for tokens in self._splits(feature, length, others):
                        yield number, tokens

    def _splits(self, text: str, begin: int, separators: list[str]) -> Iterator[tuple[str, ...]]:
        """Split what follows ``begin`` into tokens, none empty, each with its separator behind."""
        self._step()
        separator, *others = separators
        if not others:
            end = len(text) - len(separator)
            if end > begin:
                yield (text[begin:end],)
            return
        end = text.find(separator, begin + 1)
        while 0 <= end < len(text):
            for tokens in self._splits(text, end + len(separator), others):
                yield text[begin:end], *tokens
            end = text.find(separator, end + 1)

    def _step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise ModelError(f"{self.name}: its features can be made of tokens in too many ways")
