"""``adaptag train``: a column file in, a model file out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

from adaptag.cli.arguments import argument, option
from adaptag.cli.options import (
    SAVE_EVERY,
    CommentOption,
    DevOption,
    DocstartOption,
    FollowOption,
    FormatOption,
    LogOption,
    NewModelOption,
    SaveEveryOption,
    SeparatorOption,
    file_format,
)
from adaptag.cli.output import say
from adaptag.cli.settings import given_parameters, with_settings
from adaptag.errors import ParameterError
from adaptag.features.settings import FeatureSettings
from adaptag.settings import split_options
from adaptag.streams.settings import StreamSettings
from adaptag.training.settings import LabelSettings, TaggingSettings, parameter_names

__all__ = ["train"]

STREAM_OPTIONS = (
    "template",
    "hash_bits",
    "algorithm",
    "legal",
    *LabelSettings.declared(),
)  # that --stream takes as well


@with_settings(FeatureSettings, TaggingSettings, StreamSettings, parameters=True)
def train(
    data: Annotated[
        Path,
        argument(
            metavar="TRAIN",
            help="Labelled column file (.gz, .xz; - for stdin), or encoded dataset.",
        ),
    ],
    model: NewModelOption,
    dev: DevOption = None,
    stream: Annotated[
        bool,
        option(
            "--stream", help="Learn in one pass over a stream of any length; see adaptag learn."
        ),
    ] = False,
    every: SaveEveryOption = SAVE_EVERY,
    follow: FollowOption = False,
    start: Annotated[
        Path | None,
        option("--from", help="Start from this model; new features and labels are added."),
    ] = None,
    resume: Annotated[
        Path | None,
        option(help="Continue from this checkpoint, on the same data, for --passes more."),
    ] = None,
    checkpoint: Annotated[
        Path | None, option(help="Keep the state of training here, for --resume.")
    ] = None,
    log: LogOption = None,
    format: FormatOption = "columns",  # noqa: A002
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
    **options: Any,
) -> None:
    """Train a model on a column file: one token per line, the label in the last column.

    Standard input is read to its end before training starts; with --stream it is learned as it
    comes in. Ctrl-C stops training and saves the model reached so far.
    """
    from adaptag import api
    from adaptag.cli.output import check_files
    from adaptag.cli.progress import working
    from adaptag.cli.training import train_and_save
    from adaptag.corpus.chunks import ChunkScheme
    from adaptag.decoding.model import Model

    file = file_format(format, separator, comment, skip_docstart)
    features, training, streaming, parameters = split_options(
        options, FeatureSettings, TaggingSettings, StreamSettings, also=parameter_names()
    )
    algorithm_parameters = given_parameters(training.get("algorithm"), parameters)
    _check_mode(
        stream,
        {**features, **training},
        {"dev": dev, "from": start, "resume": resume, "checkpoint": checkpoint},
        {**streaming, "follow": follow or None, "every": every if every != SAVE_EVERY else None},
    )
    template = features.get("template")
    check_files(
        {"--model": model, "--log": log, "--checkpoint": checkpoint},
        {"TRAIN": data, "--dev": dev, "--template": template},
    )
    if stream:
        from adaptag.cli.learn import learn_from
        from adaptag.streams.trainer import StreamTrainer

        trainer = StreamTrainer(
            template,
            algorithm=training.get("algorithm"),
            hash_bits=features.get("hash_bits"),
            legal=training.get("legal"),
            **{name: training[name] for name in LabelSettings.declared() if name in training},
            parameters=algorithm_parameters,
            **streaming,
        )
        learn_from(data, model, trainer, format=file, every=every, follow=follow, log=log)
        return
    origin = None if start is None else Model.load(start)
    begin = time.perf_counter()
    with working(f"reading {data}"):
        dataset = api.encode(
            data, start=origin, format=file, threads=training.get("threads"), **features
        )
    say(
        f"{len(dataset):,} sentences, {dataset.n_tokens:,} tokens, "
        f"{len(dataset.label_names)} labels, {dataset.index.n_predicates:,} features, "
        f"read in {time.perf_counter() - begin:.2f} s"
    )
    others = ChunkScheme(dataset.label_names).other_labels
    if others and ChunkScheme(dataset.label_names).chunked:
        say(f"note: most labels mark chunks; the others count as O: {', '.join(others)}")
    train_and_save(
        lambda callbacks: api.train(
            dataset,
            dev=dev,
            start=origin,
            resume=resume,
            checkpoint=checkpoint,
            format=file,
            callbacks=callbacks,
            **training,
            **algorithm_parameters,
        ),
        model,
        log=log,
        begin=begin,
        provenance=lambda trained: trained.provenance,
        summary=lambda _: "",
    )


def _check_mode(
    stream: bool,
    settings: dict[str, Any],
    for_all_data: dict[str, Any],
    for_streams: dict[str, Any],
) -> None:
    """Refuse options of training on all data with ``--stream``, and the other way round."""
    refused = for_streams
    if stream:
        others = {name: value for name, value in settings.items() if name not in STREAM_OPTIONS}
        refused = {**others, **for_all_data}
    for name, value in refused.items():
        if value is not None:
            how = "cannot be combined with" if stream else "needs"
            raise ParameterError(f"--{name.replace('_', '-')} {how} --stream")
