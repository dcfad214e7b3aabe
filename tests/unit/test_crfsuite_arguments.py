"""The arguments and attributes of sklearn-crfsuite's CRF."""

from __future__ import annotations

import inspect
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

import adaptag as sklearn_crfsuite  # what users of sklearn-crfsuite may write
from adaptag import CRF, metrics, pycrfsuite, scorers
from adaptag.errors import ParameterError, UnusedArgumentWarning
from adaptag.estimators.crfsuite_arguments import PARAMETERS
from adaptag.pycrfsuite.parameters import ALGORITHMS
from tests.unit.test_pycrfsuite_training import X, Y

TUTORIAL = {"algorithm": "lbfgs", "c1": 0.1, "c2": 0.1, "max_iterations": 30}
THEIRS = [
    "algorithm", "min_freq", "all_possible_states", "all_possible_transitions", "c1", "c2",
    "max_iterations", "num_memories", "epsilon", "period", "delta", "linesearch", "max_linesearch",
    "calibration_eta", "calibration_rate", "calibration_samples", "calibration_candidates",
    "calibration_max_trials", "pa_type", "c", "error_sensitive", "averaging", "variance", "gamma",
    "verbose", "model_filename", "keep_tempfiles", "trainer_cls",
]  # fmt: skip


def test_all_arguments_are_there():
    assert set(THEIRS) <= set(inspect.signature(CRF).parameters)
    assert set(THEIRS) <= set(CRF().get_params())
    names = {parameter.name for a in ALGORITHMS.values() for parameter in a.parameters}
    assert set(PARAMETERS.values()) == names
    defaults = dict.fromkeys(THEIRS) | {"verbose": False, "keep_tempfiles": False}
    assert {name: CRF().get_params()[name] for name in THEIRS} == defaults


@pytest.mark.parametrize(
    ("algorithm", "arguments", "parameters"),
    [
        (None, {"c2": 0.3}, {"c2": 0.3}),
        ("lbfgs", {"c1": 0.1, "min_freq": 2}, {"c1": 0.1, "feature.minfreq": 2}),
        (
            "lbfgs",
            {"all_possible_states": True, "all_possible_transitions": True, "delta": 1e-4},
            {"feature.possible_states": 1, "feature.possible_transitions": 1, "delta": 1e-4},
        ),
        ("lbfgs", {"max_iterations": 7, "num_memories": 3, "period": 4, "c2": 1.0},
         {"max_iterations": 7, "num_memories": 3, "period": 4}),
    ],
)  # fmt: skip
def test_the_model_is_that_of_the_trainer(tmp_path, algorithm, arguments, parameters):
    some = [[{n: max(v, 0) for n, v in item.items()} for item in items] for items in X]
    crf = CRF(algorithm, **arguments).fit(some, Y)
    trainer = pycrfsuite.Trainer("lbfgs", parameters, verbose=False)
    for items, labels in zip(some, Y, strict=True):
        trainer.append(items, labels)
    trainer.train(tmp_path / "m.crfsuite")
    with pycrfsuite.Tagger().open(tmp_path / "m.crfsuite") as tagger:
        info = tagger.info()
        assert crf.predict(X) == [tagger.tag(x) for x in X]
    assert crf.state_features_ == info.state_features
    assert crf.transition_features_ == info.transitions
    assert crf.n_iter_ == len(trainer.logparser.iterations)
    assert crf.num_attributes_ == len(info.attributes)


@pytest.mark.parametrize(
    ("algorithm", "arguments", "name", "parameters"),
    [
        ("l2sgd", {"c2": 2.0}, "sgd", {"sigma": 0.5}),
        ("ap", {}, "averaged-perceptron", {}),
        ("pa", {"pa_type": 2, "c": 0.5}, "pa", {"variant": "pa-2", "aggressiveness": 0.5}),
        ("arow", {"gamma": 3, "variance": 2}, "arow", {"gamma": 3, "variance": 2}),
        ("passive-aggressive", {"min_freq": 1}, "pa", {"aggressiveness": 1}),
    ],
)
def test_online_algorithms(algorithm, arguments, name, parameters):
    crf = CRF(algorithm, **arguments, max_iterations=6).fit(X, Y)
    provenance = crf.model_.provenance
    assert provenance["algorithm"] == name
    assert provenance["parameters"].items() >= parameters.items()
    assert crf.n_iter_ <= 6
    assert crf.score(X, Y) > 0.5
    if name != "sgd":
        assert crf.partial_fit(X[:2], Y[:2]).score(X, Y) > 0.5


