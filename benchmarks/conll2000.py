"""adaptag beside CRFsuite and Wapiti on CoNLL-2000 chunking: one core, one set of features.

usage: python conll2000.py [--quick] [--repeats N] [--limit PASSES] [--only TEXT ...]

Every training and tagging run is a process of its own. The contestants take turns, so that a
slow moment of the machine meets them all; the minimum of the repeats counts.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import report
from chunking import DATA, read
from contestants import (
    ADAPTAG,
    PEER_PYTHON,
    REQUIREMENTS,
    Contestant,
    install_peers,
    pass_seconds,
    slug,
    tag_command,
    train_command,
)
from measure import HERE, Run, run
from score import chunk_f

if TYPE_CHECKING:
    from collections.abc import Callable

TARGET_F = 93.6
LADDER = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 26, 30]  # passes tried until TARGET_F is reached
COPIES = 10  # of the test file, for tagging


PT = ("feature.possible_transitions=1",)
CONTESTANTS = [
    Contestant("adaptag adf", "adaptag", "adf", quick=True),
    Contestant("adaptag sgd", "adaptag", "sgd"),
    Contestant("CRFsuite pa", "crfsuite", "pa", PT, quick=True),
    Contestant("CRFsuite ap", "crfsuite", "ap", PT),
    Contestant("CRFsuite l2sgd", "crfsuite", "l2sgd", PT, quick=True),
    Contestant(
        "CRFsuite l2sgd, all weights",  # as many weights as the other tools have
        "crfsuite",
        "l2sgd",
        (*PT, "feature.possible_states=1"),
        passes=5,
        repeats=1,
    ),
    Contestant("Wapiti sgd-l1", "wapiti", "sgd-l1", repeats=2, ladder_from=10, quick=True),
    Contestant("Wapiti rprop", "wapiti", "rprop", passes=33, repeats=1, ladder_from=12),
]


@dataclass
class Record:
    """The raw figures of one contestant."""

    training: dict[int, list[Run]] = field(default_factory=dict)  # passes → runs
    f: dict[int, float] = field(default_factory=dict)  # passes → F
    pass_s: list[float] = field(default_factory=list)  # of the runs with the default passes
    model_mb: float | None = None
    tagging: list[Run] = field(default_factory=list)
    in_process: dict[str, float] = field(default_factory=dict)
    target_passes: int | None = None  # the fewest that reach TARGET_F
    failure: str | None = None


class Bench:
    """The contestants, their records, and the folder of work files."""

    def __init__(self, contestants: list[Contestant], repeats: int, folder: Path) -> None:
        self.contestants = contestants
        self.records = {c.name: Record() for c in contestants}
        self.repeats = repeats
        self.folder = folder
        self.start = time.perf_counter()
        self.input = folder / "test.txt"  # the test file without its labels
        self.long_input = folder / "test-long.txt"
        text = "\n\n".join("\n".join(" ".join(t[:2]) for t in s) for s in read(DATA / "test.txt"))
        self.input.write_text(text + "\n\n", encoding="utf-8")
        self.long_input.write_text((text + "\n\n") * COPIES, encoding="utf-8")
        self.tokens = COPIES * sum(map(len, read(self.input)))

    def say(self, message: str) -> None:
        """Print a line of progress."""
        print(f"[{time.perf_counter() - self.start:7.1f} s] {message}", flush=True)

    def turns(self, step: Callable[[Contestant], None], repeats: int = 1) -> None:
        """Take the step with every contestant in turn, `repeats` times over."""
        for repeat in range(repeats):
            for c in self.contestants:
                record = self.records[c.name]
                if record.failure is None and repeat < c.repeats:
                    try:
                        step(c)
                    except (RuntimeError, ValueError) as error:
                        record.failure = str(error).splitlines()[0]
                        self.say(f"{c.name}: FAILED: {error}")

    def model(self, c: Contestant, passes: int) -> Path:
        """The model file of a training run."""
        return self.folder / f"{slug(c.name)}-{passes}.model"

    def train(self, c: Contestant, passes: int) -> None:
        """One training run; the first one with so many passes is scored on the test file."""
        record, model = self.records[c.name], self.model(c, passes)
        log = self.folder / "train.log"
        passes_log = self.folder / "passes.jsonl"
        passes_log.unlink(missing_ok=True)
        done = run(train_command(c, passes, DATA / "train.txt", model, passes_log), log)
        record.training.setdefault(passes, []).append(done)
        if passes not in record.f:
            output = self.folder / "tagged.txt"
            run(tag_command(c, model, self.input, output), self.folder / "tag.log")
            record.f[passes] = chunk_f(DATA / "test.txt", output)
        if passes == c.passes:
            record.pass_s += pass_seconds(c, passes_log if c.tool == "adaptag" else log)
            record.model_mb = model.stat().st_size / 1e6
        else:
            model.unlink()
        f = record.f[passes]
        self.say(f"{c.name}: {passes} passes, {done.wall_s:.2f} s, F {f:.2f}")

    def climb(self, limit: int) -> None:
        """Find the fewest passes of the ladder that reach the target, then repeat those runs."""

        def try_rung(c: Contestant) -> None:
            record = self.records[c.name]
            if record.target_passes is None and rung >= c.ladder_from:
                if rung not in record.f:
                    self.train(c, rung)
                if record.f[rung] >= TARGET_F:
                    record.target_passes = rung

        def repeat_target(c: Contestant) -> None:
            record = self.records[c.name]
            passes = record.target_passes
            if passes and len(record.training[passes]) < min(self.repeats, c.repeats):
                self.train(c, passes)

        for rung in LADDER:
            if rung <= limit:
                self.turns(try_rung)
        self.turns(repeat_target, self.repeats - 1)

    def tag(self, c: Contestant) -> None:
        """Tag the long test file with the model of the default passes."""
        output = self.folder / "tagged.txt"
        command = tag_command(c, self.model(c, c.passes), self.long_input, output)
        done = run(command, self.folder / "tag.log")
        self.records[c.name].tagging.append(done)
        self.say(f"{c.name}: tagging, {self.tokens / done.wall_s:,.0f} tokens/s")

    def tag_in_process(self, c: Contestant) -> None:
        """Time the library calls; adaptag gets fresh tokens, CRFsuite the same ones ten times."""
        if c.tool == "wapiti":
            return
        own = c.tool == "adaptag"
        python, text = (sys.executable, self.long_input) if own else (PEER_PYTHON, self.input)
        arguments = [c.tool, self.model(c, c.passes), text, 1 if own else COPIES, self.repeats]
        log = self.folder / "in_process.log"
        run([python, "in_process.py", *map(str, arguments)], log)
        figures = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])
        self.records[c.name].in_process = figures
        self.say(f"{c.name}: in process, {self.tokens / figures['columns_s']:,.0f} tokens/s")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Benchmark on CoNLL-2000 chunking.")
    parser.add_argument("--quick", action="store_true", help="the main contestants, one repeat")
    parser.add_argument("--repeats", type=int, help="of each run (default 3; quick 1)")
    parser.add_argument("--limit", type=int, help="most passes to the target F (30; quick 10)")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="contestants with this name part")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="output folder")
    arguments = parser.parse_args()
    arguments.repeats = arguments.repeats or (1 if arguments.quick else 3)
    arguments.limit = arguments.limit or (10 if arguments.quick else LADDER[-1])
    return arguments


def main() -> int:
    arguments = parse_arguments()
    if not (DATA / "train.txt").is_file():
        sys.exit("no conll2000/train.txt: set ADAPTAG_DATA to the folder that holds conll2000/")
    install_peers()
    chosen = [c for c in CONTESTANTS if c.quick or not arguments.quick]
    if arguments.only:
        chosen = [c for c in chosen if any(part in c.name for part in arguments.only)]
    if not Path(ADAPTAG).is_file():
        for c in chosen:
            if c.tool == "adaptag":
                print(f"{c.name}: skipped, adaptag is not installed beside this Python")
        chosen = [c for c in chosen if c.tool != "adaptag"]

    with tempfile.TemporaryDirectory(prefix="adaptag-bench-") as folder:
        bench = Bench(chosen, arguments.repeats, Path(folder))
        bench.turns(lambda c: bench.train(c, c.passes), arguments.repeats)
        bench.climb(arguments.limit)
        bench.turns(bench.tag, arguments.repeats)
        bench.turns(bench.tag_in_process)

    complete = chosen == CONTESTANTS
    options = f"--repeats {arguments.repeats} --limit {arguments.limit}"
    results = {
        "command": f"python benchmarks/conll2000.py {options}" + " (in part)" * (not complete),
        "machine": report.machine(REQUIREMENTS),
        "repeats": arguments.repeats,
        "limit": arguments.limit,
        "target_f": TARGET_F,
        "tagged_tokens": bench.tokens,
        "contestants": [asdict(c) | asdict(bench.records[c.name]) for c in chosen],
    }
    report.write(results, arguments.results, "conll2000" if complete else "conll2000-partial")
    return any(record.failure for record in bench.records.values())


if __name__ == "__main__":
    sys.exit(main())
