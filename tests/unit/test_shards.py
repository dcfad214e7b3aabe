"""Data in shards: what is refused, shards without data, and the index of a real corpus."""

from __future__ import annotations

import numpy as np
import pytest

from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.columns import ColumnCorpus
from adaptag.corpus.label_windows import LabelWindows
from adaptag.dataset.encoded import Dataset
from adaptag.dataset.shards import count_shard, merge_summaries
from adaptag.decoding.label_plan import LabelPlan
from adaptag.decoding.tagging_job import tagging_job
from adaptag.errors import CorpusError, ParameterError
from adaptag.features.merging import CountRange, merge_range, merged_index, split_counts
from adaptag.features.settings import FeatureSettings
from adaptag.training.settings import TaggingSettings
from reproduction.data import default_folder
from tests.property.test_shards import assert_same_data, assert_same_labels, shards_of
from tests.unit.making import datasets_of_shards

DATA = default_folder() / "conll2000"
FEATURES = FeatureSettings(template="U:%x[0,0]\nB")


def columns(text):
    return ColumnCorpus.from_bytes(text.encode())


def range_of(keys, counts, shard=0):
    """A range of predicates whose fingerprints are their keys."""
    keys = np.array(keys, np.uint32)
    return CountRange(
        keys[:, None],
        np.zeros(len(keys), np.uint8),
        np.array(counts, np.uint64),
        (np.uint64(shard) << np.uint64(32)) + np.arange(len(keys), dtype=np.uint64),
        keys.astype(np.uint64),
    )


# ---- counts --------------------------------------------------------------------------------------


def test_counts_add_up_and_the_first_shard_decides_the_order():
    merged = merge_range([range_of([7, 5], [1, 2], 0), range_of([5, 6, 7], [1, 1, 1], 1)], 2)
    assert dict(zip(merged.keys[:, 0].tolist(), merged.counts.tolist(), strict=True)) == {
        5: 3,
        7: 2,
    }
    assert merged.first[merged.keys[:, 0] == 5] == 1
    assert merged.first[merged.keys[:, 0] == 7] == 0


def test_counts_beyond_32_bits_do_not_overflow():
    many = 3_000_000_000
    merged = merge_range([range_of([5, 6], [many, 1], k) for k in range(3)], 4)
    assert merged.counts.tolist() == [3 * many]


def test_the_most_frequent_feature_may_be_counted_beyond_32_bits():
    corpus = columns("a X\nb Y\n\n")
    summary, shard = count_shard(corpus, FEATURES)
    data = merge_summaries([summary])
    (part,) = split_counts(shard.counts, data.numbers[0], data.strings.template, 0, 1)
    part.counts[:] = [1, 2**40, 1]
    index = merged_index(data.strings, [merge_range([part])], FEATURES)
    assert index.name(0) == "U:b"


def test_predicates_to_grow_from_are_never_dropped():
    parts = [range_of([5, 6, 8], [0, 0, 1], 0), range_of([5, 6, 9], [0, 0, 1], 1)]
    assert sorted(merge_range(parts, 2, 2).keys[:, 0].tolist()) == [5, 6]
    assert merge_range(parts, 2).keys.shape == (0, 1)


def test_every_range_has_its_own_predicates():
    text = "".join(f"w{k} X\n" for k in range(5000)) + "\n"
    summary, shard = count_shard(columns(text), FEATURES)
    data = merge_summaries([summary])
    ranges = split_counts(shard.counts, data.numbers[0], data.strings.template, 0, 10)
    sizes = [len(part.keys) for part in ranges]
    assert sum(sizes) == len(shard.counts.keys) == 5001
    assert min(sizes) > 400
    for n in (0, 1 << 17):
        with pytest.raises(ParameterError, match=f"n_ranges is {n}; allowed: 1 to 65536"):
            split_counts(shard.counts, data.numbers[0], data.strings.template, 0, n)


# ---- shards that differ --------------------------------------------------------------------------


def test_a_shard_may_be_empty():
    options = FeatureSettings()  # whose template depends on the number of columns
    corpus = columns("a b X\nc d Y\n\ne f X\n")
    empty = [columns(""), AttributeCorpus.from_items([]), ColumnCorpus.from_sentences([[]])]
    datasets, _ = datasets_of_shards([empty[0], corpus, *empty[1:]], options)
    assert_same_data(datasets[1:2], Dataset.build(corpus, options))
    for dataset in (datasets[0], *datasets[2:]):
        assert dataset.n_tokens == 0
        assert dataset.index is datasets[1].index
        assert dataset.label_names == ("X", "Y")


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (columns("a b c X\n"), r"shard 2: 3 feature columns .*; shard 1 has 2 feature columns"),
        (
            AttributeCorpus.from_items([[{"a": 1}]]).with_labels([["X"]]),
            r"shard 2: attributes .*; shard 1 has 2 feature columns",
        ),
    ],
)
def test_shards_have_the_same_columns(second, message):
    options = FeatureSettings()
    summaries = [count_shard(c, options)[0] for c in (columns("a b X\n"), second)]
    with pytest.raises(CorpusError, match=message):
        merge_summaries(summaries)


