"""The decoder of a model: labels, probabilities and chunks of encoded sentences.

Where a model was trained with another label scheme, labels are made of its states here.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from types import NoneType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numpy as np

from adaptag._native import core
from adaptag.corpus.chunks import ChunkScheme, LabelScheme
from adaptag.corpus.columns import ColumnCorpus
from adaptag.corpus.offsets import items_of
from adaptag.corpus.schemes import LabelConversion
from adaptag.decoding.chain_core import ChainCore
from adaptag.decoding.constrained import ConstrainedDecoder
from adaptag.decoding.constraints import Constraints, constraints_of
from adaptag.decoding.options import DecodingOptions
from adaptag.decoding.output import SchemeOutput
from adaptag.decoding.plain import PlainDecoder
from adaptag.errors import CorpusError, ParameterError, counted, described
from adaptag.features.index import FeatureIndex
from adaptag.model.linear_chain import LinearChain
from adaptag.parallel import threads_for
from adaptag.settings import AUTO

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.data import Corpus
    from adaptag.features.index import Encoded

__all__ = ["ChainDecoder", "Segment", "checked_n", "raises_corpus_errors"]

MAX_DECODERS = 16  # that are kept
MAX_N = 1_000_000  # of n-best
DEFAULT = DecodingOptions()

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


def checked_n(n: int) -> int:
    """The number of best label sequences, or raise where it is none."""
    if not isinstance(n, Integral) or not 1 <= n <= MAX_N:
        raise ParameterError(f"n is {n!r}; allowed: whole numbers from 1 to {MAX_N}")
    return int(n)


@dataclass(frozen=True)
class Segment:
    """A chunk of a sentence: tokens ``first`` to ``last``, both included, and its probability."""

    first: int
    last: int
    type: str
    probability: float


@dataclass(frozen=True, eq=False, repr=False)
class ChainDecoder(LinearChain[FeatureIndex]):
    """A linear chain that finds the labels of whole corpora, by number."""

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
    def tag_corpus(self, corpus: Corpus, options: DecodingOptions = DEFAULT) -> NDArray[np.int32]:
        """Find the best label of every token, by number."""
        decoder = self.decoder_for(options)
        if isinstance(corpus, ColumnCorpus):
            return self._tag_columns(corpus, decoder, options.threads)
        n = threads_for(options.threads, tokens=corpus.n_tokens)
        return decoder.viterbi(self.index.encode(corpus, threads=options.threads), threads=n)

    def _tag_columns(
        self, corpus: ColumnCorpus, decoder: PlainDecoder | ConstrainedDecoder, threads: int | None
    ) -> NDArray[np.int32]:
        """Have the core read the columns itself, which is faster than to encode them."""
        self._check_columns(corpus)
        n = threads_for(threads, tokens=corpus.n_tokens)
        if isinstance(decoder, PlainDecoder):
            return self._viterbi_columns(corpus, decoder.transitions, n)

        def search(sentences: NDArray[np.int64]) -> NDArray[np.int32]:
            some = corpus if len(sentences) == len(corpus) else corpus.select(sentences)
            encoded = self.index.encode(some, threads=threads)
            return decoder.viterbi(encoded, None, n, _places(corpus, sentences))

        every = np.arange(len(corpus))
        if self.output is not None or decoder.rules.fixed:
            return search(every)
        try:
            ids = self._viterbi_columns(corpus, decoder.transitions, n)
        except core.NoPathError:  # which the following explains
            return search(every)
        broken = every[~decoder.is_satisfied(ids, corpus.sentences)]
        if len(broken):
            ids[items_of(corpus.sentences, broken)[0]] = search(broken)
        return ids

    def _viterbi_columns(
        self, corpus: ColumnCorpus, transitions: NDArray[np.uint8] | None, threads: int
    ) -> NDArray[np.int32]:
        return self._decoder.viterbi_columns(
            corpus.text, corpus.cells, corpus.sentences, transitions, threads
        )

    @raises_corpus_errors
    def tag_encoded(
        self, encoded: Encoded, options: DecodingOptions = DEFAULT
    ) -> NDArray[np.int32]:
        """Find the best label of every token of encoded data, by number."""
        return self.decoder_for(options).viterbi(encoded, threads=_threads(encoded, options))

    def marginals_corpus(
        self, corpus: Corpus, options: DecodingOptions = DEFAULT
    ) -> NDArray[np.float32]:
        """Return every label's probability at every token, ``[T, Y]``."""
        return self.marginals_encoded(self._encode_corpus(corpus, options), options)

    @raises_corpus_errors
    def marginals_encoded(
        self, encoded: Encoded, options: DecodingOptions = DEFAULT
    ) -> NDArray[np.float32]:
        """Return every label's probability at every token of encoded data, ``[T, Y]``."""
        return self.decoder_for(options).marginals(encoded, threads=_threads(encoded, options))

    def nbest_corpus(
        self, corpus: Corpus, n: int, options: DecodingOptions = DEFAULT
    ) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """For each sentence its ``n`` best paths ``[k, T]`` and their log-probabilities ``[k]``."""
        return self.nbest_encoded(self._encode_corpus(corpus, options), n, options)

    @raises_corpus_errors
    def nbest_encoded(
        self, encoded: Encoded, n: int, options: DecodingOptions = DEFAULT
    ) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """The ``n`` best paths of each sentence of encoded data."""
        decoder = self.decoder_for(options)
        return decoder.n_best(encoded, checked_n(n), threads=_threads(encoded, options))

    def segments_corpus(
        self, corpus: Corpus, options: DecodingOptions = DEFAULT
    ) -> list[list[Segment]]:
        """For each sentence the chunks of the best labels, each with its probability."""
        return self.segments_encoded(self._encode_corpus(corpus, options), options)

    @raises_corpus_errors
    def segments_encoded(
        self, encoded: Encoded, options: DecodingOptions = DEFAULT
    ) -> list[list[Segment]]:
        """For each sentence of encoded data the chunks of the best labels."""
        decoder = self.decoder_for(options)
        ids = decoder.viterbi(encoded)
        first, end, kind = self.scheme.spans(ids, encoded.sentences).T
        sentence = np.searchsorted(encoded.sentences, first, side="right") - 1
        begin = encoded.sentences[sentence]
        rows = np.stack([sentence, first - begin, end - 1 - begin, kind], axis=1)
        chances = decoder.segment_probabilities(encoded, rows)
        segments: list[list[Segment]] = [[] for _ in range(len(encoded.sentences) - 1)]
        for (n, a, b, k), p in zip(rows.tolist(), chances.tolist(), strict=True):
            segments[n].append(Segment(a, b, self.scheme.types[k], p))
        return segments

    @raises_corpus_errors
    def _encode_corpus(self, corpus: Corpus, options: DecodingOptions) -> Encoded:
        return self.index.encode(corpus, threads=options.threads)

    def decoder_for(self, options: DecodingOptions) -> PlainDecoder | ConstrainedDecoder:
        """The decoder of encoded sentences that does what is asked for."""
        if not isinstance(options.legal, str | NoneType):
            raise ParameterError(
                f"legal is {described(options.legal)}; allowed: the name of a label scheme, or None"
            )
        constraints = constraints_of(options.constraints)
        key = options.legal, constraints
        found = self._decoders.get(key)
        if found is None:
            if constraints is None:
                found = PlainDecoder(self._core, options.legal)
            else:
                found = ConstrainedDecoder(self._core, options.legal, constraints)
            if len(self._decoders) >= MAX_DECODERS:
                self._decoders.clear()
            self._decoders[key] = found
        return found

    @cached_property
    def _decoders(
        self,
    ) -> dict[tuple[str | None, Constraints | None], PlainDecoder | ConstrainedDecoder]:
        """Those that were used last."""
        return {}

    def best_states(
        self, encoded: Encoded, legal: str | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The best state of every token, and the likeliest one of each label, ``[T, Z]``."""
        plain = PlainDecoder(self._core, legal)
        data = self._core.data(encoded)
        states = self._decoder.viterbi(data, plain.transitions, None, written=False)
        if self.output is None:
            every = np.arange(len(self.labels), dtype=np.int32)
            return states, np.broadcast_to(every, (len(states), len(every)))
        parts, table = self.output.parts, plain.part_marginals(encoded)
        likeliest = [
            np.where(parts.output_of == label, table, -1).argmax(axis=1)
            for label in range(len(self.labels))
        ]
        return states, parts.label_of[np.stack(likeliest, axis=1)]

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
                f"the model was trained with "
                f"{counted(self.index.n_columns, 'feature column')} "
                " before the "
                "label, and the last of them held none"
            )

    @cached_property
    def scheme(self) -> ChunkScheme:
        """What the labels mean as chunks."""
        return ChunkScheme(self.labels)

    @cached_property
    def _core(self) -> ChainCore:
        return ChainCore(
            self.layout,
            self.weights,
            self.index,
            self.states,
            self.legal,
            self.temperature,
            self.scheme,
            self.label_scheme,
            self.output,
        )

    @cached_property
    def _decoder(self) -> core.Decoder:
        """Finds labels."""
        return self._core.label_decoder


def _threads(encoded: Encoded, options: DecodingOptions) -> int:
    return threads_for(options.threads, tokens=len(encoded.positions))


def _places(corpus: ColumnCorpus, sentences: NDArray[np.int64]) -> Callable[[int], str]:
    """Says where each of some sentences stands, for messages."""

    def place(i: int) -> str:
        number = int(sentences[i])
        if not len(corpus.lines):
            return f"sentence {number + 1}"
        return f"{corpus.name}:{corpus.lines[corpus.sentences[number]]}"

    return place
