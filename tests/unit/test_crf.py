"""The CRF estimator: what it takes and gives, and scikit-learn's own checks."""

from __future__ import annotations

import itertools
import pickle
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks
from sklearn.utils.validation import validate_data

import adaptag
from adaptag import CRF, Model, StreamTrainer, metrics
from adaptag.corpus.ingredients import ingredients
from adaptag.errors import AdaptagError, CorpusError, ParameterError
from adaptag.features.template import Template

ALGORITHMS = list(adaptag.algorithms())
STREAMED = [name for name, one in adaptag.algorithms().items() if one.online and name != "madf"]
SPLITS = ingredients(train=80, dev=30, test=30)
TOKENS = [list(s.tokens) for s in SPLITS.train]
LABELS = [list(s.labels) for s in SPLITS.train]


def items(tokens):
    """The features of a line as dictionaries."""
    return [
        {
            "word": word.lower(),
            "digit": word[0].isdigit(),
            "before": tokens[t - 1].lower() if t else "<s>",
            "bias": 1.0,
        }
        for t, word in enumerate(tokens)
    ]


ITEMS = [items(tokens) for tokens in TOKENS]
DEV = [items(s.tokens) for s in SPLITS.dev]
DEV_LABELS = [list(s.labels) for s in SPLITS.dev]
A_LINE = items(["2", "cups", "chopped", "fresh", "parsley"])

# Two labels that the features tell apart.
X = [[{"w": "a"}, {"w": "b"}], [{"w": "b"}], [{"w": "b"}, {"w": "a"}, {"w": "a"}]]
Y = [["A", "B"], ["B"], ["B", "A", "A"]]


def exact(**given):
    """L-BFGS close to its optimum, which is one."""
    return CRF("lbfgs", **given, parameters={"tolerance": 0.0})


def weights(crf):
    """All weights by name, whatever their order in the model."""
    model, found = crf.model_, {}
    for p in range(model.index.n_predicates):
        for table in model.weights_of(p):
            for place, value in np.ndenumerate(np.zeros(0) if table is None else table):
                names = tuple(model.labels[k] for k in place)
                found[(model.index.name(p), *names)] = float(value)
    return found


@pytest.fixture(scope="module")
def trained():
    return CRF(random_state=1).fit(ITEMS, LABELS)


# ---- what X may be ------------------------------------------------------------------------------


def test_dictionaries_and_lists_of_attributes_are_the_same():
    X = [[{"w": word, "n": {"is": word[0]}} for word in tokens] for tokens in TOKENS]
    lists = [[[f"w:{word}", f"n:is:{word[0]}"] for word in tokens] for tokens in TOKENS]
    one, two = (CRF(random_state=0, passes=3).fit(form, LABELS) for form in (X, lists))
    assert weights(one) == weights(two)
    assert one.predict(X) == two.predict(lists) == one.predict(lists)
    assert "n:is:2" in one.attributes_


def test_numbers_are_values():
    X = [[{"x": value}] for value in (-2.0, -1.0, 1.0, 2.0)]
    crf = exact().fit(X, [["-"], ["-"], ["+"], ["+"]])
    assert crf.attributes_ == ["x"]
    low, high = (crf.predict_marginals_single([{"x": v}])[0]["+"] for v in (0.5, 3.0))
    assert 0.5 < low < high
    assert crf.predict([[{"x": -0.1}, {"x": 5}]]) == [["-", "+"]]


def test_tokens_with_a_template():
    crf = CRF(template="general", random_state=0).fit(TOKENS, LABELS)
    expected = adaptag.train(TOKENS, LABELS, template="general", passes=crf.n_iter_)
    assert set(crf.attributes_) == {
        expected.index.name(p) for p in range(sum(expected.index.n_of_kind[:2]))
    }
    assert crf.score(TOKENS, LABELS) > 0.97
    assert crf.predict(TOKENS) == [crf.model_.tag(tokens) for tokens in TOKENS]
    text = CRF(template="U:%x[0,0]\nB", random_state=0).fit(TOKENS, LABELS)
    parsed = CRF(template=Template("U:%x[0,0]\nB"), random_state=0).fit(TOKENS, LABELS)
    assert weights(text) == weights(clone(parsed).fit(TOKENS, LABELS))


def test_tokens_of_columns():
    X = [[(word, word[0]) for word in tokens] for tokens in TOKENS]
    crf = CRF(template="U0:%x[0,0]\nU1:%x[0,1]\nB", random_state=0).fit(X, LABELS)
    assert "U1:2" in crf.attributes_
    with pytest.raises(ValueError, match=r"column 1 is asked for; <data> has feature column 0"):
        clone(crf).fit(TOKENS, LABELS)


def test_arrays_iterators_and_empty_sequences():
    plain = CRF(random_state=0).fit(X, Y)
    arrays = np.array(X, dtype=object), np.array(Y, dtype=object)
    assert weights(CRF(random_state=0).fit(*arrays)) == weights(plain)
    assert weights(CRF(random_state=0).fit(iter(X), iter(Y))) == weights(plain)
    assert plain.predict(arrays[0]) == plain.predict(X)
    assert CRF(random_state=0).fit([[], *X], [[], *Y]).predict([[], *X])[0] == []
    assert plain.predict([]) == []
    assert plain.predict_marginals([[]]) == [[]]


