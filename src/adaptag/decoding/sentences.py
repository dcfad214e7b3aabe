"""Labels, probabilities and chunks of single sentences."""

from __future__ import annotations

import contextlib
import itertools
from functools import cached_property
from types import NoneType
from typing import TYPE_CHECKING

import numpy as np

from adaptag._native import core
from adaptag.corpus.data import corpus_of
from adaptag.corpus.lists import as_list, is_iterable
from adaptag.decoding.decoder import ChainDecoder, Segment, checked_n, raises_corpus_errors
from adaptag.decoding.options import DecodingOptions
from adaptag.errors import CorpusError, ParameterError, counted, described, unknown
from adaptag.parallel import threads_for

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.data import Corpus
    from adaptag.decoding.options import Declared
    from adaptag.features.index import Encoded

    Token = str | Sequence[str]
    Allowed = Sequence[Iterable[str] | None] | None

__all__ = ["SentenceDecoder"]

LISTS = frozenset((list, tuple))


class SentenceDecoder(ChainDecoder):
    """A linear chain that finds the labels of sentences, by name."""

    @raises_corpus_errors
    def tag(
        self,
        sentence: Iterable[Token],
        *,
        legal: str | None = None,
        allowed: Allowed = None,
        constraints: Declared = None,
    ) -> list[str]:
        """Find the best labels of one sentence."""
        of_tokens = allowed is None and not self.index.template.attributes
        if of_tokens and legal is None and constraints is None:
            self._check_first(sentence)
            return self._decoder.tag(sentence)
        decoder = self.decoder_for(DecodingOptions(legal, constraints))
        if of_tokens and isinstance(sentence, list) and decoder.token_decoder is not None:
            self._check_first(sentence)
            with contextlib.suppress(core.NoPathError):  # which the following explains
                return decoder.token_decoder.tag(sentence)
        encoded = self._one(sentence)
        ids = decoder.viterbi(encoded, self._allowed(allowed, encoded))
        return [self.labels[y] for y in ids]

    @raises_corpus_errors
    def tag_all(
        self,
        sentences: Iterable[Iterable[Token]],
        *,
        legal: str | None = None,
        threads: int | None = None,
        constraints: Declared = None,
    ) -> list[list[str]]:
        """Find the best labels of many sentences, on all cores unless ``threads`` is given."""
        listed = as_list(sentences, "sentences", "a list of sentences, each a list of tokens")
        plain = legal is None and constraints is None
        if plain and not self.index.template.attributes:
            if not LISTS.issuperset(map(type, listed)):
                for number, sentence in enumerate(listed, 1):
                    _check_iterable(sentence, number)
            for sentence in listed:  # all tokens must have as many columns as the first one
                if isinstance(sentence, (list, tuple)) and sentence:
                    self._check_first(sentence)
                    break
            return self._decoder.tag_all(listed, threads_for(threads, sentences=len(listed)))
        corpus = self._corpus(listed)
        ids = self.tag_corpus(corpus, DecodingOptions(legal, constraints, threads))
        names = [self.labels[y] for y in ids.tolist()]
        return [names[a:b] for a, b in itertools.pairwise(corpus.sentences.tolist())]

    @raises_corpus_errors
    def marginals(
        self,
        sentence: Iterable[Token],
        *,
        legal: str | None = None,
        allowed: Allowed = None,
        constraints: Declared = None,
    ) -> list[dict[str, float]]:
        """Return every label's probability at every token."""
        decoder = self.decoder_for(DecodingOptions(legal, constraints))
        encoded = self._one(sentence)
        table = decoder.marginals(encoded, self._allowed(allowed, encoded))
        return [dict(zip(self.labels, row, strict=True)) for row in table.tolist()]

    @raises_corpus_errors
    def probability(
        self, sentence: Iterable[Token], labels: Sequence[str], *, legal: str | None = None
    ) -> float:
        """Return the probability of a label sequence."""
        numbers = {label: number for number, label in enumerate(self.labels)}
        labels = as_list(labels, "labels")
        for label in labels:
            if not isinstance(label, str) or label not in numbers:
                raise ParameterError(unknown("label", label, self.labels))
        encoded = self._one(sentence)
        if len(labels) != len(encoded.positions) - 1:
            raise ParameterError(
                f"{counted(len(labels), 'label')} for "
                f"{counted(len(encoded.positions) - 1, 'token')}"
            )
        ids = np.array([numbers[label] for label in labels], np.int32)
        transitions = self._core.transitions(legal)
        if self.output is not None:
            states = self.output.states_of(ids)
            if states is None:
                return 0.0
            ids = states
        data = self._core.data(encoded, ids)
        log_probabilities = self._decoder.log_probabilities(data, transitions)
        return float(np.exp(log_probabilities[0]))

    @raises_corpus_errors
    def nbest(
        self,
        sentence: Iterable[Token],
        n: int,
        *,
        legal: str | None = None,
        allowed: Allowed = None,
        constraints: Declared = None,
    ) -> list[tuple[list[str], float]]:
        """Find the ``n`` most probable label sequences, exactly, with their probabilities."""
        n = checked_n(n)
        decoder = self.decoder_for(DecodingOptions(legal, constraints))
        encoded = self._one(sentence)
        paths, scores = decoder.n_best(encoded, n, self._allowed(allowed, encoded))[0]
        return [
            ([self.labels[y] for y in path], float(p))
            for path, p in zip(paths, np.exp(scores), strict=True)
        ]

    @raises_corpus_errors
    def segments(
        self,
        sentence: Iterable[Token],
        *,
        legal: str | None = None,
        constraints: Declared = None,
    ) -> list[Segment]:
        """Find the chunks of the best labels, each with the probability of exactly this chunk."""
        return self.segments_encoded(self._one(sentence), DecodingOptions(legal, constraints))[0]

    @raises_corpus_errors
    def segment_probability(
        self,
        sentence: Iterable[Token],
        first: int,
        last: int,
        type: str = "",  # noqa: A002
    ) -> float:
        """Return the probability that a chunk covers exactly the tokens ``first`` to ``last``."""
        encoded = self._one(sentence)
        if type not in self.scheme.types:
            raise ParameterError(unknown("type", type, self.scheme.types))
        if not 0 <= first <= last < len(encoded.positions) - 1:
            raise ParameterError(
                f"tokens {first} to {last}; the sentence has 0 to {len(encoded.positions) - 2}"
            )
        span = np.array([[0, first, last, self.scheme.types.index(type)]], np.int64)
        return float(self.decoder_for(DecodingOptions()).segment_probabilities(encoded, span)[0])

    def _check_first(self, sentence: Iterable[Token]) -> None:
        """Raise where the first token has other columns than those of the training data."""
        if isinstance(sentence, (list, tuple)) and sentence:
            first = sentence[0]
            n = len(first) if isinstance(first, (tuple, list)) else 1
            if n not in self._token_columns:
                raise CorpusError(
                    f"a token has {counted(n, 'column')}; the model was trained with "
                    f"{self.index.n_columns}"
                )
        else:
            _check_iterable(sentence, 1)

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

    def _one(self, sentence: Iterable[Token]) -> Encoded:
        return self.index.encode(self._corpus([sentence]))

    def _allowed(self, allowed: Allowed, encoded: Encoded) -> NDArray[np.uint8] | None:
        """The labels that tokens may have, ``[T, Z]``."""
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
            raise ParameterError(
                f"allowed: {counted(len(allowed), 'entry', 'entries')} for "
                f"{counted(n_tokens, 'token')}"
            )
        numbers = {label: number for number, label in enumerate(self.labels)}
        mask = np.zeros((n_tokens, len(self.labels)), np.uint8)
        for t, labels in enumerate(allowed):
            for label in self.labels if labels is None else labels:
                if not isinstance(label, str) or label not in numbers:
                    raise ParameterError(f"allowed, token {t}: {unknown('label', label, numbers)}")
                mask[t, numbers[label]] = 1
        return mask


def _check_iterable(sentence: object, number: int) -> None:
    if not is_iterable(sentence):
        raise CorpusError(f"sentence {number} is {described(sentence)}; allowed: a list of tokens")
