"""``adaptag tune``: choosing settings on training data alone."""

from __future__ import annotations

import itertools
import json
import math
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import adaptag
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.columns import ColumnCorpus, ColumnFormat
from adaptag.corpus.ingredients import column_text, ingredients
from adaptag.errors import AdaptagError, FileError, ModelError, ParameterError
from adaptag.experiments import jobs as jobs_module
from adaptag.experiments import tasks as tasks_module
from adaptag.experiments import trials as trials_module
from adaptag.experiments.declarations import TAGGING
from adaptag.experiments.jobs import Job, Search, Worker
from adaptag.experiments.problem import Part
from adaptag.experiments.space import at_edge, configurations, resolve, space_of
from adaptag.experiments.state import JobResult, State
from adaptag.experiments.tasks import Tagging
from adaptag.experiments.tuning import Trial, Tuning, TuningCallback, folds_of, rungs_of, tune
from adaptag.training.algorithms import algorithm
from adaptag.training.checkpoint import Checkpoint

TRAIN = ingredients(train=120, dev=0, test=0).train
DATA = [list(zip(line.tokens, line.labels, strict=True)) for line in TRAIN]
GRID = {"rate": [0.01, 0.1, 0.3], "sigma": [0.5, 5]}


@pytest.fixture
def cli(program):
    """Run the program in a folder with some files."""
    Path("train.txt").write_text(column_text(TRAIN), encoding="utf-8")
    return program


@pytest.fixture(scope="module")
def found():
    return tune(DATA, space=GRID, passes=8, jobs=1)


def curves(tuning):
    """What a search found, without times."""
    return [(t.settings, t.scores, t.ended) for t in tuning.trials]


class Count(TuningCallback):
    """Counts the jobs that were done, not known."""

    def __init__(self):
        self.jobs = 0

    def on_progress(self, progress):
        if progress.done == self.before(progress):
            self.known = progress.done
        else:
            self.jobs += 1
        self.last = progress

    def before(self, progress):
        new = getattr(self, "last", None) is None or self.last.rung != progress.rung
        return progress.done if new else self.last.done


# Folds


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize(("sentences", "folds"), [(10, 4), (4, 4), (103, 7)])
def test_folds_partition_the_sentences(sentences, folds, seed):
    parts = folds_of(sentences, folds, seed=seed)
    assert len(parts) == folds
    assert sorted(np.concatenate(parts)) == list(range(sentences))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_folds_are_stretches_unless_shuffled():
    assert [list(part) for part in folds_of(6, 3)] == [[0, 1], [2, 3], [4, 5]]
    assert list(folds_of(10, 4, held_out=0.2)[0]) == [8, 9]
    assert list(folds_of(100, 2, seed=1)[0]) != list(range(50))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 4), "folds is 4; allowed: 2 to 3"),
        ((3, 1), "folds is 1"),
        ((3, 2, 0.0), "held_out is 0.0"),
        ((3, 2, 0.99), "both parts"),
        ((1, 4), "the training data has 1 sentence; allowed: 2 or more"),
        ((1, 4, 0.5), "the training data has 1 sentence; allowed: 2 or more"),
    ],
)
def test_impossible_folds(arguments, message):
    with pytest.raises(ParameterError, match=message):
        folds_of(*arguments)


def search(corpus, folds=3, folder=Path("nowhere"), **settings):
    return Search(Tagging(settings), corpus, folds_of(len(corpus), folds), "adf", 1, folder)


def parts(corpus, fold, **features):
    """The datasets that a fold trains on and scores."""
    made = []
    with pytest.MonkeyPatch.context() as patch:
        real = tasks_module._tagging_part
        patch.setattr(tasks_module, "_tagging_part", lambda *two: made.append(two) or real(*two))
        search(corpus, template="U:%x[0,0]\n").part(fold, tuple(features.items()))
    return made[0][:2]


