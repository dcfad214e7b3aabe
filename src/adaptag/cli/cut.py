"""``adaptag segment cut``: text in, words out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adaptag.cli.arguments import argument, option
from adaptag.cli.cluster import BlockSizeOption, FolderOption, OnCluster, SkipBadOption
from adaptag.cli.options import ClusterOption, EncodingOption, ThreadsOption
from adaptag.cli.output import output_stream
from adaptag.cli.segmenters import (
    DictionaryFormatOption,
    DictionaryOption,
    add_words,
    inputs_of,
)
from adaptag.errors import ParameterError
from adaptag.storage.ready import WORDS

if TYPE_CHECKING:
    from adaptag.corpus.text import TextPart
    from adaptag.ray.work import Work
    from adaptag.segmentation.segmenter import Segmenter
    from adaptag.segmentation.traditional import TraditionalCutter

__all__ = ["cut"]


def cut(
    data: Annotated[
        list[str],
        argument(
            metavar="TEXT",
            help="Plain text (.gz, .xz; - for stdin). With --cluster: files, folders and patterns, "
            "also JSON lines and Parquet.",
        ),
    ],
    model: Annotated[
        Path | None,
        option(
            "--model",
            "-m",
            help="The model file, or the name of a ready model.",
            show_default=WORDS,
        ),
    ] = None,
    output: FolderOption = None,
    dictionary: DictionaryOption = None,
    dictionary_format: DictionaryFormatOption = "auto",
    separator: Annotated[str, option(help="What to write between words.")] = " ",
    probabilities: Annotated[
        bool,
        option("--probabilities", help="One word per line, a tab, the word's probability."),
    ] = False,
    search: Annotated[
        bool, option("--search", help="Also the known words in longer words, before these.")
    ] = False,
    tagger: Annotated[
        Path | None,
        option(help="Write word/TAG, by this model of parts of speech; zh-pos has its words."),
    ] = None,
    traditional: Annotated[
        bool,
        option("--traditional", help="The text is Traditional Chinese, the model Simplified."),
    ] = False,
    threads: ThreadsOption = None,
    encoding: EncodingOption = None,
    cluster: ClusterOption = None,
    skip_bad: SkipBadOption = False,
    block_size: BlockSizeOption = None,
) -> None:
    """Cut text into words: the same lines, with spaces between the words.

    Files of any size are read in parts, which are cut on all cores; what comes in from a pipe is
    cut line by line, as soon as it is there. Lines may be of any length. On a cluster, the output
    is a folder of parts in the order of the input.
    """
    from adaptag.cli.output import check_files
    from adaptag.cli.progress import byte_bar
    from adaptag.corpus.text import text_parts
    from adaptag.parallel import part_size, write_ordered
    from adaptag.segmentation.segmenter import Segmenter
    from adaptag.storage.encodings import with_encoding

    on_cluster = OnCluster(cluster, threads, skip_bad, block_size)
    model, tagger = _models(model, tagger)
    if probabilities + search + (tagger is not None) > 1:
        raise ParameterError("choose one of --probabilities, --search and parts of speech")
    if cluster is not None:
        if search or tagger is not None or traditional or encoding is not None:
            raise ParameterError(
                "--search, --tagger, --traditional and --encoding cannot be combined with --cluster"
            )
        given: Path | Segmenter = model
        if dictionary:
            given = Segmenter.load(model)
            add_words(given, dictionary, dictionary_format)
        on_cluster.run(lambda: _work(separator, probabilities), data, given, output)
        return
    path = on_cluster.one_input(data, "TEXT")
    check_files({"--output": output}, inputs_of(path, model, dictionary))
    loaded = Segmenter.load(model)
    segmenter = loaded.for_traditional() if traditional else loaded
    add_words(segmenter, dictionary, dictionary_format)
    cut_part = _cutting(
        segmenter,
        tagger,
        separator,
        probabilities=probabilities,
        search=search,
    )
    size = path.stat().st_size if path.is_file() else None
    parts = text_parts(with_encoding(path, encoding), part_size(size, threads))
    with output_stream(output) as out, byte_bar("cutting") as bar:
        task = bar.add_task("", total=size)
        write_ordered(
            out,
            lambda part: (cut_part(part), len(part.data)),
            parts,
            threads,
            lambda n: bar.advance(task, n),
        )


def _models(model: Path | None, tagger: Path | None) -> tuple[Path, Path | None]:
    """The model that cuts, and the one that tags: a ready tagger has a ready segmenter."""
    from adaptag.loading import segmenter_of

    words = None if model is None else segmenter_of(model)
    if words is not None and tagger is None:
        return Path(words), model
    return model or Path(WORDS), tagger


def _cutting(
    segmenter: Segmenter | TraditionalCutter,
    tagger: Path | None,
    separator: str,
    *,
    probabilities: bool,
    search: bool,
) -> Callable[[TextPart], bytes]:
    """What is done with each part of the text."""
    if tagger is None:
        return functools.partial(
            segmenter.cut_part, separator=separator, probabilities=probabilities, search=search
        )
    from adaptag.decoding.model import Model
    from adaptag.segmentation.word_tagger import WordTagger

    return functools.partial(
        WordTagger(segmenter, Model.load(tagger)).cut_part, separator=separator
    )


def _work(separator: str, probabilities: bool) -> Work:
    from adaptag.ray.work import Cutting

    return Cutting(separator=separator, probabilities=probabilities)
