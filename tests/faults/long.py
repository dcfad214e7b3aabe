"""Kill commands at random moments, many times, and check what they leave: ``make faults``.

Every command is killed by SIGKILL, started again with the same arguments, and killed again, until
it has been killed often enough; then it is left to finish. After each kill, the model that was
there before (or a whole new one) and the last checkpoint must load. Each finished run must have the
bits of a run that was not killed, and leave no temporary files.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.faults.commands import Case, Ground, cases, kill_until_finished, outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=15, help="kills of each command")
    parser.add_argument("--size", type=int, default=1500, help="sentences of the training data")
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments")
    parser.add_argument("--only", default="", help="commands whose names contain this")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    chosen = [case for case in cases() if options.only in case.name]
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="adaptag-faults-") as folder:
        ground = Ground(Path(folder), options.size)
        for case in chosen:
            expected, longest = measure(ground, case)
            counts = kill_until_finished(ground, case, rng, options.kills, expected, longest)
            print(
                f"{case.name:50s} {counts.kills:4d} kills in {counts.runs:4d} runs of up to "
                f"{longest:.1f} s, {counts.left} temporary files before the last run, 0 after it",
                flush=True,
            )
            total.update(kills=counts.kills, runs=counts.runs)
    commands = {" ".join(case.words[: 1 + (case.words[0] in GROUPS)]) for case in chosen}
    algorithms = {case.algorithm for case in chosen}
    print(
        f"{total['kills']} SIGKILLs of {len(chosen)} cases, {len(commands)} commands "
        f"({', '.join(sorted(commands))}), {len(algorithms)} algorithms "
        f"({', '.join(sorted(algorithms))}): no file lost, all results bit-identical"
    )


GROUPS = ("segment", "classify")


def measure(ground: Ground, case: Case) -> tuple[bytes, float]:
    """The outcome of a run that is not killed, and the time it takes."""
    ground.clear()
    begin = time.monotonic()
    code, messages = ground.run(*case.words)
    assert code == 0, (case, messages)
    return outcome(ground.folder / case.output), time.monotonic() - begin


if __name__ == "__main__":
    main()
