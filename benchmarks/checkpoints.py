"""What does it cost to save a checkpoint after every pass? 72 million weights, in the background.

usage: python checkpoints.py [--passes N] [--threads N] [--algorithm NAME]

Trains on JNLPBA with the template bio-ner and rich edges, and saves a checkpoint after every other
pass: so passes while a checkpoint is written take turns with passes while none is, on a machine
that may be busy. A pass is timed from the end of the one before, which includes the copy of the
state. Writes results/checkpoints.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import report
from measure import HERE
from report import Table, markdown_table
from tasks.bio_ner import RATE, write_columns

import adaptag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adaptag.training.callbacks import PassReport


CLOCKS = {
    "wall time": time.perf_counter,
    "processor time of the training thread": time.thread_time,
    "processor time of all threads": time.process_time,
}


class Timed(adaptag.Callback):
    """The times of each pass but the first, in seconds.

    With one thread, the processor time of the thread that trains is the wall time on a machine with
    a core that is free for writing, however busy this one is.
    """

    def __init__(self) -> None:
        self.last: tuple[float, ...] | None = None
        self.times: dict[str, list[float]] = {name: [] for name in CLOCKS}

    def on_pass(self, history: Sequence[PassReport]) -> bool:
        """Note the times of the pass."""
        now = tuple(clock() for clock in CLOCKS.values())
        if self.last is not None:
            for times, after, before in zip(self.times.values(), now, self.last, strict=True):
                times.append(after - before)
            figures = ", ".join(f"{name} {times[-1]:.2f} s" for name, times in self.times.items())
            print(f"pass {len(history)}: {figures}", flush=True)
        self.last = now
        return False


def measured(folder: Path, passes: int, threads: int, algorithm: str) -> tuple[Timed, int, float]:
    """Train: the times, the number of weights, and the size of the checkpoint in MB."""
    text, state = folder / "train.txt", folder / "state"
    write_columns(text, folder / "test.txt")
    timed = Timed()
    parameters = {"rate": float(RATE)} if algorithm == "adf" else {}
    model = adaptag.train(
        text,
        template="bio-ner",
        algorithm=algorithm,
        passes=passes,
        threads=threads,
        checkpoint=state,
        every=2,
        callbacks=[timed],
        **parameters,
    )
    return timed, len(model.weights), state.stat().st_size / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--passes", type=int, default=21)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--algorithm", default="adf")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        timed, weights, size = measured(
            Path(folder), options.passes, options.threads, options.algorithm
        )
    rows = []
    for name, times in timed.times.items():
        without, saving = times[::2], times[1::2]  # passes 2, 4, … and 3, 5, …
        ratios = [b / a for a, b in zip(without, saving, strict=False)]
        medians = statistics.median(without), statistics.median(saving)
        best = min(saving) / min(without)
        rows.append(
            [
                name,
                f"{medians[0]:.2f} s",
                f"{medians[1]:.2f} s",
                f"{100 * (statistics.median(ratios) - 1):+.1f} %",
                f"{100 * (best - 1):+.1f} %",
            ]
        )
    head = ["A pass", "without", "while saving", "median of pairs", "best of each"]
    table = Table(
        f"{options.algorithm}, threads: {options.threads}, {weights / 1e6:.0f} million weights, "
        f"checkpoints of {size:.0f} MB, {options.passes - 1} passes in turns",
        head,
        rows,
    )
    parts = [
        "# The cost of checkpoints",
        f"Machine: {report.described(report.machine())}.",
        f"Command: `python benchmarks/checkpoints.py --passes {options.passes} --threads "
        f"{options.threads} --algorithm {options.algorithm}`. {table.title}.",
        markdown_table(table),
    ]
    path = HERE / "results" / "checkpoints.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    report.show([table])
    print(f"written: {path.name}")


if __name__ == "__main__":
    main()
