"""``adaptag tag``: columns in, the same columns and a label out; or text in, spans out."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated

from adaptag.cli.arguments import argument, option
from adaptag.cli.cluster import (
    BlockSizeOption,
    FolderOption,
    OnCluster,
    SkipBadOption,
)
from adaptag.cli.options import (
    ClusterOption,
    CommentOption,
    ConstraintsOption,
    DocstartOption,
    EncodingOption,
    LegalOption,
    ModelOption,
    SeparatorOption,
    ThreadsOption,
    TokenizerOption,
    read_constraints,
)
from adaptag.cli.output import output_stream
from adaptag.errors import ParameterError

if TYPE_CHECKING:
    from adaptag.corpus.columns import ColumnFormat, ColumnPart
    from adaptag.decoding.model import Model
    from adaptag.decoding.tagged import TagOptions
    from adaptag.ray.work import Work
    from adaptag.storage.files import PathLike

__all__ = ["tag"]


def tag(
    data: Annotated[
        list[str],
        argument(
            metavar="INPUT",
            help="Column file, text with --text, or JSON lines (.jsonl) (.gz, .xz; - for stdin). "
            "With --cluster: files, folders and patterns, also JSON lines and Parquet.",
        ),
    ],
    model: ModelOption,
    output: FolderOption = None,
    text: Annotated[
        bool,
        option("--text", help="The input is raw text, each line a text; the output is JSON lines."),
    ] = False,
    json_lines: Annotated[
        bool,
        option(
            "--json-lines",
            help="The input is JSON lines with a field text, as where its name ends in .jsonl.",
        ),
    ] = False,
    tokenizer: TokenizerOption = None,
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
    output_format: Annotated[
        str,
        option(
            metavar="columns|crf++|crf++-v1|crf++-v2|wapiti|wapiti-scores",
            help="Print as crf_test (-v1, -v2) or wapiti label (-p -s) does, for column files.",
        ),
    ] = "columns",
    show: Annotated[
        bool,
        option("--show", help="Print sentences with coloured spans and their probabilities."),
    ] = False,
    legal: LegalOption = None,
    constraints: ConstraintsOption = None,
    threads: ThreadsOption = None,
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
    encoding: EncodingOption = None,
    cluster: ClusterOption = None,
    skip_bad: SkipBadOption = False,
    block_size: BlockSizeOption = None,
) -> None:
    """Tag a file: the input's columns, and the predicted label as the last one.

    Files of any size are read in parts, which are tagged on all cores; what comes in from a pipe is
    tagged sentence by sentence, as soon as it is there. For a model of attributes only the labels
    are written. On a cluster, the output is a folder of parts in the order of the input.

    Raw text is cut into tokens as in training. Each line of the output is a JSON object: the text,
    its spans [start, end, label], and their probabilities.
    """
    from adaptag.cli.output import check_files
    from adaptag.cli.progress import byte_bar
    from adaptag.corpus.columns import ColumnFormat, column_parts, no_sentence
    from adaptag.corpus.data import format_of
    from adaptag.decoding.model import Model
    from adaptag.decoding.tagged import COLUMNS, TagOptions
    from adaptag.parallel import part_size, write_ordered
    from adaptag.storage.encodings import with_encoding

    options = TagOptions(marginals, nbest, legal, read_constraints(constraints), output_format)
    file_format = ColumnFormat(separator, comment, skip_docstart)
    on_cluster = OnCluster(cluster, threads, skip_bad, block_size)
    if text and json_lines:
        raise ParameterError("--text cannot be combined with --json-lines")
    if show and (output is not None or cluster is not None):
        raise ParameterError("--show cannot be combined with --output or --cluster")
    if cluster is not None:
        if text or json_lines or tokenizer is not None or encoding is not None:
            raise ParameterError(
                "--text, --json-lines, --tokenizer and --encoding cannot be combined with --cluster"
            )
        on_cluster.run(lambda: _work(options, file_format), data, model, output)
        return
    path = on_cluster.one_input(data, "INPUT")
    from_json = json_lines or (not text and format_of(path) == "jsonl")
    if output_format != COLUMNS and (text or from_json or show):
        raise ParameterError("--output-format is for column files that are written")
    for_columns = {
        "--separator": separator != "auto",
        "--comment": comment,
        "--skip-docstart": skip_docstart,
    }
    for name, given in for_columns.items():
        if given and (text or from_json):
            raise ParameterError(f"{name} is for column files")
    if tokenizer is not None and not (text or from_json):
        raise ParameterError("--tokenizer needs --text or JSON lines")
    if show and not (text or from_json):
        from adaptag.cli.show import show_columns

        show_columns(with_encoding(path, encoding), model, options, file_format)
        return
    check_files({"--output": output}, {"INPUT": path, "--model": model})
    source, size = with_encoding(path, encoding), path.stat().st_size if path.is_file() else None
    tagger = Model.load(model)
    options.check(tagger)
    if text or from_json:
        from adaptag.cli.tag_text import TextTagger
        from adaptag.loading import load_tokenizer

        cutter = load_tokenizer(tokenizer, model)
        text_tagger = TextTagger(tagger, options, cutter, json_lines=from_json)
        if show:
            from adaptag.cli.show import labels_of, show_texts

            show_texts(text_tagger.texts(source), labels_of(tagger))
            return
        with output_stream(output) as out:
            text_tagger.write(source, out, threads, size)
        return
    if tagger.index.template.attributes:
        with output_stream(output) as out:
            out.write(_tag_attributes(tagger, options, source, threads))
        return
    parts = column_parts(source, file_format, part_size(size, threads))
    tag_one = functools.partial(_tag_part, tagger, options)
    with output_stream(output) as out, byte_bar("tagging") as bar:
        task = bar.add_task("", total=size)
        if not write_ordered(out, tag_one, parts, threads, lambda n: bar.advance(task, n)):
            raise no_sentence(path)


def _work(options: TagOptions, file_format: ColumnFormat) -> Work:
    from adaptag.ray.work import Tagging

    return Tagging(options, file_format)


def _tag_part(model: Model, options: TagOptions, part: ColumnPart) -> tuple[bytes, int]:
    """The output for a part of the input, and the size of the part."""
    from adaptag.decoding.tagged import tagged_columns

    return tagged_columns(model, options, part.parse()), len(part.data)


def _tag_attributes(
    model: Model, options: TagOptions, data: PathLike, threads: int | None
) -> bytes:
    from adaptag.corpus.attributes import AttributeCorpus
    from adaptag.decoding.tagged import tagged_attributes

    return tagged_attributes(model, options, AttributeCorpus.read(data), threads)
