"""The tagging server under load, beside python-crfsuite behind FastAPI.

usage: python server.py [--seconds N] [--minutes N] [--connections N …] [--only NAME]

Both are trained on CoNLL-2000 with the same features, and asked for one sentence of the test data
per request, over loopback, by wrk (Debian's package). The server has the last core;
wrk has the first. Requests per CPU second count the time of the server's process alone, user and
system, so that they can be compared on a busy machine too. `--minutes` also measures how memory
grows under the load of 16 connections.
Needs wrk, and fastapi, uvicorn, httptools, uvloop and python-crfsuite.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from chunking import DATA, read
from measure import HERE
from report import Table, markdown_table

import adaptag

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT = """
local bodies = {}
for line in io.lines("%s") do bodies[#bodies + 1] = line end
local k = 0
local head = {["Content-Type"] = "application/json"}
function request()
  k = k %% #bodies + 1
  return wrk.format("POST", "/tag", head, bodies[k])
end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format("\\nRESULT %%d %%d %%d %%d %%d\\n", summary.requests, summary.duration,
    e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50), latency:percentile(99)))
end
"""
START = "from adaptag.cli.program import start; start()"


class Server(NamedTuple):
    """Where a server is, and the id of its process."""

    address: str
    pid: int


class Load(NamedTuple):
    """What a server did under load."""

    per_second: float
    per_cpu_second: float
    median_ms: float
    p99_ms: float
    errors: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    parser.add_argument("--minutes", type=float, default=0, help="of the measurement of memory")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 16, 256])
    parser.add_argument("--only", choices=["adaptag", "crfsuite"])
    parser.add_argument("--sentences", type=int, default=None, help="to train on; default: all")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is not installed: apt-get install wrk")
    names = [options.only] if options.only else ["adaptag", "crfsuite"]
    with tempfile.TemporaryDirectory() as folder:
        script = write_requests(Path(folder))
        models = {name: train(name, Path(folder), options.sentences) for name in names}
        rows = []
        for n in options.connections:
            for name in names:  # in turns
                with serving(name, models[name]) as server:
                    load(server, script, n, 1)  # warm
                    rows.append([str(n), name, *cells(load(server, script, n, options.seconds))])
        head = ["connections", "server", "sentences/s", "sentences/CPU s", "µs of CPU each"]
        head += ["median ms", "p99 ms", "errors"]
        print(markdown_table(Table("Requests of one sentence", head, rows)))
        if options.minutes:
            watch_memory(models, script, options.minutes)


def cells(figures: Load) -> list[str]:
    """The cells of a row of the table."""
    rate, cpu_rate, median, p99, errors = figures
    rates = [f"{rate:,.0f}", f"{cpu_rate:,.0f}", f"{1e6 / cpu_rate:.0f}"]
    return [*rates, f"{median:.2f}", f"{p99:.2f}", str(errors)]


def write_requests(folder: Path) -> Path:
    """The requests, one per line, and the script for wrk that sends them."""
    lines = folder / "requests.txt"
    bodies = [
        json.dumps({"tokens": [token[:2] for token in sentence]})
        for sentence in read(DATA / "test.txt")
    ]
    lines.write_text("\n".join(bodies) + "\n", encoding="utf-8")
    script = folder / "requests.lua"
    script.write_text(SCRIPT % lines, encoding="utf-8")
    return script


def train(name: str, folder: Path, n_sentences: int | None) -> Path:
    """Train a model on the same sentences with the same features."""
    sentences = list(read(DATA / "train.txt"))[:n_sentences]
    path = folder / name
    labels = [[token[-1] for token in sentence] for sentence in sentences]
    if name == "adaptag":
        tokens = [[token[:2] for token in sentence] for sentence in sentences]
        adaptag.train(tokens, labels, template="chunking", passes=10).save(path)
        return path
    import pycrfsuite
    from chunking import attributes

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set("max_iterations", 30)
    for sentence, gold in zip(sentences, labels, strict=True):
        trainer.append(attributes(sentence), gold)
    trainer.train(str(path))
    return path


@contextlib.contextmanager
def serving(name: str, model: Path) -> Iterator[Server]:
    """Run a server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = {
        "adaptag": [sys.executable, "-c", START, "serve", f"model={model}", "--port", str(port)],
        "crfsuite": [sys.executable, "-m", "peers.crfsuite_server", str(model), str(port)],
    }[name]
    cores = sorted(os.sched_getaffinity(0))
    pinned = ["taskset", "-c", ",".join(map(str, cores[-1:])), *command]
    process = subprocess.Popen(pinned, cwd=HERE, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        yield Server(f"http://127.0.0.1:{port}", process.pid)
    finally:
        process.terminate()
        process.wait(30)


def wait_for(port: int) -> None:
    """Wait until a server listens."""
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"nothing listens on port {port}")


def load(server: Server, script: Path, connections: int, seconds: float) -> Load:
    """Send requests for some seconds, over some connections."""
    begin = cpu_seconds(server.pid)
    command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "-s", str(script)]
    core = str(min(os.sched_getaffinity(0)))
    output = subprocess.run(
        ["taskset", "-c", core, *command, server.address],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    line = next(line for line in output.splitlines() if line.startswith("RESULT"))
    n, microseconds, errors, median, p99 = map(int, line.split()[1:])
    rates = n / (microseconds / 1e6), n / max(0.01, cpu_seconds(server.pid) - begin)
    return Load(*rates, median / 1000, p99 / 1000, errors)


def cpu_seconds(pid: int) -> float:
    """Time that a process has used on all cores, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def watch_memory(models: dict[str, Path], script: Path, minutes: float) -> None:
    """Print the memory of each server while it is under load."""
    for name, model in models.items():
        with serving(name, model) as server:
            sizes, errors = [], 0
            end = time.monotonic() + 60 * minutes
            while time.monotonic() < end:
                errors += load(server, script, 16, min(10, 60 * minutes)).errors
                sizes.append(resident_mb(server.pid))
        print(
            f"{name}: {errors} errors; MB after each 10 s: " + " ".join(f"{s:.1f}" for s in sizes)
        )


def resident_mb(pid: int) -> float:
    """Memory of a process now, in 10⁶ bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