def test_features_come_from_the_training_part_alone():
    words = [f"word{n}" for n in range(9)]
    corpus = ColumnCorpus.from_sentences([[(word, "A"), ("x", "B")] for word in words])
    for fold in range(3):
        training, rest = parts(corpus, fold)
        names = {training.index.name(p) for p in range(training.index.n_predicates)}
        unseen = set(words[3 * fold : 3 * fold + 3])
        assert names == {"U:x", *(f"U:{word}" for word in set(words) - unseen)}
        assert rest.index is training.index
        assert (len(training), len(rest)) == (6, 3)
        # Of each held-out sentence only x is known.
        assert len(rest.encoded.predicates) == 3


def test_the_cutoff_counts_in_the_training_part_alone():
    corpus = ColumnCorpus.from_sentences([[("a", "A"), ("x", "B")], [("b", "A")], [("a", "A")]])
    for fold, names in enumerate([set(), {"U:a"}, set()]):
        index = parts(corpus, fold, cutoff=2)[0].index
        assert {index.name(p) for p in range(index.n_predicates)} == names


def test_labels_that_only_a_held_out_part_has_are_scored():
    corpus = ColumnCorpus.from_sentences([[("a", "A")], [("b", "B")], [("c", "C")]])
    training, rest = parts(corpus, 2)
    assert training.label_names == ("A", "B")
    assert rest.label_names == ("A", "B", "C")


def test_sentences_of_attributes_are_selected():
    text = "A\tx:2\ty\nB\tz\n\nB\n\nA\ty\tz:0.5\n\n"
    corpus = AttributeCorpus.from_bytes(text.encode())
    part = corpus.select(np.array([2, 0]))
    expected = AttributeCorpus.from_bytes(b"A\ty\tz:0.5\n\nA\tx:2\ty\nB\tz\n\n")
    assert list(part.values) == list(expected.values)
    assert list(part.positions) == list(expected.positions)
    assert list(part.sentences) == list(expected.sentences)
    assert list(part.number_labels()[0]) == list(expected.number_labels()[0])
    cells = [bytes(part.text[b:e]).decode() for b, e in part.cells[:, 0]]
    assert cells == ["y", "z", "x", "y", "z"]
    assert list(part.lines) == [6, 1, 2]


# What is tried


def test_the_default_space_follows_the_algorithm():
    assert set(space_of(algorithm("adf"))) == {"rate", "sigma"}
    assert space_of(algorithm("adf"))["rate"] == (0.025, 0.05, 0.1, 0.2, 0.4)
    assert space_of(algorithm("sgd-l1"))["rate"] == (0.125, 0.25, 0.5, 1.0, 2.0)
    assert set(space_of(algorithm("sgd-l1"))) == {"rate", "l1"}
    assert set(space_of(algorithm("owlqn"))) == {"l1"}
    assert space_of(algorithm("perceptron")) == {}
    assert configurations({}) == [{}]


def tagging_space(name, given=None, also=()):
    return space_of(algorithm(name), given, also, TAGGING.searchable())


def test_given_values_replace_and_fix():
    space = tagging_space("adf", {"sigma": [math.inf], "cutoff": [1, 2, 2.0]}, ["beta"])
    assert space["sigma"] == (math.inf,)
    assert space["cutoff"] == (1, 2)
    assert space["beta"] == (0.4, 0.6, 0.8)


@pytest.mark.parametrize(
    ("given", "also", "message"),
    [
        ({"rat": [1]}, (), "adf: unknown parameter 'rat'; did you mean 'rate'"),
        ({"rate": []}, (), "rate has no value to try"),
        ({"rate": [-1]}, (), "rate is -1; allowed"),
        ({"cutoff": [1.5]}, (), "cutoff is 1.5"),
        ({"cutoff": ["x"]}, (), "cutoff is 'x'"),
        ({"cutoff": [0]}, (), "cutoff is 0"),
        ({"window": ["n/0"]}, (), "window is 'n/0'"),
        ({}, ["gamma"], "unknown parameter to search 'gamma'"),
        ({}, ["l1"], "unknown parameter to search 'l1'"),
    ],
)
def test_impossible_spaces(given, also, message):
    with pytest.raises(ParameterError, match=message):
        tagging_space("adf", given, also)


