"""An encoded corpus: predicates, labels and the index that names them; saved and memory-mapped."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from adaptag._native import core
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.offsets import items_of
from adaptag.errors import CorpusError, ModelError
from adaptag.features.index import (
    NO_LIMIT,
    TENSORS,
    EdgeLimit,
    Encoded,
    FeatureIndex,
    check_corpus,
)
from adaptag.features.template import Template
from adaptag.storage.files import replace_file
from adaptag.storage.tensors import read_tensors, write_tensors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self

    from adaptag.features.index import Corpus
    from adaptag.storage.files import PathLike

__all__ = ["Dataset", "Examples", "index_from_file", "index_to_file"]

KIND = "dataset"
VERSION = 2


class Index(Protocol):
    """What training asks of the features: how many there are."""

    @property
    def n_of_kind(self) -> tuple[int, int, int]:
        """How many predicates have node, node and edge, and edge weights."""

    @property
    def n_predicates(self) -> int:
        """Predicates of all kinds."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Labelled sentences as arrays: all that training needs.

    Attributes:
        index: the features.
        encoded: predicates of every token.
        labels: number of every token's label, int32 ``[T]``; −1 where it is not known.
        label_names: the labels; in evaluation data they may go beyond those of the model.
        weights: of every sentence's loss and updates, float32 ``[N]``; None: all are 1.
        always: a predicate of kind node that fires at every token beside those encoded.
        legal: transitions that are possible, uint8 ``[Y + 1, Y + 1]``, the last row and column
            being outside of the sentence; None: all are.
    """

    index: Index
    encoded: Encoded
    labels: NDArray[np.int32]
    label_names: tuple[str, ...]
    weights: NDArray[np.float32] | None = field(default=None, kw_only=True)
    always: int | None = field(default=None, kw_only=True)
    legal: NDArray[np.uint8] | None = field(default=None, kw_only=True)

    def select(self, sentences: NDArray[np.int64]) -> Self:
        """Those of some of the sentences, in this order; the index stays whole."""
        e = self.encoded
        tokens, starts = items_of(e.sentences, sentences)
        features, positions = items_of(e.positions, tokens)
        values = None if e.values is None else e.values[features]
        encoded = Encoded(starts, positions, e.predicates[features], values)
        weights = None if self.weights is None else self.weights[sentences]
        return replace(self, encoded=encoded, labels=self.labels[tokens], weights=weights)

    def __len__(self) -> int:
        """Count the sentences."""
        return len(self.encoded.sentences) - 1

    @property
    def n_tokens(self) -> int:
        """Tokens of all sentences."""
        return len(self.encoded.positions) - 1

    @property
    def layout(self) -> core.Layout:
        """How weights for these labels and predicates lie in memory."""
        return core.Layout(len(self.label_names), *self.index.n_of_kind)

    def native(self, layout: core.Layout, *, labelled: bool = True) -> core.Dataset:
        """The core's view, checked against a layout."""
        e = self.encoded
        labels = self.labels if labelled else None
        return core.Dataset(
            layout,
            e.sentences,
            e.positions,
            e.predicates,
            e.values,
            labels,
            self.legal,
            self.weights,
            self.always,
        )


