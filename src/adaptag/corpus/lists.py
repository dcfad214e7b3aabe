"""Collections that users give where a list is expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from adaptag.errors import CorpusError, described

__all__ = ["as_list", "is_iterable", "label_lists"]


def as_list(data: Any, name: str, allowed: str = "a list") -> list[Any]:
    """Return a collection as a list, or raise if it is not one; ``name`` says what it is."""
    refused = isinstance(data, (str, bytes, Mapping)) or hasattr(data, "tocsr")
    if refused or not is_iterable(data):
        kind = "a sparse matrix" if hasattr(data, "tocsr") else described(data)
        raise CorpusError(f"{name} is {kind}; allowed: {allowed}")
    return data if isinstance(data, list) else list(data)


def label_lists(data: Any, name: str, item: str = "sentence") -> list[list[Any]]:
    """Return the labels of each sentence as a list, or raise if they are not in collections.

    Args:
        data: The labels of each sentence. Those of one sentence have an order: they are no set.
        name: What they are.
        item: What a sentence is called.
    """
    allowed = "a list of labels"
    lists = []
    for number, labels in enumerate(as_list(data, name, f"a list of {item}s, each {allowed}"), 1):
        place = f"{name}, {item} {number}"
        if isinstance(labels, Set):
            raise CorpusError(f"{place} is {described(labels)}; allowed: {allowed}")
        lists.append(as_list(labels, place, allowed))
    return lists


def is_iterable(data: Any) -> bool:
    """Whether data can be iterated over: arrays without dimensions only say so."""
    return isinstance(data, Iterable) and getattr(data, "ndim", 1) != 0
