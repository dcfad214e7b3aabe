"""Comparisons and searches for segmenters and classifiers: the same code as for taggers."""

from __future__ import annotations

import json
import math
import os
import shlex
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import adaptag
from adaptag.classification.documents import DocumentClassifier
from adaptag.corpus.data import CLASSIFICATION, SEGMENTATION, TAGGING
from adaptag.corpus.documents import Documents
from adaptag.corpus.segmented import SegmentedCorpus
from adaptag.errors import DivergenceError, ParameterError
from adaptag.experiments.comparison import compare
from adaptag.experiments.declarations import TASKS, TaskDeclaration
from adaptag.experiments.results import Comparison
from adaptag.experiments.space import space_of
from adaptag.experiments.tasks import Classification, Segmentation, Tagging, task_of
from adaptag.experiments.tuning import tune
from adaptag.features.settings import FeatureSettings
from adaptag.settings import setting
from adaptag.training.algorithms import algorithm
from adaptag.training.callbacks import Callback

WORDS = ["我们", "在", "北京", "学习", "中文", "的", "大学", "生活", "很", "好", "中", "学"]


def spaced(n, seed):
    rng = np.random.default_rng(seed)
    lines = [" ".join(rng.choice(WORDS, rng.integers(3, 9))) for _ in range(n)]
    return "\n".join(lines) + "\n"


def documents(n, seed):
    rng = np.random.default_rng(seed)
    own = {"good": ["fine", "great", "nice"], "bad": ["poor", "awful", "sad"]}
    every = [*own["good"], *own["bad"], "the", "film"]
    lines = []
    for _ in range(n):
        label = str(rng.choice(["good", "bad"]))
        words = [str(rng.choice(own[label] if rng.random() < 0.4 else every)) for _ in range(5)]
        lines.append(f"{label}\t{' '.join(words)}\n")
    return "".join(lines)


MAKERS = {"segment": spaced, "classify": documents}
SMALL = ("--rate", "0.05,0.2", "--sigma", "5", "--passes", 3, "--jobs", 1)


@pytest.fixture
def cli(program):
    """Run the program in a folder with data for both tasks."""
    for command, maker in MAKERS.items():
        Path(f"{command}.txt").write_text(maker(60, 1), encoding="utf-8")
        Path(f"{command}.test").write_text(maker(40, 2), encoding="utf-8")
    return program


def dev_scores(log):
    lines = map(json.loads, Path(log).read_text().splitlines())
    return [line["dev_score"] for line in lines if line["event"] == "pass"]


