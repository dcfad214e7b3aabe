"""The feature index: which predicate a template line and its tokens are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.errors import CorpusError, ModelError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from adaptag.corpus.columns import ColumnCorpus
    from adaptag.features.template import Template

    Corpus = ColumnCorpus | AttributeCorpus

__all__ = [
    "EdgeLimit",
    "Encoded",
    "FeatureIndex",
    "add",
    "check_corpus",
    "check_cutoff",
    "encoded_of",
]

NO_TOKEN = 0xFFFFFFFF
MAX_CUTOFF = 2**31 - 1
MAX_BITS = 30
TENSORS = {
    "vocabulary_bytes": (np.uint8, 1),
    "vocabulary_offsets": (np.uint32, 1),
    "vocabulary_slots": (np.uint64, 1),
    "derived": (np.uint32, 2),
    "slots": (np.uint64, 1),
    "keys": (np.uint32, 2),
}


def check_cutoff(name: str, value: int, least: int = 1) -> None:
    """Raise unless a cutoff can be one."""
    if not least <= value <= MAX_CUTOFF:
        raise ParameterError(f"{name} is {value}; allowed: {least} to {MAX_CUTOFF}")


@dataclass(frozen=True)
class EdgeLimit:
    """Which of the features that may have edge weights get them; the others have node weights only.

    Attributes:
        cutoff: those that occur less often get none.
        share: of them all, the most frequent ones, 0 to 1.
    """

    cutoff: int = 1
    share: float = 1.0

    def __post_init__(self) -> None:
        check_cutoff("edge_cutoff", self.cutoff)
        if not 0 <= self.share <= 1:
            raise ParameterError(f"edge_share is {self.share}; allowed: 0 to 1")


NO_LIMIT = EdgeLimit()


@dataclass(frozen=True, eq=False)
class Encoded:
    """The predicates of a corpus: flat arrays.

    Attributes:
        sentences: first token of every sentence, then T, int64 ``[N + 1]``.
        positions: first predicate of every token, then F, int64 ``[T + 1]``.
        predicates: uint32 ``[F]``.
        values: float32 ``[F]``, or None where all are 1.
    """

    sentences: NDArray[np.int64]
    positions: NDArray[np.int64]
    predicates: NDArray[np.uint32]
    values: NDArray[np.float32] | None


@dataclass(frozen=True, eq=False, repr=False)
class FeatureIndex:
    """Predicates of a template over a vocabulary, numbered by kind and falling frequency.

    Attributes:
        template: the template.
        n_of_kind: how many predicates have node, node and edge, and edge weights.
        tensors: the tables that the core searches; see ``feature_index.hpp``. ``keys`` names every
            predicate: the number of its skeleton, then the numbers of its tokens. A hashed index
            has none: the number of a predicate is a hash of it, and its name is not known.
    """

    template: Template
    n_of_kind: tuple[int, int, int]
    tensors: Mapping[str, NDArray[Any]]

    @classmethod
    def hashed(cls, template: Template, bits: int) -> FeatureIndex:
        """Make an index of fixed size: ``2 ** bits`` predicates of each kind that has macros."""
        if not 1 <= bits <= MAX_BITS:
            raise ParameterError(f"hash_bits is {bits}; allowed: 1 to {MAX_BITS}")
        sizes = [0, 0, 0]
        for line in template.lines:
            sizes[line.kind] += 1
        for line in template.lines:
            if line.macros:
                sizes[line.kind] = 1 << bits
        if template.attributes:
            sizes[1 if template.rich_attributes else 0] = 1 << bits
        node, both, edge = sizes
        return cls(template, (node, both, edge), {})

    @classmethod
    def build(
        cls, corpus: Corpus, template: Template, cutoff: int = 1, edges: EdgeLimit = NO_LIMIT
    ) -> tuple[FeatureIndex, Encoded]:
        """Number all predicates seen at least ``cutoff`` times, and encode the corpus."""
        return cls._finish(core.IndexBuilder(template.program()), corpus, template, cutoff, edges)

    def grow(
        self, corpus: Corpus, cutoff: int = 1, edges: EdgeLimit = NO_LIMIT
    ) -> tuple[FeatureIndex, Encoded]:
        """Add the new predicates seen at least ``cutoff`` times, and encode the corpus.

        Within each kind, the predicates known so far come first, in their order, then the new ones
        by falling frequency. Where none is new, the index stays this one.
        """
        check_corpus(corpus, self.template)
        if self.is_hashed:
            return self, self.encode(corpus)
        grown, encoded = self._finish(self.builder(), corpus, self.template, cutoff, edges)
        return (self if grown.n_of_kind == self.n_of_kind else grown), encoded

    def builder(self) -> core.IndexBuilder:
        """A builder that knows these predicates already."""
        try:
            return core.IndexBuilder(
                self.template.program(),
                self.tensors["vocabulary_bytes"],
                self.tensors["vocabulary_offsets"],
                self.tensors["derived"],
                self.tensors["keys"],
                self.n_of_kind,
            )
        except ValueError as error:
            raise ModelError(f"malformed feature index: {error}") from None

    @classmethod
    def _finish(
        cls,
        builder: core.IndexBuilder,
        corpus: Corpus,
        template: Template,
        cutoff: int,
        edges: EdgeLimit,
    ) -> tuple[FeatureIndex, Encoded]:
        """Count and number the predicates of a corpus."""
        add(corpus, builder)
        found = builder.freeze(cutoff, edges.cutoff, edges.share)
        index = cls(template, found["n_of_kind"], {name: found[name] for name in TENSORS})
        data = (found[name] for name in ("positions", "predicates", "values"))
        return index, encoded_of(corpus, *data)

    def encode(self, corpus: Corpus) -> Encoded:
        """Find the predicates of a corpus; those that training never saw are left out."""
        check_corpus(corpus, self.template)
        if isinstance(corpus, AttributeCorpus):
            positions, predicates, values = self.native.encode_attributes(
                corpus.text, corpus.cells, corpus.values, corpus.positions, corpus.sentences
            )
            return encoded_of(corpus, positions, predicates, values)
        positions, predicates = self.native.encode_columns(
            corpus.text, corpus.cells, corpus.sentences
        )
        return Encoded(corpus.sentences, positions, predicates, None)

    def extends(self, other: FeatureIndex) -> bool:
        """Whether this index has grown from the other one, or is the same."""
        if self.template != other.template or self.is_hashed != other.is_hashed:
            return False
        if self.is_hashed:
            return self.n_of_kind == other.n_of_kind
        ours, theirs = self.tensors, other.tensors
        n_bytes = len(theirs["vocabulary_bytes"])
        same = bool((ours["vocabulary_bytes"][:n_bytes] == theirs["vocabulary_bytes"]).all())
        our_begin = their_begin = 0
        for n_ours, n_theirs in zip(self.n_of_kind, other.n_of_kind, strict=True):
            our_keys = ours["keys"][our_begin : our_begin + n_ours][:n_theirs]
            same &= np.array_equal(our_keys, theirs["keys"][their_begin : their_begin + n_theirs])
            our_begin, their_begin = our_begin + n_ours, their_begin + n_theirs
        return same

    @property
    def n_predicates(self) -> int:
        """Predicates of all kinds."""
        return sum(self.n_of_kind)

    @property
    def is_hashed(self) -> bool:
        """Whether predicates are hashes, without names."""
        return not self.tensors

    @cached_property
    def native(self) -> core.FeatureIndex:
        """The core's view of the tables."""
        if self.is_hashed:
            return core.FeatureIndex(self.template.program(), self.n_of_kind)
        return core.FeatureIndex(
            self.template.program(),
            self.tensors["vocabulary_bytes"],
            self.tensors["vocabulary_offsets"],
            self.tensors["vocabulary_slots"],
            self.tensors["derived"],
            self.tensors["slots"],
            self.n_of_kind,
        )

    def plain_edges(self) -> list[int]:
        """The predicates of label bigrams alone, without tokens, as a template's ``B`` has them."""
        node, both, edge = self.n_of_kind
        numbers = range(node + both, node + both + edge)
        if self.is_hashed:
            return list(numbers) if not any(line.macros for line in self.template.lines) else []
        return [p for p in numbers if (self.tensors["keys"][p, 1:] == NO_TOKEN).all()]

    @cached_property
    def _skeletons(self) -> list[str]:
        return self.template.skeletons

    def name(self, predicate: int) -> str:
        """Name a predicate as CRF++ would: ``U05:New/York``; ``#17`` in a hashed index."""
        if self.is_hashed:
            return f"#{predicate}"
        skeleton, *tokens = (int(number) for number in self.tensors["keys"][predicate])
        try:
            names = [self._token(token) for token in tokens if token != NO_TOKEN]
            return self.template.fill(self._skeletons[skeleton], names)
        except (IndexError, ValueError, StopIteration):
            raise ModelError(f"the name of feature {predicate} is damaged") from None

    def _token(self, number: int) -> str:
        begin, end = self.tensors["vocabulary_offsets"][number : number + 2]
        return self.tensors["vocabulary_bytes"][begin:end].tobytes().decode(errors="replace")


