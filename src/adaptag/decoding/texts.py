"""Raw text in, labelled spans out."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from adaptag.corpus.columns import ColumnCorpus
from adaptag.corpus.span_files import packable
from adaptag.corpus.spans import Span, TaggedText
from adaptag.corpus.tagged_texts import token_spans
from adaptag.corpus.tokenizers import tokenizer_of
from adaptag.errors import CorpusError, ParameterError, described
from adaptag.parallel import ordered_map, threads_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from adaptag.corpus.tagged_texts import TokenSpan
    from adaptag.corpus.tokenizers import Place, Tokenizer
    from adaptag.decoding.model import Model
    from adaptag.decoding.options import DecodingOptions

__all__ = ["check_takes_text", "found_spans", "tag_texts"]

PART = 256  # texts that are tagged at a time


def check_takes_text(model: Model) -> None:
    """Raise where a model needs more of a token than its text."""
    if model.index.template.attributes:
        raise ParameterError("the model was trained on attributes; it cannot tag raw text")
    columns = model.index.template.n_columns
    if columns > 1:
        raise ParameterError(
            f"the template of the model needs {columns} columns; raw text has 1: the tokens"
        )


def tag_texts(
    model: Model,
    texts: Sequence[str],
    options: DecodingOptions,
    tokenizer: Any = None,
    *,
    probabilities: bool = True,
) -> list[TaggedText]:
    """Cut texts into tokens, tag them, and find the spans of their labels.

    Args:
        model: The model.
        texts: The texts.
        options: How labels are found. Constraints hold for each line.
        tokenizer: As for ``tokenizer_of``; None means the one of the model.
        probabilities: Whether spans get their probabilities.
    """
    check_takes_text(model)
    cutter = tokenizer_of(model.tokenizer if tokenizer is None else tokenizer)
    for number, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise CorpusError(f"text {number} is {described(text)}; allowed: a string")
    parts = [texts[begin : begin + PART] for begin in range(0, len(texts), PART)]
    work = partial(_tag_part, model, cutter, options._replace(threads=1), probabilities)
    tagged = ordered_map(work, parts, threads_for(options.threads, sentences=len(texts)))
    return [text for part in tagged if part is not None for text in part]


def _tag_part(
    model: Model,
    tokenizer: Tokenizer,
    options: DecodingOptions,
    probabilities: bool,
    texts: Sequence[str],
) -> list[TaggedText]:
    cut = [tokenizer(text) for text in texts]
    strings = [packable(text) for text in texts]
    sentences = [
        [text[a:b] for a, b in places]
        for text, cut_text in zip(strings, cut, strict=True)
        for places in cut_text
    ]
    corpus = ColumnCorpus.from_sentences(sentences)
    spans = found_spans(model, corpus, options, probabilities=probabilities)
    return [
        TaggedText(
            text,
            tuple(chain.from_iterable(_spans(text, places, next(spans)) for places in cut_text)),
            tuple(chain.from_iterable(cut_text)),
        )
        for text, cut_text in zip(texts, cut, strict=True)
    ]


def _spans(text: str, places: list[Place], found: list[TokenSpan]) -> Iterator[Span]:
    for first, last, label, probability in found:
        start, end = places[first][0], places[last][1]
        yield Span(start, end, label, text[start:end], probability)


def found_spans(
    model: Model, corpus: ColumnCorpus, options: DecodingOptions, *, probabilities: bool
) -> Iterator[list[TokenSpan]]:
    """The spans of each sentence by its best labels: chunks, or tokens where labels mark none."""
    if probabilities and model.scheme.chunked:
        for segments in model.segments_corpus(corpus, options):
            yield [(s.first, s.last, s.type, s.probability) for s in segments]
        return
    ids = model.tag_corpus(corpus, options)
    spans = token_spans(model.scheme, ids, corpus.sentences)
    if not probabilities:
        yield from spans
        return
    table = model.marginals_corpus(corpus, options)
    chances = table[range(len(ids)), ids].tolist()
    for begin, found in zip(corpus.sentences[:-1].tolist(), spans, strict=True):
        yield [(t, t, label, chances[begin + t]) for t, _, label, _ in found]
