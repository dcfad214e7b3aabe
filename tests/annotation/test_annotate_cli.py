"""``adaptag annotate`` as a program: import, export, and a server that is killed."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import threading
import urllib.error
from pathlib import Path

import pytest

from adaptag.annotation.store import Store
from adaptag.corpus.ingredients import column_text
from tests.annotation.making import demo_sentences, make_project
from tests.annotation.serving import PROGRAM, Server

pytest.importorskip("uvicorn", reason="the extra serve is not installed")


def test_kill_at_any_time_loses_nothing(tmp_path):
    """Two annotators answer while the server is killed; what was confirmed is there."""
    gold = make_project(tmp_path / "p", 400)
    confirmed = {}
    for run in range(2):
        server = Server(tmp_path / "p")

        def label(name, server=server):
            try:
                shown = server.call(f"next?annotator={name}")["next"]
                while shown is not None:
                    number = shown["sentence"]
                    labels = list(gold[number].labels)
                    body = {"annotator": name, "sentence": number, "labels": labels}
                    result = server.call("answer", body)
                    confirmed[result["saved"]] = number, tuple(labels)
                    shown = result["next"]
            except (OSError, http.client.HTTPException):
                return

        threads = [threading.Thread(target=label, args=(name,)) for name in ("ann", "bob")]
        timer = threading.Timer(0.5 + 0.2 * run, server.end, [signal.SIGKILL])
        timer.start()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        timer.join()
    assert len(confirmed) > 20
    with Store(tmp_path / "p") as store:
        kept = {a.number: (a.sentence, a.labels) for a in store.answers()}
    assert confirmed.items() <= kept.items()
    numbers = [number for number, _ in kept.values()]
    assert len(numbers) == len(set(numbers))  # nobody was asked twice


def test_second_server_is_refused_and_the_first_one_ends_in_order(tmp_path):
    make_project(tmp_path / "p", 5)
    server = Server(tmp_path / "p")
    command = [*PROGRAM, str(tmp_path / "p"), "--no-open", "--port", "0"]
    second = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert second.returncode == 2
    assert "open in another process" in second.stderr
    assert "Traceback" not in second.stderr
    assert server.call("project")["sentences"] == 5
    assert server.end() == 0


def test_other_hosts_need_a_token(tmp_path):
    make_project(tmp_path / "p", 5)
    environment = {"ADAPTAG_TOKEN": "a long token"}
    os.environ.update(environment)
    try:
        server = Server(tmp_path / "p", "--host", "0.0.0.0")
    finally:
        del os.environ["ADAPTAG_TOKEN"]
    with pytest.raises(urllib.error.HTTPError, match="401"):
        server.call("project")
    assert server.end() == 0


def test_import_and_export_without_a_server(program):
    gold = demo_sentences(20)
    Path("gold.txt").write_text(column_text(gold), encoding="utf-8")
    Path("raw.txt").write_text("2 cups flour\n1 onion, chopped\n", encoding="utf-8")
    with Store("p", create=True):
        pass
    files = ("--import", "gold.txt", "--import", "raw.txt")
    done = program("annotate", "p", *files, "--labels", "MORE, QTY", "--export", "out.txt")
    assert done.code == 0, done.err
    assert "gold.txt: 20 sentences added, 20 of them labelled" in done.err
    assert "out.txt: 20 labelled sentences" in done.err
    assert Path("out.txt").read_text(encoding="utf-8") == column_text(gold)
    with Store("p") as store:
        assert len(store.sentences()) == 22
        assert store.labels()[-1].name == "MORE"
    assert program("annotate", "p", "--export", "out.bin", "--format", "jsonl").code == 0
    assert len(Path("out.bin").read_text(encoding="utf-8").splitlines()) == 20


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none", "--export", "x.txt"], "none: no labelling project"),
        (["p", "--export", "x.txt"], "nothing to export"),
        (["p", "--export", "x.txt", "--format", "odd"], "unknown format"),
        (["p", "--import", "none.txt", "--export", "x.txt"], "none.txt: cannot read"),
        (["p", "--labels", "a\tb", "--export", "x.txt"], "a label is"),
        (["p", "--tokenizer", "odd", "--export", "x.txt"], "unknown tokenizer"),
        (["p", "--strategy", "odd", "--no-open", "--port", "0"], "unknown strategy"),
        (["p", "--token", "short", "--no-open"], "the token has 5 characters"),
    ],
)
def test_mistakes(program, words, message):
    with Store("p", create=True):
        pass
    done = program("annotate", *words)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "words",
    [
        ["--import", "none.txt"],
        ["--import", "raw.txt", "--import", "none.txt"],
        ["--labels", "a\tb"],
        ["--tokenizer", "odd"],
        ["--strategy", "odd"],
        ["--token", "short"],
    ],
)
def test_mistakes_leave_no_new_project(program, words):
    Path("raw.txt").write_text("2 cups flour\n", encoding="utf-8")
    assert program("annotate", "new/p", "--no-open", "--port", "0", *words).code == 2
    assert list(Path().iterdir()) == [Path("raw.txt")]
    Path("p").mkdir()
    assert program("annotate", "p", "--no-open", "--port", "0", *words).code == 2
    assert list(Path("p").iterdir()) == []
    with Store("p", create=True):
        pass
    assert program("annotate", "p", "--no-open", "--port", "0", *words).code == 2
    with Store("p"):
        pass


def test_a_port_in_use_leaves_no_new_project(program):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert program("annotate", "new", "--no-open", "--port", port).code == 2
    assert not Path("new").exists()