def check_corpus(corpus: Corpus, template: Template, *, labelled: bool = False) -> None:
    """Raise unless a corpus holds what a model's template asks for, and labels where needed."""
    if isinstance(corpus, AttributeCorpus):
        if not template.attributes:
            raise CorpusError(
                f"{corpus.name}: holds attributes; the model's template needs columns"
            )
        return
    if template.attributes:
        raise CorpusError(f"{corpus.name}: holds columns; the model was trained on attributes")
    if corpus.n_tokens and corpus.n_columns < template.n_columns + labelled:
        where = f":{corpus.lines[0]}" if len(corpus.lines) else ""
        label = " and one for the label" if labelled else ""
        raise CorpusError(
            f"{corpus.name}{where}: {corpus.n_columns} columns; "
            f"the model's template needs {template.n_columns}{label}"
        )


def add(corpus: Corpus, builder: core.IndexBuilder) -> None:
    """Let a builder count and encode a corpus."""
    if isinstance(corpus, AttributeCorpus):
        builder.add_attributes(
            corpus.text, corpus.cells, corpus.values, corpus.positions, corpus.sentences
        )
    else:
        builder.add_columns(corpus.text, corpus.cells, corpus.sentences)


def encoded_of(
    corpus: Corpus,
    positions: NDArray[np.int64],
    predicates: NDArray[np.uint32],
    values: NDArray[np.float32],
) -> Encoded:
    """The predicates that were found in a corpus; values are kept where they are not all 1."""
    plain = not isinstance(corpus, AttributeCorpus) or bool((values == 1).all())
    return Encoded(corpus.sentences, positions, predicates, None if plain else values)
