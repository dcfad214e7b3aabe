"""Which sentences are labelled next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from adaptag.decoding.model import Model

__all__ = ["STRATEGIES", "Pool", "choose"]

STRATEGIES = ("uncertain", "random", "in-order")


class Pool:
    """The sentences to choose from."""

    def __init__(self, sentences: Sequence[Sequence[str]]) -> None:
        self.sentences = sentences


def choose(
    model: Model | None,
    pool: Pool,
    candidates: NDArray[np.int64],
    n: int,
    *,
    strategy: str = "uncertain",
    seed: int,
) -> list[int]:
    """Choose the next sentences."""
    if strategy == "in-order":
        return [int(c) for c in candidates[:n]]
    order = np.random.default_rng(seed).permutation(candidates)
    if strategy == "random" or model is None:
        return [int(c) for c in order[:n]]
    some = order[:2000]
    score = [
        np.mean([1 - max(row.values()) for row in model.marginals(pool.sentences[c])])
        for c in some.tolist()
    ]
    return [int(some[i]) for i in np.argsort(score)[::-1][:n]]
