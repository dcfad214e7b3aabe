"""The test suites of the projects, with the packages that they are written for and with adaptag."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from compat.expected import EXPECTED_FAILURES
from compat.sources import fresh_folder, source_of

__all__ = ["APIS", "SUITES", "SuiteRun", "run_suite"]

REPLACEMENTS = Path(__file__).parent / "replacements"
ORIGINAL = "original"
# What stands in for which package, by the folders in PYTHONPATH.
APIS: dict[str, tuple[str, ...]] = {
    ORIGINAL: (),
    "adaptag.pycrfsuite": ("pycrfsuite",),
    "adaptag": ("sklearn_crfsuite",),
}
TIMEOUT = 1800.0


@dataclass(frozen=True)
class Suite:
    """The tests of one project.

    Attributes:
        project: Its name on PyPI.
        tests: The files or folders of tests that need a CRF, in the source distribution.
        apis: What it is run with, beside the original.
        options: Lines of the configuration of pytest.
        data: Files that tests read by the paths in which the repository has them, and which the
            source distribution has under other names or not at all: the path, and the file of
            the source distribution that is read instead.
        stand_ins: Further folders of replacements.
    """

    project: str
    tests: tuple[str, ...] = ("tests",)
    apis: tuple[str, ...] = ("adaptag.pycrfsuite",)
    options: tuple[str, ...] = ()
    data: tuple[tuple[str, str], ...] = ()
    stand_ins: tuple[str, ...] = ()


US_ADDRESSES = "measure_performance/test_data"

SUITES = (
    Suite("python-crfsuite", options=("addopts = --doctest-modules",)),
    Suite("sklearn-crfsuite", apis=("adaptag.pycrfsuite", "adaptag")),
    Suite("parserator"),
    Suite(
        "usaddress",
        data=(
            (
                f"{US_ADDRESSES}/simple_address_patterns.xml",
                "training/multi_word_state_addresses.xml",
            ),
            (f"{US_ADDRESSES}/labeled.xml", "training/labeled.xml"),
            (f"{US_ADDRESSES}/synthetic_osm_data.xml", "training/synthetic_osm_data_xml.xml"),
            (f"{US_ADDRESSES}/us50_test_tagged.xml", "training/us50_train_tagged.xml"),
        ),
    ),
    Suite(
        "probablepeople",
        data=(("tests/test_data_labeled.xml", "name_data/labeled/person_labeled.xml"),),
    ),
    Suite(
        "pythainlp",
        tests=(
            "tests/compact/testc_parse.py",
            "tests/compact/testc_tokenize.py",
            "tests/core/test_soundex.py",
            "tests/core/test_soundex_engines.py",
            "tests/core/test_tokenize_han_solo.py",
        ),
        options=("python_files = test_*.py testc_*.py",),
        stand_ins=("icu",),
    ),
    Suite(
        "underthesea",
        tests=tuple(f"tests/pipeline/{n}" for n in ("chunking", "ner", "pos_tag", "word_tokenize")),
    ),
)


@dataclass
class SuiteRun:
    """The outcomes of a suite with one API.

    Attributes:
        suite: The suite.
        api: The key in :data:`APIS`.
        outcomes: By test, ``passed``, ``skipped`` or the message of its failure.
        known: The reason of each failing test that has one.
        unexpected: Messages that make the run fail.
    """

    suite: Suite
    api: str
    outcomes: dict[str, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    unexpected: list[str] = field(default_factory=list)

    def count(self, outcome: str) -> int:
        """The number of tests that were ``passed``, ``skipped`` or ``failed``."""
        if outcome == "failed":
            return len(self.failed())
        return sum(found == outcome for found in self.outcomes.values())

    def failed(self) -> dict[str, str]:
        """The messages of failing tests."""
        return {k: v for k, v in self.outcomes.items() if v not in ("passed", "skipped")}


def run_suite(suite: Suite) -> list[SuiteRun]:
    """Run the tests with the original packages, then with each API, and compare."""
    original = _run(suite, ORIGINAL)
    original.known = dict.fromkeys(original.failed(), "fails with the original package")
    runs = [original]
    if not original.count("passed"):
        original.unexpected.append(f"{suite.project}: no test passed with the original package")
    for api in suite.apis:
        run = _run(suite, api)
        _judge(run, original)
        runs.append(run)
    return runs


def _judge(run: SuiteRun, original: SuiteRun) -> None:
    """Give each failing test its reason; what has none is unexpected."""
    name = f"{run.suite.project} with {run.api}"
    expected = EXPECTED_FAILURES.get((run.suite.project, run.api), {})
    not_passed = {test for test, found in original.outcomes.items() if found != "passed"}
    used = set()
    for test, message in run.failed().items():
        pattern = next((p for p in expected if fnmatchcase(test, p)), None)
        if pattern is not None:
            used.add(pattern)
            run.known[test] = expected[pattern]
        elif test in not_passed:
            run.known[test] = "fails with the original package too"
        else:
            run.unexpected.append(f"{name}: {test}: {message}")
    missing = original.outcomes.keys() - run.outcomes.keys()
    run.unexpected += [f"{name}: {test} was not run" for test in sorted(missing)]
    stale = expected.keys() - used
    run.unexpected += [f"{name}: {test} passes; remove its entry" for test in sorted(stale)]


def _run(suite: Suite, api: str) -> SuiteRun:
    """Run the tests of a suite in a process of their own, away from the project's sources."""
    source = source_of(suite.project)
    folder = fresh_folder(f"runs/{suite.project}-{api}")
    shutil.copytree(source / "tests", folder / "tests")
    for path, file in suite.data:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / file, folder / path)
    (folder / "pytest.ini").write_text("\n".join(["[pytest]", *suite.options, ""]))
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["--continue-on-collection-errors", f"--junitxml={report}", *suite.tests]
    if api != ORIGINAL:
        command.append("--runxfail")  # what the original cannot do, some of it by crashing
    paths = [str(REPLACEMENTS / name) for name in (*APIS[api], *suite.stand_ins)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    _check_replaced(api, folder, environment)
    run = SuiteRun(suite, api)
    with (folder / "output.txt").open("w") as output:
        try:
            code = subprocess.run(
                command, cwd=folder, env=environment, stdout=output, stderr=output, timeout=TIMEOUT
            ).returncode
        except subprocess.TimeoutExpired:
            code = -1
    if report.is_file():
        run.outcomes = _read_report(report)
    if code not in (0, 1, -signal.SIGALRM) or not run.outcomes:  # underthesea leaves an alarm
        run.unexpected.append(
            f"{suite.project} with {api}: pytest ended with code {code}; see {output.name}"
        )
    return run


def _check_replaced(api: str, folder: Path, environment: dict[str, str]) -> None:
    """Raise unless the tests import what they are meant to be run with."""
    for package in ("pycrfsuite", "sklearn_crfsuite"):
        code = f"import {package}; print({package}.__name__)"
        name = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        if name != (api if package in APIS[api] else package):
            raise RuntimeError(f"{package} is {name} in the tests with {api}")


def _read_report(report: Path) -> dict[str, str]:
    """The outcomes of tests in a report in JUnit's format."""
    outcomes: dict[str, str] = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        parts = (case.get("classname"), case.get("name"))
        test = "::".join(part for part in parts if part)
        outcome = "passed"
        for child in case:
            if child.tag == "skipped" and outcome == "passed":
                outcome = "skipped"
            elif child.tag in ("failure", "error"):
                lines = (child.get("message") or child.text or child.tag).strip().splitlines()
                outcome = f"failed: {lines[0] if lines else child.tag}"
        if outcomes.get(test, "passed") == "passed":  # a test may fail in its tear-down as well
            outcomes[test] = outcome
    return outcomes
