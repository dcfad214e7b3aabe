from __future__ import annotations

import inspect
import json
import math
import os
import signal
from importlib.metadata import version

import numpy as np
import pytest

import adaptag
from adaptag.errors import AdaptagError, ParameterError
from adaptag.features.settings import FeatureSettings
from adaptag.training import orders
from adaptag.training.algorithms import algorithm
from adaptag.training.callbacks import Callback, Converged, EarlyStopping, PassReport
from adaptag.training.online import Trainer
from tests.reference.data import Problem, random_problem
from tests.unit.making import fit

SENTENCES = [["the", "cat", "sat"], ["a", "dog"], ["it", "sat"], ["the", "dog", "saw", "it"]] * 3
LABELS = [["D", "N", "V"], ["D", "N"], ["P", "V"], ["D", "N", "V", "P"]] * 3
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nB"


@pytest.fixture
def dataset():
    return random_problem(1, 3, n_sentences=12).dataset


@pytest.fixture
def one_by_one(monkeypatch):
    """Callbacks hear of every single sentence."""
    monkeypatch.setattr(orders, "SLICE_TOKENS", 1)


class Recorder(Callback):
    """Writes down what it is called with; stops after, or interrupts at, a given event."""

    def __init__(self, name="", log=None, stop_after=None, interrupt_at=None):
        self.name, self.log = name, [] if log is None else log
        self.stop_after, self.interrupt_at = stop_after, interrupt_at

    def _note(self, *event):
        self.log.append((self.name, *event) if self.name else event)
        if len(self.log) == self.interrupt_at:
            raise KeyboardInterrupt

    def on_start(self, passes, sentences):
        self._note("start", passes, sentences)

    def on_progress(self, sentences):
        self._note("progress", sentences)

    def on_pass(self, history):
        self._note("pass", history[-1].number)
        return len(history) == self.stop_after


def scripted(*scores):
    """A score function that reads its answers off a list."""
    answers = iter(scores)
    return lambda _weights: next(answers)


def reports(*scores):
    return [PassReport(n, 0.0, 1.0, 50.0, score) for n, score in enumerate(scores, 1)]


def order_of(seed, passes, n):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(n) for _ in range(passes)]).astype(np.uint32)


# ---- passes ---------------------------------------------------------------------------------


def test_every_pass_is_a_new_permutation_from_the_seed(dataset):
    result = fit(dataset, passes=4, seed=3, parameters={"sigma": 1.0})
    trainer = Trainer(dataset, algorithm("adf"), {"sigma": 1.0})
    trainer.run(order_of(3, 4, 12))
    assert result.weights.tobytes() == trainer.current_weights().tobytes()
    assert [report.number for report in result.history] == [1, 2, 3, 4]
    assert (result.best, result.stopped) == (4, "passes")
    assert result.parameters == trainer.parameters


def test_reports_are_means_as_met_on_the_way(dataset):
    result = fit(dataset, passes=2, seed=3)
    trainer = Trainer(dataset, algorithm("adf"), {})
    for report, order in zip(result.history, np.split(order_of(3, 2, 12), 2), strict=True):
        loss, correct, tokens = trainer.run(order)
        assert report.loss == pytest.approx(loss / 12)
        assert report.accuracy == pytest.approx(100 * correct / tokens)
        assert report.dev_score is None
        assert report.score == report.accuracy
        assert report.seconds >= 0
    assert result.history[1].loss < result.history[0].loss


def test_slices_do_not_change_the_result(dataset, monkeypatch):
    weights = []
    for tokens in (1, 7, 10**6):
        monkeypatch.setattr(orders, "SLICE_TOKENS", tokens)
        weights.append(fit(dataset, passes=3).weights.tobytes())
    assert len(set(weights)) == 1


@pytest.mark.parametrize("passes", [0, -1])
def test_no_pass_is_refused(dataset, passes):
    with pytest.raises(ParameterError, match=f"passes is {passes}; allowed: integer"):
        fit(dataset, passes=passes)


# ---- callbacks ------------------------------------------------------------------------------


