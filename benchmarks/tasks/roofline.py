"""What each task needs per token at least, and how near it comes: the rooflines of the docs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunking import DATA
from history import Figure
from suite import Context, measurement

from tasks import bio_ner, pku

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def figures(context: Context, task: str, path: Path, *works: str) -> Iterator[Figure]:
    """The counts of workload.py for some kinds of work."""
    found: dict[str, Any] = context.script("workload.py", task, path)
    for work in works:
        for name, value in found[work].items():
            unit = name.split()[0]
            yield Figure(f"roofline/{task}/{work}/{name}", value, f"{unit}/token")
    for name in ("tokens", "labels", "rows", "weights"):
        yield Figure(f"roofline/{task}/{name}", found[name], name)


@measurement("roofline/conll2000")
def chunking_work(context: Context) -> Iterator[Figure]:
    """Chunking with plain edges, 22 labels."""
    yield from figures(context, "conll2000", DATA / "train.txt", "training", "decoding")


@measurement("roofline/pku")
def segmentation_work(context: Context) -> Iterator[Figure]:
    """Word segmentation with rich edges, 3 labels."""
    yield from figures(context, "pku", pku.texts(context)[0], "training", "decoding")


@measurement("roofline/bio-ner")
def entity_work(context: Context) -> Iterator[Figure]:
    """Named entities with rich edges, 11 labels."""
    yield from figures(context, "bio-ner", bio_ner.texts(context)[0], "training")


@measurement("roofline/sentiment")
def review_work(context: Context) -> Iterator[Figure]:
    """Two classes, real-valued features."""
    from sentiment_fit import save

    yield from figures(context, "sentiment", context.file("reviews.npz", save), "training")