# ---- the commands ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "metric", "unit"),
    [("segment", "word F1", "characters"), ("classify", "accuracy", "features")],
)
def test_compare(cli, command, metric, unit):
    done = cli(
        command, "compare", f"{command}.txt", f"{command}.test",
        "-a", "adf,slow=sgd", "--set", "slow.rate=0.001", "--passes", 3, "--seeds", 1, "-o", "out",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert f"{metric} on {command}.test" in done.out
    content = json.loads(Path("out/report.json").read_text())
    content.pop("command")
    found = Comparison.from_dict(content)
    assert (found.metric, found.train.unit) == (metric, unit)
    assert found.train.name == f"{command}.txt"
    for entry in found.entries:
        rate = ["--rate", "0.001"] if entry.name == "slow" else []
        trained = cli(
            command, "train", f"{command}.txt", "--dev", f"{command}.test", "-m", "m",
            "-a", entry.algorithm, *rate, "--passes", 3, "--log", "log",
        )  # fmt: skip
        assert trained.code == 0
        assert entry.runs[0].scores == pytest.approx(dev_scores("log"), abs=1e-9)


@pytest.mark.parametrize("command", MAKERS)
def test_tune_scores_as_training_does(cli, command):
    """A trial is what the command that trains does with the same settings and parts."""
    done = cli(
        command, "tune", f"{command}.txt", *SMALL, "--also", "cutoff",
        "--held-out", 0.25, "--full", "-o", "t.json",
    )  # fmt: skip
    assert done.code == 0, done.err
    lines = Path(f"{command}.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    Path("part").write_text("".join(lines[:45]), encoding="utf-8")
    Path("rest").write_text("".join(lines[45:]), encoding="utf-8")
    trials = json.loads(Path("t.json").read_text())["trials"]
    assert len(trials) == 6
    for trial in trials:
        options = [f"--{name}={value}" for name, value in trial["settings"].items()]
        trained = cli(
            command, "train", "part", "--dev", "rest", "-m", "m", *options, "--passes", 3,
            "--patience", 9, "--log", "log",
        )  # fmt: skip
        assert trained.code == 0, trained.err
        assert trial["scores"][0] == pytest.approx(dev_scores("log"), abs=1e-9)


def test_the_printed_line_trains_the_segmenter(cli):
    done = cli(
        "segment", "tune", "segment.txt", *SMALL, "--word-cutoff", "2,3", "--tags", "bies",
        "--plain-edges", "--folds", 2, "--seed", 3, "-o", "t.json",
    )  # fmt: skip
    line = shlex.split(done.out.splitlines()[-1])
    assert line[:4] == ["adaptag", "segment", "train", "segment.txt"]
    assert cli(*line[1:]).code == 0
    chosen = json.loads(Path("t.json").read_text())
    model = adaptag.Segmenter.load("model.adaptag")
    expected = adaptag.Segmenter.train(
        "segment.txt", tags="bies", plain_edges=True, seed=3, passes=chosen["passes"],
        **chosen["settings"],
    )  # fmt: skip
    assert model.tags == "bies"
    assert "word_cutoff" in chosen["settings"]
    assert (model.model_.weights == expected.model_.weights).all()


def test_the_printed_line_trains_the_classifier(cli):
    done = cli(
        "classify", "tune", "classify.txt", *SMALL, "--cutoff", "1,2", "--no-bigrams", "--counts",
        "--no-normalise", "--shuffle", "--folds", 2, "-o", "t.json",
    )  # fmt: skip
    line = shlex.split(done.out.splitlines()[-1])
    assert line[:4] == ["adaptag", "classify", "train", "classify.txt"]
    assert cli(*line[1:]).code == 0
    chosen = json.loads(Path("t.json").read_text())
    found = DocumentClassifier.load("model.adaptag")
    expected = DocumentClassifier.train(
        "classify.txt", bigrams=False, binary=False, normalise=False, passes=chosen["passes"],
        **chosen["settings"],
    )  # fmt: skip
    assert (found.format.bigrams, found.format.binary) == (False, False)
    assert not found.scaling.normalise
    assert (found.model.weights == expected.model.weights).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["classify", "tune", "classify.txt", "--also", "word_cutoff"], "'word_cutoff'"),
        (["segment", "tune", "segment.txt", "--also", "word-cutof"], "did you mean 'word_cutoff'"),
        (["segment", "tune", "segment.txt", "--tags", "x"], "tags is 'x'"),
        (["segment", "tune", "segment.txt", "--word-cutoff", "-1"], "word_cutoff is -1"),
        (
            ["segment", "tune", "segment.txt", "--plain-edges", "--edge-share", "0.5"],
            "plain_edges leaves no edge weights",
        ),
        (["segment", "tune", "segment.txt", "-o", "segment.txt"], "--output and TRAIN are"),
        (["segment", "tune", "segment.txt", "-o", "a", "--chart", "a"], "--chart and --output are"),
        (["classify", "compare", "classify.txt", "missing"], "missing: cannot read"),
        (["classify", "compare", "classify.txt", "classify.test", "-a", "x"], "unknown algorithm"),
        (["segment", "compare", "report.md", "segment.test", "-o", "."], "and TRAIN are the same"),
        (["segment", "compare", "segment.txt", "report.md", "-o", "."], "and TEST are the same"),
    ],
)
def test_errors(cli, arguments, message):
    Path("report.md").write_text(spaced(9, 3), encoding="utf-8")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    done = cli(*arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert "Traceback" not in done.err
    assert all(path.read_bytes() == content for path, content in before.items())


@pytest.mark.parametrize("command", ["compare", "tune"])
@pytest.mark.parametrize("task", ["", "segment", "classify"])
def test_help_shows_the_settings_of_the_task(program, task, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    name = {"": TAGGING, "segment": SEGMENTATION, "classify": CLASSIFICATION}[task]
    done = program(*filter(None, [task]), command, "--help")
    for setting_name, declaration in TASKS[name].declared().items():
        option = declaration.flag.split("/")[0] or f"--{setting_name.replace('_', '-')}"
        assert option in done.out


# ---- settings that declare values to try -------------------------------------------------------


@dataclass(kw_only=True)
class MoreFeatures(FeatureSettings):
    """Features with an option more."""

    reach: int = setting(1, "How far it goes.", "integer [1, 9]", search=(1, 3))


def test_a_new_setting_is_searched_by_its_declaration_alone():
    task = TaskDeclaration("more", ("adaptag", "train"), (MoreFeatures,))
    space = space_of(algorithm("adf"), None, ["reach"], task.searchable())
    assert space["reach"] == (1, 3)
    given = space_of(algorithm("adf"), {"reach": ["2", 9.0]}, (), task.searchable())
    assert given["reach"] == (2, 9)
    with pytest.raises(ParameterError, match="reach is 10"):
        space_of(algorithm("adf"), {"reach": [10]}, (), task.searchable())
    with pytest.raises(ParameterError, match="unknown parameter to search 'reach'"):
        space_of(algorithm("adf"), None, ["reach"], TASKS[TAGGING].searchable())


def test_tasks_have_the_names_of_corpora():
    assert list(TASKS) == [TAGGING, SEGMENTATION, CLASSIFICATION]
    kinds = [type(task_of(name, {})) for name in TASKS]
    assert kinds == [Tagging, Segmentation, Classification]


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("tagging", {"templat": "x"}, "did you mean 'template'"),
        ("segmenting", {}, "did you mean 'segmentation'"),
        ("segmentation", {"word_cutoff": -1}, "word_cutoff is -1"),
        (Segmentation({"tags": "bies"}), {"tags": "bie"}, "the task has its tags already"),
    ],
)
def test_options_that_are_refused(task, options, message):
    for run in (
        lambda: tune([], task=task, **options),
        lambda: compare([], [], task=task, **options),
    ):
        with pytest.raises(ParameterError, match=message):
            run()


