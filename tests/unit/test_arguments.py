"""Plain command lines mean the same with and without typer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from adaptag.cli.arguments import for_typer, parse_plain
from adaptag.cli.commands import COMMANDS, GROUPS, command_of
from adaptag.cli.main import app as whole_app

FAST = settings(deadline=None, max_examples=40)
WORDS = st.sampled_from(
    ["a", "-", "b.txt", "--model", "-m", "m", "--model=m", "--passes", "3", "0", "x", "-1", "1e-2",
     "--rate", "--rich-edges", "--no-rich-edges", "--threads", "--threads=2", "--marginals",
     "--nbest", "2", "--output", "-o", "--no-bigrams", "--bigrams", "--help", "--", "-x", "--seed=",
     "--converge", "--skip-docstart", "--comment", "#", "--cutoff", "2.5", "-t", "chunking",
     "--dictionary", "-d", "--dictionary=d", "--set", "adf.rate=1", "--within", "0.1",
     "--threshold", "--no-names", "--json", "--top", "--held-out", "-j"]
)  # fmt: skip


def parsed_by_typer(command, words):
    """The arguments that a command gets from typer; None where typer refuses the line."""
    given_arguments = {}

    def note(**arguments):
        given_arguments.update(arguments)

    app = typer.Typer(pretty_exceptions_enable=False)
    adapted = for_typer(command)
    note.__signature__ = adapted.__signature__
    note.__annotations__ = adapted.__annotations__
    app.command()(note)
    result = CliRunner().invoke(app, words)
    return given_arguments if result.exit_code == 0 and given_arguments else None


def assert_same_meaning(command, words):
    plain = parse_plain(command, words)
    if plain is not None:
        full = parsed_by_typer(command, words)
        assert full is not None
        assert plain == {name: full[name] for name in plain}
        signature = for_typer(command).__signature__.parameters
        for name in full.keys() - plain.keys():
            assert full[name] == signature[name].default or not full[name]


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
@FAST
@given(words=st.lists(WORDS, max_size=5))
def test_a_plain_line_means_what_typer_reads(names, words):
    assert_same_meaning(command_of(names), ["data.txt", "-m", "model", *words])
    assert_same_meaning(command_of(names), words)


def test_plain_lines_are_parsed():
    line = "x.txt -m m --passes 3 --rate 0.1 --threads=2 --rich-edges -t chunking"
    assert parse_plain(command_of(("train",)), line.split()) == {
        "data": Path("x.txt"),
        "model": Path("m"),
        "passes": 3,
        "rate": "0.1",
        "threads": 2,
        "rich_edges": True,
        "template": "chunking",
    }
    words = ["-", "-m", "m", "--marginals", "--nbest", "1"]
    assert parse_plain(command_of(("tag",)), words) == {
        "data": ["-"],
        "model": Path("m"),
        "marginals": True,
        "nbest": 1,
    }


def test_options_that_are_lists_can_be_repeated():
    words = ["x", "-m", "m", "-d", "a", "--dictionary=b", "--separator", "/", "-d", "c"]
    assert parse_plain(command_of(("segment", "cut")), words) == {
        "data": ["x"],
        "model": Path("m"),
        "dictionary": [Path("a"), Path("b"), Path("c")],
        "separator": "/",
    }
    words = ["x", "y", "--set", "adf.rate=1", "--set", "sgd.rate=2", "--settings", "s.json"]
    parsed = parse_plain(command_of(("compare",)), words)
    assert parsed["settings"] == ["adf.rate=1", "sgd.rate=2"]
    assert parsed["files"] == [Path("s.json")]


def test_numbers_outside_their_bounds_are_left_to_typer():
    command = command_of(("segment", "new-words"))
    assert parse_plain(command, ["x", "-m", "m", "--threshold", "0.5"])["threshold"] == 0.5
    assert parse_plain(command, ["x", "-m", "m", "--threshold", "1.5"]) is None


def test_typer_has_all_commands_in_their_groups():
    command = typer.main.get_command(whole_app)
    found = {(name,) for name in command.commands if name not in GROUPS}
    found |= {(group, name) for group in GROUPS for name in command.commands[group].commands}
    assert found == set(COMMANDS)


@pytest.mark.parametrize(
    "line",
    ["x", "-m m", "x -m m --help", "x -m", "x -m m --nbest 0", "x -m m --nbest a",
     "x -m m -m n", "x -m m --unknown", "x -m m -- y", "x -mm", "x -m m --nbest -1", "x -m m -o="],
)  # fmt: skip
def test_all_other_lines_are_left_to_typer(line):
    assert parse_plain(command_of(("tag",)), line.split()) is None


@pytest.mark.parametrize(
    "command",
    ["tag x -m m", "train x -m m", "classify predict x -m m", "segment cut x -m m -d d",
     "segment train x -m m", "learn m --stream x", "encode x -o o"],
)  # fmt: skip
def test_a_plain_line_starts_without_typer(tmp_path, command):
    code = (
        "import sys\nfrom adaptag.cli.program import run\n"
        "try:\n    run()\nfinally:\n    print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("adaptag: ")
    loaded = done.stdout.split()
    assert "adaptag.cli.program" in loaded
    assert not {"typer", "rich", "pydantic", "click"} & set(loaded)
