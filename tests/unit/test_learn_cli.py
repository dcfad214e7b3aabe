"""``adaptag learn`` and ``adaptag train --stream``."""

from __future__ import annotations

import itertools
import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest

import adaptag
from adaptag.corpus.columns import ColumnCorpus
from tests.unit.test_streams import LABELS, sentences


def columns(n, seed=1, labels=LABELS):
    """Labelled sentences as the text of a column file."""
    return "\n\n".join(
        "\n".join(f"{token} {label}" for token, label in zip(*pair, strict=True))
        for pair in sentences(n, seed, labels)
    )


@pytest.fixture
def cli(program):
    """Run the program in a folder with some files."""
    Path("train.txt").write_text(columns(60) + "\n\n")
    Path("more.txt").write_text(columns(40, seed=2) + "\n\n")
    return program


def test_train_from_a_stream(cli):
    done = cli("train", "train.txt", "--stream", "-m", "m")
    assert (done.code, done.out) == (0, "")
    assert "m: 60 sentences, " in done.err
    model = adaptag.Model.load("m")
    assert model.provenance["sentences"] == 60
    assert model.state


def test_standard_input_is_the_same_stream(cli):
    cli("train", "train.txt", "--stream", "-m", "a")
    assert cli("train", "-", "--stream", "-m", "b", stdin=Path("train.txt").read_bytes()).code == 0
    a, b = (adaptag.Model.load(name) for name in "ab")
    assert (a.weights == b.weights).all()


def test_learn_goes_on(cli):
    whole = Path("train.txt").read_text() + Path("more.txt").read_text()
    Path("whole.txt").write_text(whole)
    cli("train", "whole.txt", "--stream", "-m", "whole")
    cli("train", "train.txt", "--stream", "-m", "m")
    done = cli("learn", "m", "--stream", "more.txt")
    assert done.code == 0
    assert "m: 40 sentences, " in done.err
    model, expected = adaptag.Model.load("m"), adaptag.Model.load("whole")
    assert (model.weights == expected.weights).all()
    assert model.provenance["sentences"] == 100
    assert "start" not in model.provenance or model.provenance["start"] is None


def test_learn_from_a_trained_model_into_another_file(cli):
    cli("train", "train.txt", "-m", "m")
    before = Path("m").read_bytes()
    done = cli("learn", "m", "--stream", "-", "-o", "n", stdin=Path("more.txt").read_bytes())
    assert done.code == 0
    assert Path("m").read_bytes() == before
    assert adaptag.Model.load("n").provenance["start"]["algorithm"] == "adf"


def test_snapshots(cli, monkeypatch):
    monkeypatch.setattr("adaptag.cli.learn.PART", 200)
    done = cli("train", "train.txt", "--stream", "-m", "m", "--every", 10, "--log", "log")
    events = [json.loads(line) for line in Path("log").read_text().splitlines()]
    assert done.code == 0
    assert len(events) == done.err.count("saved") >= 4
    counts = [event["sentences"] for event in events]
    assert counts == sorted(counts)
    assert counts[-1] == 60
    assert all(b - a >= 10 for a, b in itertools.pairwise(counts[:-1]))
    assert events[-1]["recent"] >= events[0]["recent"]


def test_limits(cli):
    cli("train", "train.txt", "--stream", "-m", "m", "--max-features", 30)
    assert adaptag.Model.load("m").index.n_predicates == 30
    cli("train", "train.txt", "--stream", "-m", "m", "--hash-bits", 6)
    assert adaptag.Model.load("m").index.n_of_kind[0] == 64
    cli("train", "train.txt", "-m", "m", "--hash-bits", 7)
    assert adaptag.Model.load("m").index.n_of_kind[0] == 128


def test_ctrl_c_keeps_what_was_learned(cli, monkeypatch):
    read = ColumnCorpus.read_parts

    def interrupted(*given, **named):
        yield from read(*given, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(ColumnCorpus, "read_parts", interrupted)
    done = cli("train", "train.txt", "--stream", "-m", "m")
    assert done.code == 130
    assert "interrupted: what was learned so far is saved in m" in done.err
    assert adaptag.Model.load("m").provenance["sentences"] == 60


def test_a_bad_line_names_its_place_and_keeps_what_was_learned(cli, monkeypatch):
    monkeypatch.setattr("adaptag.cli.learn.PART", 200)
    text = Path("train.txt").read_text()
    Path("bad.txt").write_text(text + "one two three\n\n")
    line = text.count("\n") + 1
    done = cli("train", "bad.txt", "--stream", "-m", "m", "--every", 10)
    assert done.code == 2
    assert f"bad.txt:{line}: 3 columns; line 1 has 2" in done.err
    assert adaptag.Model.load("m").provenance["sentences"] >= 40


def test_follow_waits_for_more(tmp_path, monkeypatch):
    monkeypatch.setattr("adaptag.corpus.columns.WAIT", 0.01)
    path = tmp_path / "growing.txt"
    path.write_text(columns(3) + "\n\n")
    parts = ColumnCorpus.read_parts(path, follow=True)
    assert len(next(parts)) == 3

    def write():
        with path.open("a") as file:
            file.write("Q1 QTY\n")
            file.flush()
            os.fsync(file.fileno())
            file.write("U1 UNIT\n\n")

    threading.Timer(0.05, write).start()
    assert next(parts).n_tokens == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stream", "--passes", 3], "--passes cannot be combined with --stream"),
        (["--stream", "--dev", "more.txt"], "--dev cannot be combined with --stream"),
        (["--stream", "--cutoff", 2], "--cutoff cannot be combined with --stream"),
        (["--max-features", 3], "--max-features needs --stream"),
        (["--follow"], "--follow needs --stream"),
        (["--every", 3], "--every needs --checkpoint, or --stream"),
        (["--stream", "--every", "5m"], "allowed with --stream: a number of sentences"),
        (["--stream", "-a", "lbfgs"], "lbfgs needs all data at once"),
        (["--stream", "--format", "attributes"], "a stream of attributes cannot be read"),
        (["--hash-bits", 5, "--cutoff", 2], "hashed features are not counted"),
        (
            ["--stream", "--hash-bits", 5, "--max-features", 3],
            "max_features cannot be combined with hashed features",
        ),
    ],
)
def test_options_that_do_not_go_together(cli, arguments, message):
    done = cli("train", "train.txt", "-m", "m", *arguments)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert not Path("m").exists()


def test_an_empty_stream(cli):
    Path("m").write_bytes(b"")
    done = cli("train", "-", "--stream", "-m", "n")
    assert done.code == 2
    assert "no sentence found" in done.err
    done = cli("learn", "m", "--stream", "train.txt")
    assert (done.code, "not an adaptag model" in done.err) == (2, True)


def test_features_of_a_hashed_model_have_numbers(cli):
    cli("train", "train.txt", "-m", "m", "--hash-bits", 6)
    done = cli("inspect", "m")
    assert done.code == 0
    assert "#" in done.out


def test_labels_are_added(cli):
    cli("train", "train.txt", "--stream", "-m", "m")
    Path("more.txt").write_text(columns(50, 3, [*LABELS, "ZED"]))
    cli("learn", "m", "--stream", "more.txt")
    model = adaptag.Model.load("m")
    assert model.labels[-1] == "ZED"
    assert model.tag(["Z9"]) == ["ZED"]
    assert np.isfinite(model.weights).all()
