"""``adaptag encode``: a column file in, an encoded dataset out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from adaptag.cli.arguments import argument, option
from adaptag.cli.options import (
    CommentOption,
    DocstartOption,
    EncodingOption,
    FormatOption,
    SeparatorOption,
    ThreadsOption,
    file_format,
)
from adaptag.cli.output import say
from adaptag.cli.settings import with_settings
from adaptag.errors import counted
from adaptag.features.settings import FeatureSettings

__all__ = ["encode"]


@with_settings(FeatureSettings)
def encode(
    data: Annotated[Path, argument(metavar="TRAIN", help="Labelled column file.")],
    output: Annotated[Path, option("--output", "-o", help="The dataset file to write.")],
    format: FormatOption = "auto",  # noqa: A002
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
    encoding: EncodingOption = None,
    threads: ThreadsOption = None,
    **options: Any,
) -> None:
    """Encode a training file once, to train on it many times: adaptag train DATASET …."""
    from adaptag import api
    from adaptag.cli.output import check_files
    from adaptag.cli.progress import working

    file = file_format(format, separator, comment, skip_docstart)
    check_files({"--output": output}, {"TRAIN": data, "--template": options.get("template")})
    if "tokenizer" in options:
        from adaptag.loading import load_tokenizer

        options["tokenizer"] = load_tokenizer(options["tokenizer"])
    with working(f"reading {data}"):
        dataset = api.encode(data, format=file, encoding=encoding, threads=threads, **options)
    dataset.save(output)
    say(
        f"{output}: {counted(len(dataset), 'sentence')}, {counted(dataset.n_tokens, 'token')}, "
        f"{counted(dataset.index.n_predicates, 'feature')}"
    )
