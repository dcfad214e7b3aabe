"""The feature index: which predicate a template line and its tokens are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.errors import CorpusError, ModelError, ParameterError, counted
from adaptag.features.settings import FeatureSettings
from adaptag.features.template import Template, feature_range
from adaptag.parallel import threads_for
from adaptag.storage.memory import check_memory
from adaptag.storage.stored import PickledFields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from adaptag.corpus.data import Corpus

__all__ = [
    "Encoded",
    "FeatureIndex",
    "add",
    "check_columns",
    "encoded_of",
    "feature_columns",
    "template_for",
    "template_of",
]

NO_TOKEN = 0xFFFFFFFF
KIND = "template"
NUMBERING_BYTES = 4  # at least, for each line at each token
GENERAL = "general"  # the template unless another one is given
TENSORS = {
    "vocabulary_bytes": (np.uint8, 1),
    "vocabulary_offsets": (np.uint32, 1),
    "vocabulary_slots": (np.uint64, 1),
    "derived": (np.uint32, 2),
    "slots": (np.uint64, 1),
    "keys": (np.uint32, 2),
}


@dataclass(frozen=True, eq=False)
class Encoded:
    """The predicates of a corpus: flat arrays.

    Attributes:
        sentences: The first token of every sentence, then T, int64 ``[N + 1]``.
        positions: The first predicate of every token, then F, int64 ``[T + 1]``.
        predicates: The predicates of all tokens, uint32 ``[F]``.
        values: The values of the predicates, float32 ``[F]``, or None where all are 1.
    """

    sentences: NDArray[np.int64]
    positions: NDArray[np.int64]
    predicates: NDArray[np.uint32]
    values: NDArray[np.float32] | None


@dataclass(frozen=True, eq=False, repr=False)
class FeatureIndex(PickledFields):
    """Predicates of a template over a vocabulary, numbered by kind and decreasing frequency.

    Attributes:
        template: The template.
        n_of_kind: How many predicates have node, node and edge, and edge weights.
        tensors: The tables that the core searches; see ``feature_index.hpp``. ``keys`` names every
            predicate: the number of its skeleton, then the numbers of its tokens. A hashed index
            has none: the number of a predicate is a hash of it, and its name is not known.
        n_columns: The feature columns of the data that it was built from; None for attributes.
    """

    template: Template
    n_of_kind: tuple[int, int, int]
    tensors: Mapping[str, NDArray[Any]]
    n_columns: int | None = None

    @classmethod
    def hashed(cls, template: Template, bits: int, n_columns: int | None = None) -> FeatureIndex:
        """Make an index of fixed size: ``2 ** bits`` predicates of each kind that has macros."""
        sizes = [0, 0, 0]
        for line in template.lines:
            sizes[line.kind] += 1
        for line in template.lines:
            if line.macros:
                sizes[line.kind] = 1 << bits
        if template.attributes:
            sizes[1 if template.rich_attributes else 0] = 1 << bits
        node, both, edge = sizes
        return cls(template, (node, both, edge), {}, n_columns)

    @classmethod
    def build(
        cls,
        corpus: Corpus,
        settings: FeatureSettings | None = None,
        *,
        labelled: bool = True,
        threads: int | None = None,
    ) -> tuple[FeatureIndex, Encoded]:
        """Number all predicates that are frequent enough, and encode the corpus.

        Args:
            corpus: The training data.
            settings: Which features there are.
            labelled: Whether the last column holds the labels, unless they are given separately.
            threads: The number of threads, which does not change the result; None means one per
                core.
        """
        settings = (settings or FeatureSettings()).check()
        template = template_for(corpus, settings, labelled=labelled)
        columns = feature_columns(corpus, labelled=labelled)
        firing = len(template.lines) * corpus.n_tokens
        check_memory(
            NUMBERING_BYTES * firing,
            f"{corpus.n_tokens:,} tokens with the {len(template.lines):,} lines of the template",
            "use fewer lines, or less data",
        )
        if settings.hash_bits is not None:
            index = cls.hashed(template, settings.hash_bits, columns)
            return index, index.encode(corpus, labelled=labelled, threads=threads)
        builder = core.IndexBuilder(template.program())
        return cls._finish(builder, corpus, template, columns, settings, threads)

    def grow(
        self,
        corpus: Corpus,
        settings: FeatureSettings | None = None,
        *,
        labelled: bool = True,
        threads: int | None = None,
    ) -> tuple[FeatureIndex, Encoded]:
        """Add the new predicates that are frequent enough, and encode the corpus.

        Within each kind, the predicates known so far come first, in their order, then the new ones
        by decreasing frequency. Where none is new, the index stays this one.
        """
        self.check(corpus, labelled=labelled)
        if self.is_hashed:
            return self, self.encode(corpus, labelled=labelled, threads=threads)
        settings = settings or FeatureSettings()
        grown, encoded = self._finish(
            self.builder(), corpus, self.template, self.n_columns, settings, threads
        )
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
        n_columns: int | None,
        settings: FeatureSettings,
        threads: int | None,
    ) -> tuple[FeatureIndex, Encoded]:
        """Count and number the predicates of a corpus."""
        add(corpus, builder, threads_for(threads, tokens=_n_tokens(corpus)))
        tables = builder.freeze(settings.cutoff, settings.edge_cutoff, settings.edge_share)
        tensors = {name: tables[name] for name in TENSORS}
        index = cls(template, tables["n_of_kind"], tensors, n_columns)
        data = (tables[name] for name in ("positions", "predicates", "values"))
        return index, encoded_of(corpus, *data)

    def encode(
        self, corpus: Corpus, *, labelled: bool = False, threads: int | None = None
    ) -> Encoded:
        """Find the predicates of a corpus; those that are not in the training data are ignored."""
        self.check(corpus, labelled=labelled)
        n = threads_for(threads, tokens=_n_tokens(corpus))
        if isinstance(corpus, AttributeCorpus):
            positions, predicates, values = self.native.encode_attributes(
                corpus.text, corpus.cells, corpus.values, corpus.positions, corpus.sentences, n
            )
            return encoded_of(corpus, positions, predicates, values)
        positions, predicates = self.native.encode_columns(
            corpus.text, corpus.cells, corpus.sentences, n
        )
        return Encoded(corpus.sentences, positions, predicates, None)

    def extends(self, other: FeatureIndex) -> bool:
        """Whether this index has grown from the other one, or is the same."""
        if self.template != other.template or self.is_hashed != other.is_hashed:
            return False
        if type(self) is not type(other):  # a compact one has no tables to compare with
            return False
        if self.is_hashed:
            return self.n_of_kind == other.n_of_kind
        tensors, other_tensors = self.tensors, other.tensors
        n_bytes = len(other_tensors["vocabulary_bytes"])
        same = bool(
            (tensors["vocabulary_bytes"][:n_bytes] == other_tensors["vocabulary_bytes"]).all()
        )
        begin = other_begin = 0
        for n, n_other in zip(self.n_of_kind, other.n_of_kind, strict=True):
            keys = tensors["keys"][begin : begin + n][:n_other]
            same &= np.array_equal(keys, other_tensors["keys"][other_begin : other_begin + n_other])
            begin, other_begin = begin + n, other_begin + n_other
        return same

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.n_predicates:,} features, {self.template!r}>"

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

    def check(self, corpus: Corpus, *, labelled: bool = False) -> None:
        """Raise unless a corpus has the columns or attributes of the training data."""
        check_columns(corpus, self.template, self.n_columns, labelled=labelled)

    def to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Header entries and tensors that hold the index in a file."""
        header = {
            "kind": KIND,
            "template": self.template.text,
            "attributes": self.template.attributes,
            "rich_attributes": self.template.rich_attributes,
            "wapiti": self.template.wapiti,
            "n_columns": self.n_columns,
            "n_of_kind": list(self.n_of_kind),
            "hashed": self.is_hashed,
        }
        return header, dict(self.tensors)

    @classmethod
    def from_file(
        cls, header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]
    ) -> FeatureIndex:
        """Rebuild an index from what ``to_file`` gave; raise where it is damaged."""
        node, both, edge = (int(n) for n in header["n_of_kind"])
        if min(node, both, edge) < 0:
            raise ValueError("a number of predicates is negative")
        template, columns = template_of(header)
        tables = {}
        for name, (dtype, ndim) in ({} if header["hashed"] else TENSORS).items():
            tables[name] = tensors[name]
            if tables[name].dtype != dtype or tables[name].ndim != ndim:
                raise ValueError(f"index.{name} has the wrong type or shape")
        index = cls(template, (node, both, edge), tables, columns)
        keys = (index.n_predicates, 1 + template.program().arity)
        if not index.is_hashed and tables["keys"].shape != keys:
            raise ValueError("index.keys does not fit the template or the number of predicates")
        index.native  # noqa: B018  builds the core's view, which checks the tables
        return index

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


