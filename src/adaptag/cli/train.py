"""``adaptag train``: a column file in, a model file out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

from adaptag.cli.arguments import argument, option
from adaptag.cli.cluster import SkipBadOption
from adaptag.cli.options import (
    CHECKPOINTS,
    SAVE_EVERY,
    CheckpointOption,
    ClusterOption,
    CommentOption,
    DevOption,
    DocstartOption,
    EncodingOption,
    FollowOption,
    FormatOption,
    LogOption,
    NewModelOption,
    ResumeOption,
    SeparatorOption,
    file_format,
)
from adaptag.cli.output import say
from adaptag.cli.settings import given_parameters, with_settings
from adaptag.errors import ParameterError, counted
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
            help="Labelled column file, or texts with spans, such as JSON lines (.gz, .xz; - for "
            "stdin), or encoded dataset.",
        ),
    ],
    model: NewModelOption = None,
    dev: DevOption = None,
    stream: Annotated[
        bool,
        option(
            "--stream", help="Learn in one pass over a stream of any length; see adaptag learn."
        ),
    ] = False,
    follow: FollowOption = False,
    start: Annotated[
        Path | None,
        option("--from", help="Start from this model; new features and labels are added."),
    ] = None,
    checkpoint: CheckpointOption = None,
    every: Annotated[
        str | None,
        option(
            metavar="N|TIME",
            help="How often: a number of passes, or a time such as 30s, 5m or 2h. With a stream: "
            "save the model each time this many sentences are learned.",
            show_default=f"1m; with a stream {SAVE_EVERY}",
            panel=CHECKPOINTS,
        ),
    ] = None,
    resume: ResumeOption = None,
    workers: Annotated[
        int | None,
        option(
            min=1,
            help="Train with this many workers on a Ray cluster, each with a part of the data.",
            show_default="with --cluster one per CPU, else none",
        ),
    ] = None,
    cluster: ClusterOption = None,
    rounds: Annotated[
        int | None,
        option(
            min=1,
            help="With workers: how often their weights are mixed in a pass.",
            show_default="the square root of their number",
        ),
    ] = None,
    skip_bad: SkipBadOption = False,
    log: LogOption = None,
    format: FormatOption = "auto",  # noqa: A002
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
    encoding: EncodingOption = None,
    **options: Any,
) -> None:
    """Train a model on a column file: one token per line, the label in the last column.

    Standard input is read to its end before training starts; with --stream it is learned as it
    comes in. Ctrl-C and SIGTERM stop training and save the model reached so far.
    """
    from adaptag import api
    from adaptag.cli.output import check_files
    from adaptag.cli.progress import working
    from adaptag.cli.training import model_file, train_and_save
    from adaptag.corpus.chunks import ChunkScheme
    from adaptag.decoding.model import Model
    from adaptag.storage.encodings import with_encoding

    file = file_format(format, separator, comment, skip_docstart)
    features, training, streaming, parameters = split_options(
        options, FeatureSettings, TaggingSettings, StreamSettings, also=parameter_names()
    )
    algorithm_parameters = given_parameters(training.get("algorithm"), parameters)
    _check_mode(
        stream,
        {**features, **training},
        {"dev": dev, "from": start, "resume": resume, "checkpoint": checkpoint},
        {**streaming, "follow": follow or None},
    )
    if follow and encoding is not None:
        raise ParameterError("--encoding cannot be combined with --follow, which reads UTF-8")
    if "tokenizer" in features:
        from adaptag.loading import load_tokenizer

        features["tokenizer"] = load_tokenizer(features["tokenizer"])
    template = features.get("template")
    _check_every(every, stream, checkpoint)
    target = model_file(model, resume)
    check_files(
        {"--model": target, "--log": log, "--checkpoint": checkpoint},
        {"TRAIN": data, "--dev": dev, "--template": template},
    )
    on_cluster = workers is not None or cluster is not None
    _check_cluster(
        "--cluster" if workers is None else "--workers",
        on_cluster,
        {
            "stream": stream,
            "from": start,
            "format": format not in ("auto", "columns"),
            "encoding": encoding,
        },
        {"rounds": rounds, "skip-bad-blocks": skip_bad},
    )
    if on_cluster:
        from adaptag.corpus.columns import ColumnFormat
        from adaptag.ray import train as train_on_cluster

        train_and_save(
            lambda callbacks: train_on_cluster(
                str(data),
                workers=workers,
                cluster=cluster or "auto",
                rounds=rounds,
                dev=dev,
                resume=resume,
                checkpoint=checkpoint,
                every=every,
                format=ColumnFormat(separator, comment, skip_docstart),
                skip_bad=skip_bad,
                callbacks=callbacks,
                **features,
                **training,
                **algorithm_parameters,
            ),
            target,
            log=log,
            begin=time.perf_counter(),
            provenance=lambda trained: trained.provenance,
            summary=lambda trained: f"{trained.index.n_predicates:,} features, ",
            checkpoint=checkpoint,
        )
        return
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
        number = SAVE_EVERY if every is None else int(every)
        source = with_encoding(data, encoding)
        learn_from(source, target, trainer, format=file, every=number, follow=follow, log=log)
        return
    origin = None if start is None else Model.load(start)
    begin = time.perf_counter()
    with working(f"reading {data}"):
        dataset = api.encode(
            data,
            start=origin,
            format=file,
            encoding=encoding,
            threads=training.get("threads"),
            **features,
        )
    say(
        f"{counted(len(dataset), 'sentence')}, {counted(dataset.n_tokens, 'token')}, "
        f"{counted(len(dataset.label_names), 'label')}, "
        f"{counted(dataset.index.n_predicates, 'feature')}, "
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
            every=every,
            format=None if dev is None else file,
            encoding=None if dev is None else encoding,
            callbacks=callbacks,
            tokenizer=features.get("tokenizer"),
            **training,
            **algorithm_parameters,
        ),
        target,
        log=log,
        begin=begin,
        provenance=lambda trained: trained.provenance,
        summary=lambda _: "",
        checkpoint=checkpoint,
    )


def _check_every(every: str | None, stream: bool, checkpoint: Path | None) -> None:
    """Refuse a value of ``--every`` before anything is read."""
    if stream:
        if every is not None and (not every.isdecimal() or int(every) < 1):
            raise ParameterError(f"--every {every}; allowed with --stream: a number of sentences")
    else:
        from adaptag.cli.training import check_every

        check_every(every, checkpoint)


def _check_cluster(
    option: str,
    on_cluster: bool,
    for_one_machine: dict[str, Any],
    for_clusters: dict[str, Any],
) -> None:
    """Refuse options that workers do not have, and options of workers without them."""
    for name, value in (for_one_machine if on_cluster else for_clusters).items():
        if value:
            how = f"cannot be combined with {option}" if on_cluster else "needs --workers"
            raise ParameterError(f"--{name} {how}")


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
