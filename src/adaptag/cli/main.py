"""The subcommands of ``adaptag``, as typer has them."""

from __future__ import annotations

from typing import Annotated

import typer

from adaptag.cli import classify as documents
from adaptag.cli.algorithms import algorithms
from adaptag.cli.arguments import for_typer
from adaptag.cli.clusters import clusters
from adaptag.cli.compact import compact
from adaptag.cli.compare import compare, compare_command
from adaptag.cli.demo import demo
from adaptag.cli.encode import encode
from adaptag.cli.evaluate import evaluate
from adaptag.cli.inspect import inspect
from adaptag.cli.learn import learn
from adaptag.cli.output import interruptible
from adaptag.cli.program import run
from adaptag.cli.segment import segment
from adaptag.cli.tag import tag
from adaptag.cli.train import train
from adaptag.cli.tune import tune, tune_command
from adaptag.experiments.declarations import CLASSIFICATION

__all__ = ["app", "run"]

app = typer.Typer(
    help="Train taggers in seconds: CRFs with feature-frequency-adaptive online learning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    train,
    tune,
    tag,
    evaluate,
    compare,
    learn,
    inspect,
    compact,
    encode,
    clusters,
    algorithms,
    demo,
)
for command in COMMANDS:
    app.command()(command)
classify = typer.Typer(
    name="classify",
    help="Classification of documents: train a classifier, classify, score.",
    no_args_is_help=True,
)
for command in (
    compare_command(CLASSIFICATION),
    tune_command(CLASSIFICATION),
    documents.train,
    documents.predict,
    documents.evaluate,
):
    classify.command()(command)
app.add_typer(segment)
app.add_typer(classify)
for group in (app, segment, classify):
    for registered in group.registered_commands:
        assert registered.callback is not None
        registered.name = registered.name or registered.callback.__name__.replace("_", "-")
        registered.callback = for_typer(interruptible(registered.callback))


def _version(requested: bool) -> None:
    if requested:
        from adaptag import __version__
        from adaptag._native import build

        typer.echo(f"adaptag {__version__} (core {build})")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show version and core."),
    ] = False,
) -> None:
    """Train taggers in seconds: CRFs with feature-frequency-adaptive online learning."""
