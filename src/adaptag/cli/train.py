"""``adaptag train``: a column file in, a model file out."""

from __future__ import annotations

import functools
import inspect
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from adaptag.cli.options import (
    CommentOption,
    DocstartOption,
    FormatOption,
    SeparatorOption,
    TemplateOption,
    file_format,
)
from adaptag.training.algorithms import Parameter, algorithms
from adaptag.training.algorithms import algorithm as find_algorithm

__all__ = ["train"]


def _type(parameter: Parameter) -> type:
    if parameter.choices or parameter.automatic:
        return str
    return int if parameter.integer else float


def _help(declared: list[tuple[str, Parameter]]) -> str:
    """What a parameter does, for each group of algorithms that say the same of it."""
    groups: dict[str, list[str]] = {}
    for user, p in declared:
        groups.setdefault(f"{p.help}; {p.bounds}, default {p.shown_default}", []).append(user)
    return ". ".join(f"{', '.join(users)}: {text}" for text, users in groups.items())


def _with_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command one option for each parameter that an algorithm declares."""
    users: dict[str, list[tuple[str, Parameter]]] = {}
    for algorithm in algorithms().values():
        for parameter in algorithm.parameters:
            users.setdefault(parameter.name, []).append((algorithm.name, parameter))
    signature = inspect.signature(command, eval_str=True)
    kept = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    added = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                _type(declared[0][1]) | None,
                typer.Option(
                    help=_help(declared),
                    metavar="CHOICE" if declared[0][1].choices else None,
                    show_default=False,
                    rich_help_panel="Parameters of the algorithm",
                ),
            ],
        )
        for name, declared in users.items()
    ]

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        command(**given)

    wrapped.__signature__ = signature.replace(parameters=kept + added)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in kept + added}
    return wrapped


@_with_parameters
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
    dev: Annotated[
        Path | None,
        typer.Option(help="Development file: scored after each pass, the best pass is kept."),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--algorithm",
            "-a",
            help=f"One of: {', '.join(algorithms())}. See: adaptag algorithms.",
            show_default="adf",
        ),
    ] = None,
    passes: Annotated[
        int | None,
        typer.Option(
            min=1, help="Passes over the data at most.", show_default="the algorithm's own"
        ),
    ] = None,
    patience: Annotated[
        int, typer.Option(min=1, help="With --dev: stop after so many passes without progress.")
    ] = 5,
    converge: Annotated[
        bool,
        typer.Option(
            "--converge",
            help="Stop when the scores of five passes, on the development file or else on the "
            "training file, differ by less than 0.01.",
        ),
    ] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Order of the sentences.", show_default="1")
    ] = None,
    cutoff: Annotated[int, typer.Option(min=1, help="Leave out rarer features.")] = 1,
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
    log: Annotated[Path | None, typer.Option(help="Write JSON lines to this file.")] = None,
    format: FormatOption = "columns",  # noqa: A002
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
    **parameters: float | str | None,
) -> None:
    """Train a model on a column file: one token a line, the label in the last column.

    Ctrl-C stops training and saves the model reached so far.
    """
    from adaptag import api
    from adaptag.cli.progress import JsonLog, watcher, working
    from adaptag.decoding.model import Model
    from adaptag.storage.files import check_writable

    written = file_format(format, separator, comment, skip_docstart)
    given: dict[str, Any] = {name: _number(v) for name, v in parameters.items() if v is not None}
    find_algorithm(algorithm or "adf").values(given)
    for path in filter(None, [model, log, checkpoint]):
        check_writable(path)
    origin = None if start is None else Model.load(start)
    begin = time.perf_counter()
    with working(f"reading {data}"):
        dataset = api.encode(data, template=template, cutoff=cutoff, start=origin, format=written)
    encoded = time.perf_counter()
    _say(
        f"{len(dataset):,} sentences, {dataset.n_tokens:,} tokens, "
        f"{len(dataset.label_names)} labels, {dataset.index.n_predicates:,} features, "
        f"read in {encoded - begin:.2f} s"
    )
    with ExitStack() as stack:
        callbacks: list[Any] = [stack.enter_context(watcher())]
        json_log = stack.enter_context(JsonLog(log)) if log else None
        callbacks += [json_log] if json_log else []
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
        if json_log:
            json_log.write("end", {"seconds": seconds, **result.provenance, "model": str(model)})
    outcome = result.provenance
    if outcome["stopped"] == "interrupt":
        _say("interrupted: the model reached so far is kept")
    if dev is not None and outcome["passes"]:
        best = outcome["passes"][outcome["best_pass"] - 1]
        _say(f"best development score {best['dev_score']:.2f}, in pass {outcome['best_pass']}")
    _say(f"{model}: {model.stat().st_size / 1e6:.1f} MB, {seconds:.2f} s in all")


def _number(value: float | str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
