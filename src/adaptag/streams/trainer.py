"""A model that learns from a stream."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.corpus.chunks import ChunkScheme, LabelScheme
from adaptag.corpus.data import corpus_of
from adaptag.corpus.label_windows import LabelWindows
from adaptag.corpus.labels import check_transitions, known_sentences
from adaptag.corpus.schemes import LabelConversion, TrainingLabels
from adaptag.corpus.settings import AS_IS
from adaptag.corpus.transitions import converted_transitions, scheme_transitions
from adaptag.dataset.encoded import Examples
from adaptag.decoding.label_plan import grown_transitions
from adaptag.decoding.model import Model
from adaptag.decoding.output import SchemeOutput
from adaptag.errors import ModelError, NotTrainedError, ParameterError
from adaptag.evaluation import Evaluation, evaluate_ids, metric_of
from adaptag.features.growing import GrowingIndex
from adaptag.features.index import FeatureIndex, check_columns, feature_columns, template_for
from adaptag.features.settings import FeatureSettings
from adaptag.model.remapping import remap_state, remap_weights
from adaptag.settings import AUTO
from adaptag.streams.settings import StreamSettings
from adaptag.training.algorithms import algorithm as find_algorithm
from adaptag.training.online import PASS_SIZE, Trainer, divergence
from adaptag.training.settings import LabelSettings
from adaptag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from adaptag.corpus.data import Corpus
    from adaptag.features.template import Template
    from adaptag.settings import Value
    from adaptag.storage.files import PathLike
    from adaptag.training.declarations import Algorithm

    Labels = Iterable[Iterable[str | None]]

__all__ = ["Progress", "StreamTrainer"]

PART = 500
RECENT = 20  # parts that the recent score is of
NOTHING = Evaluation(0, 0, None, {})


@dataclass(frozen=True)
class Progress:
    """The progress of a stream: every sentence was tagged right before it was learned.

    Attributes:
        sentences: The number of sentences learned so far.
        tokens: The number of tokens learned so far.
        features: The number of features so far.
        score: The score of all sentences so far.
        recent: The score of the last parts.
    """

    sentences: int = 0
    tokens: int = 0
    features: int = 0
    score: Evaluation = NOTHING
    recent: Evaluation = NOTHING


@dataclass(kw_only=True, repr=False)
class StreamTrainer(StreamSettings):
    """Learns from sentences as they come, each once, and keeps none of them.

    Labels and features are added when they first occur. A stream has no size, but regularisation
    and the schedules of learning rates depend on one: it is given by ``pass_size``. Several threads
    may use one trainer: they take turns.

    Args:
        start: What to begin with: a template, as ``adaptag.train`` takes it, or a model, whose
            training continues where it ended if the model has kept that, else with fresh learning
            rates.
        algorithm: An online algorithm; by default that of the model, or ``adf``.
        max_features: The maximum number of features, after which new ones are ignored. None means
            no limit.
        hash_bits: Number features by hashes of this many bits instead: no index, no names.
        pass_size: The number of sentences that count as a pass over the data.
        legal: A scheme whose impossible transitions are ruled out, such as ``iob2``, or ``auto``.
        scheme: The label scheme to train with, such as ``bioes``; ``as-is`` is that of the stream,
            or of the model to begin with. See [label schemes](guide/label-schemes.md).
        output_scheme: The label scheme of the model's labels; ``as-is`` is that of the stream, or
            of the model to begin with.
        parameters: Parameters of the algorithm, such as ``rate``; by default those of the model.

    Attributes:
        progress: The progress of the stream.

    Examples:
        >>> from adaptag import StreamTrainer
        >>> trainer = StreamTrainer("general")
        >>> stream = ((["2", "cups", "flour"], ["QTY", "UNIT", "NAME"]) for _ in range(100))
        >>> trainer.run(stream, part=10).sentences
        100
        >>> trainer.model().tag(["3", "cups", "flour"])
        ['QTY', 'UNIT', 'NAME']
    """

    start: str | PathLike | Template | Model | None = field(default=None, kw_only=False)
    algorithm: str | None = None
    hash_bits: int | None = None
    legal: str | None = None
    scheme: str = AS_IS
    output_scheme: str = AS_IS
    parameters: Mapping[str, Value] | None = None
    progress: Progress = field(default=Progress(), init=False)

    def __post_init__(self) -> None:
        self.check()
        self._origin = self.start if isinstance(self.start, Model) else None
        before = self._section("training")
        self._algorithm = _online(self.algorithm or str(before.get("algorithm", "adf")))
        self._continues = before.get("algorithm") == self._algorithm.name
        given = dict(before.get("parameters", {})) if self._continues else {}
        given |= self.parameters or {}
        self._parameters = self._algorithm.values_without_sample(given)
        if given.get("rate") == AUTO:
            raise ParameterError("rate is auto; allowed: a number, as a stream cannot be sampled")
        self._pass_size = self.pass_size or int(self._section("stream").get("pass_size", PASS_SIZE))
        self._features = FeatureSettings(
            template=None if self._origin else self.start, hash_bits=self.hash_bits
        ).check()
        self._labels: tuple[str, ...] = self._origin.labels if self._origin else ()
        self._states: tuple[str, ...] = self._origin.states if self._origin else ()
        self._training_scheme = self._checked_scheme()
        self._converts = self._origin is not None and self._origin.output is not None
        self._legal: NDArray[np.uint8] | None = None
        self._scheme = LabelScheme()
        self._index: GrowingIndex | None = None
        self._trainer: Trainer | None = None
        self._layout: core.Layout | None = None
        self._recent: list[Evaluation] = []
        self._lock = threading.RLock()
        if self._origin is not None:
            if self.hash_bits is not None and not self._origin.index.is_hashed:
                raise ParameterError("the model has its features already: they cannot be hashed")
            self._index = GrowingIndex(self._origin.index, self.max_features)

    def __repr__(self) -> str:
        done = self.progress
        sizes = f"{done.sentences:,} sentences, {len(self._labels)} labels, {done.features:,}"
        score = f", {done.score.metric} {done.score.score:.2f} before learning" * bool(done.tokens)
        return f"<StreamTrainer, {self._algorithm.name}: {sizes} features{score}>"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that there are by now."""
        return self._labels

    def run(
        self,
        stream: Iterable[tuple[Iterable[Any], Iterable[str | None]]],
        part: int = PART,
        on_progress: Callable[[Progress], bool | None] | None = None,
    ) -> Progress:
        """Learn from pairs of a sentence and its labels, to the end of the stream.

        Args:
            stream: Any iterable, also an endless one. A sentence is a list of tokens (strings or
                tuples of columns) or of feature dictionaries.
            part: The number of sentences that are taken from the stream at a time.
            on_progress: A function that is called with the progress after each part. Training stops
                if it returns true.
        """
        pairs = iter(stream)
        while chunk := list(itertools.islice(pairs, part)):
            sentences, labels = zip(*chunk, strict=True)
            self.learn(list(sentences), labels)
            if on_progress is not None and on_progress(self.progress):
                break
        return self.progress

    def learn(
        self,
        data: Any,
        labels: Labels | None = None,
        weights: NDArray[np.float32] | None = None,
    ) -> Evaluation:
        """Tag some sentences, then learn from them, one after the other.

        Args:
            data: Sentences in any form that ``adaptag.train`` takes.
            labels: The labels, None for one that is not known. By default they are those in the
                last column, or of the attributes.
            weights: The weights of the sentences.

        Returns:
            How well the sentences were tagged, each right before it was learned.
        """
        attributes = self._index is not None and self._index.template.attributes
        corpus = corpus_of(data, labels, tokens=False if attributes else None)
        with self._lock:
            return self._learn(corpus, weights)

    def _learn(self, corpus: Corpus, weights: NDArray[np.float32] | None) -> Evaluation:
        index = self._first_index(corpus) if self._index is None else self._index
        check_columns(corpus, index.template, index.n_columns, labelled=True)
        ids, names = corpus.number_labels(self._labels)
        if not names:
            raise ParameterError("the first sentences have no labels at all")
        windows = LabelWindows.of(names, ids, corpus.sentences)
        scheme = replace(self._scheme).count(windows)
        converted = self._converted_labels(windows, scheme)
        states, codes = windows.names, ids
        if converted is None:
            legal = self._transitions(states, scheme)
        else:
            states, legal = converted.names, converted.legal
            codes = converted.conversion.apply(ids, corpus.sentences)
        if legal is not None:
            check_transitions(legal, codes, corpus.sentences, states)
        encoded = index.encode(corpus)
        self._index, self._labels, self._scheme = index, tuple(names), scheme
        self._states, self._legal, self._converts = states, legal, converted is not None
        part = Examples(index, encoded, codes, states, weights=weights, legal=legal)
        self._make_trainer(part)
        assert self._trainer is not None
        *_, best = self._trainer.run_on(part)
        if converted is None:
            return self._count(part, ids, best, self._labels)
        own = scheme.name(self._labels) or converted.scheme  # that of the gold labels
        written = LabelConversion.of(states, own, self._labels, legal=legal)
        return self._count(part, ids, written.apply(best, corpus.sentences), written.outputs)

    def model(self) -> Model:
        """The model as it is now, with what is needed to continue from it later."""
        with self._lock:
            return self._model()

    def _model(self) -> Model:
        if self._trainer is None or self._index is None or self._layout is None:
            if self._origin is not None:
                return self._origin
            raise NotTrainedError("the stream has not begun: there is no model yet")
        index = self._index.snapshot()
        layout = core.Layout(len(self._states), *index.n_of_kind)
        weights = remap_weights(self._trainer.current_weights(), self._layout, layout)
        if not np.isfinite(weights).all():
            raise divergence(self._algorithm.name, self._parameters, "a weight is not finite")
        earlier = self._section("stream")  # then it is one stream, and one history
        sizes = {
            "sentences": self.progress.sentences + int(earlier.get("sentences", 0)),
            "tokens": self.progress.tokens + int(earlier.get("tokens", 0)),
        }
        training = {"algorithm": self._algorithm.name, "parameters": self._parameters}
        output = self._output()
        label_scheme = self._label_scheme(self._labels, self._scheme)
        configuration = {
            "labels": {
                "scheme": label_scheme if output is None else output.conversion.scheme,
                "training_scheme": None if output is None else output.scheme,
                "rewritten": output is not None and output.conversion.scheme != label_scheme,
                "metric": metric_of(AUTO, self._labels),
                "in_feature_column": True,  # what a stream may hold is not known
            },
            "training": training,
            "stream": {"pass_size": self._pass_size, **sizes},
        }
        provenance: dict[str, Any] = {
            "adaptag": __version__,
            **sizes,
            **training,
            "stream": {"pass_size": self._pass_size, "score": self.progress.score.score},
        }
        if self._origin is not None and not earlier:
            provenance["start"] = dict(self._origin.provenance)
        return Model(
            self._labels if output is None else output.labels,
            index,
            weights,
            provenance,
            configuration=configuration,
            states=self._states,
            legal=self._legal,
            state=remap_state(self._trainer.arrays(), self._layout, layout),
        )

    # ---- how --------------------------------------------------------------------------------

    def _section(self, name: str) -> Mapping[str, Any]:
        """A section of the configuration of the model to begin with."""
        section: Mapping[str, Any] = (
            self._origin.configuration.get(name, {}) if self._origin else {}
        )
        return section

    def _first_index(self, corpus: Corpus) -> GrowingIndex:
        template, columns = template_for(corpus, self._features), feature_columns(corpus)
        if self.hash_bits is None:
            return GrowingIndex(template, self.max_features, columns)
        hashed = FeatureIndex.hashed(template, self.hash_bits, columns)
        return GrowingIndex(hashed, self.max_features)

    def _label_scheme(self, labels: tuple[str, ...], scheme: LabelScheme) -> str | None:
        origin = self._origin.label_scheme if self._origin is not None else None
        return origin or scheme.name(labels)

    def _checked_scheme(self) -> str | None:
        """The scheme to train with; None where labels are not converted."""
        declared = LabelSettings.declared()
        declared["scheme"].check(self.scheme)
        declared["output_scheme"].check(self.output_scheme)
        if self.scheme == AUTO:
            raise ParameterError("scheme is auto; allowed: a name, as a stream cannot be sampled")
        origin = self._origin
        if origin is None or not origin.labels:
            if self.scheme == AS_IS and self.output_scheme != AS_IS:
                raise ParameterError("output_scheme needs a scheme to train with, such as bioes")
            return None if self.scheme == AS_IS else self.scheme
        if self.scheme not in (AS_IS, origin.training_scheme or origin.label_scheme):
            raise ParameterError(
                f"scheme is {self.scheme!r}, but the model was trained with the label scheme "
                f"{origin.training_scheme or origin.label_scheme!r}"
            )
        if self.output_scheme not in (AS_IS, origin.label_scheme):
            raise ParameterError(
                f"output_scheme is {self.output_scheme!r}, but the model gives labels of the "
                f"scheme {origin.label_scheme!r}"
            )
        return origin.training_scheme

    def _converted_labels(
        self, windows: LabelWindows, scheme: LabelScheme
    ) -> TrainingLabels | None:
        """The labels in the scheme to train with; None where they are not converted."""
        names = windows.names
        if self._training_scheme is None or not (self._converts or ChunkScheme(names).chunked):
            return None
        labels = TrainingLabels.of(windows, self._training_scheme, self._states)
        known = self._label_scheme(names, scheme) or self._training_scheme
        legal = converted_transitions(self.legal, labels, windows, [known, self._training_scheme])
        if self._origin is not None and self._origin.output is not None and self.legal is None:
            legal = grown_transitions(self._origin, labels)
        return replace(labels, legal=legal)

    def _output(self) -> SchemeOutput | None:
        """How labels are made of those that are trained; None where they are the same."""
        if not self._converts or self._training_scheme is None or self._legal is None:
            return None
        own = self._label_scheme(self._labels, self._scheme) or self._training_scheme
        scheme, known = own, self._labels
        if self._origin is not None and self._origin.output is not None:
            known = self._origin.labels
        elif self.output_scheme not in (AS_IS, own):
            scheme, known = self.output_scheme, ()
        return SchemeOutput.of(self._states, self._training_scheme, self._legal, scheme, known)

    def _transitions(
        self, labels: tuple[str, ...], scheme: LabelScheme
    ) -> NDArray[np.uint8] | None:
        if self.legal is not None:
            return scheme_transitions(self.legal, labels, self._label_scheme(labels, scheme))
        origin = self._origin
        if origin is None or origin.legal is None:
            return None
        if len(origin.labels) < len(labels):
            raise ModelError(
                f"the model rules out transitions, but says nothing of those of the new label "
                f"{labels[len(origin.labels)]!r}; give legal, such as {AUTO!r}"
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
        elif self._origin is not None:
            origin = self._origin
            if origin.state and self._continues:
                trainer.restore(remap_state(origin.state, origin.layout, layout))
            else:
                trainer.weights[:] = remap_weights(origin.weights, origin.layout, layout)
        self._trainer, self._layout = trainer, layout

    def _count(
        self,
        part: Examples,
        gold: NDArray[np.int32],
        best: NDArray[np.int32],
        names: tuple[str, ...],
    ) -> Evaluation:
        """Score the sentences whose labels are all known."""
        tokens, starts = known_sentences(gold, part.encoded.sentences)
        score = evaluate_ids(gold[tokens], best[tokens], starts, names)
        self._recent = [*self._recent, score][-RECENT:]
        assert self._index is not None
        self.progress = Progress(
            self.progress.sentences + len(part),
            self.progress.tokens + part.n_tokens,
            sum(self._index.used),
            self.progress.score + score,
            sum(self._recent, NOTHING),
        )
        return score


def _online(name: str) -> Algorithm:
    algorithm = find_algorithm(name)
    if not algorithm.streams:
        raise ParameterError(f"{name} needs all data at once; a stream needs an algorithm like adf")
    return algorithm


def _sizes(layout: core.Layout) -> tuple[int, int, int, int]:
    return layout.n_labels, layout.n_node, layout.n_both, layout.n_edge