def test_cutoff_and_rich_edges():
    plain = CRF(random_state=0, passes=2).fit(ITEMS, LABELS)
    fewer = CRF(random_state=0, passes=2, cutoff=3).fit(ITEMS, LABELS)
    rich = CRF(random_state=0, passes=2, rich_edges=True).fit(ITEMS, LABELS)
    assert set(fewer.attributes_) < set(plain.attributes_) == set(rich.attributes_)
    assert plain.model_.index.n_of_kind[1] == 0
    assert rich.model_.index.n_of_kind[0] == 0


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        (X, Y[:2], "X holds 3 sequences, y the labels of 2"),
        (X, [["A"], *Y[1:]], "sentence 1: 1 label for 2 tokens"),
        (X, [["A", 1], *Y[1:]], "labels of sentence 1: the int 1; allowed: a string, or None"),
        (X, ["AB", *Y[1:]], "labels of sentence 1: the string 'AB'; allowed: a list of labels"),
        (X, [np.array("A"), *Y[1:]], "labels of sentence 1: the ndarray array"),
        (X, [0, 1, 2], "labels of sentence 1: the int 0; allowed: a list of labels"),
        (X, None, "requires y to be passed, but the target y is None"),
        (X, "ABC", "y is the string 'ABC'; allowed: a list of sequences"),
        (X, [[None, None], [None], [None] * 3], "<data>: no label is known; at least one"),
        (None, Y, "X is None; allowed: a list of sequences"),
        ([], [], "X holds 0 sequences"),
        ([["a", "b"]], [["A", "B"]], "the token 'a'; tokens need a template"),
        (
            [[{"w": "a"}], ["b"]],
            [["A"], ["B"]],
            "sequence 2, item 1: a string; an item must be a dic",
        ),
        ([{"w": "a"}], [["A"]], "sentence 1 is the dict {'w': 'a'}; allowed: a list of"),
        ([[{"w": float("nan")}]], [["A"]], "sequence 1, item 1, w: a value that is not finite"),
        ([[1.5]], [["A"]], "sequence 1, item 1: neither a dictionary nor a collection of strings"),
    ],
)
def test_data_that_is_wrong(X, y, said):
    with pytest.raises(AdaptagError, match=said):
        CRF().fit(X, y)
    with pytest.raises(AdaptagError):
        CRF().partial_fit(X, y)


def test_features_or_a_string_where_tokens_belong():
    with pytest.raises(CorpusError, match=r"sentence 1: a position is .*; with a template each"):
        CRF(template="general").fit(X, Y)
    crf = CRF(template="general").fit(TOKENS, LABELS)
    with pytest.raises(
        CorpusError, match="sentence 1 is the string '2 cups'; allowed: a list of tokens"
    ):
        crf.predict_single("2 cups")
    with pytest.raises(CorpusError, match=r"X is the string .*; allowed: a list of sequences"):
        crf.predict("2 cups")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"algorithm": "nothing"}, "unknown algorithm 'nothing'"),
        ({"algorithm": "lbfgs", "rate": 0.1}, "lbfgs: unknown parameter 'rate'"),
        ({"passes": 0}, r"passes is 0; allowed: integer \[1, inf\)"),
        ({"cutoff": 0}, "cutoff is 0"),
        ({"sigma": -1.0}, "sigma is -1"),
        ({"parameters": {"betta": 0.9}}, "unknown parameter 'betta'; did you mean 'beta'"),
        ({"class_weight": "even"}, "unknown class_weight 'even'; allowed: balanced"),
        ({"class_weight": {"C": 1}}, "class_weight: unknown label 'C'; allowed: A, B"),
        ({"class_weight": {"A": -1}}, "a class_weight is negative"),
        ({"class_weight": 3}, "class_weight is 3; allowed: a dictionary"),
        ({"legal": "bios"}, r"unknown legal 'bios'; did you mean 'bioes'"),
        ({"legal": "iob2"}, "legal is 'iob2', but the labels mark no chunks"),
        ({"legal": 5}, "legal is 5; allowed: a name, or pairs"),
        ({"legal": [("A",)]}, r"legal: \('A',\); allowed: pairs of labels"),
        ({"legal": [("A", 5)]}, r"legal: \('A', 5\); allowed: pairs of labels"),
        ({"legal": ["AB"]}, "legal: 'AB'; allowed: pairs of labels"),
    ],
)
def test_parameters_that_are_wrong(given, said):
    with pytest.raises(ParameterError, match=said):
        CRF(**given).fit(X, Y)


# ---- what comes out -----------------------------------------------------------------------------


def test_predictions(trained):
    found = trained.predict(ITEMS)
    assert [len(one) for one in found] == [len(one) for one in LABELS]
    assert metrics.flat_accuracy_score(LABELS, found) > 0.97
    assert trained.predict_single(ITEMS[3]) == found[3]
    assert all(type(label) is str for label in found[0])


