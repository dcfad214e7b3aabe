"""The scores of the commands that evaluate, with or without the calibration of probabilities."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from adaptag.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from adaptag.evaluation.calibration import Calibration

__all__ = ["check_calibration", "show_scores"]


def check_calibration(
    calibration: bool, chart: Path | None, inputs: dict[str, Path | None]
) -> None:
    """Refuse options that need another one, and charts that cannot be written."""
    from adaptag.cli.output import check_files

    if calibration and inputs["--model"] is None:
        raise ParameterError("--calibration requires --model: a tagged file has no probabilities")
    if chart is not None:
        from adaptag.experiments.charts import require_matplotlib

        if not calibration:
            raise ParameterError("--chart requires --calibration")
        check_files({"--chart": chart}, inputs)
        require_matplotlib()


def show_scores(
    scores: Any,
    tables: Sequence[Callable[[Any], Any]],
    calibration: Calibration | None,
    *,
    as_json: bool,
    chart: Path | None,
) -> None:
    """Print scores as tables or as JSON, and write the reliability chart if it is wanted."""
    if as_json:
        further = {} if calibration is None else {"calibration": calibration.to_dict()}
        print(json.dumps({**scores.to_dict(), **further}, ensure_ascii=False, indent=2))
    else:
        from rich.console import Console

        from adaptag.evaluation.calibration import calibration_tables

        console = Console()
        for table in tables:
            console.print(table(scores))
        if calibration is not None:
            console.print(calibration_tables(calibration))
    if chart is None or calibration is None:
        return
    from adaptag.experiments.charts import reliability_chart
    from adaptag.storage.files import replace_file

    svg = reliability_chart(calibration.parts, title="Reliability of probabilities")
    with replace_file(chart) as file:
        file.write(svg.encode())
