"""``adaptag learn``: a model goes on learning from a stream."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adaptag.cli.options import (
    EVERY,
    CommentOption,
    DocstartOption,
    EveryOption,
    FollowOption,
    LogOption,
    MaxFeaturesOption,
    SeparatorOption,
    file_format,
)
from adaptag.cli.output import say
from adaptag.errors import ParameterError

if TYPE_CHECKING:
    from adaptag.corpus.columns import ColumnFormat
    from adaptag.streams.trainer import StreamTrainer

__all__ = ["learn", "learn_from"]

PART = 1 << 20  # bytes that are read at a time


def learn(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The model that learns.")],
    stream: Annotated[
        Path,
        typer.Option(help="Labelled column file (.gz, .xz; - for stdin), learned as it comes in."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to save it.", show_default="in its place"),
    ] = None,
    every: EveryOption = EVERY,
    max_features: MaxFeaturesOption = None,
    follow: FollowOption = False,
    log: LogOption = None,
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
) -> None:
    """Let a model go on learning, sentence by sentence, from a stream of any length.

    Each sentence is tagged before it is learned: the score is that of data the model has not seen.
    New labels and features are added. The model is saved again and again, written beside its place
    and renamed into it, so that it can be used all the time. Ctrl-C saves it a last time.
    """
    from adaptag.decoding.model import Model
    from adaptag.storage.files import check_writable
    from adaptag.streams.trainer import StreamTrainer

    written = file_format("columns", separator, comment, skip_docstart)
    target = output or model
    for path in filter(None, [target, log]):
        check_writable(path)
    trainer = StreamTrainer(Model.load(model), max_features=max_features)
    learn_from(stream, target, trainer, format=written, every=every, follow=follow, log=log)


def learn_from(
    data: Path,
    model: Path,
    trainer: StreamTrainer,
    *,
    format: ColumnFormat | str,  # noqa: A002
    every: int,
    follow: bool,
    log: Path | None,
) -> None:
    """Learn from a column file to its end, or without end, saving the model every so often."""
    from adaptag.cli.progress import streaming
    from adaptag.corpus.columns import ColumnCorpus

    if isinstance(format, str):
        raise ParameterError(f"a stream of {format} cannot be read; allowed: columns")
    begin, saved = time.perf_counter(), 0
    parts = ColumnCorpus.read_parts(data, format, PART, follow=follow)
    with streaming(log) as tell:
        try:
            for part in parts:
                trainer.learn(part)
                done = trainer.progress.sentences
                if done - saved >= every:
                    trainer.model().save(model)
                    saved = done
                    tell(trainer.progress, saved=True)
                else:
                    tell(trainer.progress, saved=False)
        except KeyboardInterrupt:
            say("interrupted: what was learned so far is kept")
        progress = trainer.progress
        if progress.sentences > saved or not saved:
            trainer.model().save(model)
            tell(progress, saved=True)
    say(
        f"{model}: {progress.sentences:,} sentences, {progress.tokens:,} tokens, "
        f"{progress.features:,} features, score before learning {progress.score.score:.2f}, "
        f"{model.stat().st_size / 1e6:.1f} MB, {time.perf_counter() - begin:.2f} s"
    )
