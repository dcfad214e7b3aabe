"""How many labels does a score need: sentences chosen by the model against random order?

The answers are simulated: they are the gold labels of the training data, words alone, without the
corpora's further columns. Each run begins with random sentences; then the model is trained, scored
on the test data, and chooses the next ones, until it reaches the target. With ``--held-out`` the
last sentences of the training data are scored instead; the constants of ``annotation/selection.py``
were chosen so, and on the tasks that are not run by default. ``--times`` measures how long choosing
and training take, instead.

    python -m benchmarks.labelling [TASK …] [--seeds 3] [--strategies random,uncertain] [--held-out]
    python -m benchmarks.labelling [TASK …] --times
"""

from __future__ import annotations

import argparse
import itertools
import time
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import adaptag
from adaptag.annotation.answers import Answer
from adaptag.annotation.learner import Learner
from adaptag.annotation.selection import STRATEGIES, choose
from adaptag.corpus.columns import ColumnCorpus, ColumnFormat
from benchmarks.report import Table, markdown_table
from reproduction.data import data_folder

if TYPE_CHECKING:
    from pathlib import Path

HELD_OUT = 3_000  # sentences
FIRST = 50  # random sentences at the start
LEAST, SHARE = 10, 0.05  # sentences between two trainings: so many, or this share of those labelled
LABELLED, UNLABELLED = 2_000, 10_000  # sentences, where times are measured
REPEATS = 20


class Task(NamedTuple):
    """Files of training and test data, and the F to reach."""

    train: str
    test: str
    target: float


TASKS = {
    "english-ner": Task("conll2003/eng.train", "conll2003/eng.testb", 80),
    "bio-ner": Task("jnlpba2004/train.iob2", "jnlpba2004/test.iob2", 65),
    "dutch-ner": Task("conll2002_dutch/ned.train", "conll2002_dutch/ned.testa", 62),
    "chunking": Task("conll2000/train.txt", "conll2000/test.txt", 88),
}
DEFAULT = ("english-ner", "bio-ner")


@dataclass(frozen=True)
class Data:
    """Sentences of words, and their labels in IOB2."""

    sentences: list[list[str]]
    labels: list[list[str]]

    @classmethod
    def read(cls, path: Path) -> Data:
        """Read the first and the last column of a file."""
        corpus = ColumnCorpus.read(path, ColumnFormat(skip_docstart=True))
        text, bounds = corpus.text.tobytes(), list(itertools.pairwise(corpus.sentences.tolist()))
        words = [text[begin:end].decode() for begin, end in corpus.cells[:, 0].tolist()]
        ids, names = corpus.number_labels()
        labels = [names[number] for number in ids]
        return cls(
            [words[a:b] for a, b in bounds],
            adaptag.convert_labels([labels[a:b] for a, b in bounds], "iob2"),
        )

    def part(self, first: int, end: int) -> Data:
        """Some of the sentences."""
        return Data(self.sentences[first:end], self.labels[first:end])


def data_of(task: Task, held_out: bool) -> tuple[Data, Data]:
    folder = data_folder()
    train = Data.read(folder / task.train)
    if not held_out:
        return train, Data.read(folder / task.test)
    cut = len(train.sentences) - HELD_OUT
    return train.part(0, cut), train.part(cut, cut + HELD_OUT)


def corpus_of(data: Data) -> ColumnCorpus:
    return ColumnCorpus.from_sentences(data.sentences).with_labels(data.labels)


def answers_of(data: Data, sentences: list[int]) -> list[Answer]:
    return [Answer(sentence, tuple(data.labels[sentence])) for sentence in sentences]


def needed(
    learner: Learner, data: Data, test: ColumnCorpus, target: float, strategy: str, seed: int
) -> tuple[int, int]:
    """Label until the target is reached: the sentences and tokens that it takes."""
    everything = np.arange(len(data.sentences))
    labelled = choose(None, learner.pool, everything, FIRST, seed=seed)
    while True:
        trained = learner.train(answers_of(data, labelled))
        score = 0.0
        if trained is not None:
            score = trained.model.evaluate(test).score
        if score >= target or len(labelled) == len(everything):
            return len(labelled), sum(len(data.sentences[sentence]) for sentence in labelled)
        labelled += choose(
            None if trained is None else trained.model,
            learner.pool,
            np.setdiff1d(everything, labelled),
            max(LEAST, int(SHARE * len(labelled))),
            strategy=strategy,
            seed=1_000_000 * seed + len(labelled),
        )


def effort(names: list[str], strategies: list[str], seeds: int, held_out: bool) -> Table:
    rows = []
    for name in names:
        data, test_data = data_of(TASKS[name], held_out)
        test = corpus_of(test_data)
        learner = Learner(data.sentences, held_out=0)
        base: list[float] = []
        for strategy in strategies:
            runs = [
                needed(learner, data, test, TASKS[name].target, strategy, seed)
                for seed in range(1, seeds + 1)
            ]
            means = [fmean(figures) for figures in zip(*runs, strict=True)]
            base = base or means
            rows.append([f"{name}, F {TASKS[name].target:g}", strategy])
            for column, mean in enumerate(means):
                each = ", ".join(f"{run[column]:,}" for run in runs)
                rows[-1] += [f"{mean:,.0f} ({each})", f"{mean / base[column] - 1:+.0%}"]
            print(*rows[-1], flush=True)
    first = strategies[0]
    head = ["Task", "Order", "Sentences", f"to {first}", "Tokens", f"to {first}"]
    return Table("Labels needed", head, rows)


def times(names: list[str]) -> Table:
    rows = []
    for name in names:
        data, _ = data_of(TASKS[name], held_out=False)
        data = data.part(0, LABELLED + UNLABELLED)
        learner = Learner(data.sentences)
        answers = answers_of(data, list(range(LABELLED)))
        candidates = np.arange(LABELLED, len(data.sentences))
        training, choosing, suggesting = [], [], []
        for seed in range(REPEATS):
            trained = learner.train(answers)
            assert trained is not None
            training.append(trained.seconds)
            began = time.perf_counter()
            best = choose(trained.model, learner.pool, candidates, LEAST, seed=seed)
            choosing.append(time.perf_counter() - began)
            trained.model.marginals(data.sentences[best[0]])
            trained.model.segments(data.sentences[best[0]])
            suggesting.append(time.perf_counter() - began)
        for what, seconds in (
            (f"training, {LABELLED:,} labelled", training),
            (f"choosing of {len(candidates):,}", choosing),
            ("choosing, and the suggestion", suggesting),
        ):
            median, high = np.quantile(seconds, [0.5, 0.95]) * 1000
            rows.append([f"{name}, {what}", f"{median:.0f}", f"{high:.0f}"])
            print(*rows[-1], flush=True)
    return Table("Times", ["", "Median, ms", "95th percentile, ms"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"of {', '.join(TASKS)}")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--strategies", default="random,uncertain", help=", ".join(STRATEGIES))
    parser.add_argument("--held-out", action="store_true", help="score on training data")
    parser.add_argument("--times", action="store_true", help="measure times instead")
    options = parser.parse_args()
    names = options.tasks or list(DEFAULT)
    if options.times:
        table = times(names)
    else:
        table = effort(names, options.strategies.split(","), options.seeds, options.held_out)
    print("", markdown_table(table), sep="\n")


if __name__ == "__main__":
    main()
