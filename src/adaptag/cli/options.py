"""Options that several subcommands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adaptag.features.template import presets

if TYPE_CHECKING:
    from adaptag.corpus.columns import ColumnFormat

__all__ = [
    "CommentOption",
    "DocstartOption",
    "FormatOption",
    "LegalOption",
    "ModelOption",
    "SeparatorOption",
    "TemplateOption",
    "file_format",
]

PANEL = "How the files are written"

ModelOption = Annotated[Path, typer.Option("--model", "-m", help="The model file.")]
TemplateOption = Annotated[
    str | None,
    typer.Option(
        "--template",
        "-t",
        help=f"Preset ({', '.join(presets())}) or CRF++ template file.",
        show_default="general",
    ),
]
FormatOption = Annotated[
    str,
    typer.Option(
        help="columns, or attributes: CRFsuite's label<TAB>attribute[:value]…",
        rich_help_panel=PANEL,
    ),
]
SeparatorOption = Annotated[
    str,
    typer.Option(
        help="What separates columns: tab, space (or tabs), or auto.",
        rich_help_panel=PANEL,
    ),
]
CommentOption = Annotated[
    str,
    typer.Option(help="Skip lines that start with this text.", rich_help_panel=PANEL),
]
DocstartOption = Annotated[
    bool,
    typer.Option(
        "--skip-docstart",
        help="Skip -DOCSTART- lines.",
        rich_help_panel=PANEL,
    ),
]
LegalOption = Annotated[
    str | None,
    typer.Option(help="Rule out label sequences that are impossible in this scheme: bio, bioes."),
]


def file_format(name: str, separator: str, comment: str, skip_docstart: bool) -> ColumnFormat | str:
    """Put the options on how files are written together."""
    from adaptag.corpus.columns import ColumnFormat

    return ColumnFormat(separator, comment, skip_docstart) if name == "columns" else name
