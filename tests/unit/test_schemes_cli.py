"""Label schemes on the command line: training with another one, and converting files."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

import adaptag

SENTENCE = "in O\nNew B-LOC\nYork I-LOC\nRome B-LOC\n\n"
TRAIN = SENTENCE + "Rome B-LOC\nand O\nthe O\nUnited B-ORG\nNations I-ORG\n\n"
BIOES = TRAIN.replace("York I", "York E").replace("Rome B", "Rome S").replace("s I", "s E")


@pytest.fixture
def cli(program):
    Path("train.txt").write_text(TRAIN * 5)
    return program


def tagged(cli, model):
    words = "".join(f"{line.split(' ')[0]}\n" for line in SENTENCE.splitlines())
    done = cli("tag", "-", "-m", model, stdin=words.encode())
    assert done.code == 0, done.err
    return [line.split("\t")[1] for line in done.out.splitlines() if line]


def test_a_model_is_trained_with_another_scheme(cli):
    done = cli("train", "train.txt", "-m", "m", "--scheme", "bioes", "--passes", 20)
    assert done.code == 0, done.err
    assert tagged(cli, "m") == ["O", "B-LOC", "I-LOC", "B-LOC"]
    shown = " ".join(cli("inspect", "m").out.split())
    assert "label scheme iob2, trained with bioes, 7 labels: O," in shown
    assert re.search("S-LOC", shown)
    done = cli("train", "train.txt", "-m", "n", "--output-scheme", "ioe2", "--passes", 20)
    assert done.code == 0, done.err
    assert tagged(cli, "n") == ["O", "I-LOC", "E-LOC", "E-LOC"]
    done = cli("train", "train.txt", "-m", "o", "--scheme", "biose")
    assert done.code == 2
    assert "allowed: as-is, auto, iob1, iob2, ioe2, bioes" in done.err


def test_the_choice_is_said_and_logged(cli):
    done = cli("train", "train.txt", "-m", "m", "--scheme", "auto", "--passes", 4, "--log", "log")
    assert done.code == 0, done.err
    assert re.search(
        r"^choosing the label scheme, iob2 or bioes: 3 passes over 8", done.err, re.MULTILINE
    )
    chosen = adaptag.Model.load("m").training_scheme
    assert re.search(
        rf"^label scheme: {chosen} \(iob2 [\d.]+, bioes [\d.]+\)$", done.err, re.MULTILINE
    )
    assert Path("log").read_text().count('"event": "note"') == 3
    done = cli("train", "train.txt", "-m", "n", "--scheme", "auto", "--passes", 4)
    assert adaptag.Model.load("n").weights.tobytes() == adaptag.Model.load("m").weights.tobytes()


def test_streams(cli):
    Path("long.txt").write_text(TRAIN * 200)
    done = cli("train", "long.txt", "-m", "m", "--stream", "--scheme", "bioes")
    assert done.code == 0, done.err
    assert adaptag.Model.load("m").training_scheme == "bioes"
    assert tagged(cli, "m") == ["O", "B-LOC", "I-LOC", "B-LOC"]
    assert cli("learn", "m", "--stream", "train.txt").code == 0
    assert tagged(cli, "m") == ["O", "B-LOC", "I-LOC", "B-LOC"]


def test_comparisons_and_searches(cli):
    Path("test.txt").write_text(TRAIN)
    for scheme in ("bioes", "auto"):
        done = cli(
            "compare", "train.txt", "test.txt", "-a", "adf", "--scheme", scheme, "--passes", 5,
            "--seeds", 1,
        )  # fmt: skip
        assert done.code == 0, done.err
        labels = json.loads(Path("comparison/report.json").read_text())["labels"]
        assert labels in {"bioes": (7,), "auto": (5, 7)}[scheme]
    done = cli(
        "tune", "train.txt", "--scheme", "as-is,bioes", "--rate", "0.1", "--sigma", "5",
        "--folds", 2, "--passes", 2,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "bioes" in done.out


# ---- converting ----------------------------------------------------------------------------------


def test_files_are_converted_and_all_else_stays(cli):
    text = "# a comment\n-DOCSTART- -X- O\n\n" + TRAIN.replace(" ", "\t x ") + "\n\n"
    Path("x").write_text(text)
    options = ["--comment", "#", "--separator", "space"]
    done = cli("convert-labels", "x", "--to", "bioes", *options)
    assert (done.code, done.err) == (0, "")
    assert done.out == "# a comment\n-DOCSTART- -X- O\n\n" + BIOES.replace(" ", "\t x ") + "\n\n"
    Path("y").write_text(done.out)
    assert (
        cli("convert-labels", "y", "--to", "iob2", "--from", "bioes", "-o", "z", *options).code == 0
    )
    assert Path("z").read_text() == text


def test_another_column_and_compressed_files(cli):
    Path("x.gz").write_bytes(gzip.compress(b"B-X a\nI-X b\n\nI-X c\n"))
    done = cli("convert-labels", "x.gz", "--to", "ioe2", "--column", 1)
    assert done.out == "I-X a\nE-X b\n\nE-X c\n"
    done = cli("convert-labels", "-", "--to", "ioe2", stdin=b"a B-X\n")
    assert done.out == "a E-X\n"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a O\nb I-X\n", ["--from", "iob2"], "x:2: 'I-X' after 'O' breaks the rules of 'iob2'"),
        ("a I-X\n", ["--from", "iob2"], "x:1: 'I-X' at the beginning of a sentence breaks"),
        ("a O\n\nb B-X\n", ["--from", "bioes"], "'bioes'"),
        ("a S-X\n\nb B-X\n", ["--from", "bioes"], "x:3: 'B-X' at the end of a sentence breaks"),
        ("a O\nb B-X\n", ["--from", "iob1"], "x:2: 'B-X' after 'O' breaks the rules of 'iob1'"),
        ("a O\nb E-X\n", ["--from", "iob1"], "x:2: label 'E-X' does not fit scheme 'iob1'"),
        ("a O\nb NN\n", [], "x:2: the labels mark no chunks (B-X, I-X, …, O), such as 'NN'"),
        ("a O\n", ["--column", "3"], "x:1: 2 columns; there is no column 3"),
        ("a O\nb\n", [], "x:2: 1 column"),
        ("a B-X\n", ["--from", "bio"], "unknown label scheme 'bio'; did you mean 'bioes'"),
    ],
)
def test_errors_say_where(cli, text, options, message):
    Path("x").write_text(text)
    done = cli("convert-labels", "x", "--to", "iob2", *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_python_data():
    assert adaptag.convert_labels([], "bioes") == []
    assert adaptag.convert_labels([[], ["O"]], "bioes") == [[], ["O"]]
    with pytest.raises(adaptag.AdaptagError, match="sentence 2, token 1: 'I-X' at the beginning"):
        adaptag.convert_labels([["O"], ["I-X"]], "bioes", source="iob2")
    with pytest.raises(adaptag.AdaptagError, match="sentence 1, token 2: the labels mark no chunk"):
        adaptag.convert_labels([["O", "NN"]], "bioes")
    with pytest.raises(adaptag.AdaptagError, match="a label is None"):
        adaptag.convert_labels([["O", None]], "bioes")
    with pytest.raises(adaptag.AdaptagError, match="unknown label scheme 'bios'"):
        adaptag.convert_labels([["B-X"]], "bios")
