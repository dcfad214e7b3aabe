"""``adaptag compare``."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from pathlib import Path

import pytest

import adaptag
from adaptag.experiments.results import Comparison
from tests.unit.test_comparison import TEST, TRAIN, Checker

SMALL = ["-a", "adf,sgd", "--passes", 2, "--seeds", 2, "-o", "out"]


def columns(sentences):
    return "\n\n".join("\n".join(f"{t} {y}" for t, y in s) for s in sentences) + "\n\n"


@pytest.fixture
def cli(program):
    """Run the program in a folder with some files."""
    Path("train.txt").write_text(columns(TRAIN))
    Path("test.txt").write_text(columns(TEST))
    return program


def read(folder="out"):
    content = json.loads(Path(folder, "report.json").read_text())
    command = content.pop("command")
    return Comparison.from_dict(content), command


def test_reports(cli):
    done = cli("compare", "train.txt", "test.txt", *SMALL)
    assert done.code == 0
    found, command = read()
    assert [entry.name for entry in found.entries] == ["adf", "sgd"]
    assert found.seeds == (1, 2)
    assert (found.train.name, found.test.name) == ("train.txt", "test.txt")
    assert command == "adaptag compare train.txt test.txt -a adf,sgd --passes 2 --seeds 2 -o out"
    page = Checker(Path("out/report.html").read_text())
    assert command in page.text
    assert command in Path("out/report.md").read_text()
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "report.html",
        "report.json",
        "report.md",
    ]
    score = f"{found.entries[0].at_end('scores').value:.2f}"
    assert score in done.out
    assert score in page.text
    assert "adf, seed 2: " in done.err
    assert "report: out/report.html" in done.err


def test_the_command_repeats_it(cli):
    cli("compare", "train.txt", "test.txt", *SMALL, "--set", "sgd.rate=0.02")
    first, command = read()
    assert cli(*shlex.split(command)[1:]).code == 0
    again, _ = read()
    for a, b in zip(first.entries, again.entries, strict=True):
        assert a.parameters == b.parameters
        assert [run.scores for run in a.runs] == [run.scores for run in b.runs]
    assert first.significance == again.significance


def test_settings(cli):
    Path("all.json").write_text('{"adf": {"rate": 0.5, "sigma": 2}, "slow": {"passes": 1}}')
    Path("one.json").write_text('{"algorithm": "slow", "settings": {"rate": 0.001}}')
    files = ["--settings", "all.json", "--settings", "one.json"]
    done = cli(
        "compare", "train.txt", "test.txt", "-a", "adf, slow=sgd", "--passes", 2, "--seeds", 1,
        "-o", "out", *files, "--set", "adf.rate=0.25", "--set", "slow.schedule=bordes",
    )  # fmt: skip
    assert done.code == 0
    adf, slow = read()[0].entries
    assert (adf.parameters["rate"], adf.parameters["sigma"], adf.passes) == (0.25, 2, 2)
    assert (slow.parameters["rate"], slow.parameters["schedule"]) == (0.001, "bordes")
    assert slow.passes == 1


def test_only_the_name_of_a_file_is_shown(cli):
    Path("secret").mkdir()
    name = "<b>&'\".txt"
    Path("secret", name).write_text(columns(TEST))
    assert cli("compare", "train.txt", f"secret/{name}", *SMALL).code == 0
    page = Checker(Path("out/report.html").read_text())
    assert "b" not in page.tags
    assert name in page.text
    before, _ = page.text.split("Command")
    assert "secret" not in before


def test_a_name_that_is_no_utf8(cli):
    path = b"t\xff.txt".decode("utf-8", "surrogateescape")
    try:
        Path(path).write_text(columns(TEST))
    except OSError:
        pytest.skip("this file system allows only UTF-8")
    assert cli("compare", "train.txt", path, *SMALL).code == 0
    assert "t\\udcff.txt" in Path("out/report.md").read_text().replace("\\\\", "\\")


def test_standard_input(cli):
    done = cli("compare", "-", "test.txt", *SMALL, stdin=columns(TRAIN).encode())
    assert done.code == 0
    assert read()[0].train.name == "standard input"


def interrupt(monkeypatch, at):
    from adaptag.experiments.progress import RunProgress

    real, calls = RunProgress.on_pass, []

    def on_pass(self, history):
        calls.append(1)
        if len(calls) == at:
            raise KeyboardInterrupt
        return real(self, history)

    monkeypatch.setattr(RunProgress, "on_pass", on_pass)


def test_ctrl_c_writes_what_was_finished(cli, monkeypatch):
    interrupt(monkeypatch, 6)  # two passes of adf with two seeds come first
    done = cli("compare", "train.txt", "test.txt", *SMALL)
    assert done.code == 130
    assert "interrupted: the report of adf is in out; unfinished and left out: sgd" in done.err
    found, _ = read()
    assert [entry.name for entry in found.entries] == ["adf"]
    assert found.unfinished == ("sgd",)
    assert "left out: sgd" in Path("out/report.html").read_text()


def test_ctrl_c_before_anything_was_finished(cli, monkeypatch):
    interrupt(monkeypatch, 2)
    done = cli("compare", "train.txt", "test.txt", *SMALL)
    assert done.code == 130
    assert "interrupted: no report was written; unfinished and left out: adf, sgd" in done.err
    assert not Path("out").exists()


def test_ctrl_c_after_the_last_pass_keeps_everything(cli, monkeypatch):
    from adaptag.experiments.progress import RunProgress

    real, calls = RunProgress.on_pass, []

    def on_pass(self, history):
        calls.append(1)
        if len(calls) == 8:
            os.kill(os.getpid(), signal.SIGINT)
        return real(self, history)

    monkeypatch.setattr(RunProgress, "on_pass", on_pass)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = cli("compare", "train.txt", "test.txt", *SMALL)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.code == 130
    assert done.err.endswith("interrupted: the report of adf, sgd is in out\n")
    found, _ = read()
    assert [len(entry.runs) for entry in found.entries] == [2, 2]


@pytest.mark.parametrize("name", ["train.txt", "test.txt", "settings.json", "template"])
def test_inputs_are_not_overwritten(cli, name):
    """A report beside its inputs is fine, unless it has the name of one of them."""
    Path("settings.json").write_text("{}")
    Path("template").write_text("U:%x[0,0]\n")
    inputs = ["train.txt", "test.txt", "settings.json", "template"]
    files = {one: "report.md" if one == name else one for one in inputs}
    Path(name).rename("report.md")
    before = Path("report.md").read_bytes()
    train, test, settings, template = files.values()
    options = ["--settings", settings, "-t", template, "-o", ".", "--passes", 1, "--seeds", 1]
    done = cli("compare", train, test, *options)
    assert done.code == 2
    assert "are the same file" in done.err
    assert Path("report.md").read_bytes() == before
    assert not Path("report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-a", "adf,sdg"], "did you mean 'sgd'"),
        (["-a", ","], "no algorithm is given"),
        (["--set", "adf"], "expected NAME.PARAMETER=VALUE"),
        (["--set", "adf.rate="], "expected NAME.PARAMETER=VALUE"),
        (["--set", "adf.rate=-1"], "rate is -1.0"),
        (["--set", "pa.rate=1"], "settings of unknown algorithm 'pa'"),
        (["--settings", "train.txt"], "train.txt: not JSON"),
        (["--settings", "missing"], "missing: cannot read"),
        (["--settings", "list.json"], "expected an object of settings"),
        (["--settings", "deep.json"], "deep.json: not JSON"),
        (["--settings", "long.json"], "batch is "),
        (["-o", "train.txt"], "train.txt: cannot create the folder"),
        (["-t", "missing"], "missing"),
        (["-o", "new/out", "--checkpoint", "model"], "model: holds an adaptag"),
        (["-a", "sgd", "--set", "sgd.rate=1e30", "--checkpoint", "c"], "allowed: below 0.5"),
    ],
)
def test_errors(cli, arguments, message):
    Path("list.json").write_text('{"adf": [1]}')
    Path("deep.json").write_text("[" * 100_000)
    Path("long.json").write_text('{"adf": {"batch": 1' + "0" * 400 + "}}")
    adaptag.encode("train.txt").save("model")
    before = sorted(Path().iterdir())
    output = [] if "-o" in arguments else ["-o", "out"]
    done = cli("compare", "train.txt", "test.txt", *output, *arguments)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert sorted(Path().iterdir()) == before


def test_files_that_do_not_fit(cli):
    Path("narrow.txt").write_text("O\n\n")
    done = cli("compare", "train.txt", "narrow.txt", *SMALL)
    assert (done.code, "narrow.txt" in done.err, "Traceback" in done.err) == (2, True, False)
    assert cli("compare", "missing.txt", "test.txt", *SMALL).code == 2
    Path("empty.txt").write_text("")
    assert cli("compare", "train.txt", "empty.txt", *SMALL).code == 2


@pytest.mark.parametrize("module", ["matplotlib.figure", "scipy.special"])
def test_what_is_missing_is_said_at_once(cli, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    done = cli("compare", "train.txt", "test.txt", *SMALL)
    assert done.code == 2
    assert "pip install 'adaptag[experiments]'" in done.err
    assert "seed 1" not in done.err


def test_what_tune_chose_is_taken(cli):
    done = cli(
        "tune", "train.txt", "--rate", "0.07", "--sigma", "3", "--folds", 2, "--passes", 2,
        "--output", "t.json",
    )  # fmt: skip
    assert done.code == 0
    done = cli(
        "compare", "train.txt", "test.txt", "-a", "adf", "--passes", 1, "--seeds", 1,
        "--settings", "t.json", "-o", "out",
    )  # fmt: skip
    assert done.code == 0
    found = json.loads(Path("out/report.json").read_text())
    text = json.dumps(found)
    assert '"rate": 0.07' in text
    assert '"sigma": 3' in text


def test_settings_without_settings(cli):
    Path("one.json").write_text('{"algorithm": "adf"}')
    done = cli("compare", "train.txt", "test.txt", "-a", "adf", "--settings", "one.json")
    assert done.code == 2
    assert "expected an object of settings" in done.err
