"""What the machine can do at best, and a fixed piece of work that times are compared with."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from history import Figure
from measure import HERE
from suite import Context, Skipped, measurement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KIB, MIB = 1 << 10, 1 << 20
# A part of each level of the memory, well inside it and well outside the one before.
LEVELS = {"L1": 16 * KIB, "L2": 512 * KIB, "L3": 8 * MIB, "memory": 256 * MIB}
CORES = (1, 2)
BASELINE = "fixed loop"  # the name of the peer
BASELINE_BYTES = 16 * MIB


def program(context: Context) -> Path:
    """The compiled machine.cpp."""

    def build(path: Path) -> None:
        flags = ["-O3", "-march=native", "-std=c++20", "-pthread"]
        command = ["c++", *flags, str(HERE / "machine.cpp"), "-o", str(path)]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Skipped(f"machine.cpp cannot be compiled: {error}") from None

    return context.file("machine", build)


def number(context: Context, what: str, size: int = 0, cores: int = 1) -> float:
    """One measurement of the program."""
    return float(context.process([program(context), what, str(size), str(cores)], cores)[1])


def baseline(context: Context) -> dict[str, float]:
    """Seconds of a hundred million rows of the fixed loop: for `Context.turns`."""
    return {"s": number(context, "rows", BASELINE_BYTES) / 10}


@measurement("machine/limits")
def limits(context: Context) -> Iterator[Figure]:
    """Bandwidth and latency of each level of the memory, and float32 operations."""
    for cores in CORES:
        where = f"{cores} core{'s' * (cores > 1)}"
        peak = max(number(context, "peak", cores=cores) for _ in range(context.repeats))
        yield Figure(f"machine/peak/{where}", peak, "Gflop/s")
        for level, size in LEVELS.items():
            rates = [number(context, "bandwidth", size, cores) for _ in range(context.repeats)]
            yield Figure(f"machine/bandwidth/{level}/{where}", max(rates), "GB/s")
    for level, size in LEVELS.items():
        delays = [number(context, "latency", size) for _ in range(context.repeats)]
        yield Figure(f"machine/latency/{level}", min(delays), "ns")
    yield Figure(f"machine/{BASELINE}", number(context, "rows", BASELINE_BYTES), "ns/row")
