"""The benchmark suite: measures, and appends a run to results/history.json.

usage: python run.py [--all | --quick] [--only TEXT ...] [--repeats N] [--accept]
       python run.py --check [--only TEXT ...] [--repeats N]
       python run.py --accept-last | --list

Compares with the accepted run where there is one. With --check it measures the quick part, writes
nothing, measures what has regressed up to twice again, and fails where it remains worse by more
than a tenth.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
import tempfile
from pathlib import Path

import history
import report
import tasks  # noqa: F401  (declares the measurements)
from chunking import ROOT
from contestants import REQUIREMENTS, install_peers
from history import Comparison
from suite import LONG, MEASUREMENTS, QUICK, Context, Measurement, Session

from adaptag._native import core


def chosen(arguments: argparse.Namespace) -> list[Measurement]:
    """The measurements that were asked for."""
    parts = arguments.only
    if parts:
        return [one for one in MEASUREMENTS if any(part in one.name for part in parts)]
    if arguments.check or arguments.quick:
        return [one for one in MEASUREMENTS if one.effort == QUICK]
    return [one for one in MEASUREMENTS if arguments.all or one.effort != LONG]


def commit() -> str:
    """The commit of the source, marked where the library has changed since."""

    def git(*command: str) -> str:
        result = subprocess.run(
            ["git", *command], cwd=ROOT, capture_output=True, text=True, check=True
        )
        return result.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "src", "cpp", "CMakeLists.txt")
        return git("rev-parse", "--short=10", "HEAD") + ("-changed" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def new_run(session: Session, arguments: list[str], accepted: bool) -> history.Run:
    """The figures of a session as an entry of the history."""
    return history.Run(
        date=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        commit=commit(),
        command=" ".join(["python benchmarks/run.py", *arguments]),
        core=core.__name__.rpartition(".")[2],
        machine=report.machine(REQUIREMENTS),
        accepted=accepted,
        figures=list(session.figures.values()),
    )


def show(compared: list[Comparison]) -> None:
    """Print the comparison, and then what has regressed by how much."""
    if not compared:
        print("nothing to compare with: no accepted run has these figures")
        return
    head = ["Figure", "Accepted", "Now", "Better by", ""]
    report.show([report.Table("Beside the accepted run", head, [c.described() for c in compared])])
    for c in compared:
        if c.regressed:
            name, before, now, change, _ = c.described()
            print(f"REGRESSED: {name}: {before} before, {now} now ({change})")


def accept_last() -> None:
    """Mark the last run of the history as accepted."""
    runs = history.read()
    if not runs:
        sys.exit("the history has no run yet: make bench")
    runs[-1].accepted = True
    history.write(runs)
    print(f"accepted: the run of {runs[-1].date}, {len(runs[-1].figures)} figures")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--all", action="store_true", help="also what takes long")
    parser.add_argument("--quick", action="store_true", help="the part that --check compares")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="names with one of these parts")
    parser.add_argument("--repeats", type=int, default=3, help="of each measurement (default 3)")
    parser.add_argument("--accept", action="store_true", help="mark this run as accepted")
    parser.add_argument("--check", action="store_true", help="fail on a regression; writes nothing")
    parser.add_argument("--accept-last", action="store_true", help="mark the last run as accepted")
    parser.add_argument("--list", action="store_true", help="list the measurements")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if arguments.accept_last:
        accept_last()
        return 0
    measurements = chosen(arguments)
    if arguments.list:
        print("\n".join(f"{one.effort:6}{one.name}" for one in measurements))
        return 0
    install_peers()
    accepted = history.accepted(history.read())
    with tempfile.TemporaryDirectory(prefix="adaptag-bench-") as folder:
        session = Session(Context(Path(folder), arguments.repeats))
        for one in measurements:
            session.measure(one)
        if arguments.check:
            session.confirm(accepted)
    compared = session.compare(accepted)
    show(compared)
    regressed = any(c.regressed for c in compared)
    if arguments.check:
        print("regressed" if regressed else "no regression")
        return int(regressed or bool(session.failed))
    if session.figures:
        history.write([*history.read(), new_run(session, sys.argv[1:], arguments.accept)])
        print(f"written: {history.HISTORY.name}, {len(session.figures)} figures")
    return int(bool(session.failed))


if __name__ == "__main__":
    sys.exit(main())
