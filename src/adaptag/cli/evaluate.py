"""``adaptag evaluate``: a tagged file in, its scores out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from adaptag.cli.arguments import argument, option
from adaptag.cli.options import (
    CalibrationOption,
    ChartOption,
    CommentOption,
    ConstraintsOption,
    DocstartOption,
    EncodingOption,
    FormatOption,
    JsonOption,
    LegalOption,
    MetricOption,
    SeparatorOption,
    TokenizerOption,
    file_format,
    read_constraints,
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
            metavar="FILE",
            help="Column file (- for stdin), tagged, or labelled with --model; or texts with the "
            "right spans, such as JSON lines.",
        ),
    ],
    predicted: Annotated[
        Path | None,
        argument(metavar="[PREDICTED]", help="The same texts, with the predicted spans."),
    ] = None,
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
    constraints: ConstraintsOption = None,
    tokenizer: TokenizerOption = None,
    format: FormatOption = "auto",  # noqa: A002
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
    encoding: EncodingOption = None,
) -> None:
    """Score a tagged file: the last two columns are gold and predicted labels.

    With PREDICTED, both files are texts with spans. A span is right where its start, end and label
    are.

    With --model, score what the model predicts for a file whose last column is the gold label.
    Chunks (B-X, I-X, E-X, S-X, O) are scored as conlleval does; other labels token by token. Where
    most labels mark chunks, the others count as O.
    """
    if (as_json or calibration) and conlleval:
        raise ParameterError("--conlleval cannot be combined with --json or --calibration")
    for_models = {"--legal": legal, "--constraints": constraints, "--tokenizer": tokenizer}
    _check(model, predicted, for_models)
    check_calibration(calibration, chart, {"FILE": data, "--model": model})
    from adaptag import api
    from adaptag.corpus.data import format_of
    from adaptag.evaluation import conlleval_text
    from adaptag.evaluation.table import table
    from adaptag.storage.encodings import with_encoding

    file = file_format(format, separator, comment, skip_docstart)
    measured = None
    if model is not None:
        corpus = _Labelled(with_encoding(data, encoding), file, tokenizer)
        how = {"legal": legal, "constraints": read_constraints(constraints)}
        result, measured = _predicted(model, corpus, metric, how, calibration)
    elif predicted is not None:
        result = api.evaluate_file(
            data, file, metric=metric, predicted=predicted, encoding=encoding
        )
    elif (file if isinstance(file, str) else format_of(data)) not in (None, "columns"):
        if data.is_dir():
            from adaptag.corpus.annotation_files import brat_files

            brat_files(data)  # raises where there are none
        raise ParameterError("texts with spans need PREDICTED, or --model")
    else:
        result = api.evaluate_file(data, file, metric=metric, encoding=encoding)
        if not result.correct_tokens:
            say(
                "note: the last two columns never agree; is the file tagged, and without "
                "--marginals?"
            )
    if conlleval:
        print(conlleval_text(result), end="")
    else:
        show_scores(result, [table], measured, as_json=as_json, chart=chart)


def _check(model: Path | None, predicted: Path | None, for_models: dict[str, Any]) -> None:
    """Refuse options that do not belong together."""
    if model is not None and predicted is not None:
        raise ParameterError("give either PREDICTED or --model")
    for name, value in for_models.items():
        if value is not None and model is None:
            raise ParameterError(f"{name} requires --model")


class _Labelled(NamedTuple):
    """A labelled file, its format, and what cuts its texts."""

    path: Any
    format: Any
    tokenizer: str | None


def _predicted(
    path: Path, data: _Labelled, metric: str, how: dict[str, Any], calibration: bool
) -> tuple[Evaluation, Calibration | None]:
    """Score what a model predicts, and on request its probabilities."""
    from adaptag.decoding.model import Model
    from adaptag.loading import load_tokenizer

    model = Model.load(path)
    tokenizer = load_tokenizer(data.tokenizer, path)
    dataset = model.encode(data.path, format=data.format, tokenizer=tokenizer)
    result = model.evaluate(dataset, metric=None if metric == "auto" else metric, **how)
    return result, model.calibration(dataset, **how) if calibration else None
