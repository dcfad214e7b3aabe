"""Full disks, read-only and vanishing folders, targets that are inputs, closed streams."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import adaptag
from adaptag.training.checkpoint import Checkpoint
from tests.faults.commands import PROGRAM, Ground, training

CASE = training("train", "train.txt", "adf", passes=5)
FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    return Ground(tmp_path_factory.mktemp("disks"), 100)


@pytest.fixture(autouse=True)
def _clear(ground):
    ground.clear()


@contextmanager
def mounted(folder, options):
    """A small filesystem of its own, where the system allows that."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting is not allowed")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def train_words(**places):
    return (
        "train", "train.txt", "--passes", "5", "--every", "1",
        *(word for name, place in places.items() for word in (f"--{name}", str(place))),
    )  # fmt: skip


def check_model(ground, path="model"):
    expected = adaptag.train(ground.folder / "train.txt", passes=5)
    assert (ground.folder / path).read_bytes() == expected.to_bytes()


@needs_full
@pytest.mark.parametrize("what", ["checkpoint", "log"])
def test_a_full_disk_elsewhere_does_not_lose_the_training(what, ground):
    places = {"model": "model", "checkpoint": "state", what: FULL}
    code, messages = ground.run(*train_words(**places))
    assert code == 0, messages
    text = "no checkpoint was saved" if what == "checkpoint" else "the log ends here"
    assert f"note: {text}" in messages or text in messages
    assert "No space left on device" in messages
    check_model(ground)


def test_a_disk_that_fills_up_under_the_checkpoint(ground):
    with mounted(ground.folder / "small", "size=16k") as small:
        code, messages = ground.run(*train_words(model="model", checkpoint="small/state"))
        assert code == 0, messages
        assert "no checkpoint was saved: small/state: cannot write: No space left" in messages
        check_model(ground)
        assert not list(small.iterdir())


def test_a_disk_that_fills_up_under_the_model(ground):
    with mounted(ground.folder / "small", "size=16k") as small:
        words = train_words(model="small/model", checkpoint="state", resume="state")
        code, messages = ground.run(*words)
        assert code == 2
        assert "small/model: cannot write: No space left on device" in messages
        assert "the training is saved in state" in messages
        assert not list(small.iterdir())
    code, messages = ground.run(*train_words(model="model", checkpoint="state", resume="state"))
    assert code == 0
    assert "training had ended" in messages
    check_model(ground)


@pytest.mark.parametrize("option", ["model", "checkpoint", "log"])
def test_a_folder_that_is_read_only_is_noticed_before_training(option, ground):
    with mounted(ground.folder / "small", "size=1m,ro"):
        places = {"model": "model", option: f"small/{option}"}
        places.setdefault("checkpoint", "state")
        code, messages = ground.run(*train_words(**places))
    assert code == 2
    assert f"small/{option}: cannot write: Read-only file system" in messages
    assert "pass" not in messages


@pytest.mark.parametrize("option", ["model", "checkpoint", "log"])
def test_a_name_that_is_too_long_is_noticed_before_training(option, ground):
    places = {"model": "model", "checkpoint": "state", option: "x" * 300}
    code, messages = ground.run(*train_words(**places))
    assert code == 2
    assert "cannot write: File name too long" in messages
    assert "pass" not in messages


def test_the_longest_name_is_written(ground):
    code, messages = ground.run(*train_words(model="x" * 255, checkpoint="é" * 127))
    assert code == 0, messages
    check_model(ground, "x" * 255)
    assert Checkpoint.load(ground.folder / ("é" * 127))


def test_a_folder_that_vanishes_while_training(ground):
    gone = ground.folder / "gone"
    gone.mkdir()
    words = ("train", "train.txt", "--passes", "400", "--every", "1")
    words += ("--model", "model", "--checkpoint", "gone/state")
    with ground.start(*words) as process:
        until = time.monotonic() + 60
        while not (gone / "state").exists() and time.monotonic() < until:
            time.sleep(0.01)
        while gone.exists():  # a checkpoint may be written just now
            shutil.rmtree(gone, ignore_errors=True)
        _, messages = process.communicate(timeout=120)
    assert process.returncode == 0, messages
    assert b"no checkpoint was saved: gone/state: cannot write: No such file" in messages
    assert len(adaptag.Model.load(ground.folder / "model").provenance["passes"]) == 400


@pytest.mark.parametrize("option", ["model", "checkpoint", "log"])
def test_a_target_that_is_the_input_is_refused(option, ground):
    before = (ground.folder / "train.txt").read_bytes()
    places = {"model": "model", "checkpoint": "state", option: "train.txt"}
    code, messages = ground.run(*train_words(**places))
    assert code == 2
    assert f"--{option} and TRAIN are the same file" in messages
    assert (ground.folder / "train.txt").read_bytes() == before


# ---- standard streams ---------------------------------------------------------------------------


def in_shell(ground, redirection, *words):
    """Run a command with redirections of a shell."""
    command = f'exec "$@" {redirection}'
    return subprocess.run(
        ["sh", "-c", command, "sh", *PROGRAM, *words],
        cwd=ground.folder,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_training_needs_no_standard_streams(closed, ground):
    done = in_shell(ground, closed, *train_words(model="model", checkpoint="state"))
    assert done.returncode == 0, done.stderr
    check_model(ground)


@needs_full
def test_messages_that_cannot_be_written_are_lost(ground):
    done = in_shell(ground, "2>/dev/full", *train_words(model="model", checkpoint="state"))
    assert done.returncode == 0
    check_model(ground)


@pytest.mark.parametrize(
    ("redirection", "message"),
    [
        pytest.param(">/dev/full", "standard output: No space left", marks=needs_full),
        (">&-", "standard output: Bad file descriptor"),
    ],
)
@pytest.mark.parametrize("words", [("tag", "train.txt", "-m", "base"), ("algorithms",)])
def test_output_that_cannot_be_written_is_an_error(words, redirection, message, ground):
    done = in_shell(ground, redirection, *words)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_a_closed_standard_input_cannot_be_read(ground):
    done = in_shell(ground, "<&-", "tag", "-", "-m", "base")
    assert done.returncode == 2
    assert "-: cannot read: Bad file descriptor" in done.stderr.decode()


def test_output_that_nobody_reads_ends_the_command(ground):
    with ground.start("tag", "train.txt", "-m", "base") as process:
        process.stdout.close()
        messages = process.stderr.read().decode()
    assert process.returncode in (0, 1)
    assert "Traceback" not in messages
    assert os.name == "posix"
