"""``adaptag tag``: columns in, the same columns and a label out."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adaptag.cli.arguments import argument, option
from adaptag.cli.options import (
    CommentOption,
    DocstartOption,
    LegalOption,
    ModelOption,
    OutputOption,
    SeparatorOption,
    ThreadsOption,
)
from adaptag.cli.output import output_stream, write_ordered
from adaptag.errors import ParameterError

if TYPE_CHECKING:
    from adaptag.corpus.columns import ColumnCorpus, ColumnPart
    from adaptag.decoding.model import Model

__all__ = ["tag"]


def tag(
    data: Annotated[Path, argument(metavar="INPUT", help="Column file (.gz, .xz; - for stdin).")],
    model: ModelOption,
    output: OutputOption = None,
    marginals: Annotated[
        bool, option("--marginals", help="Add the label's probability, before the label.")
    ] = False,
    nbest: Annotated[
        int,
        option(
            min=1,
            help="The N best label sequences, each under '# rank probability'.",
            show_default=False,
        ),
    ] = 1,
    legal: LegalOption = None,
    threads: ThreadsOption = None,
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
) -> None:
    """Tag a file: the input's columns, and the predicted label as the last one.

    Files of any size are read in parts, which are tagged on all cores; what comes in from a pipe is
    tagged sentence by sentence, as soon as it is there. For a model of attributes only the labels
    are written.
    """
    from adaptag.cli.output import check_files
    from adaptag.cli.progress import byte_bar
    from adaptag.corpus.columns import ColumnFormat, column_parts, no_sentence
    from adaptag.decoding.model import Model
    from adaptag.parallel import part_size

    if marginals and nbest > 1:
        raise ParameterError("--marginals cannot be combined with --nbest")
    check_files({"--output": output}, {"INPUT": data, "--model": model})
    file_format = ColumnFormat(separator, comment, skip_docstart)
    tagger = Model.load(model)
    if tagger.index.template.attributes:
        if marginals or nbest > 1:
            raise ParameterError("--marginals and --nbest are for models of columns")
        with output_stream(output) as out:
            out.write(_tag_attributes(tagger, data, legal, threads))
        return
    size = data.stat().st_size if data.is_file() else None
    parts = column_parts(data, file_format, part_size(size, threads))
    tag_one = functools.partial(_tag_part, tagger, marginals, nbest, legal)
    with output_stream(output) as out, byte_bar("tagging") as bar:
        task = bar.add_task("", total=size)
        if not write_ordered(out, tag_one, parts, threads, lambda n: bar.advance(task, n)):
            raise no_sentence(data)


def _tag_part(
    model: Model, marginals: bool, nbest: int, legal: str | None, part: ColumnPart
) -> tuple[bytes, int]:
    """The output for a part of the input, and the size of the part."""
    corpus = part.parse()
    return _tag_corpus(model, marginals, nbest, legal, corpus), len(part.data)


def _tag_corpus(
    model: Model, marginals: bool, nbest: int, legal: str | None, corpus: ColumnCorpus
) -> bytes:
    if len(corpus) == 0:
        return b""
    if nbest > 1:
        return b"".join(_n_best_blocks(model, corpus, nbest, legal))
    labels = model.tag_corpus(corpus, legal, threads=1)
    if not marginals:
        return corpus.with_label(labels, model.labels)
    table = model.marginals_corpus(corpus, legal, threads=1)
    probabilities = table[range(len(labels)), labels]
    return corpus.with_label(labels, model.labels, probabilities)


def _n_best_blocks(
    model: Model, corpus: ColumnCorpus, n: int, legal: str | None
) -> Iterator[bytes]:
    import numpy as np

    for sentence, (paths, scores) in enumerate(model.nbest_corpus(corpus, n, legal, threads=1)):
        tokens = corpus.sentence(sentence)
        for rank, (path, p) in enumerate(zip(paths, np.exp(scores), strict=True)):
            yield f"# {rank} {p:.6f}\n".encode()
            yield tokens.with_label(path, model.labels)


def _tag_attributes(model: Model, data: Path, legal: str | None, threads: int | None) -> bytes:
    from adaptag.corpus.attributes import AttributeCorpus

    corpus = AttributeCorpus.read(data)
    names = [model.labels[y] for y in model.tag_corpus(corpus, legal, threads)]
    bounds = corpus.sentences.tolist()
    blocks = ("\n".join(names[a:b]) for a, b in itertools.pairwise(bounds))
    return ("\n\n".join(blocks) + "\n\n").encode()
