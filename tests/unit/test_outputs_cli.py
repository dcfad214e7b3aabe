"""Outputs never overwrite inputs, and what is not finite is never saved."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

import adaptag
from adaptag.errors import DivergenceError, ModelError

TRAIN = "the D\ncat N\n\na D\ndog N\nsat V\n\n" * 5
WORDS = "天 天\n中国 人\n" * 5
DOCUMENTS = "good\tnice film\nbad\tdull film\n" * 5


@pytest.fixture
def folder(tmp_path, program, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("x", TRAIN), ("d", TRAIN), ("w", WORDS), ("c", DOCUMENTS),
                       ("t", "U:%x[0,0]\nB\n")):  # fmt: skip
        (tmp_path / name).write_text(text)
    for command in (("train", "x"), ("segment", "train", "w"), ("classify", "train", "c")):
        model = f"m-{command[-1]}"
        assert program(*command, "-m", model, "--passes", 2).code == 0
    return tmp_path


def state(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.mark.parametrize(
    "command",
    [
        "train x -m x",
        "train x -m ./x",
        "train x --dev d -m d",
        "train x --template t -m t",
        "train x -m new --checkpoint new",
        "train x -m new --checkpoint x",
        "train x -m new --log x",
        "train x -m new --log new",
        "train x --stream -m x",
        "learn m-x --stream x -o x",
        "encode x -o x",
        "encode x --template t -o t",
        "tag x -m m-x -o m-x",
        "tag x -m m-x -o x",
        "segment train w -m w",
        "segment train w --dev w -m w",
        "segment cut w -m m-w -o w",
        "segment cut w -m m-w -o m-w",
        "segment new-words w -m m-w -o w",
        "segment new-words w -m m-w --segmented m-w",
        "classify train c -m c",
        "classify predict c -m m-c -o c",
        "classify predict c -m m-c -o m-c",
    ],
)
def test_an_output_that_is_an_input_is_refused_before_anything_is_read(folder, program, command):
    before = state(folder)
    done = program(*command.split())
    assert done.code == 2
    assert "are the same file; choose another file for" in done.err
    assert state(folder) == before


@pytest.mark.usefixtures("folder")
def test_a_link_to_an_input_is_the_input(program):
    Path("link").symlink_to("x")
    assert program("train", "x", "-m", "link").code == 2
    assert Path("x").read_text() == TRAIN


@pytest.mark.usefixtures("folder")
def test_training_in_place_is_meant(program):
    assert program("train", "x", "--from", "m-x", "-m", "m-x", "--passes", 1).code == 0
    assert program("train", "x", "-m", "n", "--checkpoint", "s", "--passes", 1).code == 0
    again = ("train", "x", "-m", "n", "--resume", "s", "--checkpoint", "s", "--passes", 1)
    assert program(*again).code == 0
    assert program("learn", "m-x", "--stream", "x").code == 0


# ---- divergence -------------------------------------------------------------------------------


ATTRIBUTES = "A\ta:1e20\tb:-1e20\nB\tb:1e20\n\nB\ta:-1e20\tc:1e20\n\n"


@pytest.mark.parametrize(
    "options",
    [("--rate", "1e38", "--sigma", "inf"), ("-a", "sgd", "--rate", "1e38", "--sigma", "inf")],
)
def test_training_that_diverges_in_the_first_pass_saves_nothing(folder, program, options):
    before = state(folder)
    done = program("train", "x", "-m", "m-x", *options)
    assert done.code == 3
    assert "training diverged" in done.err
    assert "lower the learning rate (rate is 1e+38)" in done.err
    assert state(folder) == before


@pytest.mark.parametrize("algorithm", sorted(adaptag.algorithms()))
def test_values_too_large_to_compute_with_give_a_finite_model_or_none(program, algorithm):
    Path("a").write_text(ATTRIBUTES)
    done = program("train", "a", "--format", "attributes", "-m", "n", "-a", algorithm)
    assert done.code in (0, 3)
    if done.code == 0 or Path("n").exists():
        assert np.isfinite(adaptag.Model.load("n").weights).all()
    if done.code == 3:
        assert "training diverged" in done.err


def test_a_model_that_is_not_finite_cannot_be_saved(tmp_path):
    model = adaptag.train([["a"]], [["X"]], passes=1)
    for value in (np.nan, np.inf):
        weights = model.weights.copy()
        weights[-1] = value
        damaged = adaptag.Model(model.labels, model.index, weights)
        with pytest.raises(ModelError, match="not finite"):
            damaged.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_stream_that_diverges_gives_no_model():
    trainer = adaptag.StreamTrainer(algorithm="perceptron")

    def learn():
        for _ in range(30):
            trainer.learn([[{"a": 1e20, "b": 1e20}, {"a": -1e20}]], [["X", "Y"]])
            trainer.learn([[{"a": 1e20, "b": -1e20}, {"b": 1e20}]], [["Y", "X"]])
        trainer.model()

    with pytest.raises(DivergenceError, match="perceptron: training diverged"):
        learn()


def test_estimators_tell_divergence_too():
    with pytest.raises(DivergenceError, match="adf: training diverged"):
        adaptag.CRF(rate=1e38, sigma=float("inf"), passes=20).fit(
            [[{"a": 5.0}, {"b": 5.0}]] * 5, [["X", "Y"], ["Y", "X"]] * 2 + [["X", "X"]]
        )
