"""The pipeline component ``adaptag``: entities, tags or spans of documents.

spaCy imports this module with every pipeline, by its entry point, so what costs time is imported
where it is used. Annotations are real types here, since spaCy checks configurations against them.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, Span, Token
from spacy.training import Example, validate_examples, validate_get_examples

from adaptag.corpus.columns import ColumnCorpus
from adaptag.corpus.docbin import (
    CHUNK,
    SPANS_KEY,
    DocBinFormat,
    cells_of,
    check_annotation,
    check_columns,
    corpus_of_docs,
    sentences_of,
)
from adaptag.decoding.constraints import constraints_of
from adaptag.decoding.options import DecodingOptions
from adaptag.errors import AdaptagError, ParameterError, counted
from adaptag.spacy.serialization import CarriesModel

__all__ = ["AdaptagComponent", "make_component", "make_scorer", "score"]

SCORER = "adaptag.scorer.v1"
CONFIDENCE = "confidence"
Predictions = list[tuple[int, int, str, float]]  # first token, end, label, probability


def score(examples: Iterable[Example], **settings: Any) -> dict[str, Any]:
    """Score documents with spaCy's own functions for entities, tags or spans.

    Args:
        examples: Predicted and gold documents.
        **settings: What the component annotates: ``annotates`` and ``spans_key``.
    """
    annotates = settings.get("annotates", "ents")
    if annotates == "ents":
        scores: dict[str, Any] = get_ner_prf(examples)
    elif annotates == "tags":
        scores = Scorer.score_token_attr(examples, "tag")
    else:
        key, prefix = settings.get("spans_key", SPANS_KEY), "spans_"
        scores = Scorer.score_spans(
            examples,
            f"{prefix}{key}",
            getter=lambda doc, name: doc.spans.get(name[len(prefix) :], []),
            has_annotation=lambda doc: key in doc.spans,
            allow_overlap=True,
            labeled=True,
        )
    return scores


def make_scorer() -> Callable[..., dict[str, Any]]:
    """Make the scoring function; spaCy calls this by its name in a configuration."""
    return score


@Language.factory(  # type: ignore[untyped-decorator]
    "adaptag",
    assigns=["doc.ents", "token.ent_iob", "token.ent_type", "token.tag", "doc.spans"],
    default_config={
        "model": None,
        "annotates": None,
        "spans_key": SPANS_KEY,
        "columns": ["text"],
        "threshold": 0.0,
        "constraints": {},
        "overwrite": False,
        "training": {},
        "scorer": {"@scorers": SCORER},
    },
    default_score_weights={
        "ents_f": 0.5,
        "ents_p": 0.0,
        "ents_r": 0.0,
        "ents_per_type": None,
        "tag_acc": 0.5,
    },
)
def make_component(
    nlp: Language,  # noqa: ARG001
    name: str,
    model: str | None,
    annotates: str | None,
    spans_key: str,
    columns: list[str],
    threshold: float,
    constraints: dict[str, Any],
    overwrite: bool,
    training: dict[str, Any],
    scorer: Callable[..., Any] | None,
) -> "AdaptagComponent":
    """Make the component from its configuration; the arguments are those of the class."""
    return AdaptagComponent(
        name,
        model=model,
        annotates=annotates,
        spans_key=spans_key,
        columns=columns,
        threshold=threshold,
        constraints=constraints,
        overwrite=overwrite,
        training=training,
        scorer=scorer,
    )


class AdaptagComponent(CarriesModel, Pipe):  # type: ignore[misc,type-arg]
    """A component of a spaCy pipeline that tags with a model of adaptag.

    It sets the entities, the tags or a group of spans of documents. The probability of each is
    ``span._.confidence`` or ``token._.confidence``; those of a group are ``attrs["scores"]`` too.

    Attributes:
        name: The name of the component in its pipeline.
        spans_key: The group of spans that is set.
        columns: The token attributes that features are made of.
        threshold: The probability from which on a prediction is kept.
        constraints: What the labels of each sentence satisfy, or None.
        overwrite: Whether annotations that exist are replaced.
        training: The settings of training.
        scorer: The scoring function.
    """

    model_kind = "model"

    def __init__(
        self,
        name: str = "adaptag",
        *,
        model: str | None = None,
        annotates: str | None = None,
        spans_key: str = SPANS_KEY,
        columns: Sequence[str] = ("text",),
        threshold: float = 0.0,
        constraints: dict[str, Any] | None = None,
        overwrite: bool = False,
        training: dict[str, Any] | None = None,
        scorer: Callable[..., Any] | None = score,
    ) -> None:
        """Check the settings; the model is loaded when it is first used.

        Args:
            name: The name of the component in its pipeline.
            model: The file of a model; None until it is trained, or read from a saved pipeline.
            annotates: What is set: ``ents``, ``tags`` or ``spans``. None means entities where the
                labels mark chunks (B-X, I-X, …), else tags.
            spans_key: The group of spans that is set, of ``doc.spans``.
            columns: The token attributes that stand for the columns of the model's training data,
                such as ``["text", "tag_"]``; ``_.name`` is an extension.
            threshold: The probability from which on a prediction is kept, 0 to 1.
            constraints: What the labels of each sentence satisfy, such as
                ``{"at_most_once": ["CITY"]}``; see ``adaptag.Constraints``.
            overwrite: Whether annotations that exist are replaced. Otherwise entities that overlap
                others are left out, tokens keep their tags, and spans are added to their group.
            training: Settings of ``adaptag.train``, such as ``{"passes": 10}``, for
                ``nlp.initialize``.
            scorer: The scoring function.
        """
        CarriesModel.__init__(self, model)
        check_annotation(annotates)
        check_columns(columns)
        if not 0 <= threshold <= 1:
            raise ParameterError(f"threshold is {threshold}; allowed: 0 to 1")
        self.name = name
        self._annotates = annotates
        self.spans_key = spans_key
        self.columns = tuple(columns)
        self.threshold = threshold
        self.constraints = constraints_of(constraints)
        self.overwrite = overwrite
        self.training = dict(training or {})
        self.scorer = scorer
        for owner in (Span, Token):
            if not owner.has_extension(CONFIDENCE):
                owner.set_extension(CONFIDENCE, default=None)

    @staticmethod
    def _model_class() -> Any:
        from adaptag.decoding.model import Model

        return Model

    @property
    def annotates(self) -> str:
        """What is set: ``ents``, ``tags`` or ``spans``."""
        if self._annotates is not None:
            return self._annotates
        return "ents" if self.adaptag_model.scheme.chunked else "tags"

    @property
    def labels(self) -> tuple[str, ...]:
        """The types of entities or spans, or the tags; none before there is a model."""
        try:
            self._model = self.adaptag_model
        except AdaptagError:  # spaCy asks before it reads the model of a saved pipeline
            return ()
        if self.annotates == "tags":
            return tuple(self.adaptag_model.labels)
        return tuple(kind or CHUNK for kind in self.adaptag_model.scheme.types)

    @property
    def cfg(self) -> dict[str, Any]:
        """What the scoring function is told."""
        return {"annotates": self.annotates, "spans_key": self.spans_key}

    # ---- tagging ------------------------------------------------------------------------------

    def __call__(self, doc: Doc) -> Doc:
        """Tag one document."""
        return next(self.pipe([doc], batch_size=1), doc)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Tag a stream of documents, many in one call.

        Args:
            stream: The documents.
            batch_size: The number of documents that are tagged together.
        """
        handle = self.get_error_handler()
        for batch in util.minibatch(stream, size=batch_size):
            docs = list(batch)
            try:
                self.set_annotations(docs, self.predict(docs))
                yield from docs
            except Exception as error:
                handle(self.name, self, docs, error)

    def predict(self, docs: Iterable[Doc]) -> list[Predictions]:
        """Tag documents without changing them.

        Args:
            docs: The documents.

        Returns:
            For each document, predictions in order: the first token, the end, the label, and the
            probability.
        """
        listed = list(docs)
        self._check_model()
        places = [(n, words) for n, doc in enumerate(listed) for words in sentences_of(doc)]
        predictions: list[Predictions] = [[] for _ in listed]
        if not places:
            return predictions
        corpus = ColumnCorpus.from_sentences(
            [cells_of(word, self.columns) for word in words] for _, words in places
        )
        find = self._tags if self.annotates == "tags" else self._chunks
        for (n, words), found in zip(places, find(corpus), strict=True):
            predictions[n] += [
                (words[first].i, words[last].i + 1, label, probability)
                for first, last, label, probability in found
                if probability >= self.threshold
            ]
        return predictions

    def _chunks(self, corpus: ColumnCorpus) -> Iterator[Predictions]:
        """For each sentence its chunks: first and last token, type, probability."""
        for segments in self.adaptag_model.segments_corpus(corpus, self._options):
            yield [(s.first, s.last, s.type or CHUNK, s.probability) for s in segments]

    def _tags(self, corpus: ColumnCorpus) -> Iterator[Predictions]:
        """For each sentence its tokens: the token twice, its label, the probability."""
        model = self.adaptag_model
        ids = model.tag_corpus(corpus, self._options)
        table = model.marginals_corpus(corpus, self._options)
        probabilities = table[range(len(ids)), ids].tolist()
        names = [model.labels[number] for number in ids.tolist()]
        for begin, end in itertools.pairwise(corpus.sentences.tolist()):
            here = zip(names[begin:end], probabilities[begin:end], strict=True)
            yield [(t, t, name, p) for t, (name, p) in enumerate(here)]

    @property
    def _options(self) -> DecodingOptions:
        return DecodingOptions(constraints=self.constraints)

    def _check_model(self) -> None:
        """Raise where the model does not fit what it is used for."""
        index, n = self.adaptag_model.index, len(self.columns)
        if index.template.attributes:
            raise ParameterError(
                "the model was trained on attributes; a pipeline needs one of tokens"
            )
        if index.n_columns is not None and n not in (index.n_columns, index.template.n_columns):
            raise ParameterError(
                f"columns names {counted(n, 'token attribute')}: {', '.join(self.columns)}; "
                f"the model was trained with {counted(index.n_columns, 'column')}"
            )
        if self.annotates != "tags" and not self.adaptag_model.scheme.chunked:
            raise ParameterError(
                f"the labels of the model mark no chunks (B-X, I-X, …), as {self.annotates} "
                "need; allowed: tags"
            )

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[Predictions]) -> None:
        """Write predictions into documents.

        Args:
            docs: The documents.
            predictions: What ``predict`` returned for them.
        """
        write = {"ents": self._set_ents, "tags": self._set_tags, "spans": self._set_spans}
        for doc, found in zip(docs, predictions, strict=True):
            write[self.annotates](doc, found)

    def _set_ents(self, doc: Doc, found: Predictions) -> None:
        kept = [] if self.overwrite else list(doc.ents)
        taken = {i for span in kept for i in range(span.start, span.end)}
        free = [row for row in found if taken.isdisjoint(range(row[0], row[1]))]
        doc.ents = sorted([*kept, *_spans(doc, free)], key=lambda span: int(span.start))

    def _set_spans(self, doc: Doc, found: Predictions) -> None:
        spans, scores = _spans(doc, found), [row[3] for row in found]
        if not self.overwrite and self.spans_key in doc.spans:
            group = doc.spans[self.spans_key]
            spans = [*group, *spans]
            scores = [*group.attrs.get("scores", [np.nan] * len(group)), *scores]
        doc.spans[self.spans_key] = spans
        doc.spans[self.spans_key].attrs["scores"] = np.array(scores, np.float64)

    def _set_tags(self, doc: Doc, found: Predictions) -> None:
        for first, _, label, probability in found:
            token = doc[first]
            if self.overwrite or not token.tag_:
                token.tag_ = label
                token._.set(CONFIDENCE, probability)

    # ---- training -----------------------------------------------------------------------------

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,  # noqa: ARG002
        training: dict[str, Any] | None = None,
    ) -> None:
        """Train on the gold documents of examples; a model that was given as a file is kept.

        Args:
            get_examples: Returns the examples.
            nlp: The pipeline.
            training: Settings of ``adaptag.train``, beside those of the component.
        """
        if self._path is not None:
            self._check_model()
            return
        from adaptag.api import train

        validate_get_examples(get_examples, "AdaptagComponent.initialize")
        docs = [example.reference for example in get_examples()]
        what = DocBinFormat(self._annotates, self.spans_key, self.columns)
        corpus = corpus_of_docs(docs, what, "the examples")
        self.adaptag_model = train(corpus, **{**self.training, **(training or {})})

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Score documents with the scoring function of the configuration.

        Args:
            examples: Predicted and gold documents.
            **kwargs: Further settings of the scoring function.
        """
        validate_examples(examples, "AdaptagComponent.score")
        scores: dict[str, Any] = Pipe.score(self, examples, **kwargs)
        return scores


def _spans(doc: Doc, found: Predictions) -> list[Span]:
    """Make spans of predictions, with their probabilities."""
    spans = []
    for first, end, label, probability in found:
        span = Span(doc, first, end, label=label)
        span._.set(CONFIDENCE, probability)
        spans.append(span)
    return spans