def test_marginals(trained):
    model = trained.model_
    found = trained.predict_marginals(DEV)
    rows = [row for sequence in found for row in sequence]
    assert all(list(row) == list(model.labels) for row in rows)
    np.testing.assert_allclose([sum(row.values()) for row in rows], 1, atol=1e-6)
    table = model.marginals_corpus(trained._corpus(DEV))
    np.testing.assert_allclose([list(row.values()) for row in rows], table, atol=1e-5)
    assert trained.predict_marginals_single(DEV[2]) == found[2]


def test_marginals_against_all_paths():
    crf = CRF(random_state=0, passes=3).fit(X, Y)
    nodes, edges = crf.state_features_, crf.transition_features_
    line = X[0] + X[1]
    paths = list(itertools.product("AB", repeat=3))
    scores = [
        sum(nodes["w:" + item["w"], label] for item, label in zip(line, path, strict=True))
        + sum(edges[pair] for pair in itertools.pairwise(path))
        for path in paths
    ]
    shares = np.exp(scores) / np.exp(scores).sum()
    for t, row in enumerate(crf.predict_marginals_single(line)):
        for label, probability in row.items():
            right = [path[t] == label for path in paths]
            assert probability == pytest.approx(shares[right].sum(), abs=1e-5)


def test_segments(trained):
    crf = CRF(template="U:%x[0,0]\nU:%x[-1,0]\nB", random_state=0).fit(TOKENS, LABELS)
    found = crf.predict_proba_segments(TOKENS[:10])
    assert sum(map(len, found)) > 20
    for tokens, segments in zip(TOKENS, found, strict=False):
        for one in segments:
            expected = crf.model_.segment_probability(tokens, one.first, one.last, one.type)
            assert one.probability == pytest.approx(expected, abs=1e-6)
    kinds = [one.type for one in trained.predict_proba_segments([A_LINE])[0]]
    assert kinds == [label[2:] for label in trained.predict_single(A_LINE) if label[0] == "B"]
    with pytest.raises(AdaptagError, match="the labels do not mark chunks"):
        CRF().fit(X, Y).predict_proba_segments(X)


def test_score():
    crf = CRF(random_state=0).fit(X, Y)
    assert crf.score(X, Y) == 1.0
    wrong = [["B", "B"], ["B"], ["B", "A", "C"]]
    assert crf.score(X, wrong) == pytest.approx(4 / 6)
    assert crf.score(X, [[None, "B"], ["B"], ["B", None, "C"]]) == pytest.approx(3 / 4)
    assert crf.score(X, wrong, sample_weight=[2, 0, 1]) == pytest.approx((2 + 2) / (4 + 3))
    for y, given, said in [
        ([[None, None], [None], [None] * 3], None, "y holds no label that is known"),
        (Y, [1, 2], r"sample_weight has the shape \(2,\); allowed: \(3,\)"),
        (Y, [0, 0, 0], "every sample_weight is zero"),
        (Y[:2], None, "labels of 2 sentences for 3 sentences"),
        (None, None, "y is None; allowed: a list of sequences"),
    ]:
        with pytest.raises(AdaptagError, match=said):
            crf.score(X, y, given)


@pytest.mark.parametrize("rich", [False, True])
def test_weights_by_name(rich):
    crf = CRF(random_state=1, rich_edges=rich).fit(ITEMS, LABELS)
    model = crf.model_
    numbers = {label: n for n, label in enumerate(model.labels)}
    (bigrams,) = model.index.plain_edges()
    _, table = model.weights_of(bigrams)
    assert len(crf.transition_features_) == len(numbers) ** 2
    for (a, b), weight in crf.transition_features_.items():
        assert weight == table[numbers[a], numbers[b]]
    assert crf.transition_features_["B-NAME", "I-NAME"] > 0
    features = {model.index.name(p): p for p in range(len(model.node_weights()))}
    assert list(features) == crf.attributes_
    assert {"word:cups", "digit", "bias"} <= set(features)
    largest = np.abs(model.node_weights()).max()
    found = crf.state_features_
    for name, p in features.items():
        for label, k in numbers.items():
            weight = float(model.weights_of(p)[0][k])
            assert found.get((name, label), 0.0) == (weight if abs(weight) > largest / 100 else 0.0)
    assert found["word:cups", "B-UNIT"] > 0


def test_attributes_of_a_trained_estimator(trained):
    assert trained.classes_.tolist() == sorted({label for labels in LABELS for label in labels})
    assert type(next(iter(trained.classes_))) is str
    assert trained.n_iter_ == adaptag.algorithms()["adf"].passes
    assert CRF(passes=3).fit(X, Y).n_iter_ == 3
    assert isinstance(trained.model_, Model)
    assert trained.model_.provenance["algorithm"] == "adf"


def test_before_training():
    crf = CRF()
    for name in ("model_", "classes_", "attributes_", "state_features_", "transition_features_"):
        assert not hasattr(crf, name)
    for method in (crf.predict, crf.predict_marginals, crf.predict_proba_segments):
        with pytest.raises(NotFittedError):
            method(X)


