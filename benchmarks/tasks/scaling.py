"""How the cost of a training pass grows: with the corpus, with the labels, with unused features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from history import Figure
from suite import Context, measurement

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS = 4  # passes that are timed


@measurement("scaling/corpus")
def corpus(context: Context) -> Iterator[Figure]:
    """Cost per token from a tenth of CoNLL-2000 to ten times it."""
    found = context.script("scaling.py", "corpus", ROUNDS)
    whole = found["1"]["ns"]
    for factor, one in found.items():
        name = f"{factor} times CoNLL-2000"
        yield Figure(f"scaling/corpus/{name}", one["ns"], "ns/token", "lower", "1 time", whole)
        yield Figure(f"scaling/features/{name}", one["features"], "features")
    costs = [one["ns"] for one in found.values()]
    yield Figure(
        "scaling/corpus/largest cost to smallest", max(costs) / min(costs), "times", "lower"
    )


@measurement("scaling/labels")
def labels(context: Context) -> Iterator[Figure]:
    """Cost per token with 2 to 200 labels."""
    for n, one in context.script("scaling.py", "labels", ROUNDS).items():
        yield Figure(f"scaling/labels/{n}", one["ns"], "ns/token", "lower")


@measurement("scaling/unused features")
def unused(context: Context) -> Iterator[Figure]:
    """A pass costs what its active features cost: ten million unused ones must not slow it down."""
    found = context.script("scaling.py", "unused", ROUNDS)
    plain, more = found["plain"]["ns"], found["unused"]["ns"]
    yield Figure("scaling/ten million unused features", more, "ns/token", "lower", "none", plain)
