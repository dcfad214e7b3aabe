"""A model that tags."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from adaptag.corpus.chunks import ChunkScheme
from adaptag.corpus.data import corpus_of
from adaptag.corpus.lists import as_list
from adaptag.corpus.settings import SCHEMES
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.calibration import best_temperature, measure_calibration
from adaptag.decoding.decoder import raises_corpus_errors
from adaptag.decoding.explanation import Explanation, explain
from adaptag.decoding.options import DecodingOptions
from adaptag.decoding.scorer import TagScorer
from adaptag.decoding.sentences import SentenceDecoder
from adaptag.errors import CorpusError
from adaptag.evaluation import METRICS, Evaluation
from adaptag.evaluation.calibration import BINS
from adaptag.foreign.files import read_foreign
from adaptag.model.compact import choose_threshold, compact_index
from adaptag.model.linear_chain import NO_WEIGHTS
from adaptag.storage.files import check_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import Self

    from adaptag.corpus.data import Corpus
    from adaptag.corpus.spans import TaggedText
    from adaptag.decoding.options import Declared
    from adaptag.decoding.sentences import Token
    from adaptag.evaluation.calibration import Calibration
    from adaptag.storage.files import PathLike

__all__ = ["Model"]


@dataclass(frozen=True, eq=False, repr=False)
class Model(SentenceDecoder):
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
        return cls(*parts, configuration=chain.configuration, original=chain.original)

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
            DecodingOptions(legal, constraints, threads),
            tokenizer,
            probabilities=probabilities,
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
        constraints: Declared = None,
    ) -> Evaluation:
        """Tag labelled data, and score it.

        Args:
            data: Labelled data in any form that ``adaptag.train`` takes.
            labels: The labels of Python data, one list per sentence.
            legal: As in the other methods.
            format: As in ``adaptag.train``.
            metric: ``F1`` or ``accuracy``; by default that of the model.
            tokenizer: What cuts labelled texts into tokens; by default as in training.
            constraints: As in the other methods.
        """
        dataset = self.encode(data, labels, format=format, tokenizer=tokenizer)
        options = DecodingOptions(legal, constraints)
        return TagScorer(dataset, metric or self.metric, options).evaluate(self)

    def calibration(
        self,
        data: Any,
        labels: Iterable[Sequence[str | None]] | None = None,
        *,
        legal: str | None = None,
        format: Any = None,  # noqa: A002
        bins: int = BINS,
        constraints: Declared = None,
    ) -> Calibration:
        """Measure on labelled data how well the probabilities can be trusted.

        Args:
            data: As for ``evaluate``.
            labels: As for ``evaluate``.
            legal: As in the other methods.
            format: As in ``adaptag.train``.
            bins: The number of bins, all of the same width.
            constraints: As in the other methods.
        """
        dataset = self.encode(data, labels, format=format)
        return measure_calibration(self, dataset, DecodingOptions(legal, constraints), bins=bins)

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
            parts = replace(self, index=index, weights=NO_WEIGHTS, state={}, original=None)
            return replace(parts, provenance=provenance)

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
    def explain(self, sentence: Iterable[Token], *, legal: str | None = None) -> Explanation:
        """Explain the label of each token: what favours it, and what favours the next best one."""
        if self.index.template.attributes:
            raise CorpusError("the model was trained on attributes; it cannot explain tokens")
        listed = as_list(sentence, "the sentence", "a list of tokens")
        encoded = self._one(listed)
        tokens = [(token,) if isinstance(token, str) else tuple(token) for token in listed]
        return explain(self, tokens, encoded, legal)
