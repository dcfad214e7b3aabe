"""Models of other programs on the command line."""

from __future__ import annotations

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
