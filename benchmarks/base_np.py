"""Base noun phrases with the features of Sun et al. (2014), with and without rich edges.

usage: python base_np.py [--tune] [--seeds N]

Writes results/base_np.md, or with --tune results/tuning-base_np.md: rate and σ by four-fold
cross-validation on the training data, as in the paper. Training ends by the paper's rule of
empirical convergence (`--converge`), which looks at training data only.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from typing import Any

import chunking
import report
from chunking import DATA
from measure import HERE
from report import Table, figure, markdown_table

import adaptag
from adaptag import Template

RESULTS = HERE / "results"
RICH = Template.load("base-np")
PLAIN = Template(RICH.text.replace("\n*", "\nU"))
TEMPLATES = {"rich edges": RICH, "plain edges": PLAIN}
PUBLISHED = {"rich edges": 94.52, "plain edges": None}
CHOSEN: dict[str, Any] = {"rate": 0.1, "sigma": 5.0}
GRID = {"rate": [0.05, 0.1], "sigma": [1.0, 2.0, 5.0]}
FOLDS, TUNED_PASSES, MOST_PASSES = 4, 16, 60

READ_FIRST = """\
CoNLL-2000, noun phrases only (B-NP, I-NP, the rest O); the features of table 3 of Sun et al.
(2014), preset `base-np`, ADF. Published: their table 4 (17 passes). The paper's model has weights
only for features with labels seen in the training data (4.8 × 10⁵); adaptag has weights for all."""


def read(name: str) -> list[list[tuple[str, str, str]]]:
    return [
        [(word, pos, label if label.endswith("-NP") else "O") for word, pos, label in sentence]
        for sentence in chunking.read(DATA / name)
    ]


def tune() -> None:
    data = read("train.txt")
    bounds = [len(data) * k // FOLDS for k in range(FOLDS + 1)]
    shown = [*range(1, TUNED_PASSES, 2)]
    parts = ["# Settings for base noun phrases", f"Mean F of {FOLDS} folds of the training data."]
    parts += ["Command: `python benchmarks/base_np.py --tune`"]
    for name, template in TEMPLATES.items():
        table = Table(name, ["Rate", "σ", *(f"{k + 1} passes" for k in shown)], [])
        for rate, sigma in itertools.product(*GRID.values()):
            curves = []
            for first, last in itertools.pairwise(bounds):
                model = adaptag.train(
                    data[:first] + data[last:],
                    template=template,
                    dev=data[first:last],
                    passes=TUNED_PASSES,
                    patience=TUNED_PASSES,
                    rate=rate,
                    sigma=sigma,
                )
                curves.append([p["dev_score"] for p in model.provenance["passes"]])
            means = [sum(scores) / FOLDS for scores in zip(*curves, strict=True)]
            table.rows.append([str(rate), str(sigma), *(figure(means[k]) for k in shown)])
            print(name, *table.rows[-1], flush=True)
        parts += [f"## {name}", markdown_table(table)]
    (RESULTS / "tuning-base_np.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def measure(seeds: int) -> Table:
    training, test = read("train.txt"), read("test.txt")
    table = Table(
        "Base noun phrases",
        ["Edges", "Seed", "Passes", "Seconds", "Weights", "P", "R", "F", "Published F"],
        [],
    )
    for (name, template), seed in itertools.product(TEMPLATES.items(), range(1, seeds + 1)):
        begin = time.perf_counter()
        model = adaptag.train(
            training, template=template, passes=MOST_PASSES, converge=True, seed=seed, **CHOSEN
        )
        seconds = time.perf_counter() - begin
        chunks = adaptag.evaluate_model(model, test).chunks
        passes = str(len(model.provenance["passes"]))
        ours = [passes, figure(seconds, ".1f"), f"{model.n_weights:,}"]
        scores = [figure(x) for x in (chunks.precision, chunks.recall, chunks.f1)]
        table.rows.append([name, str(seed), *ours, *scores, figure(PUBLISHED[name])])
        print(*table.rows[-1], flush=True)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tune", action="store_true", help="choose the settings")
    parser.add_argument("--seeds", type=int, default=3, help="how many orders of the sentences")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    if arguments.tune:
        tune()
        return
    table = measure(arguments.seeds)
    report.show([table])
    parts = ["# Base noun phrases, with and without rich edges", READ_FIRST]
    parts += [f"Machine: {report.described(report.machine())}."]
    parts += [f"Command: `python benchmarks/base_np.py --seeds {arguments.seeds}`"]
    parts += [markdown_table(table)]
    settings = ", ".join(f"{name} {value}" for name, value in CHOSEN.items())
    parts += [f"Settings, chosen on training data (`tuning-base_np.md`): {settings}."]
    (RESULTS / "base_np.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
