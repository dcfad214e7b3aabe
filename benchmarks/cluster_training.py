"""How much faster two workers train than one: whole trainings on a Ray cluster of two nodes.

The corpus is the training file of CoNLL-2000, as often as asked for. The cluster runs on this machine, with one CPU for each node; each training is timed from reading to
the weights of the model, by turns.

    python -m benchmarks.cluster_training [--copies 60] [--passes 10] [--repeats 1]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import adaptag.ray
from adaptag.ray.connection import require_ray
from reproduction.data import data_folder

OBJECT_STORE = 1 << 30


def columns(copies: int, path: Path) -> int:
    """Write the corpus; how many tokens it has."""
    text = (data_folder() / "conll2000/train.txt").read_text(encoding="utf-8").rstrip() + "\n\n"
    with path.open("w", encoding="utf-8") as file:
        for _ in range(copies):
            file.write(text)
    return copies * sum(1 for line in text.splitlines() if line)


def seconds(path: Path, workers: int, passes: int) -> float:
    begin = time.perf_counter()
    adaptag.ray.train(str(path), workers=workers, passes=passes, rate=0.1, template="chunking")
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--copies", type=int, default=60)
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    require_ray()
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": OBJECT_STORE}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    cluster.add_node(**node)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        tokens = columns(options.copies, path)
        with adaptag.ray.connect(cluster.address):
            best = {1: float("inf"), 2: float("inf")}
            for _ in range(options.repeats):
                for workers in best:
                    best[workers] = min(best[workers], seconds(path, workers, options.passes))
    cluster.shutdown()
    one, two = best[1], best[2]
    print(f"{tokens:,} tokens, {options.passes} passes, index included, minimum of repeats")
    print(f"one worker {one:.1f} s, two workers {two:.1f} s: {one / two:.2f} times as fast")


if __name__ == "__main__":
    main()
