"""Runs the checks of compatibility and prints their tables; exits with 1 where one failed."""

from __future__ import annotations

import argparse
import sys

from rich.console import Console
from rich.table import Table

MAX_SHOWN = 20  # tests that fail for the same reason
console = Console(width=None if sys.stdout.isatty() else 200)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(
            column, justify="left" if column in ("suite", "with", "model") else "right"
        )
    return table


def check_suites(projects: list[str]) -> list[str]:
    """Run the test suites; return what was not expected."""
    from compat.sources import WORK
    from compat.suites import SUITES, run_suite

    unknown = set(projects) - {suite.project for suite in SUITES}
    if unknown:
        allowed = ", ".join(suite.project for suite in SUITES)
        return [f"unknown suite {', '.join(sorted(unknown))}; allowed: {allowed}"]
    runs = []
    for suite in SUITES:
        if not projects or suite.project in projects:
            console.print(f"Running the tests of {suite.project}")
            runs += run_suite(suite)
    table = _table("Test suites", "suite", "with", "tests", "passed", "skipped", "failed", "new")
    for run in runs:
        counts = [run.count(outcome) for outcome in ("passed", "skipped", "failed")]
        cells = map(str, (len(run.outcomes), *counts, len(run.unexpected)))
        table.add_row(run.suite.project, run.api, *cells)
    console.print(table)
    lines = []
    for run in runs:
        reasons: dict[str, list[str]] = {}
        for test, reason in run.known.items():
            reasons.setdefault(reason, []).append(test)
        for reason, tests in reasons.items():
            head = f"{run.suite.project} with {run.api}, {len(tests)}: {reason}"
            lines += [head, *(f"    {test}" for test in tests)]
            shown = tests if len(tests) <= MAX_SHOWN else [*tests[:5], "…"]
            for line in ("", head, *(f"    {test}" for test in shown)):
                console.print(line, markup=False, highlight=False, soft_wrap=True)
    (WORK / "failures.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")
    console.print(f"\nAll failing tests are listed in {WORK / 'failures.txt'}")
    return [message for run in runs for message in run.unexpected]


def check_models() -> list[str]:
    """Compare all installed models; return what differs."""
    from compat import models

    columns = ["labels", "bytes", "random", "natural", "tokens", "different", "probability"]
    columns += ["marginal", "rewritten", "loaded", "ties", "speed"]
    table = _table("Models", "model", *columns)
    problems = []
    for check in models.check_models():
        console.print(f"Compared {check.name}", highlight=False)
        if not check.passed:
            problems.append(str(check))
        counts = (check.n_labels, check.size, check.n_random, check.n_natural, check.n_tokens)
        table.add_row(
            check.name,
            *(f"{count:,}" for count in (*counts, check.different)),
            f"{check.probability:.0e}",
            f"{check.marginal:.0e}",
            *map(str, (check.rewritten, check.loaded, check.ties)),
            f"{check.speed:.1f}",
        )
    console.print(table)
    console.print(f"{table.row_count} models")
    if table.row_count < models.MIN_MODELS:
        problems.append(f"{table.row_count} models were found; expected {models.MIN_MODELS}")
    return problems


def check_damaged() -> list[str]:
    """Open damaged copies of a model; return what does harm."""
    from compat import damaged, models

    model = min(models.installed_models(), key=lambda path: abs(path.stat().st_size - 250_000))
    console.print(f"Damaging {model.name}, {damaged.N_COPIES} copies")
    table = _table("Damaged models", "with", *damaged.OUTCOMES)
    for module in ("pycrfsuite", "adaptag.pycrfsuite"):
        outcomes = damaged.count_outcomes(model, module)
        table.add_row(module, *(str(outcomes[outcome]) for outcome in damaged.OUTCOMES))
    console.print(table)
    harm = {name: outcomes[name] for name in damaged.OUTCOMES[2:] if outcomes[name]}
    return [f"damaged models: {harm}"] if harm else []


def check_retraining() -> list[str]:
    """Train the parsers of projects; return where adaptag's are worse."""
    from compat import retraining

    columns = ("sequences", "test", "tokens correct", "sequences correct", "seconds")
    table = _table("Retraining", "model", "with", *columns)
    problems = []
    for parser in retraining.PARSERS:
        scores = []
        for module in ("pycrfsuite", "adaptag.pycrfsuite"):
            console.print(f"Training {parser.project}: {parser.name} with {module}")
            score = retraining.train_parser(parser, module)
            scores.append(score)
            table.add_row(
                f"{parser.project}: {parser.name}",
                module,
                *(str(score.n_train), str(score.n_test)),
                *(f"{score.tokens:.2%}", f"{score.sequences:.2%}", f"{score.seconds:.1f}"),
            )
            if not score.agrees:
                problems.append(f"{parser.name}: pycrfsuite tags otherwise with the model")
        if scores[1].tokens < scores[0].tokens - retraining.TOLERANCE:
            problems.append(f"{parser.name}: {scores[1].tokens:.2%} of tokens are correct")
    console.print(table)
    return problems


PARTS = {"models": check_models, "damaged": check_damaged, "retraining": check_retraining}


def main() -> int:
    """Run the parts that are named, or all."""
    parser = argparse.ArgumentParser(prog="compat", description=__doc__)
    parser.add_argument("part", nargs="*", help=f"suites, {', '.join(PARTS)}, or a suite's name")
    names = parser.parse_args().part
    problems = []
    projects = [name for name in names if name not in ("suites", *PARTS)]
    if not names or projects or "suites" in names:
        problems += check_suites(projects)
    for name, check in PARTS.items():
        if not names or name in names:
            problems += check()
    for problem in problems:
        console.print(f"FAILED {problem}", markup=False, highlight=False, soft_wrap=True)
    console.print("Failed." if problems else "All as expected.")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
