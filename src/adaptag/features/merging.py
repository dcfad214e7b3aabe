"""One feature index of data that lies in shards: it is that of one machine, bit for bit.

Each shard is counted by itself. Then strings are numbered for all of them, and counts are merged in
ranges of the keys' hashes, each range by itself::

    shard   count_features   corpus           → strings, counts, encoded data
    once    merge_strings    all strings      → strings of all, numbers for each shard
    shard   split_counts     counts, numbers  → ranges
    range   merge_range      one range of all → keys that are frequent enough, with their counts
    once    merged_index     all ranges       → index
    shard   final_encoding   encoded data     → the same with the index's numbers

Arguments and results are arrays in dataclasses, which can be sent between processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from adaptag._native import core
from adaptag.errors import CorpusError, ParameterError, counted
from adaptag.features.index import (
    TENSORS,
    Encoded,
    FeatureIndex,
    add,
    feature_columns,
    template_for,
)
from adaptag.parallel import threads_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.data import Corpus
    from adaptag.features.settings import FeatureSettings
    from adaptag.features.template import Template

__all__ = [
    "CountRange",
    "MergedCounts",
    "ShardCounts",
    "ShardStrings",
    "count_features",
    "final_encoding",
    "merge_range",
    "merge_strings",
    "merged_index",
    "split_counts",
]

MOST_RANGES = 1 << 16
MOST = 0xFFFFFFFF  # what the core counts to


@dataclass(frozen=True, eq=False)
class ShardStrings:
    """The strings of a shard, or of all of them, numbered in the order of their first appearance.

    Attributes:
        template: The template that the features are made with.
        n_columns: The feature columns of the data; None for attributes.
        has_data: Whether there are tokens, or an index to grow from. If not, nothing else is looked
            at: how many columns a shard without tokens would have is not known.
        vocabulary_bytes: The UTF-8 text of all strings, uint8.
        vocabulary_offsets: Where each string begins, then the end, uint32 ``[V + 1]``.
        derived: What the macros of the template make of each string, uint32 ``[columns, V]``.
    """

    template: Template
    n_columns: int | None
    has_data: bool
    vocabulary_bytes: NDArray[np.uint8]
    vocabulary_offsets: NDArray[np.uint32]
    derived: NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class ShardCounts:
    """The predicates of a shard, numbered in the order of their first appearance.

    Attributes:
        keys: The skeleton and the strings of each, in the shard's numbers, uint32 ``[P, W]``.
        kinds: Its kind, uint8 ``[P]``.
        counts: How often it occurs in the shard, uint32 ``[P]``.
    """

    keys: NDArray[np.uint32]
    kinds: NDArray[np.uint8]
    counts: NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class MergedCounts:
    """Some predicates of all data, in the order of their first appearance.

    Attributes:
        keys: The skeleton and the strings of each, in the numbers of all data, uint32 ``[P, W]``.
        kinds: Its kind, uint8 ``[P]``.
        counts: How often it occurs, uint64 ``[P]``.
        first: Where it appears first, uint64 ``[P]``: the shard, times 2³², plus its number there.
    """

    keys: NDArray[np.uint32]
    kinds: NDArray[np.uint8]
    counts: NDArray[np.uint64]
    first: NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class CountRange(MergedCounts):
    """Those predicates of one shard whose fingerprints lie in a range.

    Attributes:
        fingerprints: What the predicates are told apart by, uint64 ``[P]``.
    """

    fingerprints: NDArray[np.uint64]


def count_features(
    corpus: Corpus,
    settings: FeatureSettings,
    *,
    start: FeatureIndex | None = None,
    threads: int | None = 1,
) -> tuple[ShardStrings, ShardCounts, Encoded]:
    """Count the features of a shard.

    Args:
        corpus: The shard, with labels.
        settings: Which features there are. Cut-offs do not matter yet.
        start: The index to grow from, the same for all shards.
        threads: The number of threads, which does not change the result; None means one per core.

    Returns:
        The strings and the predicates of the shard, and its data in the numbers of its predicates.
    """
    settings.check()
    if settings.hash_bits is not None or (start is not None and start.is_hashed):
        raise ParameterError(
            "hash_bits is given, but hashed features are not counted: every shard has the same "
            "index without merging, as Dataset.build makes it"
        )
    if start is None:
        template, columns = template_for(corpus, settings), feature_columns(corpus)
        builder = core.IndexBuilder(template.program())
    else:
        start.check(corpus, labelled=True)
        template, columns, builder = start.template, start.n_columns, start.builder()
    add(corpus, builder, threads_for(threads, tokens=corpus.n_tokens))
    tables = builder.take_counts()
    strings = ShardStrings(
        template,
        columns,
        start is not None or corpus.n_tokens > 0,
        *(tables[name] for name in ("vocabulary_bytes", "vocabulary_offsets", "derived")),
    )
    counts = ShardCounts(tables["keys"], tables["kinds"], tables["counts"])
    values = tables["values"] if len(tables["values"]) else None
    return (
        strings,
        counts,
        Encoded(corpus.sentences, tables["positions"], tables["predicates"], values),
    )


def merge_strings(
    shards: Sequence[ShardStrings],
) -> tuple[ShardStrings, list[NDArray[np.uint32]]]:
    """Number the strings of all shards, in the order of the shards.

    Returns:
        The strings of all data, and for each shard the new numbers of its strings, uint32 ``[V]``.
    """
    filled = [(number, shard) for number, shard in enumerate(shards, 1) if shard.has_data]
    if not filled:
        raise CorpusError(f"{len(shards)} shards hold no token; allowed: 1 or more")
    first_number, first = filled[0]
    for number, shard in filled[1:]:
        if (shard.template, shard.n_columns) != (first.template, first.n_columns):
            raise CorpusError(
                f"shard {number}: {_described(shard)}; shard {first_number} has {_described(first)}"
            )
    builder = _builder_of(first)
    numbers = [np.empty(0, np.uint32) for _ in shards]
    for number, shard in filled:
        numbers[number - 1] = builder.add_strings(
            shard.vocabulary_bytes, shard.vocabulary_offsets, shard.derived
        )
    tables = builder.take_counts()
    merged = ShardStrings(
        first.template,
        first.n_columns,
        True,
        *(tables[name] for name in ("vocabulary_bytes", "vocabulary_offsets", "derived")),
    )
    return merged, numbers


def split_counts(
    counts: ShardCounts,
    numbers: NDArray[np.uint32],
    template: Template,
    shard: int,
    n_ranges: int,
) -> list[CountRange]:
    """Split the predicates of a shard into ranges of their fingerprints.

    Args:
        counts: The predicates of the shard.
        numbers: The numbers of its strings for all data.
        template: The template.
        shard: The number of the shard, which decides what appears first.
        n_ranges: The number of ranges, the same for all shards.
    """
    if not 1 <= n_ranges <= MOST_RANGES:
        raise ParameterError(f"n_ranges is {n_ranges}; allowed: 1 to {MOST_RANGES}")
    program = template.program()
    given = counts.keys
    if not len(given):  # the shard may have no tokens, and keys of another width
        given = np.empty((0, program.arity + 1), np.uint32)
    keys, fingerprints = core.renumber_keys(program, given, numbers)
    ranges = ((fingerprints >> np.uint64(32)) * np.uint64(n_ranges) >> np.uint64(32)).astype(
        np.uint16
    )
    order = np.argsort(ranges, kind="stable")
    ends = np.cumsum(np.bincount(ranges, minlength=n_ranges))
    first = (np.uint64(shard) << np.uint64(32)) + order.astype(np.uint64)
    return [
        CountRange(
            keys[order[begin:end]],
            counts.kinds[order[begin:end]],
            counts.counts[order[begin:end]].astype(np.uint64),
            first[begin:end],
            fingerprints[order[begin:end]],
        )
        for begin, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)
    ]


def merge_range(parts: Sequence[CountRange], cutoff: int = 1, n_old: int = 0) -> MergedCounts:
    """Add up the counts of one range of all shards, and drop what is too rare.

    Args:
        parts: The range of each shard, in the order of the shards.
        cutoff: The minimum count of a predicate in all data.
        n_old: The number of predicates of an index to grow from, which are never dropped.
    """
    fingerprints = np.concatenate([part.fingerprints for part in parts])
    order = np.argsort(fingerprints, kind="stable")  # of equal ones, that of the first shard first
    ordered = fingerprints[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    counts = np.concatenate([part.counts for part in parts])
    sums = np.zeros_like(counts)  # of each predicate where it comes first, else 0
    if len(starts):
        sums[order[starts]] = np.add.reduceat(counts[order], starts)
    first = np.concatenate([part.first for part in parts])
    kept = sums >= max(cutoff, 1)
    if n_old:
        kept[order[starts]] |= first[order[starts]] < n_old
    return MergedCounts(
        np.concatenate([part.keys for part in parts])[kept],
        np.concatenate([part.kinds for part in parts])[kept],
        sums[kept],
        first[kept],
    )


def merged_index(
    strings: ShardStrings,
    ranges: Sequence[MergedCounts],
    settings: FeatureSettings,
    *,
    start: FeatureIndex | None = None,
) -> FeatureIndex:
    """Number the predicates of all data: the index that one machine builds or grows.

    Args:
        strings: The strings of all shards.
        ranges: The predicates of all ranges, in any order.
        settings: The cut-offs, which hold for the counts of all data.
        start: The index to grow from; where no predicate is new, the index stays this one.
    """
    order = np.argsort(np.concatenate([part.first for part in ranges]), kind="stable")
    counts = np.concatenate([part.counts for part in ranges])[order]
    builder = _builder_of(strings)
    builder.add_counted(
        np.concatenate([part.keys for part in ranges])[order],
        np.concatenate([part.kinds for part in ranges])[order],
        np.minimum(counts, np.uint64(MOST)).astype(np.uint32),
        0 if start is None else start.n_predicates,
    )
    tables = builder.freeze(settings.cutoff, settings.edge_cutoff, settings.edge_share)
    if start is not None and tables["n_of_kind"] == start.n_of_kind:
        return start
    tensors = {name: tables[name] for name in TENSORS}
    return FeatureIndex(strings.template, tables["n_of_kind"], tensors, strings.n_columns)


def final_encoding(
    encoded: Encoded, counts: ShardCounts, numbers: NDArray[np.uint32], index: FeatureIndex
) -> Encoded:
    """Give the data of a shard the numbers of the index.

    Args:
        encoded: The data, in the numbers of the shard's predicates.
        counts: The predicates of the shard.
        numbers: The numbers of its strings for all data.
        index: The index of all data.
    """
    if not len(counts.keys):
        return encoded
    program = index.template.program()
    keys, _ = core.renumber_keys(program, counts.keys, numbers)
    found = core.find_keys(program, keys, index.tensors["slots"], index.tensors["keys"])
    given = np.empty(0, np.float32) if encoded.values is None else encoded.values
    positions, predicates, values = core.renumber_data(
        encoded.positions, encoded.predicates, given, found, index.n_of_kind
    )
    plain = bool((values == 1).all())
    return Encoded(encoded.sentences, positions, predicates, None if plain else values)


def _builder_of(strings: ShardStrings) -> core.IndexBuilder:
    """A builder that knows strings, under their numbers, and no predicate yet."""
    program = strings.template.program()
    return core.IndexBuilder(
        program,
        strings.vocabulary_bytes,
        strings.vocabulary_offsets,
        strings.derived,
        np.empty((0, program.arity + 1), np.uint32),
        (0, 0, 0),
    )


def _described(strings: ShardStrings) -> str:
    """Say what data a shard holds, for a message."""
    n = strings.n_columns
    data = "attributes" if n is None else f"{counted(n, 'feature column')}"
    return f"{data} and the template {strings.template.name!r}"
