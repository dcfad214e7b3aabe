"""Checkpoints while training: when they are written, and that continuing changes no bit."""

from __future__ import annotations

import os
import threading
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import adaptag
from adaptag.classification.documents import DocumentClassifier
from adaptag.corpus.ingredients import ingredients
from adaptag.errors import (
    DivergenceError,
    DivergenceWarning,
    FileError,
    FileWarning,
    MissingFileError,
    ParameterError,
)
from adaptag.experiments.comparison import compare
from adaptag.experiments.tuning import tune
from adaptag.storage import files
from adaptag.training import batch, orders, saving
from adaptag.training.algorithms import algorithms
from adaptag.training.checkpoint import Checkpoint
from adaptag.training.saving import CheckpointFile, Every

SPLITS = ingredients(80, 0, 40)
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\n*2:%x[0,0]\nB"


def data(sentences):
    return [list(zip(s.tokens, s.labels, strict=True)) for s in sentences]


TRAIN, DEV = data(SPLITS.train), data(SPLITS.test)
SPACED = [["天", "天", "中国"], ["中国", "人"], ["人", "天天", "中"], ["国", "人"]] * 10
DOCUMENTS = ["good fine", "bad poor", "fine day", "poor show bad"] * 10, ["y", "n"] * 20


class KilledError(Exception):
    """Stands for what ends a process."""


class Killed(adaptag.Callback):
    """Ends training after a number of sentences, without a chance to save anything."""

    def __init__(self, after):
        self.after, self.seen = after, 0

    def on_progress(self, sentences):
        self.seen += sentences
        if self.seen >= self.after:
            raise KilledError


def train(**given):
    return adaptag.train(TRAIN, **{"template": TEMPLATE, "passes": 8, **given})


@pytest.fixture
def _at_once(monkeypatch):
    """Each checkpoint is waited for, so that none is left out on a busy machine."""
    monkeypatch.setattr(threading.Thread, "is_alive", lambda _: False)


def killed(run, path, sentences, **given):
    """Run a training that is killed, and continue it."""
    with pytest.raises(KilledError):
        run(checkpoint=path, every=1, callbacks=[Killed(sentences)], **given)
    before = Checkpoint.load(path)
    assert 0 < len(before.history) < 8
    assert not before.stopped
    return run(checkpoint=path, resume=path, **given)


# ---- the same bits -------------------------------------------------------------------------------

FORMS = [
    {},
    {"dev": DEV, "patience": 99},
    {"threads": 2},
    {"orders": 3, "dropout": 0.3},
    {"scheme": "auto"},
    {"converge": True},
]


@pytest.mark.parametrize("name", algorithms())
def test_a_killed_training_ends_with_the_same_bits(name, tmp_path):
    given = {"algorithm": name, "dev": DEV, "patience": 99}
    expected = train(**given).to_bytes()
    assert killed(train, tmp_path / "c", 4.5 * len(TRAIN), **given).to_bytes() == expected


@pytest.mark.parametrize("large", [saving.LARGE, 0], ids=["", "prepared"])
@pytest.mark.parametrize("given", FORMS, ids=str)
def test_in_all_forms(given, large, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "LARGE", large)
    expected = train(**given).to_bytes()
    assert killed(train, tmp_path / "c", 3.5 * len(TRAIN), **given).to_bytes() == expected


@pytest.mark.parametrize("name", ["adf", "averaged-perceptron", "cw"])
def test_in_the_middle_of_a_pass(name, tmp_path, monkeypatch):
    """A state between parts of a pass is saved too, with what was summed up in the pass."""
    monkeypatch.setattr(orders, "SLICE_TOKENS", 30)
    path, given = tmp_path / "c", {"algorithm": name, "batch": 3}
    expected = train(**given).to_bytes()
    with pytest.raises(KilledError):
        train(checkpoint=path, every="0.0001s", callbacks=[Killed(2.5 * len(TRAIN))], **given)
    assert Checkpoint.load(path).sums.sentences > 0
    assert train(resume=path, **given).to_bytes() == expected


@pytest.mark.parametrize("name", ["adf", "sgd", "pa", "lbfgs"])
def test_segmenters(name, tmp_path):
    def run(**given):
        return adaptag.Segmenter.train(SPACED, algorithm=name, passes=8, **given)

    expected = run().to_bytes()
    assert killed(run, tmp_path / "c", 4.5 * len(SPACED)).to_bytes() == expected


