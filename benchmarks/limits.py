"""Input at its limits: what, message, exit code, peak memory. None may end in a traceback.

``python benchmarks/limits.py`` prints a table; ``--large`` takes the sizes of the documentation
(a sentence of 10 million tokens, a token of 100 MB) instead of tenths of them.
"""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LARGE = "--large" in sys.argv
SCALE = 1 if LARGE else 10
PROGRAM = """
from adaptag.cli.program import run
try:
    run()
finally:
    lines = open("/proc/self/status").read().split("\\n")
    open("peak", "w").write(next(line for line in lines if line.startswith("VmHWM")).split()[1])
"""
ADAPTAG = [sys.executable, "-c", PROGRAM]
TEMPLATE = "U:%x[0,0]\nB\n"
SMALL = "the D\ncat N\n\na D\ndog N\n"
MEMORY = 4 << 30  # of address space, where a case needs a limit


def sentence(n: int, labels: int = 3) -> str:
    return "".join(f"w{k % 1000} L{k % labels}\n" for k in range(n))


def lines(n: int) -> str:
    return "".join(f"U{k}:%x[{k % 9 - 4},0]\n" for k in range(n)) + "B\n"


def values(value: str) -> str:
    return f"X\ta:{value}\tb\n\nY\tc:{value}\n\nX\ta\n"


def damaged(place: int) -> bytes:
    import adaptag

    data = adaptag.train([["a", "b"]], [["X", "Y"]], passes=1).to_bytes()
    return data[:place] if place > 0 else data[:place] + b"\0" * -place


TRAIN = ["train", "f", "-m", "m", "--template", "t", "--passes", "1"]
ATTRIBUTES = ["train", "f", "-m", "m", "--format", "attributes", "--passes", "2"]
HUGE = "9" * 20
# name → files, arguments, whether memory is limited
CASES: dict[str, tuple[dict[str, str | bytes], list[str], bool]] = {
    f"a sentence of {10_000_000 // SCALE:,} tokens": (
        {"f": lambda: sentence(10_000_000 // SCALE)}, TRAIN, False),
    "the same in 4 GB of memory": ({"f": lambda: sentence(10_000_000 // SCALE)}, TRAIN, True),
    f"tagging a sentence of {10_000_000 // SCALE:,} tokens": (
        {"f": lambda: sentence(10_000_000 // SCALE), "s": SMALL},
        ["tag", "f", "-m", "small", "-o", "out"], False),
    "65,000 labels": ({"f": lambda: sentence(65_000, 65_000)}, TRAIN, False),
    "20,000 labels in 4 GB of memory": ({"f": lambda: sentence(20_000, 20_000)}, TRAIN, True),
    "a template of 1,000 lines": ({"f": SMALL * 200, "t": lines(1000)}, TRAIN, False),
    f"a token of {100 // SCALE} MB": (
        {"f": lambda: "x" * (100_000_000 // SCALE) + " D\ncat N\n"}, TRAIN, False),
    "the value nan": ({"f": values("nan")}, ATTRIBUTES, False),
    "the value inf": ({"f": values("inf")}, ATTRIBUTES, False),
    "the value 1e38": ({"f": values("1e38")}, ATTRIBUTES, False),
    "the value 1e39": ({"f": values("1e39")}, ATTRIBUTES, False),
    "the same feature twice": ({"f": "X\ta\ta\n\nY\tb\n"}, ATTRIBUTES, False),
    "carriage returns as line ends": ({"f": SMALL.replace("\n", "\r")}, TRAIN, False),
    "a NUL byte": ({"f": "a X\nb\0 Y\n"}, TRAIN, False),
    "no UTF-8": ({"f": b"a X\n\xff\xfe Y\n"}, TRAIN, False),
    "an empty file": ({"f": ""}, TRAIN, False),
    "hash bits 30 with 300 labels in 4 GB": (
        {"f": sentence(300, 300)}, [*TRAIN, "--hash-bits", "30"], True),
    f"--max-features {HUGE}": (
        {"f": SMALL}, ["train", "f", "-m", "m", "--stream", "--max-features", HUGE], False),
    f"--cutoff {HUGE}": ({"f": SMALL}, [*TRAIN, "--cutoff", HUGE], False),
    "--rate 1e30 --sigma inf": (
        {"f": SMALL}, [*TRAIN, "-a", "sgd", "--rate", "1e30", "--sigma", "inf"], False),
    "-a lbfgs --sigma 1e-300": ({"f": SMALL}, [*TRAIN, "-a", "lbfgs", "--sigma", "1e-300"], False),
    "development data of unknown labels": (
        {"f": SMALL, "d": "the X\ncat Y\n"}, [*TRAIN, "--dev", "d"], False),
    "a model that is truncated": ({"f": SMALL, "m": lambda: damaged(500)},
                                  ["tag", "f", "-m", "m"], False),
    "a model with bytes of zero": ({"f": SMALL, "m": lambda: damaged(-64)},
                                   ["tag", "f", "-m", "m"], False),
}  # fmt: skip


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def outcome(files: dict, arguments: list[str], limit: bool) -> tuple[str, str, float, float]:
    """The message, the exit code or signal, the peak memory in MB and the seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, content in {"t": TEMPLATE, **files}.items():
            data = content() if callable(content) else content
            (folder / path).write_bytes(data if isinstance(data, bytes) else data.encode())
        if "small" in arguments:
            train = ["train", "s", "-m", "small", "--template", "t", "--passes", "1"]
            subprocess.run([*ADAPTAG, *train], cwd=folder, capture_output=True, check=True)
        begin = time.monotonic()
        with (folder / "err").open("wb") as err:
            process = subprocess.Popen(
                [*ADAPTAG, *arguments],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=err,
                preexec_fn=limited if limit else None,
            )
            code = process.wait()
        seconds = time.monotonic() - begin
        shown = signal.Signals(-code).name if code < 0 else str(code)
        peak = (folder / "peak").read_text() if (folder / "peak").exists() else "nan"
        text = (folder / "err").read_text(errors="replace").replace(name, "")
    if "Traceback" in text:
        return f"TRACEBACK {text.splitlines()[-1]}", shown, float(peak) / 1024, seconds
    wanted = ("adaptag:", "note:", "│")
    said = [line.strip("│ ") for line in text.splitlines() if line.startswith(wanted)]
    return " ".join(said), shown, float(peak) / 1024, seconds


def main() -> int:
    print("| Input | Message | Exit code | Peak memory | Time |\n|---|---|---|---|---|")
    bad = 0
    for name, (files, arguments, limit) in CASES.items():
        message, code, peak, seconds = outcome(files, arguments, limit)
        bad += code not in ("0", "2", "3") or message.startswith("TRACEBACK")
        message = message.replace("|", "\\|")
        print(f"| {name} | {message} | {code} | {peak:.0f} MB | {seconds:.1f} s |", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(main())
