"""Is a calibrated learning rate better than the fixed default?

Four tasks, a fifth of the *training* sentences held out, the passes of each algorithm: the score
with the default rate and with ``rate="auto"``. Test sets are not used.

    python benchmarks/initial_rate.py
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from chunking import ROOT

import adaptag
from adaptag.decoding.tagging_job import tagging_job
from adaptag.training.settings import TaggingSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(os.environ.get("ADAPTAG_DATA", ROOT.parent / "shared" / "data"))
METHODS = ("adf", "madf", "sgd", "sgd-l1")

Sentence = list[tuple[str, ...]]


def chunking() -> Iterator[Sentence]:
    yield from _columns(DATA / "conll2000" / "train.txt")


def bio_ner() -> Iterator[Sentence]:
    for sentence in _columns(DATA / "jnlpba2004" / "train.iob2"):
        if not sentence[0][0].startswith("###MEDLINE"):
            yield sentence


def pos() -> Iterator[Sentence]:
    text = (DATA / "ud_english_ewt" / "en_ewt-ud-train.conllu").read_text(encoding="utf-8")
    for block in text.strip().split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if not line.startswith("#")]
        yield [(row[1].replace(" ", "_"), row[3]) for row in rows if row[0].isdigit()]


def segmentation() -> Iterator[Sentence]:
    lines = (DATA / "pku" / "train.utf8").read_text(encoding="utf-8").split("\n")
    for line in lines[::4]:
        tags = [(c, "B" if i == 0 else "I") for word in line.split() for i, c in enumerate(word)]
        if tags:
            yield tags


# (name, sentences, template)
TASKS = (
    ("CoNLL-2000 chunking, F", chunking, "chunking"),
    ("JNLPBA, F", bio_ner, "general"),
    ("UD English EWT, UPOS, accuracy", pos, "general"),
    ("PKU, a quarter, characters as B/I, accuracy", segmentation, "general"),
)


def _columns(path: Path) -> Iterator[Sentence]:
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        yield [tuple(line.split()) for line in block.split("\n")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--passes", type=int, help="instead of each algorithm's own number")
    options = parser.parse_args()
    print("| Task | Algorithm | Default rate | Score | Calibrated rate | Score |")
    print("|---|---|---|---|---|---|")
    for title, sentences, template in TASKS:
        whole = adaptag.encode(list(sentences()), template=template)
        order = np.random.default_rng(0).permutation(len(whole))
        fifth = len(whole) // 5
        held_out, rest = whole.select(order[:fifth]), whole.select(order[fifth:])
        for name in METHODS:
            cells = []
            for rate in (None, "auto"):
                settings = TaggingSettings(
                    algorithm=name,
                    parameters={"rate": rate} if rate else {},
                    passes=options.passes,
                )
                job = tagging_job(rest, settings)
                score = job.run().evaluate(held_out).score
                cells += [f"{job.result.parameters['rate']:g}", f"{score:.2f}"]
            print(f"| {title} | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
