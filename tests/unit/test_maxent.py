"""The maximum entropy classifier: scikit-learn's own checks, and what they do not look at."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

import adaptag
from adaptag import MaxEntClassifier
from adaptag.dataset.matrix import merge_equal
from adaptag.errors import ParameterError

ONLINE = [name for name, one in adaptag.algorithms().items() if one.online]
ORDER = "online algorithms look at samples one by one: a sample of weight 2 is one large step"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": ORDER,
    "check_sample_weight_equivalence_on_sparse_data": ORDER,
}


def data(n=200, n_classes=2, seed=0, dtype=np.float64):
    X, y = make_classification(
        n, 20, n_informative=8, n_classes=n_classes, n_clusters_per_class=1, random_state=seed
    )
    return X.astype(dtype), y


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (MaxEntClassifier(), {}),
        (MaxEntClassifier("owlqn", l1=0.1), {}),
        (MaxEntClassifier("adf"), EXPECTED),
        (MaxEntClassifier("sgd", sigma=1.0), EXPECTED),
    ],
    ids=["lbfgs", "owlqn", "adf", "sgd"],
)
def test_the_checks_of_scikit_learn(estimator, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, expected_failed_checks=expected, on_fail=None)
    failed = {one["check_name"]: one["exception"] for one in results if one["status"] == "failed"}
    assert failed == {}
    assert sum(one["status"] == "passed" for one in results) > 50


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_lbfgs_finds_the_optimum_of_logistic_regression(n_classes):
    X, y = data(n_classes=n_classes)
    sigma = 0.7
    ours = MaxEntClassifier(sigma=sigma, fit_intercept=False).fit(X, y)
    # Two classes have a row of weights each: their difference is penalised half as much.
    strength = sigma**2 * (2 if n_classes == 2 else 1)
    theirs = LogisticRegression(C=strength, fit_intercept=False, tol=1e-8, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-3)
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.intercept_.tolist() == [0.0] * len(ours.coef_)


def test_an_intercept_is_learned():
    X = np.zeros((100, 1))
    y = np.arange(100) % 4 == 0
    model = MaxEntClassifier(sigma=100).fit(X, y)
    assert model.predict_proba(X[:1])[0, 1] == pytest.approx(0.25, abs=1e-3)
    assert model.intercept_[0] == pytest.approx(np.log(1 / 3), abs=1e-2)


@pytest.mark.parametrize("name", adaptag.algorithms())
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_algorithm_learns(name, n_classes):
    X, y = data(n_classes=n_classes)
    model = MaxEntClassifier(name, random_state=0).fit(X / 4, y)
    assert model.score(X / 4, y) > 0.8
    assert model.n_iter_ > 0
    assert model.decision_function(X).shape == ((200,) if n_classes == 2 else (200, 3))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("name", ["lbfgs", "adf"])
def test_sparse_and_dense_are_the_same(name):
    X, y = data()
    X[abs(X) < 0.5] = 0
    dense, csr, csc = (
        MaxEntClassifier(name, random_state=1).fit(form, y)
        for form in (X, sparse.csr_matrix(X), sparse.csc_matrix(X))
    )
    assert (dense.coef_ == csr.coef_).all()
    assert (dense.coef_ == csc.coef_).all()
    assert (dense.predict(X) == csr.predict(sparse.csr_matrix(X))).all()


def test_a_csr_matrix_is_used_in_place():
    X, y = data(dtype=np.float32)
    matrix = sparse.csr_matrix(X)
    model = MaxEntClassifier("adf").fit(matrix, y)
    encoded = model._examples(matrix, y, np.ones(len(y))).encoded
    assert np.shares_memory(encoded.values, matrix.data)
    assert np.shares_memory(encoded.predicates, matrix.indices)


def test_the_data_stay_as_they_are():
    X, y = data()
    matrix = sparse.csr_matrix(X)
    matrix.indices[:2] = matrix.indices[[1, 0]]  # out of order, which must stay
    matrix.data[:2] = matrix.data[[1, 0]]
    matrix.has_sorted_indices = False
    before = matrix.indices.copy(), matrix.data.copy()
    MaxEntClassifier().fit(matrix, y)
    assert (matrix.indices == before[0]).all()
    assert (matrix.data == before[1]).all()


def test_equal_samples_are_merged():
    X = sparse.csr_matrix(np.array([[1.0, 0], [0, 2], [1, 0], [1, 0], [0, 0], [0, 0]]))
    codes = np.array([0, 1, 0, 1, 1, 1])
    merged, labels, weights = merge_equal(X, codes, np.array([1.0, 1, 2, 4, 8, 16]))
    rows = {
        (*row, label): weight
        for row, label, weight in zip(merged.toarray().tolist(), labels, weights, strict=True)
    }
    assert rows == {(1, 0, 0): 3, (0, 2, 1): 1, (1, 0, 1): 4, (0, 0, 1): 24}


def test_dictionaries():
    X = [{"word": "good", "n": 2.0}, {"word": "bad"}, {"word": "good"}, {"word": "bad", "n": 1.0}]
    model = MaxEntClassifier().fit(X, ["+", "-", "+", "-"])
    assert model.predict([{"word": "bad"}, {"word": "good"}, {"other": 1}]).tolist()[:2] == [
        "-",
        "+",
    ]
    assert model.predict_log_proba(X).shape == (4, 2)
    with pytest.raises(ValueError, match="trained on arrays"):
        MaxEntClassifier().fit(*data()).predict([{"word": "bad"}])


@pytest.mark.parametrize("name", [name for name in ONLINE if name != "madf"])
def test_partial_fit_goes_on(name):
    X, y = data(400)
    X /= 4
    model = MaxEntClassifier(name, random_state=0)
    for first in range(0, 400, 100):
        part = slice(first, first + 100)
        model.partial_fit(X[part], y[part], classes=[0, 1])
    assert model.n_iter_ == 4
    assert model.score(X, y) > 0.75


def test_what_needs_all_data_has_no_partial_fit():
    assert not hasattr(MaxEntClassifier("lbfgs"), "partial_fit")
    assert not hasattr(MaxEntClassifier("madf"), "partial_fit")


def test_partial_fit_of_all_is_a_pass():
    X, y = data()
    once = MaxEntClassifier("sgd", random_state=3).partial_fit(X, y, classes=[0, 1])
    twice = clone(once).partial_fit(X, y, classes=[0, 1]).partial_fit(X, y)
    assert (once.coef_ != twice.coef_).any()
    assert twice.n_iter_ == 2


def test_refusals_of_partial_fit():
    X, y = data()
    model = MaxEntClassifier("adf")
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        model.partial_fit(X, y)
    model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="a class that is not among"):
        model.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="not those of the first call"):
        model.partial_fit(X, y, classes=[0, 2])
    assert not hasattr(MaxEntClassifier("lbfgs"), "partial_fit")


def test_warm_start():
    X, y = data()
    cold = MaxEntClassifier("adf", passes=1, random_state=0).fit(X, y)
    warm = clone(cold).set_params(warm_start=True).fit(X, y).fit(X, y)
    assert (cold.coef_ != warm.coef_).any()
    again = clone(cold).fit(X, y).fit(X, y)
    assert (cold.coef_ == again.coef_).all()
    warm.fit(X[:, :5], y)  # other columns: from scratch
    assert warm.coef_.shape == (1, 5)


def test_early_stopping():
    X, y = data(300)
    model = MaxEntClassifier("adf", passes=200, early_stopping=True, patience=3, random_state=0)
    model.fit(X, y)
    assert model.n_iter_ < 200
    assert model.score(X, y) > 0.8


def test_class_weights():
    X, y = data(400)
    y = y & (np.arange(400) % 5 == 0)
    plain = MaxEntClassifier(sigma=1).fit(X, y)
    balanced = MaxEntClassifier(sigma=1, class_weight="balanced").fit(X, y)
    by_hand = MaxEntClassifier(sigma=1).fit(X, y, np.where(y, 200 / y.sum(), 200 / (400 - y.sum())))
    assert balanced.predict(X).sum() > plain.predict(X).sum()
    np.testing.assert_allclose(balanced.coef_, by_hand.coef_, rtol=1e-3, atol=1e-4)


def test_the_seed_decides():
    X, y = data()
    one, same, other = (
        MaxEntClassifier("sgd", passes=1, random_state=seed).fit(X, y) for seed in (1, 1, 2)
    )
    assert (one.coef_ == same.coef_).all()
    assert (one.coef_ != other.coef_).any()


def test_pickle_and_search():
    X, y = data()
    search = GridSearchCV(MaxEntClassifier(), {"sigma": [0.1, 1.0]}, cv=2).fit(X, y)
    best = search.best_estimator_
    loaded = pickle.loads(pickle.dumps(best))
    assert (loaded.predict(X) == best.predict(X)).all()


def test_parameters_of_the_algorithm():
    X, y = data()
    with pytest.raises(ParameterError, match="lbfgs: unknown parameter 'rate'"):
        MaxEntClassifier(rate=0.1).fit(X, y)
    with pytest.raises(ParameterError, match="unknown algorithm"):
        MaxEntClassifier("nothing").fit(X, y)
    given = MaxEntClassifier("adf", rate=0.5, parameters={"beta": 0.9}, random_state=0).fit(X, y)
    plain = MaxEntClassifier("adf", rate=0.5, random_state=0).fit(X, y)
    assert (given.coef_ != plain.coef_).any()
    with pytest.raises(ValueError, match="the data holds 1 class"):
        MaxEntClassifier().fit(X, np.zeros(200))