def test_own_defaults_stay_without_arguments_of_crfsuite():
    for algorithm, name in ((None, "adf"), ("lbfgs", "lbfgs"), ("pa", "pa")):
        provenance = CRF(algorithm, passes=2).fit(X[:5], Y[:5]).model_.provenance
        assert provenance["algorithm"] == name
        values = provenance["parameters"]
        assert values.get("sigma", 5) == 5
        assert values.get("aggressiveness", 0.1) == 0.1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"c1": 0.1, "l1": 0.1}, "c1 and l1 are given"),
        ({"c2": 0.1, "sigma": 1.0}, "c2 and sigma are given"),
        ({"max_iterations": 5, "passes": 5}, "max_iterations and passes"),
        ({"min_freq": 2, "cutoff": 2}, "min_freq and cutoff"),
        ({"c1": 0.1, "parameters": {"memory": 3}}, "c1 and parameters"),
        ({"algorithm": "ap", "rate": 0.1}, "algorithm='ap' and rate"),
        ({"algorithm": "adf", "c2": 0.1}, "c2 is an argument for CRFsuite's algorithms"),
        ({"algorithm": "ap", "c1": 0.1}, "unknown parameter 'c1'"),
        ({"algorithm": "best"}, "unknown algorithm 'best'"),
        ({"algorithm": "best", "c1": 0.1}, "unknown algorithm 'best'"),
        ({"c2": -1}, "c2 is -1"),
        ({"all_possible_states": "yes"}, "possible_states is 'yes'"),
    ],
)
def test_arguments_that_do_not_fit(arguments, message):
    with pytest.raises(ParameterError, match=message):
        CRF(**arguments).fit(X, Y)


@pytest.mark.parametrize(
    "arguments",
    [{"keep_tempfiles": True}, {"trainer_cls": object}, {"linesearch": "Backtracking"},
     {"epsilon": 0.5}, {"algorithm": "pa", "averaging": False, "max_iterations": 3}],
)  # fmt: skip
def test_what_has_no_meaning_warns_once(arguments):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(2):
            CRF(**arguments).fit(X[:3], Y[:3])
    assert len(found) == 1
    assert found[0].category is UnusedArgumentWarning
    assert "no counterpart" in str(found[0].message)
    assert found[0].filename == __file__


def test_defaults_of_crfsuite_do_not_warn():
    CRF(linesearch="MoreThuente", max_linesearch=20, epsilon=1e-5, max_iterations=2).fit(X, Y)


def test_searches_clones_and_pickles():
    crf = sklearn_crfsuite.CRF(**TUTORIAL, all_possible_transitions=True)
    assert clone(crf).get_params() == crf.get_params()
    search = GridSearchCV(crf, {"c1": [0.01, 3.0], "c2": [0.1, 10]}, cv=2, n_jobs=1)
    search.fit(X, Y)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert search.best_estimator_.c1 == search.best_params_["c1"]
    scores = cross_val_score(crf, X, Y, cv=2, scoring=scorers.sequence_accuracy)
    assert len(scores) == 2
    crf.fit(X, Y)
    assert crf.tagger_.labels() == list(crf.model_.labels)
    again = pickle.loads(pickle.dumps(crf))
    assert again.predict(X) == crf.predict(X)
    assert again.get_params() == crf.get_params()
    assert [entry["num"] for entry in again.training_log_.iterations] == list(
        range(1, crf.n_iter_ + 1)
    )


def test_attributes():
    crf = CRF(**TUTORIAL)
    for name in ("tagger_", "size_", "classes_", "num_attributes_", "attributes_"):
        with pytest.raises(NotFittedError):
            getattr(crf, name)
    crf.fit(X, Y)
    first = crf.tagger_
    assert crf.tagger_ is first
    assert first.tag(X[0]) == crf.predict_single(X[0])
    assert crf.size_ == len(crf.model_.to_bytes())
    assert set(crf.tagger_.info().attributes) <= set(crf.attributes_)
    assert 0 < crf.num_attributes_ <= len(crf.attributes_)
    assert all(crf.state_features_.values())
    assert {label for pair in crf.transition_features_ for label in pair} <= set(crf.classes_)
    assert crf.training_log_.last_iteration["loss"] > 0
    crf.fit(X[:3], Y[:3])
    assert crf.tagger_ is not first


@pytest.mark.parametrize("name", ["model.crfsuite", "model.adaptag"])
def test_model_files(tmp_path, name):
    path = tmp_path / name
    assert not hasattr(CRF(model_filename=path), "model_")
    crf = CRF(**TUTORIAL, model_filename=path).fit(X, Y)
    stored = CRF(model_filename=str(path))
    assert stored.predict(X) == crf.predict(X)
    assert pickle.loads(pickle.dumps(stored)).predict(X) == crf.predict(X)
    with pycrfsuite.Tagger().open(path) as tagger:
        assert [tagger.tag(x) for x in X] == crf.predict(X)


def test_item_sequences_and_development_data():
    items = [pycrfsuite.ItemSequence(x) for x in X]
    crf = CRF(**TUTORIAL).fit(items, Y, X_dev=X[:5], y_dev=Y[:5])
    assert crf.predict(items) == crf.predict(X)
    marginals = crf.predict_marginals_single(X[0])
    tagger = crf.tagger_
    tagger.set(X[0])
    for t, row in enumerate(marginals):
        for label, probability in row.items():
            assert probability == pytest.approx(tagger.marginal(label, t), abs=1e-5)
    assert metrics.flat_accuracy_score(Y, crf.predict(X)) == crf.score(X, Y)
    assert metrics.sequence_accuracy_score([], []) == 0


def test_unknown_labels_and_class_weights():
    partly = [[None, *labels[1:]] for labels in Y]
    crf = CRF(**TUTORIAL, class_weight="balanced").fit(X, partly)
    assert np.isfinite(crf.model_.weights).all()
    assert crf.score(X, Y) > 0.5
