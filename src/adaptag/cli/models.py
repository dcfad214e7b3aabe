"""``adaptag models``: the ready models, and the card of one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from adaptag.cli.arguments import argument
from adaptag.cli.options import JsonOption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

__all__ = ["models"]


def models(
    name: Annotated[
        str | None, argument(help="Show the card of this one.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the ready models, or show what there is to know about one: data, licence, scores."""
    from rich.console import Console

    from adaptag.storage.ready import READY, card_of

    cards = {each: card_of(each) for each in ([name] if name else READY)}
    if as_json:
        print(json.dumps(cards[name] if name else cards, ensure_ascii=False, indent=1))
        return
    tables = _card(cards[name]) if name else [_list(cards)]
    console = Console(highlight=False)
    for table in tables:
        console.print(table)


def _list(cards: Mapping[str, Any]) -> Table:
    """A row for each model."""
    from rich.table import Table

    table = Table(caption="adaptag models NAME shows the card of one.", caption_justify="left")
    for heading in ("name", "what it does", "score", "size", "licence"):
        table.add_column(heading, justify="right" if heading == "size" else "left")
    for name, card in cards.items():
        first = card["scores"][0]
        table.add_row(
            name,
            card["description"],
            f"{first['metric']} {first['value']:.2f}",
            f"{card['bytes'] / 1e6:.2f} MB",
            card["licence"],
        )
    return table


def _card(card: Mapping[str, Any]) -> list[Table]:
    """What a card says: facts, scores, data."""
    from rich.table import Table

    from adaptag.rendering.tables import facts_table

    settings = ", ".join(f"{key} {_short(value)}" for key, value in card["settings"].items())
    facts = {
        card["name"]: card["description"],
        "licence": card["licence"],
        "labels": ", ".join(card["labels"]) if card["labels"] else "–",
        "size": f"{card['bytes'] / 1e6:.2f} MB; the full model {card['full_bytes'] / 1e6:.1f} MB",
        "settings": settings,
        "chosen": card["chosen"],
        "words by": card.get("segmenter", "–"),
        "made with": f"adaptag {card['adaptag']}",
        "use": card["use"],
    }
    scores = Table("scored on", "domain", "score", "remark", box=None, padding=(0, 2, 0, 0))
    for score in card["scores"]:
        value = f"{score['metric']} {score['value']:.2f}"
        scores.add_row(score["data"], score["domain"], value, score.get("remark", ""))
    data = Table("data", "licence", "use", box=None, padding=(0, 2, 0, 0))
    data.add_column("source", overflow="fold")
    for source in card["data"]:
        data.add_row(source["name"], source["licence"], source["use"], source["source"])
    shown = {key: value for key, value in facts.items() if value != "–"}
    return [facts_table(shown), Table(box=None), scores, Table(box=None), data]


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
