"""Calibration on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import adaptag
from adaptag.classification.documents import DocumentClassifier
from adaptag.corpus.ingredients import ingredients

DOCUMENTS = "good\tnice film\nbad\tdull film\nbad\tnice book\ngood\tfine book\n" * 6


@pytest.fixture
def cli(program):
    corpus = ingredients(train=60, dev=40, test=40)
    for name, part in (("train", corpus.train), ("dev", corpus.dev), ("test", corpus.test)):
        blocks = (
            "\n".join(map(" ".join, zip(line.tokens, line.labels, strict=True))) for line in part
        )
        Path(f"{name}.txt").write_text("\n\n".join(blocks) + "\n")
    assert program("train", "train.txt", "-m", "m", "-a", "pa", "--passes", 3).code == 0
    return program


def test_evaluate_scores_what_a_model_predicts(cli):
    direct = cli("evaluate", "test.txt", "--model", "m", "--json")
    assert direct.code == 0
    assert cli("tag", "test.txt", "-m", "m", "-o", "tagged").code == 0
    assert json.loads(direct.out) == json.loads(cli("evaluate", "tagged", "--json").out)


def test_the_table_of_calibration(cli):
    done = cli("evaluate", "test.txt", "-m", "m", "--calibration")
    assert done.code == 0
    expected = str(adaptag.Model.load("m").calibration("test.txt"))
    assert done.out.count("expected calibration error") == 3
    errors = re.findall(r"error (\d\.\d{4})", expected)
    assert re.findall(r"error (\d\.\d{4})", done.out) == errors
    record = json.loads(cli("evaluate", "test.txt", "-m", "m", "--calibration", "--json").out)
    assert record["calibration"]["temperature"] == 1
    assert [f"{record['calibration'][n]['ece']:.4f}" for n in ("tokens", "segments", "sequences")
            ] == errors  # fmt: skip
    assert record["score"] == adaptag.Model.load("m").evaluate("test.txt").score


def test_the_chart(cli):
    assert cli("evaluate", "test.txt", "-m", "m", "--calibration", "--chart", "c.svg").code == 0
    assert Path("c.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("evaluate test.txt --calibration", "--calibration requires --model"),
        ("evaluate test.txt -m m --chart c.svg", "--chart requires --calibration"),
        ("evaluate test.txt -m m --calibration --conlleval", "--conlleval cannot be combined"),
        ("evaluate test.txt --legal auto", "--legal requires --model"),
        ("evaluate test.txt -m m --calibration --chart m", "are the same file"),
        ("train train.txt -m n --calibrate", "calibrate needs development data"),
        ("train train.txt -m n --calibrate --stream", "cannot be combined with --stream"),
        ("calibrate m --dev dev.txt -o m", "are the same file"),
    ],
)
def test_what_does_not_go_together(cli, command, message):
    done = cli(*command.split())
    assert done.code == 2
    assert message in done.err


def test_training_calibrates(cli):
    done = cli("train", "train.txt", "-m", "n", "-a", "pa", "--dev", "dev.txt", "--calibrate")
    assert done.code == 0
    said = re.search(r"^calibrated on dev: temperature (\S+)$", done.err, re.MULTILINE)
    model = adaptag.Model.load("n")
    assert f"{model.temperature:.4g}" == said[1]
    assert model.temperature == model.calibrated("dev.txt").temperature


def test_a_model_is_calibrated_later(cli):
    done = cli("calibrate", "m", "--dev", "dev.txt", "-o", "n")
    assert done.code == 0
    before, after = (adaptag.Model.load(name) for name in "mn")
    assert after.temperature == before.calibrated("dev.txt").temperature != 1
    assert f"n: temperature {after.temperature:.4g}" in done.err
    for name, part in before.calibration("dev.txt").parts.items():
        row = (
            rf"{name} +{part.count:,} +{part.ece:.4f} +{after.calibration('dev.txt')[name].ece:.4f}"
        )
        assert re.search(row, done.out)
    outputs = [cli("tag", "test.txt", "-m", name).out for name in "mn"]
    assert outputs[0] == outputs[1]
    assert "temperature" in cli("inspect", "n").out


def test_classifiers(cli):
    Path("c.txt").write_text(DOCUMENTS)
    assert cli("classify", "train", "c.txt", "-m", "c", "-a", "pa", "--dev", "c.txt",
               "--calibrate").code == 0  # fmt: skip
    assert DocumentClassifier.load("c").model.temperature != 1
    done = cli("classify", "evaluate", "c.txt", "-m", "c", "--calibration", "--chart", "c.svg")
    assert done.code == 0
    assert done.out.count("expected calibration error") == 1
    record = json.loads(
        cli("classify", "evaluate", "c.txt", "-m", "c", "--calibration", "--json").out
    )
    assert record["calibration"]["documents"]["count"] == 24
    assert cli("calibrate", "c", "--dev", "c.txt", "-o", "d").code == 0