def test_what_the_algorithm_lacks_cannot_be_searched():
    with pytest.raises(ParameterError, match="sgd: unknown parameter 'alpha'"):
        tagging_space("sgd", None, ["alpha"])


def test_windows_are_parts_of_the_sentences():
    assert resolve({"window": "n/10", "cutoff": 2}, 95) == {"window": 9, "cutoff": 2}
    assert resolve({"window": "n/10"}, 3) == {"window": 1}
    assert resolve({"window": 7.0}, 95) == {"window": 7.0}


def test_edges():
    space = {"rate": (0.1, 0.2, 0.4), "sigma": (1, math.inf), "cutoff": (1, 2), "beta": (0.6,)}
    declared = {p.name: p for p in algorithm("adf").parameters} | TAGGING.declared()
    chosen = {"rate": 0.2, "sigma": math.inf, "cutoff": 1, "beta": 0.6}
    assert at_edge(space, chosen, declared) == []  # no value could lie beyond these
    chosen = {"rate": 0.4, "sigma": 1, "cutoff": 2, "beta": 0.6}
    assert at_edge(space, chosen, declared) == ["rate", "sigma", "cutoff"]


# Successive halving


@pytest.mark.parametrize(
    ("arguments", "rungs"),
    [
        ((16, 20, 2), [(16, 3), (8, 5), (4, 10), (2, 20)]),
        ((9, 20, 2), [(9, 3), (5, 5), (3, 10), (2, 20)]),
        ((100, 20, 2), [(100, 3), (50, 5), (25, 10), (13, 20)]),
        ((2, 20, 2), [(2, 20)]),
        ((16, 20, None), [(16, 20)]),
        ((16, 2, 2), [(16, 2)]),
        ((5, 10, 4), [(5, 5), (4, 10)]),
        ((1, 1, 1), [(1, 1)]),
    ],
)
def test_rungs(arguments, rungs):
    assert rungs_of(*arguments) == rungs


def test_the_better_half_goes_on(found):
    assert found.rungs == ((6, 4), (3, 8))
    assert sorted(trial.trained for trial in found.trials) == [4, 4, 4, 8, 8, 8]
    first = [max(trial.curve[:4]) for trial in found.trials]
    on = [score for score, trial in zip(first, found.trials, strict=True) if trial.trained == 8]
    off = [score for score, trial in zip(first, found.trials, strict=True) if trial.trained == 4]
    assert min(on) >= max(off)
    assert [trial.trained for trial in found.trials] == [8, 8, 8, 4, 4, 4]


def test_trials_that_go_on_are_those_that_never_stopped(found):
    full = tune(DATA, space=GRID, passes=8, finalists=None, jobs=1)
    whole = {trial.number: trial for trial in full.trials}
    for trial in found.trials:
        for scores, all_scores in zip(trial.scores, whole[trial.number].scores, strict=True):
            assert scores == all_scores[: len(scores)]


def test_no_pass_is_made_twice(monkeypatch):
    passes, run = [], Part.run

    def counted(self, settings, *, resume, **options):
        passes.append(settings.passes - (0 if resume is None else len(resume.history)))
        return run(self, settings, resume=resume, **options)

    monkeypatch.setattr(Part, "run", counted)
    tune(DATA, space=GRID, passes=8, jobs=1)
    assert passes == [4] * 24 + [4] * 12


def test_without_room_on_the_disk_trials_start_anew(found, monkeypatch):
    monkeypatch.setattr(jobs_module, "DISK_ROOM", 1 << 80)
    monkeypatch.setattr(Checkpoint, "save", None)
    assert curves(tune(DATA, space=GRID, passes=8, jobs=1)) == curves(found)


