"""Tagged texts on the terminal: coloured spans with their probabilities."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from adaptag.errors import ParameterError

if TYPE_CHECKING:
    from adaptag.corpus.columns import ColumnCorpus, ColumnFormat
    from adaptag.corpus.spans import TaggedText
    from adaptag.decoding.model import Model
    from adaptag.decoding.tagged import TagOptions
    from adaptag.storage.files import PathLike

__all__ = ["labels_of", "show_columns", "show_texts"]


def show_texts(texts: Iterable[TaggedText], labels: Iterable[str]) -> None:
    """Print texts as they come, with the colours of all labels; plain where no terminal is.

    Args:
        texts: The texts.
        labels: All labels that spans may have, so that each keeps its colour.
    """
    from rich.console import Console

    from adaptag.rendering.colours import assign_colours
    from adaptag.rendering.terminal import coloured_text

    console = Console(highlight=False)
    colours = assign_colours(labels)
    for text in texts:
        # The terminal breaks lines: what rich would break could not be copied.
        console.print(coloured_text(text, colours), soft_wrap=True)
        sys.stdout.flush()


def show_columns(
    path: PathLike, model_path: Path, options: TagOptions, file_format: ColumnFormat
) -> None:
    """Tag a column file, and print its sentences; those of a pipe as soon as they are there."""
    from adaptag.decoding.model import Model

    if options.marginals or options.nbest > 1:
        raise ParameterError("--show cannot be combined with --marginals or --nbest")
    model = Model.load(model_path)
    options.check(model)
    if model.index.template.attributes:
        raise ParameterError("--show is for models of columns: attributes have no text")
    show_texts(_tagged_texts(model, path, file_format, options), labels_of(model))


def labels_of(model: Model) -> Sequence[str]:
    """The labels that spans of a model may have."""
    return model.scheme.types if model.scheme.chunked else model.labels


def _tagged_texts(
    model: Model, path: PathLike, file_format: ColumnFormat, options: TagOptions
) -> Iterator[TaggedText]:
    from adaptag.corpus.columns import column_parts, no_sentence

    empty = True
    for part in column_parts(path, file_format):
        if part is not None and len(corpus := part.parse()) > 0:
            empty = False
            yield from _tagged_corpus(model, corpus, options)
    if empty:
        raise no_sentence(path)


def _tagged_corpus(model: Model, corpus: ColumnCorpus, options: TagOptions) -> Iterator[TaggedText]:
    """The sentences with the chunks of the model, or with spans of single tokens."""
    from itertools import pairwise

    from adaptag.corpus.tagged_texts import first_column, token_text
    from adaptag.decoding.texts import found_spans

    spans = found_spans(model, corpus, options.decoding(None), probabilities=True)
    for (a, b), found in zip(pairwise(corpus.sentences.tolist()), spans, strict=True):
        yield token_text(first_column(corpus, a, b), found)
