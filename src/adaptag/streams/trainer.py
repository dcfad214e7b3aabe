"""A model that learns from a stream."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.chunks import ChunkScheme
from adaptag.corpus.columns import ColumnCorpus
from adaptag.corpus.labels import check_transitions, known_sentences, number_sequences
from adaptag.dataset.encoded import Examples
from adaptag.decoding.model import Model
from adaptag.errors import ModelError, ParameterError
from adaptag.evaluation import Evaluation, evaluate_ids
from adaptag.features.growing import GrowingIndex
from adaptag.features.index import FeatureIndex, check_corpus
from adaptag.features.template import Template
from adaptag.model.remapping import remap_state, remap_weights
from adaptag.training.algorithms import algorithm as find_algorithm
from adaptag.training.online import PASS_SIZE, Trainer
from adaptag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.features.index import Corpus
    from adaptag.storage.files import PathLike
    from adaptag.training.declarations import Algorithm, Value

    Labels = Iterable[Iterable[str | None]]

__all__ = ["Progress", "StreamTrainer"]

PART = 500
GENERAL = "general"  # the template, unless given
RECENT = 20  # parts that the recent score is of
NOTHING = Evaluation(0, 0, None, {})


@dataclass(frozen=True)
class Progress:
    """Where a stream stands: every sentence was tagged right before it was learned.

    Attributes:
        sentences: learned so far.
        tokens: learned so far.
        features: that there are by now.
        score: of all sentences so far.
        recent: of the last parts.
    """

    sentences: int = 0
    tokens: int = 0
    features: int = 0
    score: Evaluation = NOTHING
    recent: Evaluation = NOTHING


@dataclass
class StreamTrainer:
    """Learns from sentences as they come, each once, and keeps none of them.

    Labels and features are added when they first occur. A stream has no size, but regularisation
    and the schedules of learning rates depend on one: it is told by ``pass_size``.

    Args:
        start: what to begin with: a template, as ``adaptag.train`` takes it, or a model, which is
            trained on where its training ended if it kept that, else with fresh learning rates.
        algorithm: an online one; that of the model, or ``adf``, unless given.
        max_features: features at most; those that are new then are left out. None: no limit.
        hash_bits: number features by hashes of so many bits instead: no index, no names.
        pass_size: sentences that count as a pass over the data.
        legal: a scheme whose impossible transitions are ruled out: ``bio`` or ``bioes``.
        parameters: the algorithm's own, such as ``rate``; those of the model unless given.

    Example:
        >>> from adaptag import StreamTrainer
        >>> trainer = StreamTrainer("general")
        >>> stream = ((["2", "cups", "flour"], ["QTY", "UNIT", "NAME"]) for _ in range(100))
        >>> for progress in trainer.run(stream, part=10):
        ...     pass
        >>> progress.sentences
        100
        >>> trainer.model().tag(["3", "cups", "flour"])
        ['QTY', 'UNIT', 'NAME']
    """

    start: str | PathLike | Template | Model | None = None
    algorithm: str | None = None
    max_features: int | None = None
    hash_bits: int | None = None
    pass_size: int | None = None
    legal: str | None = None
    parameters: Mapping[str, Value] | None = None
    progress: Progress = field(default=Progress(), init=False)

    def __post_init__(self) -> None:
        origin = self.start if isinstance(self.start, Model) else None
        before: Mapping[str, Any] = origin.provenance if origin is not None else {}
        self._algorithm = _online(self.algorithm or str(before.get("algorithm", "adf")))
        given = dict(before.get("parameters", {})) if self._goes_on(before) else {}
        given |= self.parameters or {}
        self._parameters = self._algorithm.values(given)
        if self._parameters.get("rate") == "auto":
            raise ParameterError("rate is auto; allowed: a number, as a stream cannot be sampled")
        stream = before.get("stream", {})
        self._pass_size = self.pass_size or int(stream.get("pass_size", PASS_SIZE))
        if self._pass_size < 1:
            raise ParameterError(f"pass_size is {self.pass_size}; allowed: 1 or more")
        self._labels: tuple[str, ...] = origin.labels if origin is not None else ()
        self._index: GrowingIndex | None = None
        self._trainer: Trainer | None = None
        self._layout: core.Layout | None = None
        self._recent: list[Evaluation] = []
        if origin is not None:
            if self.hash_bits is not None and not origin.index.is_hashed:
                raise ParameterError("the model has its features already: hash_bits has no place")
            self._index = GrowingIndex(origin.index, self.max_features)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that there are by now."""
        return self._labels

    def run(
        self, stream: Iterable[tuple[Iterable[Any], Iterable[str | None]]], part: int = PART
    ) -> Iterator[Progress]:
        """Learn from pairs of a sentence and its labels; tell the progress after each part.

        Args:
            stream: any iterable, also an endless one. A sentence is a list of tokens (strings or
                tuples of columns) or of feature dictionaries.
            part: sentences that are taken from the stream at a time.
        """
        pairs = iter(stream)
        while chunk := list(itertools.islice(pairs, part)):
            sentences, labels = zip(*chunk, strict=True)
            self.learn(sentences, labels)
            yield self.progress

    def learn(
        self,
        data: Corpus | Sequence[Iterable[Any]],
        labels: Labels | None = None,
        weights: NDArray[np.float32] | None = None,
    ) -> Evaluation:
        """Tag some sentences, then learn from them, one after the other.

        Args:
            data: a corpus, or sentences as Python data.
            labels: their labels, None for one that is not known; those in the last column, or of
                the attributes, unless given.
            weights: of the sentences.

        Returns:
            How well the sentences were tagged, each right before it was learned.
        """
        corpus = data if isinstance(data, (ColumnCorpus, AttributeCorpus)) else _corpus_of(data)
        index = self._first_index(corpus, labels) if self._index is None else self._index
        check_corpus(corpus, index.template, labelled=labels is None)
        if labels is None:
            ids, names = corpus.number_labels(self._labels)
        else:
            ids, names = number_sequences(labels, corpus.sentences, self._labels)
        if not names:
            raise ParameterError("the first sentences have no labels at all")
        legal = self._transitions(tuple(names))
        if legal is not None:
            check_transitions(legal, ids, corpus.sentences, names)
        encoded = index.encode(corpus)
        self._index, self._labels = index, tuple(names)
        part = Examples(index, encoded, ids, self._labels, weights=weights, legal=legal)
        self._make_trainer(part)
        assert self._trainer is not None
        *_, best = self._trainer.run_on(part)
        return self._count(part, best)

    def model(self) -> Model:
        """The model as it is now, with what is needed to go on from it later."""
        if self._trainer is None or self._index is None or self._layout is None:
            if isinstance(self.start, Model):
                return self.start
            raise ModelError("the stream has not begun: there is no model yet")
        index = self._index.snapshot()
        layout = core.Layout(len(self._labels), *index.n_of_kind)
        before = self.start.provenance if isinstance(self.start, Model) else {}
        went_on = "stream" in before  # then it is one stream, and one history
        provenance = {
            "adaptag": __version__,
            "algorithm": self._algorithm.name,
            "parameters": self._parameters,
            "sentences": self.progress.sentences + (int(before["sentences"]) if went_on else 0),
            "tokens": self.progress.tokens + (int(before["tokens"]) if went_on else 0),
            "stream": {"pass_size": self._pass_size, "score": self.progress.score.score},
        }
        if before:
            provenance["start"] = before.get("start") if went_on else dict(before)
        return Model(
            self._labels,
            index,
            remap_weights(self._trainer.current_weights(), self._layout, layout),
            provenance,
            legal=self._transitions(self._labels),
            state=remap_state(self._trainer.arrays(), self._layout, layout),
        )

    # ---- how --------------------------------------------------------------------------------

    def _goes_on(self, before: Mapping[str, Any]) -> bool:
        """Whether the algorithm is that of the model to begin with."""
        return bool(before.get("algorithm") == self._algorithm.name)

    def _first_index(self, corpus: Corpus, labels: Labels | None) -> GrowingIndex:
        assert not isinstance(self.start, Model)
        if isinstance(corpus, AttributeCorpus):
            template = Template.for_attributes() if self.start is None else self.start
            if not isinstance(template, Template) or not template.attributes:
                raise ParameterError("attributes are features already: a template has no place")
        else:
            columns = corpus.n_columns - (labels is None)
            template = Template.load(GENERAL if self.start is None else self.start, columns)
            template.check_columns(columns, corpus.name)
        if self.hash_bits is None:
            return GrowingIndex(template, self.max_features)
        return GrowingIndex(FeatureIndex.hashed(template, self.hash_bits), self.max_features)

    def _transitions(self, labels: tuple[str, ...]) -> NDArray[np.uint8] | None:
        if self.legal is not None:
            return ChunkScheme(labels).legal(self.legal).astype(np.uint8)
        origin = self.start if isinstance(self.start, Model) else None
        if origin is None or origin.legal is None:
            return None
        if len(origin.labels) < len(labels):
            raise ModelError(
                f"the model rules out transitions, but says nothing of those of the new label "
                f"{labels[len(origin.labels)]!r}; name a scheme: legal"
            )
        return origin.legal

    def _make_trainer(self, part: Examples) -> None:
        """Allocate the state, or move it to where it lies now that there is more."""
        layout, before = part.layout, self._layout
        if before is not None and _sizes(before) == _sizes(layout):
            return
        trainer = Trainer(part, self._algorithm, self._parameters, pass_size=self._pass_size)
        if self._trainer is not None and before is not None:
            trainer.restore(remap_state(self._trainer.arrays(), before, layout))
        elif isinstance(self.start, Model):
            origin = self.start
            if origin.state and self._goes_on(origin.provenance):
                trainer.restore(remap_state(origin.state, origin.layout, layout))
            else:
                trainer.weights[:] = remap_weights(origin.weights, origin.layout, layout)
        self._trainer, self._layout = trainer, layout

    def _count(self, part: Examples, best: NDArray[np.int32]) -> Evaluation:
        """Score the sentences whose labels are all known."""
        tokens, starts = known_sentences(part.labels, part.encoded.sentences)
        found = evaluate_ids(part.labels[tokens], best[tokens], starts, part.label_names)
        self._recent = [*self._recent, found][-RECENT:]
        assert self._index is not None
        self.progress = Progress(
            self.progress.sentences + len(part),
            self.progress.tokens + part.n_tokens,
            sum(self._index.used),
            self.progress.score + found,
            sum(self._recent, NOTHING),
        )
        return found


def _corpus_of(sentences: Sequence[Iterable[Any]]) -> Corpus:
    """Take sentences of tokens (strings, or tuples of columns), or of features; the first tells."""
    first = next((token for sentence in sentences for token in sentence), "")
    if isinstance(first, (str, tuple)):
        return ColumnCorpus.from_sentences(sentences)
    return AttributeCorpus.from_items(sentences)


def _online(name: str) -> Algorithm:
    found = find_algorithm(name)
    if not found.streams:
        raise ParameterError(f"{name} needs all data at once; a stream needs an algorithm like adf")
    return found


def _sizes(layout: core.Layout) -> tuple[int, int, int, int]:
    return layout.n_labels, layout.n_node, layout.n_both, layout.n_edge
