"""What training on shards does to the score: ADF on 1 to 64 shards, simulated on one machine.

The shards of a round are trained one after the other, by the code that the workers of a cluster
run, and mixed as there. Averaging of weights after each pass, and one machine's own training, are
beside it. Tasks and their settings are those of the recipes; the score is that of the test data, or
with ``--held-out`` that of held-out training data.

    python -m benchmarks.mixing [TASK …] [--shards 1,2,4,8,16,64] [--passes 20] [--held-out]
"""

from __future__ import annotations

import argparse
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from adaptag.experiments.significance import f1
from adaptag.training import mixing
from adaptag.training.algorithms import algorithm
from adaptag.training.initial_rate import find_rate
from adaptag.training.mixing import (
    WEIGHTS,
    Mixture,
    ShardTraining,
    blocks_of,
    new_state,
    rounds_for,
)
from reproduction.data import data_folder
from reproduction.recipes.every import recipe

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from adaptag.experiments.problem import Part

TASKS = {"chunking": "", "segmentation": "plain", "bio-ner": "plain"}  # features: no rich edges
BLOCK = 1 << 40  # weights: one block for each kind of row


def parts_of(name: str, held_out: bool) -> Part:
    task = recipe(name)
    corpora = task.read(data_folder())
    return task.problem(task.training(corpora) if held_out else corpora, TASKS[name]).parts[0]


def simulate(part: Part, shards: int, rounds: int, passes: int, seed: int) -> list[float]:
    """The score after each pass."""
    data, adf = part.train, algorithm("adf")
    values = adf.values({})
    values["rate"] = find_rate(data, adf, values, seed)
    n = len(data)
    order = np.random.default_rng(seed).permutation(n)
    examples = [data.select(np.sort(numbers)) for numbers in np.array_split(order, shards)]
    state, blocks = new_state(data.layout, adf), blocks_of(data.layout, BLOCK)
    trainings = [
        ShardTraining(
            sentences,
            adf,
            values,
            shard=shard,
            n_shards=shards,
            n_sentences=n,
            seed=seed,
            rounds_per_pass=rounds,
            state=state,
        )
        for shard, sentences in enumerate(examples)
    ]
    scores = []
    for number in range(passes * rounds):
        mixtures = [Mixture(block.row_size) for block in blocks]
        for training in trainings:
            training.run(number)
            for block, mixture in zip(blocks, mixtures, strict=True):
                mixture.add(training.change(block))
            training._change.clear()  # all trainings stay in memory
        for block, mixture in zip(blocks, mixtures, strict=True):
            training.apply(block, mixture.mixed())
        training.end_round()
        if (number + 1) % rounds == 0:
            scores.append(float(f1(part.counts(state[WEIGHTS]).sum(axis=0))))
    return scores


class Mean(Mixture):
    """Plain averaging of weights."""

    def factor(self) -> NDArray[np.float32]:
        """All rows are averaged over all workers."""
        return np.full(len(self.sums[mixing.STEPS]), 1 / self.workers, np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="recipes; by default all")
    parser.add_argument("--shards", default="1,2,4,8,16,64")
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=0, help="mixes in a pass")
    parser.add_argument("--saturation", type=float, default=float(mixing.SATURATION))
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--mean", action="store_true", help="average weights instead")
    options = parser.parse_args()
    mixing.SATURATION = np.float32(options.saturation)
    if options.mean:
        globals()["Mixture"] = Mean
    for name in options.tasks or TASKS:
        part = parts_of(name, options.held_out)
        for shards in map(int, options.shards.split(",")):
            rounds = options.rounds or (1 if options.mean else rounds_for(shards))
            runs = [
                simulate(part, shards, rounds, options.passes, seed + 1)
                for seed in range(options.seeds)
            ]
            means = [fmean(scores) for scores in zip(*runs, strict=True)]
            print(name, shards, rounds, " ".join(f"{mean:.2f}" for mean in means), flush=True)


if __name__ == "__main__":
    main()
