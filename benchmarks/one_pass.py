"""One pass over the training data: the comparison of figures 5 and 7 of Sun et al. (2014).

usage: python one_pass.py [--seeds N] [--only TASK ...]
       python one_pass.py --tune [--only TASK ...]

ADF, SGD and the perceptrons see every training sentence exactly once, on chunking, named entities,
word segmentation and sentiment. Writes results/one_pass.md, or with --tune
results/tuning-one_pass.md: settings for one pass, by the score of a held-out fifth of the training
data. CHOSEN holds what was chosen. Needs `adaptag[sklearn]`.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import report
import sentiment
from chunking import DATA
from measure import HERE
from report import Table, figure, markdown_table
from sklearn.model_selection import StratifiedShuffleSplit

import adaptag
from adaptag import Dataset, MaxEntClassifier, Model, Segmenter
from adaptag.corpus.segmented import SegmentedCorpus, tag_names
from adaptag.dataset.encoded import Examples
from adaptag.features.characters import CharacterFeatures, CharacterIndex
from adaptag.training.loop import fit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sentiment import Part

    Settings = dict[str, Any]
    Grid = dict[str, tuple[float, ...]]
    Run = Callable[[str, Settings, int], float]  # algorithm, settings, seed → score of one pass

RESULTS = HERE / "results"
FIFTHS, SEED = 5, 1
ALGORITHMS = ("adf", "sgd", "averaged-perceptron", "perceptron")

# What --tune chose, on training data only; the evidence is in results/tuning-one_pass.md.
# decays: windows of ADF in the pass, the paper's n/q.
CHOSEN: dict[str, dict[str, Settings]] = {
    "chunking": {
        "adf, q, α, β of the paper": {
            "rate": 0.1,
            "sigma": 5.0,
            "alpha": 0.995,
            "beta": 0.6,
            "decays": 10,
        },
        "adf": {"rate": 0.2, "sigma": 2.0, "alpha": 0.99, "beta": 0.6, "decays": 20},
        "sgd": {"rate": 0.2, "sigma": 5.0, "decay": 0.1},
    },
    "named entities": {
        "adf, q, α, β of the paper": {
            "rate": 0.05,
            "sigma": 2.0,
            "alpha": 0.995,
            "beta": 0.6,
            "decays": 10,
        },
        "adf": {"rate": 0.1, "sigma": 5.0, "alpha": 0.995, "beta": 0.5, "decays": 20},
        "sgd": {"rate": 0.1, "sigma": 5.0, "decay": 0.2},
    },
    "word segmentation": {
        "adf, q, α, β of the paper": {
            "rate": 0.1,
            "sigma": 5.0,
            "alpha": 0.995,
            "beta": 0.6,
            "decays": 10,
        },
        "adf": {"rate": 0.1, "sigma": 5.0, "alpha": 0.999, "beta": 0.5, "decays": 50},
        "sgd": {"rate": 0.1, "sigma": 2.0, "decay": 0.1},
    },
    "sentiment": {
        "adf, q, α, β of the paper": {
            "rate": 0.02,
            "sigma": 5.0,
            "alpha": 0.995,
            "beta": 0.6,
            "decays": 10,
        },
        "adf": {"rate": 0.02, "sigma": 1.0, "alpha": 0.999, "beta": 0.7, "decays": 50},
        "sgd": {"rate": 0.02, "sigma": 1.0, "decay": 0.85},
    },
}

# Tried one after the other, each from the best so far.
BEGIN: dict[str, Settings] = {
    "adf": {"rate": 0.1, "sigma": 5.0, "alpha": 0.995, "beta": 0.6, "decays": 10},
    "sgd": {"rate": 0.1, "sigma": 5.0, "decay": 0.85},
}
SIGMA: Grid = {"sigma": (1.0, 2.0, 5.0)}
RATES = {
    "chunking": (0.02, 0.05, 0.1, 0.2, 0.5),
    "named entities": (0.01, 0.02, 0.05, 0.1, 0.2),
    "word segmentation": (0.01, 0.02, 0.05, 0.1, 0.2),
    "sentiment": (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0),
}
STEPS: dict[str, list[Grid]] = {
    "adf": [
        {"rate": ()},  # those of the task
        {"decays": (10, 20, 50, 100), "beta": (0.5, 0.6, 0.7)},
        {"rate": ()},
        {"alpha": (0.99, 0.995, 0.999)},
        SIGMA,
    ],
    "sgd": [{"rate": (), "decay": (0.85, 0.5, 0.2, 0.1, 0.05)}, SIGMA],
}

READ_FIRST = """\
Every training sentence is seen once, in random order; mean and standard deviation of the test
scores over {seeds} orders. Figures 5 and 7 of Sun et al. (2014) compare the same four on their
tasks; the paper finds ADF best on all of them.

