"""``tune`` and ``compare`` on a Ray cluster: the same outcome, whatever dies or leaves."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from adaptag._native import build
from adaptag.corpus.ingredients import column_text, ingredients
from adaptag.errors import AdaptagError, CorpusError, DivergenceError, ParameterError
from adaptag.experiments.comparison import compare
from adaptag.experiments.problem import Part
from adaptag.experiments.results import machine_line
from adaptag.experiments.tasks import Tagging
from adaptag.experiments.tuning import TuningCallback, tune

ray = pytest.importorskip("ray", reason="a cluster needs Ray", exc_type=ImportError)

from adaptag.ray import tasks as tasks_module  # noqa: E402

TRAIN = ingredients(train=120, dev=0, test=0).train
DATA = [list(zip(line.tokens, line.labels, strict=True)) for line in TRAIN]
GRID = {"rate": [0.01, 0.1, 0.3], "sigma": [0.5, 5]}
SEARCH = {"space": GRID, "passes": 12, "folds": 2}  # three rounds: of 6, 3 and 2 trials


@pytest.fixture(scope="module")
def cluster():
    """A cluster of this test process: two CPUs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_ADDRESS", raising=False)
        ray.init(
            address="local",
            num_cpus=2,
            object_store_memory=200 << 20,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
        )
    yield "auto"  # a connection that exists is used as it is
    ray.shutdown()


@pytest.fixture(scope="module")
def found():
    """What a search on one machine finds."""
    return tune(DATA, **SEARCH, jobs=1)


def curves(tuning):
    """What a search found, without times."""
    return [(t.number, t.settings, t.scores, t.ended) for t in tuning.trials]


# ---- tasks that note what happens in the processes of the cluster --------------------------------


@dataclass(frozen=True, eq=False)
class NotedPart(Part):
    """Notes how many passes each training makes."""

    log: Path | None = None

    def run(self, settings, **options):
        note(self.log, f"train {settings.passes}")
        return super().run(settings, **options)


@dataclass(frozen=True)
class Noted(Tagging):
    """Notes what is encoded and trained."""

    log: Path | None = None

    def part(self, train, test, changes=None, *, threads=None):
        note(self.log, f"encode {os.getpid()} {len(train)}")
        part = super().part(train, test, changes, threads=threads)
        return NotedPart(part.train, part.counts, self.log)


@dataclass(frozen=True)
class Mortal(Noted):
    """Its process is killed in the middle of a training, as long as ``deaths`` are left."""

    deaths: int = 0

    def part(self, train, test, changes=None, *, threads=None):
        part = super().part(train, test, changes, threads=threads)
        calls = 0

        def counts(weights):
            nonlocal calls
            calls += 1
            died = self.log.read_text().count("die")
            if calls == 5 and died < self.deaths:  # in the second training of the process
                note(self.log, "die")
                os.kill(os.getpid(), signal.SIGKILL)
            return part.counts(weights)

        return replace(part, counts=counts)


def note(log, text):
    with log.open("a") as file:
        file.write(text + "\n")


def noted(log, kind):
    return [line.split()[1:] for line in log.read_text().splitlines() if line.startswith(kind)]


# ---- tune --------------------------------------------------------------------------------------


def test_a_search_has_the_same_outcome(cluster, found, tmp_path):
    log = tmp_path / "log"
    result = tune(DATA, task=Noted(log=log), **SEARCH, cluster=cluster)
    assert result.rungs == ((6, 3), (3, 6), (2, 12))
    assert curves(result) == curves(found)
    # Trials continue from their checkpoints, up to so many passes, and processes encode the data of
    # a fold once.
    passes = sorted(int(passes) for (passes,) in noted(log, "train"))
    assert passes == [3] * 12 + [6] * 6 + [12] * 4
    encoded = list(map(tuple, noted(log, "encode")))
    assert len({process for process, _ in encoded}) == 2
    assert len(encoded) <= 4


def test_a_process_that_is_killed_costs_its_task(cluster, found, tmp_path):
    log = tmp_path / "log"
    result = tune(DATA, task=Mortal(log=log, deaths=2), **SEARCH, cluster=cluster)
    assert log.read_text().count("die") == 2
    assert curves(result) == curves(found)


def test_a_task_that_kills_every_process_is_an_error(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks_module, "RETRIES", 1)
    log = tmp_path / "log"
    with pytest.raises(AdaptagError, match="died 2 times in the same task, perhaps for lack of"):
        tune(DATA, task=Mortal(log=log, deaths=99), space={"rate": [0.1], "sigma": [5]}, passes=9,
             folds=2, cluster=cluster)  # fmt: skip
    assert log.read_text().count("die") >= 2


def test_what_a_lost_checkpoint_had_is_trained_again(cluster, found, tmp_path, monkeypatch):
    log, lost = tmp_path / "log", []
    result = tasks_module.Tasks.result

    def losing(self, task):
        if task.item.passes == 6 and len(lost) < 2 and task.item.place not in lost:
            lost.append(task.item.place)
            raise tasks_module.LostError("lost")
        return result(self, task)

    monkeypatch.setattr(tasks_module.Tasks, "result", losing)
    assert curves(tune(DATA, task=Noted(log=log), **SEARCH, cluster=cluster)) == curves(found)
    passes = sorted(int(passes) for (passes,) in noted(log, "train"))
    assert passes == [3] * 12 + [6] * 8 + [12] * 4  # two of six passes again, from the start