def template_of(header: Mapping[str, Any]) -> tuple[Template, int | None]:
    """The template and the number of feature columns of an index in a file."""
    template = Template(
        str(header["template"]),
        bool(header["attributes"]),
        rich_attributes=bool(header["rich_attributes"]),
        wapiti=bool(header.get("wapiti", False)),
    )
    columns = None if header["n_columns"] is None else int(header["n_columns"])
    if (columns is None) != template.attributes or (columns or 0) < template.n_columns:
        raise ValueError("the number of columns does not fit the template")
    return template, columns


def template_for(corpus: Corpus, settings: FeatureSettings, *, labelled: bool = True) -> Template:
    """Return the template of the settings, for the columns of a corpus."""
    chosen = settings.chosen_columns()
    if isinstance(corpus, AttributeCorpus):
        if chosen is not None:
            raise ParameterError(f"{corpus.name}: holds attributes, so columns cannot be chosen")
        template = settings.template
        if template is None or (isinstance(template, str) and not template):
            template = Template.for_attributes()
        if not isinstance(template, Template) or not template.attributes:
            raise ParameterError(
                "attributes are features already: they cannot be combined with a template"
            )
    else:
        columns = corpus.n_feature_columns(labelled=labelled)
        given = settings.template
        unset = given is None or (isinstance(given, str) and not given)
        template = Template.load(GENERAL if unset else given, columns)
        if template.attributes:
            raise CorpusError(f"{corpus.name}: holds columns, not attributes")
        line = f":{corpus.lines[0]}" if len(corpus.lines) else ""
        if chosen is not None:
            if max(chosen) >= columns:
                raise ParameterError(
                    f"columns: {max(chosen)}; {corpus.name}{line} has {feature_range(columns)}"
                )
            template = template.with_columns(chosen)
        if corpus.n_tokens:
            template.check_columns(columns, f"{corpus.name}{line}")
    return template.rich() if settings.rich_edges else template


