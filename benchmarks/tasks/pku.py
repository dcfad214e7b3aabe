"""Word segmentation of PKU beside rjieba and jieba: training, and cutting from Python and files.

Full-width digits, letters and punctuation are turned to half-width in all files beforehand.
"""

from __future__ import annotations

import json
import statistics
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contestants import ADAPTAG, PEER_PYTHON
from history import Figure
from segmentation import PKU
from segmentation_speed import fold, score
from suite import LONG, QUICK, Context, Skipped, measurement

from tasks.machine import BASELINE, baseline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from measure import Run

TIMED_PASSES = 3
PASSES = 10
SEEDS = range(1, 6)
LARGE = 100_000_000  # bytes of the text that is cut as a file


@dataclass(frozen=True)
class Trained:
    """A training run."""

    run: Run
    per_pass: float  # s, of the fastest pass
    model: Path


def texts(context: Context) -> tuple[Path, Path, Path]:
    """Training text, gold segmentation of the test text, and the test text without spaces."""
    if not (PKU / "train.utf8").is_file():
        raise Skipped("no pku/train.utf8: set ADAPTAG_DATA to the folder with pku/")
    train = context.file("pku-train.txt", lambda path: fold(PKU / "train.utf8", path))
    gold = context.file("pku-gold.txt", lambda path: fold(PKU / "test_gold.utf8", path))
    plain = context.file("pku-plain.txt", lambda path: fold(PKU / "test_gold.utf8", path, False))
    return train, gold, plain


def train(context: Context, threads: int, passes: int, seed: int = 1) -> Trained:
    """Train once, on as many cores as threads."""
    training, _, _ = texts(context)
    model, log = context.folder / f"pku-{passes}.model", context.folder / "passes.jsonl"
    log.unlink(missing_ok=True)
    command = [ADAPTAG, "segment", "train", training, "-m", model, "--log", log]
    options = ["--passes", passes, "--threads", threads, "--seed", seed]
    done, _ = context.process([*command, *map(str, options)], threads)
    events = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    per_pass = min(event["seconds"] for event in events if event["event"] == "pass")
    return Trained(done, per_pass, model)


def model_of(context: Context) -> Path:
    """A segmenter of the usual number of passes, trained the first time."""
    return context.once("pku model", lambda _: train(context, 2, PASSES)).model


@measurement("pku/training", QUICK)
def training(context: Context) -> Iterator[Figure]:
    """Seconds per pass and of the whole process."""

    def timed(threads: int) -> dict[str, float]:
        done = train(context, threads, TIMED_PASSES)
        return {"wall": done.run.wall_s, "pass": done.per_pass, "peak": done.run.peak_mb}

    found = context.turns(
        {"1": lambda: timed(1), "2": lambda: timed(2), BASELINE: lambda: baseline(context)}
    )
    one, two, fixed = found["1"], found["2"], found[BASELINE]["s"]
    per_pass, process = "pku/seconds per pass", f"pku/seconds of {TIMED_PASSES} passes, process"
    yield Figure(f"{per_pass}/1 thread", one["pass"], "s", "lower", BASELINE, fixed)
    yield Figure(f"{per_pass}/2 threads", two["pass"], "s", "lower", "1 thread", one["pass"])
    yield Figure(f"{process}/1 core", one["wall"], "s", "lower", BASELINE, fixed)
    yield Figure(f"{process}/2 cores", two["wall"], "s", "lower", "1 core", one["wall"])
    yield Figure("pku/peak memory/training", one["peak"], "MB", "lower")


def cut(context: Context, *command: str | Path) -> dict[str, float]:
    """Seconds by way of cutting, from a script that uses `peers.cutting`."""
    return json.loads(context.process([*command])[1].splitlines()[-1])


@measurement("pku/cutting", QUICK)
def cutting(context: Context) -> Iterator[Figure]:
    """Cutting line by line from Python on one core, and F."""
    _, gold, plain = texts(context)
    model = model_of(context)
    own, theirs = context.folder / "adaptag.txt", context.folder / "rjieba.txt"
    found = context.turns(
        {
            "adaptag": lambda: cut(
                context, sys.executable, "segmentation_cut.py", plain, own, model
            ),
            "rjieba": lambda: cut(context, PEER_PYTHON, "-m", "peers.rjieba_words", plain, theirs),
        }
    )
    characters = found["rjieba"]["characters"]
    higher, peer = ("characters/s", "higher"), characters / found["rjieba"]["single"]
    for name, key in (("line by line", "single"), ("cut_all, 1 thread", "all")):
        value = characters / found["adaptag"][key]
        yield Figure(f"pku/cutting/{name}", value, *higher, "rjieba", peer)
    yield Figure("pku/F", score(gold, own), "F", "higher")
    yield Figure("pku/F of rjieba", score(gold, theirs), "F")


@measurement("pku/cutting beside jieba")
def cutting_jieba(context: Context) -> Iterator[Figure]:
    """The same beside jieba itself."""
    _, gold, plain = texts(context)
    own, theirs = context.folder / "adaptag.txt", context.folder / "jieba.txt"
    ours = cut(context, sys.executable, "segmentation_cut.py", plain, own, model_of(context))
    peer = cut(context, PEER_PYTHON, "-m", "peers.jieba_words", plain, theirs)
    values = [found["characters"] / found["single"] for found in (ours, peer)]
    yield Figure(
        "pku/cutting beside jieba", values[0], "characters/s", "higher", "jieba", values[1]
    )
    yield Figure("pku/F of jieba", score(gold, theirs), "F")


@measurement("pku/cutting a large file")
def cutting_file(context: Context) -> Iterator[Figure]:
    """`adaptag segment cut` as a process on 100 MB of text."""
    _, _, plain = texts(context)

    def write(path: Path) -> int:
        text = plain.read_text(encoding="utf-8")
        copies = LARGE // len(text.encode()) + 1
        path.write_text(text * copies, encoding="utf-8")
        return copies * (len(text) - text.count("\n"))

    characters = context.once("large.txt", write)
    large, output = context.folder / "large.txt", context.folder / "large-cut.txt"
    command = [ADAPTAG, "segment", "cut", large, "-m", model_of(context), "-o", output]

    def process(cores: int) -> dict[str, float]:
        return {"s": context.process(command, cores)[0].wall_s}

    found = context.turns({"1": lambda: process(1), "2": lambda: process(2)}, repeats=2)
    one, two = (characters / found[k]["s"] for k in ("1", "2"))
    yield Figure("pku/cutting 100 MB, process/1 core", one, "characters/s", "higher")
    yield Figure(
        "pku/cutting 100 MB, process/2 cores", two, "characters/s", "higher", "1 core", one
    )


@measurement("pku/scores", LONG)
def scores(context: Context) -> Iterator[Figure]:
    """F after ten passes, the mean of five seeds."""
    _, gold, plain = texts(context)
    output = context.folder / "adaptag.txt"
    for threads, name in ((1, "1 thread"), (2, "2 threads")):
        values = []
        for seed in SEEDS:
            model = train(context, threads, PASSES, seed).model
            context.process([ADAPTAG, "segment", "cut", plain, "-m", model, "-o", output], 2)
            values.append(score(gold, output))
        yield Figure(f"pku/F after 10 passes/{name}", statistics.mean(values), "F", "higher")
