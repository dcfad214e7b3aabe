"""``adaptag convert-labels``: a column file in, the same file with labels of another scheme out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from adaptag.cli.arguments import argument, option
from adaptag.cli.options import CommentOption, EncodingOption, OutputOption, SeparatorOption
from adaptag.corpus.settings import SCHEMES
from adaptag.settings import AUTO

__all__ = ["convert_labels"]

NAMES = ", ".join(SCHEMES)


def convert_labels(
    data: Annotated[Path, argument(metavar="FILE", help="Column file (.gz, .xz; - for stdin).")],
    to: Annotated[str, option("--to", help=f"The label scheme to write: {NAMES}.")],
    source: Annotated[
        str,
        option(
            "--from",
            help="The label scheme that the file must follow; auto: any, as conlleval reads it.",
        ),
    ] = AUTO,
    output: OutputOption = None,
    column: Annotated[
        int | None, option(min=1, help="The column of the labels.", show_default="the last one")
    ] = None,
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    encoding: EncodingOption = None,
) -> None:
    """Write the labels of a file in another scheme: the same chunks, other labels.

    All else stays as it is: other columns, comments, blank lines. Labels that mark no chunk stay as
    well, where most of the others do.
    """
    from adaptag.cli.output import check_files, output_stream
    from adaptag.corpus.columns import ColumnCorpus, ColumnFormat
    from adaptag.corpus.label_files import convert_column
    from adaptag.storage.encodings import with_encoding

    check_files({"--output": output}, {"FILE": data})
    file_format = ColumnFormat(separator, comment, skip_docstart=True)
    corpus = ColumnCorpus.read(with_encoding(data, encoding), file_format)
    text = convert_column(corpus, to, source, column)
    with output_stream(output) as out:
        out.write(text)