# ---- training -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_learns(name):
    crf = CRF(name, random_state=0).fit(X * 4, Y * 4)
    assert crf.predict(X) == Y
    assert crf.n_iter_ > 0


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_same_seed_gives_the_same_bits(name):
    one, same, other = (
        CRF(name, passes=2, random_state=seed).fit(ITEMS[:30], LABELS[:30]) for seed in (1, 1, 2)
    )
    assert (one.model_.weights == same.model_.weights).all()
    online = adaptag.algorithms()[name].online
    assert (one.model_.weights != other.model_.weights).any() == online
    generator = np.random.RandomState(1)
    again = CRF(name, passes=2, random_state=generator).fit(ITEMS[:30], LABELS[:30])
    assert (again.model_.weights == one.model_.weights).all()


def test_training_again_starts_from_scratch(trained):
    crf = clone(trained).fit(X, Y).fit(ITEMS, LABELS)
    assert (crf.model_.weights == trained.model_.weights).all()


def test_development_data_keeps_the_best_pass():
    crf = CRF(random_state=3, patience=4, passes=60, rate=0.5).fit(ITEMS, LABELS, DEV, DEV_LABELS)
    scores = [one["dev_score"] for one in crf.model_.provenance["passes"]]
    best = crf.model_.provenance["best_pass"]
    assert scores[best - 1] == max(scores) > scores[-1]
    assert crf.n_iter_ == len(scores) == best + 4
    found = 100 * metrics.chunk_f1_score(DEV_LABELS, crf.predict(DEV))
    assert found == pytest.approx(max(scores), abs=1e-9)


def test_development_data_with_labels_that_are_not_known():
    partial = [[None, *labels[1:]] if n % 2 else labels for n, labels in enumerate(DEV_LABELS)]
    one, two = (
        CRF(random_state=3, passes=5).fit(ITEMS, LABELS, *dev)
        for dev in ((DEV, partial), (DEV[::2], DEV_LABELS[::2]))
    )
    scores = [[one["dev_score"] for one in crf.model_.provenance["passes"]] for crf in (one, two)]
    assert scores[0] == scores[1]
    with pytest.raises(
        CorpusError, match="the data to score on has no sentence whose labels are all known"
    ):
        CRF().fit(X, Y, X[:1], [["A", None]])
    with pytest.raises(ParameterError, match="X_dev and y_dev must be given together"):
        CRF().fit(X, Y, X)


def test_weight_2_is_the_sequence_twice():
    twice = exact(sigma=1.0).fit([*X, X[0]], [*Y, Y[0]])
    weighted = exact(sigma=1.0).fit(X, Y, sample_weight=[2, 1, 1])
    plain = exact(sigma=1.0).fit(X, Y)
    assert weights(weighted) == pytest.approx(weights(twice), abs=1e-3)
    assert weights(weighted) != pytest.approx(weights(plain), abs=1e-2)


@pytest.mark.parametrize("name", ["lbfgs", "adf"])
def test_weight_0_leaves_a_sequence_out(name):
    wrong = [*X, [{"w": "a"}, {"other": "x"}]], [*Y, ["B", "C"]]
    crf = CRF(name, random_state=0).fit(*wrong, sample_weight=[1, 1, 1, 0])
    expected = CRF(name, random_state=0).fit(X, Y)
    assert weights(crf) == weights(expected)
    assert crf.classes_.tolist() == ["A", "B"]
    assert crf.attributes_ == expected.attributes_


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([1, 2], r"the shape \(2,\); allowed: \(3,\)"),
        ([1, 1, -1], "negative or not finite"),
        ([1, 1, float("nan")], "negative or not finite"),
        ([0, 0, 0], "every sample_weight is zero"),
    ],
)
def test_weights_that_are_wrong(given, said):
    for train in (CRF().fit, CRF().partial_fit):
        with pytest.raises(ParameterError, match=said):
            train(X, Y, sample_weight=given)


def test_class_weights_of_labels_that_a_fold_lacks():
    given = CRF(class_weight={"A": 4, "B": 1, "C": 9}, random_state=0).fit(X, Y)
    assert weights(given) == weights(CRF(class_weight={"A": 4}, random_state=0).fit(X, Y))


def test_class_weights_are_means_over_the_labels():
    given = exact(sigma=1.0, class_weight={"A": 4}).fit(X, Y, sample_weight=[1, 2, 1])
    by_hand = exact(sigma=1.0).fit(X, Y, sample_weight=[5 / 2, 2, 9 / 3])
    assert weights(given) == pytest.approx(weights(by_hand), abs=1e-4)
    partial = [["A", None], ["B"], ["B", "A", None]]
    given = exact(sigma=1.0, class_weight={"A": 4}).fit(X, partial)
    by_hand = exact(sigma=1.0).fit(X, partial, sample_weight=[4, 1, 5 / 2])
    assert weights(given) == pytest.approx(weights(by_hand), abs=1e-4)


def test_balanced_class_weights():
    y = [["A", "B"], ["B"], ["B", "B", "B"]]
    balanced = exact(sigma=1.0, class_weight="balanced").fit(X, y)
    a, b = 6 / (2 * 1), 6 / (2 * 5)
    by_hand = exact(sigma=1.0).fit(X, y, sample_weight=[(a + b) / 2, b, b])
    assert weights(balanced) == pytest.approx(weights(by_hand), abs=1e-4)
    assert weights(balanced) != pytest.approx(weights(exact(sigma=1.0).fit(X, y)), abs=1e-2)