def test_no_shard_has_data():
    with pytest.raises(CorpusError, match="2 shards hold no token; allowed: 1 or more"):
        datasets_of_shards([columns(""), columns("")], FEATURES)
    unknown = ColumnCorpus.from_sentences([["a"]]).with_labels([[None]])
    with pytest.raises(CorpusError, match="no label of 2 shards is known; at least one label"):
        datasets_of_shards([unknown, unknown], FEATURES)


def test_hashed_features_are_not_counted():
    with pytest.raises(ParameterError, match="hashed features are not counted"):
        count_shard(columns("a X\n"), FeatureSettings(hash_bits=8))
    corpora = columns("a b X\n"), columns("c d Y\n\ne f X\n")
    first, second = (Dataset.build(c, FeatureSettings(hash_bits=8)).index for c in corpora)
    assert first.n_of_kind == second.n_of_kind


# ---- labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", ["Y", "c"])
def test_labels_in_the_last_feature_column_of_all_shards(last):
    """A value may be a label of another shard only."""
    corpus = columns(f"a Y X\n\nb X Y\n\nc {last} X\n")
    datasets, data = datasets_of_shards(shards_of(corpus, [1, 2]), FeatureSettings())
    assert data.in_feature_column == (last == "Y")
    assert_same_data(datasets, Dataset.build(corpus, FeatureSettings()))


def test_a_trial_training_needs_the_data():
    windows = LabelWindows.of(["O", "B-X"], np.array([0, 1], np.int32), np.array([0, 2]))
    settings = TaggingSettings(scheme="auto")
    with pytest.raises(ParameterError, match=r"scheme is auto, .*; allowed: a name, or none"):
        LabelPlan.of(windows, settings, rich_edges=False, in_feature_column=False)


def test_labels_of_a_shard_are_those_of_all():
    plan = LabelPlan.of(
        LabelWindows.of(["O", "B-X"], np.array([0, 1], np.int32), np.array([0, 2])),
        TaggingSettings(),
        rich_edges=False,
        in_feature_column=False,
    )
    with pytest.raises(ParameterError, match=r"has the labels B-X; .* are O, B-X, in this order"):
        plan.examples(Dataset.build(columns("a B-X\n"), FEATURES))


def test_a_transition_that_is_ruled_out_is_found_in_its_shard():
    corpus = columns("a B-X\nb I-X\n\nc O\nd I-X\n\n" + "a B-X\n\n" * 5)
    datasets, data = datasets_of_shards(shards_of(corpus, [1]), FEATURES)
    settings = TaggingSettings(scheme="as-is", legal="auto")
    plan = LabelPlan.of(data.labels, settings, rich_edges=False, in_feature_column=False)
    plan.examples(datasets[0])
    with pytest.raises(CorpusError, match="sentence 1: 'O' and then 'I-X'"):
        plan.examples(datasets[1])


# ---- a corpus ------------------------------------------------------------------------------------


@pytest.mark.skipif(
    not (DATA / "train.txt").is_file(), reason=f"no CoNLL-2000 data in {DATA}; set ADAPTAG_DATA"
)
@pytest.mark.parametrize(
    ("n_shards", "options"),
    [
        (2, {"template": "chunking"}),
        (4, {"template": "chunking", "cutoff": 3}),
        (7, {"rich_edges": True, "cutoff": 2, "edge_cutoff": 4, "edge_share": 0.3}),
    ],
)
def test_conll2000(n_shards, options):
    features = FeatureSettings(**options)
    corpus = ColumnCorpus.read(DATA / "train.txt")
    cuts = [len(corpus) * k // n_shards for k in range(1, n_shards)]
    datasets, data = datasets_of_shards(shards_of(corpus, cuts), features, n_shards)
    whole = Dataset.build(corpus, features)
    assert_same_data(datasets, whole)
    settings = TaggingSettings(scheme="bioes", legal="seen")
    plan = LabelPlan.of(
        data.labels,
        settings,
        rich_edges=features.rich_edges,
        in_feature_column=data.in_feature_column,
    )
    examples = tagging_job(whole, settings).examples
    begin = 0
    for shard in datasets:
        part = examples.select(np.arange(begin, begin + len(shard)))
        assert_same_labels(plan.examples(shard), part)
        begin += len(shard)
