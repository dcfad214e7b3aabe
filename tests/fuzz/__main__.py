"""Coverage-guided fuzzing: ``python -m tests.fuzz [TARGET …] --seconds 60 --jobs 2``.

Each target runs in a process of its own: those of Python under atheris, those of C++ under
libFuzzer. An input that ends in anything but success or an ``AdaptagError``, that takes more than
ten seconds or two gigabytes, or of which a sanitizer reports something, is written to
``tests/fuzz/crashers/TARGET``, where the tests replay it from then on.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from tests.fuzz.building import FOLDER, ROOT, build
from tests.fuzz.child import CORE as CORE_VARIABLE
from tests.fuzz.targets import CORE, PYTHON

CRASHERS = Path(__file__).with_name("crashers")
HISTORY = FOLDER / "history.jsonl"
TIMEOUT = 10  # seconds for one execution; more is a hang
MEMORY = 2048  # megabytes of a process
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "PYTHONMALLOC": "malloc",
}
FIGURES = {
    "executions": re.compile(r"^stat::number_of_executed_units:\s*(\d+)", re.MULTILINE),
    "coverage": re.compile(r"cov: (\d+)"),
    "seconds": re.compile(r"^Done \d+ runs in (\d+) second", re.MULTILINE),
}


class Outcome(NamedTuple):
    """What came of a target in one run."""

    target: str
    executions: int
    seconds: float
    coverage: int
    findings: list[str]


def arguments():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all of them by default")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (60)")
    parser.add_argument("--jobs", type=int, default=2, help="targets at the same time (2)")
    parser.add_argument("--list", action="store_true", help="name the targets, and end")
    parser.add_argument(
        "--usual-core",
        action="store_true",
        help="run the targets of Python on the usual core, without sanitizers: nothing but the "
        "targets of C++ is compiled",
    )
    parser.add_argument("--totals", action="store_true", help="sum up all runs so far, and end")
    given = parser.parse_args()
    for name in given.targets:
        if name not in PYTHON and name not in CORE:
            parser.error(f"unknown target {name!r}; allowed: {', '.join([*PYTHON, *CORE])}")
    return given


def folder_of_seeds(name):
    """Write the seeds of a target, and give their folder."""
    folder = FOLDER / "seeds" / name
    folder.mkdir(parents=True, exist_ok=True)
    seeds = CORE[name]() if name in CORE else PYTHON[name].seeds()
    for number, seed in enumerate(seeds):
        (folder / f"{number:03}").write_bytes(seed)
    return folder


def fuzz(name, seconds, made):
    """Run one target, and keep what it found."""
    corpus, found = FOLDER / "corpus" / name, CRASHERS / name
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(parents=True, exist_ok=True)
    before = set(found.iterdir())
    seeds = folder_of_seeds(name)
    longest = max(path.stat().st_size for path in seeds.iterdir())
    options = [
        f"-max_total_time={seconds}",
        f"-timeout={TIMEOUT}",
        f"-rss_limit_mb={MEMORY}",
        f"-max_len={max(256, 2 * longest)}",
        f"-artifact_prefix={found}/",
        "-print_final_stats=1",
        "-use_value_profile=1" if name in PYTHON else "-use_value_profile=0",
        str(corpus),
        str(seeds),
    ]
    environment = os.environ | SANITIZERS | {"ADAPTAG_FUZZ_TARGET": name}
    if name in CORE:
        command = [str(made.program)]
    else:
        command = [sys.executable, "-m", "tests.fuzz.child", name]
        if made.core is not None:
            environment |= {"LD_PRELOAD": str(made.preload), CORE_VARIABLE: str(made.core)}
    if found.exists():
        options += [str(found)]
    log = FOLDER / "logs" / f"{name}.txt"
    log.parent.mkdir(exist_ok=True)
    with log.open("wb") as file:
        code = subprocess.run(
            [*command, *options], env=environment, cwd=ROOT, stdout=file, stderr=file, check=False
        ).returncode
    outcome = read_outcome(name, log, sorted(set(found.iterdir()) - before), code, seconds)
    if not any(found.iterdir()):
        found.rmdir()
    with HISTORY.open("a") as file:
        file.write(json.dumps(outcome._asdict()) + "\n")
    return outcome


def read_outcome(name, log, new, code, seconds):
    """The figures that libFuzzer printed."""
    text = log.read_text(errors="replace")
    last = {key: pattern.findall(text)[-1:] for key, pattern in FIGURES.items()}
    figures = {key: int(found[0]) if found else 0 for key, found in last.items()}
    findings = [str(path.relative_to(ROOT)) for path in new]
    if code and not findings:
        findings = [f"ended with code {code}: see {log.relative_to(ROOT)}"]
    return Outcome(
        name,
        figures["executions"],
        figures["seconds"] or seconds,
        figures["coverage"],
        findings,
    )


def show(outcomes):
    """A table of the outcomes, and what was found."""
    table = Table()
    for heading in ("target", "executions", "per second", "coverage", "new findings"):
        table.add_column(heading, justify="left" if heading == "target" else "right")
    for o in outcomes:
        rate = f"{o.executions / max(o.seconds, 1):,.0f}"
        table.add_row(o.target, f"{o.executions:,}", rate, f"{o.coverage:,}", str(len(o.findings)))
    total = sum(o.executions for o in outcomes)
    table.add_row("all", f"{total:,}", "", "", str(sum(len(o.findings) for o in outcomes)))
    console = Console()
    console.print(table)
    for o in outcomes:
        for finding in o.findings:
            console.print(f"{o.target}: {finding}", soft_wrap=True)


def totals():
    """The runs so far, summed up for each target."""
    summed = {}
    for line in HISTORY.read_text().splitlines() if HISTORY.exists() else []:
        new = Outcome(**json.loads(line))
        old = summed.get(new.target, Outcome(new.target, 0, 0, 0, []))
        summed[new.target] = Outcome(
            new.target,
            old.executions + new.executions,
            old.seconds + new.seconds,
            max(old.coverage, new.coverage),
            old.findings + new.findings,
        )
    return [summed[name] for name in (*PYTHON, *CORE) if name in summed]


def main():
    given = arguments()
    if given.list:
        print("\n".join([*PYTHON, *CORE]))
        return 0
    if given.totals:
        show(totals())
        return 0
    made = build(given.jobs, instrumented=not given.usual_core)
    names = given.targets or [*PYTHON, *CORE]
    if made.program is None:
        names = [name for name in names if name not in CORE]
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        runs = [pool.submit(fuzz, name, given.seconds, made) for name in names]
        outcomes = []
        for run in concurrent.futures.as_completed(runs):
            outcomes.append(run.result())
            done = outcomes[-1]
            print(f"{done.target}: {done.executions:,} executions", flush=True)
    show(sorted(outcomes, key=lambda o: names.index(o.target)))
    return int(any(o.findings for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
