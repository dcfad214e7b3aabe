"""Documents of spaCy, and files of them (``DocBin``), as sentences of tokens with labels."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from adaptag.corpus.columns import ColumnCorpus
from adaptag.errors import AdaptagError, CorpusError, ParameterError, unknown
from adaptag.storage.files import read_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from adaptag.storage.files import Source

__all__ = [
    "ANNOTATIONS",
    "DOCBIN_FORMATS",
    "DocBinFormat",
    "cells_of",
    "check_annotation",
    "check_columns",
    "corpus_of_docs",
    "entity_labels",
    "is_docbin",
    "read_docbin",
    "require_spacy",
    "sentences_of",
]

ANNOTATIONS = ("ents", "tags", "spans")
DOCBIN_FORMATS = ("docbin", *(f"docbin-{name}" for name in ANNOTATIONS))
SPANS_KEY = "sc"  # the group of spans that spaCy uses unless told otherwise
CHUNK = "CHUNK"  # the type of entities whose labels have none, since spaCy's must have one
NO_VALUE = "_"  # of a token attribute that is not set, as in CoNLL-U


@dataclass(frozen=True)
class DocBinFormat:
    """What is read from the documents of a ``DocBin``.

    Attributes:
        annotates: The labels: ``ents`` (entities, as IOB2), ``tags`` (the tag of each token) or
            ``spans`` (a group of spans, as IOB2). None means entities, or tags where no document
            has entities annotated.
        spans_key: The group of spans, of ``doc.spans``.
        columns: The token attributes that features are made of, such as ``("text", "tag_")``.
    """

    annotates: str | None = None
    spans_key: str = SPANS_KEY
    columns: tuple[str, ...] = ("text",)

    def __post_init__(self) -> None:
        check_annotation(self.annotates)


def require_spacy() -> Any:
    """Import spaCy; where it is missing, say how to install it."""
    try:
        import spacy
    except ImportError:
        raise ParameterError("this needs spaCy; install it: pip install 'adaptag[spacy]'") from None
    return spacy


def check_annotation(annotates: str | None) -> None:
    """Raise where a kind of annotation does not exist."""
    if annotates is not None and annotates not in ANNOTATIONS:
        raise ParameterError(unknown("annotation", str(annotates), ANNOTATIONS))


def check_columns(columns: Sequence[str]) -> None:
    """Raise where a name is not an attribute of tokens."""
    from spacy.tokens import Token

    if isinstance(columns, str) or not columns:
        raise ParameterError(f"columns is {columns!r}; allowed: a list such as ['text', 'tag_']")
    for name in columns:
        if not (name.startswith("_.") or hasattr(Token, name)):
            raise ParameterError(
                f"columns: a token of spaCy has no attribute {name!r}; allowed: text, tag_, "
                "lower_, shape_, …, or _.name for an extension"
            )


def is_docbin(format: Any) -> bool:  # noqa: A002
    """Whether a format is that of documents of spaCy."""
    return isinstance(format, DocBinFormat) or format in DOCBIN_FORMATS


def read_docbin(source: Source, format: Any = None) -> ColumnCorpus:  # noqa: A002
    """Read a file of documents, a ``DocBin``, as ``spacy convert`` and ``DocBin.to_disk`` write it.

    A sentence is one of the document where its sentences are marked, else the whole document.

    Args:
        source: The file.
        format: A ``DocBinFormat``, one of ``DOCBIN_FORMATS``, or None.
    """
    spacy = require_spacy()
    from spacy.tokens import DocBin

    if not isinstance(format, DocBinFormat):
        kind = format.partition("-")[2] if isinstance(format, str) else ""
        format = DocBinFormat(kind or None)  # noqa: A001
    check_columns(format.columns)
    name, data = shown(source), read_bytes(source)
    try:
        # The vocabulary of a language knows the attributes of words, such as their shape.
        docs = list(DocBin().from_bytes(data).get_docs(spacy.blank("xx").vocab))
        return corpus_of_docs(docs, format, name)
    except AdaptagError:
        raise
    except Exception as error:  # of any type, depending on what is damaged
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise CorpusError(f"{name}: not a DocBin of spaCy, or damaged: {reason}") from None


def corpus_of_docs(
    docs: Sequence[Any],
    format: DocBinFormat = DocBinFormat(),  # noqa: A002
    name: str = "<documents>",
) -> ColumnCorpus:
    """Make a corpus of documents; labels that are not annotated are unknown.

    Args:
        docs: The documents, of the type ``Doc`` of spaCy.
        format: What is read from them.
        name: The name of the data, for messages.
    """
    annotates = format.annotates
    if annotates is None:
        any_ents = any(doc.has_annotation("ENT_IOB") for doc in docs if len(doc))
        annotates = "ents" if any_ents else "tags"
    sentences: list[list[Any]] = []
    labels: list[list[str | None]] = []
    for number, doc in enumerate(docs, 1):
        try:
            all_labels = _labels(doc, annotates, format.spans_key)
        except ValueError as error:
            raise CorpusError(f"{name}: document {number}: {error}") from None
        for tokens in sentences_of(doc):
            sentences.append([cells_of(token, format.columns) for token in tokens])
            labels.append(_iob2(all_labels[token.i] for token in tokens))
    if not any(label is not None for sentence in labels for label in sentence):
        what = f"spans {format.spans_key!r}" if annotates == "spans" else annotates
        raise CorpusError(f"{name}: no token of {len(docs)} documents has {what} annotated")
    corpus = ColumnCorpus.from_sentences(sentences).with_labels(labels)
    return replace(corpus, name=name)


def sentences_of(doc: Any) -> Iterator[list[Any]]:
    """The tokens of each sentence of a document, without white space.

    Where sentences are not marked, the document is one.
    """
    for tokens in doc.sents if doc.has_annotation("SENT_START") else [doc]:
        words = [token for token in tokens if not token.is_space]
        if words:
            yield words


def cells_of(token: Any, columns: Sequence[str]) -> str | tuple[str, ...]:
    """The attributes of a token that features are made of."""
    if columns == ("text",):
        return str(token.text)
    return tuple(_value(token, name) for name in columns)


def _value(token: Any, name: str) -> str:
    if name.startswith("_."):
        if not token.has_extension(name[2:]):
            raise ParameterError(f"columns: tokens have no extension {name!r}; set it first")
        value = token._.get(name[2:])
    else:
        value = getattr(token, name)
    return NO_VALUE if value is None or value == "" else str(value)


def entity_labels(spans: Iterable[Any], n_tokens: int) -> list[tuple[int, str] | str | None]:
    """The entity of each token, as a number and a type; O for all others.

    Raises:
        ValueError: Two spans overlap.
    """
    entities: list[tuple[int, str] | str | None] = ["O"] * n_tokens
    for number, span in enumerate(spans):
        for i in range(span.start, span.end):
            if entities[i] != "O":
                raise ValueError(f"the spans overlap at the token {span.doc[i].text!r}")
            entities[i] = number, span.label_ or CHUNK
    return entities


def _labels(doc: Any, annotates: str, spans_key: str) -> list[tuple[int, str] | str | None]:
    """For each token its entity or its tag; None where that is not annotated."""
    if annotates == "tags":
        return [token.tag_ or None for token in doc]
    if annotates == "spans":
        known = spans_key in doc.spans
        return entity_labels(doc.spans[spans_key], len(doc)) if known else [None] * len(doc)
    entities = entity_labels(doc.ents, len(doc))
    return [
        None if token.ent_iob == 0 else entity for token, entity in zip(doc, entities, strict=True)
    ]


def _iob2(entities: Iterable[tuple[int, str] | str | None]) -> list[str | None]:
    """Write the entities of a sentence as labels; one that is cut by its border begins anew."""
    listed = list(entities)
    return [
        f"{'I' if entity == before else 'B'}-{entity[1]}" if isinstance(entity, tuple) else entity
        for before, entity in itertools.pairwise([None, *listed])
    ]
