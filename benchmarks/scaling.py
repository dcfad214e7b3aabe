"""Passes of training timed while one thing grows, in one process; prints one JSON object.

usage: python scaling.py corpus|labels|unused ROUNDS

    corpus   ns per token of a tenth of CoNLL-2000 to ten times as much
    labels   ns per token with 2 to 200 labels
    unused   ns per token of CoNLL-2000, and with ten million features that never fire

The runs take turns, pass by pass; the fastest pass of each counts, but never the first.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from types import SimpleNamespace

import numpy as np
from chunking import DATA, Sentence, read

import adaptag
from adaptag.dataset.encoded import Examples
from adaptag.features.index import Encoded
from adaptag.training.algorithms import algorithm
from adaptag.training.online import Trainer

UNUSED = 10_000_000
FACTORS = (0.1, 0.3, 1, 3, 10)
LABELS = (2, 5, 10, 20, 50, 100, 200)
RARE = 3  # occurrences
SEED = 1


def corpus() -> list[Sentence]:
    """The training sentences in random order, so that any number of the first ones is a sample."""
    sentences = list(read(DATA / "train.txt"))
    order = np.random.default_rng(SEED).permutation(len(sentences))
    return [sentences[k] for k in order]


def scaled(sentences: list[Sentence], factor: float) -> list[Sentence]:
    """A part of the corpus, or a corpus of several times its size.

    Each further copy has other words in the place of those that are rare. So the number of features
    grows as in real text: from a tenth of CoNLL-2000 to all of it 4.7 times, from there to ten
    copies 4.6 times.
    """
    counts = Counter(token[0] for sentence in sentences for token in sentence)
    copies = [
        sentences
        if not number
        else [
            [(f"{w}#{number}" if counts[w] <= RARE else w, *rest) for w, *rest in sentence]
            for sentence in sentences
        ]
        for number in range(max(1, int(factor)))
    ]
    everything = [sentence for copy in copies for sentence in copy]
    return everything[: round(factor * len(sentences))]


def relabelled(sentences: list[Sentence], n_labels: int) -> list[Sentence]:
    """The same words, each with a label of its own: a random one of so many."""
    words = sorted({token[0] for sentence in sentences for token in sentence})
    random = np.random.default_rng(SEED).integers(n_labels, size=len(words))
    label = dict(zip(words, random, strict=True))
    return [[(*token[:2], f"L{label[token[0]]}") for token in sentence] for sentence in sentences]


def with_unused(dataset: Examples, unused: int) -> Examples:
    """The same data; so many node features that never fire lie between its own."""
    node, both, edge = dataset.index.n_of_kind
    kinds = (node + unused, both, edge)
    e = dataset.encoded
    ids = np.where(e.predicates < node, e.predicates, e.predicates + np.uint32(unused))
    encoded = Encoded(e.sentences, e.positions, ids.astype(np.uint32), e.values)
    index = SimpleNamespace(n_of_kind=kinds, n_predicates=sum(kinds))
    return Examples(index, encoded, dataset.labels, dataset.label_names)


def chunking(sentences: list[Sentence]) -> Examples:
    return adaptag.encode(sentences, template="chunking")


def timed(runs: dict[str, Examples], rounds: int) -> dict[str, dict[str, float]]:
    """Ns per token of the fastest pass of each, and its numbers of features and tokens."""
    trainers = {name: Trainer(run, algorithm("adf"), {}) for name, run in runs.items()}
    rng = np.random.default_rng(SEED)
    fastest: dict[str, float] = {}
    for number in range(rounds + 1):
        for name, trainer in trainers.items():
            order = rng.permutation(len(runs[name])).astype(np.uint32)
            begin = time.perf_counter()
            trainer.run(order)
            seconds = time.perf_counter() - begin
            if number:
                fastest[name] = min(seconds, fastest.get(name, seconds))
    return {
        name: {
            "ns": 1e9 * fastest[name] / run.n_tokens,
            "tokens": run.n_tokens,
            "features": run.index.n_predicates,
        }
        for name, run in runs.items()
    }


def main(what: str, rounds: str) -> None:
    sentences = corpus()
    if what == "corpus":
        runs = {f"{factor:g}": chunking(scaled(sentences, factor)) for factor in FACTORS}
    elif what == "labels":
        part = scaled(sentences, 0.1)
        runs = {str(n): chunking(relabelled(part, n)) for n in LABELS}
    else:
        dataset = chunking(sentences)
        runs = {"plain": dataset, "unused": with_unused(dataset, UNUSED)}
    print(json.dumps(timed(runs, int(rounds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
