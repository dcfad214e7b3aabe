"""How the outcomes of other projects' tests are judged."""

from __future__ import annotations

from random import Random

import pytest

from compat import suites
from compat.damaged import damage
from compat.suites import Suite, SuiteRun

REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_a" name="test_1"/>
<testcase classname="tests.test_a" name="test_2[x]">
<failure message="assert 1 == 2&#10;more"/></testcase>
<testcase classname="tests.test_a" name="test_3"><skipped type="pytest.xfail"/></testcase>
<testcase classname="" name="tests.test_b"><error message="collection failure"/></testcase>
<testcase classname="tests.test_a" name="test_4"/>
<testcase classname="tests.test_a" name="test_4"><error message="in the tear-down"/></testcase>
</testsuite></testsuites>"""


def test_a_report_is_read(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    run = SuiteRun(Suite("project"), "adaptag", suites._read_report(report))
    assert run.outcomes == {
        "tests.test_a::test_1": "passed",
        "tests.test_a::test_2[x]": "failed: assert 1 == 2",
        "tests.test_a::test_3": "skipped",
        "tests.test_b": "failed: collection failure",
        "tests.test_a::test_4": "failed: in the tear-down",
    }
    assert [run.count(outcome) for outcome in ("passed", "skipped", "failed")] == [1, 1, 3]


@pytest.mark.parametrize(
    ("theirs", "ours", "known", "unexpected"),
    [
        ("passed", "passed", [], []),
        ("passed", "failed: x", [], ["project with adaptag: a: failed: x"]),
        ("failed: x", "failed: x", ["fails with the original package too"], []),
        ("skipped", "failed: x", ["fails with the original package too"], []),
        ("passed", None, [], ["project with adaptag: a was not run"]),
    ],
)
def test_what_fails_only_here_is_unexpected(theirs, ours, known, unexpected):
    run = SuiteRun(Suite("project"), "adaptag", {"a": ours} if ours else {})
    suites._judge(run, SuiteRun(run.suite, "original", {"a": theirs}))
    assert list(run.known.values()) == known
    assert run.unexpected == unexpected


def test_expected_failures_have_a_reason_and_must_fail(monkeypatch):
    expected = {"a[[]*]": "because", "b": "once"}
    monkeypatch.setattr(suites, "EXPECTED_FAILURES", {("project", "adaptag"): expected})
    run = SuiteRun(Suite("project"), "adaptag", {"a[1]": "failed: x", "b": "passed"})
    suites._judge(run, SuiteRun(run.suite, "original", {"a[1]": "passed", "b": "passed"}))
    assert run.known == {"a[1]": "because"}
    assert run.unexpected == ["project with adaptag: b passes; remove its entry"]


def test_copies_are_damaged():
    data = bytes(range(256)) * 8
    copies = [damage(data, Random(number)) for number in range(200)]
    assert copies == [damage(data, Random(number)) for number in range(200)]
    assert sum(copy != data for copy in copies) > 190
    assert {len(copy) < len(data) for copy in copies} == {True, False}