@pytest.mark.parametrize("name", ["adf", "sgd", "arow", "owlqn"])
@pytest.mark.parametrize("threads", [1, 2])
def test_classifiers(name, threads, tmp_path):
    def run(**given):
        options = {"algorithm": name, "passes": 8, "threads": threads}
        return DocumentClassifier.train(*DOCUMENTS, **options, **given)

    expected = run().to_bytes()
    assert killed(run, tmp_path / "c", 4.5 * len(DOCUMENTS[0])).to_bytes() == expected


def test_saving_at_any_time_changes_no_bit_of_classifiers(tmp_path):
    """Documents are trained on in a form of their own, which reads weights in its own way."""
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{k}" for k in rng.integers(0, 60, 12)) for _ in range(120)]
    data = texts, [str(k) for k in rng.integers(0, 3, 120)]
    for name in ("adf", "sgd"):
        for threads in (1, 2):
            given = {"algorithm": name, "passes": 9, "threads": threads}
            expected = DocumentClassifier.train(*data, **given).to_bytes()
            for every in (1, 2, 3, 10):
                path = tmp_path / f"{name}{threads}{every}"
                saved = DocumentClassifier.train(*data, **given, checkpoint=path, every=every)
                assert saved.to_bytes() == expected
            again = DocumentClassifier.train(*data, **given, resume=path)
            assert again.to_bytes() == expected


def test_saving_changes_no_bit(tmp_path):
    for name in algorithms():
        saved = train(algorithm=name, checkpoint=tmp_path / "c", every="0.0001s")
        assert saved.to_bytes() == train(algorithm=name).to_bytes()


# ---- the same call again -------------------------------------------------------------------------


class Passes(adaptag.Callback):
    """Counts passes, and keeps notes."""

    def __init__(self):
        self.passes, self.notes = 0, []

    def on_pass(self, history):  # noqa: ARG002
        self.passes += 1
        return False

    def on_note(self, text):
        self.notes.append(text)


@pytest.mark.parametrize("name", ["adf", "lbfgs"])
@pytest.mark.parametrize("given", [{}, {"dev": DEV, "patience": 2}, {"converge": True}], ids=str)
def test_a_finished_training_is_not_repeated(name, given, tmp_path):
    path = tmp_path / "c"
    given = {"algorithm": name, "passes": 60, "tolerance": 1e-2, **given}
    given = given if name == "lbfgs" else {k: v for k, v in given.items() if k != "tolerance"}
    first, second = Passes(), Passes()
    model = train(checkpoint=path, resume=path, callbacks=[first], **given)
    assert any("does not exist yet: training starts" in note for note in first.notes)
    again = train(checkpoint=path, resume=path, callbacks=[second], **given)
    assert first.passes > second.passes == 0
    assert any("training had ended" in note for note in second.notes)
    assert again.to_bytes() == model.to_bytes()


def test_a_checkpoint_to_continue_from_must_exist_unless_it_is_saved_too(tmp_path):
    for given in ({}, {"checkpoint": tmp_path / "other"}):
        with pytest.raises(MissingFileError):
            train(resume=tmp_path / "c", **given)


def test_more_patience_continues_a_finished_training(tmp_path):
    path, given = tmp_path / "c", {"dev": DEV, "passes": 40}
    short = train(checkpoint=path, patience=1, **given)
    assert short.provenance["stopped"] == "callback"
    longer = train(resume=path, patience=6, **given)
    assert longer.to_bytes() == train(patience=6, **given).to_bytes()
    assert len(longer.provenance["passes"]) > len(short.provenance["passes"])


def test_another_set_of_legal_transitions_is_refused(tmp_path):
    train(passes=1, checkpoint=tmp_path / "c")
    with pytest.raises(ParameterError, match="set of legal transitions"):
        train(passes=2, legal="seen", resume=tmp_path / "c")


# ---- when ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, Every()),
        (3, Every(3)),
        ("12", Every(12)),
        ("30s", Every(seconds=30)),
        ("5m", Every(seconds=300)),
        (" 1.5 h", Every(seconds=5400)),
    ],
)
def test_intervals(value, expected):
    assert Every.of(value) == expected


@pytest.mark.parametrize("value", ["", "0", 0, -1, "1.5", "5x", "m", "0s", True, "nan", "1e3s"])
def test_intervals_that_are_refused(value):
    with pytest.raises(ParameterError, match=r"every is .*; allowed: a number of passes"):
        Every.of(value)


