"""Sentiment of reviews: fitting a classifier beside scikit-learn's SGDClassifier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chunking import DATA
from history import Figure
from suite import QUICK, Context, Skipped, measurement

if TYPE_CHECKING:
    from collections.abc import Iterator

FITS = 3  # in one process


@measurement("sentiment/fitting", QUICK)
def fitting(context: Context) -> Iterator[Figure]:
    """1,500 reviews of each of four domains; both fit for as many passes."""
    if not (DATA.parent / "amazon_sentiment").is_dir():
        raise Skipped("no amazon_sentiment/: set ADAPTAG_DATA to the folder that holds it")
    try:
        from sentiment_fit import save
    except ImportError as error:
        raise Skipped(f"{error}; install adaptag[sklearn]") from None
    matrix = context.file("reviews.npz", save)
    found = context.turns(
        {
            "1": lambda: context.script("sentiment_fit.py", matrix, 1, FITS),
            "2": lambda: context.script("sentiment_fit.py", matrix, 2, FITS, cores=2),
        }
    )
    one, two = found["1"], found["2"]
    name = "sentiment/fitting"
    yield Figure(f"{name}/1 thread", one["adf_s"], "s", "lower", "SGDClassifier", one["peer_s"])
    yield Figure(f"{name}/2 threads", two["adf_s"], "s", "lower", "1 thread", one["adf_s"])
    yield Figure("sentiment/accuracy/1 thread", one["adf_accuracy"], "accuracy", "higher")
    yield Figure("sentiment/accuracy/2 threads", two["adf_accuracy"], "accuracy", "higher")
    yield Figure("sentiment/accuracy/SGDClassifier", one["peer_accuracy"], "accuracy")
