"""Tagged data as documents of spaCy."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import spacy
from spacy.tokens import Doc, DocBin, Span

from adaptag.corpus.chunks import ChunkScheme
from adaptag.corpus.columns import ColumnCorpus
from adaptag.corpus.data import corpus_of
from adaptag.corpus.docbin import CHUNK
from adaptag.corpus.labels import NO_LABEL
from adaptag.corpus.spans import TaggedText
from adaptag.errors import CorpusError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["to_docbin", "words_and_spaces"]


def to_docbin(
    data: Any,
    labels: Iterable[Sequence[str | None]] | None = None,
    *,
    columns: Sequence[str] = ("text",),
    language: str = "xx",
    format: Any = None,  # noqa: A002
) -> Any:
    """Make a ``DocBin`` of tagged data; its ``to_disk`` writes the file that spaCy trains on.

    Labels that mark chunks become entities, whatever their scheme; others become tags. Labels that
    are not known are missing annotation.

    Args:
        data: Tagged texts, each a ``TaggedText``; or labelled data in any form that
            ``adaptag.train`` takes, each sentence of which becomes a document.
        labels: The labels of Python data, one list per sentence.
        columns: The token attributes that the columns of sentences become: the text, and others
            that can be set, such as ``tag_`` or ``lemma_``.
        language: The language whose tokenizer cuts texts that have no tokens.
        format: The format of a file, as for ``adaptag.train``.

    Examples:
        >>> from adaptag.spacy import to_docbin
        >>> len(to_docbin([["Ann", "sings"]], [["B-PER", "O"]]))
        1
    """
    try:
        nlp = spacy.blank(language)
    except ImportError:
        raise ParameterError(f"language is {language!r}; allowed: a code of spaCy's") from None
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], TaggedText):
        docs = [_doc_of_text(nlp, text, number) for number, text in enumerate(data, 1)]
    else:
        corpus = corpus_of(data, labels, format=format)
        if not isinstance(corpus, ColumnCorpus):
            raise CorpusError(f"{corpus.name}: holds attributes; documents are made of tokens")
        docs = list(_docs_of_corpus(nlp.vocab, corpus, columns))
    return DocBin(docs=docs)


def words_and_spaces(text: str, starts: Iterable[int]) -> tuple[list[str], list[bool]]:
    """Cut a text into words at some places, and say after which of them there is a space.

    Put together again as spaCy does, they give the text: one space after a word is not a word of
    its own, any other white space is.

    Args:
        text: The text.
        starts: Where pieces begin, words or what is between them: 0 to the length of the text.
    """
    words: list[str] = []
    spaces: list[bool] = []
    bounds = sorted({0, *starts, len(text)})
    for begin, end in itertools.pairwise(bounds):
        piece = text[begin:end]
        if piece[0] == " " and words and not spaces[-1] and piece.isspace():
            spaces[-1] = True
            piece = piece[1:]
        if piece:
            words.append(piece)
            spaces.append(False)
    return words, spaces


def _doc_of_text(nlp: Any, tagged: TaggedText, number: int) -> Doc:
    """A document with the spans of a text as entities; tokens are cut where spans begin or end."""
    text = tagged.text
    tokens = tagged.tokens or [(t.idx, t.idx + len(t)) for t in nlp.make_doc(text)]
    bounds = {place for token in tokens for place in token}
    bounds.update(place for span in tagged.spans for place in (span.start, span.end))
    words, spaces = words_and_spaces(text, (n for n in bounds if 0 <= n <= len(text)))
    doc = Doc(nlp.vocab, words=words, spaces=spaces)
    first = {token.idx: token.i for token in doc}
    end = {token.idx + len(token): token.i + 1 for token in doc}
    try:
        doc.ents = [
            Span(doc, first[span.start], end[span.end], label=span.label or CHUNK)
            for span in tagged.spans
        ]
    except (KeyError, ValueError):
        raise CorpusError(
            f"text {number}: its spans overlap, are empty, or begin or end with white space or "
            "outside of the text"
        ) from None
    return doc


def _docs_of_corpus(vocab: Any, corpus: ColumnCorpus, columns: Sequence[str]) -> Iterator[Doc]:
    """A document for each sentence, with its labels as entities or tags."""
    n_columns = corpus.n_feature_columns(labelled=True)
    if len(columns) != n_columns or columns[0] != "text":
        raise ParameterError(
            f"columns is {', '.join(columns)}; {corpus.name} has {n_columns} before the label; "
            "allowed: text, and one token attribute for each further column"
        )
    ids, names = corpus.number_labels()
    scheme = ChunkScheme(names)
    text = corpus.text.tobytes()
    spans = scheme.spans(np.where(ids == NO_LABEL, len(names), ids), corpus.sentences)
    for begin, stop in itertools.pairwise(corpus.sentences.tolist()):
        cells = [[text[a:b].decode() for a, b in token] for token in corpus.cells[begin:stop]]
        doc = Doc(vocab, words=[token[0] for token in cells])
        for token, values in zip(doc, cells, strict=True):
            for name, value in zip(columns[1:], values[1:], strict=False):
                _set_attribute(token, name, value)
        missing = (ids[begin:stop] == NO_LABEL).tolist()
        if scheme.chunked:
            here = spans[(spans[:, 0] >= begin) & (spans[:, 1] <= stop)].tolist()
            ents = [
                Span(doc, a - begin, b - begin, label=scheme.types[k] or CHUNK) for a, b, k in here
            ]
            unknown = [Span(doc, i, i + 1) for i, is_missing in enumerate(missing) if is_missing]
            doc.set_ents(ents, missing=unknown, default="outside")
        else:
            for token, number in zip(doc, ids[begin:stop].tolist(), strict=True):
                if number != NO_LABEL:
                    token.tag_ = names[number]
        yield doc


def _set_attribute(token: Any, name: str, value: str) -> None:
    try:
        setattr(token, name, value)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ParameterError(
            f"columns: the attribute {name!r} of tokens cannot be {value!r}; allowed: tag_, "
            "lemma_, norm_ and others that can be set"
        ) from None