def test_every_needs_a_file():
    with pytest.raises(ParameterError, match="it needs checkpoint"):
        train(every=1)


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("algorithm", ["lbfgs", "owlqn"])
def test_a_training_that_is_killed_when_it_has_converged(algorithm, tmp_path, monkeypatch):
    given = {"algorithm": algorithm, "passes": 200, "tolerance": 1e-2}
    expected = train(**given)
    assert expected.provenance["stopped"] == "converged"
    converged = batch.Descent._converged

    def killed_where_true(self):
        if converged(self):
            raise KilledError
        return False

    path = tmp_path / "c"
    with monkeypatch.context() as patch:
        patch.setattr(batch.Descent, "_converged", killed_where_true)
        with pytest.raises(KilledError):
            train(checkpoint=path, every=1, **given)
    assert len(Checkpoint.load(path).history) == len(expected.provenance["passes"])
    assert train(checkpoint=path, resume=path, **given).to_bytes() == expected.to_bytes()


@pytest.mark.usefixtures("_at_once")
def test_every_second_pass(tmp_path, monkeypatch):
    saved = []
    save = Checkpoint.save

    def noted(self, path):
        saved.append(len(self.history))
        save(self, path)

    monkeypatch.setattr(Checkpoint, "save", noted)
    train(passes=7, checkpoint=tmp_path / "c", every=2)
    assert saved == [2, 4, 6, 7]


def checkpoint_of(array):
    return Checkpoint("adf", {}, 1, [], {"weights": array}, 0)


def test_there_is_one_writer_and_it_has_a_copy(tmp_path, monkeypatch):
    release, begun, seen = threading.Event(), threading.Event(), []

    def slow(self, _):
        begun.set()
        assert release.wait(10)
        seen.append((threading.current_thread().name, self.arrays["weights"].tolist()))

    monkeypatch.setattr(Checkpoint, "save", slow)
    file, weights = CheckpointFile(tmp_path / "c", Every(1)), np.zeros(3, np.float32)
    file.begin(0)
    file.offer(lambda: checkpoint_of(weights), 1)
    assert begun.wait(10)
    weights[:] = 7  # training goes on
    file.offer(lambda: pytest.fail("two writers"), 2)
    release.set()
    file.close()
    assert seen == [("checkpoint", [0, 0, 0])]
    file.offer(lambda: checkpoint_of(weights), 3)  # what had to wait is due
    file.finish(replace(checkpoint_of(weights), stopped="passes"))
    assert seen[1:] == [("checkpoint", [7, 7, 7]), ("MainThread", [7, 7, 7])]


def test_time_is_counted_from_the_last_one(tmp_path):
    file, calls = CheckpointFile(tmp_path / "c", Every(seconds=0.2)), []

    def make():
        calls.append(time.monotonic())
        return checkpoint_of(np.zeros(1, np.float32))

    file.begin(0)
    begin = time.monotonic()
    while time.monotonic() - begin < 0.5:
        file.offer(make, 0)
        time.sleep(0.01)
    file.close()
    assert 1 <= len(calls) <= 2
    assert calls[0] - begin >= 0.2


# ---- what goes wrong -----------------------------------------------------------------------------