def test_callbacks_are_called_in_order(dataset):
    log = []
    fit(dataset, passes=2, callbacks=[Recorder("a", log), Recorder("b", log)])
    once = [("start", 2, 12), ("progress", 12), ("pass", 1), ("progress", 12), ("pass", 2)]
    assert log == [(name, *event) for event in once for name in "ab"]


@pytest.mark.usefixtures("one_by_one")
def test_progress_adds_up_to_the_sentences(dataset):
    recorder = Recorder()
    fit(dataset, passes=2, callbacks=[recorder])
    events = [event for event in recorder.log if event[0] != "start"]
    assert events == [*[("progress", 1)] * 12, ("pass", 1), *[("progress", 1)] * 12, ("pass", 2)]


def test_any_callback_can_stop_and_all_hear_of_the_last_pass(dataset):
    stopper, other = Recorder(stop_after=2), Recorder()
    result = fit(dataset, passes=9, callbacks=[stopper, other])
    assert (len(result.history), result.stopped, result.best) == (2, "callback", 2)
    assert stopper.log == other.log
    assert result.weights.tobytes() == fit(dataset, passes=2).weights.tobytes()


@pytest.mark.parametrize(
    ("scores", "stops"),
    [
        ([90, 90, 90, 90], False),
        ([90, 90, 90, 90, 90], True),
        ([90, 90.002, 90.004, 90.006, 90.009], True),
        ([90, 90.002, 90.004, 90.006, 90.011], False),
        ([50, 90, 90, 90, 90, 90], True),
        ([90, 90, 90, 90, 80, 90], False),
    ],
)
def test_convergence_looks_at_the_last_five_passes(scores, stops):
    assert Converged().on_pass(reports(*scores)) is stops


def test_convergence_ends_training(dataset):
    result = fit(dataset, passes=20, score=lambda _: 50.0, callbacks=[Converged()])
    assert (len(result.history), result.stopped) == (5, "callback")


def test_convergence_on_training_data_without_development_data(dataset):
    result = fit(dataset, passes=20, callbacks=[Converged(passes=2, tolerance=100.0)])
    assert (len(result.history), result.stopped) == (2, "callback")


@pytest.mark.parametrize(
    ("scores", "stops"),
    [
        ([1, 2], False),
        ([2, 1], False),
        ([2, 1, 1], True),
        ([1, 2, 2], False),
        ([1, 2, 2, 2], True),
        ([5, 1, 6], False),
    ],
)
def test_early_stopping_waits_for_a_rise(scores, stops):
    assert EarlyStopping(patience=2).on_pass(reports(*scores)) is stops


def test_the_weights_of_the_best_pass_are_kept(dataset):
    scores = [1.0, 3.0, 2.0, 3.0, 2.5, 4.0]
    result = fit(dataset, passes=9, score=scripted(*scores), callbacks=[EarlyStopping(2)])
    assert (len(result.history), result.best, result.stopped) == (4, 2, "callback")
    assert [report.dev_score for report in result.history] == scores[:4]
    two = fit(dataset, passes=2, score=scripted(*scores))
    assert (two.best, two.stopped) == (2, "passes")
    assert result.weights.tobytes() == two.weights.tobytes()


def test_the_score_sees_the_weights_that_are_returned(dataset):
    seen = []

    def score(weights):
        seen.append(weights.copy())
        return float(len(seen) == 2)

    parameters = {"sigma": 0.5, "window": 12}
    result = fit(dataset, passes=3, score=score, parameters=parameters)
    assert result.best == 2
    assert result.weights.tobytes() == seen[1].tobytes()
    for passes, weights in enumerate(seen, 1):
        expected = fit(dataset, passes=passes, parameters=parameters).weights
        np.testing.assert_allclose(weights, expected, rtol=2e-5, atol=2e-6)


