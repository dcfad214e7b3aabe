"""Training inside Ray Train: a function that each of its workers runs on its shard of a dataset."""

from __future__ import annotations

import tempfile
import zlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.dataset.dropout import Dropout
from adaptag.dataset.shards import merge_summaries
from adaptag.decoding.label_plan import LabelPlan
from adaptag.features.merging import merge_range, merged_index
from adaptag.features.settings import FeatureSettings
from adaptag.ray.connection import require_ray
from adaptag.ray.peers import Peers
from adaptag.ray.shards import ShardData, ShardInfo, ShardWorker, joined
from adaptag.settings import split_options
from adaptag.training.arrays import aligned_zeros
from adaptag.training.callbacks import Callback
from adaptag.training.initial_rate import find_rate
from adaptag.training.job import TrainingJob
from adaptag.training.mixing import ShardTraining, blocks_of, combined, mix, new_state, rounds_for
from adaptag.training.settings import TaggingSettings, parameter_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Dataset
    from adaptag.decoding.model import Model
    from adaptag.settings import Value
    from adaptag.training.callbacks import PassReport
    from adaptag.training.declarations import Algorithm
    from adaptag.training.orders import PassPart
    from adaptag.training.settings import TrainingSettings

    Weights = NDArray[np.float32]

__all__ = ["MODEL", "train_loop_per_worker"]

MODEL = "model.adaptag"  # the file of the model in the checkpoint that Ray Train gets
BLOCKS = 4  # of weights, for each worker
TOKENS, TAGS, ROUNDS, DATASET = "tokens", "tags", "rounds", "dataset"


def train_loop_per_worker(config: Mapping[str, Any]) -> None:
    """Train a tagger on the shards of a dataset, in all workers of Ray Train together.

    Each pass is reported with its figures; with the last one the first worker reports a checkpoint
    that holds the file ``model.adaptag``. All workers must run to the end: Ray Train starts all of
    them again where one dies.

    Args:
        config: The settings of features and of training, as for ``adaptag.train``, and ``tokens``,
            ``tags`` (the columns of the dataset, by default of these names), ``dataset`` (its name,
            by default ``train``) and ``rounds`` (how often weights are mixed in a pass).
    """
    import ray.train

    context = ray.train.get_context()
    options = dict(config)
    tokens, tags = options.pop(TOKENS, TOKENS), options.pop(TAGS, TAGS)
    rounds, name = options.pop(ROUNDS, None), options.pop(DATASET, "train")
    sentences: list[list[str]] = []
    labels: list[list[str]] = []
    for row in ray.train.get_dataset_shard(name).iter_rows():
        sentences.append([str(token) for token in row[tokens]])
        labels.append([str(tag) for tag in row[tags]])
    peers = Peers(
        require_ray(),
        f"adaptag-{context.get_experiment_name()}",
        context.get_world_rank(),
        context.get_world_size(),
    )

    def report(history: Sequence[PassReport], model: Model | None = None) -> None:
        figures = history[-1].to_dict()
        if model is None or peers.rank > 0:
            ray.train.report(figures)
            return
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / MODEL)
            ray.train.report(figures, checkpoint=ray.train.Checkpoint.from_directory(folder))

    train_with_peers(peers, ShardData(sentences=sentences, labels=labels), options, rounds, report)


def train_with_peers(
    peers: Peers,
    data: ShardData,
    options: Mapping[str, Any],
    rounds: int | None,
    report: Callable[..., None],
) -> Model:
    """Train on the shard of this worker, while all others do the same; all get the same model."""
    given, training, parameters = split_options(
        options, FeatureSettings, TaggingSettings, also=parameter_names()
    )
    features = FeatureSettings(**given)
    settings = TaggingSettings.from_options(training, parameters)
    worker = ShardWorker(peers.rank, data, features)
    summary = merge_summaries(peers.gather(worker.count()[0]))
    template = summary.strings.template
    plan = LabelPlan.of(
        summary.labels,
        settings,
        rich_edges=template.has_rich_edges,
        in_feature_column=summary.in_feature_column,
    )
    ranges = worker.ranges(summary.numbers[peers.rank], template, peers.n)
    mine = peers.swap(ranges if isinstance(ranges, list) else [ranges])
    merged = peers.gather(merge_range(mine, features.cutoff))
    index = merged_index(summary.strings, merged, features)
    own = worker.encode(index, summary.numbers[peers.rank], plan, summary.in_feature_column)
    assert worker.examples is not None
    engine = PeerEngine(peers, worker, peers.gather(own), rounds or rounds_for(peers.n))
    reporter = _Reporter(settings.passes or settings.chosen.passes, report)
    record = {"sentences": engine.n_sentences, "workers": peers.n, "feature_settings": given}
    job: TrainingJob[Model] = TrainingJob(
        engine,
        plan.settings,
        partial(plan.model, index),
        callbacks=[reporter],
        record=record,
    )
    model = job.run()
    report(job.result.history, model)
    return model


class _Reporter(Callback):
    """Reports all passes but the last, which is reported with the model."""

    def __init__(self, passes: int, report: Callable[..., None]) -> None:
        self.passes, self.report = passes, report

    def on_pass(self, history: Sequence[PassReport]) -> bool:
        if len(history) < self.passes:
            self.report(history)
        return False


