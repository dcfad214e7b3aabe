"""Shorthands of the tests: indexes, settings of features and trained weights in one call."""

from __future__ import annotations

from typing import NamedTuple

from adaptag.features.index import FeatureIndex
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
