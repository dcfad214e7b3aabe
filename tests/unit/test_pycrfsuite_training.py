"""Training through the API of python-crfsuite."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import adaptag
from adaptag import pycrfsuite as ours
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.dataset.encoded import Dataset
from adaptag.errors import CorpusError, FileError, ParameterError
from adaptag.pycrfsuite.errors import WrongTypeError
from adaptag.pycrfsuite.parameters import (
    ALGORITHMS,
    FewErrors,
    SmallImprovement,
    convert,
    declaration,
)
from adaptag.pycrfsuite.seen_pairs import seen_pairs, without_zeros
from adaptag.training.callbacks import PassReport
from tests.unit.test_crfsuite_models import random_sequences

NAMES = ["lbfgs", "l2sgd", "ap", "averaged-perceptron", "pa", "passive-aggressive", "arow"]
X = random_sequences(5, 40, values=True)
Y = [["ABC"[len(min(item, default="")) % 3] for item in sequence] for sequence in X]


@pytest.fixture(scope="module")
def real():
    return pytest.importorskip("pycrfsuite", reason="python-crfsuite is not installed")


def train(module, path, algorithm="lbfgs", *, data=(X, Y), **parameters):
    trainer = module.Trainer(algorithm, parameters, verbose=False)
    for items, labels in zip(*data, strict=True):
        trainer.append(items, labels)
    trainer.train(str(path))
    tagger = ours.Tagger()
    tagger.open(path)
    return trainer, tagger


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_those_of_crfsuite(real, name):
    theirs, mine = real.Trainer(name, verbose=False), ours.Trainer(name, verbose=False)
    assert mine.params() == theirs.params()
    assert mine.get_params() == theirs.get_params()
    for parameter, value in theirs.get_params().items():
        assert type(mine.get(parameter)) is type(value) or value == 1000
        mine.set(parameter, value)
        mine.set(parameter, str(int(value) if isinstance(value, bool) else value))
        assert mine.get(parameter) == value
        assert mine.help(parameter)
    with pytest.raises(ParameterError, match="unknown parameter"):
        mine.help("foo")


@pytest.mark.parametrize(
    ("algorithm", "name", "value", "message"),
    [
        ("lbfgs", "linesearch", "Backtracking", "linesearch is 'Backtracking'; adaptag has no"),
        ("lbfgs", "epsilon", 1e-3, "allowed: 1e-05, its default"),
        ("l2sgd", "calibration.eta", 1, "no counterpart"),
        ("pa", "averaging", 0, "no counterpart"),
        ("lbfgs", "c2", "much", "c2 is 'much'"),
        ("lbfgs", "c2", -1, "c2 is -1"),
        ("lbfgs", "max_iterations", 1.5, "max_iterations is 1.5"),
        ("lbfgs", "feature.possible_states", "maybe", "possible_states is 'maybe'"),
        ("l2sgd", "c1", 1, "unknown parameter 'c1'"),
    ],
)
def test_wrong_parameters(algorithm, name, value, message):
    trainer = ours.Trainer(algorithm)
    before = trainer.get_params()
    with pytest.raises(ParameterError, match=message):
        trainer.set(name, value)
    assert trainer.get_params() == before


def test_choices_of_the_trainer():
    trainer = ours.Trainer("lbfgs", {"c1": 1})
    trainer.select("arow")
    assert trainer.get("gamma") == 1
    for arguments in (("foo",), ("lbfgs", "crf2d")):
        with pytest.raises(ParameterError):
            trainer.select(*arguments)


@pytest.mark.parametrize(
    ("name", "given", "algorithm", "parameters"),
    [
        ("lbfgs", {}, "lbfgs", {"sigma": math.sqrt(0.5), "memory": 6, "tolerance": 0}),
        ("lbfgs", {"c2": 0.0}, "lbfgs", {"sigma": math.inf, "memory": 6, "tolerance": 0}),
        (
            "lbfgs",
            {"c1": 0.3, "c2": 2.0, "num_memories": 4},
            "owlqn",
            {"l1": 0.3, "sigma": 0.5, "memory": 4, "tolerance": 0},
        ),
        ("l2sgd", {"c2": 2.0}, "sgd", {"sigma": 0.5, "schedule": "bordes", "rate": "auto"}),
        ("ap", {}, "averaged-perceptron", {}),
        ("pa", {"type": 2, "c": 3.0}, "pa", {"variant": "pa-2", "aggressiveness": 3.0}),
        ("arow", {"gamma": 2.0}, "arow", {"variance": 1.0, "gamma": 2.0}),
    ],
)
def test_conversion(name, given, algorithm, parameters):
    declared = declaration(name)
    result = convert(declared, {**declared.defaults(), **given})
    assert (result.algorithm, result.parameters) == (algorithm, parameters)
    assert set(parameters) <= {p.name for p in adaptag.algorithms()[algorithm].parameters}
    assert (result.cutoff, result.states, result.transitions) == (1, False, False)


def test_cutoff_and_unused():
    declared = ALGORITHMS["lbfgs"]
    values = {**declared.defaults(), "feature.minfreq": 2.5, "epsilon": 1.0, "linesearch": "x"}
    result = convert(declared, values)
    assert (result.cutoff, result.min_frequency) == (1, 2.5)
    assert result.unused == ("epsilon", "linesearch")
    declared = ALGORITHMS["arow"]
    assert convert(declared, {**declared.defaults(), "feature.minfreq": 2.5}).cutoff == 3


def test_stopping_rules():
    def history(*losses):
        return [PassReport(k, 0.0, loss, 100 - loss) for k, loss in enumerate(losses, 1)]

    rule = SmallImprovement(2, 0.1)
    assert not rule.on_pass(history(10, 10))
    assert not rule.on_pass(history(10, 9, 9))
    assert rule.on_pass(history(10, 9, 9.1))
    assert FewErrors(0.05).on_pass(history(4.9))
    assert not FewErrors(0.05).on_pass(history(5.1))
    assert not FewErrors(0.0).on_pass(history(0.0))


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"c1": 0.5, "c2": 0.1},
        {"feature.possible_states": 1},
        {"feature.possible_states": 1, "feature.possible_transitions": 1, "c2": 0.3},
        {"feature.minfreq": 3.5},
        {"feature.minfreq": 2, "feature.possible_states": 1, "feature.possible_transitions": 1},
    ],
)
def test_the_optimum_is_that_of_crfsuite(real, tmp_path, parameters):
    more = {**parameters, "delta": 1e-8}
    data = [[{n: max(v, 0) for n, v in item.items()} for item in items] for items in X], Y
    theirs, expected = train(real, tmp_path / "theirs.crfsuite", data=data, **more)
    mine, found = train(ours, tmp_path / "mine.crfsuite", data=data, **more)
    last, reached = theirs.logparser.last_iteration, mine.logparser.last_iteration
    assert reached["loss"] == pytest.approx(last["loss"], rel=1e-4)
    assert mine.logparser.featgen_num_features == theirs.logparser.featgen_num_features
    for name in ("state_features", "transitions"):
        a, b = getattr(expected.info(), name), getattr(found.info(), name)
        for key in a.keys() | b.keys():
            assert a.get(key, 0) == pytest.approx(b.get(key, 0), abs=0.02), key


def test_only_pairs_that_occur_have_weights(tmp_path):
    data = [[{"a": 1}, {"b": 1, "zero": 0}, {"a": 1}]] * 3, [["X", "Y", "X"]] * 3
    _, tagger = train(ours, tmp_path / "m.crfsuite", data=data)
    info = tagger.info()
    assert set(info.state_features) == {("a", "X"), ("b", "Y")}
    assert set(info.transitions) == {("X", "Y"), ("Y", "X")}
    more = {"feature.possible_states": 1, "feature.possible_transitions": True}
    _, tagger = train(ours, tmp_path / "m.crfsuite", data=data, **more)
    assert len(tagger.info().state_features) == len(tagger.info().transitions) == 4


def test_seen_pairs():
    items = [[{"a": 1, "b": 0}, {"b": 2}], [{"c": 1}, {}]]
    corpus = AttributeCorpus.from_items(items, keep_zeros=True)
    data = Dataset.build(corpus.with_labels([["X", "Y"], ["Y", "Y"]]))
    width = data.layout.width

    def marked(examples, **options):
        mask = seen_pairs(examples, **{"states": False, "transitions": False, **options})
        node = mask[: 3 * width].reshape(3, width)
        assert mask[3 * width :].reshape(1, 2, width)[..., 2:].sum() == node[:, 2:].sum() == 0
        order = np.argsort([examples.index.name(p) for p in range(3)])
        return node[order, :2].tolist(), mask[3 * width :].reshape(2, width)[:, :2].tolist()

    seen = [[1, 0], [1, 1], [0, 1]]
    assert marked(data) == (seen, [[0, 1], [0, 1]])
    assert marked(data, states=True)[0] == [[1, 1]] * 3
    assert marked(data, transitions=True) == (seen, [[1, 1]] * 2)
    assert marked(data, states=True, min_frequency=0.5) == ([[1, 0], [0, 1], [0, 1]], [[0, 1]] * 2)
    assert marked(data, min_frequency=1.5) == ([[0, 0], [0, 1], [0, 0]], [[0, 0]] * 2)
    partly = Dataset.build(corpus.with_labels([["X", "Y"], [None, "Y"]]))
    assert marked(partly) == ([[1, 0], [1, 1], [1, 1]], [[1, 1]] * 2)
    less = without_zeros(data)
    assert np.diff(less.encoded.positions).tolist() == [1, 2, 1, 1]  # with the label bigram
    assert less.encoded.values.all()


@pytest.mark.parametrize("name", ["l2sgd", "ap", "pa", "arow"])
def test_online_algorithms_learn(tmp_path, name):
    trainer, tagger = train(ours, tmp_path / "m.crfsuite", name, max_iterations=40)
    assert len(trainer.logparser.iterations) <= 40
    right = [
        a == b for x, y in zip(X, Y, strict=True) for a, b in zip(tagger.tag(x), y, strict=True)
    ]
    assert np.mean(right) > 0.75


def test_data_that_does_not_fit():
    trainer = ours.Trainer(verbose=False)
    for labels in (["x"], ["x", "y", "z"]):
        for items in ([["a"], ["b"]], iter([["a"], ["b"]]), ours.ItemSequence([["a"], ["b"]])):
            with pytest.raises(CorpusError, match=r"2 items and . label"):
                trainer.append(items, labels)
    for label in (1, None):
        with pytest.raises(TypeError, match="a label is"):
            trainer.append([["a"]], [label])
    trainer.append([["a"]], [b"bytes"])


def test_arguments_of_wrong_types(tmp_path):
    """They are type errors, as those of python-crfsuite are."""
    trainer = ours.Trainer(verbose=False)
    for items in (None, [["a"]]):
        with pytest.raises(WrongTypeError, match="the labels are None; allowed: a list of strings"):
            trainer.append(items, None)
    for group in ("x", "2", None, 1 << 31, math.nan):
        with pytest.raises(WrongTypeError, match=r"group is .*; allowed: a whole number"):
            trainer.append([["a"]], ["A"], group=group)
    with pytest.raises(TypeError, match=r"holdout is the string 'x'; allowed: a whole number"):
        trainer.train(tmp_path / "x", holdout="x")
    trainer.append([["a"]], ["A"], group=np.int64(2))


@pytest.mark.parametrize("items", [[], [[]]])
def test_nothing_to_train_on(tmp_path, items, capsys):
    trainer = ours.Trainer()
    for sequence in items:
        trainer.append(sequence, [])
    path = tmp_path / "empty.crfsuite"
    trainer.train(path)
    assert "no data" in capsys.readouterr().out
    with ours.Tagger().open(path) as tagger:
        assert (tagger.labels(), tagger.tag([])) == ([], [])
        with pytest.raises(CorpusError, match="no labels"):
            tagger.tag([["a"]])


def test_a_folder_that_is_missing_is_found_before_training(tmp_path):
    trainer = ours.Trainer()
    trainer.append(X[0], Y[0])
    with pytest.raises(FileError):
        trainer.train(tmp_path / "none" / "model.crfsuite")


def test_held_out_data_is_scored_and_not_trained_on(tmp_path):
    rng = random.Random(1)
    noise = [rng.choices("ABC", k=len(labels)) for labels in Y[:20]]
    for verbose in (True, False):
        trainer = ours.Trainer("lbfgs", {"max_iterations": 8}, verbose=verbose)
        for items, labels in zip(X[:20], Y[:20], strict=True):
            trainer.append(items, labels)
        if verbose:
            for items, labels in zip(X[:20], noise, strict=True):
                trainer.append(items, [*labels[:-1], "only here"], 3)
        trainer.train(tmp_path / f"{verbose}.crfsuite", holdout=3)
        if verbose:
            info = trainer.logparser.last_iteration
    files = [(tmp_path / f"{verbose}.crfsuite").read_bytes() for verbose in (True, False)]
    assert files[0] == files[1]
    tagger = ours.Tagger()
    tagger.open(tmp_path / "True.crfsuite")
    gold = [[*labels[:-1], "only here"] for labels in noise]
    tags = [tagger.tag(items) for items in X[:20]]
    pairs = [pair for g, t in zip(gold, tags, strict=True) for pair in zip(g, t, strict=True)]
    right = sum(a == b for a, b in pairs)
    assert info["item_accuracy_float"] == right / len(pairs)
    assert info["instance_accuracy"] == 0
    score = info["scores"]["A"]
    counts = (
        sum(a == b == "A" for a, b in pairs),
        sum(b == "A" for _, b in pairs),
        sum(a == "A" for a, _ in pairs),
    )
    assert (score.match, score.model, score.ref) == counts
    assert score.precision == pytest.approx(counts[0] / counts[1], abs=1e-4)
    assert info["scores"]["only here"].recall == 0
    f1 = [entry.f1 for entry in info["scores"].values()]
    assert info["avg_f1"] == pytest.approx(np.mean(f1), abs=1e-4)


def test_messages_and_events(tmp_path, capsys):
    class Recorder(ours.Trainer):
        def __init__(self):  # without that of the base, as some projects do
            self.events = []
            self.verbose = True

        def on_iteration(self, log, info):
            self.events.append((log, info))

        def on_end(self, log):
            self.events.append(log)

    trainer = Recorder()
    trainer.set("max_iterations", 2)
    trainer.append([["a"], ["b"]], ["x", "y"])
    trainer.train(tmp_path / "m.crfsuite")
    text = capsys.readouterr().out
    assert "feature.minfreq: 0.000000\n" in text
    assert "type: CRF1d\n" in text
    (log, info), (_, second), end = trainer.events
    assert log.startswith("***** Iteration #1 *****\nLoss: ")
    assert info["num"] == 1
    assert second["loss"] < info["loss"]
    assert end.startswith("Storing the model\n")
    quiet = ours.Trainer(verbose=False)
    quiet.append([["a"], ["b"]], ["x", "y"])
    quiet.train("")
    assert capsys.readouterr().out == ""
    assert quiet.logparser.iterations

    class Failing(ours.BaseTrainer):
        def message(self, message):
            raise KeyError(message)

    with pytest.raises(KeyError):
        Failing().train("")
    base = ours.BaseTrainer()
    base.append([["a"], ["b"]], ["x", "y"])
    base.train("")
    assert "Iteration #1" in capsys.readouterr().out


def test_data_with_one_label(tmp_path, capsys):
    trainer = ours.Trainer()
    trainer.append([["a"], ["b"]], ["x", "x"])
    trainer.train(tmp_path / "m.crfsuite")
    text = capsys.readouterr().out
    assert "terminated with error: nothing to improve" in text
    assert "Storing the model" in text
    with ours.Tagger().open(tmp_path / "m.crfsuite") as tagger:
        assert tagger.tag([["a"], ["c"]]) == ["x", "x"]


def test_sequences_can_be_cleared(tmp_path):
    trainer = ours.Trainer(verbose=False)
    trainer.append([["a"]], ["x"])
    trainer.clear()
    trainer.append([["b"]], ["y"])
    trainer.train(tmp_path / "m")
    with ours.Tagger().open(tmp_path / "m") as tagger:
        assert tagger.labels() == ["y"]


def test_errors_have_a_code():
    assert ours.CRFSuiteError(3).code == 3
    assert str(ours.CRFSuiteError("what")) == "what"
    assert ours.CRFSUITE_VERSION
