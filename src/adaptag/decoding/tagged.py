"""What is written of tagged sentences: their columns and labels."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from adaptag.corpus.labels import in_one_line
from adaptag.decoding.options import DecodingOptions
from adaptag.decoding.program_output import PROGRAM_FORMATS, as_program
from adaptag.errors import ParameterError, described, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adaptag.corpus.attributes import AttributeCorpus
    from adaptag.corpus.columns import ColumnCorpus
    from adaptag.decoding.constraints import Constraints
    from adaptag.decoding.model import Model

__all__ = ["COLUMNS", "OUTPUT_FORMATS", "TagOptions", "tagged_attributes", "tagged_columns"]

COLUMNS = "columns"
OUTPUT_FORMATS = (COLUMNS, *PROGRAM_FORMATS)


@dataclass(frozen=True)
class TagOptions:
    """How sentences are tagged, and what is written.

    Attributes:
        marginals: Whether the probability of each label comes before it.
        nbest: The number of label sequences of each sentence.
        legal: The label scheme whose impossible sequences are ruled out, or ``auto``.
        constraints: What the labels of each sentence satisfy.
        output_format: ``columns``, or how another program prints tagged sentences.
    """

    marginals: bool = False
    nbest: int = 1
    legal: str | None = None
    constraints: Constraints | None = None
    output_format: str = COLUMNS

    def __post_init__(self) -> None:
        if self.output_format not in OUTPUT_FORMATS:
            raise ParameterError(
                f"--output-format: {unknown('format', self.output_format, OUTPUT_FORMATS)}"
            )
        if self.marginals and self.output_format != COLUMNS:
            raise ParameterError("--marginals cannot be combined with --output-format")
        if self.marginals and self.nbest > 1:
            raise ParameterError("--marginals cannot be combined with --nbest")

    def decoding(self, threads: int | None = 1) -> DecodingOptions:
        """How labels are found."""
        return DecodingOptions(self.legal, self.constraints, threads)

    def check(self, model: Model) -> None:
        """Raise where a model cannot give what is asked for."""
        model.decoder_for(self.decoding())
        columns = self.marginals or self.nbest > 1 or self.output_format != COLUMNS
        if model.index.template.attributes and columns:
            raise ParameterError(
                "--marginals, --nbest and --output-format are for models of columns"
            )


def tagged_columns(model: Model, options: TagOptions, corpus: ColumnCorpus) -> bytes:
    """Tag in this thread: the columns of the sentences, and the label as the last one."""
    _check_labels(model)
    if len(corpus) == 0:
        return b""
    if options.output_format != COLUMNS:
        return b"".join(as_program(model, options, corpus))
    if options.nbest > 1:
        return b"".join(_n_best_blocks(model, options, corpus))
    labels = model.tag_corpus(corpus, options.decoding())
    if not options.marginals:
        return corpus.with_label(labels, model.labels)
    table = model.marginals_corpus(corpus, options.decoding())
    probabilities = table[range(len(labels)), labels]
    return corpus.with_label(labels, model.labels, probabilities)


def _n_best_blocks(model: Model, options: TagOptions, corpus: ColumnCorpus) -> Iterator[bytes]:
    best = model.nbest_corpus(corpus, options.nbest, options.decoding())
    for sentence, (paths, scores) in enumerate(best):
        tokens = corpus.sentence(sentence)
        for rank, (path, p) in enumerate(zip(paths, np.exp(scores), strict=True)):
            yield f"# {rank} {p:.6f}\n".encode()
            yield tokens.with_label(path, model.labels)


def tagged_attributes(
    model: Model, options: TagOptions, corpus: AttributeCorpus, threads: int | None = 1
) -> bytes:
    """Tag sentences of attributes: one label per line, an empty line after each sentence."""
    _check_labels(model)
    ids = model.tag_corpus(corpus, options.decoding(threads))
    names = [model.labels[y] for y in ids]
    bounds = corpus.sentences.tolist()
    return "".join(
        f"{label}\n" for a, b in itertools.pairwise(bounds) for label in (*names[a:b], "")
    ).encode()


def _check_labels(model: Model) -> None:
    """Raise where a model has a label that cannot be written into a line."""
    for label in model.labels:
        if not label or not in_one_line(label):
            raise ParameterError(
                f"the model has the label {described(label)}, which no column can hold"
            )
