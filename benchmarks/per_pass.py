"""Time per pass beside CRFsuite and Wapiti, algorithm by algorithm, on CoNLL-2000 chunking.

usage: python per_pass.py [--quick] [--repeats N] [--only TEXT ...]

Every run is a process of its own, pinned to its cores. The contestants take turns; the fastest
pass of all repeats counts, and for L-BFGS the fastest iteration. Writes results/per_pass.md.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import report
from chunking import DATA
from contestants import (
    REQUIREMENTS,
    Contestant,
    install_peers,
    pass_seconds,
    train_command,
)
from measure import HERE, run
from report import Table, markdown_table

from adaptag.training.algorithms import algorithms

PT = ("feature.possible_transitions=1",)
ALL = (*PT, "feature.possible_states=1")  # as many weights as adaptag and Wapiti have
ITERATIONS = 15
QUICK_PASSES = 3


@dataclass(frozen=True)
class Group:
    """One algorithm: adaptag first, then its peers."""

    title: str
    contestants: list[Contestant]


GROUPS = [
    Group(
        "Averaged perceptron, one core",
        [
            Contestant("adaptag averaged-perceptron", "adaptag", "averaged-perceptron"),
            Contestant("CRFsuite ap", "crfsuite", "ap", PT),
            Contestant("CRFsuite ap, all weights", "crfsuite", "ap", ALL),
        ],
    ),
    Group(
        "Passive-aggressive, one core",
        [
            Contestant("adaptag pa", "adaptag", "pa"),
            Contestant("CRFsuite pa", "crfsuite", "pa", PT),
            Contestant("CRFsuite pa, all weights", "crfsuite", "pa", ALL),
        ],
    ),
    Group(
        "L-BFGS, one core, per iteration",
        [
            Contestant("adaptag lbfgs", "adaptag", "lbfgs", passes=ITERATIONS),
            Contestant("CRFsuite lbfgs, all weights", "crfsuite", "lbfgs", ALL, passes=ITERATIONS),
        ],
    ),
    Group(
        "L-BFGS, two threads, per iteration",
        [
            Contestant("adaptag lbfgs", "adaptag", "lbfgs", passes=ITERATIONS, cores=2),
            Contestant("Wapiti l-bfgs", "wapiti", "l-bfgs", ("2",), ITERATIONS, cores=2),
        ],
    ),
]

READ_FIRST = """\
CoNLL-2000, features of the CRF++ chunking template. Wall time of the passes alone: reading,
indexing and saving are left out.

- Times vary by 20–25 % from run to run. Contestants took turns, {repeats} times; **fastest** is the
  fastest pass of all, **ratio** the peer's fastest to adaptag's: above 1, adaptag is faster.
- An iteration of L-BFGS can take more than one look at the data; the fastest takes one.
- CRFsuite keeps only the pairs of feature and label seen in training, except with *all weights*;
  adaptag and Wapiti keep all. A Wapiti iteration includes its evaluation of the training data.
- No peer was built for the native instruction set."""


class Runs:
    """The times of all contestants."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seconds: dict[Contestant, list[float]] = {}

    def one(self, c: Contestant) -> None:
        """Train once and note the passes."""
        log, passes_log = self.folder / "train.log", self.folder / "passes.jsonl"
        passes_log.unlink(missing_ok=True)
        model = self.folder / "model"
        command = train_command(c, c.passes, DATA / "train.txt", model, passes_log)
        done = run(command, log, c.cores)
        seconds = pass_seconds(c, passes_log if c.tool == "adaptag" else log)
        self.seconds.setdefault(c, []).extend(seconds)
        print(f"{c.name}: {min(seconds):.3f} s, {done.wall_s:.1f} s in all", flush=True)

    def table(self, group: Group) -> Table:
        """Fastest and median pass, and the ratio to adaptag."""
        own, *_ = group.contestants
        rows = []
        for c in group.contestants:
            seconds = self.seconds[c]
            ratio = f"{min(seconds) / min(self.seconds[own]):.2f}" if c is not own else "1"
            fastest, median = f"{min(seconds):.3f}", f"{statistics.median(seconds):.3f}"
            rows.append([c.name, str(len(seconds)), fastest, median, ratio])
        return Table(group.title, ["", "Passes timed", "Fastest s", "Median s", "Ratio"], rows)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time per pass on CoNLL-2000 chunking.")
    parser.add_argument("--quick", action="store_true", help="one repeat of few passes")
    parser.add_argument("--repeats", type=int, help="of each run (default 3; quick 1)")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="groups with this title part")
    arguments = parser.parse_args()
    arguments.repeats = arguments.repeats or (1 if arguments.quick else 3)
    return arguments


def main() -> None:
    arguments = parse_arguments()
    if not (DATA / "train.txt").is_file():
        sys.exit("no conll2000/train.txt: set ADAPTAG_DATA to the folder that holds conll2000/")
    install_peers()
    groups = [group for group in GROUPS if group.contestants[0].algorithm in algorithms()]
    if arguments.only:
        groups = [g for g in groups if any(part in g.title for part in arguments.only)]
    complete = groups == GROUPS and not arguments.quick
    if arguments.quick:
        groups = [
            Group(g.title, [replace(c, passes=QUICK_PASSES) for c in g.contestants]) for g in groups
        ]
    with tempfile.TemporaryDirectory(prefix="adaptag-bench-") as folder:
        runs = Runs(Path(folder))
        for _ in range(arguments.repeats):
            for group in groups:
                for c in group.contestants:
                    runs.one(c)
    tables = [runs.table(group) for group in groups]
    report.show(tables)
    parts = ["# Time per pass", READ_FIRST.format(repeats=arguments.repeats)]
    parts.append(f"Machine: {report.described(report.machine(REQUIREMENTS))}.")
    parts.append(f"Command: `python benchmarks/per_pass.py --repeats {arguments.repeats}`")
    for table in tables:
        parts += [f"## {table.title}", markdown_table(table)]
    path = HERE / "results" / f"per_pass{'' if complete else '-partial'}.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(f"written: {path}")


if __name__ == "__main__":
    main()