# ---- Ctrl-C ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize(("event", "sentences", "passes"), [(14, 12, 1), (20, 18, 1)])
def test_ctrl_c_keeps_the_weights_reached(dataset, event, sentences, passes):
    result = fit(
        dataset,
        passes=5,
        seed=3,
        parameters={"sigma": 0.5},
        callbacks=[Recorder(interrupt_at=event)],
    )
    trainer = Trainer(dataset, algorithm("adf"), {"sigma": 0.5})
    trainer.run(order_of(3, 5, 12)[:sentences])
    assert result.weights.tobytes() == trainer.current_weights().tobytes()
    assert result.stopped == "interrupt"
    assert result.best == len(result.history) == passes


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize(("name", "event"), [("adf", 1), ("adf", 6), ("lbfgs", 1), ("lbfgs", 2)])
def test_ctrl_c_before_the_first_pass_is_finished_leaves_nothing(dataset, name, event):
    with pytest.raises(KeyboardInterrupt):
        fit(dataset, algorithm_name=name, passes=5, callbacks=[Recorder(interrupt_at=event)])


class Interrupter(Callback):
    """Sends the interrupt of Ctrl-C, as the terminal does, in some pass."""

    def __init__(self, number):
        self.number = number

    def on_pass(self, history):
        if len(history) == self.number:
            os.kill(os.getpid(), signal.SIGINT)
        return False


@pytest.mark.parametrize("name", ["adf", "lbfgs"])
def test_a_real_interrupt_is_noted_and_ends_training_where_it_can(dataset, name):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result = fit(dataset, algorithm_name=name, passes=9, callbacks=[Interrupter(2)])
    finally:
        handler = signal.signal(signal.SIGINT, before)
    assert handler is signal.default_int_handler  # as it was
    assert result.stopped == "interrupt"
    assert len(result.history) == 2
    expected = fit(dataset, algorithm_name=name, passes=2)
    assert result.weights.tobytes() == expected.weights.tobytes()


def test_an_interrupt_after_the_last_pass_loses_nothing(dataset):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result = fit(dataset, passes=2, callbacks=[Interrupter(2)])
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.weights.tobytes() == fit(dataset, passes=2).weights.tobytes()


def test_ctrl_c_keeps_the_best_weights_where_there_are_scores(dataset):
    callback = Recorder(interrupt_at=2 * 3 + 2)
    result = fit(dataset, passes=9, score=scripted(1.0, 2.0, 1.0, 5.0), callbacks=[callback])
    assert (result.best, result.stopped, len(result.history)) == (2, "interrupt", 3)
    two = fit(dataset, passes=2, score=scripted(1.0, 2.0))
    assert result.weights.tobytes() == two.weights.tobytes()


def test_ctrl_c_leaves_a_model_that_tags():
    model = adaptag.train(
        SENTENCES, LABELS, passes=99, callbacks=[Recorder(interrupt_at=2 * 8 + 1)]
    )
    assert model.provenance["stopped"] == "interrupt"
    assert len(model.provenance["passes"]) == 8
    assert model.tag_all(SENTENCES) == LABELS


def test_other_errors_are_passed_on(dataset):
    with pytest.raises(StopIteration):
        fit(dataset, passes=2, score=scripted(1.0))


# ---- parameters -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("algorithm_name", "parameters", "message"),
    [
        ("adff", {}, r"^unknown algorithm 'adff'; did you mean 'adf'\?$"),
        ("genetic", {}, r"^unknown algorithm 'genetic'; allowed: adf, .*sgd"),
        ("adf", {"sigmas": 1}, r"^adf: unknown parameter 'sigmas'; did you mean 'sigma'\?$"),
        ("sgd", {"window": 1}, r"^sgd: unknown parameter 'window'; allowed: average, b"),
        ("adf", {"alpha": 1.0}, r"^alpha is 1\.0; allowed: \(0, 1\)$"),
        ("adf", {"beta": 0}, r"^beta is 0; allowed: \(0, 1\)$"),
        ("adf", {"rate": -1}, r"^rate is -1; allowed: auto or \(0, inf\)$"),
        ("adf", {"rate": math.inf}, r"^rate is inf; allowed: auto or \(0, inf\)$"),
        ("adf", {"sigma": math.nan}, r"^sigma is nan; allowed: \(0, inf\]$"),
        ("adf", {"window": 2.5}, r"^window is 2\.5; allowed: integer \[0, inf\)$"),
        ("adf", {"window": -1}, r"^window is -1; allowed: integer \[0, inf\)$"),
        ("adf", {"rate": "fast"}, r"^rate is 'fast'; allowed: auto or \(0, inf\)$"),
        ("adf", {"rate": None}, r"^rate is None; allowed: auto or \(0, inf\)$"),
        ("sgd", {"decay": 1.01}, r"^decay is 1\.01; allowed: \(0, 1\]$"),
    ],
)
def test_wrong_parameters(dataset, algorithm_name, parameters, message):
    with pytest.raises(ParameterError, match=message):
        fit(dataset, algorithm_name=algorithm_name, parameters=parameters)


