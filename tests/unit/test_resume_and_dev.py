"""A run that is resumed with other development data, or with none, compares like with like."""

from __future__ import annotations

import numpy as np
import pytest

import adaptag
from adaptag.training.callbacks import Callback, Converged, EarlyStopping, PassReport

SENTENCES = [["the", "cat", "sat"], ["a", "dog"], ["it", "sat"], ["the", "dog", "saw", "it"]] * 3
LABELS = [["D", "N", "V"], ["D", "N"], ["P", "V"], ["D", "N", "V", "P"]] * 3
DEV = [[("the", "N"), ("cat", "V"), ("it", "P")], [("dog", "D")]]  # mostly wrong


def train(**given):
    return adaptag.train(SENTENCES, LABELS, **given)


def test_resumed_without_development_data_the_passes_count(tmp_path):
    """The weights of the best pass of the first run used to come out again."""
    train(passes=3, dev=DEV, checkpoint=tmp_path / "s")
    resumed = train(passes=10, resume=tmp_path / "s")
    assert resumed.weights.tobytes() == train(passes=10).weights.tobytes()
    assert len(resumed.provenance["passes"]) == resumed.provenance["best_pass"] == 10


class Everything(Callback):
    """Keeps the history."""

    def on_pass(self, history):
        self.history = list(history)
        return False


def test_resumed_with_development_data_training_accuracy_does_not_count(tmp_path):
    """Scores of development data used to be compared with training accuracies, which are higher."""
    train(passes=8, checkpoint=tmp_path / "s")
    callback = Everything()
    model = train(passes=20, dev=DEV, patience=6, resume=tmp_path / "s", callbacks=[callback])
    reports = callback.history
    assert {r.metric for r in reports[:8]} == {"training accuracy"}
    assert {r.metric for r in reports[8:]} == {"dev accuracy"}
    best = model.provenance["best_pass"]
    scores = [r.dev_score for r in reports[8:]]
    assert best == 9 + scores.index(max(scores))
    assert len(reports) == min(20, best + 6)  # not stopped before its time
    assert model.evaluate(DEV).score == max(scores)
    plain = train(passes=best)
    assert model.weights.tobytes() == plain.weights.tobytes()


def test_resumed_with_the_same_data_the_best_pass_is_that_of_all(tmp_path):
    whole = train(passes=12, dev=DEV, patience=99)
    train(passes=5, dev=DEV, patience=99, checkpoint=tmp_path / "s")
    resumed = train(passes=12, dev=DEV, patience=99, resume=tmp_path / "s")
    assert resumed.provenance["best_pass"] == whole.provenance["best_pass"]
    assert resumed.weights.tobytes() == whole.weights.tobytes()


def reports(*scores):
    """Reports of passes: numbers are training accuracies, pairs development scores."""
    made = []
    for number, score in enumerate(scores, 1):
        if isinstance(score, tuple):
            made.append(PassReport(number, 0.1, 1.0, 99.0).scored(*score))
        else:
            made.append(PassReport(number, 0.1, 1.0, score))
    return made


def test_stopping_rules_compare_like_with_like():
    history = reports(99.0, 99.0, 99.0, 99.0, (50.0, "F1"), (50.0, "F1"))
    assert not EarlyStopping(2).on_pass(history)
    assert not Converged(3).on_pass(history)
    assert Converged(2).on_pass(history)
    assert EarlyStopping(1).on_pass(history)
    assert not EarlyStopping(1).on_pass(reports((60.0, "accuracy"), (50.0, "F1")))


def test_reports_name_what_they_show(capsys):
    train(passes=1, dev=DEV, verbose=True)
    assert "dev accuracy" in capsys.readouterr().err
    train(passes=1, verbose=True)
    assert "dev" not in capsys.readouterr().err
    report = PassReport(1, 0.1, 1.0, 90.0).scored(50.0, "F1")
    assert report.metric == "dev F1"
    assert "dev F1 50.00" in report.figures()
    assert report.to_dict()["dev_metric"] == "F1"


@pytest.mark.parametrize("name", ["adf", "averaged-perceptron"])
def test_partial_fit_does_not_touch_the_whole_model(name, monkeypatch):
    """Each call used to allocate and copy all weights and state."""
    from adaptag.training.online import Trainer

    calls = {"made": 0, "read": 0}
    make, read = Trainer.__init__, Trainer.current_weights

    def counted_make(self, *args, **kwargs):
        calls["made"] += 1
        make(self, *args, **kwargs)

    def counted_read(self):
        calls["read"] += 1
        return read(self)

    monkeypatch.setattr(Trainer, "__init__", counted_make)
    monkeypatch.setattr(Trainer, "current_weights", counted_read)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 8)), rng.integers(0, 3, 60)
    classifier = adaptag.MaxEntClassifier(name, random_state=0)
    for part in range(6):
        rows = slice(10 * part, 10 * part + 10)
        classifier.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    assert calls == {"made": 1, "read": 0}
    classifier.predict(X)
    classifier.predict_proba(X)
    assert calls == {"made": 1, "read": 1}
    classifier.partial_fit(X, y)
    assert classifier.coef_.shape == (3, 8)
    assert calls == {"made": 1, "read": 2}
    classifier.set_params(batch=2).partial_fit(X, y)  # other settings: a new trainer
    assert calls["made"] == 2


def test_partial_fit_goes_on_in_a_pickle():
    import pickle

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 8)), rng.integers(0, 2, 60)
    one, two = (adaptag.MaxEntClassifier("adf", random_state=0) for _ in range(2))
    one.partial_fit(X, y, classes=[0, 1])
    two = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.partial_fit(X, y).coef_, two.partial_fit(X, y).coef_)


def test_errors_of_our_own_are_not_taken_for_bad_input(monkeypatch):
    """A TypeError inside used to be told as an error of the data."""
    model = train(passes=1)

    def broken(*_, **__):
        raise TypeError("a bug")

    monkeypatch.setattr("adaptag.decoding.sentences.corpus_of", broken)
    with pytest.raises(TypeError, match="a bug"):
        model.marginals(["the"])
