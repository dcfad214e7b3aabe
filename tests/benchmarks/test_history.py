"""The history of benchmark runs, and the comparison that `make bench-check` makes."""

from __future__ import annotations

from dataclasses import replace

import history
import pytest
from history import Figure, Run, accepted, compare
from suite import AGAIN, Context, Measurement, Session, Skipped

FASTER = Figure("task/speed", 200.0, "tokens/s", "higher", "peer", 100.0)  # twice the peer's
SHORTER = Figure("task/time", 2.0, "s", "lower", "peer", 10.0)  # a fifth of the peer's


def run(figures, **fields):
    fixed = {
        "date": "2026-01-01",
        "commit": "abc",
        "command": "c",
        "core": "generic",
        "machine": {},
    }
    return Run(**fixed | fields, figures=figures)


def test_ratio_says_how_many_times_better():
    assert FASTER.ratio == 2
    assert SHORTER.ratio == 5
    assert Figure("task/size", 1.0, "MB", "lower").ratio is None


def test_ratios_are_compared_not_times():
    slower_machine = replace(SHORTER, value=4.0, peer_value=20.0)
    found = compare(slower_machine, SHORTER)
    assert found.compared == "ratio"
    assert found.change == pytest.approx(0)
    assert not found.regressed


@pytest.mark.parametrize(
    ("figure", "factor", "regressed"),
    [
        (SHORTER, 1.10, False),
        (SHORTER, 1.12, True),
        (SHORTER, 0.5, False),
        (FASTER, 0.91, False),
        (FASTER, 0.89, True),
        (FASTER, 2.0, False),
        (Figure("task/size", 100.0, "MB", "lower"), 1.10, False),
        (Figure("task/size", 100.0, "MB", "lower"), 1.11, True),
        (Figure("task/size", 100.0, "MB", "lower"), 0.5, False),
        (Figure("task/share", 100.0, "times", "higher"), 0.89, True),
    ],
)
def test_more_than_a_tenth_worse_is_a_regression(figure, factor, regressed):
    assert compare(replace(figure, value=figure.value * factor), figure).regressed is regressed


@pytest.mark.parametrize(("f", "regressed"), [(93.9, False), (93.7, False), (93.6, True)])
def test_scores_are_compared_in_points(f, regressed):
    before = Figure("task/F", 93.8, "F", "higher")
    assert compare(replace(before, value=f), before).regressed is regressed


@pytest.mark.parametrize("unit", ["s", "ms", "tokens/s", "ns/token"])
def test_times_without_a_peer_are_not_compared(unit):
    before = Figure("task/alone", 1.0, unit, "lower")
    assert compare(replace(before, value=9.0), before) is None


def test_another_peer_or_no_direction_is_not_compared():
    assert compare(replace(SHORTER, peer="another"), SHORTER) is None
    assert compare(replace(SHORTER, better=""), replace(SHORTER, better="")) is None


def test_description_names_what_regressed_and_by_how_much():
    found = compare(replace(SHORTER, value=4.0), SHORTER)
    assert found.described() == ["task/time", "5 × peer", "2.5 × peer", "-50.0 %", "REGRESSED"]


def test_newest_accepted_figure_counts():
    old = run([SHORTER, FASTER], accepted=True)
    new = run([replace(SHORTER, value=1.0)], accepted=True)
    refused = run([replace(SHORTER, value=3.0)])
    found = accepted([old, new, refused])
    assert found["task/time"].value == 1.0
    assert found["task/speed"] == FASTER


def test_history_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "history.json"
    assert history.read(path) == []
    runs = [run([SHORTER, Figure("task/F", 93.8, "F", "higher")], accepted=True), run([FASTER])]
    history.write(runs, path)
    assert history.read(path) == runs
    assert path.read_text(encoding="utf-8").count("\n  {") == 3  # a figure a line


@pytest.fixture
def session(tmp_path):
    return Session(Context(tmp_path, repeats=1))


def measured(*values):
    """A measurement that finds these times, one after the other."""
    remaining = list(values)

    def measure(_context):
        yield replace(SHORTER, value=remaining.pop(0))

    return Measurement("task/time", "quick", measure), remaining


def test_regression_is_measured_again_until_it_is_gone(session):
    one, remaining = measured(4.0, 2.05, 9.0)
    session.measure(one)
    session.confirm({SHORTER.name: SHORTER})
    assert remaining == [9.0]  # the third was not needed
    assert not any(c.regressed for c in session.compare({SHORTER.name: SHORTER}))


def test_regression_that_remains_is_reported(session):
    one, remaining = measured(4.0, 3.0, 5.0, 2.0)
    session.measure(one)
    session.confirm({SHORTER.name: SHORTER})
    assert len(remaining) == 3 - AGAIN
    (found,) = session.compare({SHORTER.name: SHORTER})
    assert found.regressed
    assert found.figure.value == 3.0  # the best of all


def test_what_cannot_be_measured_is_skipped_and_failures_are_kept(session, capsys):
    def skipped(_context):
        yield SHORTER
        raise Skipped("no data")

    def fails(_context):
        yield FASTER
        raise RuntimeError("exit status 1")

    session.measure(Measurement("a", "quick", skipped))
    session.measure(Measurement("b", "quick", fails))
    assert "skipped: no data" in capsys.readouterr().out
    assert session.failed == ["b"]
    assert set(session.figures) == {SHORTER.name, FASTER.name}


def test_turns_take_the_least_of_each_number(tmp_path):
    times = {"a": iter([3.0, 1.0, 2.0]), "b": iter([5.0, 6.0, 4.0])}
    order = []

    def take(name):
        order.append(name)
        return {"s": next(times[name])}

    context = Context(tmp_path, repeats=3)
    found = context.turns({name: lambda name=name: take(name) for name in times})
    assert found == {"a": {"s": 1.0}, "b": {"s": 4.0}}
    assert order == ["a", "b"] * 3
