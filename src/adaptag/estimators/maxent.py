"""Maximum entropy classification as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass
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
from adaptag.decoding.temperature import fit_temperature
from adaptag.errors import ParameterError
from adaptag.estimators.parameters import EstimatorSettings
from adaptag.settings import redeclared
from adaptag.training.algorithms import algorithm as find_algorithm
from adaptag.training.job import TrainingJob
from adaptag.training.online import PASS_SIZE, Trainer
from adaptag.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from adaptag.dataset.encoded import Examples

__all__ = ["MaxEntClassifier"]


@dataclass(eq=False, repr=False, kw_only=True)
class MaxEntClassifier(ClassifierMixin, BaseEstimator, EstimatorSettings):  # type: ignore[misc]
    """Maximum entropy (multinomial logistic regression), trained by any of adaptag's algorithms.

    A sample is a sentence of one token, so every algorithm of the package serves: ``lbfgs``, the
    default, finds the optimum; ``adf`` comes close to it in a few passes over large data.

    The arguments are the settings of [training](guide/settings.md), and these:

    Args:
        algorithm: One of ``adaptag.algorithms()``.
        random_state: Seed of the order of samples and of what is held out, or a NumPy random state.
        fit_intercept: Whether there is an intercept. It is regularised like the other weights.
        class_weight: Weights of the classes, or ``balanced``.
        early_stopping: Hold out a part of the training data, keep the pass that is best on it, and
            stop after ``patience`` passes without improvement.
        validation_fraction: The part to hold out.
        warm_start: Start from the weights of the last ``fit``.

    Attributes:
        classes_: The classes, sorted.
        n_iter_: The number of passes that were made.
        n_features_in_: The number of features, F.
        temperature_: What scores are divided by where they become probabilities; 1 unless
            ``calibrate`` is set, which needs ``early_stopping``.
    """

    algorithm: str = redeclared(EstimatorSettings, "algorithm", positional=True, default="lbfgs")
    fit_intercept: bool = True
    class_weight: Mapping[Any, float] | str | None = None
    early_stopping: bool = False
    validation_fraction: float = 0.1
    warm_start: bool = False
    if TYPE_CHECKING:  # set by training, and no arguments
        _weights: NDArray[np.float32] | None = None  # [(F + 1) · W]; None: those of _stream
        _stream: tuple[Any, Trainer | None, Any] | None = None  # what partial_fit continues

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
        weighted = np.flatnonzero(weights)
        if len(weighted) < len(weights):
            X, codes, weights = X[weighted], codes[weighted], weights[weighted]
        self.classes_ = classes
        settings = self.training_settings(TrainingSettings, seed)
        if self.calibrate and not self.early_stopping:
            raise ParameterError("calibrate needs early_stopping, which holds data out")
        scorer = None
        if self.early_stopping:
            train, held_out = train_test_split(
                np.arange(len(codes)), test_size=self.validation_fraction, random_state=seed
            )
            scorer = _SampleScorer(self, X[held_out], codes[held_out], weights[held_out])
            X, codes, weights = X[train], codes[train], weights[train]
        if not settings.chosen.online:
            X, codes, weights = merge_equal(X, codes, weights)
        examples = self._examples(X, codes, weights)
        job = TrainingJob(examples, settings, lambda flat, _: (flat, 1.0), scorer, start)
        flat, self.temperature_ = job.run()
        self._set_weights(flat)
        self._stream = None
        self.n_iter_ = len(job.result.history)
        self._all_coefficients()  # now, as predicting must not change the estimator
        return self

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
        """Train one pass over some more samples, continuing where the last call ended.

        Regularisation and schedules are those of data of 10,000 samples, as the size of all parts
        together is not known.

        Args:
            X: The samples.
            y: The classes of the samples.
            classes: All classes; required in the first call.
            sample_weight: The weights of the samples.
        """
        first = not hasattr(self, "classes_")
        X, y, weights = self._check(X, y, sample_weight, reset=first)
        check_classification_targets(y)
        if first:
            if classes is None:
                raise ValueError("classes must be given in the first call of partial_fit")
            self.classes_ = np.unique(classes)
            self.n_iter_ = 0
            self._set_weights(None)
            self._stream = None
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes are not those of the first call: {self.classes_.tolist()}")
        codes = np.searchsorted(self.classes_, y)
        codes = np.minimum(codes, len(self.classes_) - 1)
        if (self.classes_[codes] != y).any():
            raise ValueError(f"y holds a class that is not among {self.classes_.tolist()}")
        if self.class_weight is not None:
            weights = weights * compute_sample_weight(self.class_weight, y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        settings = self.training_settings(TrainingSettings, seed)
        order = np.random.default_rng(seed + self.n_iter_).permutation(len(codes))
        self._trainer_for(X[:1], settings).run_on(
            self._examples(X[order], codes[order], weights[order])
        )
        self._set_weights(None)
        self.temperature_ = 1.0  # another one would belong to other weights
        self.n_iter_ += 1
        return self

    def _trainer_for(self, X: Any, settings: TrainingSettings) -> Trainer:
        """The trainer that the calls of ``partial_fit`` share, as long as the settings stay."""
        key = (settings.algorithm, settings.values(), settings.online_threads)
        stream: tuple[Any, Trainer | None, Any] | None = getattr(self, "_stream", None)
        if stream is not None and stream[0] == key and stream[1] is not None:
            return stream[1]
        weights = None if stream is None and self._weights is None else self._flat()
        layout = self._examples(X, np.zeros(1, np.intp), np.ones(1))
        trainer = Trainer(
            layout,
            settings.chosen,
            settings.parameters or {},
            pass_size=PASS_SIZE,
            **settings.online_threads,
        )
        if stream is not None and stream[0] == key and stream[2] is not None:
            trainer.restore(stream[2])
        elif weights is not None:
            trainer.weights[:] = weights
        self._stream = (key, trainer, None)
        return trainer

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
        return _probabilities(self._decide(self._matrix(X, reset=False)) / self.temperature_)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of the probabilities of the classes, ``[N, Y]``."""
        return np.log(self.predict_proba(X))

    # ---- how --------------------------------------------------------------------------------

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
        if not self.warm_start or not hasattr(self, "classes_"):
            return None
        same = np.array_equal(classes, self.classes_)
        if not same or len(self._rows()) != width + self.fit_intercept:
            return None
        return self._flat()

    def _flat(self) -> NDArray[np.float32]:
        """The weights as the core keeps them, ``[(F + 1) · W]``."""
        if self._weights is None:
            assert self._stream is not None
            assert self._stream[1] is not None
            self._weights = self._stream[1].current_weights()
        return self._weights

    def _rows(self) -> NDArray[np.float32]:
        return _rows_of(self._flat(), len(self.classes_))

    def _set_weights(self, flat: NDArray[np.float32] | None) -> None:
        """Set the weights; None means those of the trainer, computed when they are needed."""
        self._weights = flat
        self._coefficients: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def _all_coefficients(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        check_is_fitted(self)
        if self._coefficients is None:
            self._coefficients = _coefficients(self._rows(), self.fit_intercept)
        return self._coefficients

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the features, ``[1, F]`` for two classes, else ``[Y, F]``."""
        return self._all_coefficients()[0]

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Weights of the intercept, ``[1]`` for two classes, else ``[Y]``."""
        return self._all_coefficients()[1]

    def _decide(self, X: Any) -> NDArray[np.float64]:
        return _decision(X, *self._all_coefficients())

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the state of training in place of the trainer."""
        state: dict[str, Any] = super().__getstate__()
        stream = state.get("_stream")
        if stream is not None and stream[1] is not None:
            state = {**state, "_weights": self._flat()}
            state["_stream"] = (stream[0], None, stream[1].arrays())
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _are_dictionaries(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and len(X) > 0 and hasattr(X[0], "items")


def _rows_of(flat: NDArray[np.float32], n_classes: int) -> NDArray[np.float32]:
    """The weights of each feature without padding, ``[F + 1, Y]``."""
    return flat.reshape(-1, core.Layout(n_classes, 1, 0, 0).width)[:, :n_classes]


def _coefficients(
    rows: NDArray[np.float32], fit_intercept: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coefficients and intercept of rows of weights, ``[F + 1, Y]``."""
    if rows.shape[1] == 2:
        rows = rows[:, 1:] - rows[:, :1]
    table = rows.astype(np.float64).T  # [Y, F + 1], or [1, F + 1]
    n = table.shape[1] - fit_intercept
    return table[:, :n], table[:, n] if fit_intercept else np.zeros(len(table))


def _decision(
    X: Any, coefficients: NDArray[np.float64], intercept: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Scores of the classes, ``[N, Y]``."""
    scores = np.asarray(X @ coefficients.T + intercept)
    return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores


def _probabilities(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of scores, ``[N, Y]``."""
    exp = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exp / exp.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]


class _SampleScorer:
    """Scores weights, and a temperature, by the accuracy on samples that were held out."""

    metric = "accuracy"

    def __init__(
        self, estimator: MaxEntClassifier, X: Any, codes: Any, weights: NDArray[np.float64]
    ) -> None:
        self.fit_intercept, self.n_classes = estimator.fit_intercept, len(estimator.classes_)
        self.X, self.codes, self.weights = X, codes, weights

    def _scores(self, model: tuple[NDArray[np.float32], float]) -> NDArray[np.float64]:
        rows = _rows_of(model[0], self.n_classes)
        return _decision(self.X, *_coefficients(rows, self.fit_intercept))

    def calibrated(
        self, model: tuple[NDArray[np.float32], float]
    ) -> tuple[NDArray[np.float32], float]:
        scores, each = self._scores(model), np.arange(len(self.codes))

        def log_likelihood(temperature: float) -> float:
            with np.errstate(divide="ignore"):
                p = np.log(_probabilities(scores / temperature)[each, self.codes])
            return float(np.dot(self.weights, p))

        return model[0], fit_temperature(log_likelihood)

    def __call__(self, model: tuple[NDArray[np.float32], float]) -> float:
        right = self._scores(model).argmax(axis=1) == self.codes
        return float(100 * np.average(right, weights=self.weights))
