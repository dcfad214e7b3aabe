"""Training data in shards: a dataset for each, with one feature index and the same labels.

Predicates, numbers and labels are those of the data of all shards in one piece, bit for bit. A
driver brings summaries together, and shards stay where they were read::

    shard   count_shard      corpus                → summary, counted shard
    once    merge_summaries  all summaries         → summary of the whole
    shard   split_counts     counted shard         → ranges       (features/merging.py)
    range   merge_range      one range of all      → merged range
    once    merged_index     all merged ranges     → index
    shard   shard_dataset    counted shard, index  → dataset
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from adaptag.corpus.columns import ColumnCorpus
from adaptag.corpus.label_windows import LabelWindows
from adaptag.corpus.labels import NO_LABEL
from adaptag.dataset.encoded import Dataset
from adaptag.errors import CorpusError
from adaptag.features.merging import (
    ShardCounts,
    ShardStrings,
    count_features,
    final_encoding,
    merge_strings,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.data import Corpus
    from adaptag.features.index import Encoded, FeatureIndex
    from adaptag.features.settings import FeatureSettings

__all__ = [
    "CountedShard",
    "DataSummary",
    "ShardSummary",
    "count_shard",
    "merge_summaries",
    "shard_dataset",
]

MOST_LABELS = 1 << 16  # a column with more values holds no labels: a model has a table of all pairs


@dataclass(frozen=True, eq=False)
class ShardSummary:
    """What must be known of a shard to number the features and labels of all data.

    Attributes:
        strings: The strings that features are made of.
        labels: The labels.
        last_column: The values of the last of two or more feature columns, of which labels are
            recognised that an earlier tagger wrote. None means that they are no labels.
    """

    strings: ShardStrings
    labels: LabelWindows
    last_column: frozenset[str] | None


@dataclass(frozen=True, eq=False)
class CountedShard:
    """A shard in its own numbers.

    Attributes:
        counts: Its predicates.
        encoded: The predicates of every token.
        labels: The number of every token's label, int32 ``[T]``; −1 where it is not known.
        label_names: The names of its labels.
    """

    counts: ShardCounts
    encoded: Encoded
    labels: NDArray[np.int32]
    label_names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class DataSummary:
    """What is known of all data.

    Attributes:
        strings: The strings that features are made of.
        numbers: For each shard the numbers of its strings for all data, uint32 ``[V]``.
        labels: The labels.
        in_feature_column: Whether all values of the last feature column are labels.
    """

    strings: ShardStrings
    numbers: list[NDArray[np.uint32]]
    labels: LabelWindows
    in_feature_column: bool


def count_shard(
    corpus: Corpus,
    settings: FeatureSettings,
    *,
    start: FeatureIndex | None = None,
    label_names: Sequence[str] = (),
    threads: int | None = 1,
) -> tuple[ShardSummary, CountedShard]:
    """Count the features and labels of a shard.

    Args:
        corpus: The shard; it may be empty.
        settings: Which features there are.
        start: The index of a model to start from, the same for all shards.
        label_names: The labels of the model to start from, which come first.
        threads: The number of threads, which does not change the result; None means one per core.
    """
    ids, names = np.empty(0, np.int32), list(label_names)
    if corpus.n_tokens:
        ids, names = corpus.number_labels(label_names, threads=threads)
    strings, counts, encoded = count_features(corpus, settings, start=start, threads=threads)
    windows = LabelWindows.of(names, ids, corpus.sentences)
    last_column: frozenset[str] | None = frozenset()
    if start is None and corpus.n_tokens:  # else what the data of the model held is not known
        last_column = _last_column(corpus)
    summary = ShardSummary(strings, windows, last_column)
    return summary, CountedShard(counts, encoded, ids, windows.names)


def merge_summaries(shards: Sequence[ShardSummary]) -> DataSummary:
    """Number the strings and the labels of all shards, in the order of the shards."""
    strings, numbers = merge_strings([shard.strings for shard in shards])
    labels = LabelWindows.merged(shard.labels for shard in shards)
    if not labels.names:
        raise CorpusError(
            f"no label of {len(shards)} shards is known; at least one label must be known"
        )
    names = set(labels.names)
    in_column = all(s.last_column is not None and s.last_column <= names for s in shards)
    return DataSummary(strings, numbers, labels, in_column)


def shard_dataset(
    shard: CountedShard,
    index: FeatureIndex,
    numbers: NDArray[np.uint32],
    label_names: Sequence[str],
    settings: FeatureSettings,
    *,
    labels_in_feature_column: bool = False,
) -> Dataset:
    """Give a shard the numbers of all data.

    Args:
        shard: The shard in its own numbers.
        index: The index of all data.
        numbers: The numbers of the shard's strings for all data.
        label_names: The labels of all data.
        settings: The settings of the features, as a record.
        labels_in_feature_column: Whether, in all data, the last feature column holds labels.
    """
    places = {name: number for number, name in enumerate(label_names)}
    table = np.array([*(places[name] for name in shard.label_names), NO_LABEL], np.int32)
    return Dataset(
        index,
        final_encoding(shard.encoded, shard.counts, numbers, index),
        table[shard.labels],
        tuple(label_names),
        settings.record(),
        labels_in_feature_column,
    )


def _last_column(corpus: Corpus) -> frozenset[str] | None:
    """The values of the last feature column, where they may be labels."""
    if not isinstance(corpus, ColumnCorpus):
        return None
    values = corpus.last_column_values(labelled=True)
    return None if values is None or len(values) > MOST_LABELS else frozenset(values)
