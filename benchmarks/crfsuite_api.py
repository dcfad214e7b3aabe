"""Tagging through `adaptag.pycrfsuite`, beside python-crfsuite itself, in one process on one core.

usage: python crfsuite_api.py [--repeats N] [--model FILE]

Both open the same file: a model that `adaptag.pycrfsuite` trains on the first sentences of
CoNLL-2000 with the features of sklearn-crfsuite's tutorial, or the one that is given. Each calls
`Tagger.tag` once for each sequence, as projects do; they take turns, and the best of the repeats
counts. The status is 1 where labels differ, or adaptag tags less than twice as fast.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pycrfsuite
from chunking import DATA
from peers.dictionary_crf import features, read

from adaptag import pycrfsuite as ours

if TYPE_CHECKING:
    from collections.abc import Callable

BAR = 2.0
LENGTH = 6  # items of a short sequence, as of an address
SENTENCES = 1000  # that the model is trained on
PART = 300  # sequences whose marginals are computed


def train(path: Path) -> None:
    trainer = ours.Trainer(params={"c1": 0.1, "c2": 0.1, "max_iterations": 30}, verbose=False)
    sentences = read(str(DATA / "train.txt"))[:SENTENCES]
    for sentence, items in zip(sentences, features(sentences), strict=True):
        trainer.append(items, [token[-1] for token in sentence])
    trainer.train(path)


def attributes(item: dict[str, Any]) -> list[str]:
    """The attributes of an item, as strings."""
    return [f"{k}:{v}" if isinstance(v, str) else k for k, v in item.items() if v]


def inputs(items: list[list[dict[str, Any]]]) -> dict[str, list[Any]]:
    """The sequences in the forms that projects use, by a name."""
    short = [s[k : k + LENGTH] for s in items for k in range(0, len(s), LENGTH)]
    return {
        "dictionaries": items,
        "lists of strings": [[attributes(item) for item in s] for s in items],
        f"dictionaries, {LENGTH} items": short,
        f"lists of strings, {LENGTH} items": [[attributes(item) for item in s] for s in short],
    }


def tag(tagger: Any, sequences: list[Any]) -> list[list[str]]:
    return [tagger.tag(sequence) for sequence in sequences]


def marginals(tagger: Any, sequences: list[Any]) -> None:
    """Ask for the probability of each label at each position, as sklearn-crfsuite does."""
    labels = tagger.labels()
    for sequence in sequences:
        tagger.set(sequence)
        for t in range(len(sequence)):
            for label in labels:
                tagger.marginal(label, t)


def microseconds(
    job: Callable[[Any, list[Any]], object], taggers: list[Any], sequences: list[Any], repeats: int
) -> list[float]:
    """The least time per sequence of each tagger, in turns."""
    times: list[list[float]] = [[] for _ in taggers]
    for _ in range(repeats):
        for tagger, of_tagger in zip(taggers, times, strict=True):
            start = time.perf_counter()
            job(tagger, sequences)
            of_tagger.append(time.perf_counter() - start)
    return [min(of_tagger) / len(sequences) * 1e6 for of_tagger in times]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--model", type=Path)
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    taggers = [pycrfsuite.Tagger(), ours.Tagger()]
    with tempfile.TemporaryDirectory() as folder:
        path = options.model or Path(folder) / "chunks.crfsuite"
        if options.model is None:
            train(path)
        for tagger in taggers:
            tagger.open(str(path))
    met = True
    for name, sequences in inputs(features(read(str(DATA / "test.txt")))).items():
        met &= tag(taggers[0], sequences) == tag(taggers[1], sequences)
        for job, part in ((tag, sequences), (marginals, sequences[:PART])):
            theirs, mine = microseconds(job, taggers, part, options.repeats)
            met &= job is not tag or theirs / mine >= BAR
            print(
                f"{name}: {job.__name__}: python-crfsuite {theirs:.1f} µs for a sequence, "
                f"adaptag {mine:.1f} µs: {theirs / mine:.1f} times as fast",
                flush=True,
            )
    print("bars met" if met else "a bar is missed")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
