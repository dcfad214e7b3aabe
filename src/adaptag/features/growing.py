"""A feature index that grows while data comes in: predicates are numbered when first seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptag._native import core
from adaptag.errors import ParameterError
from adaptag.features.index import (
    TENSORS,
    Encoded,
    FeatureIndex,
    add,
    check_columns,
    encoded_of,
)

if TYPE_CHECKING:
    from adaptag.corpus.data import Corpus
    from adaptag.features.template import Template

__all__ = ["GrowingIndex"]

SMALLEST = 1024  # predicates that there is room for at first


class GrowingIndex:
    """Predicates by kind, in the order they were first seen, with room for more.

    Weights lie kind after kind, so each kind has room beyond what it uses. The room doubles when
    it is used up; then all weights must move. Once there are ``limit`` predicates, those that are
    new are ignored, and memory stays as it is.

    Attributes:
        start: The index to grow from; a hashed one stays as it is.
        n_of_kind: The number of predicates of each kind that there is room for.
        limit: The maximum number of predicates of all kinds; None means no limit.
        n_columns: The feature columns of the data; None for attributes.
    """

    def __init__(
        self,
        start: FeatureIndex | Template,
        limit: int | None = None,
        n_columns: int | None = None,
    ) -> None:
        self.start = start if isinstance(start, FeatureIndex) else None
        self.template = start.template if isinstance(start, FeatureIndex) else start
        self.n_columns = start.n_columns if isinstance(start, FeatureIndex) else n_columns
        self.limit = limit
        self.n_of_kind = (0, 0, 0)
        self._builder: core.IndexBuilder | None = None
        if self.start is not None and self.start.is_hashed:
            self.n_of_kind = self.start.n_of_kind
            if limit is not None:
                raise ParameterError("max_features cannot be combined with hashed features")
            return
        if limit is not None and limit < 1:
            raise ParameterError(f"max_features is {limit}; allowed: 1 or more")
        self._builder = (
            core.IndexBuilder(self.template.program())
            if self.start is None
            else self.start.builder()
        )
        if limit is not None:
            self._builder.limit(limit)
        self._make_room()

    @property
    def n_predicates(self) -> int:
        """Predicates of all kinds that there is room for."""
        return sum(self.n_of_kind)

    @property
    def used(self) -> tuple[int, int, int]:
        """How many predicates of each kind there are."""
        if self._builder is None:
            return self.n_of_kind
        node, both, edge = self._builder.counts
        return node, both, edge

    def encode(self, corpus: Corpus) -> Encoded:
        """Find the predicates of a corpus; new ones are added, and the room grows for them."""
        if self._builder is None:
            assert self.start is not None
            return self.start.encode(corpus, labelled=True)
        check_columns(corpus, self.template, self.n_columns, labelled=True)
        add(corpus, self._builder)
        self._make_room()
        return encoded_of(corpus, *self._builder.take(self.n_of_kind))

    def snapshot(self) -> FeatureIndex:
        """The index as it is now, without the room."""
        if self._builder is None:
            assert self.start is not None
            return self.start
        tables = self._builder.snapshot()
        tensors = {name: tables[name] for name in TENSORS}
        return FeatureIndex(self.template, tables["n_of_kind"], tensors, self.n_columns)

    def _make_room(self) -> None:
        assert self._builder is not None
        node, both, edge = (
            room if used <= room else max(2 * room, _room_for(used))
            for used, room in zip(self._builder.counts, self.n_of_kind, strict=True)
        )
        self.n_of_kind = (node, both, edge)


def _room_for(n: int) -> int:
    """The next power of two; where there are few, as label bigrams are, no more than needed."""
    return n if n <= 4 else max(SMALLEST, 1 << (n - 1).bit_length())
