"""Ctrl-C: a model file is replaced only after a finished pass, and the exit code is 130."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import adaptag
from adaptag.training.progress import TrainingProgress

TRAIN = "the D\ncat N\n\na D\ndog N\nsat V\n\n" * 5
FILES = {"train": TRAIN, "segment": "天 天\n中国 人\n" * 5, "classify": "x\ta b\ny\tc d\n" * 5}
COMMANDS = {
    "train": ("train", "f"), "segment": ("segment", "train", "f"),
    "classify": ("classify", "train", "f"),
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("_ctrl_c")


def interrupt(*_, **__):
    os.kill(os.getpid(), signal.SIGINT)


def at_start(monkeypatch):
    monkeypatch.setattr(TrainingProgress, "on_start", interrupt)


def in_pass(monkeypatch, number):
    real = TrainingProgress.on_pass

    def on_pass(self, history):
        if len(history) == number:
            interrupt()
        return real(self, history)

    monkeypatch.setattr(TrainingProgress, "on_pass", on_pass)


@pytest.mark.parametrize("algorithm", ["adf", "lbfgs"])
@pytest.mark.parametrize("task", COMMANDS)
def test_before_the_first_finished_pass_the_model_stays(task, algorithm, program, monkeypatch):
    Path("f").write_text(FILES[task])
    assert program(*COMMANDS[task], "-m", "m", "--passes", 2).code == 0
    good = Path("m").read_bytes()
    monkeypatch.setattr("adaptag.training.orders.SLICE_TOKENS", 1)
    at_start(monkeypatch)
    done = program(*COMMANDS[task], "-m", "m", "-a", algorithm, "--seed", 5)
    assert done.code == 130
    assert "interrupted before the first pass was finished: m is unchanged" in done.err
    assert Path("m").read_bytes() == good
    done = program(*COMMANDS[task], "-m", "new", "-a", algorithm)
    assert done.code == 130
    assert "no model was saved" in done.err
    assert sorted(path.name for path in Path().iterdir()) == ["f", "m"]


@pytest.mark.parametrize("algorithm", ["adf", "lbfgs"])
@pytest.mark.parametrize("task", COMMANDS)
def test_after_a_finished_pass_the_model_reached_is_saved(task, algorithm, program, monkeypatch):
    Path("f").write_text(FILES[task])
    in_pass(monkeypatch, 2)
    done = program(*COMMANDS[task], "-m", "m", "-a", algorithm, "--passes", 50, "--log", "log")
    assert done.code == 130
    assert "interrupted: the model after 2 finished passes is saved in m" in done.err
    assert '"event": "end"' in Path("log").read_text()
    if task == "train":
        model = adaptag.Model.load("m")
        assert model.provenance["stopped"] == "interrupt"
        expected = adaptag.train("f", algorithm=algorithm, passes=2)
        assert model.weights.tobytes() == expected.weights.tobytes()


def test_an_interrupt_after_the_last_pass_loses_nothing(program, monkeypatch):
    Path("f").write_text(TRAIN)
    real = adaptag.Model.save

    def save(self, path):
        interrupt()
        real(self, path)

    monkeypatch.setattr(adaptag.Model, "save", save)
    done = program("train", "f", "-m", "m", "--passes", 2)
    assert done.code == 130
    assert "is saved in m" in done.err
    expected = adaptag.train("f", passes=2)
    assert adaptag.Model.load("m").weights.tobytes() == expected.weights.tobytes()


def test_while_reading_nothing_is_written(program, monkeypatch):
    Path("f").write_text(TRAIN)
    monkeypatch.setattr("adaptag.api.encode", interrupt)
    done = program("train", "f", "-m", "m")
    assert done.code == 130
    assert "interrupted: files that were not finished are unchanged" in done.err
    assert not Path("m").exists()
