"""Maximum entropy classification as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

try:
    import sklearn  # noqa: F401
except ImportError:
    raise ImportError("estimators need scikit-learn: pip install 'adaptag[sklearn]'") from None

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_extraction import DictVectorizer
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from adaptag._native import core
from adaptag.dataset.matrix import matrix_examples, merge_equal
from adaptag.estimators.parameters import given_parameters
from adaptag.training.algorithms import algorithm as find_algorithm
from adaptag.training.callbacks import Callback, EarlyStopping
from adaptag.training.loop import fit as fit_weights
from adaptag.training.online import PASS_SIZE, Trainer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from adaptag.dataset.encoded import Examples
    from adaptag.settings import Value

__all__ = ["MaxEntClassifier"]


class MaxEntClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Maximum entropy (multinomial logistic regression), trained by any of adaptag's algorithms.

    A sample is a sentence of one token, so every algorithm of the package serves: ``lbfgs``, the
    default, finds the optimum; ``adf`` comes close to it in a few passes over large data.

    Args:
        algorithm: one of ``adaptag.algorithms()``.
        passes: passes over the data at most; the algorithm's own number unless given.
        fit_intercept: whether there is an intercept. It is regularised like the other weights.
        class_weight: weights of the classes, or ``balanced``.
        early_stopping: hold out a part of the training data, keep the pass that is best on it, and
            stop when its accuracy has not risen for ``patience`` passes.
        validation_fraction: the part to hold out.
        patience: see ``early_stopping``.
        warm_start: start from the weights of the last ``fit``.
        random_state: seed of the order of samples and of what is held out.
        rate: learning rate, or ``auto``. This and the following are the algorithm's own
            parameters; None stands for its default.
        sigma: standard deviation of the Gaussian prior (L2).
        l1: strength of the L1 penalty.
        batch: samples in a mini-batch.
        parameters: further parameters of the algorithm, by name.

    Attributes:
        classes_: the classes, sorted.
        coef_: weights ``[1, F]`` for two classes, else ``[Y, F]``.
        intercept_: ``[1]`` or ``[Y]``.
        n_iter_: passes that were made.
        n_features_in_: F.
    """

    _weights: NDArray[np.float32] | None  # [F + 1, W] as the core keeps them
    _trainer_state: dict[str, NDArray[Any]] | None  # what partial_fit goes on with

    def __init__(
        self,
        algorithm: str = "lbfgs",
        *,
        passes: int | None = None,
        fit_intercept: bool = True,
        class_weight: Mapping[Any, float] | str | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 5,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        rate: float | str | None = None,
        sigma: float | None = None,
        l1: float | None = None,
        batch: int | None = None,
        parameters: Mapping[str, Value] | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.passes = passes
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.random_state = random_state
        self.rate = rate
        self.sigma = sigma
        self.l1 = l1
        self.batch = batch
        self.parameters = parameters

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> MaxEntClassifier:
        """Train on an array, a sparse matrix (CSR is used in place) or a list of dictionaries."""
        X, y, weights = self._check(X, y, sample_weight, reset=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"the data holds 1 class, {classes[0]!r}; at least 2 are needed")
        if self.class_weight is not None:
            weights = weights * compute_sample_weight(self.class_weight, y)
        start = self._start(classes, X.shape[1])
        random = check_random_state(self.random_state)
        seed = int(random.randint(2**31 - 1))
        kept = np.flatnonzero(weights)
        if len(kept) < len(weights):
            X, codes, weights = X[kept], codes[kept], weights[kept]
        self.classes_ = classes
        rules: list[Callback] = []
        score = None
        if self.early_stopping:
            train, held_out = train_test_split(
                np.arange(len(codes)), test_size=self.validation_fraction, random_state=seed
            )
            dev_X, dev_codes, dev_weights = X[held_out], codes[held_out], weights[held_out]
            X, codes, weights = X[train], codes[train], weights[train]
            rules.append(EarlyStopping(self.patience))

            def score(flat: NDArray[np.float32]) -> float:
                self._keep(flat)
                right = self._decide(dev_X).argmax(axis=1) == dev_codes
                return float(100 * np.average(right, weights=dev_weights))

        if not self._online():
            X, codes, weights = merge_equal(X, codes, weights)
        result = fit_weights(
            self._examples(X, codes, weights),
            algorithm_name=self.algorithm,
            parameters=self._given(),
            passes=self.passes,
            seed=seed,
            start=start,
            score=score,
            callbacks=rules,
        )
        self._keep(result.weights)
        self.n_iter_ = len(result.history)
        self._trainer_state = None
        return self

    def _online(self) -> bool:
        return find_algorithm(self.algorithm).online

    def _streams(self) -> bool:
        return find_algorithm(self.algorithm).streams

    @available_if(_streams)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> MaxEntClassifier:
        """Train one pass over some more samples, going on where the last call ended.

        Regularisation and schedules are those of data of 10,000 samples, as the size of all parts
        together is not known.

        Args:
            X: the samples.
            y: their classes.
            classes: all classes, in the first call.
            sample_weight: weights of the samples.
        """
        first = not hasattr(self, "classes_")
        X, y, weights = self._check(X, y, sample_weight, reset=first)
        check_classification_targets(y)
        if first:
            if classes is None:
                raise ValueError("classes must be given in the first call of partial_fit")
            self.classes_ = np.unique(classes)
            self.n_iter_ = 0
            self._weights = None
            self._trainer_state = None
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes are not those of the first call: {self.classes_.tolist()}")
        codes = np.searchsorted(self.classes_, y)
        codes = np.minimum(codes, len(self.classes_) - 1)
        if (self.classes_[codes] != y).any():
            raise ValueError(f"y holds a class that is not among {self.classes_.tolist()}")
        if self.class_weight is not None:
            weights = weights * compute_sample_weight(self.class_weight, y)
        trainer = Trainer(
            self._examples(X, codes, weights),
            find_algorithm(self.algorithm),
            self._given(),
            pass_size=PASS_SIZE,
        )
        if self._trainer_state is not None:
            trainer.restore(self._trainer_state)
        elif self._weights is not None:
            trainer.weights[:] = self._weights
        seed = int(check_random_state(self.random_state).randint(2**31 - 1)) + self.n_iter_
        order = np.random.default_rng(seed).permutation(len(codes)).astype(np.uint32)
        trainer.run(order)
        self._trainer_state = trainer.arrays()
        self._keep(trainer.current_weights())
        self.n_iter_ += 1
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of the classes ``[N, Y]``; for two classes ``[N]``, positive for the second."""
        check_is_fitted(self)
        scores = self._decide(self._matrix(X, reset=False))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The best class of each sample."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]  # type: ignore[no-any-return]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, ``[N, Y]``."""
        check_is_fitted(self)
        scores = self._decide(self._matrix(X, reset=False))
        exp = np.exp(scores - scores.max(axis=1, keepdims=True))
        return exp / exp.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of the probabilities of the classes, ``[N, Y]``."""
        return np.log(self.predict_proba(X))

    # ---- how --------------------------------------------------------------------------------

    def _given(self) -> dict[str, Value]:
        own = {"rate": self.rate, "sigma": self.sigma, "l1": self.l1, "batch": self.batch}
        return given_parameters(self.algorithm, own, self.parameters)

    def _check(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[Any, NDArray[Any], NDArray[np.float64]]:
        if _are_dictionaries(X):
            X = self._vectorise(X, reset=reset)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset
        )
        return X, y, _check_sample_weight(sample_weight, X, ensure_non_negative=True)

    def _matrix(self, X: Any, *, reset: bool) -> Any:
        if _are_dictionaries(X):
            X = self._vectorise(X, reset=reset)
        return validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset
        )

    def _vectorise(self, X: Sequence[Mapping[str, Any]], *, reset: bool) -> Any:
        if reset:
            self.vectorizer_ = DictVectorizer(dtype=np.float32)
            return self.vectorizer_.fit_transform(X)
        if not hasattr(self, "vectorizer_"):
            raise ValueError("the classifier was trained on arrays; dictionaries were given")
        return self.vectorizer_.transform(X)

    def _examples(self, X: Any, codes: NDArray[np.intp], weights: NDArray[np.float64]) -> Examples:
        return matrix_examples(X, codes, weights, len(self.classes_), intercept=self.fit_intercept)

    def _start(self, classes: NDArray[Any], width: int) -> NDArray[np.float32] | None:
        if not self.warm_start or not hasattr(self, "_weights") or self._weights is None:
            return None
        same = np.array_equal(classes, self.classes_)
        if not same or len(self._rows()) != width + self.fit_intercept:
            return None
        return self._weights

    def _rows(self) -> NDArray[np.float32]:
        assert self._weights is not None
        n_classes = len(self.classes_)
        width = core.Layout(n_classes, 1, 0, 0).width
        return self._weights.reshape(-1, width)[:, :n_classes]

    def _keep(self, flat: NDArray[np.float32]) -> None:
        self._weights = flat
        rows = self._rows()
        if len(self.classes_) == 2:
            rows = rows[:, 1:] - rows[:, :1]
        rows = rows.astype(np.float64).T  # [Y, F + 1], or [1, F + 1]
        n = rows.shape[1] - self.fit_intercept
        self.coef_ = rows[:, :n]
        self.intercept_ = rows[:, n] if self.fit_intercept else np.zeros(len(rows))

    def _decide(self, X: Any) -> NDArray[np.float64]:
        scores = np.asarray(X @ self.coef_.T + self.intercept_)
        return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _are_dictionaries(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and len(X) > 0 and hasattr(X[0], "items")
