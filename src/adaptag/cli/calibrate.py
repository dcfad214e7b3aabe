"""``adaptag calibrate``: a model in, the same with calibrated probabilities out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from adaptag.cli.arguments import argument, option
from adaptag.cli.options import CommentOption, DocstartOption, EncodingOption, SeparatorOption

__all__ = ["calibrate"]


def calibrate(
    model: Annotated[
        Path, argument(metavar="MODEL", help="The model: tagger, segmenter or classifier.")
    ],
    dev: Annotated[
        Path, option(help="Labelled data that the model was not trained on, as in training.")
    ],
    output: Annotated[Path, option("--output", "-o", help="The calibrated model file to write.")],
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
    encoding: EncodingOption = None,
) -> None:
    """Calibrate the probabilities of a model on held-out data.

    All scores are divided by one temperature, which is stored in the model. What the model predicts
    stays the same.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from adaptag.cli.output import check_files, say
    from adaptag.cli.progress import working
    from adaptag.corpus.columns import ColumnFormat
    from adaptag.loading import load_file
    from adaptag.storage.encodings import with_encoding

    check_files({"--output": output}, {"MODEL": model, "--dev": dev})
    loaded: Any = load_file(model)
    columns = ColumnFormat(separator, comment, skip_docstart)
    form = {"format": columns} if loaded.kind == "model" else {}
    with working(f"calibrating {model}"):
        data = loaded.read(with_encoding(dev, encoding), **form)
        calibrated = loaded.calibrated(data)
        calibrated.save(output)
        before, after = loaded.calibration(data), calibrated.calibration(data)
    caption = "expected calibration error on the data calibrated on"
    table = Table(box=box.HORIZONTALS, caption=caption, caption_justify="left")
    table.add_column("")
    for heading in ("count", "before", "after"):
        table.add_column(heading, justify="right")
    for name, part in before.parts.items():
        table.add_row(name, f"{part.count:,}", f"{part.ece:.4f}", f"{after[name].ece:.4f}")
    Console().print(table)
    say(f"{output}: temperature {after.temperature:.4g}")