@pytest.mark.parametrize(
    ("algorithm_name", "parameters"),
    [
        ("adf", {"sigma": math.inf, "rate": 0.1}),
        ("adf", {"window": 3.0, "rate": 0.1}),
        ("sgd", {"decay": 1}),
        ("adf", {"rate": "0.5"}),
    ],
)
def test_right_parameters(dataset, algorithm_name, parameters):
    result = fit(dataset, algorithm_name=algorithm_name, parameters=parameters, passes=1)
    defaults = {p.name: p.default for p in algorithm(algorithm_name).parameters}
    assert result.parameters == defaults | {k: float(v) for k, v in parameters.items()}


# ---- adaptag.train --------------------------------------------------------------------------


def train(**given):
    return adaptag.train(SENTENCES, LABELS, **{"template": TEMPLATE, "passes": 3} | given)


def test_provenance():
    model = train(seed=5, sigma=2.0, window=4)
    passes = model.provenance["passes"]
    assert dict(model.provenance) == {
        "adaptag": version("adaptag"),
        "algorithm": "adf",
        "parameters": {
            "rate": 0.1,
            "sigma": 2.0,
            "alpha": 0.995,
            "beta": 0.6,
            "window": 4.0,
            "batch": 1.0,
            "dropout": 0.0,
            "orders": 1.0,
        },
        "seed": 5,
        "feature_settings": {**FeatureSettings().record(), "template": TEMPLATE},
        "training_settings": {
            "patience": 5,
            "converge": False,
            "calibrate": False,
            "restarts": 0,
            "threads": None,
            "parallel": "deterministic",
            "verbose": False,
            "scheme": "as-is",
            "output_scheme": "as-is",
            "metric": "auto",
            "legal": None,
        },
        "sentences": 12,
        "tokens": 33,
        "stopped": "passes",
        "best_pass": 3,
        "passes": passes,
    }
    assert [p["pass"] for p in passes] == [1, 2, 3]
    assert all(set(p) == {"pass", "loss", "accuracy", "dev_score", "dev_metric"} for p in passes)
    assert json.loads(json.dumps(model.provenance)) == model.provenance


def test_provenance_of_development_data():
    dev = [list(zip(s, y, strict=True)) for s, y in zip(SENTENCES, LABELS, strict=True)]
    model = train(dev=dev, passes=30, patience=2)
    passes = model.provenance["passes"]
    assert model.provenance["stopped"] == "callback"
    best = max(p["dev_score"] for p in passes)
    assert best == 100
    assert model.provenance["best_pass"] == len(passes) - 2
    assert passes[len(passes) - 3]["dev_score"] == best
    assert model.evaluate(dev).score == best