def test_a_setting_cannot_be_fixed_and_searched():
    with pytest.raises(ParameterError, match="cutoff is given both"):
        tune([[("a", "A")]] * 9, cutoff=2, also=["cutoff"])


# ---- from Python -------------------------------------------------------------------------------


def test_python_data():
    sentences = [line.split() for line in spaced(40, 1).splitlines()]
    pairs = [line.split("\t") for line in documents(40, 1).splitlines()]
    texts = [text for _, text in pairs], [label for label, _ in pairs]
    space = {"rate": [0.1], "sigma": [2, 5]}
    for task, data in (("segmentation", sentences), ("classification", texts)):
        found = tune(data, task=task, space=space, passes=2, folds=2, jobs=1)
        assert found.best.mean > 50
        assert found.task == task
        result = compare(data, data, task=task, algorithms=["adf"], passes=2)
        assert result.entries[0].runs[0].scores[-1] > 50
        assert result.train.name == "Python data"


def test_processes_give_the_same_scores():
    corpus = SegmentedCorpus.from_sentences(line.split() for line in spaced(40, 1).splitlines())
    call = {"space": {"rate": [0.1], "sigma": [2, 5], "cutoff": [1, 2]}, "folds": 2, "passes": 2}
    one, two = (tune(corpus, task="segmentation", jobs=jobs, **call) for jobs in (1, 2))
    assert [t.scores for t in one.trials] == [t.scores for t in two.trials]


def test_documents_are_selected():
    pairs = [("a", "good"), ("b b", "bad"), ("c d", "good")]
    whole = Documents.from_texts(*zip(*pairs, strict=True))
    part = whole.select(np.array([2, 0]))
    expected = Documents.from_texts(["c d", "a"], ["good", "good"], whole.format)
    assert part.format == whole.format
    assert part.corpus.number_labels()[1] == expected.corpus.number_labels()[1]
    assert list(part.corpus.positions) == list(expected.corpus.positions)
    names = [[bytes(c.text[b:e]) for b, e in c.cells[:, 0]] for c in (part.corpus, expected.corpus)]
    assert names[0] == names[1]


def test_the_state_of_other_labels_is_refused(tmp_path):
    tokens = [["a", "b"], ["b", "c"], ["c", "a"], ["a", "c"]]
    call = {"space": {"rate": [0.1], "sigma": [2]}, "folds": 2, "passes": 1, "jobs": 1}
    call["checkpoint"] = tmp_path / "state"
    tune((tokens, [["A", "B"]] * 4), **call)
    with pytest.raises(ParameterError, match="state of another search: data"):
        tune((tokens, [["B", "A"]] * 4), **call)


# ---- what goes wrong ---------------------------------------------------------------------------

WILD = {"rate": 1e38, "sigma": math.inf}


def test_an_algorithm_that_diverges_is_left_out():
    data = [[("a", "A"), ("b", "B")], [("b", "B"), ("a", "A")]] * 9
    found = compare(data, data, algorithms=["adf", "wild=sgd"], passes=2, parameters={"wild": WILD})
    assert [entry.name for entry in found.entries] == ["adf"]
    assert "diverged" in found.errors["wild"]
    assert found.unfinished == ()
    with pytest.raises(DivergenceError):
        compare(data, data, algorithms=["wild=sgd"], passes=2, parameters={"wild": WILD})


def test_a_trial_that_diverges_is_the_worst():
    data = [[("a", "A"), ("b", "B")], [("b", "B"), ("a", "A")]] * 9
    space = {"rate": [1e38, 0.1], "sigma": [math.inf]}
    found = tune(data, algorithm="sgd", space=space, folds=2, passes=2, jobs=1)
    assert found.settings["rate"] == 0.1
    assert found.trials[1].mean == 0


class CtrlC(Callback):
    """A real interrupt after the last pass of the last training."""

    def __init__(self, trainings, passes):
        self.left, self.passes = trainings, passes

    def on_start(self, *_):
        self.left -= 1

    def on_pass(self, history):
        if self.left == 0 and len(history) == self.passes:
            os.kill(os.getpid(), signal.SIGINT)
        return False


def test_an_interrupt_after_the_last_pass_loses_nothing():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        lines = [line.split() for line in spaced(30, 1).splitlines()]
        call = {"task": "segmentation", "algorithms": ["adf", "sgd"], "passes": 2}
        found = compare(lines, lines, **call, callbacks=[CtrlC(2, 2)])
        assert [len(entry.runs[0].scores) for entry in found.entries] == [2, 2]
        cut = compare(lines, lines, **call, callbacks=[CtrlC(2, 1)])
        assert ([e.name for e in cut.entries], cut.unfinished) == (["adf"], ("sgd",))
    finally:
        signal.signal(signal.SIGINT, before)
