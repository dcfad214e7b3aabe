"""Training of a tagger by the workers of a Ray cluster."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.corpus.columns import ColumnFormat
from adaptag.corpus.lists import as_list
from adaptag.dataset.encoded import Examples
from adaptag.dataset.shards import merge_summaries
from adaptag.decoding.label_plan import LabelPlan
from adaptag.decoding.scorer import TagScorer
from adaptag.decoding.tagging_job import encode_dev
from adaptag.errors import ParameterError
from adaptag.features.index import Encoded
from adaptag.features.merging import merge_range, merged_index
from adaptag.features.settings import FeatureSettings
from adaptag.ray.connection import connect, n_cpus
from adaptag.ray.engine import ClusterEngine
from adaptag.ray.filesystems import find_inputs
from adaptag.ray.inputs import split_files
from adaptag.ray.shards import ShardData
from adaptag.ray.workers import Workers
from adaptag.settings import AUTO, split_options, with_options
from adaptag.training.job import TrainingJob
from adaptag.training.mixing import check_parameters, rounds_for
from adaptag.training.saving import Saving
from adaptag.training.settings import TaggingSettings, parameter_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from adaptag.decoding.model import Model
    from adaptag.storage.files import PathLike
    from adaptag.training.callbacks import Callback

__all__ = ["cluster_job", "train"]

BLOCK = 4 << 20  # bytes of files that are read, and left out where they are bad, at a time
OBJECT_STORE = 2 << 30  # bytes, of a cluster that is started here
MOST_RANGES = 64  # of features that are merged at a time


@with_options(FeatureSettings, TaggingSettings, parameters=True)
def train(
    data: Any,
    labels: Iterable[Sequence[str | None]] | None = None,
    *,
    workers: int | None = None,
    cluster: str = AUTO,
    rounds: int | None = None,
    dev: Any = None,
    resume: PathLike | None = None,
    checkpoint: PathLike | None = None,
    every: int | str | None = None,
    format: ColumnFormat | None = None,  # noqa: A002
    skip_bad: bool = False,
    callbacks: Sequence[Callback] = (),
    **options: Any,
) -> Model:
    """Train a model on a cluster: each worker has a shard of the data.

    The same seed and the same number of workers give the same model.

    Args:
        data: A column file, a list of files, folders or patterns, on any filesystem that PyArrow
            knows; or sentences of tokens, the label last in each token unless ``labels`` are given.
        labels: The labels of sentences given as Python data.
        workers: The number of workers, each on one CPU; by default one for each CPU of the cluster.
        cluster: The address of a cluster; see ``connect``.
        rounds: How often the weights of the workers are mixed in a pass; by default the square root
            of their number.
        dev: Development data: it is scored after every pass, and the best pass is kept.
        resume: A checkpoint to continue from, on the same data with the same number of workers.
        checkpoint: A file for the state of training, for ``resume``.
        every: How often it is saved, as for ``adaptag.train``; by default after each pass.
        format: The format of column files, if it cannot be detected.
        skip_bad: Whether parts of files that cannot be read are left out, with a note.
        callbacks: Objects that are notified of the progress and can stop training.
        **options: The settings of features and of training, as for ``adaptag.train``.
    """
    features, training, parameters = split_options(
        options, FeatureSettings, TaggingSettings, also=parameter_names()
    )
    settings = TaggingSettings.from_options(training, parameters)
    saving = Saving.of(checkpoint, 1 if checkpoint is not None and every is None else every, resume)
    settings = saving.continued(settings, training)
    with connect(cluster, object_store=OBJECT_STORE) as ray:
        number = workers or n_cpus(ray)
        shards = shard_data(data, labels, number, format or ColumnFormat(), skip_bad=skip_bad)
        with cluster_job(
            ray, shards, FeatureSettings(**features), settings, rounds, callbacks
        ) as job:
            if dev is not None:
                add_development_data(job, dev, format)
            saving.attach(job)
            return job.run()


def shard_data(
    data: Any,
    labels: Iterable[Sequence[str | None]] | None,
    number: int,
    format: ColumnFormat,  # noqa: A002
    *,
    skip_bad: bool = False,
) -> list[ShardData]:
    """Divide data into shards of about the same size, in its order."""
    allowed = "a list of sentences, each a list of tokens"
    items = [data] if isinstance(data, (str, os.PathLike)) else as_list(data, "sentences", allowed)
    if labels is None and items and all(isinstance(item, (str, os.PathLike)) for item in items):
        inputs = find_inputs([os.fspath(item) for item in items])
        total = sum(file.size for file in inputs)
        blocks = split_files(inputs, max(1, min(BLOCK, -(-total // number))))
        ends = np.cumsum([block.size for block in blocks])
        owner = np.minimum((ends - 1) * number // max(1, total), number - 1)
        return [
            ShardData(
                tuple(block for block, k in zip(blocks, owner, strict=True) if k == shard),
                format=format,
                skip_bad=skip_bad,
            )
            for shard in range(number)
        ]
    given = None if labels is None else list(labels)
    bounds = np.linspace(0, len(items), number + 1).astype(int).tolist()
    return [
        ShardData(sentences=items[begin:end], labels=None if given is None else given[begin:end])
        for begin, end in itertools.pairwise(bounds)
    ]


@contextlib.contextmanager
def cluster_job(
    ray: Any,
    data: Sequence[ShardData],
    features: FeatureSettings,
    settings: TaggingSettings,
    rounds: int | None = None,
    callbacks: Sequence[Callback] = (),
) -> Iterator[TrainingJob[Model]]:
    """The job that trains a tagger on shards; its workers end with the block.

    Args:
        ray: The module, connected to a cluster.
        data: The shards.
        features: The settings of features.
        settings: The settings of training.
        rounds: How often weights are mixed in a pass.
        callbacks: Objects that are notified of the progress and can stop training.
    """
    features.check()
    if settings.chosen.online:
        check_parameters(settings.chosen, settings.values())
    if features.hash_bits is not None:
        raise ParameterError("hash_bits cannot be combined with workers")
    rounds = rounds or rounds_for(len(data))
    workers = Workers(ray, data, features)
    try:
        begin = time.perf_counter()
        engine, plan = _engine(workers, features, settings, rounds, callbacks)
        tokens = sum(shard.tokens for shard in engine.shards)
        for callback in callbacks:
            callback.on_note(
                f"{engine.n_sentences:,} sentences, {tokens:,} tokens, {len(plan.names)} labels, "
                f"{engine.skeleton.index.n_predicates:,} features, read by {len(data)} workers in "
                f"{time.perf_counter() - begin:.2f} s"
            )
        record = {
            "sentences": engine.n_sentences,
            "tokens": tokens,
            "feature_settings": features.record(),
            "workers": len(data),
            "rounds_per_pass": rounds,
        }
        yield TrainingJob(
            engine,
            plan.settings,
            partial(plan.model, engine.skeleton.index),  # type: ignore[arg-type]
            callbacks=callbacks,
            record=record,
        )
    finally:
        workers.stop()


def _engine(
    workers: Workers,
    features: FeatureSettings,
    settings: TaggingSettings,
    rounds: int,
    callbacks: Sequence[Callback],
) -> tuple[ClusterEngine, LabelPlan]:
    """Build the index of all data, decide its labels, and have workers encode their shards."""
    ray = workers.ray
    counted = workers.each(lambda worker, _: worker.count.remote())
    for callback in callbacks:
        for _, skipped in counted:
            for reason in skipped:
                callback.on_note(f"left out: {reason}")
    summary = merge_summaries([summary for summary, _ in counted])
    del counted
    template = summary.strings.template
    plan = LabelPlan.of(
        summary.labels,
        settings,
        rich_edges=template.has_rich_edges,
        in_feature_column=summary.in_feature_column,
    )
    numbers = [ray.put(array) for array in summary.numbers]
    n_ranges = min(2 * len(workers), MOST_RANGES)
    merge = ray.remote(num_cpus=0, max_retries=3)(_merged_range)

    def load(k: int) -> None:
        workers.get(workers.handles[k].count.remote())

    workers.recover = load

    def merged() -> Any:
        ranges = workers.submit(
            lambda worker, k: worker.ranges.options(num_returns=n_ranges).remote(
                numbers[k], template, n_ranges
            )
        )
        return workers.get(
            [merge.remote(features.cutoff, *(of[r] for of in ranges)) for r in range(n_ranges)]
        )

    index = merged_index(summary.strings, workers.until_all_live(merged), features)
    shared, plan_shared = ray.put(index), ray.put(plan)

    def encode(worker: Any, k: int) -> Any:
        return worker.encode.remote(shared, numbers[k], plan_shared, summary.in_feature_column)

    shards = workers.each(encode)
    empty = Encoded(np.zeros(1, np.int64), np.zeros(1, np.int64), np.empty(0, np.uint32), None)
    skeleton = Examples(index, empty, np.empty(0, np.int32), plan.states, legal=plan.legal)
    engine = ClusterEngine(
        workers,
        shards,
        skeleton,
        lambda k: workers.get(encode(workers.handles[k], k)),
        rounds,
    )
    return engine, plan


def _merged_range(cutoff: int, *parts: Any) -> Any:
    """Merge one range of all shards, in a task."""
    return merge_range(parts, cutoff)


def add_development_data(
    job: TrainingJob[Model],
    dev: Any,
    format: ColumnFormat | None,  # noqa: A002
) -> None:
    """Have a job score its model on development data after each pass."""
    engine: Any = job.data
    model = job.build(np.zeros(engine.skeleton.layout.n_weights, np.float32), {})
    job.scorer = TagScorer(encode_dev(dev, model.index, model.labels, format), model.metric)
