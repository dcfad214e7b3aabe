"""A worker of distributed training: one shard of the data, and all that is computed on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.corpus.columns import ColumnFormat, ColumnPart
from adaptag.corpus.data import corpus_of
from adaptag.corpus.labels import NO_LABEL
from adaptag.dataset.shards import count_shard, shard_dataset
from adaptag.errors import CorpusError
from adaptag.features.merging import split_counts
from adaptag.ray.inputs import SENTENCES, lines_before, read_block
from adaptag.ray.tasks import check_version
from adaptag.training.algorithms import algorithm
from adaptag.training.arrays import aligned_zeros
from adaptag.training.batch import Objective
from adaptag.training.checkpoint import checksum
from adaptag.training.initial_rate import find_rate, sample_size
from adaptag.training.mixing import ShardTraining, mix

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.data import Corpus
    from adaptag.dataset.encoded import Dataset, Examples
    from adaptag.dataset.shards import CountedShard, ShardSummary
    from adaptag.decoding.label_plan import LabelPlan
    from adaptag.features.index import FeatureIndex
    from adaptag.features.merging import CountRange
    from adaptag.features.settings import FeatureSettings
    from adaptag.features.template import Template
    from adaptag.ray.inputs import Block as FileBlock
    from adaptag.settings import Value
    from adaptag.training.mixing import Block
    from adaptag.training.orders import PassPart

    Floats = NDArray[np.float32]

__all__ = ["ShardData", "ShardInfo", "ShardWorker", "joined", "sum_blocks"]


@dataclass(frozen=True, eq=False)
class ShardData:
    """Where the sentences of a shard come from: parts of files, or Python data.

    Attributes:
        blocks: Parts of column files.
        sentences: Sentences of tokens, in place of files.
        labels: Their labels, if they are not inside.
        format: The format of the files.
        skip_bad: Whether parts of files that cannot be read are left out.
    """

    blocks: tuple[FileBlock, ...] = ()
    sentences: Any = None
    labels: Any = None
    format: ColumnFormat | None = None
    skip_bad: bool = False

    def read(self) -> tuple[Corpus, list[str]]:
        """Read the shard: its sentences, and why parts of it were left out."""
        if self.sentences:  # a shard may be empty, data as a whole may not
            corpus: Corpus = corpus_of(self.sentences, self.labels)
            return corpus, []
        texts, skipped, columns = [], [], 0
        for block in self.blocks:
            text = read_block(block, SENTENCES)
            try:
                found = self._columns(block, text)
                if columns and found not in (0, columns):
                    raise CorpusError(f"{block.name}: {found} columns; others have {columns}")
            except CorpusError as error:
                if not self.skip_bad:
                    raise
                skipped.append(str(error))
                continue
            columns = columns or found
            texts.append(text)
        name = self.blocks[0].name if self.blocks else "<no data>"
        return self._part(name, b"\n\n".join(texts), 1).parse(), skipped

    def _columns(self, block: FileBlock, text: bytes) -> int:
        """The number of columns of a part of a file; an error says where in the file it is."""
        try:
            corpus = self._part(block.name, text, 1).parse()
        except CorpusError:
            self._part(block.name, text, 1 + lines_before(block, SENTENCES)).parse()
            raise
        return corpus.n_columns if corpus.n_tokens else 0

    def _part(self, name: str, text: bytes, line: int) -> ColumnPart:
        return ColumnPart(name, text, self.format or ColumnFormat(), "", (line, 0, 0))


@dataclass(frozen=True)
class ShardInfo:
    """The size of a shard.

    Attributes:
        sentences: The number of sentences.
        trained: Those of them that have tokens.
        tokens: The number of tokens.
        checksum: A checksum of all that training sees.
    """

    sentences: int
    trained: int
    tokens: int
    checksum: int


class ShardWorker:
    """One shard, in a process of its own; the driver calls its methods one after the other."""

    def __init__(self, shard: int, data: ShardData, settings: FeatureSettings) -> None:
        self.shard, self.data, self.settings = shard, data, settings
        self.counted: CountedShard | None = None
        self.examples: Dataset | None = None
        self.training: ShardTraining | None = None
        self.objective: Objective | None = None

    def ping(self, version: str) -> None:
        """Show that the worker is there, and has the version of adaptag that the driver has."""
        check_version(version)

    # ---- the index ------------------------------------------------------------------------

    def count(self) -> tuple[ShardSummary, list[str]]:
        """Read the shard, and count its features; also why parts of it were left out."""
        corpus, skipped = self.data.read()
        summary, self.counted = count_shard(corpus, self.settings)
        return summary, skipped

    def ranges(
        self, numbers: NDArray[np.uint32], template: Template, n: int
    ) -> list[CountRange] | CountRange:
        """The counts of the shard in n ranges."""
        assert self.counted is not None
        ranges = split_counts(self.counted.counts, numbers, template, self.shard, n)
        return ranges if n > 1 else ranges[0]

    def encode(
        self,
        index: FeatureIndex,
        numbers: NDArray[np.uint32],
        plan: LabelPlan,
        in_feature_column: bool,
    ) -> ShardInfo:
        """Give features and labels the numbers of all data."""
        if self.counted is None:
            self.count()
        assert self.counted is not None
        dataset = shard_dataset(
            self.counted,
            index,
            numbers,
            plan.names,
            self.settings,
            labels_in_feature_column=in_feature_column,
        )
        self.counted = None
        self.examples = plan.examples(dataset)
        trained = int(np.count_nonzero(np.diff(dataset.encoded.sentences)))
        return ShardInfo(len(dataset), trained, dataset.n_tokens, checksum(self.examples))

    # ---- online algorithms ----------------------------------------------------------------

    def sample(self, total: int, seed: int) -> Examples:
        """This shard's share of a sample of all data."""
        assert self.examples is not None
        n = len(self.examples)
        size = -(-sample_size(total) * n // max(1, total))
        rng = np.random.default_rng([seed, self.shard])
        return self.examples.select(rng.permutation(n)[:size])

    def find_rate(
        self,
        name: str,
        parameters: Mapping[str, Value],
        seed: int,
        total: int,
        *samples: Examples,
    ) -> float:
        """Find the learning rate of an algorithm on a sample of all data."""
        sample = joined(samples)
        return find_rate(sample, algorithm(name), parameters, seed, n_sentences=total)

    def prepare(self, name: str, parameters: Mapping[str, Value], **how: Any) -> None:
        """Prepare the training with an online algorithm; see ``ShardTraining``."""
        assert self.examples is not None
        self.training = ShardTraining(
            self.examples, algorithm(name), parameters, shard=self.shard, **how
        )

    def run(self, number: int) -> PassPart:
        """Train for a round."""
        return self._training.run(number)

    def changes(self, blocks: Sequence[Block]) -> Any:
        """None, as soon as it is there, and what a round has changed, block by block."""
        return [None, *(self._training.change(block) for block in blocks)]

    def mix(self, row_sizes: Sequence[int], *changes: Mapping[str, Floats]) -> list[Any]:
        """None, and the mixed state of some blocks, from what all workers hand in for each."""
        n = len(changes) // max(1, len(row_sizes))
        return [
            None,
            *(mix(changes[b * n : (b + 1) * n], size) for b, size in enumerate(row_sizes)),
        ]

    def apply(self, blocks: Sequence[Block], *mixed: Mapping[str, Floats]) -> None:
        """Take over the mixed state."""
        for block, arrays in zip(blocks, mixed, strict=True):
            self._training.apply(block, arrays)

    def end_round(self, number: int) -> None:
        """Go on to the next round, unless that was done already."""
        if self._training.rounds == number:
            self._training.end_round()

    def rounds(self) -> int:
        """The number of finished rounds."""
        return self._training.rounds

    def weights(self, block: Block) -> Floats:
        """A block of the weights of a model."""
        return self._training.weights(block)

    def state(self, blocks: Sequence[Block]) -> Any:
        """The mixed state that the current round began with, block by block."""
        state = self._training.state
        parts = [{n: block.of(n, array) for n, array in state.items()} for block in blocks]
        return parts if len(parts) > 1 else parts[0]

    def set_state(self, rounds: int, blocks: Sequence[Block], *parts: Mapping[str, Floats]) -> None:
        """Start from a mixed state."""
        for block, arrays in zip(blocks, parts, strict=True):
            for name, array in arrays.items():
                block.of(name, self._training.state[name])[:] = array
        self._training.rounds = rounds

    @property
    def _training(self) -> ShardTraining:
        assert self.training is not None
        return self.training

    # ---- batch algorithms -----------------------------------------------------------------

    def gradient(self, weights: Floats, blocks: Sequence[Block]) -> Any:
        """Loss, expected correct labels, in percent, and known labels; the gradient in blocks."""
        assert self.examples is not None
        self.objective = self.objective or Objective(self.examples, 1)
        x, gradient = aligned_zeros(len(weights)), aligned_zeros(len(weights))
        x[:] = weights
        loss = self.objective.add(x, gradient)
        known = np.count_nonzero(self.examples.labels != NO_LABEL)
        figures = np.array([loss, self.objective.accuracy * known, known])
        return [figures, *(gradient[slice(*block.weights)] for block in blocks)]


def sum_blocks(*parts: Floats) -> Floats:
    """Add up a block of gradients, in the order of the shards, in a task."""
    total: Floats = np.add.reduce(parts)
    return total


def joined(samples: Sequence[Examples]) -> Examples:
    """The sentences of several examples with the same features and labels."""
    from dataclasses import replace

    from adaptag.features.index import Encoded

    def offsets(arrays: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        ends = np.cumsum([0, *(array[-1] for array in arrays)])
        moved = [array[1:] + begin for array, begin in zip(arrays, ends[:-1], strict=True)]
        return np.concatenate([np.zeros(1, np.int64), *moved])

    parts = [sample.encoded for sample in samples]
    values = None
    if any(part.values is not None for part in parts):
        ones = [np.ones(len(part.predicates), np.float32) for part in parts]
        values = np.concatenate(
            [
                one if part.values is None else part.values
                for part, one in zip(parts, ones, strict=True)
            ]
        )
    encoded = Encoded(
        offsets([part.sentences for part in parts]),
        offsets([part.positions for part in parts]),
        np.concatenate([part.predicates for part in parts]),
        values,
    )
    return replace(samples[0], encoded=encoded, labels=np.concatenate([s.labels for s in samples]))