class PeerEngine:
    """The shard of this worker, and the other workers."""

    def __init__(
        self, peers: Peers, worker: ShardWorker, shards: Sequence[ShardInfo], rounds: int
    ) -> None:
        assert worker.examples is not None
        self.peers, self.worker, self.shards, self.rounds = peers, worker, shards, rounds
        self.examples: Dataset = worker.examples

    @property
    def n_sentences(self) -> int:
        """The number of sentences of all shards."""
        return sum(shard.sentences for shard in self.shards)

    def checksum(self) -> int:
        """Checksum of all that training sees, and of how it is divided."""
        return zlib.crc32(repr([self.rounds, *(s.checksum for s in self.shards)]).encode())

    def find_rate(
        self,
        algorithm: Algorithm,
        parameters: Mapping[str, Value],
        seed: int,
        start: Weights | None,
    ) -> float:
        """Find the initial learning rate on a sample of all shards, as all workers do."""
        n = self.n_sentences
        sample = joined(self.peers.gather(self.worker.sample(n, seed)))
        return find_rate(sample, algorithm, parameters, seed, start, n_sentences=n)

    def online(
        self,
        algorithm: Algorithm,
        parameters: Mapping[str, Value],
        settings: TrainingSettings,
    ) -> PeerTraining:
        """Prepare the training with an online algorithm."""
        return PeerTraining(self, algorithm, parameters, settings.seed)

    def objective(
        self,
        settings: TrainingSettings,  # noqa: ARG002
        after_evaluation: Callable[[], None],
    ) -> PeerObjective:
        """Prepare the objective of a batch algorithm."""
        return PeerObjective(self, after_evaluation)


class PeerTraining:
    """The rounds of this worker; each worker mixes some of the blocks."""

    def __init__(
        self,
        engine: PeerEngine,
        algorithm: Algorithm,
        parameters: Mapping[str, Value],
        seed: int,
    ) -> None:
        self.peers, self.rounds = engine.peers, engine.rounds
        self.algorithm = algorithm
        self.training = ShardTraining(
            engine.examples,
            algorithm,
            parameters,
            shard=engine.peers.rank,
            n_shards=engine.peers.n,
            n_sentences=sum(shard.trained for shard in engine.shards),
            seed=seed,
            rounds_per_pass=engine.rounds,
        )
        layout = engine.examples.layout
        self.blocks = blocks_of(layout, max(1, layout.n_weights // (BLOCKS * engine.peers.n)))
        self.dropout = Dropout(engine.examples, float(parameters["dropout"]))

    def parts(self, number: int) -> Iterator[PassPart]:
        """Train for a pass, round by round."""
        while self.training.rounds < number * self.rounds:
            yield self._round(self.training.rounds)

    def _round(self, number: int) -> PassPart:
        training, peers = self.training, self.peers
        part = combined(peers.gather(training.run(number)))
        owned = [self.blocks[owner :: peers.n] for owner in range(peers.n)]
        received = peers.swap([[training.change(block) for block in own] for own in owned])
        mixed = [
            mix([changes[b] for changes in received], block.row_size)
            for b, block in enumerate(owned[peers.rank])
        ]
        for own, arrays in zip(owned, peers.gather(mixed), strict=True):
            for block, values in zip(own, arrays, strict=True):
                training.apply(block, values)
        training.end_round()
        return part

    def start_from(self, weights: Weights) -> None:
        """Start from the weights of a model."""
        start = self.dropout.scale(weights.copy(), inverse=True)
        self.training.state = new_state(self.training.layout, self.algorithm, start)

    def current_weights(self) -> Weights:
        """The weights as a model needs them."""
        out = aligned_zeros(self.training.layout.n_weights)
        for block in self.blocks:
            out[slice(*block.weights)] = self.training.weights(block)
        return self.dropout.scale(out)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is needed to continue training, by name."""
        rounds = np.array([self.training.rounds], np.int64)
        return {**self.training.state, ROUNDS: rounds}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from the ``arrays`` of another training with the same parameters and size."""
        for name, array in self.training.state.items():
            array[:] = arrays[name]
        self.training.rounds = int(arrays[ROUNDS][0])


class PeerObjective:
    """The loss of all shards and its gradient; each worker sums some of the blocks."""

    def __init__(self, engine: PeerEngine, after_evaluation: Callable[[], None]) -> None:
        self.engine, self._after_evaluation = engine, after_evaluation
        self.layout = engine.examples.layout
        self.n_weights = self.layout.n_weights
        self.threads, self.accuracy = 1, 0.0

    def add(self, x: Weights, gradient: Weights) -> float:
        """Return the loss at ``x``; its gradient is added to ``gradient``."""
        peers = self.engine.peers
        blocks = blocks_of(self.layout, max(1, self.n_weights // peers.n))
        figures, *parts = self.engine.worker.gradient(x, blocks)
        total = np.sum(peers.gather(figures), axis=0)
        received = peers.swap([parts[owner :: peers.n] for owner in range(peers.n)])
        sums = [np.add.reduce(block) for block in zip(*received, strict=True)]
        for owner, own in enumerate(peers.gather(sums)):
            for block, part in zip(blocks[owner :: peers.n], own, strict=True):
                gradient[slice(*block.weights)] += part
        self.accuracy = float(total[1]) / max(1.0, float(total[2]))
        self._after_evaluation()
        return float(total[0])