def brute_force(settings, passes):
    """Mean scores after each pass, by ``adaptag.train`` on each fold."""
    total = np.zeros(passes)
    bounds = [len(DATA) * k // 4 for k in range(5)]
    for first, last in itertools.pairwise(bounds):
        model = adaptag.train(
            DATA[:first] + DATA[last:],
            dev=DATA[first:last],
            passes=passes,
            patience=passes,
            **settings,
        )
        total += [one["dev_score"] for one in model.provenance["passes"]]
    return total / 4


def test_the_choice_is_that_of_a_brute_force_search():
    space = {"rate": [0.02, 0.2], "sigma": [0.5, 5], "cutoff": [1, 2]}
    found = tune(DATA, space=space, passes=4, finalists=None, jobs=1)
    expected = {}
    for trial in found.trials:
        means = brute_force(trial.settings, 4)
        assert trial.curve == pytest.approx(means, abs=1e-9)
        expected[trial.number] = means
    best = max(expected, key=lambda number: expected[number].max())
    assert found.best.number == best
    assert found.passes == 1 + expected[best].argmax()


def test_the_order_of_equals():
    settings = [
        {"sigma": 2.0, "rate": 0.1},
        {"sigma": 1.0, "rate": 0.2},
        {"sigma": 1.0, "rate": "auto"},
        {"sigma": 1.0, "rate": 0.1},
    ]
    trials = [Trial(k, one, [[50.0, 90.0, 90.0]]) for k, one in enumerate(settings)]
    trials.append(Trial(4, {"sigma": 9.0, "rate": 9.0}, [[90.5]]))
    assert [t.number for t in sorted(trials, key=lambda t: t.rank)] == [4, 3, 1, 2, 0]
    assert trials[0].passes == 2
    strong = [
        Trial(k, {"l1": l1, "cutoff": c}, [[1.0]])
        for k, (l1, c) in enumerate([(1, 9), (2, 1), (2, 3)])
    ]
    assert [t.number for t in sorted(strong, key=lambda t: t.rank)] == [2, 1, 0]


def test_folds_that_ended_keep_their_last_score():
    trial = Trial(0, {}, [[10.0, 20.0], [30.0, 40.0, 60.0]], [True, False])
    assert trial.curve == [20.0, 30.0, 40.0]
    assert trial.deviation == pytest.approx(np.std([20, 60], ddof=1))
    assert Trial(0, {}, [[10.0]]).deviation is None


# Processes, and going on


def test_the_number_of_processes_changes_nothing(found):
    assert curves(tune(DATA, space=GRID, passes=8, jobs=2)) == curves(found)


def test_batch_algorithms():
    """They keep no checkpoint, and end by their own rule."""
    pytest.importorskip("scipy")
    space = {"sigma": [0.1, 1, 10], "tolerance": [0.01]}
    call = {"algorithm": "lbfgs", "space": space, "folds": 2, "passes": 60}
    call["template"] = "U:%x[0,0]\nB\n"
    found = tune(DATA[:40], **call, jobs=1)
    assert found.rungs == ((3, 30), (2, 60))
    assert all(found.best.ended)
    assert found.best.trained < 30
    assert curves(tune(DATA[:40], **call, jobs=2)) == curves(found)


class Interrupt(TuningCallback):
    """Ctrl-C after some jobs."""

    def __init__(self, jobs):
        self.left = jobs

    def on_progress(self, progress):
        if progress.done and progress.done != progress.jobs:
            self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


class AtOnce(TuningCallback):
    """Ctrl-C before the first job."""

    def on_progress(self, _):
        raise KeyboardInterrupt


def test_going_on_repeats_nothing(found, tmp_path):
    state = tmp_path / "state"
    with pytest.raises(KeyboardInterrupt):
        tune(DATA, space=GRID, passes=8, jobs=1, checkpoint=state, callbacks=[Interrupt(28)])
    known = len(state.read_text().splitlines()) - 1
    assert known > 24  # in the second round
    assert list((tmp_path / "state.checkpoints").iterdir())
    count = Count()
    rest = tune(DATA, space=GRID, passes=8, jobs=1, checkpoint=state, callbacks=[count])
    assert count.jobs == 36 - known
    assert curves(rest) == curves(found)
    assert not (tmp_path / "state.checkpoints").exists()
    count = Count()
    again = tune(DATA, space=GRID, passes=8, jobs=1, checkpoint=state, callbacks=[count])
    assert count.jobs == 0
    assert again == rest


def test_going_on_without_the_checkpoints(found, tmp_path):
    state = tmp_path / "state"
    with pytest.raises(KeyboardInterrupt):
        tune(DATA, space=GRID, passes=8, jobs=1, checkpoint=state, callbacks=[Interrupt(26)])
    for path in (tmp_path / "state.checkpoints").iterdir():
        path.write_bytes(b"damaged")
    assert curves(tune(DATA, space=GRID, passes=8, jobs=1, checkpoint=state)) == curves(found)


def test_a_line_that_was_cut_off_is_done_again(found, tmp_path):
    state = tmp_path / "state"
    tune(DATA, space=GRID, passes=8, jobs=1, checkpoint=state)
    state.write_bytes(state.read_bytes()[:-20])
    count = Count()
    rest = tune(DATA, space=GRID, passes=8, jobs=1, checkpoint=state, callbacks=[count])
    assert count.jobs == 1
    assert curves(rest) == curves(found)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"data": DATA[1:]}, "data"),
        ({"space": {"rate": [0.1], "sigma": [5]}}, "space"),
        ({"folds": 3}, "split"),
        ({"shuffle": True}, "split"),
        ({"passes": 3}, "rungs"),
        ({"seed": 2}, "seed"),
        ({"algorithm": "sgd"}, "algorithm"),
        ({"template": "U:%x[0,0]\n"}, "template"),
        ({"rich_edges": True}, "rich_edges"),
    ],
)
def test_the_state_of_another_search_is_refused(change, name, tmp_path):
    call = {"data": DATA, "space": {"rate": [0.1], "sigma": [2]}, "passes": 2, "jobs": 1}
    call |= {"checkpoint": tmp_path / "state", "folds": 2}
    tune(**call)
    before = (tmp_path / "state").read_bytes()
    with pytest.raises(ParameterError, match=f"state of another search: {name} is"):
        tune(**(call | change))
    assert (tmp_path / "state").read_bytes() == before
    tune(**(call | change | {"restart": True}))
    assert (tmp_path / "state").read_bytes() != before


