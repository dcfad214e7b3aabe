"""Compact models: size, score, and time until the first result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contestants import ADAPTAG
from history import Figure
from segmentation_speed import score
from suite import Context, Skipped, measurement

from tasks import conll2000, pku

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

THRESHOLDS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)  # of the absolute value of weights
STARTS = 5  # processes that load the model, of which the fastest counts


def compacted(context: Context, model: Path, threshold: float, kind: str) -> Path:
    """A model without small weights and names, with values of eight bits."""
    small = context.folder / f"{kind}-small.model"
    options = ["--prune", str(threshold), "--weights", "int8", "--no-names"]
    context.process([ADAPTAG, "compact", model, "-o", small, *options])
    return small


def ready_ms(context: Context, kind: str, model: Path, text: Path) -> float:
    """Milliseconds from the file to the first result, in a new process."""
    return min(
        context.script("in_process.py", "ready", kind, model, text)["ms"] for _ in range(STARTS)
    )


def figures(
    context: Context, task: str, kind: str, full: Path, text: Path, f_of: Callable[[Path], float]
) -> Iterator[Figure]:
    """Size, F and loading of the full model and of smaller and smaller ones."""
    has_command = True
    try:
        context.process([ADAPTAG, "compact", "--help"])
    except RuntimeError:
        has_command = False
    for threshold in (None, *THRESHOLDS):
        if threshold is not None and not has_command:
            raise Skipped("this version has no command `adaptag compact`")
        model = full if threshold is None else compacted(context, full, threshold, kind)
        name = "full" if threshold is None else f"weights ≥ {threshold:g}"
        size = model.stat().st_size / 1e6
        yield Figure(f"compact/{task}/size/{name}", size, "MB", "lower")
        yield Figure(f"compact/{task}/F/{name}", f_of(model), "F", "higher")
        yield Figure(
            f"compact/{task}/ready/{name}", ready_ms(context, kind, model, text), "ms", "lower"
        )


@measurement("compact/conll2000")
def chunker(context: Context) -> Iterator[Figure]:
    """The chunker of CoNLL-2000."""
    one = conll2000.ONE
    full = conll2000.model_of(context, one, conll2000.PASSES)
    text = conll2000.unlabelled(context)
    yield from figures(
        context, "conll2000", "tagger", full, text, lambda m: conll2000.f_of(context, one, m)
    )


@measurement("compact/pku")
def segmenter(context: Context) -> Iterator[Figure]:
    """The segmenter of PKU."""
    _, gold, plain = pku.texts(context)

    def f_of(model: Path) -> float:
        output = context.folder / "adaptag.txt"
        context.process([ADAPTAG, "segment", "cut", plain, "-m", model, "-o", output])
        return score(gold, output)

    yield from figures(context, "pku", "segmenter", pku.model_of(context), plain, f_of)