def test_a_checkpoint_that_cannot_be_written_is_a_warning(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(files, "_open_beside", full)
    monkeypatch.setattr("adaptag.training.saving.check_writable", lambda _: None)
    with pytest.warns(FileWarning, match="no checkpoint was saved: .*cannot write: No space left"):
        model = train(checkpoint=tmp_path / "c", every=1)
    assert model.to_bytes() == train().to_bytes()


@pytest.mark.parametrize("place", ["missing/c", "x" * 300])
def test_a_place_that_cannot_be_written_is_noticed_before_training(place, tmp_path):
    with pytest.raises(FileError, match="cannot write"):
        train(checkpoint=tmp_path / place, callbacks=[Killed(0)])


# ---- divergence ----------------------------------------------------------------------------------


def poisoned(monkeypatch, number):
    """Have the weights become infinite in a pass."""
    parts = orders.OrderedTraining.parts

    def broken(self, pass_number):
        for part in parts(self, pass_number):
            if pass_number == number:
                self.trainers[0].weights[:] = np.inf
            yield part

    monkeypatch.setattr(orders.OrderedTraining, "parts", broken)


@pytest.mark.parametrize("scored", [False, True])
def test_training_that_diverges_ends_with_the_last_finite_weights(scored, monkeypatch):
    given = {"dev": DEV, "patience": 99} if scored else {}
    expected = train(passes=3, algorithm="perceptron", **given)
    poisoned(monkeypatch, 4)
    with pytest.warns(DivergenceWarning, match="training diverged: .*; lower the learning rate"):
        model = train(passes=9, algorithm="perceptron", **given)
    assert model.provenance["stopped"] == "diverged"
    assert model.weights.tobytes() == expected.weights.tobytes()
    assert len(model.provenance["passes"]) == 3


def test_training_that_diverges_at_once_is_an_error(monkeypatch):
    poisoned(monkeypatch, 1)
    with pytest.raises(DivergenceError, match="training diverged"):
        train(algorithm="perceptron")


@pytest.mark.usefixtures("_at_once")
def test_a_diverged_training_leaves_its_last_checkpoint(tmp_path, monkeypatch):
    poisoned(monkeypatch, 4)
    path = tmp_path / "c"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        first = train(passes=9, algorithm="perceptron", checkpoint=path, every=1, resume=path)
        second = train(passes=9, algorithm="perceptron", checkpoint=path, every=1, resume=path)
    assert Checkpoint.load(path).stopped == ""
    assert first.to_bytes() == second.to_bytes()


def test_training_starts_again_with_a_lower_rate():
    notes = Passes()
    model = train(algorithm="sgd", rate=1e36, sigma=float("inf"), restarts=50, callbacks=[notes])
    rate = model.provenance["parameters"]["rate"]
    assert rate < 1e36
    assert np.isfinite(model.weights).all()
    assert any(f"training starts again with rate {rate:g}" in note for note in notes.notes)
    again = train(algorithm="sgd", rate=rate, sigma=float("inf"))
    assert again.weights.tobytes() == model.weights.tobytes()


# ---- experiments ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("_at_once")
def test_a_comparison_continues_in_the_middle_of_a_run(tmp_path):
    call = {"algorithms": ["adf", "lbfgs"], "passes": 6, "seeds": (1, 2), "template": TEMPLATE}
    expected = compare(TRAIN, DEV, **call)
    path = tmp_path / "runs"
    with pytest.raises(KilledError):
        compare(TRAIN, DEV, checkpoint=path, every=1, callbacks=[Killed(9.5 * len(TRAIN))], **call)
    assert sorted(p.name for p in Path(f"{path}.checkpoints").iterdir()) == ["1-0"]
    count = Passes()
    found = compare(TRAIN, DEV, checkpoint=path, callbacks=[count], **call)
    assert count.passes == 18 - 6 - 3  # a run and three passes were saved
    assert scores_of(found) == scores_of(expected)
    assert found.significance == expected.significance
    assert not Path(f"{path}.checkpoints").exists()
    count = Passes()
    again = compare(TRAIN, DEV, checkpoint=path, callbacks=[count], **call)
    assert scores_of(again) == scores_of(expected)
    assert count.passes == 0
    with pytest.raises(ParameterError, match="the state of another comparison: runs"):
        compare(TRAIN, DEV, checkpoint=path, **{**call, "passes": 7})
    with pytest.raises(ParameterError, match="the state of another comparison: data"):
        compare(TRAIN, DEV[:-1], checkpoint=path, **call)
    compare(TRAIN, DEV[:-1], checkpoint=path, restart=True, **{**call, "passes": 1})


def scores_of(comparison):
    return [
        (entry.name, [(run.scores, run.objective, run.active, run.stopped) for run in entry.runs])
        for entry in comparison.entries
    ]


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("name", ["adf", "lbfgs"])
def test_a_search_continues_in_the_middle_of_a_job(name, tmp_path, monkeypatch):
    from adaptag.experiments import jobs

    space = {"sigma": [1, 5], **({"rate": [0.1]} if name == "adf" else {})}
    call = {"algorithm": name, "space": space, "folds": 2, "passes": 6, "jobs": 1}
    call["finalists"] = None
    if name == "lbfgs":  # in this process, for the test
        monkeypatch.setattr(jobs, "algorithm", lambda _: algorithms()["adf"])
    expected = tune(TRAIN, template=TEMPLATE, **call)
    path = tmp_path / "state"
    monkeypatch.setattr(jobs, "_Stopping", lambda _: Killed(3.5 * len(TRAIN) / 2))
    with pytest.raises(KilledError):
        tune(TRAIN, template=TEMPLATE, checkpoint=path, every=1, **call)
    assert len(list(Path(f"{path}.checkpoints").iterdir())) == 1
    count = Passes()
    monkeypatch.setattr(jobs, "_Stopping", lambda _: count)
    found = tune(TRAIN, template=TEMPLATE, checkpoint=path, **call)
    assert [t.scores for t in found.trials] == [t.scores for t in expected.trials]
    assert count.passes == sum(len(s) for t in expected.trials for s in t.scores) - 3