@pytest.mark.parametrize("name", ["adf", "lbfgs", "averaged-perceptron"])
def test_learning_from_the_labels_that_are_known(name):
    rng = np.random.default_rng(0)
    partial = [[label if rng.random() < 0.6 else None for label in labels] for labels in LABELS]
    crf = CRF(name, random_state=0).fit(ITEMS, partial)
    assert crf.score(ITEMS, partial) > 0.9
    assert crf.score(ITEMS, LABELS) > 0.8


def test_what_is_not_known_is_no_label():
    y = [["A", None], ["B"], ["B", "A", None]]
    crf = exact(sigma=1.0).fit(X, y)
    assert crf.classes_.tolist() == ["A", "B"]
    assert crf.predict(X) == Y
    hidden = exact(sigma=1.0).fit([*X, X[2]], [*y, [None] * 3])  # teaches nothing
    assert weights(hidden) == pytest.approx(weights(crf), abs=1e-3)


# ---- transitions --------------------------------------------------------------------------------


def violations(found, allowed):
    """Pairs of neighbours, with None for the outside, that are not allowed."""
    return [
        pair
        for labels in found
        for pair in itertools.pairwise([None, *labels, None])
        if not allowed(*pair)
    ]


def bio(before, after):
    inside = after is not None and after[0] == "I"
    return not inside or (before is not None and before[0] in "BI" and before[2:] == after[2:])


def bioes(before, after):
    is_open = before is not None and before[0] in "BI"
    goes_on = after is not None and after[0] in "IE"
    return before[2:] == after[2:] if is_open and goes_on else not is_open and not goes_on


def to_bioes(labels):
    return [
        label.replace("B-", "S-" if not going_on else "B-").replace(
            "I-", "I-" if going_on else "E-"
        )
        for label, after in zip(labels, [*labels[1:], "O"], strict=True)
        for going_on in [after[0] == "I"]
    ]


# Sequences without sense, so that a model that may do anything breaks every rule.
rng = np.random.default_rng(5)
NOISE = [[{"w": str(w)} for w in rng.integers(9, size=rng.integers(2, 9))] for _ in range(200)]


@pytest.mark.parametrize(("scheme", "rule"), [("iob2", bio), ("bioes", bioes)])
def test_schemes(scheme, rule):
    y = LABELS if scheme == "iob2" else [to_bioes(labels) for labels in LABELS]
    X = [[{"w": str(len(word) % 9)} for word in tokens] for tokens in TOKENS]
    free = CRF(random_state=0).fit(X, y)
    bound = CRF(random_state=0, legal=scheme).fit(X, y)
    assert violations(y, rule) == []
    assert violations(free.predict(NOISE), rule)
    assert violations(bound.predict(NOISE), rule) == []
    for loaded in (
        pickle.loads(pickle.dumps(bound)).model_,
        Model.from_bytes(bound.model_.to_bytes()),
    ):
        assert (loaded.legal == bound.model_.legal).all()
    assert free.model_.legal is None
    first = [row for sequence in bound.predict_marginals(NOISE) for row in sequence[:1]]
    assert max(row.get("I-NAME", 0.0) for row in first) == 0


def test_transitions_that_were_seen():
    y = [["A", "B", "C"], ["A", "B"], ["B", "C"]]
    X = [[{"w": "abc"[k % 3]} for k in range(len(labels))] for labels in y]
    crf = CRF(random_state=0, legal="seen").fit(X, y)
    seen = {pair for labels in y for pair in itertools.pairwise([None, *labels, None])}
    two_or_three = [line[:k] for line in NOISE for k in (2, 3) if len(line) >= k]
    assert violations(crf.predict(two_or_three), lambda *pair: pair in seen) == []
    with pytest.raises(CorpusError, match="no label sequence satisfies the constraints"):
        crf.predict([NOISE[0][:1] * 4])


def test_pairs_of_transitions():
    pairs = [("A", "B"), ("B", "A")]
    y = [["A", "B"], ["B"], ["B", "A", "B"]]
    crf = CRF(random_state=0, legal=pairs).fit(X, y)
    found = crf.predict(NOISE)
    assert violations(found, lambda a, b: None in (a, b) or a != b) == []
    assert {labels[0] for labels in found} | {labels[-1] for labels in found} == {"A", "B"}
    legal = crf.model_.legal[:2, :2].tolist()
    assert legal == [[0, 1], [1, 0]]
    assert crf.model_.legal[2, :2].tolist() == crf.model_.legal[:2, 2].tolist() == [1, 1]
    begins = CRF(random_state=0, legal=[*pairs, (None, "B")]).fit(X[1:], y[1:])
    assert {labels[0] for labels in begins.predict(NOISE)} == {"B"}
    ends = CRF(random_state=0, legal={*pairs, ("B", None)}).fit(X, y)
    assert {labels[-1] for labels in ends.predict(NOISE)} == {"B"}


