"""Data in shards is numbered as in one piece: index, predicates, labels, bit for bit."""

from __future__ import annotations

import itertools
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.columns import ColumnCorpus
from adaptag.corpus.label_windows import LabelWindows
from adaptag.corpus.schemes import TrainingLabels
from adaptag.corpus.settings import SCHEMES
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.label_plan import LabelPlan
from adaptag.decoding.tagging_job import tagging_job
from adaptag.errors import AdaptagError
from adaptag.features.settings import FeatureSettings
from adaptag.features.template import Template
from adaptag.training.settings import TaggingSettings
from tests.property.test_features import TEMPLATES, TOKENS
from tests.property.test_threads import ITEMS, assert_same_index
from tests.unit.making import datasets_of_shards, sent

FAST = settings(deadline=None, max_examples=150)
CHUNK_LABELS = ["O", "B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y"]
LABELLED = st.lists(
    st.lists(st.tuples(TOKENS, TOKENS, st.sampled_from(["a", "b", "Ab"])), min_size=1, max_size=6),
    min_size=1,
    max_size=10,
)
LABELS = st.lists(
    st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"]), max_size=6)
    | st.lists(st.sampled_from([*CHUNK_LABELS, "NN", None]), max_size=6)
    | st.lists(st.sampled_from(["O", "I-X"]), max_size=6),
    min_size=1,
    max_size=10,
)
CUTS = st.lists(st.integers(0, 10), max_size=5)
FEATURES = st.builds(
    FeatureSettings,
    cutoff=st.integers(1, 4),
    edge_cutoff=st.integers(1, 4),
    edge_share=st.sampled_from([1.0, 0.7, 0.5, 0.1, 0.0]),
    rich_edges=st.booleans(),
)


def shards_of(corpus, cuts):
    """The corpus in parts, some of them empty."""
    bounds = [0, *sorted(min(cut, len(corpus)) for cut in cuts), len(corpus)]
    return [corpus.select(np.arange(a, b)) for a, b in itertools.pairwise(bounds)]


def assert_same_data(found, wanted):
    """The shards hold the sentences of the dataset, one after the other."""
    assert all(shard.index is found[0].index for shard in found)
    assert_same_index(found[0].index, wanted.index)
    assert found[0].index.n_columns == wanted.index.n_columns
    assert found[0].index.template == wanted.index.template
    begin = 0
    for shard in found:
        part = wanted.select(np.arange(begin, begin + len(shard)))
        for name in ("label_names", "features", "labels_in_feature_column"):
            assert getattr(shard, name) == getattr(part, name)
        assert shard.labels.dtype == part.labels.dtype
        assert np.array_equal(shard.labels, part.labels)
        for field in fields(shard.encoded):
            a, b = getattr(shard.encoded, field.name), getattr(part.encoded, field.name)
            if field.name == "values" and a is None:
                assert b is None or (b == 1).all()
            elif b is not None:
                assert a.dtype == b.dtype
                assert np.array_equal(a, b), field.name
            else:
                assert a is None
        begin += len(shard)
    assert begin == len(wanted)


# ---- features ------------------------------------------------------------------------------------


@FAST
@given(TEMPLATES, LABELLED, CUTS, FEATURES, st.integers(1, 9))
def test_columns(template, sentences, cuts, options, n_ranges):
    options = replace(options, template=Template(template))
    corpus = ColumnCorpus.from_sentences(sentences)
    datasets, _ = datasets_of_shards(shards_of(corpus, cuts), options, n_ranges)
    assert_same_data(datasets, Dataset.build(corpus, options, 1))


@FAST
@given(ITEMS, CUTS, FEATURES, st.integers(1, 9), st.data())
def test_attributes_with_values(items, cuts, options, n_ranges, data):
    labels = [data.draw(st.lists(st.sampled_from("XY"), min_size=n, max_size=n))
              for n in map(len, items)]  # fmt: skip
    corpus = AttributeCorpus.from_items([*items, [{"a": 1}]]).with_labels([*labels, ["X"]])
    datasets, _ = datasets_of_shards(shards_of(corpus, cuts), options, n_ranges)
    assert_same_data(datasets, Dataset.build(corpus, options, 1))


