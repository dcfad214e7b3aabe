"""``adaptag compact``: a model in, a small one out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from adaptag.cli.arguments import argument, option
from adaptag.cli.options import CommentOption, DocstartOption, EncodingOption, SeparatorOption
from adaptag.cli.output import say

__all__ = ["compact"]


def compact(
    model: Annotated[
        Path, argument(metavar="MODEL", help="The model: tagger, segmenter or classifier.")
    ],
    output: Annotated[Path, option("--output", "-o", help="The small model file to write.")],
    within: Annotated[
        float | None,
        option(min=0, help="Prune as long as no more of the score on --dev is lost."),
    ] = None,
    dev: Annotated[Path | None, option(help="Labelled data to score on, as in training.")] = None,
    prune: Annotated[
        float | None,
        option(
            min=0,
            help="Prune weights below this size, those of frequent features below a smaller one; "
            "0: only zeros.",
            show_default="0.05",
        ),
    ] = None,
    weights: Annotated[
        str,
        option(
            help="How weights are stored: int8, float16 or float32; of a segmenter int8 or int16."
        ),
    ] = "int8",
    names: Annotated[
        bool, option("--names/--no-names", help="Keep the names of features, for inspect.")
    ] = True,
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
    encoding: EncodingOption = None,
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
    from adaptag.loading import chain_of, load_file
    from adaptag.storage.encodings import with_encoding
    from adaptag.storage.ready import model_file

    check_files({"--output": output}, {"MODEL": model, "--dev": dev})
    loaded = load_file(model)
    columns = ColumnFormat(separator, comment, skip_docstart)
    form: dict[str, Any] = {"format": columns} if loaded.kind == "model" else {}
    with working(f"compacting {model}"):
        data: Any = None if dev is None else loaded.read(with_encoding(dev, encoding), **form)
        small = loaded.compact(within=within, dev=data, prune=prune, weights=weights, names=names)
        small.save(output)
        rows: list[tuple[str, Any, Path]] = [("full", loaded, model), ("small", small, output)]
        scores = [None if data is None else each.evaluate(data) for _, each, _ in rows]
    table = Table()
    headings = ["", "size", "weights", "features"]
    headings += [f"{score.metric} on dev" for score in scores[:1] if score is not None]
    for heading in headings:
        table.add_column(heading, justify="right" if heading else "left")
    for (name, each, path), score in zip(rows, scores, strict=True):
        chain = chain_of(each)
        table.add_row(
            name,
            _size(Path(model_file(path)).stat().st_size),
            f"{chain.n_weights:,}",
            f"{chain.index.n_predicates:,}",
            *([] if score is None else [f"{score.score:.2f}"]),
        )
    Console().print(table)
    if data is None and prune is None:
        say("note: give --dev and --within to prune as much as the data allow")


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.2f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"
