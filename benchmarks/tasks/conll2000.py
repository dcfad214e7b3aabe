"""CoNLL-2000 chunking beside CRFsuite and Wapiti, with the features of CRF++'s example."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from chunking import DATA, read
from contestants import (
    PEER_PYTHON,
    Contestant,
    pass_seconds,
    slug,
    tag_command,
    train_command,
)
from history import Figure
from score import chunk_f
from suite import QUICK, Context, Skipped, measurement

from tasks.machine import BASELINE, baseline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from measure import Run

TARGET_F = 93.6
COPIES = 10  # of the test file, for tagging beside the peers
PEER_COPIES = 2  # where the peer tags in process, with attributes that take much memory
MANY_COPIES = 60  # where cores are compared: start-up must not count
TRAIN_COPIES = 5  # of the training file, for encoding
SEEDS = range(1, 6)
PASSES = 10

ALL_TRANSITIONS = ("feature.possible_transitions=1",)
# The passes are those that are tried first to reach TARGET_F.
ONE = Contestant("adaptag, 1 core", "adaptag", "adf", ("--threads", "1"), passes=2)
TWO = Contestant("adaptag, 2 cores", "adaptag", "adf", ("--threads", "2"), passes=2, cores=2)
FASTEST_PEER = Contestant("CRFsuite pa", "crfsuite", "pa", ALL_TRANSITIONS, passes=8)
SLOWER_PEERS = [
    Contestant("CRFsuite l2sgd", "crfsuite", "l2sgd", ALL_TRANSITIONS, passes=20),
    Contestant("Wapiti sgd-l1", "wapiti", "sgd-l1", passes=26),
]


@dataclass(frozen=True)
class Trained:
    """A training run."""

    run: Run
    per_pass: float  # s, of the fastest pass
    model: Path


def train(context: Context, c: Contestant, passes: int, seed: int = 1) -> Trained:
    """Train once, pinned to the contestant's cores."""
    if not (DATA / "train.txt").is_file():
        raise Skipped("no conll2000/train.txt: set ADAPTAG_DATA to the folder with conll2000/")
    model = context.folder / f"{slug(c.name)}-{passes}.model"
    log = context.folder / "passes.jsonl"
    log.unlink(missing_ok=True)
    command = train_command(c, passes, DATA / "train.txt", model, log, seed=seed)
    done, _ = context.process(command, c.cores)
    own = c.tool == "adaptag"
    per_pass = min(pass_seconds(c, log if own else context.folder / "log"))
    return Trained(done, per_pass, model)


def unlabelled(context: Context, copies: int = 1) -> Path:
    """The test file without its labels, several times over."""

    def write(path: Path) -> None:
        text = "\n\n".join("\n".join(" ".join(t[:2]) for t in s) for s in read(DATA / "test.txt"))
        path.write_text((text + "\n\n") * copies, encoding="utf-8")

    return context.file(f"test-{copies}.txt", write)


def n_tokens(context: Context) -> int:
    return context.once("tokens", lambda _: sum(map(len, read(DATA / "test.txt"))))


def f_of(context: Context, c: Contestant, model: Path) -> float:
    """F on the test file."""
    output = context.folder / "tagged.txt"
    context.process(tag_command(c, model, unlabelled(context), output))
    return chunk_f(DATA / "test.txt", output)


def model_of(context: Context, c: Contestant, passes: int) -> Path:
    """A model for tagging, trained the first time."""
    return context.once(
        f"{c.name} {passes}", lambda _: train(context, replace(c, cores=2), passes)
    ).model


def passes_to_target(context: Context, c: Contestant) -> int:
    """The fewest passes, from those of the contestant on, that reach TARGET_F."""

    def search(_: Path) -> int:
        for passes in range(c.passes, c.passes + 10):
            if f_of(context, c, train(context, c, passes).model) >= TARGET_F:
                return passes
        raise RuntimeError(f"{c.name} does not reach F {TARGET_F} in {c.passes + 9} passes")

    return context.once(f"passes of {c.name}", search)


def timed(context: Context, c: Contestant) -> dict[str, float]:
    done = train(context, c, passes_to_target(context, c))
    return {"wall": done.run.wall_s, "pass": done.per_pass, "peak": done.run.peak_mb}


@measurement("conll2000/training", QUICK)
def training(context: Context) -> Iterator[Figure]:
    """Whole processes to TARGET_F, and the passes in them."""
    contestants = (ONE, TWO, FASTEST_PEER)
    found = context.turns({c.name: lambda c=c: timed(context, c) for c in contestants})
    one, two, peer = (found[c.name] for c in contestants)
    name = FASTEST_PEER.name
    to_target = "conll2000/seconds to F 93.6"
    yield Figure(f"{to_target}/1 core", one["wall"], "s", "lower", name, peer["wall"])
    yield Figure(f"{to_target}/2 cores", two["wall"], "s", "lower", name, peer["wall"])
    per_pass = "conll2000/seconds per pass"
    yield Figure(f"{per_pass}/1 thread", one["pass"], "s", "lower", name, peer["pass"])
    yield Figure(f"{per_pass}/2 threads", two["pass"], "s", "lower", "1 thread", one["pass"])
    yield Figure("conll2000/peak memory/training", one["peak"], "MB", "lower", name, peer["peak"])
    for c in contestants:
        passes = passes_to_target(context, c)
        yield Figure(f"conll2000/passes to F 93.6/{c.name}", passes, "passes")


