"""Models of other programs on the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import adaptag

ITEMS = [{"a": 1, "b": 1}, {"c": 1}]


@pytest.fixture
def cli(program):
    model = adaptag.train([ITEMS] * 5, [["X", "Y"]] * 5, passes=3)
    model.save("own")
    return program


def test_there_and_back(cli):
    done = cli("convert", "own", "-o", "foreign", "--to", "crfsuite")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert Path("foreign").read_bytes().startswith(b"lCRF")
    assert cli("convert", "foreign", "-o", "again").code == 0
    own, again = (adaptag.load(name) for name in ("own", "again"))
    assert again.labels == own.labels
    assert again.marginals(ITEMS) == own.marginals(ITEMS)


def test_commands_open_foreign_models(cli):
    assert cli("convert", "own", "-o", "foreign", "--to", "crfsuite").code == 0
    Path("data").write_text("X\ta\tb\nY\tc\n")
    done = cli("tag", "data", "-m", "foreign")
    assert (done.code, done.out) == (0, "X\nY\n\n")
    done = cli("inspect", "foreign")
    assert done.code == 0
    assert "CRFsuite" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["own", "-o", "x", "--to", "crfsuit"], "unknown format 'crfsuit'; did you mean"),
        (["own", "-o", "own"], "are the same file"),
        (["no", "-o", "x"], "no: cannot read"),
        (["bad", "-o", "x"], "bad: damaged CRFsuite model"),
        (["columns", "-o", "x", "--to", "crfsuite"], "cannot be written as a CRFsuite model"),
    ],
)
def test_messages(cli, arguments, message):
    Path("bad").write_bytes(b"lCRF" * 20)
    adaptag.train([["a"]], [["x"]], passes=1).save("columns")
    done = cli("convert", *arguments)
    assert done.code == 2
    assert message in " ".join(done.err.split())
    assert not Path("x").exists()


# ---- models of templates ---------------------------------------------------------------------

DATA = "The D\tX\ndog N\tY\n\na D\tX\ncat N\tY\n\n".replace("\t", " ")
TEMPLATES = {"crf++": "U1:%x[0,0]\nU2:%x[-1,1]\nB\n", "wapiti": 'u:%m[0,0,"..?$"]\n*:%x[-1,1]\nb\n'}
FIRST_BYTES = {"crf++": b"version: 100\n", "wapiti": b"#mdl#2#"}


@pytest.fixture(params=sorted(TEMPLATES))
def foreign(program, request):
    """The format of a model that was written, and the program."""
    Path("data").write_text(DATA)
    Path("template").write_text(TEMPLATES[request.param])
    arguments = ["-t", "template", "-m", "own", "--passes", "5", "--scheme", "as-is"]
    assert program("train", "data", *arguments).code == 0
    done = program("convert", "own", "-o", "foreign", "--to", request.param)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert Path("foreign").read_bytes().startswith(FIRST_BYTES[request.param])
    return request.param, program


def test_template_models_there_and_back(foreign):
    form, cli = foreign
    assert cli("convert", "foreign", "-o", "again").code == 0
    assert cli("convert", "again", "-o", "third", "--to", form).code == 0
    assert Path("third").read_bytes() == Path("foreign").read_bytes()
    own, again = (adaptag.load(name) for name in ("own", "again"))
    sentence = [("The", "D"), ("cat", "N")]
    assert again.nbest(sentence, 3) == own.nbest(sentence, 3)


def test_commands_open_template_models(foreign):
    form, cli = foreign
    done = cli("tag", "data", "-m", "foreign")
    assert done.out == cli("tag", "data", "-m", "own").out
    assert done.out.startswith("The D X X\ndog N Y Y\n\n")
    assert {"crf++": "CRF++", "wapiti": "Wapiti"}[form] in cli("inspect", "foreign").out
    assert "dog" in cli("inspect", "foreign", "--explain", "The/D dog/N").out
    assert cli("compact", "foreign", "-o", "small", "--prune", "0").code == 0
    assert cli("tag", "data", "-m", "small").out == done.out
    assert cli("tag", "data", "-m", "foreign", "--nbest", "2").out.startswith("# 0 0.")
    Path("more").write_text("wolf N Z\n\n" * 5)
    done = cli("train", "more", "--from", "foreign", "-m", "better", "-a", "adf", "--passes", "9")
    assert (done.code, adaptag.load("better").tag([("wolf", "N")])) == (0, ["Z"])


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["crf++"], ["The\tD\tX\tX"]),
        (["crf++", "--nbest", "2"], ["# 0 P", "The\tD\tX\tX"]),
        (["crf++-v1"], ["# P", "The\tD\tX\tX/P"]),
        (["crf++-v2"], ["# P", "The\tD\tX\tX/P\tX/P\tY/P"]),
        (["crf++-v2", "--nbest", "2"], ["# 0 P", "The\tD\tX\tX/P\tX/P\tY/P"]),
        (["wapiti"], ["The D X\tX"]),
        (["wapiti-scores"], ["# 0 P", "The D X\tX\tX/P"]),
    ],
)
def test_output_formats(foreign, arguments, lines):
    _, cli = foreign
    done = cli("tag", "data", "-m", "foreign", "--output-format", *arguments)
    assert done.code == 0
    found = re.sub(r"\b[01]\.[0-9]{6}\b", "P", done.out).split("\n")
    assert found[: len(lines)] == lines
    own = cli("tag", "data", "-m", "own", "--output-format", *arguments)
    assert re.sub(r"[0-9]\b", "", own.out) == re.sub(r"[0-9]\b", "", done.out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output-format", "crf"], "--output-format: unknown format 'crf'; did you mean 'crf++'"),
        (["--output-format", "crf++", "--marginals"], "--marginals cannot be combined with"),
        (["--output-format", "crf++", "--text"], "--output-format is for column files"),
        (["--output-format", "crf++", "--show"], "--output-format is for column files"),
    ],
)
def test_messages_of_output_formats(foreign, arguments, message):
    _, cli = foreign
    done = cli("tag", "data", "-m", "own", *arguments)
    assert done.code == 2
    assert message in " ".join(done.err.split())
