"""A pass costs what its active features cost: ten million unused ones must not slow it down.

Trains on CoNLL-2000 with the model as it is and with unused features added, pass by pass in turn,
and prints the fastest pass of each and their ratio.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
from chunking import DATA

import adaptag
from adaptag._native import core
from adaptag.training.algorithms import algorithm

UNUSED = 10_000_000


class Contestant:
    """One training run over the dataset, with so many unused node features behind the used ones."""

    def __init__(self, dataset: adaptag.Dataset, unused: int) -> None:
        node, both, edge = dataset.index.n_of_kind
        layout = core.Layout(len(dataset.label_names), node + unused, both, edge)
        e = dataset.encoded
        ids = np.where(e.predicates < node, e.predicates, e.predicates + np.uint32(unused))
        self.data = core.Dataset(
            layout, e.sentences, e.positions, ids.astype(np.uint32), e.values, dataset.labels
        )
        adf = algorithm("adf")
        self.weights = np.zeros(layout.n_weights, np.float32)
        rows = np.zeros(layout.n_predicates, np.dtype(list(adf.row_state)))
        self.run = core.Training(
            adf.name,
            layout,
            self.data,
            list(adf.values({}).values()),
            self.weights,
            np.empty(0, np.float32),
            rows.view(np.uint8),
            np.zeros(1, np.dtype(list(adf.run_state))).view(np.uint8),
            None,
        )
        self.seconds: list[float] = []

    def one_pass(self, order: np.ndarray) -> None:
        """Time one pass."""
        begin = time.perf_counter()
        self.run.run(self.data, order)
        self.seconds.append(time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, default=15)
    passes = parser.parse_args().passes
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    dataset = adaptag.encode(DATA / "train.txt", template="chunking")
    contestants = [Contestant(dataset, 0), Contestant(dataset, UNUSED)]
    rng = np.random.default_rng(1)
    for _ in range(passes):
        order = rng.permutation(len(dataset)).astype(np.uint32)
        for contestant in contestants:
            contestant.one_pass(order)
    plain, padded = (min(contestant.seconds[1:]) for contestant in contestants)
    print(f"{dataset.index.n_predicates:,} features: {plain:.4f} s a pass")
    print(f"and {UNUSED:,} unused ones: {padded:.4f} s a pass, ratio {padded / plain:.3f}")


if __name__ == "__main__":
    main()
