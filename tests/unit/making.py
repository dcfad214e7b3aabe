"""Shorthands of the tests: indexes, settings of features and trained weights in one call."""

from __future__ import annotations

import pickle
from typing import NamedTuple

from adaptag.dataset.shards import count_shard, merge_summaries, shard_dataset
from adaptag.features.index import FeatureIndex
from adaptag.features.merging import merge_range, merged_index, split_counts
from adaptag.features.settings import CharacterFeatures, FeatureSettings
from adaptag.training.job import TrainingJob
from adaptag.training.settings import NEVER, TrainingSettings


class Edges(NamedTuple):
    """Which features have edge weights."""

    cutoff: int = 1
    share: float = 1.0


ALL = Edges()


def features(template, cutoff=1, edges=ALL, hash_bits=None):
    return FeatureSettings(
        template=template,
        cutoff=cutoff,
        edge_cutoff=edges.cutoff,
        edge_share=edges.share,
        hash_bits=hash_bits,
    )


def index_of(corpus, template, cutoff=1, edges=ALL, hash_bits=None):
    """An index of sentences without labels, and the sentences encoded with it."""
    settings = features(template, cutoff, edges, hash_bits)
    return FeatureIndex.build(corpus, settings, labelled=False)


def grow(index, corpus, cutoff=1, edges=ALL):
    """The index that has grown by sentences without labels, and these encoded with it."""
    return index.grow(corpus, features(None, cutoff, edges), labelled=False)


def characters(fold="types", cutoff=1, word_cutoff=3, edges=ALL):
    """Features of characters; ``edges`` None: none has edge weights."""
    limit = {} if edges is None else {"edge_cutoff": edges.cutoff, "edge_share": edges.share}
    return CharacterFeatures(
        fold=fold, cutoff=cutoff, word_cutoff=word_cutoff, plain_edges=edges is None, **limit
    )


class Scorer:
    """A score of weights, by a function."""

    metric = "accuracy"

    def __init__(self, function):
        self.function = function

    def __call__(self, weights):
        return self.function(weights)


def fit(
    examples,
    *,
    algorithm_name="adf",
    parameters=None,
    passes=None,
    seed=1,
    start=None,
    resume=None,
    score=None,
    callbacks=(),
    threads=None,
):
    """Train weights, and give the result of the job."""
    settings = TrainingSettings(
        algorithm=algorithm_name,
        parameters=parameters,
        passes=passes,
        seed=seed,
        threads=threads,
        patience=NEVER,
    )
    scorer = None if score is None else Scorer(score)
    job = TrainingJob(
        examples, settings, lambda weights, _: weights, scorer, start, resume, callbacks
    )
    job.run()
    return job.result


def sent(value):
    """A value as another process gets it."""
    return pickle.loads(pickle.dumps(value))


def datasets_of_shards(corpora, settings, n_ranges=3, start=None, label_names=()):
    """The datasets of shards, made as by workers that share nothing, and the summary of all."""
    counted = [
        sent(count_shard(corpus, settings, start=start, label_names=label_names))
        for corpus in corpora
    ]
    data = sent(merge_summaries([summary for summary, _ in counted]))
    template = data.strings.template
    split = [
        sent(split_counts(shard.counts, data.numbers[number], template, number, n_ranges))
        for number, (_, shard) in enumerate(counted)
    ]
    n_old = 0 if start is None else start.n_predicates
    ranges = [
        sent(merge_range([ranges[k] for ranges in split], settings.cutoff, n_old))
        for k in range(n_ranges)
    ]
    index = merged_index(data.strings, ranges[::-1], settings, start=start)  # in any order
    datasets = [
        shard_dataset(
            shard,
            index,
            numbers,
            data.labels.names,
            settings,
            labels_in_feature_column=data.in_feature_column,
        )
        for (_, shard), numbers in zip(counted, data.numbers, strict=True)
    ]
    return datasets, data
