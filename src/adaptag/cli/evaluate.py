"""``adaptag evaluate``: a tagged file in, its scores out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from adaptag.cli.arguments import argument, option
from adaptag.cli.options import (
    CalibrationOption,
    ChartOption,
    CommentOption,
    DocstartOption,
    JsonOption,
    LegalOption,
    MetricOption,
    SeparatorOption,
)
from adaptag.cli.output import say
from adaptag.cli.scores import check_calibration, show_scores
from adaptag.errors import ParameterError

if TYPE_CHECKING:
    from adaptag.evaluation import Evaluation
    from adaptag.evaluation.calibration import Calibration

__all__ = ["evaluate"]


def evaluate(
    data: Annotated[
        Path,
        argument(
            metavar="FILE", help="Column file (- for stdin), tagged, or labelled with --model."
        ),
    ],
    model: Annotated[
        Path | None,
        option(
            "--model", "-m", help="Tag the file with this model first; its last column is gold."
        ),
    ] = None,
    as_json: JsonOption = False,
    conlleval: Annotated[
        bool, option("--conlleval", help="Write the text that conlleval writes.")
    ] = False,
    calibration: CalibrationOption = False,
    chart: ChartOption = None,
    metric: MetricOption = "auto",
    legal: LegalOption = None,
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
) -> None:
    """Score a tagged file: the last two columns are gold and predicted labels.

    With --model, score what the model predicts for a file whose last column is the gold label.
    Chunks (B-X, I-X, E-X, S-X, O) are scored as conlleval does; other labels token by token. Where
    most labels mark chunks, the others count as O.
    """
    if (as_json or calibration) and conlleval:
        raise ParameterError("--conlleval cannot be combined with --json or --calibration")
    if legal is not None and model is None:
        raise ParameterError("--legal requires --model")
    check_calibration(calibration, chart, {"FILE": data, "--model": model})
    from adaptag import api
    from adaptag.corpus.columns import ColumnFormat
    from adaptag.evaluation import conlleval_text
    from adaptag.evaluation.table import table

    file_format = ColumnFormat(separator, comment, skip_docstart)
    measured = None
    if model is not None:
        result, measured = _predicted(model, data, file_format, metric, legal, calibration)
    else:
        result = api.evaluate_file(data, file_format, metric=metric)
        if not result.correct_tokens:
            say(
                "note: the last two columns never agree; is the file tagged, and without "
                "--marginals?"
            )
    if conlleval:
        print(conlleval_text(result), end="")
    else:
        show_scores(result, [table], measured, as_json=as_json, chart=chart)


def _predicted(
    path: Path, data: Path, file_format: Any, metric: str, legal: str | None, calibration: bool
) -> tuple[Evaluation, Calibration | None]:
    """Score what a model predicts, and on request its probabilities."""
    from adaptag.decoding.model import Model

    model = Model.load(path)
    dataset = model.encode(data, format=file_format)
    result = model.evaluate(dataset, legal=legal, metric=None if metric == "auto" else metric)
    return result, model.calibration(dataset, legal=legal) if calibration else None
