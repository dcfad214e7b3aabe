"""A model that tags."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adaptag.corpus.chunks import ChunkScheme
from adaptag.corpus.data import as_list, corpus_of
from adaptag.corpus.settings import SCHEMES
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.calibration import best_temperature, measure_calibration
from adaptag.decoding.decoder import ChainDecoder, Segment, raises_corpus_errors
from adaptag.decoding.explanation import Explanation, explain
from adaptag.decoding.scorer import TagScorer
from adaptag.errors import CorpusError, ParameterError, unknown
from adaptag.evaluation import METRICS, Evaluation
from adaptag.evaluation.calibration import BINS
from adaptag.foreign.files import read_foreign
from adaptag.model.compact import choose_threshold, compact_index
from adaptag.model.linear_chain import NO_WEIGHTS
from adaptag.parallel import threads_for
from adaptag.storage.tensors import check_path

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from typing_extensions import Self

    from adaptag._native import core
    from adaptag.corpus.data import Corpus
    from adaptag.corpus.spans import TaggedText
    from adaptag.decoding.decoder import Declared
    from adaptag.evaluation.calibration import Calibration
    from adaptag.features.index import Encoded
    from adaptag.storage.files import PathLike

    Token = str | Sequence[str]

__all__ = ["Model"]

MAX_N = 1_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Model(ChainDecoder):
    """A trained linear-chain model.

    A sentence is a list of tokens; a token is a string or, where the model was trained with several
    columns, a tuple of strings. For a model of attributes it is a dictionary of features. Decoding
    releases the GIL, and one model can be shared by threads.

    In all methods, ``legal`` rules out impossible label sequences: ``auto`` those that the label
    scheme of the labels does not have; or the scheme by its name, ``iob1``, ``iob2``, ``ioe2`` or
    ``bioes``. A model that was trained with another scheme than that of its labels, see
    ``training_scheme``, gives no others anyway. ``allowed`` restricts single tokens: for each token
    the labels it may have, or None for any. ``constraints`` are ``adaptag.Constraints``, or a
    dictionary of them, that the labels of each sentence satisfy.
    """

    kind: ClassVar[str] = "model"

    @classmethod
    def load(cls, path: PathLike, *, verify: bool = False, copy: bool = False) -> Self:
        """Load a model: of adaptag, or of a program whose files are read.

        Args:
            path: The file. Its first bytes say what it is; see ``adaptag.foreign``.
            verify: Whether to check the checksum of the arrays even in a file larger than 64 MiB.
            copy: Whether to read even a file larger than 256 MiB into memory instead of mapping
                it, so that it may be overwritten while it is in use.
        """
        check_path(path)
        chain = read_foreign(path)
        if chain is None:
            return super().load(path, verify=verify, copy=copy)
        parts = chain.labels, chain.index, chain.weights, chain.provenance
        return cls(*parts, configuration=chain.configuration)

    @raises_corpus_errors
    def tag(
        self,
        sentence: Iterable[Token],
        *,
        legal: str | None = None,
        allowed: Sequence[Iterable[str] | None] | None = None,
        constraints: Declared = None,
    ) -> list[str]:
        """Find the best labels of one sentence."""
        constrained = self.constrained(constraints, legal)
        plain = legal is None and allowed is None and constrained is None
        if plain and not self.index.template.attributes:
            self._check_first(sentence)
            return self._decoder.tag(sentence)
        data, encoded = self._one(sentence)
        mask = self._allowed(allowed, encoded)
        if constrained is not None:
            ids = constrained.viterbi(encoded, mask)
        else:
            ids = self._viterbi(data, legal, mask)
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
        plain = legal is None and not constraints
        if plain and not self.index.template.attributes:
            for sentence in listed:  # all tokens must have as many columns as the first one
                if isinstance(sentence, (list, tuple)) and sentence:
                    self._check_first(sentence)
                    break
            return self._decoder.tag_all(listed, threads_for(threads, sentences=len(listed)))
        corpus = self._corpus(listed)
        ids = self.tag_corpus(corpus, legal, threads, constraints)
        names = [self.labels[y] for y in ids.tolist()]
        return [names[a:b] for a, b in itertools.pairwise(corpus.sentences.tolist())]

    def tag_text(
        self,
        text: str,
        *,
        tokenizer: Any = None,
        legal: str | None = None,
        constraints: Declared = None,
    ) -> TaggedText:
        """Tag a raw text: its labelled spans, with their places and probabilities.

        Each line is a sentence. Where the labels mark chunks, a span is a chunk; else each token
        whose label is not ``O`` is one.

        Args:
            text: The text.
            tokenizer: What cuts the text into tokens: ``unicode``, ``whitespace``, ``characters``,
                a ``Segmenter``, or a function that gives the start and end of each token of a
                line; by default that of the model.
            legal: As in the other methods.
            constraints: As in the other methods.
        """
        return self.tag_texts(
            [text], tokenizer=tokenizer, legal=legal, threads=1, constraints=constraints
        )[0]

    def tag_texts(
        self,
        texts: Iterable[str],
        *,
        tokenizer: Any = None,
        legal: str | None = None,
        threads: int | None = None,
        probabilities: bool = True,
        constraints: Declared = None,
    ) -> list[TaggedText]:
        """Tag many raw texts, on all cores unless ``threads`` is given; see ``tag_text``.

        Args:
            texts: The texts.
            tokenizer: As for ``tag_text``.
            legal: As in the other methods.
            threads: The number of threads.
            probabilities: Whether spans get their probabilities; it is faster without them.
            constraints: As in the other methods.
        """
        from adaptag.decoding.texts import tag_texts

        listed = as_list(texts, "texts", "a list of strings")
        return tag_texts(
            self,
            listed,
            tokenizer,
            legal,
            threads=threads,
            probabilities=probabilities,
            constraints=constraints,
        )

    def evaluate(
        self,
        data: Any,
        labels: Iterable[Sequence[str | None]] | None = None,
        *,
        legal: str | None = None,
        format: Any = None,  # noqa: A002
        metric: str | None = None,
        tokenizer: Any = None,
    ) -> Evaluation:
        """Tag labelled data, and score it.

        Args:
            data: Labelled data in any form that ``adaptag.train`` takes.
            labels: The labels of Python data, one list per sentence.
            legal: As in the other methods.
            format: As in ``adaptag.train``.
            metric: ``F1`` or ``accuracy``; by default that of the model.
            tokenizer: What cuts labelled texts into tokens; by default as in training.
        """
        dataset = self.encode(data, labels, format=format, tokenizer=tokenizer)
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
        tokenizer: Any = None,
    ) -> Dataset:
        """Encode labelled data with the features of the model; what is encoded stays as it is."""
        if isinstance(data, Dataset):
            return data
        corpus = self.read(data, labels, format=format, tokenizer=tokenizer)
        return Dataset.encode(corpus, self.index, self.labels)

    def read(
        self,
        data: Any,
        labels: Iterable[Sequence[str | None]] | None = None,
        *,
        format: Any = None,  # noqa: A002
        tokenizer: Any = None,
    ) -> Corpus:
        """Read labelled data, to score on it several times; the arguments are those above."""
        attributes = self.index.template.attributes
        form = "attributes" if attributes else format
        corpus: Corpus = corpus_of(
            data,
            labels,
            format=form,
            tokens=not attributes,
            tokenizer=tokenizer or self.tokenizer,
        )
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

    @property
    def tokenizer(self) -> str:
        """The name of the tokenizer that the model was trained with, and that cuts raw text."""
        from adaptag.corpus.tokenizers import DEFAULT

        return self.configured_tokenizer or DEFAULT

    @property
    def configured_tokenizer(self) -> str | None:
        """The tokenizer that was chosen at training; None where none was."""
        name: str | None = self.configuration.get("text", {}).get("tokenizer")
        return name

    def _check(self) -> None:
        super()._check()
        if "text" in self.configuration:
            from adaptag.corpus.tokenizers import STORED_NAMES

            if self.configured_tokenizer not in STORED_NAMES:
                raise ValueError(f"the text is configured as {self.configuration['text']!r}")
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

    @raises_corpus_errors
    def marginals(
        self,
        sentence: Iterable[Token],
        *,
        legal: str | None = None,
        allowed: Sequence[Iterable[str] | None] | None = None,
        constraints: Declared = None,
    ) -> list[dict[str, float]]:
        """Return every label's probability at every token."""
        data, encoded = self._one(sentence)
        mask, constrained = self._allowed(allowed, encoded), self.constrained(constraints, legal)
        if constrained is not None:
            table = constrained.marginals(encoded, mask)
        else:
            table = self._marginals(data, legal, mask)
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

    @raises_corpus_errors
    def nbest(
        self,
        sentence: Iterable[Token],
        n: int,
        *,
        legal: str | None = None,
        allowed: Sequence[Iterable[str] | None] | None = None,
        constraints: Declared = None,
    ) -> list[tuple[list[str], float]]:
        """Find the ``n`` most probable label sequences, exactly, with their probabilities."""
        if not isinstance(n, Integral) or not 1 <= n <= MAX_N:
            raise ParameterError(f"n is {n!r}; allowed: whole numbers from 1 to {MAX_N}")
        n = int(n)
        data, encoded = self._one(sentence)
        mask, constrained = self._allowed(allowed, encoded), self.constrained(constraints, legal)
        if constrained is not None:
            paths, scores = constrained.n_best(encoded, n, mask)[0]
        else:
            paths, scores = self._n_best(data, n, legal, mask)[0]
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
        return self._segments(self._encode([sentence]), legal, constraints)[0]

    @raises_corpus_errors
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

    @raises_corpus_errors
    def explain(self, sentence: Iterable[Token], *, legal: str | None = None) -> Explanation:
        """Explain the label of each token: what favours it, and what favours the next best one."""
        if self.index.template.attributes:
            raise CorpusError("the model was trained on attributes; it cannot explain tokens")
        listed = as_list(sentence, "the sentence", "a list of tokens")
        encoded = self._encode([listed])
        tokens = [(token,) if isinstance(token, str) else tuple(token) for token in listed]
        return explain(self, tokens, encoded, legal)

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