@pytest.mark.parametrize("text", ["", "x\n", "{}\n", '{"kind": "other"}\n', "[1]\n"])
def test_other_files_are_no_state(text, tmp_path):
    (tmp_path / "state").write_text(text)
    with pytest.raises(FileError, match="not the state of a search"):
        tune(DATA, passes=2, jobs=1, checkpoint=tmp_path / "state")
    assert (tmp_path / "state").read_text() == text


@pytest.mark.parametrize(
    "change",
    [
        {"scores": []},
        {"scores": "x"},
        {"scores": [1e9]},
        {"passes": None},
        {"number": "x"},
        {"fold": []},
    ],
)
def test_damaged_lines_are_refused(change, tmp_path):
    state, call = tmp_path / "state", {"space": {"rate": [0.1], "sigma": [2]}, "folds": 2}
    call |= {"passes": 2, "jobs": 1, "checkpoint": state}
    tune(DATA, **call)
    head, first, *_ = state.read_text().splitlines()
    state.write_text(f"{head}\n{json.dumps(json.loads(first) | change)}\n")
    with pytest.raises(FileError, match="not the state of a search, or damaged"):
        tune(DATA, **call)


def test_a_state_without_a_finished_job_is_no_obstacle(tmp_path):
    state = tmp_path / "state"
    space = {"rate": [0.1], "sigma": [2], "cutoff": [2]}
    with pytest.raises(ParameterError, match="hashed features"):
        tune(DATA, space=space, hash_bits=8, passes=1, jobs=1, checkpoint=state)
    assert not state.exists()  # refused before anything was read
    other = {"rate": [0.2], "sigma": [2]}
    with pytest.raises(KeyboardInterrupt):
        tune(DATA, space=other, passes=1, jobs=1, checkpoint=state, callbacks=[AtOnce()])
    assert state.exists()
    tune(DATA, space=space, passes=1, jobs=1, checkpoint=state)


