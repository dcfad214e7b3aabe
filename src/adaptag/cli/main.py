"""``adaptag``: the program, its subcommands, and how errors end it."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, TextIO

import typer

from adaptag.cli.algorithms import algorithms
from adaptag.cli.classify import classify
from adaptag.cli.compact import compact
from adaptag.cli.compare import compare
from adaptag.cli.demo import demo
from adaptag.cli.encode import encode
from adaptag.cli.evaluate import evaluate
from adaptag.cli.inspect import inspect
from adaptag.cli.learn import learn
from adaptag.cli.output import interruptible
from adaptag.cli.segment import segment
from adaptag.cli.tag import tag
from adaptag.cli.train import train
from adaptag.cli.tune import tune
from adaptag.errors import AdaptagError, CorpusWarning

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
    algorithms,
    demo,
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(segment)
app.add_typer(classify)
for group in (app, segment, classify):
    for registered in group.registered_commands:
        assert registered.callback is not None
        registered.name = registered.name or registered.callback.__name__.replace("_", "-")
        registered.callback = interruptible(registered.callback)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,  # noqa: ARG001
    line: str | None = None,
) -> None:
    """Write what the library warns of as a note, and warnings of other packages as they are."""
    if issubclass(category, CorpusWarning):
        sys.stderr.write(f"note: {message}\n")
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


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


def run() -> None:
    """Run the program; bad input ends it with a message and exit code 2."""
    warnings.showwarning = _show_warning
    try:
        app()
    except AdaptagError as error:
        sys.stderr.write(f"adaptag: {error}\n")
        sys.exit(2)