@pytest.mark.parametrize(
    ("legal", "y", "said"),
    [
        ("iob2", [["O", "I-X"], ["B-X"], ["O"] * 3], "sentence 1: 'O' and then 'I-X'; "),
        ("iob2", [["O", "B-X"], ["I-X"], ["O"] * 3], "sentence 2: the beginning and then 'I-X'"),
        ("bioes", [["S-X"] * 2, ["O"], ["O", "O", "B-X"]], "sentence 3: 'B-X' and then the end"),
        ([("A", "B")], [["A", "B"], ["B"], ["B", "A", "A"]], "sentence 3: 'B' and then 'A'"),
        (
            [("A", "B")],
            [["A", "B"], ["B"], ["A", None, "B"]],
            "sentence 3: 'A' and then 'B', with 1 unknown between them; the transitions rule this",
        ),
    ],
)
def test_labels_that_are_ruled_out(legal, y, said):
    with pytest.raises(CorpusError, match=said):
        CRF(legal=legal).fit(X, y)
    if isinstance(legal, str):
        with pytest.raises(CorpusError, match=said):
            CRF(legal=legal).partial_fit(X, y)


def test_unknown_labels_that_the_transitions_leave_room_for():
    pairs = [("A", "B"), ("B", "C"), ("C", "C"), ("C", "D")]  # there is no D
    X = [[{"w": "a"}, {"w": "b"}, {"w": "c"}], [], [{"w": "b"}]]
    crf = CRF(legal=pairs, random_state=0).fit(X, [["A", None, "C"], [], ["B"]])
    assert crf.predict([X[0], X[0] * 2]) == [["A", "B", "C"], ["A", "B", "C", "C", "C", "C"]]
    assert crf.classes_.tolist() == ["A", "B", "C"]


# ---- partial_fit --------------------------------------------------------------------------------


def parts(n=8):
    return [(ITEMS[a : a + 10], LABELS[a : a + 10]) for a in range(0, 10 * n, 10)]


@pytest.mark.parametrize("name", STREAMED)
def test_partial_fit_learns(name):
    crf = CRF(name, random_state=0)
    for part in parts() * 5:
        crf.partial_fit(*part)
    assert crf.n_iter_ == 40
    assert crf.score(ITEMS, LABELS) > 0.85


@pytest.mark.parametrize("name", STREAMED)
def test_going_on_after_pickling_changes_no_bit(name):
    whole, stored = CRF(name), CRF(name)
    for part in parts(5):
        whole.partial_fit(*part)
        stored = pickle.loads(pickle.dumps(stored.partial_fit(*part)))
    assert weights(whole) == weights(stored)
    assert whole.model_.labels == stored.model_.labels
    assert (whole.model_.weights == stored.model_.weights).all()
    assert stored.n_iter_ == 5


def test_looking_between_two_parts_changes_no_bit():
    one, two = CRF(), CRF()
    for part in parts(4):
        one.partial_fit(*part)
        two.partial_fit(*part).predict(DEV)
    assert (one.model_.weights == two.model_.weights).all()


def test_partial_fit_is_a_stream():
    stream = StreamTrainer(Template.for_attributes().rich(), algorithm="sgd")
    crf = CRF("sgd", rich_edges=True)
    for part in parts(3):
        stream.learn(*part)
        crf.partial_fit(*part)
    assert (crf.model_.weights == stream.model().weights).all()
    assert crf.model_.index.n_of_kind[1] > 0


def test_partial_fit_with_a_template():
    crf = CRF(template="general")
    for _ in range(3):
        crf.partial_fit(TOKENS, LABELS)
    assert crf.score(TOKENS, LABELS) > 0.9


def test_new_labels_and_features():
    crf = CRF().partial_fit(X, Y)
    assert crf.classes_.tolist() == ["A", "B"]
    for _ in range(10):
        crf.partial_fit([[{"w": "c"}], [{"w": "c"}, {"w": "c"}]], [["C"], ["C", "C"]])
    assert crf.classes_.tolist() == ["A", "B", "C"]
    assert crf.attributes_ == ["w:a", "w:b", "w:c"]
    assert crf.predict([[{"w": "c"}, {"w": "c"}]]) == [["C", "C"]]


def test_partial_fit_after_fit():
    crf = CRF(random_state=0).fit(X, Y)
    before = weights(crf)
    for _ in range(10):
        crf.partial_fit([[{"w": "c"}]], [["C"]])
    after = weights(crf)
    assert set(before) < set(after)
    assert crf.predict([*X, [{"w": "c"}]]) == [*Y, ["C"]]
    assert crf.n_iter_ == adaptag.algorithms()["adf"].passes + 10
    assert weights(crf.fit(X, Y)) == before


def test_new_parameters_count_from_the_next_part():
    crf = CRF("sgd", rate=0.1).partial_fit(X, Y)
    before = crf.model_.weights
    crf.set_params(rate=1e-9).partial_fit(X, Y)
    np.testing.assert_allclose(crf.model_.weights, before, atol=1e-6)
    crf.set_params(algorithm="adf", rate=0.1).partial_fit(X, Y)
    assert crf.model_.provenance["algorithm"] == "adf"
    assert abs(crf.model_.weights - before).max() > 1e-3


