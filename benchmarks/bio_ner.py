"""Biomedical named entities (JNLPBA 2004) with the features of Sun et al. (2014), rich edges.

usage: python bio_ner.py [--tune] [--seeds N] [--only ALGORITHM …]

Writes results/bio_ner.md, or with --tune results/tuning-bio_ner.md: rate, σ and passes by the F of
the last fifth of the training sentences, trained on the others. The recipe trains a tagger of
parts of speech on GENIA first.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import report
from chunking import DATA
from measure import HERE
from report import Table, figure, markdown_table

import adaptag
from adaptag.experiments.recipes.bio_ner import BIO_NER
from adaptag.training.loop import fit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from adaptag.corpus.columns import ColumnCorpus

RESULTS = HERE / "results"
# What --tune chose; the evidence is in results/tuning-bio_ner.md.
CHOSEN: dict[str, dict[str, Any]] = {
    "adf": {"rate": 0.02, "sigma": 1.0, "passes": 7},
    "sgd": {"rate": 0.01, "sigma": 1.0, "passes": 10},
    "averaged-perceptron": {"passes": 8},
    "perceptron": {"passes": 10},
}
GRIDS: dict[str, dict[str, list[float]]] = {
    "adf": {"rate": [0.01, 0.02, 0.05], "sigma": [1.0, 5.0]},
    "sgd": {"rate": [0.01, 0.02, 0.05], "sigma": [1.0, 5.0]},
    "averaged-perceptron": {},
    "perceptron": {},
}
MOST_PASSES = 12

READ_FIRST = """\
JNLPBA 2004, official training and test files; preset `bio-ner`: table 2 of Sun et al. (2014), and
the shape, beginnings and ends of the word. Every feature has edge weights. Parts of speech come
from a tagger that the recipe trains on GENIA (template `general`, 8 passes). Published: table 4 of
the paper, whose parts of speech come from another tagger."""


def curve(train: Any, held_out: Any, algorithm: str, settings: dict[str, float]) -> list[float]:
    """F of held-out data after each pass."""

    def score(weights: NDArray[Any]) -> float:
        model = adaptag.Model(train.label_names, train.index, weights)
        return adaptag.evaluate_model(model, held_out).score

    result = fit(
        train, algorithm_name=algorithm, parameters=settings, passes=MOST_PASSES, score=score
    )
    return [one.score for one in result.history]


def tune(corpus: ColumnCorpus, algorithms: list[str]) -> None:
    cut = len(corpus) * 4 // 5
    train = adaptag.encode(corpus.select(np.arange(cut)), template=BIO_NER.template)
    rest = corpus.select(np.arange(cut, len(corpus)))
    held_out = adaptag.Dataset.encode(rest, train.index, train.label_names)
    table = Table("Held-out F", ["Algorithm", "Settings", "Best F", "Passes", "F by pass"], [])
    for algorithm in algorithms:
        grid = GRIDS[algorithm]
        for values in itertools.product(*grid.values()):
            settings = dict(zip(grid, values, strict=True))
            f = curve(train, held_out, algorithm, settings)
            shown = ", ".join(f"{k} {v:g}" for k, v in settings.items()) or "-"
            best = max(f)
            by_pass = " ".join(f"{x:.2f}" for x in f)
            table.rows.append([algorithm, shown, f"{best:.2f}", str(f.index(best) + 1), by_pass])
            print(*table.rows[-1], flush=True)
    parts = ["# Bio-NER: settings, by the last fifth of the training sentences", READ_FIRST]
    parts += ["Command: `python benchmarks/bio_ner.py --tune`", markdown_table(table)]
    (RESULTS / "tuning-bio_ner.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def measure(train: Any, test: ColumnCorpus, algorithms: list[str], seeds: int) -> Table:
    head = ["Algorithm", "F", "±", "P", "R", "Passes", "s per pass", "s in all", "Weights"]
    table = Table("Test", [*head, "Published F", "Published passes"], [])
    passes = {"adf": 35, "sgd": 91, "perceptron": 200, "averaged-perceptron": 37}
    for algorithm in algorithms:
        settings = dict(CHOSEN[algorithm])
        scores, seconds = [], []
        for seed in range(1, seeds + 1):
            begin = time.perf_counter()
            model = adaptag.train(train, algorithm=algorithm, seed=seed, **settings)
            seconds.append(time.perf_counter() - begin)
            found = adaptag.evaluate_model(model, test).chunks
            assert found is not None
            scores.append(found)
            print(algorithm, seed, f"F {found.f1:.2f}, {seconds[-1]:.1f} s", flush=True)
        f = [one.f1 for one in scores]
        table.rows.append(
            [
                algorithm,
                figure(statistics.mean(f)),
                figure(statistics.stdev(f)) if seeds > 1 else "-",
                figure(statistics.mean(one.precision for one in scores)),
                figure(statistics.mean(one.recall for one in scores)),
                str(settings["passes"]),
                figure(min(seconds) / settings["passes"]),
                figure(min(seconds), ".1f"),
                f"{model.n_weights:,}",
                figure(BIO_NER.published[algorithm]),
                str(passes[algorithm]),
            ]
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=list(CHOSEN))
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    train, test = BIO_NER.read(DATA.parent)
    if options.tune:
        tune(train, options.only)
        return
    encoded = adaptag.encode(train, template=BIO_NER.template)
    table = measure(encoded, test, options.only, options.seeds)
    report.show([table])
    settings = "; ".join(
        f"{name} " + ", ".join(f"{k} {v:g}" for k, v in CHOSEN[name].items())
        for name in options.only
    )
    parts = [
        "# Biomedical named entities",
        READ_FIRST,
        f"Machine: {report.described(report.machine())}.",
        f"Command: `python benchmarks/bio_ner.py --seeds {options.seeds}`. Mean over the seeds; "
        "one core; the least time.",
        markdown_table(table),
        f"Settings, chosen on training data (`tuning-bio_ner.md`): {settings}.",
    ]
    (RESULTS / "bio_ner.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
