"""``adaptag tag`` on parts of a file in several threads, and on a pipe."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import adaptag
from adaptag import parallel

PROGRAM = [sys.executable, "-c", "from adaptag.cli.program import start; start()"]
TRAIN = "The D B-NP\ncat N I-NP\nsat V O\n\nDogs N B-NP\nbark V O\n\nin I O\nRome R B-LOC\n"
SENTENCES = ["The D\ncat N\nsat V\n\n", "Dogs N\nbark V\n\n", "in I\nRome R\n\n"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.adaptag"
    path.with_name("train.txt").write_text(TRAIN)
    adaptag.train(path.with_name("train.txt"), passes=8).save(path)
    return path


@pytest.fixture
def tiny_parts(monkeypatch):
    monkeypatch.setattr(parallel, "BYTES", 1)
    monkeypatch.setattr(parallel, "PART", 30)


@pytest.mark.parametrize("options", [(), ("--marginals",), ("--nbest", 2), ("--legal", "auto")])
@pytest.mark.usefixtures("tiny_parts")
def test_the_output_is_the_same_for_any_number_of_threads(program, model, options):
    Path("x").write_text("".join(SENTENCES * 40))
    wanted = program("tag", "x", "-m", model, "--threads", 1, *options)
    assert wanted.code == 0
    assert wanted.out.count("cat") == 40 * (2 if "--nbest" in options else 1)
    for threads in (2, 3, 5):
        assert program("tag", "x", "-m", model, "--threads", threads, *options) == wanted
    data = Path("x").read_bytes()
    assert program("tag", "-", "-m", model, "--threads", 3, *options, stdin=data) == wanted


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.usefixtures("tiny_parts")
def test_an_error_names_its_line_and_leaves_the_output_file(program, model, threads):
    Path("x").write_text("".join(SENTENCES * 20) + "bad\n\n" + "".join(SENTENCES * 20) + "x y z\n")
    Path("out").write_text("as it was")
    done = program("tag", "x", "-m", model, "-o", "out", "--threads", threads)
    assert (done.code, done.err) == (2, "adaptag: x:201: 1 column; line 1 has 2\n")
    assert Path("out").read_text() == "as it was"
    assert sorted(path.name for path in Path().iterdir()) == ["out", "x"]


@pytest.mark.parametrize("label", ["X\nY", "X\tY", ""])
def test_a_label_that_no_column_can_hold(program, label):
    adaptag.train([["a", "b"]] * 3, [["Z", label]] * 3, passes=2).save("m.adaptag")
    Path("x").write_text("a\nb\n")
    done = program("tag", "x", "-m", "m.adaptag")
    assert (done.code, done.out) == (2, "")
    message = f"the model has the label the string {label!r}, which no column can hold"
    assert done.err == f"adaptag: {message}\n"
    assert program("tag", "--text", "x", "-m", "m.adaptag").code == 0


@pytest.mark.parametrize("n", [1_000_001, 2**32, 2**70])
def test_too_many_best_label_sequences(program, model, n):
    Path("x").write_text(SENTENCES[0])
    done = program("tag", "x", "-m", model, "--nbest", n)
    assert (done.code, done.out) == (2, "")
    assert f"n is {n}; allowed: whole numbers from 1 to 1000000" in done.err


def test_a_file_without_sentences_is_refused(program, model):
    Path("x").write_text("\n\n")
    done = program("tag", "x", "-m", model)
    assert (done.code, done.err) == (2, "adaptag: x:1: no sentence found; the file is empty\n")


@pytest.mark.parametrize("threads", ["1", "3"])
def test_each_sentence_is_answered_before_the_next_one_comes(model, threads):
    with subprocess.Popen(
        [*PROGRAM, "tag", "-", "-m", str(model), "--threads", threads],
        env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        for _ in range(3):
            for sentence in SENTENCES:
                process.stdin.write(sentence.encode())
                process.stdin.flush()
                for line in sentence.splitlines():
                    answer = process.stdout.readline().decode()
                    assert answer.startswith(line), answer
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(60) == 0


def test_an_interrupt_leaves_the_output_file(tmp_path, model):
    (tmp_path / "out").write_text("as it was")
    process = subprocess.Popen(
        [*PROGRAM, "tag", "-", "-m", str(model), "-o", "out", "--threads", "2"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # In the background, Ctrl-C is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    process.stdin.write(SENTENCES[0].encode() * 5000)  # more than a pipe holds: it is being read
    process.stdin.flush()
    for _ in range(3):  # one that comes while Python cannot raise is lost
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
            break
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.decode() == "interrupted: files that were not finished are unchanged\n"
    assert (tmp_path / "out").read_text() == "as it was"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
