"""``adaptag tag``: columns in, the same columns and a label out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adaptag.cli.options import (
    CommentOption,
    DocstartOption,
    LegalOption,
    ModelOption,
    OutputOption,
    SeparatorOption,
)
from adaptag.cli.output import output_stream
from adaptag.errors import ParameterError

if TYPE_CHECKING:
    from adaptag.corpus.columns import ColumnCorpus
    from adaptag.decoding.model import Model

__all__ = ["tag"]


def tag(
    data: Annotated[
        Path, typer.Argument(metavar="INPUT", help="Column file (.gz, .xz; - for stdin).")
    ],
    model: ModelOption,
    output: OutputOption = None,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Add the label's probability, before the label.")
    ] = False,
    nbest: Annotated[
        int,
        typer.Option(
            min=1,
            help="The N best label sequences, each under '# rank probability'.",
            show_default=False,
        ),
    ] = 1,
    legal: LegalOption = None,
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
) -> None:
    """Tag a file: the input's columns, and the predicted label as the last one.

    Files of any size are read in parts. For a model of attributes only the labels are written.
    """
    from adaptag.cli.output import check_files
    from adaptag.cli.progress import byte_bar
    from adaptag.corpus.columns import ColumnCorpus, ColumnFormat
    from adaptag.decoding.model import Model

    if marginals and nbest > 1:
        raise ParameterError("--marginals cannot be combined with --nbest")
    check_files({"--output": output}, {"INPUT": data, "--model": model})
    file_format = ColumnFormat(separator, comment, skip_docstart)
    tagger = Model.load(model)
    if tagger.index.template.attributes:
        if marginals or nbest > 1:
            raise ParameterError("--marginals and --nbest are for models of columns")
        with output_stream(output) as out:
            out.write(_tag_attributes(tagger, data, legal))
        return
    size = data.stat().st_size if data.is_file() else None
    with output_stream(output) as out, byte_bar("tagging") as bar:
        task = bar.add_task("", total=size)
        for part in ColumnCorpus.read_parts(data, file_format):
            out.write(_tag_part(tagger, part, marginals, nbest, legal))
            bar.advance(task, len(part.text))


def _tag_part(
    model: Model, corpus: ColumnCorpus, marginals: bool, nbest: int, legal: str | None
) -> bytes:
    if nbest > 1:
        return b"".join(_n_best_blocks(model, corpus, nbest, legal))
    labels = model.tag_corpus(corpus, legal)
    if not marginals:
        return corpus.with_label(labels, model.labels)
    table = model.marginals_corpus(corpus, legal)
    probabilities = table[range(len(labels)), labels]
    return corpus.with_label(labels, model.labels, probabilities)


def _n_best_blocks(
    model: Model, corpus: ColumnCorpus, n: int, legal: str | None
) -> Iterator[bytes]:
    import numpy as np

    for sentence, (paths, scores) in enumerate(model.nbest_corpus(corpus, n, legal)):
        tokens = corpus.sentence(sentence)
        for rank, (path, p) in enumerate(zip(paths, np.exp(scores), strict=True)):
            yield f"# {rank} {p:.6f}\n".encode()
            yield tokens.with_label(path, model.labels)


def _tag_attributes(model: Model, data: Path, legal: str | None) -> bytes:
    from adaptag.corpus.attributes import AttributeCorpus

    corpus = AttributeCorpus.read(data)
    names = [model.labels[y] for y in model.tag_corpus(corpus, legal)]
    bounds = corpus.sentences.tolist()
    blocks = ("\n".join(names[a:b]) for a, b in itertools.pairwise(bounds))
    return ("\n\n".join(blocks) + "\n\n").encode()
