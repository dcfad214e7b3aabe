"""SIGKILL at random moments: what was saved is intact, and the same command ends with its bits.

``make faults`` does the same with all commands, many times.
"""

from __future__ import annotations

import random

import pytest

from tests.faults.commands import Ground, cases, kill_until_finished
from tests.faults.long import measure

SHORT = (
    "train averaged-perceptron",
    "train adf --threads 2",
    "train lbfgs --dev dev.txt --patience 99",
    "segment train pa",
    "classify train lbfgs",
    "tune lbfgs, two processes",
    "compare adf,sgd,lbfgs",
    "learn",
)
CASES = {case.name: case for case in cases()}


@pytest.mark.parametrize("name", SHORT)
def test_a_killed_command_can_be_repeated(name, tmp_path):
    ground, rng = Ground(tmp_path, 100), random.Random(name)
    expected, seconds = measure(ground, CASES[name])
    counts = kill_until_finished(ground, CASES[name], rng, 2, expected, seconds)
    assert counts.kills == 2