@pytest.mark.parametrize("algorithm_name", ["adf", "sgd"])
def test_same_seed_same_model(algorithm_name, tmp_path):
    one, other, another = (train(algorithm=algorithm_name, seed=seed) for seed in (2, 2, 3))
    assert one.to_bytes() == other.to_bytes()
    assert one.weights.tobytes() != another.weights.tobytes()
    one.save(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == other.to_bytes()


def test_a_model_without_prior_survives_its_file():
    model = train(sigma=math.inf)
    loaded = adaptag.Model.from_bytes(model.to_bytes())
    assert loaded.provenance == model.provenance
    assert loaded.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("how", ["dataset", "loaded", "path"])
def test_a_saved_dataset_trains_the_same_model(tmp_path, how):
    dataset = adaptag.encode(SENTENCES, LABELS, template=TEMPLATE)
    dataset.save(tmp_path / "data")
    source = {
        "dataset": dataset,
        "loaded": adaptag.Dataset.load(tmp_path / "data"),
        "path": tmp_path / "data",
    }[how]
    assert adaptag.train(source, passes=3).to_bytes() == train().to_bytes()


def test_a_column_file_trains_the_same_model(tmp_path):
    rows = (
        "\n".join(map("\t".join, zip(*pair, strict=True)))
        for pair in zip(SENTENCES, LABELS, strict=True)
    )
    (tmp_path / "train.txt").write_text("\n\n".join(rows) + "\n")
    model = adaptag.train(tmp_path / "train.txt", template=TEMPLATE, passes=3)
    assert model.to_bytes() == train().to_bytes()


def test_labels_may_stand_in_the_tokens():
    joined = [list(zip(s, y, strict=True)) for s, y in zip(SENTENCES, LABELS, strict=True)]
    assert adaptag.train(joined, template=TEMPLATE, passes=3).to_bytes() == train().to_bytes()


def test_labels_may_come_from_iterators():
    model = adaptag.train(map(iter, SENTENCES), iter(LABELS), template=TEMPLATE, passes=3)
    assert model.to_bytes() == train().to_bytes()


@pytest.mark.parametrize(
    ("data", "labels", "message"),
    [
        (SENTENCES, LABELS[:-1], "labels of 11 sentences for 12 sentences"),
        ([["a"], ["b", "c"]], [["X"], ["X"]], "sentence 2: 1 label for 2 tokens"),
        ("train.txt", [["X"]], "labels can only be given with Python data"),
        ([], [], "the data holds no sentence"),
        ([[], []], [[], []], "the data holds no token"),
        ([[("a", "b")], ["c"]], [["X"], ["X"]], "sentence 2, token 1: 1 column;.* has 2"),
    ],
)
def test_data_and_labels_that_do_not_fit(data, labels, message):
    with pytest.raises(AdaptagError, match=message):
        adaptag.train(data, labels)


@pytest.mark.parametrize("given", [{"labels": LABELS}, {"template": TEMPLATE}, {"cutoff": 2}])
def test_an_encoded_dataset_has_all_it_needs(given):
    dataset = adaptag.encode(SENTENCES, LABELS, template=TEMPLATE)
    with pytest.raises(ParameterError, match="has its labels and features already"):
        adaptag.train(dataset, **given)


def test_cutoff_is_refused_below_one():
    with pytest.raises(ParameterError, match=r"cutoff is 0; allowed: integer \[1, 2147483647\]"):
        train(cutoff=0)


def test_an_unknown_argument_is_an_unknown_parameter():
    with pytest.raises(ParameterError, match="unknown argument 'pases'; did you mean 'passes'"):
        train(pases=3)
    own = set(inspect.signature(adaptag.train).parameters)
    assert not own & {p.name for a in adaptag.algorithms().values() for p in a.parameters}


@pytest.mark.parametrize("slice_tokens", [1, 10, 1000])
def test_empty_sentences_do_not_shift_batches(monkeypatch, slice_tokens):
    problem = random_problem(3, 3, n_sentences=30)
    sentences = [s if i % 4 else [] for i, s in enumerate(problem.sentences)]
    labels = [y if i % 4 else [] for i, y in enumerate(problem.labels)]
    thinned = Problem(3, problem.n_of_kind, sentences, labels).dataset
    given = {"algorithm_name": "sgd", "parameters": {"batch": 3}, "passes": 2}
    expected = fit(thinned, **given).weights
    monkeypatch.setattr(orders, "SLICE_TOKENS", slice_tokens)
    assert fit(thinned, **given).weights.tobytes() == expected.tobytes()