@FAST
@given(TEMPLATES, LABELLED, LABELLED, CUTS, FEATURES, st.integers(1, 9))
def test_an_index_that_grows(template, sentences, more, cuts, options, n_ranges):
    first = Dataset.build(
        ColumnCorpus.from_sentences(sentences), replace(options, template=Template(template))
    )
    corpus = ColumnCorpus.from_sentences(more)
    options = replace(options, rich_edges=False)
    datasets, _ = datasets_of_shards(
        shards_of(corpus, cuts), options, n_ranges, first.index, first.label_names
    )
    wanted = Dataset.grow(corpus, first.index, first.label_names, options)
    assert_same_data(datasets, wanted)
    assert (datasets[0].index is first.index) == (wanted.index is first.index)


# ---- labels --------------------------------------------------------------------------------------


def outcome(function):
    """What a function returns, or the type of its error."""
    try:
        return function()
    except AdaptagError as error:
        return type(error)


def assert_same_labels(found, wanted):
    assert found.label_names == wanted.label_names
    assert (found.legal is None) == (wanted.legal is None)
    assert found.legal is None or found.legal.tobytes() == wanted.legal.tobytes()
    assert found.labels.tobytes() == wanted.labels.tobytes()


def is_same_model(found, wanted):
    assert (found.labels, found.states) == (wanted.labels, wanted.states)
    assert found.configuration == wanted.configuration


@settings(deadline=None, max_examples=400)
@given(
    LABELS,
    CUTS,
    st.sampled_from([None, "as-is", *SCHEMES]),
    st.sampled_from(["as-is", "as-is", *SCHEMES]),
    st.sampled_from([None, None, "auto", "seen", "iob2", [("O", "O"), ("B-X", "I-X")]]),
    st.booleans(),
)
@example([["O", "I-X", "O"], ["I-X", "I-X", "I-X"]], [1], "bioes", "as-is", "seen", False)
@example([["I-X", "I-X"], ["I-X", "I-X"]], [1], "bioes", "iob2", "seen", False)
def test_labels_to_train_with(labels, cuts, scheme, output, legal, rich):
    labels = [*labels, ["O"]]
    corpus = ColumnCorpus.from_sentences([[("a", "b")] * len(s) for s in labels])
    corpus = corpus.with_labels(labels)
    features = FeatureSettings(template="U:%x[0,0]\nB", rich_edges=rich)
    options = TaggingSettings(scheme=scheme, output_scheme=output, legal=legal)
    whole = Dataset.build(corpus, features)
    datasets, data = datasets_of_shards(shards_of(corpus, cuts), features)
    assert_same_data(datasets, whole)

    def plan_and_examples():
        plan = LabelPlan.of(
            data.labels,
            options,
            rich_edges=datasets[0].index.template.has_rich_edges,
            in_feature_column=data.in_feature_column,
        )
        plan = sent(plan)
        return plan, [plan.examples(dataset) for dataset in datasets]

    wanted, found = outcome(lambda: tagging_job(whole, options)), outcome(plan_and_examples)
    if isinstance(wanted, type):
        assert found is wanted
        return
    plan, examples = found
    begin = 0
    for shard in examples:
        assert_same_labels(shard, wanted.examples.select(np.arange(begin, begin + len(shard))))
        begin += len(shard)
    weights = np.zeros(wanted.examples.layout.n_weights, np.float32)
    is_same_model(plan.model(datasets[0].index, weights, {}), wanted.build(weights, {}))
    assert plan.settings == wanted.settings


