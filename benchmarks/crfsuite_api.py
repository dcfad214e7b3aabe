"""Tagging through `adaptag.pycrfsuite`, beside python-crfsuite itself, in one process on one core.

usage: python crfsuite_api.py [--repeats N] [--model FILE]

Both open the same file: a model that `adaptag.pycrfsuite` trains on the first sentences of
CoNLL-2000 with the features of sklearn-crfsuite's tutorial, or the one that is given. Each calls
`Tagger.tag` once for each sequence, as projects do; they take turns, and the best of the repeats
counts. The status is 1 where labels differ, or adaptag is not twice as fast.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pycrfsuite
from chunking import DATA
from peers.dictionary_crf import features, read

from adaptag import pycrfsuite as ours

BAR = 2.0
LENGTH = 6  # items of a short sequence, as of an address
SENTENCES = 1000  # that the model is trained on


def train(path: Path) -> None:
    trainer = ours.Trainer(params={"c1": 0.1, "c2": 0.1, "max_iterations": 30}, verbose=False)
    sentences = read(str(DATA / "train.txt"))[:SENTENCES]
    for sentence, items in zip(sentences, features(sentences), strict=True):
        trainer.append(items, [token[-1] for token in sentence])
    trainer.train(path)


def as_list(item: dict[str, Any]) -> list[str]:
    """The attributes of an item, as strings."""
    return [f"{k}:{v}" if isinstance(v, str) else k for k, v in item.items() if v]


def inputs(items: list[list[dict[str, Any]]]) -> dict[str, list[Any]]:
    short = [s[k : k + LENGTH] for s in items for k in range(0, len(s), LENGTH)]
    return {
        "dictionaries": items,
        "lists of strings": [[as_list(item) for item in s] for s in items],
        f"dictionaries, {LENGTH} items each": short,
        f"lists of strings, {LENGTH} items each": [[as_list(item) for item in s] for s in short],
    }


def tag_all(tagger: Any, sequences: list[Any]) -> list[list[str]]:
    return [tagger.tag(sequence) for sequence in sequences]


def best(action: Any, sequences: list[Any]) -> float:
    start = time.perf_counter()
    action(sequences)
    return time.perf_counter() - start


def with_marginals(tagger: Any, sequences: list[Any]) -> None:
    """Tag, and ask for the probability of each label, as sklearn-crfsuite does."""
    labels = tagger.labels()
    for sequence in sequences:
        tagger.set(sequence)
        for t in range(len(sequence)):
            for label in labels:
                tagger.marginal(label, t)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--model", type=Path)
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    with tempfile.TemporaryDirectory() as folder:
        path = options.model or Path(folder) / "chunks.crfsuite"
        if options.model is None:
            train(path)
        taggers = [pycrfsuite.Tagger(), ours.Tagger()]
        for tagger in taggers:
            tagger.open(str(path))
    met = True
    for name, sequences in inputs(features(read(str(DATA / "test.txt")))).items():
        found = [tag_all(tagger, sequences) for tagger in taggers]
        jobs = {"tag": tag_all, "marginals": with_marginals}
        for what, job in jobs.items():
            part = sequences if what == "tag" else sequences[:300]
            times: list[list[float]] = [[], []]
            for _ in range(options.repeats if what == "tag" else 3):
                for k, tagger in enumerate(taggers):
                    times[k].append(best(lambda s, t=tagger, j=job: j(t, s), part))
            theirs, mine = (min(one) / len(part) * 1e6 for one in times)
            ratio = theirs / mine
            print(
                f"{name}: {what}: {len(part):,} sequences, python-crfsuite {theirs:.1f} us each, "
                f"adaptag {mine:.1f} us, {ratio:.2f} times as fast",
                flush=True,
            )
            met &= what != "tag" or (ratio >= BAR and found[0] == found[1])
    print("bars met" if met else "a bar is missed")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