@dataclass(frozen=True, eq=False)
class Dataset(Examples):
    """A labelled corpus with the index that names its features.

    Attributes:
        index: the feature index.
        cutoff: features that occur less often were left out.
    """

    index: FeatureIndex
    cutoff: int = 1

    @classmethod
    def build(
        cls,
        corpus: Corpus,
        template: Template,
        cutoff: int = 1,
        edges: EdgeLimit = NO_LIMIT,
        hash_bits: int | None = None,
    ) -> Dataset:
        """Encode training data, building the index from it, or with a hashed one."""
        if not isinstance(corpus, AttributeCorpus):
            if template.attributes:
                raise CorpusError(f"{corpus.name}: holds columns, not attributes")
            line = f":{corpus.lines[0]}" if len(corpus.lines) else ""
            labels, names = corpus.number_labels()
            template.check_columns(corpus.n_columns - 1, f"{corpus.name}{line}")
        else:
            labels, names = corpus.number_labels()
        if hash_bits is not None:
            index = FeatureIndex.hashed(template, hash_bits)
            return cls(index, index.encode(corpus), labels, tuple(names))
        index, encoded = FeatureIndex.build(corpus, template, cutoff, edges)
        return cls(index, encoded, labels, tuple(names), cutoff)

    @classmethod
    def grow(
        cls,
        corpus: Corpus,
        index: FeatureIndex,
        label_names: Sequence[str],
        cutoff: int = 1,
        edges: EdgeLimit = NO_LIMIT,
    ) -> Dataset:
        """Encode more training data; labels and features unknown so far are added behind.

        Cutoff and limit are those of new features; see ``FeatureIndex.grow``.
        """
        check_corpus(corpus, index.template, labelled=True)
        labels, names = corpus.number_labels(label_names)
        grown, encoded = index.grow(corpus, cutoff, edges)
        return cls(grown, encoded, labels, tuple(names), cutoff)

    @classmethod
    def encode(cls, corpus: Corpus, index: FeatureIndex, label_names: Sequence[str]) -> Dataset:
        """Encode evaluation data with a given index; labels unknown so far are added behind."""
        check_corpus(corpus, index.template, labelled=True)
        labels, names = corpus.number_labels(label_names)
        return cls(index, index.encode(corpus), labels, tuple(names))

    def extends(self, index: FeatureIndex, label_names: Sequence[str]) -> bool:
        """Whether these labels and features are those given, then new ones."""
        known = self.label_names[: len(label_names)] == tuple(label_names)
        return known and self.index.extends(index)

    def save(self, path: PathLike) -> None:
        """Write the dataset to a file that ``load`` maps into memory."""
        header, tensors = index_to_file(self.index)
        header |= {
            "version": VERSION,
            "labels": list(self.label_names),
            "cutoff": self.cutoff,
        }
        tensors |= {
            "sentences": self.encoded.sentences,
            "positions": self.encoded.positions,
            "predicates": self.encoded.predicates,
            "labels": self.labels,
        }
        if self.encoded.values is not None:
            tensors["values"] = self.encoded.values
        with replace_file(path) as file:
            write_tensors(file, KIND, header, tensors)

    @classmethod
    def load(cls, path: PathLike) -> Dataset:
        """Map a saved dataset into memory."""
        header, tensors = read_tensors(path, KIND)
        try:
            if header["version"] != VERSION:
                raise ValueError(f"version {header['version']}; this adaptag reads {VERSION}")
            index = index_from_file(header, tensors)
            encoded = Encoded(
                tensors["sentences"],
                tensors["positions"],
                tensors["predicates"],
                tensors.get("values"),
            )
            labels = tuple(str(label) for label in header["labels"])
            dataset = cls(index, encoded, tensors["labels"], labels, int(header["cutoff"]))
            dataset.native(dataset.layout)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ModelError(f"{path}: malformed dataset: {error}") from None
        return dataset


def index_to_file(index: FeatureIndex) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header entries and tensors that hold a feature index in a file."""
    header = {
        "template": index.template.text,
        "attributes": index.template.attributes,
        "rich_attributes": index.template.rich_attributes,
        "n_of_kind": list(index.n_of_kind),
        "hashed": index.is_hashed,
    }
    return header, {f"index.{name}": array for name, array in index.tensors.items()}


def index_from_file(header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> FeatureIndex:
    """Rebuild a feature index from a file's header and tensors."""
    node, both, edge = (int(n) for n in header["n_of_kind"])
    template = Template(
        str(header["template"]),
        bool(header["attributes"]),
        rich_attributes=bool(header["rich_attributes"]),
    )
    if min(node, both, edge) < 0:
        raise ValueError("a number of predicates is negative")
    if header.get("hashed"):
        index = FeatureIndex(template, (node, both, edge), {})
        index.native  # noqa: B018  builds the core's view, which checks the numbers
        return index
    found = {}
    for name, (dtype, ndim) in TENSORS.items():
        found[name] = tensors[f"index.{name}"]
        if found[name].dtype != dtype or found[name].ndim != ndim:
            raise ValueError(f"index.{name} has the wrong type or shape")
    index = FeatureIndex(template, (node, both, edge), found)
    if found["keys"].shape != (
        index.n_predicates,
        1 + template.program().arity,
    ):
        raise ValueError("index.keys does not fit the template or the number of predicates")
    index.native  # noqa: B018  builds the core's view, which checks the tables
    return index
