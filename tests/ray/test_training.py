"""Training on a cluster of two nodes: the same model each time, whatever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import adaptag
from adaptag.corpus.data import corpus_of
from adaptag.corpus.ingredients import column_text, ingredients
from adaptag.dataset.encoded import Dataset
from adaptag.errors import AdaptagError, CorpusError, ParameterError
from adaptag.features.settings import FeatureSettings
from adaptag.training.algorithms import algorithm
from adaptag.training.callbacks import Callback
from adaptag.training.checkpoint import Checkpoint
from adaptag.training.mixing import ShardTraining, blocks_of, mix

ray = pytest.importorskip("ray", reason="a cluster needs Ray", exc_type=ImportError)

from adaptag.ray import training as training_module  # noqa: E402
from adaptag.ray import workers as workers_module  # noqa: E402
from adaptag.ray.engine import ClusterEngine  # noqa: E402
from adaptag.ray.shards import ShardWorker  # noqa: E402
from adaptag.ray.training import shard_data, train  # noqa: E402
from adaptag.settings import AUTO  # noqa: E402
from tests.unit.making import datasets_of_shards  # noqa: E402

pytestmark = pytest.mark.xdist_group("ray")

LINES = ingredients(train=240, dev=0, test=60)
DATA = [list(zip(line.tokens, line.labels, strict=True)) for line in LINES.train]
DEV = [list(zip(line.tokens, line.labels, strict=True)) for line in LINES.test]
CALL = {"workers": 2, "rounds": 2, "passes": 4, "seed": 3, "scheme": "as-is"}
REST = {"workers": 2, "rounds": 2}  # after a checkpoint of two passes
FEATURES = FeatureSettings()
POINTS = (  # where a worker may die
    "count", "ranges", "encode", "sample", "find_rate", "prepare", "run", "changes", "mix",
    "apply", "end_round", "rounds", "state", "weights",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True, scope="module")
def _workers_get_the_classes_of_this_module():
    module = sys.modules[__name__]
    ray.cloudpickle.register_pickle_by_value(module)
    yield
    ray.cloudpickle.unregister_pickle_by_value(module)


@pytest.fixture(scope="module")
def cluster(two_nodes):
    """One connection for the tests of this module, which is used as it is."""
    ray.init(address=two_nodes, log_to_driver=False, logging_level="ERROR")
    yield AUTO
    ray.shutdown()


@pytest.fixture(scope="module")
def trained(cluster):
    """What is trained where nothing happens."""
    return train(DATA, cluster=cluster, **CALL)


def simulated(parameters, name="adf", *, workers=2, rounds=2, n_rounds=8, seed=3):
    """The weights of the same training in this process, after some rounds."""
    parts = [corpus_of(part.sentences) for part in shard_data(DATA, None, workers, None)]
    datasets, _ = datasets_of_shards(parts, FEATURES)
    trainings = [
        ShardTraining(
            dataset,
            algorithm(name),
            parameters,
            shard=k,
            n_shards=workers,
            n_sentences=len(DATA),
            seed=seed,
            rounds_per_pass=rounds,
        )
        for k, dataset in enumerate(datasets)
    ]
    blocks = blocks_of(datasets[0].layout, 1 << 12)
    for number in range(n_rounds):
        for training in trainings:
            training.run(number)
        for block in blocks:
            mixed = mix([training.change(block) for training in trainings], block.row_size)
            for training in trainings:
                training.apply(block, mixed)
        for training in trainings:
            training.end_round()
    return np.concatenate([trainings[0].weights(block) for block in blocks])


def wait_until_idle():
    """Until all workers of a training have ended."""
    end = time.monotonic() + 20
    while ray.available_resources().get("CPU", 0) < 2:
        assert time.monotonic() < end
        time.sleep(0.05)


class Do(Callback):
    """Does something once, after a pass, or after a number of rounds."""

    def __init__(self, action, *, after_pass=None, after_round=None):
        self.action, self.after_pass, self.after_round = action, after_pass, after_round
        self.rounds, self.notes = 0, []

    def on_note(self, text):
        self.notes.append(text)

    def on_progress(self, sentences):  # noqa: ARG002
        self.rounds += 1
        if self.rounds == self.after_round:
            self.action()

    def on_pass(self, history):
        if len(history) == self.after_pass:
            self.action()
        return False


# ---- workers that note what they do, and die ----------------------------------------------------


def mortal(log, points, deaths=1, shards=(1,)):
    """A class of workers that note their calls; they die at these points, so often at each."""

    class Mortal(ShardWorker):
        def __init__(self, shard, *arguments):
            super().__init__(shard, *arguments)
            self._note("start")

        def _note(self, what):
            with log.open("a") as file:
                file.write(f"{what} {self.shard} {os.getpid()}\n")

        def _reach(self, point):
            self._note(point)
            if point not in points or self.shard not in shards:
                return
            later = (
                point not in ("run", "changes", "mix", "apply", "end_round")
                or self._training.rounds
            )
            if log.read_text().count(f"die {point} ") < deaths and later:
                self._note(f"die {point}")
                os.kill(os.getpid(), signal.SIGKILL)

    def method(point):
        real = getattr(ShardWorker, point)

        def call(self, *arguments, **options):
            value = real(self, *arguments, **options)
            self._reach(point)  # what it did is lost
            return value

        return call

    for point in POINTS:
        setattr(Mortal, point, method(point))
    return Mortal


def noted(log, what):
    return [line.split() for line in log.read_text().splitlines() if line.startswith(what)]


def kill_workers(log, shards):
    """Kill the present workers of these shards, from outside."""
    newest = {int(shard): int(pid) for _, shard, pid in noted(log, "start")}
    for shard in shards:
        os.kill(newest[shard], signal.SIGKILL)


# ---- the same as without a cluster ---------------------------------------------------------------


def test_the_same_seed_and_workers_give_the_same_bytes(cluster, trained):
    again = train(DATA, cluster=cluster, **CALL)
    assert again.to_bytes() == trained.to_bytes()
    wait_until_idle()
    assert trained.provenance["workers"] == 2
    assert trained.provenance["rounds_per_pass"] == 2


@pytest.mark.parametrize("name", ["adf", "sgd", "pa"])
def test_weights_are_those_of_shards_in_one_process(cluster, trained, name):
    model = trained
    if name != "adf":
        model = train(DATA, cluster=cluster, algorithm=name, **CALL)
    expected = simulated(model.provenance["parameters"], name)
    assert model.weights.tobytes() == expected.tobytes()


def test_the_index_and_the_data_are_those_of_one_machine(cluster, monkeypatch):
    engines = []
    real = ClusterEngine.__post_init__
    monkeypatch.setattr(
        ClusterEngine, "__post_init__", lambda self: (engines.append(self), real(self))[1]
    )
    sentences = [[word for word, _ in line] for line in DATA]
    labels = [[label for _, label in line] for line in DATA]
    whole = adaptag.train(sentences, labels, passes=1)
    encoded = []

    def look():
        handles = engines[0].workers.handles
        encoded.extend(
            ray.get([handle.__ray_call__.remote(lambda self: self.examples) for handle in handles])
        )

    options = {**CALL, "scheme": None, "passes": 1, "workers": 3}
    callbacks = [Do(look, after_pass=1)]
    model = train(iter(DATA), cluster=cluster, callbacks=callbacks, **options)
    assert model.labels == whole.labels
    assert model.states == whole.states
    index, tensors = model.index.to_file()
    expected_index, expected_tensors = whole.index.to_file()
    assert index == expected_index
    for name, array in expected_tensors.items():
        assert tensors[name].tobytes() == array.tobytes()
    dataset = Dataset.build(corpus_of(sentences, labels), FEATURES)
    parts = [part.encoded.predicates for part in encoded]
    assert np.concatenate(parts).tobytes() == dataset.encoded.predicates.tobytes()
    assert [len(part) for part in encoded] == [80, 80, 80]


@pytest.mark.parametrize("name", ["lbfgs", "owlqn"])
def test_batch_algorithms_go_the_way_of_one_machine(cluster, name):
    call = {"algorithm": name, "passes": 8, "scheme": "as-is"}
    whole = adaptag.train(DATA, **call)
    model = train(DATA, cluster=cluster, workers=2, **call)
    losses, expected = (
        [(one["loss"], one["accuracy"]) for one in m.provenance["passes"]] for m in (model, whole)
    )
    assert len(losses) == 8
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    np.testing.assert_allclose(losses[0], expected[0], rtol=1e-6)


def test_more_workers_than_cpus_and_than_sentences(cluster):
    """What is mixed meanwhile waits for no CPU."""
    model = train(DATA, cluster=cluster, **{**CALL, "workers": 4, "passes": 2})
    expected = simulated(model.provenance["parameters"], workers=4, n_rounds=4)
    assert model.weights.tobytes() == expected.tobytes()
    few = train(DATA[:1], cluster=cluster, workers=2, passes=2)
    assert np.isfinite(few.weights).all()
    assert few.provenance["sentences"] == 1


def test_column_files_are_read_where_they_are(cluster, trained):
    """In one file, or in several, the model is the same as long as shards are."""
    lines = column_text(LINES.train)
    Path("all.txt").write_text(lines)
    one = train("all.txt", cluster=cluster, **CALL)
    assert one.provenance["sentences"] == len(DATA)
    assert one.index.to_file()[0] == trained.index.to_file()[0]
    half = lines.index("\n\n", len(lines) // 2) + 2
    Path("parts").mkdir()
    Path("parts/a.txt").write_text(lines[:half])
    Path("parts/b.txt").write_text(lines[half:])
    two = train("parts", cluster=cluster, **CALL)
    assert two.index.to_file()[0] == one.index.to_file()[0]


# ---- passes --------------------------------------------------------------------------------------


def test_the_best_pass_is_kept_and_training_stops_early(cluster):
    call = {**CALL, "passes": 30, "patience": 2}
    model = train(DATA, cluster=cluster, dev=DEV, **call)
    passes = model.provenance["passes"]
    scores = [one["dev_score"] for one in passes]
    best = model.provenance["best_pass"]
    assert model.provenance["stopped"] == "callback"
    assert len(passes) < 30
    assert scores[best - 1] == max(scores)
    words = [[word for word, _ in line] for line in DEV]
    labels = [[label for _, label in line] for line in DEV]
    assert model.evaluate(words, labels).score == pytest.approx(scores[best - 1])


def test_callbacks_can_stop(cluster):
    class Stop(Callback):
        def on_pass(self, history):
            return len(history) == 2

    model = train(DATA, cluster=cluster, callbacks=[Stop()], **CALL)
    assert model.provenance["stopped"] == "callback"
    expected = simulated(model.provenance["parameters"], n_rounds=4)
    assert model.weights.tobytes() == expected.tobytes()


@pytest.mark.usefixtures("_ctrl_c")
def test_ctrl_c_between_rounds_keeps_what_was_reached(cluster, trained):
    interrupt = Do(lambda: os.kill(os.getpid(), signal.SIGINT), after_round=5)
    model = train(DATA, cluster=cluster, callbacks=[interrupt], checkpoint="state", **CALL)
    assert model.provenance["stopped"] == "interrupt"
    assert len(model.provenance["passes"]) == 2
    expected = simulated(model.provenance["parameters"], n_rounds=5)
    assert model.weights.tobytes() == expected.tobytes()
    wait_until_idle()
    rest = train(DATA, cluster=cluster, resume="state", **REST)
    assert rest.to_bytes() == trained.to_bytes()


@pytest.mark.usefixtures("_ctrl_c")
def test_ctrl_c_in_the_first_pass_is_an_interrupt(cluster):
    interrupt = Do(lambda: os.kill(os.getpid(), signal.SIGINT), after_round=1)
    with pytest.raises(KeyboardInterrupt):
        train(DATA, cluster=cluster, callbacks=[interrupt], **CALL)
    wait_until_idle()


DRIVER = """
import os, signal, sys
from tests.ray.test_training import CALL, DATA, Do
from adaptag.ray.training import train
end = Do(lambda: os.kill(os.getpid(), signal.SIGKILL), after_round=int(sys.argv[2]))
train(DATA, cluster=sys.argv[1], callbacks=[end], checkpoint="state", **CALL)
"""


def test_a_driver_that_is_killed_is_resumed(cluster, two_nodes, trained):
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    line = [sys.executable, "-c", DRIVER, two_nodes, "6"]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    wait_until_idle()
    finished = len(Checkpoint.load("state").history)
    assert finished == 2
    model = train(DATA, cluster=cluster, resume="state", **REST)
    assert model.to_bytes() == trained.to_bytes()
    with pytest.raises(ParameterError, match="the checkpoint belongs to other training data"):
        train(DATA, cluster=cluster, resume="state", **{**REST, "workers": 3})


# ---- what dies -----------------------------------------------------------------------------------


def test_a_worker_may_die_anywhere(cluster, tmp_path, monkeypatch):
    """Once at each point: while it counts, encodes, trains, mixes, goes on, or helps another."""
    log = tmp_path / "log"
    monkeypatch.setattr(workers_module, "ShardWorker", mortal(log, POINTS, shards=(0, 1)))
    model = train(DATA, cluster=cluster, **{**CALL, "workers": 3})
    assert {line[1] for line in noted(log, "die")} == set(POINTS)
    expected = simulated(model.provenance["parameters"], workers=3)
    assert model.weights.tobytes() == expected.tobytes()


def test_a_worker_that_dies_while_gradients_are_summed(cluster, tmp_path, monkeypatch):
    call = {"algorithm": "lbfgs", "passes": 4, "workers": 2, "scheme": "as-is"}
    expected = train(DATA, cluster=cluster, **call).to_bytes()
    log = tmp_path / "log"
    monkeypatch.setattr(workers_module, "ShardWorker", mortal(log, ()))
    between = Do(lambda: kill_workers(log, [1]), after_pass=2)
    model = train(DATA, cluster=cluster, callbacks=[between], **call)
    assert len(noted(log, "start")) == 3
    assert model.to_bytes() == expected


def test_a_worker_is_killed_between_rounds(cluster, trained, tmp_path, monkeypatch):
    log = tmp_path / "log"
    monkeypatch.setattr(workers_module, "ShardWorker", mortal(log, ()))
    killing = [
        Do(lambda: kill_workers(log, [0]), after_round=3),
        Do(lambda: kill_workers(log, [1]), after_pass=3),
    ]
    model = train(DATA, cluster=cluster, callbacks=killing, **CALL)
    assert len(noted(log, "start")) == 4
    assert model.to_bytes() == trained.to_bytes()


def test_a_single_worker_may_die(cluster, tmp_path, monkeypatch):
    call = {**CALL, "workers": 1}
    expected = train(DATA, cluster=cluster, **call).to_bytes()
    log = tmp_path / "log"
    monkeypatch.setattr(workers_module, "ShardWorker", mortal(log, ("run",), shards=(0,)))
    between = Do(lambda: kill_workers(log, [0]), after_pass=3)
    model = train(DATA, cluster=cluster, callbacks=[between], **call)
    assert len(noted(log, "start")) == 3
    assert model.to_bytes() == expected


@pytest.mark.parametrize("checkpoint", [None, "state"])
def test_all_workers_are_killed_at_once(cluster, trained, tmp_path, monkeypatch, checkpoint):
    """The rounds before are computed again, from the beginning or from the last checkpoint."""
    log = tmp_path / "log"
    monkeypatch.setattr(workers_module, "ShardWorker", mortal(log, ()))
    killing = Do(lambda: kill_workers(log, [0, 1]), after_round=5)
    model = train(DATA, cluster=cluster, callbacks=[killing], checkpoint=checkpoint, **CALL)
    assert model.to_bytes() == trained.to_bytes()


@pytest.mark.parametrize("point", ["count", "run"])
def test_a_worker_that_always_dies_is_an_error(cluster, tmp_path, monkeypatch, point):
    log = tmp_path / "log"
    monkeypatch.setattr(workers_module, "MOST_DEATHS", 2)
    monkeypatch.setattr(workers_module, "ShardWorker", mortal(log, (point,), deaths=99))
    with pytest.raises(AdaptagError, match="workers died 3 times in one round, perhaps for lack"):
        train(DATA, cluster=cluster, **CALL)
    assert len(noted(log, "die")) == 3
    wait_until_idle()


@pytest.fixture
def second_node(cluster, cluster_of_two):  # noqa: ARG001
    """A node that a test may remove; there is another one afterwards."""
    (node,) = cluster_of_two.worker_nodes
    yield node
    if node in cluster_of_two.worker_nodes:
        cluster_of_two.remove_node(node)
    cluster_of_two.add_node(num_cpus=1, object_store_memory=100 << 20)
    cluster_of_two.wait_for_nodes()


@pytest.mark.skipif("ADAPTAG_FAULTS" not in os.environ, reason="ADAPTAG_FAULTS is not set")
def test_a_node_is_removed(cluster, cluster_of_two, second_node, trained):
    """Training goes on with the CPU that is left."""

    def remove():
        cluster_of_two.remove_node(second_node, allow_graceful=False)

    model = train(DATA, cluster=cluster, callbacks=[Do(remove, after_round=3)], **CALL)
    assert [node["Alive"] for node in ray.nodes()].count(True) == 1
    assert model.to_bytes() == trained.to_bytes()


# ---- bad data ------------------------------------------------------------------------------------


def bad_file():
    """A column file whose last sentence has a line without a label; and the number of the line."""
    text = column_text(LINES.train)
    Path("bad.txt").write_text(text + "3\tB-QTY\ncups\n\n")
    return text.count("\n") + 2


def test_bad_data_has_the_same_message_and_is_not_tried_again(cluster, tmp_path, monkeypatch):
    line = bad_file()
    log = tmp_path / "log"
    monkeypatch.setattr(workers_module, "ShardWorker", mortal(log, ()))
    messages = []
    for function, options in ((adaptag.train, {}), (train, {"workers": 2, "cluster": cluster})):
        with pytest.raises(CorpusError, match=rf"^bad\.txt:{line}: ") as caught:
            function("bad.txt", **options)
        messages.append(str(caught.value).partition(";")[0])  # then a line to compare with
    assert messages[0] == messages[1] == f"bad.txt:{line}: 1 column"
    assert len(noted(log, "start")) == 2
    wait_until_idle()


def test_bad_parts_may_be_left_out(cluster, monkeypatch):
    line = bad_file()
    monkeypatch.setattr(training_module, "BLOCK", 2000)
    notes = Do(lambda: None)
    model = train("bad.txt", cluster=cluster, skip_bad=True, callbacks=[notes], **CALL)
    (left_out,) = [note for note in notes.notes if note.startswith("left out: ")]
    assert left_out.startswith(f"left out: bad.txt:{line}: ")
    assert len(DATA) * 0.7 < model.provenance["sentences"] < len(DATA)


def test_shards_of_other_columns_are_refused(cluster):
    """As on one machine, where line 1 says how many there are."""
    Path("mixed.txt").write_text("a X\nb Y\n\n" * 50 + "a u X\nb v Y\n\n" * 50)
    for function, options in ((adaptag.train, {}), (train, {"workers": 2, "cluster": cluster})):
        with pytest.raises(CorpusError, match="columns"):
            function("mixed.txt", **options)


def test_what_cannot_be_trained_is_refused_at_once(cluster):
    with pytest.raises(ParameterError, match="hash_bits cannot be combined with workers"):
        train(DATA, cluster=cluster, workers=2, hash_bits=10)
    with pytest.raises(ParameterError, match="orders is more than 1"):
        train(DATA, cluster=cluster, workers=2, orders=2)
    with pytest.raises(CorpusError, match="no label of 2 shards is known"):
        train([["a", "b"]] * 4, [[None, None]] * 4, cluster=cluster, workers=2)
    wait_until_idle()


# ---- without a cluster ---------------------------------------------------------------------------


def test_nothing_imports_ray_without_workers(tmp_path):
    (tmp_path / "train.txt").write_text(column_text(LINES.train[:30]))
    code = """
import sys
import adaptag
from adaptag.cli.program import run
sys.argv = "adaptag train train.txt -m model --passes 1".split()
run()
loaded = [name for name in sys.modules if name.split(".")[0] in ("ray", "pyarrow")]
loaded += [name for name in sys.modules if name.startswith("adaptag.ray")]
sys.exit(f"loaded: {loaded}" if loaded else 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_settings_that_differ_from_the_checkpoint_are_refused():
    adaptag.train(DATA, passes=1, checkpoint="state", scheme="as-is")
    for settings in ({"seed": 5}, {"rate": 0.2}, {"algorithm": "sgd"}):
        with pytest.raises(ParameterError, match="but the checkpoint was trained with"):
            train(DATA, resume="state", workers=2, **settings)


def test_a_node_with_another_version_is_refused(cluster, monkeypatch):
    monkeypatch.setattr(workers_module, "__version__", "0.0")
    with pytest.raises(ParameterError, match="a node of the cluster has adaptag"):
        train(DATA, cluster=cluster, **CALL)
