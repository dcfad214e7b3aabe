"""Biomedical named entities (JNLPBA 2004) with rich edges: 72 million weights."""

from __future__ import annotations

import json
import statistics
import sys
from functools import partial
from typing import TYPE_CHECKING

from chunking import DATA, ROOT
from contestants import ADAPTAG
from history import Figure
from suite import LONG, Context, Skipped, measurement

from tasks.machine import BASELINE, baseline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from measure import Run

PASSES, TIMED_PASSES, ITERATIONS = 8, 2, 4
RATE = "0.02"  # chosen on training data, see docs/results/tuning-bio-ner.md
SEEDS = range(1, 6)
TAGGER_PASSES = 8


def write_columns(train: Path, test: Path) -> None:
    """Write both files as word, part of speech, orthography and label."""
    sys.path.append(str(ROOT))
    import adaptag
    from adaptag.features.extractors import add_columns, orthography
    from reproduction.recipes.bio_ner import labelled_words, pos_sentences

    folder = DATA.parent
    genia = pos_sentences(folder / "genia_pos" / "train.tsv")
    tagger = adaptag.train(genia, template="general", passes=TAGGER_PASSES)
    for path, name in ((train, "train"), (test, "test")):
        sentences = labelled_words(folder / "jnlpba2004" / f"{name}.iob2")
        words = [[word for word, _ in sentence] for sentence in sentences]
        tagged = [
            list(zip(*both, strict=True)) for both in zip(words, tagger.tag_all(words), strict=True)
        ]
        with path.open("w", encoding="utf-8") as file:
            for rows, pairs in zip(add_columns(tagged, [orthography]), sentences, strict=True):
                for row, (_, label) in zip(rows, pairs, strict=True):
                    file.write("\t".join([*row, label]) + "\n")
                file.write("\n")


def texts(context: Context) -> tuple[Path, Path]:
    """The training and the test file."""
    for name in ("jnlpba2004/train.iob2", "genia_pos/train.tsv"):
        if not (DATA.parent / name).is_file():
            raise Skipped(f"no {name}: set ADAPTAG_DATA to the folder that holds it")
    test = context.folder / "jnlpba-test.txt"
    return context.file("jnlpba-train.txt", lambda path: write_columns(path, test)), test


def train(
    context: Context, threads: int, passes: int, *options: str, seed: int = 1
) -> tuple[Run, list[float], Path]:
    """Train once: what the process took, the seconds of its passes, and the model."""
    text, _ = texts(context)
    model, log = context.folder / "jnlpba.model", context.folder / "passes.jsonl"
    log.unlink(missing_ok=True)
    command = [ADAPTAG, "train", text, "-t", "bio-ner", "-m", model, "--log", log]
    numbers = ["--passes", passes, "--threads", threads, "--seed", seed]
    done, _ = context.process([*command, *map(str, numbers), *options], threads)
    events = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    return done, [e["seconds"] for e in events if e["event"] == "pass"], model


def timed(context: Context, passes: int, options: list[str], threads: int) -> dict[str, float]:
    done, seconds, _ = train(context, threads, passes, *options)
    return {"pass": min(seconds), "peak": done.peak_mb}


@measurement("bio-ner/training")
def training(context: Context) -> Iterator[Figure]:
    """Seconds per pass of ADF, and the peak of memory."""
    texts(context)
    measure = partial(timed, context, TIMED_PASSES, ["--rate", RATE])
    found = context.turns(
        {"1": lambda: measure(1), "2": lambda: measure(2), BASELINE: lambda: baseline(context)},
        repeats=2,
    )
    one, two, fixed = found["1"], found["2"], found[BASELINE]["s"]
    name = "bio-ner/seconds per pass"
    yield Figure(f"{name}/1 thread", one["pass"], "s", "lower", BASELINE, fixed)
    yield Figure(f"{name}/2 threads", two["pass"], "s", "lower", "1 thread", one["pass"])
    yield Figure("bio-ner/peak memory/1 thread", one["peak"], "MB", "lower")
    yield Figure("bio-ner/peak memory/2 threads", two["peak"], "MB", "lower")


@measurement("bio-ner/lbfgs", LONG)
def lbfgs(context: Context) -> Iterator[Figure]:
    """Seconds per iteration of L-BFGS."""
    texts(context)
    measure = partial(timed, context, ITERATIONS, ["--algorithm", "lbfgs"])
    found = context.turns({"1": lambda: measure(1), "2": lambda: measure(2)}, repeats=1)
    one, two = found["1"], found["2"]
    name = "bio-ner/seconds per L-BFGS iteration"
    yield Figure(f"{name}/1 thread", one["pass"], "s", "lower")
    yield Figure(f"{name}/2 threads", two["pass"], "s", "lower", "1 thread", one["pass"])
    yield Figure("bio-ner/peak memory/L-BFGS, 2 threads", two["peak"], "MB", "lower")


@measurement("bio-ner/scores", LONG)
def scores(context: Context) -> Iterator[Figure]:
    """F after eight passes, the mean of five seeds."""
    from adaptag import Model

    _, test = texts(context)
    for threads, name in ((1, "1 thread"), (2, "2 threads")):
        values = []
        for seed in SEEDS:
            _, _, model = train(context, threads, PASSES, "--rate", RATE, seed=seed)
            values.append(Model.load(model).evaluate(test).score)
        yield Figure(f"bio-ner/F after 8 passes/{name}", statistics.mean(values), "F", "higher")