def own(size):
    """An object that is lost with the process that made it, and the number of this process."""
    return [ray.put(np.ones(size))], os.getpid()


def run_task(tasks, function, *arguments):
    tasks.submit(None, function, *arguments)
    (task,) = tasks.finished()
    return tasks.result(task)


def use_for_ten_seconds(tasks, reference):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        run_task(tasks, np.sum, reference)
        time.sleep(0.1)


@pytest.mark.usefixtures("cluster")
def test_an_argument_that_was_lost_is_told_apart():
    with tasks_module.Tasks(ray) as tasks:
        (reference,), process = run_task(tasks, own, 1 << 20)
        assert run_task(tasks, np.sum, reference) == 1 << 20
        os.kill(process, signal.SIGKILL)
        with pytest.raises(tasks_module.LostError):
            use_for_ten_seconds(tasks, reference)  # until the cluster has noticed


@pytest.mark.usefixtures("cluster")
def test_nodes_have_the_same_core_and_version(monkeypatch):
    with tasks_module.Tasks(ray, {"OMP_NUM_THREADS": "1"}) as tasks:
        assert run_task(tasks, os.getenv, "ADAPTAG_CORE") == build
        assert run_task(tasks, os.getenv, "OMP_NUM_THREADS") == "1"
        monkeypatch.setattr(tasks_module, "__version__", "0.0.1")
        with pytest.raises(ParameterError, match=r"this process 0\.0\.1"):
            run_task(tasks, os.getpid)
    with (
        tasks_module.Tasks(ray, {"ADAPTAG_CORE": "other"}) as tasks,
        pytest.raises(AdaptagError, match="cannot import adaptag: ImportError: ADAPTAG_CORE='oth"),
    ):
        run_task(tasks, os.getpid)


class Interrupt(TuningCallback):
    """Ctrl-C in the second round, while further jobs run."""

    def on_progress(self, progress):
        if progress.rung == 2 and progress.done == 2:
            raise KeyboardInterrupt


def test_ctrl_c_stops_all_and_the_search_can_be_resumed(cluster, found, tmp_path):
    call = {**SEARCH, "cluster": cluster, "checkpoint": tmp_path / "state"}
    with pytest.raises(KeyboardInterrupt):
        tune(DATA, **call, callbacks=[Interrupt()])
    wait_until_idle()
    known = len((tmp_path / "state").read_text().splitlines()) - 1
    assert known == 14
    assert curves(tune(DATA, **call)) == curves(found)


def wait_until_idle():
    end = time.monotonic() + 10
    while ray.available_resources().get("CPU", 0) < 2:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_bad_data_has_the_same_message(cluster):
    sentences = [[word for word, _ in line] for line in DATA]
    labels = [[label for _, label in line] for line in DATA[:60]]
    labels += [[None] * len(sentence) for sentence in sentences[60:]]
    messages = set()
    for place in ({"jobs": 1}, {"cluster": cluster}):
        with pytest.raises(CorpusError) as caught:
            tune((sentences, labels), **SEARCH, **place)
        assert caught.value.__cause__ is None
        messages.add(str(caught.value))
    assert len(messages) == 1
    assert "no label is known" in messages.pop()


def test_the_commands(cluster, program):
    Path("train.txt").write_text(column_text(TRAIN), encoding="utf-8")
    Path("test.txt").write_text(column_text(TRAIN[:30]), encoding="utf-8")
    tuning = ["tune", "train.txt", "--rate", "0.05,0.2", "--sigma", 5, "--folds", 2, "--passes", 3]
    here = program(*tuning, "--jobs", 1, "-o", "here.json")
    there = program(*tuning, "--cluster", cluster, "-o", "there.json")
    assert (there.code, there.out.splitlines()[-1]) == (0, here.out.splitlines()[-1])
    trials = [json.loads(Path(f).read_text())["trials"] for f in ("here.json", "there.json")]
    assert [t["scores"] for t in trials[0]] == [t["scores"] for t in trials[1]]

    comparing = ["compare", "train.txt", "test.txt", "-a", "adf,sgd", "--passes", 2, "--seeds", 2]
    there = program(*comparing, "--cluster", cluster, "-o", "out")
    assert there.code == 0
    lines = there.err.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["1/4", "2/4", "3/4", "4/4"]
    assert sum("seed 2: " in line and "after 2 passes" in line for line in lines) == 2
    assert "Ray cluster of 1 node with 2 CPUs" in Path("out/report.md").read_text()


def test_bad_data_ends_the_commands_alike(cluster, program):
    """The labels of the first fold, which is held out first, mark chunks of another scheme."""
    Path("train.txt").write_text("a B-X\nb I-X\n\n" * 9 + "a O\nb O\n\n" * 9)
    command = ["tune", "train.txt", "--legal", "iob2", "--rate", 0.1, "--folds", 2, "--restart"]
    here = program(*command, "--jobs", 1)
    there = program(*command, "--cluster", cluster)
    assert (here.code, here.out) == (2, "")
    assert there == here