def test_a_checkpoint_of_other_settings_is_not_used(tmp_path):
    corpus = ColumnCorpus.from_sentences(DATA)
    worker = Worker(search(corpus, 2, tmp_path), lambda: False)
    fast = worker.run(Job(0, {"rate": 0.2}, 0, 2))
    slow = worker.run(Job(0, {"rate": 0.01}, 0, 3))
    assert slow.scores == worker.run(Job(1, {"rate": 0.01}, 0, 3)).scores
    assert slow.scores[:2] != fast.scores
    # A job whose passes are all in its checkpoint is read from there.
    again = worker.run(Job(0, {"rate": 0.01}, 0, 3))
    assert again.scores == slow.scores


def test_an_interrupted_job_goes_on_within_its_pass(tmp_path, monkeypatch):
    """Wherever it is stopped, the scores are those of a run without a stop."""
    corpus = ColumnCorpus.from_sentences(DATA)
    monkeypatch.setattr("adaptag.training.orders.SLICE_TOKENS", 100)
    whole = None
    for stop in range(1, 25, 3):
        folder = tmp_path / str(stop)
        folder.mkdir()
        shared = search(corpus, 2, folder)
        calls = iter(range(1000))
        stopped = Worker(shared, lambda calls=calls, stop=stop: next(calls) >= stop)
        job = Job(0, {"rate": 0.1}, 0, 3)
        first = stopped.run(job)
        second = Worker(shared, lambda: False).run(job)
        whole = whole or Worker(shared, lambda: False).run(Job(1, {"rate": 0.1}, 0, 3))
        assert second.scores == whole.scores
        assert first is None or first.scores == whole.scores


def test_a_process_that_dies_is_an_error(monkeypatch):
    monkeypatch.setattr(jobs_module, "_run", _die)
    before = dict(os.environ)
    with pytest.raises(AdaptagError, match="was killed, perhaps for lack of memory"):
        tune(DATA[:20], space={"rate": [0.1], "sigma": [5]}, folds=2, passes=1, jobs=2)
    assert dict(os.environ) == before


def _die(_):
    os._exit(9)


# What is given back


def test_everything_survives_json(found):
    text = json.dumps(found.to_dict())
    assert Tuning.from_dict(json.loads(text)) == found
    with pytest.raises(ModelError, match="malformed tuning"):
        Tuning.from_dict({"algorithm": "adf"})


def test_infinity_survives_strict_json():
    found = tune(DATA[:20], space={"rate": [0.1], "sigma": ["inf"]}, folds=2, passes=1, jobs=1)
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert Tuning.from_dict(json.loads(text)).settings == {"rate": 0.1, "sigma": math.inf}
    assert "--sigma inf" in found.command()


def test_the_line_that_trains_has_all_options():
    data = [[(word, "x", label) for word, label in line] for line in DATA]
    found = tune(
        data,
        template="U:%x[0,0]\nU:%x[0,1]\nB\n",
        space={"rate": ["auto"], "sigma": [2], "window": ["n/4"], "cutoff": [2]},
        held_out=0.5,
        passes=1,
        seed=7,
        rich_edges=True,
        edge_cutoff=2,
        edge_share=0.5,
        format=ColumnFormat("tab", "# ", True),
        jobs=1,
    )
    assert found.command("m m") == (
        "adaptag train TRAIN --edge-cutoff 2 --edge-share 0.5 --template TEMPLATE --rich-edges "
        "--separator tab --comment '# ' --skip-docstart --algorithm adf --rate auto --sigma 2 "
        "--window 30 --cutoff 2 --passes 1 --seed 7 --model 'm m'"
    )
    assert found.parts == "held-out sentences"
    assert found.best.deviation is None


