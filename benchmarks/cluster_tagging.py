"""How fast does a cluster on this machine tag, per core, and in how much memory?

usage: python cluster_tagging.py [--tokens N] [--folder FOLDER] [--threads N] [--block-size MB]

The test text of CoNLL-2000, repeated into files of about 250 MB, is tagged with ``--cluster local``
and a part of it, in the same run, with ``adaptag tag --threads 1``, once and as many at once as
there are cores, which share caches and memory. Prints tokens per second and per core: of the
cluster from its first to its last finished block, and with its start; and tokens per second of CPU
time, of all processes of the cluster, which depends less on what else the machine does. Memory is
the peak of all processes together, shared pages counted once (PSS), sampled twice a second.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from chunking import DATA

from adaptag._native import cores
from adaptag.ray.manifest import MANIFEST

PROGRAM = [sys.executable, "-c", "from adaptag.cli.program import start; start()"]
FILE = 250 << 20  # bytes
PLAIN = 10_000_000  # tokens that are tagged without a cluster
INTERVAL = 0.5  # seconds between two samples of memory
MODEL = ["--passes", "5", "--template", "chunking"]


def write_inputs(folder: Path, tokens: int) -> tuple[list[Path], Path, int]:
    """Write the files to tag, and one for a single core.

    Returns:
        The files, that for a single core, and its tokens.
    """
    lines = (DATA / "test.txt").read_text(encoding="utf-8").splitlines()
    text = "".join(" ".join(line.split()[:2]) + "\n" for line in lines).strip("\n") + "\n\n"
    per_text = sum(bool(line.strip()) for line in lines)
    data, copies = text.encode(), max(1, round(tokens / per_text))
    files = []
    for first in range(0, copies, per_file := max(1, FILE // len(data))):
        files.append(folder / f"text-{len(files):04d}.txt")
        with files[-1].open("wb") as file:
            for _ in range(min(per_file, copies - first)):
                file.write(data)
    plain, n = folder / "plain.txt", max(1, min(copies, PLAIN // per_text))
    plain.write_bytes(data * n)
    return files, plain, n * per_text


class Watch(threading.Thread):
    """Samples the memory and the CPU time of a process and all that it has started.

    Attributes:
        peak: Bytes of memory at the peak of all together, by what took them.
        seconds: CPU time of each process.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.peak: dict[str, int] = {}
        self.seconds: dict[int, float] = {}
        self.ended = threading.Event()

    def run(self) -> None:
        """Sample until the end is noted."""
        while not self.ended.wait(INTERVAL):
            sizes: dict[str, int] = {}
            for pid in processes(self.pid):
                name, size, seconds = shares(pid)
                sizes[name] = sizes.get(name, 0) + size
                self.seconds[pid] = max(seconds, self.seconds.get(pid, 0.0))
            if sum(sizes.values()) > sum(self.peak.values()):
                self.peak = sizes


def processes(root: int) -> list[int]:
    """A process and its descendants."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:  # it has ended
            continue
        parents[int(path.parent.name)] = int(text.rpartition(")")[2].split()[1])
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def shares(pid: int) -> tuple[str, int, float]:
    """What a process is, its share of memory in bytes, and its CPU time in seconds."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")
    except OSError:
        return "ended", 0, 0.0
    size = sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    name = words[0].split()[0] if words[0] else "?"
    ticks = sum(int(n) for n in stat.rpartition(")")[2].split()[11:13])
    seconds = ticks / os.sysconf("SC_CLK_TCK")
    if name.startswith("ray::MapWorker"):
        return "workers", size, seconds
    return "driver" if "from adaptag" in " ".join(words) else "Ray", size, seconds


def tag_alone(plain: Path, model: Path, n: int = 1) -> tuple[float, float]:
    """Tag with one thread, n times at once; the time, and the CPU time of each, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    words = [*PROGRAM, "tag", plain, "-m", model, "--threads", "1", "-o"]
    running = [subprocess.Popen([*words, plain.with_suffix(f".{k}")]) for k in range(n)]
    assert not any(process.wait() for process in running)
    seconds = time.perf_counter() - begin
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, (now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime) / n


def tag_on_cluster(
    files: list[Path], model: Path, output: Path, options: list[str]
) -> tuple[float, float, int, Watch]:
    """Tag on a cluster.

    Returns:
        The time in seconds; tokens per second from the first finished block to the last; tokens;
        the memory and the CPU time.
    """
    begin = time.perf_counter()
    words = [*PROGRAM, "tag", *files, "-m", model, "-o", output, "--cluster", "local", *options]
    with subprocess.Popen(list(map(str, words))) as driver:
        watch = Watch(driver.pid)
        watch.start()
        seen: list[float] = []  # when each block was finished
        while driver.poll() is None:
            time.sleep(0.02)
            manifest = output / MANIFEST
            lines = manifest.read_bytes().count(b"\n") - 1 if manifest.exists() else 0
            seen += [time.perf_counter()] * (lines - len(seen))
        watch.ended.set()
    assert driver.returncode == 0
    seconds = time.perf_counter() - begin
    rows = [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines()[1:]]
    tokens = [row["tokens"] for row in rows if "block" in row]
    seen = seen[: len(tokens)]
    first = next((k for k, when in enumerate(seen) if when > seen[0] + 0.1), 0)
    rate = sum(tokens[first:]) / (seen[-1] - seen[0]) if first else float("nan")
    return seconds, rate, sum(tokens), watch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=float, default=20e6)
    parser.add_argument("--folder", type=Path, help="where files are written, about 25 bytes/token")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--block-size", type=float, default=32)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        model = folder / "model"
        train = [*PROGRAM, "train", DATA / "train.txt", "-m", model, *MODEL]
        subprocess.run(train, check=True, stderr=subprocess.DEVNULL)
        files, plain, n_plain = write_inputs(folder, int(arguments.tokens))
        options = ["--threads", arguments.threads, "--block-size", arguments.block_size]
        n = cores()
        alone, together = [tag_alone(plain, model)], [tag_alone(plain, model, n)]
        seconds, rate, tokens, watch = tag_on_cluster(files, model, folder / "out", options)
        shutil.rmtree(folder / "out")
        alone.append(tag_alone(plain, model))
        together.append(tag_alone(plain, model, n))
    single, shared = n_plain / min(alone)[0], n_plain / min(together)[0]
    per_second = n_plain / min(together, key=lambda times: times[1])[1]
    print(f"{tokens:,} tokens, {n} cores, load {os.getloadavg()[0]:.1f}")
    print(f"one thread   {single:12,.0f} tokens/s")
    print(f"{n} programs   {shared:12,.0f} tokens/s each, {shared / single:.0%}")
    print(f"cluster      {rate / n:12,.0f} tokens/s per core, {rate / n / single:.0%}")
    whole = tokens / seconds
    print(f"with start   {whole / n:12,.0f} tokens/s per core, {whole / n / single:.0%}")
    used = tokens / sum(watch.seconds.values())
    print(
        f"CPU time     {used:12,.0f} tokens/s of CPU time, {used / per_second:.0%} of {n} programs"
    )
    parts = ", ".join(f"{name} {size / 1e6:,.0f}" for name, size in sorted(watch.peak.items()))
    print(f"peak memory  {sum(watch.peak.values()) / 1e6:12,.0f} MB ({parts})")


if __name__ == "__main__":
    main()
