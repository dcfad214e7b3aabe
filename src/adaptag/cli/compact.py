"""``adaptag compact``: a model in, a small one out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adaptag.cli.options import CommentOption, DocstartOption, SeparatorOption
from adaptag.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["compact"]


def compact(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="The model: tagger, segmenter or classifier.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The small model file to write.")],
    within: Annotated[
        float | None,
        typer.Option(min=0, help="Prune as long as no more of the score on --dev is lost."),
    ] = None,
    dev: Annotated[
        Path | None, typer.Option(help="Labelled data to score on, as in training.")
    ] = None,
    prune: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Prune weights below this size, those of frequent features below a smaller one; "
            "0: only zeros.",
            show_default="0.05",
        ),
    ] = None,
    weights: Annotated[
        str,
        typer.Option(
            help="How weights are stored: int8, float16 or float32; of a segmenter int8 or int16."
        ),
    ] = "int8",
    names: Annotated[
        bool, typer.Option("--names/--no-names", help="Keep the names of features, for inspect.")
    ] = True,
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
) -> None:
    """Make a small model that is loaded and used like the full one.

    Weights that matter little are pruned, and the others stored in one byte each. A small model
    cannot be trained further.
    """
    from rich.console import Console
    from rich.table import Table

    from adaptag.cli.output import check_files
    from adaptag.cli.progress import working
    from adaptag.corpus.columns import ColumnFormat

    check_files({"--output": output}, {"MODEL": model, "--dev": dev})
    loaded, chain, read, score = opened(model, ColumnFormat(separator, comment, skip_docstart))
    with working(f"compacting {model}"):
        data = None if dev is None else read(dev)
        small = loaded.compact(within=within, dev=data, prune=prune, weights=weights, names=names)
        small.save(output)
        columns: list[tuple[str, Any, Path]] = [("full", loaded, model), ("small", small, output)]
        scores = [None if data is None else score(each, data) for _, each, _ in columns]
    table = Table()
    for heading in ("", "size", "weights", "features", *([] if data is None else ["score on dev"])):
        table.add_column(heading, justify="right" if heading else "left")
    for (name, each, path), value in zip(columns, scores, strict=True):
        parameters = chain(each)
        table.add_row(
            name,
            _size(path.stat().st_size),
            f"{parameters.n_weights:,}",
            f"{parameters.index.n_predicates:,}",
            *([] if value is None else [f"{value:.2f}"]),
        )
    Console().print(table)
    if data is None and prune is None:
        say("note: give --dev and --within to prune as much as the data allow")


def opened(
    path: Path, file_format: Any
) -> tuple[Any, Callable[[Any], Any], Callable[[Path], Any], Callable[[Any, Any], float]]:
    """Load a model of any kind: what its chain is, and how data for it are read and scored."""
    from adaptag.classification.documents import SECTION, DocumentClassifier
    from adaptag.corpus.data import CLASSIFICATION, SEGMENTATION, corpus_of
    from adaptag.decoding.model import Model
    from adaptag.segmentation.segmenter import Segmenter
    from adaptag.storage.tensors import kind_of

    if kind_of(path) == Segmenter.kind:
        return (
            Segmenter.load(path),
            lambda segmenter: segmenter.model_,
            lambda dev: corpus_of(dev, task=SEGMENTATION),
            lambda segmenter, data: segmenter.evaluate(data).f1,
        )
    model = Model.load(path)
    if SECTION in model.configuration:
        classifier = DocumentClassifier.of(model, str(path))
        return (
            classifier,
            lambda each: each.model,
            lambda dev: corpus_of(dev, task=CLASSIFICATION, format=classifier.format),
            lambda each, data: each.evaluate(data).accuracy,
        )
    form = "attributes" if model.index.template.attributes else file_format
    return (
        model,
        lambda each: each,
        lambda dev: corpus_of(dev, format=form),
        lambda each, data: each.evaluate(data).score,
    )


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.2f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"