def test_encoded_data_is_refused(tmp_path):
    dataset = adaptag.encode(DATA)
    dataset.save(tmp_path / "data")
    for data in (dataset, tmp_path / "data"):
        with pytest.raises(ParameterError, match="features come from all of the data"):
            tune(data)


@pytest.mark.parametrize(
    "wrong", [{"passes": 0}, {"jobs": 0}, {"finalists": 0}, {"seed": -1}, {"algorithm": "x"}]
)
def test_wrong_arguments(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        tune(DATA, **wrong)


def test_labels_that_are_no_chunks():
    data = [[(word, label[-1]) for word, label in line] for line in DATA[:20]]
    found = tune(data, space={"rate": [0.1], "sigma": [5]}, folds=2, passes=1, jobs=1)
    assert found.metric == "accuracy"


def test_the_chart_leaves_out_what_lies_far_below(found, monkeypatch):
    drawn = []
    monkeypatch.setattr(trials_module, "line_chart", lambda series, **_: drawn.extend(series) or "")
    found.chart()
    assert drawn[0].name == ", ".join(f"{name} {value:g}" for name, value in found.settings.items())
    for one, trial in zip(drawn, found.trials, strict=True):
        assert trial.passes in one.x
        assert [trial.curve[int(x) - 1] for x in one.x] == one.y
        assert (one.spread is not None) == (trial is found.best)
    room = 3 * max(found.best.mean - found.trials[-1].mean, found.best.deviation)
    assert min(min(one.y) for one in drawn) >= found.best.mean - room


# The command

SMALL = ("--rate", "0.05,0.2", "--sigma", "5", "--folds", "2", "--passes", "4", "--jobs", "1")


def test_the_printed_line_trains_with_the_chosen_settings(cli):
    done = cli("tune", "train.txt", "-t", "general", *SMALL, "--cutoff", "1,2", "-o", "all.json")
    assert done.code == 0
    assert done.err.startswith("round 1/1: 4 trials, 4 passes, 8 jobs")
    line = shlex.split(done.out.splitlines()[-1])
    assert line[:2] == ["adaptag", "train"]
    assert cli(*line[1:]).code == 0
    chosen = json.loads(Path("all.json").read_text())
    provenance = adaptag.Model.load("model.adaptag").provenance
    assert provenance["feature_settings"]["cutoff"] == chosen["settings"].pop("cutoff")
    assert chosen["settings"].items() <= provenance["parameters"].items()
    assert len(provenance["passes"]) == chosen["passes"]
    assert provenance["algorithm"] == "adf"
    assert Path("all.json.state").exists()


def test_what_is_written(cli):
    done = cli("tune", "train.txt", *SMALL, "--chart", "c.svg", "--markdown", "t.md", "-a", "sgd")
    assert done.code == 0
    assert "sgd: F1 on 2 folds" in done.out
    assert Path("c.svg").read_text().startswith("<svg")
    assert "rate 0.2" in Path("c.svg").read_text()
    markdown = Path("t.md").read_text()
    assert "| rate | F1 | ± | passes | trained | seconds |" in markdown
    assert done.out.splitlines()[-1] in markdown
    assert Path("train.txt.tune.state").exists()
    again = cli("tune", "train.txt", *SMALL, "-a", "sgd")
    assert "4 jobs, 4 finished before" in again.err
    assert again.out == done.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rates", "1"], "No such option"),
        (["-a", "lbfgs", "--rate", "0.1"], "adaptag: lbfgs: unknown parameter 'rate'"),
        (["--rate", ","], "adaptag: rate has no value to try"),
        (["--rate", "0.1,x"], "adaptag: rate is 'x'"),
        (["--folds", "1000"], "adaptag: folds is 1000; allowed: 2 to 120"),
        (["--held-out", "0"], "adaptag: held_out is 0.0"),
        (["--also", "alpha,rate"], "adaptag: unknown parameter to search 'rate'"),
        (["-a", "adfs"], "did you mean 'adf'"),
        (["-t", "nothing"], "no template file 'nothing'"),
        (["-o", "nowhere/x"], "nowhere/x: cannot write"),
        (["--checkpoint", "train.txt"], "train.txt: --checkpoint and TRAIN are the same file"),
        (["--checkpoint", "other.txt"], "other.txt: not the state of a search"),
        (["-o", "train.txt"], "train.txt: --output and TRAIN are the same file"),
        (["--cutoff", "2", "--hash-bits", "8", "-j", "1"], "hashed features are not counted"),
    ],
)
def test_errors(cli, options, message):
    Path("other.txt").write_text("something else")
    done = cli("tune", "train.txt", *options)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


