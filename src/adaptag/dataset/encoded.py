"""An encoded corpus: predicates, labels and the index that names them; saved and loaded."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from adaptag._native import core
from adaptag.corpus.columns import ColumnCorpus
from adaptag.corpus.labels import check_names
from adaptag.corpus.offsets import items_of
from adaptag.errors import CorpusError, ModelError, ParameterError, counted
from adaptag.features.index import Encoded, FeatureIndex
from adaptag.features.settings import FeatureSettings
from adaptag.storage.files import replace_file
from adaptag.storage.tensors import read_tensors, write_tensors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self

    from adaptag.corpus.data import Corpus
    from adaptag.storage.files import PathLike

__all__ = ["INDEX", "Dataset", "Examples", "prefixed"]

KIND = "dataset"
VERSION = 3
MOST_WEIGHT = 1e30  # of a sentence
INDEX = "index."  # before the names of the tensors of an index


class Index(Protocol):
    """What training needs to know of the features: their numbers."""

    @property
    def n_of_kind(self) -> tuple[int, int, int]:
        """How many predicates have node, node and edge, and edge weights."""

    @property
    def n_predicates(self) -> int:
        """Predicates of all kinds."""


@dataclass(frozen=True, eq=False, repr=False)
class Examples:
    """Labelled sentences as arrays: all that training needs.

    Attributes:
        index: The features.
        encoded: The predicates of every token.
        labels: The number of every token's label, int32 ``[T]``; −1 where it is not known.
        label_names: The names of the labels. Those of evaluation data may include labels that the
            model does not have.
        weights: The weight of every sentence in loss and updates, float32 ``[N]``. None means that
            all are 1.
        always: A predicate of kind node that fires at every token in addition to those encoded.
        legal: The transitions that are possible, uint8 ``[Y + 1, Y + 1]``, the last row and column
            being outside of the sentence. None means that all are possible.
    """

    index: Index
    encoded: Encoded
    labels: NDArray[np.int32]
    label_names: tuple[str, ...]
    weights: NDArray[np.float32] | None = field(default=None, kw_only=True)
    always: int | None = field(default=None, kw_only=True)
    legal: NDArray[np.uint8] | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        sizes = f"{counted(len(self), 'sentence')}, {counted(self.n_tokens, 'token')}"
        labels = counted(len(self.label_names), "label")
        features = counted(self.index.n_predicates, "feature")
        return f"<{type(self).__name__} of {sizes}, {labels}, {features}>"

    def select(self, sentences: NDArray[np.int64]) -> Self:
        """Return some of the sentences, in this order, with the same index."""
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
        check_names(self.label_names, "the data")
        return core.Layout(len(self.label_names), *self.index.n_of_kind)

    def native(self, layout: core.Layout, *, labelled: bool = True) -> core.Dataset:
        """The core's view, checked against a layout."""
        e = self.encoded
        labels = self.labels if labelled else None
        largest = 0.0 if self.weights is None else float(self.weights.max(initial=0))
        if MOST_WEIGHT <= largest < math.inf:
            raise ParameterError(
                f"the weight of a sentence or sample is {largest:g}; allowed: 0 or more, and less "
                f"than {MOST_WEIGHT:g}"
            )
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


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Examples):
    """A labelled corpus with the index that names its features.

    Attributes:
        index: The feature index.
        features: The settings of the features, as a record.
        labels_in_feature_column: Whether all values of the last feature column are labels, as
            where an earlier tagger's output is a feature.
    """

    index: FeatureIndex
    features: Mapping[str, Any] = field(default_factory=dict)
    labels_in_feature_column: bool = False

    @classmethod
    def build(
        cls, corpus: Corpus, settings: FeatureSettings | None = None, threads: int | None = None
    ) -> Dataset:
        """Encode training data; the index is built from it, or is a hashed one.

        The number of threads, by default one per core, does not change the result.
        """
        settings = settings or FeatureSettings()
        labels, names = corpus.number_labels(threads=threads)
        if not names:
            raise CorpusError(f"{corpus.name}: no label is known; at least one label must be known")
        check_names(names, corpus.name)
        index, encoded = FeatureIndex.build(corpus, settings, threads=threads)
        labels_in_feature_column = isinstance(
            corpus, ColumnCorpus
        ) and corpus.last_column_holds_labels(names, labelled=True)
        return cls(
            index, encoded, labels, tuple(names), settings.record(), labels_in_feature_column
        )

    @classmethod
    def grow(
        cls,
        corpus: Corpus,
        index: FeatureIndex,
        label_names: Sequence[str],
        settings: FeatureSettings | None = None,
        threads: int | None = None,
    ) -> Dataset:
        """Encode more training data; labels and features unknown so far are appended.

        The cut-offs are those of new features; see ``FeatureIndex.grow``.
        """
        settings = (settings or FeatureSettings()).check()
        index.check(corpus, labelled=True)
        labels, names = corpus.number_labels(label_names, threads=threads)
        check_names(names, corpus.name)
        grown, encoded = index.grow(corpus, settings, threads=threads)
        return cls(grown, encoded, labels, tuple(names), settings.record(), True)

    @classmethod
    def encode(
        cls,
        corpus: Corpus,
        index: FeatureIndex,
        label_names: Sequence[str],
        threads: int | None = None,
    ) -> Dataset:
        """Encode evaluation data with a given index; labels unknown so far are appended."""
        index.check(corpus, labelled=True)
        labels, names = corpus.number_labels(label_names, threads=threads)
        encoded = index.encode(corpus, labelled=True, threads=threads)
        return cls(index, encoded, labels, tuple(names))

    def extends(self, index: FeatureIndex, label_names: Sequence[str]) -> bool:
        """Whether these labels and features are those given, then new ones."""
        same_labels = self.label_names[: len(label_names)] == tuple(label_names)
        return same_labels and self.index.extends(index)

    def save(self, path: PathLike) -> None:
        """Write the dataset to a file."""
        index_header, index_tensors = self.index.to_file()
        header = {
            "version": VERSION,
            "labels": list(self.label_names),
            "index": index_header,
            "features": dict(self.features),
            "labels_in_feature_column": self.labels_in_feature_column,
        }
        tensors = {f"{INDEX}{name}": array for name, array in index_tensors.items()} | {
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
        """Read a saved dataset; a large one is mapped into memory."""
        header, tensors = read_tensors(path, KIND)
        try:
            if header["version"] != VERSION:
                raise ValueError(f"version {header['version']}; this adaptag reads {VERSION}")
            index = FeatureIndex.from_file(header["index"], prefixed(tensors, INDEX))
            encoded = Encoded(
                tensors["sentences"],
                tensors["positions"],
                tensors["predicates"],
                tensors.get("values"),
            )
            labels = tuple(str(label).encode().decode() for label in header["labels"])
            if len(set(labels)) != len(labels):
                raise ValueError("a label is there twice")
            dataset = cls(
                index,
                encoded,
                tensors["labels"],
                labels,
                dict(header["features"]),
                bool(header["labels_in_feature_column"]),
            )
            dataset.native(dataset.layout)
        except (KeyError, TypeError, ValueError, OverflowError, RuntimeError) as error:
            raise ModelError(f"{path}: malformed dataset: {error}") from None
        return dataset


def prefixed(tensors: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the tensors whose names start with a prefix, by the rest of their names."""
    return {
        name.removeprefix(prefix): array
        for name, array in tensors.items()
        if name.startswith(prefix)
    }
