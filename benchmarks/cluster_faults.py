"""What is left of training and tagging on a cluster when its processes are killed at random.

A cluster of two nodes with a CPU each runs on this machine. CoNLL-2000 is trained on by two workers
and tagged, while workers, a node or the driver are killed at random moments; a driver that was
killed is started again, and continues from its checkpoint or its manifest. Models and outputs must
be those of a run in which nothing dies, byte for byte.

    python -m benchmarks.cluster_faults [--seed 1] [--workers 20] [--nodes 5] [--drivers 5]
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import adaptag
from adaptag.ray.connection import require_ray
from reproduction.data import data_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSES = 8
KILLS_IN_A_RUN = 4  # of workers
COPIES = 8  # of the test file, which are tagged
TIME_LIMIT = 300  # seconds of a run: what takes longer hangs, and shows where
NODE = {"num_cpus": 1, "object_store_memory": 300 << 20}
TRAINING = "ShardWorker"
TAGGING = "BlockWorker"

TRAIN = """
import faulthandler, sys
faulthandler.dump_traceback_later(250, exit=False)
from adaptag.ray.training import train
address, data, model, state, passes = sys.argv[1:]
train(
    data, workers=2, cluster=address, passes=int(passes), checkpoint=state, resume=state,
).save(model)
"""
TAG = "from adaptag.cli.program import run; run()"


@dataclass
class Run:
    """One run, and what was killed in it."""

    what: str
    killed: int
    seconds: float
    same: bool
    figure: str


@dataclass
class Faults:
    """A cluster, and what is done to it."""

    folder: Path
    rng: random.Random
    cluster: Any = None
    runs: list[Run] = field(default_factory=list)

    def start(self) -> None:
        """Start the cluster."""
        require_ray()
        from ray.cluster_utils import Cluster

        head = {**NODE, "include_dashboard": False}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self.cluster.add_node(**NODE)

    # ---- drivers ------------------------------------------------------------------------------

    def training(self, name: str) -> list[str]:
        """The command that trains a model, or continues."""
        model, state = self.folder / name, self.folder / f"{name}.state"
        code, data = TRAIN, data_folder() / "conll2000" / "train.txt"
        arguments = (self.cluster.address, data, model, state, PASSES)
        return [sys.executable, "-c", code, *map(str, arguments)]

    def tagging(self, name: str) -> list[str]:
        """The command that tags, or continues."""
        arguments = ("tag", self.folder / "input.txt", "-m", self.folder / "model", "-o")
        cluster = ("--cluster", self.cluster.address, "--block-size", "0.25")
        return [sys.executable, "-c", TAG, *map(str, (*arguments, self.folder / name, *cluster))]

    def command(self, kind: str, name: str) -> list[str]:
        """The command of a driver."""
        return self.training(name) if kind == TRAINING else self.tagging(name)

    # ---- processes ----------------------------------------------------------------------------

    def workers(self, kind: str) -> list[int]:
        """The processes of workers of this cluster."""
        raylets = {
            info.process.pid
            for node in self.cluster.list_all_nodes()
            for infos in node.all_processes.values()
            for info in infos
        }
        return [pid for pid, parent, title in processes() if parent in raylets and kind in title]

    def kill_worker(self, kind: str) -> bool:
        """Kill a worker at random; false where there is none."""
        found = self.workers(kind)
        if found:
            kill(self.rng.choice(found))
        return bool(found)

    def remove_node(self) -> None:
        """Kill all processes of the second node."""
        (node,) = self.cluster.worker_nodes
        self.cluster.remove_node(node, allow_graceful=False)

    # ---- runs ---------------------------------------------------------------------------------

    def run(self, what: str, kind: str, usual: float, kills: int) -> str:
        """Start a driver, and kill; the name of the model or the folder that it has written."""
        name = f"{kind}-{len(self.runs)}"
        begin, killed = time.monotonic(), 0
        driver = subprocess.Popen(self.command(kind, name))
        moments = sorted(self.rng.uniform(0.2, 0.95) * usual for _ in range(kills))
        for moment in moments:
            wait(driver, begin + moment - time.monotonic())
            if what == "worker":
                while driver.poll() is None and not self.kill_worker(kind):
                    wait(driver, 0.05)
                killed += driver.poll() is None
            elif driver.poll() is None and what == "node":
                self.remove_node()
                killed += 1
            elif driver.poll() is None and what == "driver":
                driver.kill()
                driver.wait()
                killed += 1
                driver = subprocess.Popen(self.command(kind, name))
        try:
            code = driver.wait(TIME_LIMIT)
        except subprocess.TimeoutExpired:
            driver.kill()
            driver.wait()
            code = -1
        if what == "node" and not self.cluster.worker_nodes:
            self.cluster.add_node(**NODE)
            self.cluster.wait_for_nodes()
        seconds = time.monotonic() - begin
        same, figure = self.verdict(kind, name, code)
        self.runs.append(Run(what, killed, seconds, same, figure))
        print(row(kind, what, killed, f"{seconds:.1f} s", "yes" if same else "NO", figure))
        return name

    def verdict(self, kind: str, name: str, code: int) -> tuple[bool, str]:
        """Whether the result is that of a run in which nothing dies, and a figure of it."""
        if code != 0:
            return False, "hangs" if code == -1 else f"exit code {code}"
        path = self.folder / name
        if kind == TRAINING:
            if not (self.folder / "model").exists():
                shutil.copy(path, self.folder / "model")
            test = data_folder() / "conll2000" / "test.txt"
            f = adaptag.Model.load(path).evaluate(test).score
            return digest(path) == digest(self.folder / "model"), f"F {f:.2f}"
        parts = sorted(path.glob("part-*"))
        text = b"".join(part.read_bytes() for part in parts)
        others = [file.name for file in path.iterdir() if file not in parts]
        same = text == (self.folder / "expected").read_bytes() and others == ["_manifest.jsonl"]
        return same, f"{len(parts)} parts, {len(text):,} bytes"


def processes() -> Iterator[tuple[int, int, str]]:
    """Number, parent and command of all processes."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            title = (folder / "cmdline").read_bytes().decode(errors="replace")
            status = (folder / "status").read_text()
        except OSError:  # it has ended
            continue
        parent = re.search(r"^PPid:\s*(\d+)", status, re.MULTILINE)
        if parent:
            yield int(folder.name), int(parent[1]), title


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def wait(driver: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait so long, or until the driver has ended."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        driver.wait(max(0.0, seconds))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def row(*cells: object) -> str:
    widths = (12, 8, 6, 8, 5, 0)
    return "  ".join(f"{cell!s:{width}}" for cell, width in zip(cells, widths, strict=True)).strip()


def measure(faults: Faults, given: argparse.Namespace) -> None:
    print(row("workers of", "killed", "times", "time", "same", "result"))
    faults.run("nothing", TRAINING, 0, 0)
    faults.run("nothing", TRAINING, 0, 0)
    usual = faults.runs[-1].seconds
    left = given.workers
    while left > 0:
        before = faults.runs[-1]
        faults.run("worker", TRAINING, usual, min(left, KILLS_IN_A_RUN))
        left -= max(1, faults.runs[-1].killed)
        assert faults.runs[-1] is not before
    left = given.nodes
    while left > 0:
        faults.run("node", TRAINING, usual, 1)
        left -= faults.runs[-1].killed
    left = given.drivers
    while left > 0:
        faults.run("driver", TRAINING, usual, min(left, 2))
        left -= max(1, faults.runs[-1].killed)

    text = (data_folder() / "conll2000" / "test.txt").read_text().rstrip("\n") + "\n\n"
    plain = re.sub(r" \S+$", "", text, flags=re.MULTILINE)
    (faults.folder / "input.txt").write_text(plain * COPIES)
    line = ("tag", faults.folder / "input.txt", "-m", faults.folder / "model")
    with (faults.folder / "expected").open("wb") as file:
        subprocess.run([sys.executable, "-c", TAG, *map(str, line)], stdout=file, check=True)
    faults.run("nothing", TAGGING, 0, 0)
    usual = faults.runs[-1].seconds
    for what, kills in (("worker", 2), ("worker", 2), ("node", 1), ("driver", 2)):
        faults.run(what, TAGGING, usual, kills)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=20, help="workers to kill in training")
    parser.add_argument("--nodes", type=int, default=5, help="nodes to remove in training")
    parser.add_argument("--drivers", type=int, default=5, help="drivers to kill in training")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        faults = Faults(Path(folder), random.Random(given.seed))
        faults.start()
        try:
            measure(faults, given)
        finally:
            faults.cluster.shutdown()
    bad = sum(not run.same for run in faults.runs)
    killed = sum(run.killed for run in faults.runs)
    print(f"{len(faults.runs)} runs, {killed} kills, {bad} with another result")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