def check_columns(
    corpus: Corpus, template: Template, n_columns: int | None, *, labelled: bool = False
) -> None:
    """Raise unless a corpus has the columns or attributes that a model was trained with.

    Args:
        corpus: The corpus.
        template: The template of the model.
        n_columns: The feature columns of its training data.
        labelled: Whether labels are needed, in the last column or given separately. Else one
            column more than the features have is taken for labels, and not used.
    """
    if isinstance(corpus, AttributeCorpus):
        if not template.attributes:
            raise CorpusError(f"{corpus.name}: holds attributes; the model needs columns")
        return
    if template.attributes:
        raise CorpusError(f"{corpus.name}: holds columns; the model was trained on attributes")
    if n_columns is None or not corpus.n_tokens:
        return
    inside = labelled and corpus.given_labels is None  # the label is in the last column
    if template.wapiti and corpus.n_columns >= n_columns + inside:
        return  # Wapiti's models do not say how many columns there are behind those that they use
    allowed = {n_columns + inside, template.n_columns + inside}
    if corpus.n_columns not in allowed | (set() if labelled else {n_columns + 1}):
        line = f":{corpus.lines[0]}" if len(corpus.lines) else ""
        label = " and one for the label" if inside else "" if labelled else ", and maybe the label"
        raise CorpusError(
            f"{corpus.name}{line}: {counted(corpus.n_columns, 'column')}; the "
            f"model was trained with {counted(n_columns, 'feature column')}{label}"
        )


def feature_columns(corpus: Corpus, *, labelled: bool = True) -> int | None:
    """Feature columns of a corpus; attributes have none."""
    if isinstance(corpus, AttributeCorpus):
        return None
    return corpus.n_feature_columns(labelled=labelled)


def add(corpus: Corpus, builder: core.IndexBuilder, threads: int = 1) -> None:
    """Let a builder count and encode a corpus."""
    if isinstance(corpus, AttributeCorpus):
        builder.add_attributes(
            corpus.text, corpus.cells, corpus.values, corpus.positions, corpus.sentences, threads
        )
    else:
        builder.add_columns(corpus.text, corpus.cells, corpus.sentences, threads)


def _n_tokens(corpus: Corpus) -> float:
    """The size of a corpus: tokens, or attributes, of which a token has about ten."""
    return len(corpus.values) / 10 if isinstance(corpus, AttributeCorpus) else corpus.n_tokens


def encoded_of(
    corpus: Corpus,
    positions: NDArray[np.int64],
    predicates: NDArray[np.uint32],
    values: NDArray[np.float32],
) -> Encoded:
    """The predicates that were found in a corpus; values are kept where they are not all 1."""
    plain = not isinstance(corpus, AttributeCorpus) or bool((values == 1).all())
    return Encoded(corpus.sentences, positions, predicates, None if plain else values)
