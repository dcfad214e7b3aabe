"""Threads and processes: shared models, fork and spawn after import, no thread at import."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

import adaptag
from tests.unit.sharing import Shared

SENTENCE = ["the", "cat"]
IMPORTS = """
import numpy
from pathlib import Path
def tasks():
    return len(list(Path("/proc/self/task").iterdir()))
before = tasks()
import adaptag
for name in set(adaptag.__all__) - {"CRF", "MaxEntClassifier", "metrics", "scorers"}:  # sklearn
    getattr(adaptag, name)
import adaptag.cli.main, adaptag.loading
print(tasks() - before)
"""


def test_one_model_is_shared_while_others_swap_it(tmp_path):
    shared = Shared(tmp_path)
    distinct = {str(version) for version in shared.cuts}
    assert shared.tags[0] != shared.tags[1]
    assert len(distinct) > 1
    shared.run(4.0)
    assert shared.wrong == []
    assert min(shared.counts.values()) > 0


def tag_in_child(model, queue):
    queue.put(model.tag(SENTENCE))
    queue.put(model.tag_all([SENTENCE] * 500, threads=2)[-1])


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_after_import(method):
    model = adaptag.train([SENTENCE, ["a", "dog"]], [["D", "N"], ["D", "N"]], passes=2)
    model.tag_all([SENTENCE] * 500, threads=2)  # threads have run before
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=tag_in_child, args=(model, queue))
    process.start()
    answers = [queue.get(timeout=120) for _ in range(2)]
    process.join(120)
    assert process.exitcode == 0
    assert answers == [["D", "N"], ["D", "N"]]


def test_a_child_trains_after_its_parent_did():
    adaptag.train([SENTENCE] * 50, [["D", "N"]] * 50, passes=1, threads=2)
    context = multiprocessing.get_context("fork")
    process = context.Process(target=train_in_child)
    process.start()
    process.join(120)
    assert process.exitcode == 0


def train_in_child():
    adaptag.train([SENTENCE] * 50, [["D", "N"]] * 50, passes=1, threads=2)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_no_thread_is_started_at_import():
    command = [sys.executable, "-c", IMPORTS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == "0\n"