@measurement("conll2000/slower peers")
def slower_peers(context: Context) -> Iterator[Figure]:
    """The other tools, once each, beside adaptag."""
    for c in SLOWER_PEERS:
        peer, own = train(context, c, c.passes), train(context, ONE, passes_to_target(context, ONE))
        if f_of(context, c, peer.model) < TARGET_F:
            raise RuntimeError(f"{c.name} does not reach F {TARGET_F} in {c.passes} passes")
        for name, unit, ours, theirs in (
            ("seconds to F 93.6", "s", own.run.wall_s, peer.run.wall_s),
            ("seconds per pass", "s", own.per_pass, peer.per_pass),
            ("peak memory", "MB", own.run.peak_mb, peer.run.peak_mb),
        ):
            figure = f"conll2000/beside {c.name}/{name}"
            yield Figure(figure, ours, unit, "lower", c.name, theirs)


@measurement("conll2000/scores")
def scores(context: Context) -> Iterator[Figure]:
    """F after ten passes, the mean of five seeds."""
    for c, threads in ((ONE, "1 thread"), (TWO, "2 threads")):
        values = [f_of(context, c, train(context, c, PASSES, seed).model) for seed in SEEDS]
        yield Figure(
            f"conll2000/F after 10 passes/{threads}", statistics.mean(values), "F", "higher"
        )
    peer = f_of(context, FASTEST_PEER, train(context, FASTEST_PEER, PASSES).model)
    yield Figure(f"conll2000/F after 10 passes/{FASTEST_PEER.name}", peer, "F")


@measurement("conll2000/tagging", QUICK)
def tagging(context: Context) -> Iterator[Figure]:
    """Tagging as a process and in process, one core, beside python-crfsuite's best."""
    output, long = context.folder / "tagged.txt", unlabelled(context, COPIES)
    tokens = COPIES * n_tokens(context)

    def process(c: Contestant) -> dict[str, float]:
        model = model_of(context, c, PASSES)
        return {"s": context.process(tag_command(c, model, long, output), c.cores)[0].wall_s}

    def inside() -> dict[str, float]:
        return context.script("in_process.py", "tag", model_of(context, ONE, PASSES), long, 1, 3)

    def peer_inside() -> dict[str, float]:
        model, text = model_of(context, FASTEST_PEER, PASSES), unlabelled(context)
        arguments = ("crfsuite", model, text, PEER_COPIES, 3)
        return context.script("in_process.py", *arguments, python=PEER_PYTHON)

    found = context.turns(
        {
            "process": lambda: process(ONE),
            "process, 2 cores": lambda: process(replace(ONE, cores=2)),
            "peer process": lambda: process(FASTEST_PEER),
            "inside": inside,
            "peer inside": peer_inside,
        }
    )
    name, higher = "python-crfsuite", ("tokens/s", "higher")
    processes = ("process", "process, 2 cores", "peer process")
    own, both, peer = (tokens / found[k]["s"] for k in processes)
    yield Figure("conll2000/tagging, process/1 core", own, *higher, name, peer)
    yield Figure("conll2000/tagging, process/2 cores", both, *higher, name, peer)
    own = tokens / found["inside"]["columns_s"]
    least = min(found["peer inside"][k] for k in ("columns_s", "attributes_s", "items_s"))
    best = PEER_COPIES * n_tokens(context) / least
    yield Figure("conll2000/tagging, in process/1 thread", own, *higher, name, best)
    own, peer = (found[k]["latency_us"] for k in ("inside", "peer inside"))
    yield Figure("conll2000/latency of 24 tokens", own, "µs", "lower", name, peer)
    own, peer = (found[k]["load_ms"] for k in ("inside", "peer inside"))
    yield Figure("conll2000/loading", own, "ms", "", name, peer)


@measurement("conll2000/tagging on two cores")
def tagging_cores(context: Context) -> Iterator[Figure]:
    """The gain of a second core."""
    model, output = model_of(context, ONE, PASSES), context.folder / "tagged.txt"
    longer, long = unlabelled(context, MANY_COPIES), unlabelled(context, COPIES)

    def process(cores: int) -> dict[str, float]:
        command = tag_command(ONE, model, longer, output)
        return {"process": context.process(command, cores)[0].wall_s}

    def inside(cores: int) -> dict[str, float]:
        return context.script("in_process.py", "tag", model, long, cores, 3, cores=cores)

    found = context.turns(
        {f"{cores}": lambda cores=cores: process(cores) | inside(cores) for cores in (1, 2)}
    )
    for title, key, copies in (
        ("tagging a large file, process", "process", MANY_COPIES),
        ("tagging, in process", "columns_s", COPIES),
    ):
        one, two = (copies * n_tokens(context) / found[k][key] for k in ("1", "2"))
        cores = "2 cores" if key == "process" else "2 threads"
        peer = "1 core" if key == "process" else "1 thread"
        yield Figure(f"conll2000/{title}/{cores}", two, "tokens/s", "higher", peer, one)


@measurement("conll2000/encoding", QUICK)
def encoding(context: Context) -> Iterator[Figure]:
    """Reading and encoding the training file, several times over."""

    def write(path: Path) -> None:
        text = (DATA / "train.txt").read_text(encoding="utf-8").rstrip("\n") + "\n\n"
        path.write_text(text * TRAIN_COPIES, encoding="utf-8")

    text = context.file("train-copies.txt", write)
    found = context.turns(
        {
            "1": lambda: context.script("in_process.py", "encode", text, 2),
            "2": lambda: context.script("in_process.py", "encode", text, 2, cores=2),
            BASELINE: lambda: baseline(context),
        }
    )
    one, two = (found[k]["s"] / TRAIN_COPIES for k in ("1", "2"))
    fixed = found[BASELINE]["s"]
    yield Figure("conll2000/encoding/1 thread", one, "s", "lower", BASELINE, fixed)
    yield Figure("conll2000/encoding/2 threads", two, "s", "lower", "1 thread", one)