def test_at_most_so_many_features():
    crf = CRF(max_features=20)
    for part in parts(3):
        crf.partial_fit(*part)
    assert crf.model_.index.n_predicates == 20
    again = pickle.loads(pickle.dumps(crf)).partial_fit(*parts(4)[3])
    assert again.model_.index.n_predicates == 20
    with pytest.raises(ParameterError, match="max_features is 0"):
        CRF(max_features=0).partial_fit(X, Y)


def test_partial_fit_with_weights():
    wrong = [*X, [{"w": "a"}, {"other": "x"}]], [*Y, ["B", "C"]]
    crf = CRF().partial_fit(*wrong, sample_weight=[1, 1, 1, 0])
    assert weights(crf) == weights(CRF().partial_fit(X, Y))
    heavy = CRF("sgd", class_weight={"A": 4, "later": 2}).partial_fit(X, Y)
    by_hand = CRF("sgd").partial_fit(X, Y, sample_weight=[5 / 2, 1, 9 / 3])
    assert weights(heavy) == pytest.approx(weights(by_hand), abs=1e-6)
    with pytest.raises(ParameterError, match="class_weight must be a dictionary"):
        CRF(class_weight="balanced").partial_fit(X, Y)


def test_partial_fit_with_partial_labels():
    crf = CRF()
    for _ in range(20):
        crf.partial_fit(X, [["A", None], ["B"], [None, None, "A"]])
    assert crf.predict(X) == Y


def test_partial_fit_with_transitions():
    X = [[{"w": str(len(word) % 9)} for word in tokens] for tokens in TOKENS]
    crf = CRF(legal="iob2").partial_fit(X[:40], LABELS[:40]).partial_fit(X[40:], LABELS[40:])
    assert violations(crf.predict(NOISE), bio) == []
    for wrong in ("seen", [("A", "B")]):
        with pytest.raises(ParameterError, match="legal must be the name of a scheme, or auto"):
            CRF(legal=wrong).partial_fit(X, LABELS)


def test_a_part_that_is_wrong_leaves_all_as_it_was():
    X = [[{"w": "a"}, {"w": "b"}]]
    good = X, [["B-X", "I-X"]]
    crf, expected = CRF(legal="iob2").partial_fit(*good), CRF(legal="iob2")
    for wrong in (["B-X", "E-X"], *[["O", "I-X"]] * 5, ["I-X", "O"], ["B-X"]):
        with pytest.raises(AdaptagError):
            crf.partial_fit([[{"new": "1"}, {"new": "2"}]], [wrong])
    expected.partial_fit(*good).partial_fit(*good)
    assert weights(crf.partial_fit(*good)) == weights(expected)


def test_what_needs_all_data_has_no_partial_fit():
    assert [name for name in ALGORITHMS if not hasattr(CRF(name), "partial_fit")] == [
        name for name in ALGORITHMS if name not in STREAMED
    ]
    assert not hasattr(CRF("lbfgs"), "partial_fit")
    assert not hasattr(CRF("madf"), "partial_fit")


# ---- scikit-learn -------------------------------------------------------------------------------


