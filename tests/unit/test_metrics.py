"""Scores of label sequences."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn import metrics as flat
from sklearn.metrics import make_scorer

import adaptag
from adaptag import CRF, metrics
from adaptag.errors import AdaptagError, CorpusError

TRUE = [["B-X", "I-X", "O"], ["O", "B-Y"], [], ["B-X"]]
GUESS = [["B-X", "I-X", "B-Y"], ["O", "O"], [], ["B-X"]]
LABELS = ["B-X", "I-X", "B-Y"]


def joined(sequences):
    return [label for labels in sequences for label in labels]


@pytest.mark.parametrize("name", ["precision", "recall", "f1"])
@pytest.mark.parametrize("given", [{"average": "weighted"}, {"average": None, "labels": LABELS}])
def test_flat_scores(name, given):
    ours = getattr(metrics, f"flat_{name}_score")(TRUE, GUESS, zero_division=0, **given)
    score = getattr(flat, f"{name}_score")
    expected = score(joined(TRUE), joined(GUESS), zero_division=0, **given)
    assert ours == pytest.approx(expected)


def test_accuracy():
    assert metrics.flat_accuracy_score(TRUE, GUESS) == pytest.approx(4 / 6)
    assert metrics.flat_accuracy_score(TRUE, GUESS, normalize=False) == 4
    assert metrics.sequence_accuracy_score(TRUE[:2] + TRUE[3:], GUESS[:2] + GUESS[3:]) == 1 / 3


def test_fbeta():
    given = {"average": "micro", "labels": LABELS}
    guess = [*GUESS[:3], ["O"]]
    expected = flat.fbeta_score(joined(TRUE), joined(guess), beta=2, **given)
    assert metrics.flat_fbeta_score(TRUE, guess, 2, **given) == expected
    assert metrics.flat_fbeta_score(TRUE, guess, beta=0.5, **given) != expected


def test_report():
    ours = metrics.flat_classification_report(TRUE, GUESS, labels=LABELS, digits=3, zero_division=0)
    expected = flat.classification_report(
        joined(TRUE), joined(GUESS), labels=LABELS, digits=3, zero_division=0
    )
    assert ours == expected
    made = metrics.flat_classification_report(TRUE, GUESS, output_dict=True, zero_division=0)
    assert made["B-X"]["support"] == 2


def test_what_is_not_known_does_not_count():
    partial = [["B-X", None, "O"], [None, None], [], ["B-X"]]
    assert metrics.flat_accuracy_score(partial, GUESS) == pytest.approx(2 / 3)
    assert metrics.flat_recall_score(partial, GUESS, average=None, labels=["B-X"]) == [1.0]
    assert metrics.sequence_accuracy_score(partial, GUESS) == 1 / 2  # the second and third: nothing
    assert metrics.chunk_f1_score(partial, GUESS) == 1.0  # the last alone is known
    unknown = [[None] * len(labels) for labels in TRUE]
    for score in (metrics.flat_accuracy_score, metrics.sequence_accuracy_score):
        with pytest.raises(AdaptagError, match="no label that is known"):
            score(unknown, GUESS)


def test_weights_of_sequences():
    given = [1, 3, 1, 2]
    assert metrics.flat_accuracy_score(TRUE, GUESS, sample_weight=given) == pytest.approx(
        (2 + 3 + 2) / (3 + 6 + 2)
    )
    partial = [[None, "I-X", "O"], *TRUE[1:]]
    assert metrics.flat_accuracy_score(partial, GUESS, sample_weight=given) == pytest.approx(
        (1 + 3 + 2) / (2 + 6 + 2)
    )
    assert metrics.sequence_accuracy_score(TRUE, GUESS, sample_weight=given) == 2 / 6
    with pytest.raises(AdaptagError, match="sample_weight has the shape"):
        metrics.flat_accuracy_score(TRUE, GUESS, sample_weight=[1])


def test_chunks():
    # gold: X, Y, X; predicted: X, Y, X; right: two of three
    assert metrics.chunk_f1_score(TRUE, GUESS) == pytest.approx(2 / 3)
    assert metrics.chunk_f1_score(TRUE, GUESS) == adaptag.evaluate(TRUE, GUESS).chunks.f1 / 100
    assert metrics.chunk_f1_score(TRUE, TRUE) == 1.0
    assert metrics.chunk_f1_score([["O"]], [["O"]]) == 0.0
    with pytest.raises(AdaptagError, match="the labels do not mark chunks"):
        metrics.chunk_f1_score([["NOUN"]], [["NOUN"]])


@pytest.mark.parametrize("name", metrics.__all__)
def test_lengths_that_differ(name):
    score = getattr(metrics, name)
    given = {"beta": 1} if "fbeta" in name else {}
    with pytest.raises(AdaptagError, match="y_true holds 4 sequences, y_pred 3"):
        score(TRUE, GUESS[:3], **given)
    if name == "sequence_accuracy_score":  # such a sequence is wrong, as in sklearn-crfsuite
        assert score(TRUE[1:], [*TRUE[1:3], ["O", "O"]]) == 1 / 2
        return
    with pytest.raises(AdaptagError, match="sequence 4: y_true holds 1 labels, y_pred 2"):
        score(TRUE, [*GUESS[:3], ["O", "O"]], **given)


def as_objects(sequences):
    array = np.empty(len(sequences), object)
    array[:] = sequences
    return array


FORMS = {
    "tuples": lambda s: tuple(map(tuple, s)),
    "an array of lists": as_objects,
    "a list of arrays": lambda s: [np.array(labels, object) for labels in s],
    "a generator of generators": lambda s: ((label for label in labels) for labels in s),
}


def scored(name, *data):
    given = {"beta": 1} if "fbeta" in name else {}
    if name.startswith("flat_") and "accuracy" not in name and "report" not in name:
        given["average"] = "weighted"
    return getattr(metrics, name)(*data, **given)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("name", metrics.__all__)
def test_forms_of_sequences(name, form):
    partial = [*TRUE[:3], [None]]
    assert scored(name, form(partial), form(GUESS)) == scored(name, partial, GUESS)


def test_a_matrix_of_labels():
    square = np.array([["B-X", "O"], ["O", "O"]])
    assert metrics.flat_accuracy_score(square, square[::-1]) == 0.5
    assert metrics.chunk_f1_score(square, square) == 1.0


@pytest.mark.parametrize("name", metrics.__all__)
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (["B-A", "O"], ", sequence 1 is the string 'B-A'; allowed: a list of labels"),
        (np.array(["B-A", "O"]), r", sequence 1 is .*'B-A'.*; allowed: a list of labels"),
        ([["O"], None], ", sequence 2 is None; allowed: a list of labels"),
        ([{"O"}], r", sequence 1 is the set {'O'}; allowed: a list of labels"),
        ("B-A", " is the string 'B-A'; allowed: a list of sequences, each a list of labels"),
        (None, " is None; allowed: a list of sequences, each a list of labels"),
    ],
)
def test_what_are_no_sequences(name, data, message):
    with pytest.raises(CorpusError, match=f"^y_true{message}$"):
        scored(name, data, data)
    with pytest.raises(CorpusError, match=f"^y_pred{message}$"):
        scored(name, [["O"], ["O"]], data)


def test_scorers():
    X = [[{"w": label} for label in labels] for labels in TRUE]
    crf = CRF(random_state=0).fit(X, TRUE)
    assert make_scorer(metrics.flat_f1_score, average="macro")(crf, X, TRUE) == 1.0
    assert make_scorer(metrics.chunk_f1_score)(crf, X, TRUE) == 1.0
    assert make_scorer(metrics.flat_fbeta_score, beta=2, average="micro")(crf, X, TRUE) == 1.0


def test_they_are_loaded_when_first_used():
    code = (
        "import sys, adaptag; assert 'sklearn' not in sys.modules; "
        "from adaptag import metrics; assert metrics.__name__ == 'adaptag.estimators.metrics'; "
        "assert 'metrics' in dir(adaptag)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
