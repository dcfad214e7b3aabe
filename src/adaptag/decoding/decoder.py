"""The decoder of a model: labels, probabilities and chunks of encoded sentences.

Where a model was trained with another label scheme, labels are made of its states here.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from adaptag._native import core
from adaptag.corpus.chunks import ChunkScheme, LabelScheme
from adaptag.corpus.columns import ColumnCorpus
from adaptag.corpus.offsets import items_of
from adaptag.corpus.schemes import Expansion, LabelConversion
from adaptag.corpus.transitions import scheme_transitions
from adaptag.decoding.constrained import Chain, ConstrainedDecoder
from adaptag.decoding.constraints import Constraints, constraints_of
from adaptag.decoding.output import SchemeOutput
from adaptag.errors import AdaptagError, CorpusError, ParameterError, described, unknown
from adaptag.features.index import FeatureIndex
from adaptag.model.compact_index import CompactIndex
from adaptag.model.linear_chain import LinearChain
from adaptag.parallel import threads_for
from adaptag.settings import AUTO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.data import Corpus
    from adaptag.features.index import Encoded

    Declared = Constraints | Mapping[str, Any] | None

__all__ = ["ChainDecoder", "Segment", "raises_corpus_errors"]

MAX_CONSTRAINED = 16  # declarations of constraints whose decoders are kept

P = ParamSpec("P")
R = TypeVar("R")


def raises_corpus_errors(method: Callable[P, R]) -> Callable[P, R]:
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
class ChainDecoder(LinearChain[FeatureIndex]):
    """A linear chain that finds the labels of whole corpora, by number.

    ``legal`` is a label scheme, whose impossible sequences are ruled out, or None; ``constraints``
    are those of ``adaptag.Constraints``.
    """

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

    @raises_corpus_errors
    def tag_corpus(
        self,
        corpus: Corpus,
        legal: str | None = None,
        threads: int | None = None,
        constraints: Declared = None,
    ) -> NDArray[np.int32]:
        """Find the best label of every token, by number, on all cores or on some threads."""
        constrained = self.constrained(constraints, legal)
        encode = functools.partial(self.index.encode, threads=threads)
        n = threads_for(threads, tokens=corpus.n_tokens)
        if not isinstance(corpus, ColumnCorpus):
            if constrained is not None:
                return constrained.viterbi(encode(corpus), threads=n)
            return self.tag_encoded(encode(corpus), legal, threads)
        self._check_columns(corpus)
        if constrained is None:
            return self._viterbi_columns(corpus, self._legal(legal), n)
        every = np.arange(len(corpus))
        if self.output is not None or constrained.rules.fixed:
            return constrained.viterbi(encode(corpus), None, n, _places(corpus, every))
        try:
            ids = self._viterbi_columns(corpus, constrained.parts.legal, n)
        except core.NoPathError:  # which the following explains
            return constrained.viterbi(encode(corpus), None, n, _places(corpus, every))
        broken = every[~constrained.is_satisfied(ids, corpus.sentences)]
        if len(broken):
            tokens, _ = items_of(corpus.sentences, broken)
            some = encode(corpus.select(broken))
            ids[tokens] = constrained.viterbi(some, None, n, _places(corpus, broken))
        return ids

    def _viterbi_columns(
        self, corpus: ColumnCorpus, legal: NDArray[np.uint8] | None, threads: int
    ) -> NDArray[np.int32]:
        return self._decoder.viterbi_columns(
            corpus.text, corpus.cells, corpus.sentences, legal, threads
        )

    @raises_corpus_errors
    def tag_encoded(
        self, encoded: Encoded, legal: str | None = None, threads: int | None = None
    ) -> NDArray[np.int32]:
        """Find the best label of every token of encoded data, by number."""
        n = threads_for(threads, tokens=len(encoded.positions))
        return self._viterbi(self._data(encoded), legal, None, n)

    @raises_corpus_errors
    def marginals_corpus(
        self,
        corpus: Corpus,
        legal: str | None = None,
        threads: int | None = None,
        constraints: Declared = None,
    ) -> NDArray[np.float32]:
        """Return every label's probability at every token, ``[T, Y]``."""
        encoded = self.index.encode(corpus, threads=threads)
        constrained = self.constrained(constraints, legal)
        if constrained is not None:
            n = threads_for(threads, tokens=len(encoded.positions))
            return constrained.marginals(encoded, threads=n)
        return self.marginals_encoded(encoded, legal, threads)

    @raises_corpus_errors
    def marginals_encoded(
        self, encoded: Encoded, legal: str | None = None, threads: int | None = None
    ) -> NDArray[np.float32]:
        """Return every label's probability at every token of encoded data, ``[T, Y]``."""
        n = threads_for(threads, tokens=len(encoded.positions))
        return self._marginals(self._data(encoded), legal, None, n)

    @raises_corpus_errors
    def segments_corpus(
        self,
        corpus: Corpus,
        legal: str | None = None,
        threads: int | None = None,
        constraints: Declared = None,
    ) -> list[list[Segment]]:
        """For each sentence the chunks of the best labels, each with its probability."""
        return self._segments(self.index.encode(corpus, threads=threads), legal, constraints)

    @raises_corpus_errors
    def segments_encoded(self, encoded: Encoded, legal: str | None = None) -> list[list[Segment]]:
        """For each sentence of encoded data the chunks of the best labels."""
        return self._segments(encoded, legal)

    @raises_corpus_errors
    def best_log_probabilities(
        self, encoded: Encoded, legal: str | None = None, threads: int | None = None
    ) -> NDArray[np.float64]:
        """The logarithm of the probability of each sentence's best labels, ``[N]``."""
        n = threads_for(threads, tokens=len(encoded.positions))
        paths = self._n_best(self._data(encoded), 1, legal, None, n)
        return np.concatenate([log_p for _, log_p in paths])

    @raises_corpus_errors
    def nbest_corpus(
        self,
        corpus: Corpus,
        n: int,
        legal: str | None = None,
        threads: int | None = None,
        constraints: Declared = None,
    ) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """For each sentence its ``n`` best paths ``[k, T]`` and their log-probabilities ``[k]``."""
        encoded = self.index.encode(corpus, threads=threads)
        workers = threads_for(threads, tokens=len(encoded.positions))
        constrained = self.constrained(constraints, legal)
        if constrained is not None:
            return constrained.n_best(encoded, n, threads=workers)
        return self._n_best(self._data(encoded), n, legal, None, workers)

    def constrained(self, constraints: Declared, legal: str | None) -> ConstrainedDecoder | None:
        """The decoder under constraints; None where nothing is constrained."""
        declared = constraints_of(constraints)
        if declared is None:
            return None
        found = self._constrained_decoders.get((declared, legal))
        if found is None:
            table = self._legal(legal)
            if self.output is not None:
                parts = self.output.parts
            else:
                n = len(self.labels)
                every, ones = np.arange(n, dtype=np.int32), np.ones((n + 1, n + 1), np.uint8)
                parts = Expansion(every, every, ones if table is None else table)
            chain = Chain(parts, self.scheme, self._copy_decoder, self._data, len(self.states))
            found = ConstrainedDecoder(chain, declared)
            if len(self._constrained_decoders) >= MAX_CONSTRAINED:
                self._constrained_decoders.clear()
            self._constrained_decoders[declared, legal] = found
        return found

    @cached_property
    def _constrained_decoders(self) -> dict[tuple[Constraints, str | None], ConstrainedDecoder]:
        """Those that were used last."""
        return {}

    def _copy_decoder(self, state_of: NDArray[np.int32]) -> core.Decoder:
        """A decoder of copies of these states."""
        decoder = self._state_decoder()
        if not np.array_equal(state_of, np.arange(len(self.states))):
            decoder.split(state_of)
        return decoder

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
        sets = (list, tuple, set, frozenset, NoneType)
        if not isinstance(allowed, (list, tuple)) or not all(isinstance(s, sets) for s in allowed):
            raise ParameterError(
                f"allowed is {described(allowed)}; allowed: a list of one entry for each token, a "
                "list of labels or None"
            )
        if len(allowed) != n_tokens:
            raise ParameterError(f"allowed: {len(allowed)} entries for {n_tokens} tokens")
        numbers = {label: number for number, label in enumerate(self.labels)}
        mask = np.zeros((n_tokens, len(self.labels)), np.uint8)
        for t, labels in enumerate(allowed):
            for label in self.labels if labels is None else labels:
                if not isinstance(label, str) or label not in numbers:
                    raise ParameterError(f"allowed, token {t}: {unknown('label', label, numbers)}")
                mask[t, numbers[label]] = 1
        return mask

    def _segments(
        self, encoded: Encoded, legal: str | None, constraints: Declared = None
    ) -> list[list[Segment]]:
        data = self._data(encoded)
        constrained = self.constrained(constraints, legal)
        if constrained is None:
            ids = self._viterbi(data, legal, None)
        else:
            ids = constrained.viterbi(encoded)
        first, end, kind = self.scheme.spans(ids, encoded.sentences).T
        sentence = np.searchsorted(encoded.sentences, first, side="right") - 1
        begin = encoded.sentences[sentence]
        rows = np.stack([sentence, first - begin, end - 1 - begin, kind], axis=1)
        if constrained is None or not self.scheme.chunked:
            chances = self._segment_probabilities(data, rows, legal)
        else:
            chances = constrained.segment_probabilities(encoded, rows)
        segments: list[list[Segment]] = [[] for _ in range(len(encoded.sentences) - 1)]
        for (n, a, b, k), p in zip(rows.tolist(), chances.tolist(), strict=True):
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


def _places(corpus: ColumnCorpus, sentences: NDArray[np.int64]) -> Callable[[int], str]:
    """Says where each of some sentences stands, for messages."""

    def place(i: int) -> str:
        number = int(sentences[i])
        if not len(corpus.lines):
            return f"sentence {number + 1}"
        return f"{corpus.name}:{corpus.lines[corpus.sentences[number]]}"

    return place
