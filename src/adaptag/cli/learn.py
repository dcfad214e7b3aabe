"""``adaptag learn``: continue training a model on a stream."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from adaptag.cli.arguments import argument, option
from adaptag.cli.options import (
    SAVE_EVERY,
    CommentOption,
    DocstartOption,
    EncodingOption,
    FollowOption,
    LogOption,
    SaveEveryOption,
    SeparatorOption,
    file_format,
)
from adaptag.cli.output import end_interrupted, file_size, say
from adaptag.cli.settings import with_settings
from adaptag.errors import ParameterError, counted
from adaptag.streams.settings import StreamSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adaptag.corpus.columns import ColumnCorpus, ColumnFormat
    from adaptag.storage.files import PathLike
    from adaptag.streams.trainer import StreamTrainer

__all__ = ["learn", "learn_from"]

PART = 1 << 20  # bytes that are read at a time


@with_settings(StreamSettings)
def learn(
    model: Annotated[Path, argument(metavar="MODEL", help="The model that learns.")],
    stream: Annotated[
        Path,
        option(help="Labelled column file (.gz, .xz; - for stdin), learned as it comes in."),
    ],
    output: Annotated[
        Path | None,
        option("--output", "-o", help="Where to save it.", show_default="in its place"),
    ] = None,
    every: SaveEveryOption = SAVE_EVERY,
    follow: FollowOption = False,
    log: LogOption = None,
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
    encoding: EncodingOption = None,
    **options: Any,
) -> None:
    """Continue training a model, sentence by sentence, on a stream of any length.

    Each sentence is tagged before it is learned: the score is that of data the model has not seen.
    New labels and features are added. The model is saved periodically and atomically, so that it
    can be used all the time. Ctrl-C and SIGTERM save it a last time.
    """
    from adaptag.cli.output import check_files
    from adaptag.decoding.model import Model
    from adaptag.storage.encodings import with_encoding
    from adaptag.streams.trainer import StreamTrainer

    if follow and encoding is not None:
        raise ParameterError("--encoding cannot be combined with --follow, which reads UTF-8")
    file = file_format("auto", separator, comment, skip_docstart)
    target = output or model
    check_files({"--output": target, "--log": log}, {"--stream": stream})
    trainer = StreamTrainer(Model.load(model), **options)
    learn_from(
        with_encoding(stream, encoding),
        target,
        trainer,
        format=file,
        every=every,
        follow=follow,
        log=log,
    )


def learn_from(
    data: PathLike,
    model: Path,
    trainer: StreamTrainer,
    *,
    format: ColumnFormat | str,  # noqa: A002
    every: int,
    follow: bool,
    log: Path | None,
) -> None:
    """Learn from a column file to its end, or without end, saving the model periodically."""
    from adaptag.cli.progress import streaming
    from adaptag.corpus.columns import ColumnCorpus, ColumnFormat
    from adaptag.corpus.data import format_of
    from adaptag.training.interrupts import Interrupts

    name = format if isinstance(format, str) else format_of(data)
    if name not in (None, "columns"):
        raise ParameterError(f"a stream of {name} cannot be read; allowed: columns")
    columns = format if isinstance(format, ColumnFormat) else None
    begin, saved = time.perf_counter(), 0
    parts = ColumnCorpus.read_parts(data, columns, PART, follow=follow)
    interrupted = False
    with streaming(log) as show:
        try:
            for part in parts:
                for piece in _pieces(part, trainer, every):
                    with Interrupts() as interrupts:
                        trainer.learn(piece)
                        done = trainer.progress.sentences
                        if done % every == 0:
                            trainer.model().save(model)
                            saved = done
                        show(trainer.progress, saved=saved == done)
                        interrupts.check()
        except KeyboardInterrupt:
            interrupted = True
        progress = trainer.progress
        if not progress.sentences and interrupted:
            end_interrupted(" before anything was learned: no model was saved")
        if progress.sentences > saved or not saved:
            with Interrupts():
                trainer.model().save(model)
            show(progress, saved=True)
    say(
        f"{model}: {counted(progress.sentences, 'sentence')}, {counted(progress.tokens, 'token')}, "
        f"{progress.features:,} features, {progress.score.metric} before learning "
        f"{progress.score.score:.2f}, {file_size(model)}, "
        f"{time.perf_counter() - begin:.2f} s"
    )
    if interrupted:
        end_interrupted(f": what was learned so far is saved in {model}")


def _pieces(part: ColumnCorpus, trainer: StreamTrainer, every: int) -> Iterator[ColumnCorpus]:
    """Cut a part of a stream where the number of sentences becomes a multiple of ``every``."""
    import numpy as np

    begin = 0
    while begin < len(part):
        end = min(len(part), begin + every - trainer.progress.sentences % every)
        whole = begin == 0 and end == len(part)
        yield part if whole else part.select(np.arange(begin, end))
        begin = end
