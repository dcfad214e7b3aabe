"""A model that tags."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar

import numpy as np

from adaptag._native import core
from adaptag.corpus.chunks import ChunkScheme, LabelScheme
from adaptag.corpus.columns import ColumnCorpus
from adaptag.corpus.data import as_list, corpus_of
from adaptag.corpus.labels import known_sentences
from adaptag.corpus.schemes import LabelConversion
from adaptag.corpus.settings import SCHEMES
from adaptag.corpus.transitions import scheme_transitions
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.calibration import best_temperature, measure_calibration
from adaptag.decoding.explanation import Explanation, explain
from adaptag.decoding.output import SchemeOutput
from adaptag.errors import AdaptagError, CorpusError, ParameterError, unknown
from adaptag.evaluation import METRICS, Evaluation, evaluate_ids, metric_of, sentence_counts
from adaptag.evaluation.calibration import BINS
from adaptag.features.index import FeatureIndex
from adaptag.model.compact import choose_threshold, compact_index
from adaptag.model.compact_index import CompactIndex
from adaptag.model.linear_chain import NO_WEIGHTS, LinearChain
from adaptag.parallel import threads_for
from adaptag.settings import AUTO

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.data import Corpus
    from adaptag.dataset.encoded import Examples
    from adaptag.evaluation.calibration import Calibration
    from adaptag.features.index import Encoded

    Token = str | Sequence[str]

__all__ = ["Model", "Segment", "TagScorer"]

P = ParamSpec("P")
R = TypeVar("R")
MAX_N = 1_000_000


def _raises_corpus_errors(method: Callable[P, R]) -> Callable[P, R]:
    """Turn the errors of the core into those of bad input."""

    @functools.wraps(method)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except (core.InputError, core.NoPathError) as error:
            raise CorpusError(str(error)) from None

    return wrapped


@dataclass(frozen=True)
class Segment:
    """A chunk of a sentence: tokens ``first`` to ``last``, both included, and its probability."""

    first: int
    last: int
    type: str
    probability: float


@dataclass(frozen=True, eq=False, repr=False)
class Model(LinearChain[FeatureIndex]):
    """A trained linear-chain model.

    A sentence is a list of tokens; a token is a string or, where the model was trained with several
    columns, a tuple of strings. For a model of attributes it is a dictionary of features. Decoding
    releases the GIL, and one model can be shared by threads.

    In all methods, ``legal`` rules out impossible label sequences: ``auto`` those that the label
    scheme of the labels does not have; or the scheme by its name, ``iob1``, ``iob2``, ``ioe2`` or
    ``bioes``. A model that was trained with another scheme than that of its labels, see
    ``training_scheme``, gives no others anyway. ``allowed`` restricts single tokens: for each token
    the labels it may have, or None for any.
    """

    kind: ClassVar[str] = "model"

    @_raises_corpus_errors
    def tag(
        self,
        sentence: Iterable[Token],
        *,
        legal: str | None = None,
        allowed: Sequence[Iterable[str] | None] | None = None,
    ) -> list[str]:
        """Find the best labels of one sentence."""
        if legal is None and allowed is None and not self.index.template.attributes:
            self._check_first(sentence)
            return self._decoder.tag(sentence)
        data, encoded = self._one(sentence)
        ids = self._viterbi(data, legal, self._allowed(allowed, encoded))
        return [self.labels[y] for y in ids]

    @_raises_corpus_errors
    def tag_all(
        self,
        sentences: Iterable[Iterable[Token]],
        *,
        legal: str | None = None,
        threads: int | None = None,
    ) -> list[list[str]]:
        """Find the best labels of many sentences, on all cores unless ``threads`` is given."""
        listed = as_list(sentences, "sentences", "a list of sentences, each a list of tokens")
        if legal is None and not self.index.template.attributes:
            for sentence in listed:  # all tokens must have as many columns as the first one
                if isinstance(sentence, (list, tuple)) and sentence:
                    self._check_first(sentence)
                    break
            return self._decoder.tag_all(listed, threads_for(threads, sentences=len(listed)))
        corpus = self._corpus(listed)
        names = [self.labels[y] for y in self.tag_corpus(corpus, legal, threads).tolist()]
        return [names[a:b] for a, b in itertools.pairwise(corpus.sentences.tolist())]

    def evaluate(
        self,
        data: Any,
        labels: Iterable[Sequence[str | None]] | None = None,
        *,
        legal: str | None = None,
        format: Any = None,  # noqa: A002
        metric: str | None = None,
    ) -> Evaluation:
        """Tag labelled data, and score it.

        Args:
            data: Labelled data in any form that ``adaptag.train`` takes.
            labels: The labels of Python data, one list per sentence.
            legal: As in the other methods.
            format: As in ``adaptag.train``.
            metric: ``F1`` or ``accuracy``; by default that of the model.
        """
        dataset = self.encode(data, labels, format=format)
        return TagScorer(dataset, metric or self.metric, legal).evaluate(self)

    def calibration(
        self,
        data: Any,
        labels: Iterable[Sequence[str | None]] | None = None,
        *,
        legal: str | None = None,
        format: Any = None,  # noqa: A002
        bins: int = BINS,
    ) -> Calibration:
        """Measure on labelled data how well the probabilities can be trusted.

        Args:
            data: As for ``evaluate``.
            labels: As for ``evaluate``.
            legal: As in the other methods.
            format: As in ``adaptag.train``.
            bins: The number of bins, all of the same width.
        """
        dataset = self.encode(data, labels, format=format)
        return measure_calibration(self, dataset, legal=legal, bins=bins)

    def calibrated(
        self,
        data: Any,
        labels: Iterable[Sequence[str | None]] | None = None,
        *,
        format: Any = None,  # noqa: A002
    ) -> Model:
        """Make a model whose probabilities are calibrated; the labels that it gives are the same.

        All scores are divided by a temperature, the one that makes the labels of the data most
        likely. The data should not be that of training, on which the model is too sure.

        Args:
            data: Labelled data, as for ``evaluate``.
            labels: As for ``evaluate``.
            format: As in ``adaptag.train``.
        """
        dataset = self.encode(data, labels, format=format)
        return self.with_temperature(best_temperature(self, dataset))

    def encode(
        self,
        data: Any,
        labels: Iterable[Sequence[str | None]] | None = None,
        *,
        format: Any = None,  # noqa: A002
    ) -> Dataset:
        """Encode labelled data with the features of the model; what is encoded stays as it is."""
        if isinstance(data, Dataset):
            return data
        corpus = self.read(data, labels, format=format)
        return Dataset.encode(corpus, self.index, self.labels)

    def read(
        self,
        data: Any,
        labels: Iterable[Sequence[str | None]] | None = None,
        *,
        format: Any = None,  # noqa: A002
    ) -> Corpus:
        """Read labelled data, to score on it several times; the arguments are those above."""
        attributes = self.index.template.attributes
        form = "attributes" if attributes else format
        corpus: Corpus = corpus_of(data, labels, format=form, tokens=not attributes)
        return corpus

    def compact(
        self,
        *,
        within: float | None = None,
        dev: Any = None,
        prune: float | None = None,
        weights: str = "int8",
        names: bool = True,
    ) -> Model:
        """Make a small model that tags alike: pruned, and with weights of one byte.

        It has the same methods, and a file of its own, but cannot be trained further.

        Args:
            within: How much of the score may be lost on ``dev``, in percentage points: the highest
                threshold that loses no more is used.
            dev: Labelled data to score on, in any form that ``evaluate`` takes.
            prune: The threshold instead: weights of the rarest features are kept from this size
                on, those of more frequent ones from a smaller size; 0 keeps all but zeros.
            weights: How weights are stored: ``int8``, ``float16`` or ``float32``.
            names: Whether the names of features are kept, for ``explain`` and ``inspect``.
        """
        data, gold = dev if isinstance(dev, tuple) and len(dev) == 2 else (dev, None)
        corpus = None if data is None else self.read(data, gold)

        def build(threshold: float, named: bool) -> Model:
            index = compact_index(self, prune=threshold, weights=weights, names=named)
            provenance = {**self.provenance, "compact": {"prune": threshold, "weights": weights}}
            return replace(self, index=index, weights=NO_WEIGHTS, provenance=provenance, state={})

        def score(threshold: float | None) -> float:
            return (self if threshold is None else build(threshold, False)).evaluate(corpus).score

        return build(choose_threshold(None if corpus is None else score, within, prune), names)

    def _check(self) -> None:
        super()._check()
        section = self.configuration.get("labels")
        if section is not None and (
            section["scheme"] not in (None, *SCHEMES)
            or section["metric"] not in METRICS
            or not isinstance(section["in_feature_column"], bool)
            or not isinstance(section["rewritten"], bool)
            or section["training_scheme"] not in (None, *SCHEMES)
        ):
            raise ValueError(f"the labels are configured as {section!r}")
        if self.output is None and self.states != self.labels:
            raise ValueError("the labels are not those that were trained")
        if self.output is not None:
            legal = ChunkScheme(self.states).legal(self.output.scheme)
            if self.output.labels != self.labels or (self.output.legal > legal).any():
                raise ValueError("the labels do not fit those that were trained")
            if not len(self.output.parts.label_of):
                raise ValueError("no sequence of labels is possible")

    @property
    def metric(self) -> str:
        """What the model is scored by: ``F1`` of chunks or ``accuracy`` of tokens."""
        return str(self.configuration.get("labels", {}).get("metric", AUTO))

    @property
    def label_scheme(self) -> str | None:
        """The scheme of the labels, such as ``iob2``; None if they mark no chunks."""
        section = self.configuration.get("labels")
        return LabelScheme().name(self.labels) if section is None else section["scheme"]

    @property
    def training_scheme(self) -> str | None:
        """The scheme that the model was trained with; None if it is that of the labels."""
        scheme: str | None = self.configuration.get("labels", {}).get("training_scheme")
        return scheme

    @property
    def rewrites_labels(self) -> bool:
        """Whether the scheme of the labels is another one than that of the training data."""
        return self.output is not None and bool(self.configuration["labels"]["rewritten"])

    def rewrite(
        self, names: Sequence[str], ids: NDArray[np.int32], offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """Write labels of any scheme in that of the model: numbers and names."""
        conversion = LabelConversion.of(names, self.label_scheme or "", self.labels)
        return conversion.apply(ids, offsets), conversion.outputs

    @cached_property
    def output(self) -> SchemeOutput | None:
        """How labels are made of the states; None where they are the same."""
        if self.training_scheme is None:
            return None
        if self.legal is None or self.label_scheme is None:
            raise ValueError("a label scheme without its rules")
        return SchemeOutput.of(
            self.states, self.training_scheme, self.legal, self.label_scheme, self.labels
        )

    @_raises_corpus_errors
    def marginals(
        self,
        sentence: Iterable[Token],
        *,
        legal: str | None = None,
        allowed: Sequence[Iterable[str] | None] | None = None,
    ) -> list[dict[str, float]]:
        """Return every label's probability at every token."""
        data, encoded = self._one(sentence)
        table = self._marginals(data, legal, self._allowed(allowed, encoded))
        return [dict(zip(self.labels, row, strict=True)) for row in table.tolist()]

    @_raises_corpus_errors
    def probability(
        self, sentence: Iterable[Token], labels: Sequence[str], *, legal: str | None = None
    ) -> float:
        """Return the probability of a label sequence."""
        numbers = {label: number for number, label in enumerate(self.labels)}
        for label in labels:
            if label not in numbers:
                raise ParameterError(unknown("label", label, self.labels))
        encoded = self._encode([sentence])
        if len(labels) != len(encoded.positions) - 1:
            raise ParameterError(f"{len(labels)} labels for {len(encoded.positions) - 1} tokens")
        ids = np.array([numbers[label] for label in labels], np.int32)
        if self.output is not None:
            states = self.output.states_of(ids)
            if states is None:
                self._legal(legal)
                return 0.0
            ids = states
        log_probabilities = self._decoder.log_probabilities(
            self._data(encoded, ids), self._legal(legal)
        )
        return float(np.exp(log_probabilities[0]))

    @_raises_corpus_errors
    def nbest(
        self,
        sentence: Iterable[Token],
        n: int,
        *,
        legal: str | None = None,
        allowed: Sequence[Iterable[str] | None] | None = None,
    ) -> list[tuple[list[str], float]]:
        """Find the ``n`` most probable label sequences, exactly, with their probabilities."""
        if not 1 <= n <= MAX_N:
            raise ParameterError(f"n is {n}; allowed: 1 to {MAX_N}")
        data, encoded = self._one(sentence)
        paths, scores = self._n_best(data, n, legal, self._allowed(allowed, encoded))[0]
        return [
            ([self.labels[y] for y in path], float(p))
            for path, p in zip(paths, np.exp(scores), strict=True)
        ]

    @_raises_corpus_errors
    def segments(self, sentence: Iterable[Token], *, legal: str | None = None) -> list[Segment]:
        """Find the chunks of the best labels, each with the probability of exactly this chunk."""
        return self._segments(self._encode([sentence]), legal)[0]

    @_raises_corpus_errors
    def segment_probability(
        self,
        sentence: Iterable[Token],
        first: int,
        last: int,
        type: str = "",  # noqa: A002
    ) -> float:
        """Return the probability that a chunk covers exactly the tokens ``first`` to ``last``."""
        data, encoded = self._one(sentence)
        if type not in self.scheme.types:
            raise ParameterError(unknown("type", type, self.scheme.types))
        if not 0 <= first <= last < len(encoded.positions) - 1:
            raise ParameterError(
                f"tokens {first} to {last}; the sentence has 0 to {len(encoded.positions) - 2}"
            )
        span = np.array([[0, first, last, self.scheme.types.index(type)]], np.int64)
        return float(self._segment_probabilities(data, span, None)[0])

    @_raises_corpus_errors
    def explain(self, sentence: Iterable[Token], *, legal: str | None = None) -> Explanation:
        """Explain the label of each token: what favours it, and what favours the next best one."""
        if self.index.template.attributes:
            raise CorpusError("the model was trained on attributes; it cannot explain tokens")
        tokens = [(token,) if isinstance(token, str) else tuple(token) for token in sentence]
        return explain(self, tokens, self._encode([tokens]), legal)

    # ---- whole corpora, by number -------------------------------------------------------------

    @_raises_corpus_errors
    def tag_corpus(
        self, corpus: Corpus, legal: str | None = None, threads: int | None = None
    ) -> NDArray[np.int32]:
        """Find the best label of every token, by number, on all cores or on some threads."""
        if isinstance(corpus, ColumnCorpus):
            self._check_columns(corpus)
            return self._decoder.viterbi_columns(
                corpus.text,
                corpus.cells,
                corpus.sentences,
                self._legal(legal),
                threads_for(threads, tokens=corpus.n_tokens),
            )
        return self.tag_encoded(self.index.encode(corpus, threads=threads), legal, threads)

    @_raises_corpus_errors
    def tag_encoded(
        self, encoded: Encoded, legal: str | None = None, threads: int | None = None
    ) -> NDArray[np.int32]:
        """Find the best label of every token of encoded data, by number."""
        n = threads_for(threads, tokens=len(encoded.positions))
        return self._viterbi(self._data(encoded), legal, None, n)

    @_raises_corpus_errors
    def marginals_corpus(
        self, corpus: Corpus, legal: str | None = None, threads: int | None = None
    ) -> NDArray[np.float32]:
        """Return every label's probability at every token, ``[T, Y]``."""
        return self.marginals_encoded(self.index.encode(corpus, threads=threads), legal, threads)

    @_raises_corpus_errors
    def marginals_encoded(
        self, encoded: Encoded, legal: str | None = None, threads: int | None = None
    ) -> NDArray[np.float32]:
        """Return every label's probability at every token of encoded data, ``[T, Y]``."""
        n = threads_for(threads, tokens=len(encoded.positions))
        return self._marginals(self._data(encoded), legal, None, n)

    @_raises_corpus_errors
    def segments_corpus(self, corpus: Corpus, legal: str | None = None) -> list[list[Segment]]:
        """For each sentence the chunks of the best labels, each with its probability."""
        return self._segments(self.index.encode(corpus), legal)

    @_raises_corpus_errors
    def segments_encoded(self, encoded: Encoded, legal: str | None = None) -> list[list[Segment]]:
        """For each sentence of encoded data the chunks of the best labels."""
        return self._segments(encoded, legal)

    @_raises_corpus_errors
    def best_log_probabilities(
        self, encoded: Encoded, legal: str | None = None, threads: int | None = None
    ) -> NDArray[np.float64]:
        """The logarithm of the probability of each sentence's best labels, ``[N]``."""
        n = threads_for(threads, tokens=len(encoded.positions))
        paths = self._n_best(self._data(encoded), 1, legal, None, n)
        return np.concatenate([log_p for _, log_p in paths])

    @_raises_corpus_errors
    def nbest_corpus(
        self, corpus: Corpus, n: int, legal: str | None = None, threads: int | None = None
    ) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """For each sentence its ``n`` best paths ``[k, T]`` and their log-probabilities ``[k]``."""
        encoded = self.index.encode(corpus, threads=threads)
        workers = threads_for(threads, tokens=len(encoded.positions))
        return self._n_best(self._data(encoded), n, legal, None, workers)

    @cached_property
    def scheme(self) -> ChunkScheme:
        """What the labels mean as chunks."""
        return ChunkScheme(self.labels)

    @cached_property
    def _decoder(self) -> core.Decoder:
        """Finds labels."""
        decoder = self._state_decoder()
        return decoder if self.output is None else self.output.prepare(decoder)

    @cached_property
    def _part_decoder(self) -> core.Decoder:
        """Finds states, or the parts of them that are written as one label each."""
        decoder = self._state_decoder()
        return decoder if self.output is None else self.output.split(decoder)

    def _state_decoder(self) -> core.Decoder:
        names = list(self.states)
        if isinstance(self.index, CompactIndex):
            return core.Decoder(self.layout, self.index.native, names, self.legal, self.temperature)
        return core.Decoder(
            self.layout,
            self.weights,
            self.index.native,
            names,
            self.legal,
            self.temperature,
        )

    def _viterbi(
        self,
        data: core.Dataset,
        legal: str | None,
        allowed: NDArray[np.uint8] | None,
        threads: int = 1,
    ) -> NDArray[np.int32]:
        """The best label of every token; ``allowed`` is ``[T, Z]``."""
        if self.output is None or allowed is None:
            return self._decoder.viterbi(data, self._legal(legal), allowed, threads)
        parts = self.output.parts
        self._legal(legal)
        mask = np.ascontiguousarray(allowed[:, parts.output_of])
        return parts.output_of[self._part_decoder.viterbi(data, parts.legal, mask, threads)]

    def _marginals(
        self,
        data: core.Dataset,
        legal: str | None,
        allowed: NDArray[np.uint8] | None,
        threads: int = 1,
    ) -> NDArray[np.float32]:
        """Every label's probability at every token, ``[T, Z]``."""
        table = self._part_marginals(data, legal, allowed, threads)
        return table if self.output is None else self.output.sum(table)

    def _part_marginals(
        self,
        data: core.Dataset,
        legal: str | None,
        allowed: NDArray[np.uint8] | None,
        threads: int = 1,
    ) -> NDArray[np.float32]:
        """The probability of every part of a label, or of every label, at every token."""
        transitions = self._legal(legal)
        if self.output is None:
            return self._decoder.marginals(data, transitions, allowed, threads)[0]
        parts = self.output.parts
        mask = None if allowed is None else np.ascontiguousarray(allowed[:, parts.output_of])
        return self._part_decoder.marginals(data, parts.legal, mask, threads)[0]

    def best_states(
        self, encoded: Encoded, legal: str | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The best state of every token, and the likeliest one of each label, ``[T, Z]``."""
        data = self._data(encoded)
        states = self._decoder.viterbi(data, self._legal(legal), None, written=False)
        if self.output is None:
            every = np.arange(len(self.labels), dtype=np.int32)
            return states, np.broadcast_to(every, (len(states), len(every)))
        parts, table = self.output.parts, self._part_marginals(data, legal, None)
        likeliest = [
            np.where(parts.output_of == label, table, -1).argmax(axis=1)
            for label in range(len(self.labels))
        ]
        return states, parts.label_of[np.stack(likeliest, axis=1)]

    def _n_best(
        self,
        data: core.Dataset,
        n: int,
        legal: str | None,
        allowed: NDArray[np.uint8] | None,
        threads: int = 1,
    ) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """The ``n`` best labellings of each sentence, ``[k, T]``, and their log-probabilities."""
        if self.output is None or allowed is None:
            return self._decoder.n_best(data, n, self._legal(legal), allowed, threads)
        parts = self.output.parts
        self._legal(legal)
        mask = np.ascontiguousarray(allowed[:, parts.output_of])
        found = self._part_decoder.n_best(data, n, parts.legal, mask, threads)
        return [(parts.output_of[paths], scores) for paths, scores in found]

    def _check_columns(self, corpus: ColumnCorpus) -> None:
        """Raise where the columns are not those of the training data.

        As many columns as the features have, the last of them with nothing but labels in it, are
        mostly one feature too few and the label.
        """
        self.index.check(corpus)
        section = self.configuration.get("labels", {})
        if corpus.n_columns != self.index.n_columns or section.get("in_feature_column", True):
            return
        if corpus.last_column_holds_labels(self.labels, labelled=False):
            line = f":{corpus.lines[0]}" if len(corpus.lines) else ""
            raise CorpusError(
                f"{corpus.name}{line}: the last of {corpus.n_columns} columns holds only labels; "
                f"the model was trained with {self.index.n_columns} feature columns before the "
                "label, and the last of them held none"
            )

    def _check_first(self, sentence: Iterable[Token]) -> None:
        """Raise where the first token has other columns than those of the training data."""
        if isinstance(sentence, (list, tuple)) and sentence:
            first = sentence[0]
            n = len(first) if isinstance(first, (tuple, list)) else 1
            if n not in self._token_columns:
                raise CorpusError(
                    f"a token has {n} column{'s' * (n != 1)}; the model was trained with "
                    f"{self.index.n_columns}"
                )

    @cached_property
    def _token_columns(self) -> Container[int]:
        """The numbers of columns that a token may have: with or without a label, or those used."""
        columns = self.index.n_columns
        if columns is None:  # of an index that was not built from columns
            return range(self.index.template.n_columns, 1 << 31)
        return frozenset((columns, columns + 1, self.index.template.n_columns))

    def _corpus(self, sentences: Iterable[Iterable[Token]]) -> Corpus:
        tokens = not self.index.template.attributes
        corpus: Corpus = corpus_of(sentences, labelled=False, tokens=tokens)
        return corpus

    def _encode(self, sentences: Iterable[Iterable[Token]]) -> Encoded:
        return self.index.encode(self._corpus(sentences))

    def _one(self, sentence: Iterable[Token]) -> tuple[core.Dataset, Encoded]:
        encoded = self._encode([sentence])
        return self._data(encoded), encoded

    def _data(self, encoded: Encoded, labels: NDArray[np.int32] | None = None) -> core.Dataset:
        return core.Dataset(
            self.layout,
            encoded.sentences,
            encoded.positions,
            encoded.predicates,
            encoded.values,
            labels,
        )

    def _legal(self, scheme: str | None) -> NDArray[np.uint8] | None:
        if scheme is None:
            return self.legal
        legal = scheme_transitions(scheme, self.labels, self.label_scheme)
        if self.output is not None:
            return self.legal  # which allows what the scheme does
        return legal if self.legal is None else legal & self.legal

    def _allowed(
        self, allowed: Sequence[Iterable[str] | None] | None, encoded: Encoded
    ) -> NDArray[np.uint8] | None:
        if allowed is None:
            return None
        n_tokens = len(encoded.positions) - 1
        if len(allowed) != n_tokens:
            raise ParameterError(f"allowed: {len(allowed)} entries for {n_tokens} tokens")
        numbers = {label: number for number, label in enumerate(self.labels)}
        mask = np.zeros((n_tokens, len(self.labels)), np.uint8)
        for t, labels in enumerate(allowed):
            for label in self.labels if labels is None else labels:
                if label not in numbers:
                    raise ParameterError(f"allowed, token {t}: {unknown('label', label, numbers)}")
                mask[t, numbers[label]] = 1
        return mask

    def _segments(self, encoded: Encoded, legal: str | None) -> list[list[Segment]]:
        data = self._data(encoded)
        ids = self._viterbi(data, legal, None)
        first, end, kind = self.scheme.spans(ids, encoded.sentences).T
        sentence = np.searchsorted(encoded.sentences, first, side="right") - 1
        begin = encoded.sentences[sentence]
        rows = np.stack([sentence, first - begin, end - 1 - begin, kind], axis=1)
        segments: list[list[Segment]] = [[] for _ in range(len(encoded.sentences) - 1)]
        for (n, a, b, k), p in zip(
            rows.tolist(), self._segment_probabilities(data, rows, legal).tolist(), strict=True
        ):
            segments[n].append(Segment(a, b, self.scheme.types[k], p))
        return segments

    def _segment_probabilities(
        self, data: core.Dataset, rows: NDArray[np.int64], legal: str | None
    ) -> NDArray[np.float64]:
        """Of chunks given as (sentence, first token, last token, type), ``[S, 4]``."""
        if not self.scheme.chunked:
            raise AdaptagError(
                "the labels do not mark chunks (B-X, I-X, …), so there are no segments"
            )
        scheme = self.scheme
        if self.output is not None:
            scheme = ChunkScheme(self.states, chunked=True)
            types = np.array([scheme.types.index(name) for name in self.scheme.types], np.int64)
            rows = np.column_stack([rows[:, :3], types[rows[:, 3]]])
        return self._decoder.segment_probabilities(
            data,
            np.ascontiguousarray(rows),
            scheme.type_of,
            scheme.starts.astype(np.uint8),
            scheme.ends.astype(np.uint8),
            self._legal(legal),
        )


class TagScorer:
    """Scores models on labelled data; sentences with labels that are not known do not count.

    Attributes:
        metric: What the score is: ``F1`` of chunks or ``accuracy`` of tokens.
    """

    def __init__(self, data: Examples, metric: str = AUTO, legal: str | None = None) -> None:
        self.data = data
        self.legal = legal
        self.metric = metric_of(metric, data.label_names)
        self._tokens, self._starts = known_sentences(data.labels, data.encoded.sentences)
        if not len(self._tokens):
            raise CorpusError("the data to score on has no sentence whose labels are all known")

    def evaluate(self, model: Model) -> Evaluation:
        """Tag the data, and compare with its labels."""
        return evaluate_ids(*self._labels(model), metric=self.metric)

    def calibrated(self, model: Model) -> Model:
        """The model with the temperature that fits the data."""
        return model.calibrated(self.data)

    def counts(self, model: Model) -> NDArray[np.int64]:
        """Count the correct, predicted and gold items of each sentence, ``[N, 3]``."""
        return sentence_counts(*self._labels(model), metric=self.metric)

    def _labels(
        self, model: Model
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], tuple[str, ...]]:
        """Gold and predicted labels of the sentences that count, their offsets, and the names."""
        predicted = model.tag_encoded(self.data.encoded, self.legal)[self._tokens]
        gold, names = self.data.labels[self._tokens], self.data.label_names
        if model.rewrites_labels:
            gold, names = model.rewrite(names, gold, self._starts)
        if names[: len(model.labels)] != model.labels:
            names = tuple(dict.fromkeys([*names, *model.labels]))
            numbers = {name: number for number, name in enumerate(names)}
            predicted = np.array([numbers[name] for name in model.labels], np.int32)[predicted]
        return gold, predicted, self._starts, names

    def __call__(self, model: Model) -> float:
        """The score in percent."""
        return self.evaluate(model).score
