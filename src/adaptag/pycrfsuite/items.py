"""Sequences of items whose features are turned into attributes once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adaptag._native import core
from adaptag.decoding.decoder import raises_corpus_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["ItemSequence"]


class ItemSequence(core.ItemSequence):
    """The items of one sequence as attributes with values.

    A trainer or tagger takes it in place of the items, and need not turn them into attributes
    again. An item is a collection of strings, the attributes; or a dictionary from names to values.
    A string as value gives the attribute ``name:string``, a number (or a bool) the attribute
    ``name`` with this value, and an item in turn its attributes with ``name:`` before them.

    Examples:
        >>> from adaptag.pycrfsuite import ItemSequence
        >>> ItemSequence([["foo"], {"bar": {"baz": 1}, "word": "the"}]).items()
        [{'foo': 1.0}, {'bar:baz': 1.0, 'word:the': 1.0}]
    """

    @raises_corpus_errors
    def __init__(self, pyseq: Iterable[Any]) -> None:
        super().__init__(pyseq)

    @raises_corpus_errors
    def items(self) -> list[dict[str, float]]:
        """The attributes of each item, with their values."""
        return super().items()

    def __iter__(self) -> Iterator[dict[str, float]]:
        return iter(self.items())

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"
