"""``adaptag evaluate``: a tagged file in, its scores out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from adaptag.cli.arguments import argument, option
from adaptag.cli.options import (
    CommentOption,
    DocstartOption,
    JsonOption,
    MetricOption,
    SeparatorOption,
)
from adaptag.cli.output import say
from adaptag.errors import ParameterError

__all__ = ["evaluate"]


def evaluate(
    data: Annotated[Path, argument(metavar="FILE", help="Tagged column file (- for stdin).")],
    as_json: JsonOption = False,
    conlleval: Annotated[
        bool, option("--conlleval", help="Write the text that conlleval writes.")
    ] = False,
    metric: MetricOption = "auto",
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
) -> None:
    """Score a tagged file: the last two columns are gold and predicted labels.

    Chunks (B-X, I-X, E-X, S-X, O) are scored as conlleval does; other labels token by token. Where
    most labels mark chunks, the others count as O.
    """
    if as_json and conlleval:
        raise ParameterError("--json cannot be combined with --conlleval")
    from rich.console import Console

    from adaptag import api
    from adaptag.corpus.columns import ColumnFormat
    from adaptag.evaluation import conlleval_text
    from adaptag.evaluation.table import table

    file_format = ColumnFormat(separator, comment, skip_docstart)
    result = api.evaluate_file(data, file_format, metric=metric)
    if not result.correct_tokens:
        say("note: the last two columns never agree; is the file tagged, and without --marginals?")
    if as_json:
        print(json.dumps(result.to_dict(), indent=2))
    elif conlleval:
        print(conlleval_text(result), end="")
    else:
        Console().print(table(result))