- **chunking**: CoNLL-2000, all phrase types, template `chunking`; F.
- **named entities**: JNLPBA 2004, template `general`, words alone; F.
- **word segmentation**: PKU, reconstructed training set, all features, tags B, I, E; F of words.
- **sentiment**: as in [sentiment.md](sentiment.md), values {treatment}; mean accuracy of 16 folds.

The first row is what ADF does with the settings that the paper has for all tasks: q = n/10,
α = 0.995, β = 0.6, and only the rate and σ chosen for one pass. In one pass these are ten decays,
which only the most frequent features feel; the second row may have more. All settings, also those
of SGD (rate, σ, and how far its rate falls within the pass), were chosen on a held-out fifth of the
training data, one pass."""


@dataclass(frozen=True)
class Task:
    """What is learned, and what its score is called."""

    name: str
    measure: str
    held_out: Callable[[], list[Run]]  # training data alone
    test: Callable[[], list[Run]]


def parameters(settings: Settings, n: int) -> Settings:
    """Settings for n sentences: the number of decays becomes a window."""
    rest = {name: value for name, value in settings.items() if name != "decays"}
    return rest | ({"window": max(1, n // settings["decays"])} if "decays" in settings else {})


def run_on(examples: Examples, score: Callable[[Any], float]) -> Run:
    """One pass over sentences that are encoded."""

    def run(algorithm: str, settings: Settings, seed: int) -> float:
        result = fit(
            examples,
            algorithm_name=algorithm,
            parameters=parameters(settings, len(examples)),
            passes=1,
            seed=seed,
        )
        return score(result.weights)

    return run


def tagged(train: Dataset, scored: Dataset) -> Run:
    def score(weights: Any) -> float:
        model = Model(train.label_names, train.index, weights, {})
        return adaptag.evaluate_model(model, scored).score

    return run_on(train, score)


def tagging(name: str, train: Path, test: Path, template: str) -> Task:
    def held_out() -> list[Run]:
        whole = adaptag.encode(train, template=template)
        order = np.random.default_rng(SEED).permutation(len(whole))
        n = len(whole) // FIFTHS
        return [tagged(whole.select(order[n:]), whole.select(order[:n]))]

    def whole() -> list[Run]:
        data = adaptag.encode(train, template=template)
        scored = Dataset.encode(adaptag.read(test), data.index, data.label_names)
        return [tagged(data, scored)]

    return Task(name, "F", held_out, whole)


def segmented(train: SegmentedCorpus, scored: SegmentedCorpus) -> Run:
    tags, index = "bie", CharacterIndex.build(train, CharacterFeatures())
    examples = Examples(index, index.encode(train), train.labels(tags), tag_names(tags))
    return run_on(examples, lambda weights: Segmenter(tags, index, weights).evaluate(scored).f1)


def segmentation() -> Task:
    folder = DATA.parent / "pku"

    def held_out() -> list[Run]:
        corpus = SegmentedCorpus.read(folder / "train.utf8")
        order = np.random.default_rng(SEED).permutation(len(corpus)).tolist()
        n = len(corpus) // FIFTHS
        return [segmented(corpus.select(order[n:]), corpus.select(order[:n]))]

    def whole() -> list[Run]:
        corpus = SegmentedCorpus.read(folder / "train.utf8")
        return [segmented(corpus, SegmentedCorpus.read(folder / "test_gold.utf8"))]

    return Task("word segmentation", "F", held_out, whole)


def classified(train: Part, scored: Part) -> Run:
    def run(algorithm: str, settings: Settings, seed: int) -> float:
        given = parameters(settings, len(train[1]))
        model = MaxEntClassifier(algorithm, passes=1, random_state=seed, parameters=given)
        return 100 * float(model.fit(*train).score(*scored))

    return run


def reviews() -> Task:
    def outer() -> list[list[tuple[Part, Part]]]:
        names = sentiment.DOMAINS
        return [
            list(sentiment.folds(sentiment.treated(sentiment.TREATMENT, name))) for name in names
        ]

    def held_out() -> list[Run]:
        """Fifths of the training parts of the domains' first folds."""
        runs = []
        for domain in outer():
            (X, y), _ = domain[0]  # noqa: N806
            split = StratifiedShuffleSplit(FIFTHS, test_size=1 / FIFTHS, random_state=SEED)
            runs += [classified((X[a], y[a]), (X[b], y[b])) for a, b in split.split(X, y)]
        return runs

    def folds() -> list[Run]:
        return [classified(*fold) for domain in outer() for fold in domain]

    return Task("sentiment", "accuracy", held_out, folds)


JNLPBA = DATA.parent / "jnlpba2004"
TASKS = [
    tagging("chunking", DATA / "train.txt", DATA / "test.txt", "chunking"),
    tagging("named entities", JNLPBA / "train.iob2", JNLPBA / "test.iob2", "general"),
    segmentation(),
    reviews(),
]