def as_data(labels):
    names = list(dict.fromkeys(x for s in labels for x in s if x is not None))
    offsets = np.cumsum([0, *map(len, labels)])
    ids = np.array([-1 if x is None else names.index(x) for s in labels for x in s], np.int32)
    return names, ids, offsets


@FAST
@given(LABELS, CUTS)
def test_windows_are_those_of_the_sentences(labels, cuts):
    bounds = [0, *sorted(min(cut, len(labels)) for cut in cuts), len(labels)]
    parts = [LabelWindows.of(*as_data(labels[a:b])) for a, b in itertools.pairwise(bounds)]
    windows = LabelWindows.merged(parts)
    wanted = {}
    for sentence in labels:
        padded = ["outside", *sentence, "outside", "outside"]
        for t in range(len(sentence)):
            window = tuple(padded[t : t + 4])
            wanted[window] = wanted.get(window, 0) + 1
    names = [*windows.names, "outside", None]
    found = [tuple(names[label] for label in window) for window in windows.labels.tolist()]
    assert dict(zip(found, windows.counts.tolist(), strict=True)) == wanted
    assert len(found) == len(wanted)
    assert list(windows.names) == as_data(labels)[0]
    assert windows.has_empty == any(not sentence for sentence in labels)
    assert windows.some_unknown == any(None in sentence for sentence in labels)


def naive_transitions(ids, offsets, outside):
    table = np.zeros((outside + 1, outside + 1), np.uint8)
    for a, b in itertools.pairwise(offsets.tolist()):
        for pair in itertools.pairwise([outside, *ids[a:b].tolist(), outside]):
            if min(pair) >= 0:
                table[pair] = 1
    return table


@FAST
@pytest.mark.parametrize("scheme", SCHEMES)
@given(labels=LABELS)
def test_transitions_and_labels_are_those_that_occur(scheme, labels):
    names, ids, offsets = as_data([*labels, ["B-X"]])
    windows = LabelWindows.of(names, ids, offsets)
    table = windows.transitions()
    assert np.array_equal(table, naive_transitions(ids, offsets, len(names)))
    training = TrainingLabels.of(windows, scheme)
    codes = training.conversion.apply(ids, offsets)
    table = windows.transitions(training.conversion)
    assert np.array_equal(table, naive_transitions(codes, offsets, len(training.names)))
    if not windows.some_unknown:
        single = {"iob1": "I", "iob2": "B", "ioe2": "E", "bioes": "SU"}[scheme]
        unused = set(range(len(training.names))) - set(codes.tolist())
        assert all(training.names[code][0] in single for code in unused)
        assert codes.min() >= 0


def test_a_model_to_start_from():
    labels = [["B-X", "I-X", "O"], ["O", "B-X", "B-X"]] * 3
    words = [["a", "b", "c"], ["c", "d", "d"]] * 3
    options = TaggingSettings(passes=2, scheme="bioes")
    features = FeatureSettings()
    first = Dataset.build(ColumnCorpus.from_sentences(words).with_labels(labels), features)
    model = tagging_job(first, options).run()
    more = ColumnCorpus.from_sentences([["x", "a"], ["y", "y", "b"], ["a"]])
    more = more.with_labels([["B-Y", "O"], ["B-X", "I-X", "I-X"], ["B-Y"]])
    job = tagging_job(Dataset.grow(more, model.index, model.labels), options, start=model)
    datasets, data = datasets_of_shards(
        shards_of(more, [1, 2]), features, 2, model.index, model.labels
    )
    plan = LabelPlan.of(
        data.labels,
        options,
        rich_edges=False,
        in_feature_column=data.in_feature_column,
        start=model,
    )
    assert_same_index(datasets[0].index, job.examples.index)
    for number, shard in enumerate(datasets):
        assert_same_labels(plan.examples(shard), job.examples.select(np.array([number])))
    weights = np.zeros(job.examples.layout.n_weights, np.float32)
    is_same_model(plan.model(datasets[0].index, weights, {}), job.build(weights, {}))
