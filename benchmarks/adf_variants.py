"""Can ADF be better than in its paper? Variants of it on the training data of every task.

The training data of each recipe is split as for the choice of settings (mostly the last fifth is
held out); test sets are not used. Restarts and floors of the rates, and averages, are made between
passes, from the state that Python owns.

    python -m benchmarks.adf_variants [TASK …] [--passes 10] [--seeds 2]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from adaptag.dataset.dropout import Dropout
from adaptag.experiments.significance import f1
from adaptag.experiments.space import resolve
from adaptag.training.algorithms import algorithm
from adaptag.training.initial_rate import find_rate
from adaptag.training.online import Trainer
from reproduction.data import data_folder
from reproduction.recipes.every import RECIPES, recipe
from reproduction.recipes.recipe import Study

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from adaptag.experiments.problem import Part, Problem
    from adaptag.settings import Value
    from reproduction.recipes.recipe import Recipe

    Weights = NDArray[np.float32]


@dataclass(frozen=True)
class Variant:
    """A form of ADF.

    Attributes:
        name: What differs from the defaults.
        parameters: The parameters of ADF; a window may be a part of the sentences.
        restart: Every pass starts with fresh rates, times this for each pass before.
        floor: Rates are raised to this part of the initial one after each pass.
        average: Whether the weights after the passes of the second half are averaged.
        orders: Models trained in this many orders are averaged.
        algorithm: Another algorithm, for comparison.
    """

    name: str
    parameters: dict[str, Value] = field(default_factory=dict)
    restart: float = 0
    floor: float = 0
    average: bool = False
    orders: int = 1
    algorithm: str = "adf"


TASKS = [name for name in RECIPES if name != "resources"]
VARIANTS = (
    Variant("defaults"),
    Variant("rate 0.1", {"rate": 0.1}),
    Variant("sigma 2", {"sigma": 2}),
    Variant("sigma 1", {"sigma": 1}),
    Variant("beta 0.75", {"beta": 0.75}),
    Variant("beta 0.9", {"beta": 0.9}),
    Variant("window n/3", {"window": "n/3"}),
    Variant("restart 1", restart=1),
    Variant("restart 0.85", restart=0.85),
    Variant("floor 0.01", floor=0.01),
    Variant("floor 0.1", floor=0.1),
    Variant("average", average=True),
    Variant("4 orders", orders=4),
    Variant("dropout 0.05", {"dropout": 0.05}),
    Variant("dropout 0.1", {"dropout": 0.1}),
    Variant("dropout 0.2", {"dropout": 0.2}),
    Variant("dropout 0.1, average", {"dropout": 0.1}, average=True),
    Variant("madf", algorithm="madf"),
)


def held_out(task: Recipe) -> Problem:
    """The problem of the first study's first row, on training data alone."""
    study = next(study for study in task.studies if isinstance(study, Study))
    corpora = task.training(task.read(data_folder()))
    return task.problem(corpora, study.rows[0].features)


def trained(part: Part, variant: Variant, passes: int, seed: int) -> Weights:
    """The weights of a model."""
    chosen, data = algorithm(variant.algorithm), part.train
    values = chosen.values(resolve(dict(variant.parameters), len(data)))
    if values["rate"] == "auto":
        values["rate"] = find_rate(data, chosen, values, seed)
    rate = float(values["rate"])
    dropout = Dropout(data, float(values["dropout"]))
    lengths, rng = np.diff(data.encoded.sentences), np.random.default_rng(seed)
    trainer, ends = Trainer(data, chosen, values), []
    for number in range(passes):
        if number and variant.restart:
            weights = trainer.current_weights()
            values["rate"] = rate * variant.restart**number
            trainer = Trainer(data, chosen, values)
            trainer.weights[:] = weights
        elif number and variant.floor:
            trainer.arrays()
            rates = trainer.row_state["rate"]
            rates[rates > 0] = np.maximum(rates[rates > 0], variant.floor * rate)
        order = rng.permutation(len(data)).astype(np.uint32)
        trainer.use(dropout.in_pass(number + 1, seed))
        trainer.run(order[lengths[order] > 0])
        if variant.average and number >= passes // 2:
            ends.append(trainer.current_weights())
    weights = np.mean(ends, axis=0) if ends else trainer.current_weights()
    return dropout.scale(weights)


def score(problem: Problem, variant: Variant, passes: int, seed: int) -> float:
    """The score on what was held out."""
    counts = []
    for part in problem.parts:
        orders = [trained(part, variant, passes, seed + 100 * k) for k in range(variant.orders)]
        counts.append(part.counts(np.mean(orders, axis=0, dtype=np.float32)).sum(axis=0))
    return float(f1(np.sum(counts, axis=0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="recipes; by default all")
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    print("| Task | " + " | ".join(variant.name for variant in VARIANTS) + " |")
    print("|---" * (len(VARIANTS) + 1) + "|")
    for name in options.tasks or TASKS:
        problem = held_out(recipe(name))
        cells = [
            fmean(score(problem, v, options.passes, seed + 1) for seed in range(options.seeds))
            for v in VARIANTS
        ]
        print(f"| {name} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")


if __name__ == "__main__":
    main()
