"""``adaptag encode``: a column file in, an encoded dataset out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adaptag.cli.options import (
    CommentOption,
    DocstartOption,
    EdgeCutoffOption,
    EdgeShareOption,
    FormatOption,
    RichEdgesOption,
    SeparatorOption,
    TemplateOption,
    file_format,
)

__all__ = ["encode"]


def encode(
    data: Annotated[Path, typer.Argument(metavar="TRAIN", help="Labelled column file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The dataset file to write.")],
    template: TemplateOption = None,
    cutoff: Annotated[int, typer.Option(min=1, help="Leave out rarer features.")] = 1,
    rich_edges: RichEdgesOption = False,
    edge_cutoff: EdgeCutoffOption = 1,
    edge_share: EdgeShareOption = 1.0,
    format: FormatOption = "columns",  # noqa: A002
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
) -> None:
    """Encode a training file once, to train on it many times: adaptag train DATASET …."""
    from adaptag import api
    from adaptag.cli.progress import working
    from adaptag.storage.files import check_writable

    written = file_format(format, separator, comment, skip_docstart)
    check_writable(output)
    with working(f"reading {data}"):
        dataset = api.encode(
            data,
            template=template,
            cutoff=cutoff,
            rich_edges=rich_edges,
            edge_cutoff=edge_cutoff,
            edge_share=edge_share,
            format=written,
        )
    dataset.save(output)
    typer.echo(
        f"{output}: {len(dataset):,} sentences, {dataset.n_tokens:,} tokens, "
        f"{dataset.index.n_predicates:,} features",
        err=True,
    )
