"""Options that several subcommands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adaptag.features.template import presets
from adaptag.training.algorithms import algorithms

if TYPE_CHECKING:
    from adaptag.corpus.columns import ColumnFormat

__all__ = [
    "AlgorithmOption",
    "CommentOption",
    "ConvergeOption",
    "DevOption",
    "DocstartOption",
    "EdgeCutoffOption",
    "EdgeShareOption",
    "EveryOption",
    "FollowOption",
    "FormatOption",
    "HashBitsOption",
    "LegalOption",
    "LogOption",
    "MaxFeaturesOption",
    "ModelOption",
    "PassesOption",
    "PatienceOption",
    "RichEdgesOption",
    "SeedOption",
    "SeparatorOption",
    "TemplateOption",
    "file_format",
]

EVERY = 10_000
PANEL = "How the files are written"
EDGES = "Rich edges"

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
RichEdgesOption = Annotated[
    bool,
    typer.Option(
        "--rich-edges",
        help="Give all lines of the template edge weights too: one for every pair of labels.",
        rich_help_panel=EDGES,
    ),
]
EdgeCutoffOption = Annotated[
    int, typer.Option(min=1, help="Rarer features get no edge weights.", rich_help_panel=EDGES)
]
EdgeShareOption = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        help="Only this share of the features, the most frequent.",
        rich_help_panel=EDGES,
    ),
]
HashBitsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=30,
        help="Number features by hashes of so many bits: a model of fixed size, without names.",
    ),
]
MaxFeaturesOption = Annotated[
    int | None,
    typer.Option(min=1, help="With a stream: leave out new features once there are so many."),
]
EveryOption = Annotated[
    int, typer.Option(min=1, help="With a stream: save the model after so many sentences.")
]
FollowOption = Annotated[
    bool,
    typer.Option("--follow", "-f", help="With a stream: at its end, wait for more, until Ctrl-C."),
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
AlgorithmOption = Annotated[
    str | None,
    typer.Option(
        "--algorithm",
        "-a",
        help=f"One of: {', '.join(algorithms())}. See: adaptag algorithms.",
        show_default="adf",
    ),
]
PassesOption = Annotated[
    int | None,
    typer.Option(min=1, help="Passes over the data at most.", show_default="the algorithm's own"),
]
PatienceOption = Annotated[
    int, typer.Option(min=1, help="With --dev: stop after so many passes without progress.")
]
ConvergeOption = Annotated[
    bool,
    typer.Option(
        "--converge",
        help="Stop when the scores of five passes, on the development file or else on the "
        "training file, differ by less than 0.01.",
    ),
]
SeedOption = Annotated[
    int | None, typer.Option(min=0, help="Order of the sentences.", show_default="1")
]
DevOption = Annotated[
    Path | None,
    typer.Option(help="Development file: scored after each pass, the best pass is kept."),
]
LogOption = Annotated[Path | None, typer.Option(help="Write JSON lines to this file.")]
LegalOption = Annotated[
    str | None,
    typer.Option(help="Rule out label sequences that are impossible in this scheme: bio, bioes."),
]


def file_format(name: str, separator: str, comment: str, skip_docstart: bool) -> ColumnFormat | str:
    """Put the options on how files are written together."""
    from adaptag.corpus.columns import ColumnFormat

    return ColumnFormat(separator, comment, skip_docstart) if name == "columns" else name
