"""Options that several subcommands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["CommentOption", "DocstartOption", "LegalOption", "ModelOption", "SeparatorOption"]

ModelOption = Annotated[Path, typer.Option("--model", "-m", help="The model file.")]
SeparatorOption = Annotated[
    str,
    typer.Option(
        help="What separates columns: tab, space (or tabs), or auto.",
        rich_help_panel="How the files are written",
    ),
]
CommentOption = Annotated[
    str,
    typer.Option(
        help="Skip lines that start with this text.", rich_help_panel="How the files are written"
    ),
]
DocstartOption = Annotated[
    bool,
    typer.Option(
        "--skip-docstart",
        help="Skip -DOCSTART- lines.",
        rich_help_panel="How the files are written",
    ),
]
LegalOption = Annotated[
    str | None,
    typer.Option(help="Rule out label sequences that are impossible in this scheme: bio, bioes."),
]