# ---- compare -----------------------------------------------------------------------------------


def comparable(comparison):
    """What a comparison found, without times and the machine."""
    content = comparison.to_dict()
    for entry in content["entries"]:
        for figures in (entry["summary"], *entry["runs"]):
            del figures["seconds"]
    del content["machine"]
    return content


WORDS = ["我们", "在", "北京", "学习", "中文", "的", "大学", "生活", "很", "好"]


def task_data(task):
    """Training and test data of a task."""
    rng = np.random.default_rng(1)
    if task == "tagging":
        return DATA[:90], DATA[90:]
    if task == "segmentation":
        lines = [[str(w) for w in rng.choice(WORDS, 6)] for _ in range(60)]
        return lines[:40], lines[40:]
    texts = [" ".join(rng.choice(["good", "bad", "film", "the"], 5)) for _ in range(60)]
    labels = ["yes" if "good" in text else "no" for text in texts]
    return (texts[:40], labels[:40]), (texts[40:], labels[40:])


@pytest.mark.parametrize("task", ["tagging", "segmentation", "classification"])
def test_a_comparison_has_the_same_outcome(cluster, task, monkeypatch):
    """In whatever order its runs finish."""
    data = task_data(task)
    real = tasks_module.Tasks.finished
    monkeypatch.setattr(
        tasks_module.Tasks, "finished", lambda *given: iter(list(real(*given))[::-1])
    )
    call = {
        "task": task,
        "algorithms": ["adf", "lbfgs", "two=adf"],
        "parameters": {"two": {"orders": 2}},
        "passes": 3,
        "seeds": [1, 2],
    }
    finished = []
    here = compare(*data, **call)
    there = compare(*data, **call, cluster=cluster, on_result=lambda *run: finished.append(run))
    assert comparable(there) == comparable(here)
    assert {run[:2] for run in finished} == {("adf", 1), ("adf", 2), ("lbfgs", None), ("two", 1),
                                             ("two", 2)}  # fmt: skip
    assert [run[2] for run in finished] == sorted(run[2] for run in finished)
    assert "Ray cluster of 1 node with 2 CPUs" in machine_line(there.machine)
    assert "cluster" not in here.machine


def test_what_diverges_has_the_same_message(cluster):
    data = [[("a", "A"), ("b", "B")], [("b", "B"), ("a", "A")]] * 9
    parameters = {"wild": {"rate": 1e38, "sigma": math.inf}}
    call = {"algorithms": ["adf", "wild=sgd"], "passes": 2, "seeds": [1, 2]}
    here, there = (
        compare(data, data, **call, parameters=parameters, **place)
        for place in ({}, {"cluster": cluster})
    )
    assert "diverged" in there.errors["wild"]
    assert comparable(there) == comparable(here)
    call["algorithms"] = ["wild=sgd"]
    with pytest.raises(DivergenceError, match=re.escape(there.errors["wild"])):
        compare(data, data, **call, parameters=parameters, cluster=cluster)


def test_a_run_that_fails_has_the_same_message(cluster):
    call = {"algorithms": ["adf", "sgd"], "parameters": {"sgd": {"rate": 1e30}}, "passes": 1}
    messages = set()
    for place in ({}, {"cluster": cluster}):
        with pytest.raises(ParameterError, match="sgd: rate") as caught:
            compare(*task_data("tagging"), **call, **place)
        messages.add(str(caught.value))
    assert len(messages) == 1


def test_ctrl_c_keeps_the_algorithms_that_were_finished(cluster):
    def interrupt(name, *_):
        if name == "short":
            raise KeyboardInterrupt

    result = compare(
        *task_data("tagging"),
        algorithms=["long=adf", "short=adf"],
        parameters={"long": {"passes": 100_000}, "short": {"passes": 1}},
        cluster=cluster,
        on_result=interrupt,
    )
    assert [entry.name for entry in result.entries] == ["short"]
    assert result.unfinished == ("long",)
    wait_until_idle()


# ---- what is refused, and what is not loaded ---------------------------------------------------


def test_what_a_cluster_does_not_have():
    with pytest.raises(ParameterError, match="jobs are processes on this machine"):
        tune(DATA, jobs=2, cluster="local")
    with pytest.raises(ParameterError, match="there are no callbacks and no on_run"):
        compare(DATA, DATA, cluster="local", on_run=print)


def test_nothing_imports_ray_without_a_cluster(tmp_path):
    (tmp_path / "train.txt").write_text(column_text(TRAIN[:30]), encoding="utf-8")
    code = """
import sys
from adaptag.cli.program import run
for line in (
    "tune train.txt --rate 0.1 --sigma 5 --folds 2 --passes 1 --jobs 1",
    "compare train.txt train.txt -a adf --passes 1 --seeds 1",
):
    sys.argv = ["adaptag", *line.split()]
    run()
loaded = [name for name in sys.modules if name.split(".")[0] == "ray" or "adaptag.ray" in name]
sys.exit(f"loaded: {loaded}" if loaded else 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
