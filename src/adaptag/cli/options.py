"""Options that several subcommands share and that are no settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adaptag.cli.arguments import option
from adaptag.settings import AUTO

if TYPE_CHECKING:
    from adaptag.corpus.columns import ColumnFormat
    from adaptag.decoding.constraints import Constraints

__all__ = [
    "CalibrationOption",
    "ChartOption",
    "CheckpointOption",
    "ClusterOption",
    "CommentOption",
    "ConstraintsOption",
    "DevOption",
    "DocstartOption",
    "EncodingOption",
    "EveryOption",
    "FormatOption",
    "JsonOption",
    "LegalOption",
    "LogOption",
    "MetricOption",
    "ModelOption",
    "NewModelOption",
    "OutputOption",
    "RestartOption",
    "ResumeOption",
    "SaveEveryOption",
    "SeparatorOption",
    "ThreadsOption",
    "TokenizerOption",
    "file_format",
    "read_constraints",
]

SAVE_EVERY = 10_000
PANEL = "Format of the files"
CHECKPOINTS = "Checkpoints"

ModelOption = Annotated[
    Path, option("--model", "-m", help="The model file, or the name of a ready model.")
]
NewModelOption = Annotated[
    Path | None,
    option(
        "--model",
        "-m",
        help="The model file to write.",
        show_default="model.adaptag, if there is none yet",
    ),
]
OutputOption = Annotated[
    Path | None, option("--output", "-o", help="File to write; else standard output.")
]
JsonOption = Annotated[bool, option("--json", help="Write JSON.")]
CalibrationOption = Annotated[
    bool,
    option(
        "--calibration",
        help="With a model: also compare probabilities with how often predictions are right.",
    ),
]
ChartOption = Annotated[
    Path | None,
    option("--chart", help="With --calibration: write a reliability chart, an SVG file."),
]
ConstraintsOption = Annotated[
    Path | None,
    option(
        "--constraints", help="JSON file of constraints that the labels of each sentence satisfy."
    ),
]
SaveEveryOption = Annotated[
    int,
    option("--every", min=1, help="Save the model each time this many sentences are learned."),
]
CheckpointOption = Annotated[
    Path | None,
    option(
        help="Save the state of training here while it goes on, and at its end, for --resume.",
        panel=CHECKPOINTS,
    ),
]
EveryOption = Annotated[
    str | None,
    option(
        metavar="N|TIME",
        help="How often: a number of passes, or a time such as 30s, 5m or 2h.",
        show_default="1m",
        panel=CHECKPOINTS,
    ),
]
RestartOption = Annotated[
    bool,
    option(
        "--restart",
        help="Start over and discard the content of the checkpoint.",
        panel=CHECKPOINTS,
    ),
]
ResumeOption = Annotated[
    Path | None,
    option(
        help="Continue from this checkpoint, on the same data. With --checkpoint of the same file "
        "it need not exist yet: the same command can be repeated until training is finished.",
        panel=CHECKPOINTS,
    ),
]
FollowOption = Annotated[
    bool,
    option("--follow", "-f", help="With a stream: at its end, wait for more, until Ctrl-C."),
]
FormatOption = Annotated[
    str,
    option(
        help="columns; attributes: CRFsuite's label<TAB>attribute[:value]…; jsonl, json, doccano, "
        "label-studio or brat: texts with spans; docbin, docbin-ents, docbin-tags or docbin-spans: "
        "documents of spaCy; auto: by the name of the file, else columns.",
        panel=PANEL,
    ),
]
SeparatorOption = Annotated[
    str,
    option(
        help="What separates columns: tab, space (or tabs), or auto.",
        panel=PANEL,
    ),
]
CommentOption = Annotated[
    str,
    option(help="Skip lines that start with this text.", panel=PANEL),
]
DocstartOption = Annotated[
    bool,
    option("--skip-docstart", help="Skip -DOCSTART- lines.", panel=PANEL),
]
EncodingOption = Annotated[
    str | None,
    option(
        metavar="NAME",
        help="Encoding of the text that is read, such as latin-1, gbk or utf-16. What is written "
        "is UTF-8.",
        show_default="utf-8",
        panel=PANEL,
    ),
]
DevOption = Annotated[
    Path | None,
    option(help="Development file: scored after each pass, the best pass is kept."),
]
ThreadsOption = Annotated[
    int | None,
    option(min=1, help="Number of threads; the output is the same.", show_default="one per core"),
]
TokenizerOption = Annotated[
    str | None,
    option(
        metavar="NAME|FILE",
        help="What cuts raw text into tokens: unicode, whitespace, characters, english, or the "
        "file of a segmenter.",
        show_default="that of the model",
    ),
]
ClusterOption = Annotated[
    str | None,
    option(
        metavar="ADDRESS",
        help="Run on a Ray cluster: its address, auto for the one that is found, or local.",
        show_default="this machine, without Ray",
    ),
]
LogOption = Annotated[Path | None, option(help="Write JSON lines to this file.")]
LegalOption = Annotated[
    str | None,
    option(
        help="Rule out label sequences that are impossible in the scheme of the training data "
        "(auto), which is one of: iob1, iob2, ioe2, bioes.",
        show_default="all are possible",
    ),
]
MetricOption = Annotated[
    str,
    option(help="Score F1 of chunks, or accuracy of tokens; auto: what most labels mark."),
]


def file_format(name: str, separator: str, comment: str, skip_docstart: bool) -> ColumnFormat | str:
    """Combine the options on the format of files."""
    from adaptag.corpus.columns import ColumnFormat

    columns = ColumnFormat(separator, comment, skip_docstart)
    if name == AUTO or (name == "columns" and columns != ColumnFormat()):
        return columns
    return name


def read_constraints(path: Path | None) -> Constraints | None:
    """The constraints of a file; None where none is given."""
    if path is None:
        return None
    from adaptag.decoding.constraints import Constraints

    return Constraints.read(path)