def test_parameters_clone_and_repr():
    crf = CRF("sgd", sigma=2.0, legal="iob2", parameters={"schedule": "bordes"})
    assert crf.get_params()["sigma"] == 2.0
    assert clone(crf).get_params() == crf.get_params()
    assert crf.set_params(sigma=3.0).sigma == 3.0
    assert "algorithm='sgd'" in repr(crf)
    assert "sigma=3.0" in repr(crf)
    assert not hasattr(clone(CRF().fit(X, Y)), "model_")


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
def test_pickles_hold_the_safe_bytes(how, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a temporary file")

    names = ("NamedTemporaryFile", "TemporaryFile", "mkstemp", "mkdtemp", "SpooledTemporaryFile")
    for name in names:
        monkeypatch.setattr(tempfile, name, refuse)
    crf = getattr(CRF(random_state=0), how)(ITEMS, LABELS)
    data = pickle.dumps(crf)
    assert crf.model_.to_bytes() in data
    assert b"StreamTrainer" not in data
    loaded = pickle.loads(data)
    assert loaded.predict(DEV) == crf.predict(DEV)
    assert loaded.get_params() == crf.get_params()
    assert pickle.loads(pickle.dumps(CRF(sigma=2.0))).sigma == 2.0


SCORER = make_scorer(metrics.flat_f1_score, average="weighted", zero_division=0)


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
def test_searching_parameters(search):
    more = {} if search is GridSearchCV else {"n_iter": 2, "random_state": 0}
    crf = CRF("lbfgs", passes=20)
    found = search(crf, {"sigma": [0.01, 2.0]}, scoring=SCORER, cv=3, **more).fit(ITEMS, LABELS)
    assert found.best_params_ == {"sigma": 2.0}
    low, high = found.cv_results_["mean_test_score"][np.argsort(found.cv_results_["param_sigma"])]
    assert low < high == found.best_score_
    assert found.predict(DEV) == clone(crf).set_params(sigma=2.0).fit(ITEMS, LABELS).predict(DEV)


def test_cross_validation_on_two_processes():
    crf = CRF(passes=10, random_state=0)
    one = cross_val_score(crf, ITEMS, LABELS, cv=3, n_jobs=2)
    two = cross_val_score(crf, ITEMS, LABELS, cv=3)
    assert one.tolist() == two.tolist()
    assert min(one) > 0.5
    chunks = cross_val_score(crf, ITEMS, LABELS, cv=3, scoring=make_scorer(metrics.chunk_f1_score))
    assert 0.3 < min(chunks) < max(chunks) < 1


def to_items(lines):
    return [items(tokens) for tokens in lines]


def test_pipeline():
    made = Pipeline([("items", FunctionTransformer(to_items)), ("crf", CRF(random_state=0))])
    made.fit(TOKENS, LABELS)
    assert made.predict(TOKENS) == CRF(random_state=0).fit(ITEMS, LABELS).predict(ITEMS)
    assert made.score(TOKENS, LABELS) > 0.97
    search = GridSearchCV(made, {"crf__sigma": [1.0, 5.0]}, cv=2).fit(TOKENS, LABELS)
    assert search.best_estimator_["crf"].sigma in (1.0, 5.0)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_weights_are_routed():
    # The second half has wrong labels, and no weight: only where weights arrive is it left out.
    wrong = [["O"] * len(labels) for labels in LABELS]
    given = np.repeat([1.0, 0.0], len(X_HALF := ITEMS[:40]))
    data = {"X": X_HALF * 2, "y": LABELS[:40] + wrong[:40]}
    crf = CRF("lbfgs", passes=30).set_fit_request(sample_weight=True)
    crf.set_score_request(sample_weight=True)
    found = cross_validate(
        crf, **data, cv=[(range(80), range(80))], params={"sample_weight": given}
    )
    assert found["test_score"][0] > 0.97
    crf.set_fit_request(sample_weight=False)
    blind = cross_validate(
        crf, **data, cv=[(range(80), range(80))], params={"sample_weight": given}
    )
    assert blind["test_score"][0] < found["test_score"][0]
    crf.set_fit_request(sample_weight=True)
    odd_and_even = [(range(0, 80, 2), range(1, 80, 2))]
    search = GridSearchCV(crf, {"sigma": [2.0]}, cv=odd_and_even).fit(
        *data.values(), sample_weight=given
    )
    assert search.best_estimator_.score(X_HALF, LABELS[:40]) > 0.97
    made = Pipeline([("same", FunctionTransformer()), ("crf", crf)])
    made.fit(*data.values(), sample_weight=given)
    assert made["crf"].score(X_HALF, LABELS[:40]) > 0.97


NUMBERS = "trains on a 2-D array of numbers; X holds sequences of features"
MESSAGE = "asks for a message about numbers in a 2-D array, which is refused before"
EXPECTED = dict.fromkeys(
    [
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_dtype_object",
        "check_estimators_dtypes",
        "check_estimators_fit_returns_self",
        "check_estimators_overwrite_params",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_fit2d_predict1d",
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_fit_score_takes_y",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_n_features_in",
        "check_n_features_in_after_fitting",
        "check_pipeline_consistency",
        "check_positive_only_tag_during_fit",
        "check_readonly_memmap_input",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weights_list",
        "check_sample_weights_not_an_array",
        "check_sample_weights_not_overwritten",
        "check_sample_weights_pandas_series",
        "check_sample_weights_shape",
    ],
    NUMBERS,
) | dict.fromkeys(
    [
        "check_complex_data",
        "check_estimators_empty_data_messages",
        "check_estimators_nan_inf",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
    ],
    MESSAGE,
)


@parametrize_with_checks([CRF()], expected_failed_checks=lambda _: EXPECTED, xfail_strict=True)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


class OfNumbers(CRF):
    """Rows of numbers as sequences of one position: what the checks above cannot look at."""

    def fit(self, X, y, sample_weight=None):
        if y is not None:
            X, y = validate_data(self, X, y)
            X, y = self.rows(X), [[str(label)] for label in y]
        return super().fit(X, y, sample_weight=sample_weight)

    def rows(self, X):
        return [[{"one": 1.0, **{str(k): v for k, v in enumerate(row)}}] for row in X.tolist()]

    def predict(self, X):
        labels = super().predict(self.rows(validate_data(self, X, reset=False)))
        return np.array([float(label) for (label,) in labels])

    def score(self, X, y):
        return float(np.mean(self.predict(X) == np.asarray(y)))


def test_the_checks_on_rows_of_numbers():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(OfNumbers("lbfgs", passes=100), on_fail=None)
    failed = {one["check_name"]: one["exception"] for one in results if one["status"] == "failed"}
    assert failed == {}
    passed = {one["check_name"] for one in results if one["status"] == "passed"}
    assert {*EXPECTED, "check_requires_y_none"} <= passed


def test_the_docs_name_the_checks_that_cannot_pass():
    page = Path(__file__).parents[2] / "docs" / "guide" / "estimators.md"
    named = re.findall(r"^- `(check_\w+)`$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert named == list(EXPECTED)
