"""``adaptag inspect``: what a model has learned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adaptag.cli.arguments import argument, option
from adaptag.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from adaptag.decoding.model import Model

__all__ = ["inspect"]

MOST_LABELS = 30


def inspect(
    model: Annotated[Path, argument(metavar="MODEL", help="The model file.")],
    top: Annotated[int, option(min=1, help="Number of features for each label.")] = 5,
    verify: Annotated[bool, option("--verify", help="Check every byte first.")] = False,
    explain: Annotated[
        str | None,
        option(
            metavar="SENTENCE",
            help="Explain the labels of a sentence instead: tokens between spaces, the columns of "
            "a token between slashes: 'The/DT cat/NN'.",
        ),
    ] = None,
    as_json: Annotated[bool, option("--json", help="With --explain: write JSON.")] = False,
) -> None:
    """Show a model: where it comes from, its sizes, strongest features and transitions."""
    from rich.console import Console

    from adaptag.decoding.model import Model

    if as_json and explain is None:
        raise ParameterError("--json requires --explain")
    loaded = Model.load(model, verify=verify)
    console = Console()
    if explain is not None:
        explanation = loaded.explain(_tokens(explain, loaded.index.template.n_columns))
        if as_json:
            print(json.dumps(explanation.to_dict(), ensure_ascii=False, indent=1))
        else:
            console.print(explanation.table(top))
        return
    _summary(console, loaded, model)
    _features(console, loaded, top)
    _transitions(console, loaded, top)


def _tokens(sentence: str, n_columns: int) -> list[tuple[str, ...]]:
    """Split a sentence into tokens; only the last slashes of a token separate its columns."""
    tokens = [tuple(token.rsplit("/", n_columns - 1)) for token in sentence.split()]
    for token in tokens:
        if len(token) != n_columns:
            raise ParameterError(
                f"token {'/'.join(token)!r} has {len(token)} columns; the model needs {n_columns}, "
                "with slashes between them"
            )
    if not tokens:
        raise ParameterError("the sentence is empty")
    return tokens


def _summary(console: Console, model: Model, path: Path) -> None:
    from rich.table import Table
    from rich.text import Text

    origin = dict(model.provenance)
    passes = origin.pop("passes", [])
    settings = origin.pop("feature_settings", {}) | origin.pop("training_settings", {})
    if isinstance(start := origin.get("start"), dict):
        origin["start"] = f"a model of {start.get('algorithm')}, {start.get('sentences')} sentences"
    node, both, edge = model.index.n_of_kind
    size = path.stat().st_size
    facts: dict[str, object] = {
        "file": f"{path}, {size / 1e6:.1f} MB" if size > 1e5 else f"{path}, {size / 1e3:.1f} kB",
        "labels": f"{len(model.labels)}: {', '.join(model.labels)}",
        "features": f"{model.index.n_predicates:,}: {node:,} node, {both:,} both, {edge:,} edge",
        "weights": f"{model.n_weights:,}",
        "columns": model.index.n_columns,
        "label scheme": model.label_scheme,
        **origin,
        "settings": {
            key: value
            for key, value in settings.items()
            if key not in origin and value not in (None, False)
        },
    }
    if isinstance(passes, list) and passes and isinstance(passes[-1], dict):
        last: dict[str, object] = passes[-1]
        best_pass = next((p for p in passes if p.get("pass") == origin.get("best_pass")), last)
        facts |= {"passes": len(passes), "loss per sentence": best_pass.get("loss")}
        facts |= {"training accuracy": best_pass.get("accuracy")}
        if best_pass.get("dev_score") is not None:
            facts[f"dev {best_pass.get('dev_metric')}"] = best_pass["dev_score"]
    grid = Table.grid(padding=(0, 2))
    for key, value in facts.items():
        grid.add_row(Text(key.replace("_", " "), style="bold"), Text(_plain(value)))
    console.print(grid)


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(part)}" for key, part in value.items())
    return str(value)


def _features(console: Console, model: Model, top: int) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Strongest features", title_justify="left")
    table.add_column("label", style="bold")
    table.add_column("for")
    table.add_column("against")
    weights = model.node_weights()
    count = min(top, len(weights))
    named = model.index.name
    if len(weights) == 0:
        return
    for y, label in enumerate(model.labels[:MOST_LABELS]):
        column = weights[:, y]
        order = column.argsort()
        best, worst = order[::-1][:count], order[:count]
        table.add_row(
            Text(label),
            Text("\n".join(f"{column[p]:+6.2f} {named(p)}" for p in best if column[p] > 0)),
            Text("\n".join(f"{column[p]:+6.2f} {named(p)}" for p in worst if column[p] < 0)),
            end_section=True,
        )
    if len(model.labels) > MOST_LABELS:
        table.caption = f"{len(model.labels) - MOST_LABELS} more labels are not shown"
    console.print(table)


def _transitions(console: Console, model: Model, top: int) -> None:
    from rich.table import Table
    from rich.text import Text

    _, both, edge = model.index.n_of_kind
    if edge == 0:
        return
    matrix = model.edge_weights()[both]  # the most frequent edge predicate: plain label bigrams
    table = Table(
        title=Text(f"Transitions ({model.index.name(model.index.n_predicates - edge)})"),
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
        table.add_row(Text(named(int(best))), Text(named(int(worst))))
    console.print(table)
