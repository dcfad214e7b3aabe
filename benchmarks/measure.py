"""Child processes of their own, pinned to cores: wall time, processor time, peak memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Run:
    """What one process took."""

    wall_s: float
    cpu_s: float
    peak_mb: float  # 10⁶ bytes


def run(command: list[str], log: Path, cores: int = 1) -> Run:
    """Run `command` in the benchmarks folder, its output in `log`; RuntimeError where it fails.

    It is pinned to the last `cores` cores. A small launcher starts it: Linux counts the memory of
    the process that forks into the peak of its child, so the benchmark itself must not be that.
    """
    launcher = [sys.executable, "-I", "-S", __file__, str(cores), str(log), *command]
    result = subprocess.run(launcher, cwd=HERE, stdout=subprocess.PIPE, text=True, check=True)
    status, *figures = json.loads(result.stdout)
    if status:
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:])
        raise RuntimeError(f"{Path(command[0]).name}: exit status {status}\n{tail}")
    return Run(*figures)


def environment() -> dict[str, str]:
    """The environment without what changes Python, e.g. keeps it from storing compiled modules."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def launch(cores: int, log: str, command: list[str]) -> tuple[int, float, float, float]:
    """Exit status, wall s, processor s and peak MB of the command, pinned to the last cores."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    to_log = [(os.POSIX_SPAWN_DUP2, output, stream) for stream in (1, 2)]
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, environment(), file_actions=to_log)
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    cpu = usage.ru_utime + usage.ru_stime
    return os.waitstatus_to_exitcode(status), wall, cpu, usage.ru_maxrss * 1024 / 1e6


if __name__ == "__main__":
    print(json.dumps(launch(int(sys.argv[1]), sys.argv[2], sys.argv[3:])))
