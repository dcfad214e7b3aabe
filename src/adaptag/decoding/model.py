"""A model that tags."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numpy as np

from adaptag._native import core
from adaptag.corpus.chunks import ChunkScheme
from adaptag.corpus.columns import ColumnCorpus
from adaptag.decoding.explanation import Explanation, explain
from adaptag.errors import AdaptagError, CorpusError, ParameterError, unknown
from adaptag.features.index import check_corpus
from adaptag.model.linear_chain import LinearChain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from adaptag.features.index import Corpus, Encoded

    Token = str | Sequence[str]

__all__ = ["Model", "Segment"]

P = ParamSpec("P")
R = TypeVar("R")
MAX_N = 1_000_000


def _refusals_are_errors(method: Callable[P, R]) -> Callable[P, R]:
    """Pass on what the core refuses, as bad input."""

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
class Model(LinearChain):
    """A trained linear-chain model.

    Sentences are lists of tokens; a token is a string or, where the template asks for more columns,
    a tuple of strings. Decoding releases the GIL, and one model can be shared by threads.

    ``legal`` names a scheme whose impossible label sequences are ruled out: ``bio`` (no I-X but
    after B-X or I-X) or ``bioes``. ``allowed`` restricts single tokens: for each token the labels
    it may have, or None for any.
    """

    @_refusals_are_errors
    def tag(self, sentence: Iterable[Token]) -> list[str]:
        """Find the best labels of one sentence."""
        self._check_template()
        return self._decoder.tag(sentence)

    @_refusals_are_errors
    def tag_all(self, sentences: Iterable[Iterable[Token]]) -> list[list[str]]:
        """Find the best labels of many sentences."""
        self._check_template()
        return self._decoder.tag_all(sentences)

    @_refusals_are_errors
    def decode(
        self,
        sentence: Iterable[Token],
        *,
        legal: str | None = None,
        allowed: Sequence[Iterable[str] | None] | None = None,
    ) -> list[str]:
        """Find the best labels of one sentence under constraints."""
        data, encoded = self._one(sentence)
        ids = self._decoder.viterbi(data, self._legal(legal), self._allowed(allowed, encoded))
        return [self.labels[y] for y in ids]

    @_refusals_are_errors
    def marginals(
        self,
        sentence: Iterable[Token],
        *,
        legal: str | None = None,
        allowed: Sequence[Iterable[str] | None] | None = None,
    ) -> list[dict[str, float]]:
        """Give every label's probability at every token."""
        data, encoded = self._one(sentence)
        table, _ = self._decoder.marginals(
            data, self._legal(legal), self._allowed(allowed, encoded)
        )
        return [dict(zip(self.labels, row, strict=True)) for row in table.tolist()]

    @_refusals_are_errors
    def probability(
        self, sentence: Iterable[Token], labels: Sequence[str], *, legal: str | None = None
    ) -> float:
        """Give the probability of a label sequence."""
        numbers = {label: number for number, label in enumerate(self.labels)}
        for label in labels:
            if label not in numbers:
                raise ParameterError(unknown("label", label, self.labels))
        encoded = self._encode([sentence])
        if len(labels) != len(encoded.positions) - 1:
            raise ParameterError(f"{len(labels)} labels for {len(encoded.positions) - 1} tokens")
        ids = np.array([numbers[label] for label in labels], np.int32)
        found = self._decoder.log_probabilities(self._data(encoded, ids), self._legal(legal))
        return float(np.exp(found[0]))

    @_refusals_are_errors
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
        paths, scores = self._decoder.n_best(
            data, n, self._legal(legal), self._allowed(allowed, encoded)
        )[0]
        return [
            ([self.labels[y] for y in path], float(p))
            for path, p in zip(paths, np.exp(scores), strict=True)
        ]

    @_refusals_are_errors
    def segments(self, sentence: Iterable[Token], *, legal: str | None = None) -> list[Segment]:
        """Find the chunks of the best labels, each with the probability of exactly this chunk."""
        return self._segments(self._encode([sentence]), legal)[0]

    @_refusals_are_errors
    def segment_probability(
        self,
        sentence: Iterable[Token],
        first: int,
        last: int,
        type: str = "",  # noqa: A002
    ) -> float:
        """Give the probability that a chunk covers exactly the tokens ``first`` to ``last``."""
        data, encoded = self._one(sentence)
        if type not in self.scheme.types:
            raise ParameterError(unknown("type", type, self.scheme.types))
        if not 0 <= first <= last < len(encoded.positions) - 1:
            raise ParameterError(
                f"tokens {first} to {last}; the sentence has 0 to {len(encoded.positions) - 2}"
            )
        span = np.array([[0, first, last, self.scheme.types.index(type)]], np.int64)
        return float(self._segment_probabilities(data, span, None)[0])

    @_refusals_are_errors
    def explain(self, sentence: Iterable[Token], *, legal: str | None = None) -> Explanation:
        """Say for each token what argued for its label, and what for the next best one."""
        self._check_template()
        tokens = [(token,) if isinstance(token, str) else tuple(token) for token in sentence]
        return explain(self, tokens, self._encode([tokens]), legal)

    # ---- whole corpora, by number -------------------------------------------------------------

    @_refusals_are_errors
    def tag_corpus(self, corpus: Corpus, legal: str | None = None) -> NDArray[np.int32]:
        """Find the best label of every token, by number."""
        if isinstance(corpus, ColumnCorpus):
            check_corpus(corpus, self.index.template)
            return self._decoder.viterbi_columns(
                corpus.text, corpus.cells, corpus.sentences, self._legal(legal)
            )
        return self.tag_encoded(self.index.encode(corpus), legal)

    @_refusals_are_errors
    def tag_encoded(self, encoded: Encoded, legal: str | None = None) -> NDArray[np.int32]:
        """Find the best label of every token of encoded data, by number."""
        return self._decoder.viterbi(self._data(encoded), self._legal(legal), None)

    @_refusals_are_errors
    def marginals_corpus(self, corpus: Corpus, legal: str | None = None) -> NDArray[np.float32]:
        """Give every label's probability at every token, ``[T, Y]``."""
        return self.marginals_encoded(self.index.encode(corpus), legal)

    @_refusals_are_errors
    def marginals_encoded(self, encoded: Encoded, legal: str | None = None) -> NDArray[np.float32]:
        """Give every label's probability at every token of encoded data, ``[T, Y]``."""
        table, _ = self._decoder.marginals(self._data(encoded), self._legal(legal), None)
        return table

    @_refusals_are_errors
    def segments_corpus(self, corpus: Corpus, legal: str | None = None) -> list[list[Segment]]:
        """For each sentence the chunks of the best labels, each with its probability."""
        return self._segments(self.index.encode(corpus), legal)

    @_refusals_are_errors
    def nbest_corpus(
        self, corpus: Corpus, n: int, legal: str | None = None
    ) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """For each sentence its ``n`` best paths ``[k, T]`` and their log-probabilities ``[k]``."""
        data = self._data(self.index.encode(corpus))
        return self._decoder.n_best(data, n, self._legal(legal), None)

    @cached_property
    def scheme(self) -> ChunkScheme:
        """What the labels mean as chunks."""
        return ChunkScheme(self.labels)

    @cached_property
    def _decoder(self) -> core.Decoder:
        return core.Decoder(
            self.layout, self.weights, self.index.native, list(self.labels), self.legal
        )

    def _check_template(self) -> None:
        if self.index.template.attributes:
            raise CorpusError("the model was trained on attributes; it cannot tag tokens")

    def _encode(self, sentences: Iterable[Iterable[Token]]) -> Encoded:
        return self.index.encode(ColumnCorpus.from_sentences(sentences))

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
        legal: NDArray[np.uint8] = self.scheme.legal(scheme).astype(np.uint8)
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
        ids = self._decoder.viterbi(data, self._legal(legal), None)
        first, end, kind = self.scheme.spans(ids, encoded.sentences).T
        sentence = np.searchsorted(encoded.sentences, first, side="right") - 1
        begin = encoded.sentences[sentence]
        rows = np.stack([sentence, first - begin, end - 1 - begin, kind], axis=1)
        found: list[list[Segment]] = [[] for _ in range(len(encoded.sentences) - 1)]
        for (n, a, b, k), p in zip(
            rows.tolist(), self._segment_probabilities(data, rows, legal).tolist(), strict=True
        ):
            found[n].append(Segment(a, b, self.scheme.types[k], p))
        return found

    def _segment_probabilities(
        self, data: core.Dataset, rows: NDArray[np.int64], legal: str | None
    ) -> NDArray[np.float64]:
        """Of chunks given as (sentence, first token, last token, type), ``[S, 4]``."""
        if not self.scheme.chunked:
            raise AdaptagError("the labels are no chunks (B-X, I-X, …): there are no segments")
        return self._decoder.segment_probabilities(
            data,
            np.ascontiguousarray(rows),
            self.scheme.type_of,
            self.scheme.starts.astype(np.uint8),
            self.scheme.ends.astype(np.uint8),
            self._legal(legal),
        )
