"""``adaptag train``: a column file in, a model file out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from adaptag.cli.options import (
    EVERY,
    AlgorithmOption,
    CommentOption,
    ConvergeOption,
    DevOption,
    DocstartOption,
    EdgeCutoffOption,
    EdgeShareOption,
    EveryOption,
    FollowOption,
    FormatOption,
    HashBitsOption,
    LogOption,
    MaxFeaturesOption,
    PassesOption,
    PatienceOption,
    RichEdgesOption,
    SeedOption,
    SeparatorOption,
    TemplateOption,
    file_format,
)
from adaptag.cli.output import say
from adaptag.cli.parameters import given_parameters, with_parameters
from adaptag.errors import ParameterError

__all__ = ["train"]


@with_parameters
def train(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="TRAIN",
            help="Labelled column file (.gz, .xz; - for stdin), or encoded dataset.",
        ),
    ],
    model: Annotated[Path, typer.Option("--model", "-m", help="The model file to write.")],
    template: TemplateOption = None,
    dev: DevOption = None,
    algorithm: AlgorithmOption = None,
    passes: PassesOption = None,
    patience: PatienceOption = 5,
    converge: ConvergeOption = False,
    seed: SeedOption = None,
    cutoff: Annotated[int, typer.Option(min=1, help="Leave out rarer features.")] = 1,
    rich_edges: RichEdgesOption = False,
    edge_cutoff: EdgeCutoffOption = 1,
    edge_share: EdgeShareOption = 1.0,
    hash_bits: HashBitsOption = None,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream", help="Learn in one pass over a stream of any length; see adaptag learn."
        ),
    ] = False,
    max_features: MaxFeaturesOption = None,
    every: EveryOption = EVERY,
    follow: FollowOption = False,
    start: Annotated[
        Path | None,
        typer.Option("--from", help="Start from this model; new features and labels are added."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Go on from this checkpoint, on the same data, for --passes more."),
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Keep the state of training here, for --resume.")
    ] = None,
    log: LogOption = None,
    format: FormatOption = "columns",  # noqa: A002
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
    **parameters: float | str | None,
) -> None:
    """Train a model on a column file: one token a line, the label in the last column.

    Standard input is read to its end before training starts; with --stream it is learned as it
    comes in. Ctrl-C stops training and saves the model reached so far.
    """
    from adaptag import api
    from adaptag.cli.learn import learn_from
    from adaptag.cli.progress import log_end, tell_outcome, watched, working
    from adaptag.decoding.model import Model
    from adaptag.storage.files import check_writable
    from adaptag.streams.trainer import StreamTrainer

    written = file_format(format, separator, comment, skip_docstart)
    given = given_parameters(algorithm, parameters)
    for_all_data = {
        "--dev": dev,
        "--passes": passes,
        "--converge": converge,
        "--cutoff": cutoff != 1,
        "--rich-edges": rich_edges,
        "--edge-cutoff": edge_cutoff != 1,
        "--edge-share": edge_share != 1,
        "--seed": seed is not None,
        "--from": start,
        "--resume": resume,
        "--checkpoint": checkpoint,
    }
    for_streams = {"--max-features": max_features, "--follow": follow, "--every": every != EVERY}
    for option, wanted in (for_all_data if stream else for_streams).items():
        if wanted:
            raise ParameterError(f"{option} {'has no place with' if stream else 'needs'} --stream")
    for path in filter(None, [model, log, checkpoint]):
        check_writable(path)
    if stream:
        learn_from(
            data,
            model,
            StreamTrainer(
                template,
                algorithm=algorithm,
                max_features=max_features,
                hash_bits=hash_bits,
                parameters=given,
            ),
            format=written,
            every=every,
            follow=follow,
            log=log,
        )
        return
    origin = None if start is None else Model.load(start)
    begin = time.perf_counter()
    with working(f"reading {data}"):
        dataset = api.encode(
            data,
            template=template,
            cutoff=cutoff,
            rich_edges=rich_edges,
            edge_cutoff=edge_cutoff,
            edge_share=edge_share,
            hash_bits=hash_bits,
            start=origin,
            format=written,
        )
    encoded = time.perf_counter()
    say(
        f"{len(dataset):,} sentences, {dataset.n_tokens:,} tokens, "
        f"{len(dataset.label_names)} labels, {dataset.index.n_predicates:,} features, "
        f"read in {encoded - begin:.2f} s"
    )
    with watched(log) as callbacks:
        result = api.train(
            dataset,
            dev=dev,
            algorithm=algorithm,
            passes=passes,
            patience=patience,
            converge=converge,
            seed=seed,
            start=origin,
            resume=resume,
            checkpoint=checkpoint,
            format=written,
            callbacks=callbacks,
            **given,
        )
        result.save(model)
        seconds = time.perf_counter() - begin
        log_end(callbacks, {"seconds": seconds, **result.provenance, "model": str(model)})
    tell_outcome(result.provenance)
    say(f"{model}: {model.stat().st_size / 1e6:.1f} MB, {seconds:.2f} s in all")