@pytest.mark.parametrize(
    ("options", "part"), [(["--folds", 2], "fold 1 of 2"), (["--held-out", 0.5], "the held-out")]
)
def test_a_part_that_cannot_be_trained_on_is_named_and_nothing_is_left(cli, options, part):
    Path("docs.tsv").write_text("neg\tbad film\npos\tgood film\n")
    done = cli(
        "classify", "tune", "docs.tsv", "--rate", 0.1, "--sigma", 1, "--passes", 2, "-j", 1,
        *options,
    )  # fmt: skip
    assert done.code == 2
    assert "adaptag: docs.tsv: the only label is" in done.err
    assert f"that is the data without {part}" in done.err
    assert sorted(path.name for path in Path().iterdir()) == ["docs.tsv", "train.txt"]


@pytest.mark.parametrize("done", ["nothing", "a job", "a checkpoint"])
def test_an_error_keeps_what_was_done(tmp_path, done):
    def fail():
        with State(tmp_path / "s", {"data": 1}) as state:
            if done == "a job":
                state.add(JobResult(0, 0, 1, [50.0], 0.1))
            elif done == "a checkpoint":
                (state.folder / "0-0").write_bytes(b"weights")
            raise ParameterError("something else")

    with pytest.raises(ParameterError, match="something else"):
        fail()
    kept = [] if done == "nothing" else ["s", "s.checkpoints"]
    assert sorted(file.name for file in tmp_path.iterdir()) == kept


def test_the_state_of_other_data_is_an_error(cli):
    assert cli("tune", "train.txt", *SMALL, "--checkpoint", "s").code == 0
    Path("train.txt").write_text(column_text(TRAIN[1:]), encoding="utf-8")
    done = cli("tune", "train.txt", *SMALL, "--checkpoint", "s")
    assert done.code == 2
    assert "adaptag: s: the state of another search: data is" in done.err
    assert cli("tune", "train.txt", *SMALL, "--checkpoint", "s", "--restart").code == 0


def test_a_chart_without_matplotlib_is_refused_at_once(cli, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = cli("tune", "train.txt", *SMALL, "--chart", "c.svg")
    assert (done.code, done.out) == (2, "")
    assert "adaptag[experiments]" in done.err
    assert not Path("train.txt.tune.state").exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_keeps_what_was_done(tmp_path, jobs):
    lines = ingredients(train=1500, dev=0, test=0).train
    (tmp_path / "train.txt").write_text(column_text(lines), encoding="utf-8")
    # What a shell starts in the background ignores Ctrl-C, and so would what the tests start.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    start = f"{heard}; from adaptag.cli.program import run; run()"
    words = [
        "tune",
        "train.txt",
        "--jobs",
        str(jobs),
        "--checkpoint",
        "s",
        "--full",
        "--passes",
        "12",
    ]
    command = [sys.executable, "-c", start, *words]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    state = tmp_path / "s"
    end = time.monotonic() + 60
    while not (state.exists() and state.read_bytes().count(b"\n") > 2):
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted: finished jobs are in s; the same command continues from there" in err
    assert "Traceback" not in err
    assert out == ""
    assert all(json.loads(line) for line in state.read_text().splitlines())