@dataclass
class Search:
    """Settings of one algorithm on one task: what was tried, and the best so far."""

    task: str
    algorithm: str
    runs: list[Run]
    tried: dict[str, tuple[Settings, float]] = field(default_factory=dict)

    def score(self, settings: Settings) -> float:
        """The mean over the held-out parts."""
        text = sentiment.text_of(settings)
        if text not in self.tried:
            scores = [run(self.algorithm, settings, SEED) for run in self.runs]
            self.tried[text] = settings, statistics.mean(scores)
            print(f"{self.task}, {self.algorithm}: {text}: {self.tried[text][1]:.2f}", flush=True)
        return self.tried[text][1]

    def step(self, best: Settings, grid: Grid) -> Settings:
        """Try a grid around the best settings; the first of equals wins."""
        grid = {name: values or RATES[self.task] for name, values in grid.items()}
        combinations = itertools.product(*grid.values())
        changed = [best | dict(zip(grid, values, strict=True)) for values in combinations]
        return max([best, *changed], key=self.score)

    def plain(self) -> Settings:
        """The best of the paper's window, α and β: only rate and σ are chosen."""
        best = BEGIN[self.algorithm]
        for grid in ({"rate": ()}, SIGMA):
            best = self.step(best, grid)
        return best

    def all(self) -> Settings:
        """The best of all parameters."""
        best = BEGIN[self.algorithm]
        for grid in STEPS[self.algorithm]:
            best = self.step(best, grid)
        return best


PLAIN = "adf, q, α, β of the paper"


def tune(tasks: list[Task], stem: str) -> None:
    """Choose on the held-out fifths, print CHOSEN, and write the evidence."""
    parts = ["# Settings for one pass"]
    parts += [
        "The score of a held-out fifth of the training data after one pass; of sentiment, the mean "
        "over five such fifths of the training parts of each domain's first fold. Parameters are "
        "tried one after the other, each from the best so far. decays: n/q, the windows of the "
        "pass."
    ]
    parts += ["Command: `python benchmarks/one_pass.py --tune`"]
    chosen: dict[str, dict[str, Settings]] = {}
    for task in tasks:
        runs = task.held_out()
        chosen[task.name] = {}
        for algorithm in STEPS:
            search = Search(task.name, algorithm, runs)
            if algorithm == "adf":
                chosen[task.name][PLAIN] = search.plain()
            chosen[task.name][algorithm] = search.all()
            ranked = sorted(search.tried.items(), key=lambda item: -item[1][1])
            rows = [[text, figure(score)] for text, (_, score) in ranked]
            table = Table("", ["Settings", task.measure], rows)
            parts += [f"## {task.name}, {algorithm}", markdown_table(table)]
    (RESULTS / f"tuning-one_pass{stem}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    for name, settings in chosen.items():
        print(f"    {name!r}: {settings!r},".replace("'", '"'))


def measure(tasks: list[Task], seeds: int) -> Table:
    """Train all on all tasks, one pass for each seed."""
    names = (PLAIN, *ALGORITHMS)
    head = ["Algorithm", *(f"{task.name}, {task.measure}" for task in tasks)]
    rows = {name: [name] for name in names}
    for task in tasks:
        runs = task.test()
        for name in names:
            settings = CHOSEN[task.name].get(name, {})
            algorithm = "adf" if name == PLAIN else name
            scores = [
                statistics.mean(run(algorithm, settings, seed) for run in runs)
                for seed in range(1, seeds + 1)
            ]
            spread = statistics.stdev(scores) if seeds > 1 else 0.0
            rows[name].append(f"{statistics.mean(scores):.2f} ± {spread:.2f}")
            print(task.name, name, rows[name][-1], flush=True)
    return Table("Test scores after one pass", head, list(rows.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tune", action="store_true", help="choose the settings")
    parser.add_argument("--seeds", type=int, default=3, help="how many orders of the sentences")
    parser.add_argument("--only", nargs="+", metavar="TASK", help="tasks with this name part")
    arguments = parser.parse_args()
    tasks = [t for t in TASKS if not arguments.only or any(x in t.name for x in arguments.only)]
    stem = "" if len(tasks) == len(TASKS) else "-partial"
    if arguments.tune:
        tune(tasks, stem)
        return
    table = measure(tasks, arguments.seeds)
    report.show([table])
    text = READ_FIRST.format(seeds=arguments.seeds, treatment=sentiment.TREATMENT)
    parts = ["# One pass", text]
    parts += [f"Machine: {report.described(report.machine())}."]
    parts += [f"Command: `python benchmarks/one_pass.py --seeds {arguments.seeds}`"]
    parts += [markdown_table(table)]
    lines = [
        f"- {task.name}, {name}: {sentiment.text_of(settings)}"
        for task in tasks
        for name, settings in CHOSEN[task.name].items()
    ]
    parts += ["Settings, chosen on training data (`tuning-one_pass.md`):", "\n".join(lines)]
    (RESULTS / f"one_pass{stem}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
