"""SIGINT and SIGTERM at random moments, reading and encoding included."""

from __future__ import annotations

import random
import re
import signal

import pytest

import adaptag
from tests.faults.commands import Ground, training

pytestmark = pytest.mark.usefixtures("_ctrl_c")

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
LONG = 100_000  # passes that nobody waits for
CASES = [
    training("train", "train.txt", "adf", "--sigma", "inf", passes=LONG),
    training("train", "train.txt", "lbfgs", "--tolerance", "0", passes=LONG),
    training("segment train", "spaced.txt", "sgd", passes=LONG),
    training("classify train", "documents.txt", "adf", passes=LONG),
]


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    return Ground(tmp_path_factory.mktemp("signals"), 100)


@pytest.mark.parametrize("number", CODES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.split(" --")[0])
def test_a_signal_saves_what_was_reached(case, number, ground):
    ground.clear()
    base = (ground.folder / "base").read_bytes()
    (ground.folder / "model").write_bytes(base)
    rng = random.Random(f"{case.name} {number}")
    passes = 0
    for after in sorted(rng.uniform(0.3, 2.5) for _ in range(3)):
        code, messages = ground.signalled(case.words, number, after)
        if code == -number or ("in start" not in messages and "import" in messages):
            continue  # the interpreter was still starting
        if code == 0:  # it has converged
            break
        assert code == CODES[number], messages
        assert "Traceback" not in messages
        ground.check_files(case, base)
        saved = re.search(r"the model after ([\d,]+) finished pass(?:es)? is saved", messages)
        if saved:
            reached = int(saved[1].replace(",", ""))
            assert reached >= passes  # it went on from the checkpoint
            passes = reached
            assert adaptag.load(ground.folder / "model")
        elif not passes:
            assert "interrupted" in messages or number == signal.SIGINT  # typer says nothing
            assert (ground.folder / "model").read_bytes() == base
    assert not ground.temporary_files()


@pytest.mark.parametrize("number", CODES, ids=str)
def test_a_stream_is_saved_a_last_time(number, ground):
    ground.clear()
    words = ("learn", "base", "--stream", "train.txt", "-o", "model", "--follow")
    code, messages = ground.signalled(words, number, 3.0)
    assert code == CODES[number], messages
    assert "interrupted: what was learned so far is saved in model" in messages
    learned = adaptag.Model.load(ground.folder / "model").provenance["sentences"]
    assert learned >= 99  # the last one may go on
    assert not ground.temporary_files()


@pytest.mark.parametrize("number", CODES, ids=str)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_search_continues_after_a_signal(number, jobs, ground):
    ground.clear()
    space = ("--rate", "0.05,0.2", "--sigma", "2,5", "--folds", "2", "--passes", "400", "--full")
    words = ("tune", "train.txt", *space, "--jobs", jobs, "--checkpoint", "state")
    code, messages = ground.signalled(words, number, 2.5)
    if code in (0, -number):
        pytest.skip("too fast or too slow a machine")
    assert code == CODES[number], messages
    assert "finished jobs are in state" in messages or "files that were not" in messages


def test_a_signal_while_another_command_works(ground):
    ground.clear()
    code, messages = ground.signalled(
        ("compact", "base", "-o", "model", "--prune", "0.01"), signal.SIGTERM, 0.35
    )
    assert code in (0, 143, -signal.SIGTERM), messages
    assert "Traceback" not in messages
    assert not ground.temporary_files()
