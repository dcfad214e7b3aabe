"""The commands of ``adaptag`` as typer has them: for their help, and for mistakes."""

from __future__ import annotations

from typing import Annotated

import typer

from adaptag.cli.arguments import for_typer
from adaptag.cli.commands import COMMANDS, GROUPS, command_of

__all__ = ["app"]

app = typer.Typer(
    help="Train taggers in seconds: CRFs with feature-frequency-adaptive online learning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
groups = {
    name: typer.Typer(name=name, help=text, no_args_is_help=True) for name, text in GROUPS.items()
}
for group in groups.values():
    app.add_typer(group)
for names in COMMANDS:
    groups.get(names[0], app).command(names[-1])(for_typer(command_of(names)))


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
