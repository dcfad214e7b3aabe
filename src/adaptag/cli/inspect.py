"""``adaptag inspect``: what a model has learned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from adaptag.decoding.model import Model

__all__ = ["inspect"]

MOST_LABELS = 30


def inspect(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The model file.")],
    top: Annotated[int, typer.Option(min=1, help="How many features for each label.")] = 5,
    verify: Annotated[bool, typer.Option("--verify", help="Check every byte first.")] = False,
) -> None:
    """Show a model: where it comes from, its sizes, strongest features and transitions."""
    from rich.console import Console

    from adaptag.decoding.model import Model

    loaded = Model.load(model, verify=verify)
    console = Console()
    _summary(console, loaded, model)
    _features(console, loaded, top)
    _transitions(console, loaded, top)


def _summary(console: Console, model: Model, path: Path) -> None:
    from rich.table import Table

    origin = dict(model.provenance)
    passes = origin.pop("passes", [])
    parameters = origin.pop("parameters", {})
    node, both, edge = model.index.n_of_kind
    facts = {
        "file": f"{path}, {path.stat().st_size / 1e6:.1f} MB",
        "labels": f"{len(model.labels)}: {', '.join(model.labels)}",
        "features": f"{model.index.n_predicates:,}: {node:,} node, {both:,} both, {edge:,} edge",
        "weights": f"{model.n_weights:,}",
        **{key.replace("_", " "): f"{value}" for key, value in origin.items()},
        "parameters": ", ".join(f"{key} {value:g}" for key, value in parameters.items()),
        "passes": len(passes),
    }
    if passes:
        last = passes[max(0, origin.get("best_pass", len(passes)) - 1)]
        facts["loss per sentence"] = f"{last['loss']:.4f}"
        facts["training accuracy"] = f"{last['accuracy']:.2f} %"
        if last["dev_score"] is not None:
            facts["development score"] = f"{last['dev_score']:.2f}"
    grid = Table.grid(padding=(0, 2))
    for key, value in facts.items():
        grid.add_row(f"[bold]{key}[/]", str(value))
    console.print(grid)


def _features(console: Console, model: Model, top: int) -> None:
    from rich.table import Table

    table = Table(title="Strongest features", title_justify="left")
    table.add_column("label", style="bold")
    table.add_column("for")
    table.add_column("against")
    weights = model.node_weights()
    count = min(top, len(weights))
    node, both, _ = model.index.n_of_kind
    if node + both == 0:
        return
    for y, label in enumerate(model.labels[:MOST_LABELS]):
        column = weights[:, y]
        order = column.argsort()
        best, worst = order[::-1][:count], order[:count]
        table.add_row(
            label,
            "\n".join(f"{column[p]:+6.2f} {model.index.name(p)}" for p in best if column[p] > 0),
            "\n".join(f"{column[p]:+6.2f} {model.index.name(p)}" for p in worst if column[p] < 0),
            end_section=True,
        )
    if len(model.labels) > MOST_LABELS:
        table.caption = f"{len(model.labels) - MOST_LABELS} more labels are not shown"
    console.print(table)


def _transitions(console: Console, model: Model, top: int) -> None:
    from rich.table import Table

    _, both, edge = model.index.n_of_kind
    if edge == 0:
        return
    matrix = model.edge_weights()[both]  # the most frequent edge predicate: plain label bigrams
    table = Table(
        title=f"Transitions ({model.index.name(model.index.n_predicates - edge)})",
        title_justify="left",
    )
    table.add_column("likely")
    table.add_column("unlikely")
    order = matrix.ravel().argsort()
    n = len(model.labels)

    def named(flat: int) -> str:
        return f"{matrix.ravel()[flat]:+6.2f} {model.labels[flat // n]} → {model.labels[flat % n]}"

    count = min(2 * top, matrix.size)
    for best, worst in zip(order[::-1][:count], order[:count], strict=True):
        table.add_row(named(int(best)), named(int(worst)))
    console.print(table)
