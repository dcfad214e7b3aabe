"""The linear-chain CRF as a scikit-learn estimator."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

try:
    import sklearn  # noqa: F401
except ImportError:
    raise ImportError("estimators need scikit-learn: pip install 'adaptag[sklearn]'") from None

from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from adaptag.corpus.labels import NO_LABEL, known_sentences, number_sequences
from adaptag.dataset.encoded import Examples
from adaptag.decoding.model import Model
from adaptag.errors import CorpusError, ParameterError, unknown
from adaptag.estimators.parameters import given_parameters
from adaptag.estimators.sequences import (
    BALANCED,
    checked_weights,
    corpus_of_sequences,
    listed,
    weighted_sequences,
    with_class_weights,
)
from adaptag.estimators.transitions import SCHEMES, SEEN, allowed_transitions
from adaptag.evaluation import evaluate_ids
from adaptag.features.index import EdgeLimit, FeatureIndex, check_cutoff
from adaptag.features.template import Template
from adaptag.streams.trainer import StreamTrainer
from adaptag.training.algorithms import algorithm as find_algorithm
from adaptag.training.callbacks import EarlyStopping
from adaptag.training.loop import fit as fit_weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from adaptag.decoding.model import Segment
    from adaptag.corpus.data import Corpus
    from adaptag.storage.files import PathLike
    from adaptag.settings import Value

    Sequences = Sequence[Sequence[Any]]
    Labels = Sequence[Sequence[str | None]]

__all__ = ["CRF"]


class CRF(BaseEstimator):  # type: ignore[misc]
    """A linear-chain CRF over sequences of features, trained by any of adaptag's algorithms.

    ``X`` is a list of sequences. Without a template, each position is a dictionary of features
    (strings, numbers, bools, and dictionaries and lists of them, as python-crfsuite takes them) or
    a list of attributes, which are strings. With a template, each position is a token: a string, or
    a tuple of columns. ``y`` holds a list of labels for each sequence; None stands for a label that
    is not known, and the likelihood of the others is trained.

    Args:
        algorithm: one of ``adaptag.algorithms()``.
        passes: passes over the data at most; the algorithm's own number unless given.
        template: a preset's name, a file, or the text of a template, for tokens.
        cutoff: features that occur less often are left out.
        rich_edges: give all features edge weights too: one for every pair of labels.
        transitions: which labels may follow each other: ``bio`` or ``bioes`` (what the scheme
            allows), ``seen`` (in the training data), or pairs of labels, with None for the outside
            of a sequence where it matters. All unless given.
        class_weight: weights of the labels, or ``balanced``; that of a sequence is the mean over
            its labels.
        patience: with development data, stop when its score has not risen for so many passes.
        max_features: with ``partial_fit``: features at most.
        random_state: seed of the order of sequences.
        rate: learning rate, or ``auto``. This and the following are the algorithm's own
            parameters; None stands for its default.
        sigma: standard deviation of the Gaussian prior (L2).
        l1: strength of the L1 penalty.
        batch: sequences in a mini-batch.
        parameters: further parameters of the algorithm, by name.

    Attributes:
        n_iter_: passes that were made.
    """

    def __init__(
        self,
        algorithm: str = "adf",
        *,
        passes: int | None = None,
        template: str | PathLike | Template | None = None,
        cutoff: int = 1,
        rich_edges: bool = False,
        transitions: str | Iterable[tuple[str | None, str | None]] | None = None,
        class_weight: Mapping[str, float] | str | None = None,
        patience: int = 5,
        max_features: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        rate: float | str | None = None,
        sigma: float | None = None,
        l1: float | None = None,
        batch: int | None = None,
        parameters: Mapping[str, Value] | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.passes = passes
        self.template = template
        self.cutoff = cutoff
        self.rich_edges = rich_edges
        self.transitions = transitions
        self.class_weight = class_weight
        self.patience = patience
        self.max_features = max_features
        self.random_state = random_state
        self.rate = rate
        self.sigma = sigma
        self.l1 = l1
        self.batch = batch
        self.parameters = parameters

    def fit(
        self,
        X: Sequences,
        y: Labels,
        X_dev: Sequences | None = None,
        y_dev: Labels | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> CRF:
        """Train.

        Args:
            X: the sequences.
            y: their labels.
            X_dev: development data: scored after each pass, and the best pass is kept.
            y_dev: its labels.
            sample_weight: a weight for each sequence; those of weight 0 are left out.
        """
        X, y, given_weights = weighted_sequences(X, y, sample_weight)
        if (X_dev is None) != (y_dev is None):
            raise ParameterError("X_dev and y_dev go together")
        corpus = self._corpus(X)
        codes, names = number_sequences(y, corpus.sentences)
        if not names:
            raise CorpusError("y holds no label that is known")
        if isinstance(self.class_weight, Mapping) and not set(names) <= set(self.class_weight):
            for name in self.class_weight:
                if name not in names:  # a slip, as others have no weight
                    raise ParameterError(f"class_weight: {unknown('label', str(name), names)}")
        check_cutoff("cutoff", self.cutoff)
        template = self._template(corpus)
        index, encoded = FeatureIndex.build(corpus, template, self.cutoff, EdgeLimit())
        legal = allowed_transitions(self.transitions, names, codes, encoded.sentences)
        examples = Examples(
            index,
            encoded,
            codes,
            tuple(names),
            weights=with_class_weights(
                given_weights, self.class_weight, codes, encoded.sentences, names
            ),
            legal=legal,
        )
        score = None
        if X_dev is not None and y_dev is not None:
            dev = self._corpus(X_dev)
            dev_codes, dev_names = number_sequences(listed(y_dev, "y_dev"), dev.sentences, names)
            dev_encoded = index.encode(dev)
            tokens, starts = known_sentences(dev_codes, dev.sentences)
            if not len(tokens):
                raise CorpusError("y_dev holds no sequence whose labels are all known")

            def score(flat: NDArray[np.float32]) -> float:
                best = Model(tuple(names), index, flat, legal=legal).tag_encoded(dev_encoded)
                return evaluate_ids(dev_codes[tokens], best[tokens], starts, dev_names).score

        result = fit_weights(
            examples,
            algorithm_name=self.algorithm,
            parameters=self._given(),
            passes=self.passes,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            score=score,
            callbacks=[] if score is None else [EarlyStopping(self.patience)],
        )
        provenance = {
            "sentences": len(examples),
            "tokens": examples.n_tokens,
            "cutoff": self.cutoff,
            **result.provenance(),
        }
        self._model: Model | None = Model(
            tuple(names), index, result.weights, provenance, legal=legal
        )
        self._stream: StreamTrainer | None = None
        self.n_iter_ = len(result.history)
        return self

    def _streams(self) -> bool:
        return find_algorithm(self.algorithm).streams

    @available_if(_streams)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Sequences, y: Labels, sample_weight: ArrayLike | None = None) -> CRF:
        """Learn from some more sequences, once, in their order; new labels and features are added.

        Args:
            X: the sequences.
            y: their labels.
            sample_weight: a weight for each sequence; those of weight 0 are left out.
        """
        X, y, weights = weighted_sequences(X, y, sample_weight)
        if not isinstance(self.transitions, str | None) or self.transitions == SEEN:
            raise ParameterError(f"partial_fit: transitions must be one of {', '.join(SCHEMES)}")
        if self.class_weight == BALANCED:
            raise ParameterError("partial_fit: class_weight must be a dictionary, not 'balanced'")
        corpus = self._corpus(X)
        stream: StreamTrainer | None = getattr(self, "_stream", None)
        settings: dict[str, Any] = {
            "algorithm": self.algorithm,
            "max_features": self.max_features,
            "legal": self.transitions,
            "parameters": self._given(),
        }
        if stream is None or any(getattr(stream, name) != settings[name] for name in settings):
            start = self.model_ if hasattr(self, "_model") else self._template(corpus)
            stream = StreamTrainer(start, **settings)
        codes, names = number_sequences(y, corpus.sentences, stream.labels)
        stream.learn(
            corpus,
            y,
            with_class_weights(weights, self.class_weight, codes, corpus.sentences, names),
        )
        self._stream, self._model = stream, None
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        return self

    @property
    def model_(self) -> Model:
        """The trained model."""
        check_is_fitted(self)
        if self._model is None:
            assert self._stream is not None
            self._model = self._stream.model()
        return self._model

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return np.array(sorted(self.model_.labels), object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.dict = True
        tags.target_tags.required = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the safe bytes of the model, which holds the state of training too."""
        if hasattr(self, "_model"):
            self.model_  # noqa: B018  made where it is not yet
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_stream"}

    def predict(self, X: Sequences) -> list[list[str]]:
        """Find the best labels of each sequence."""
        model = self.model_
        corpus = self._corpus(X)
        names = [model.labels[code] for code in model.tag_corpus(corpus).tolist()]
        return _split(names, corpus.sentences)

    def predict_single(self, xseq: Sequence[Any]) -> list[str]:
        """Find the best labels of one sequence."""
        return self.predict([xseq])[0]

    def predict_marginals(self, X: Sequences) -> list[list[dict[str, float]]]:
        """Give every label's probability at every position."""
        model = self.model_
        corpus = self._corpus(X)
        table = model.marginals_corpus(corpus).astype(np.float64)
        table /= table.sum(axis=1, keepdims=True)
        rows = [dict(zip(model.labels, row, strict=True)) for row in table.tolist()]
        return _split(rows, corpus.sentences)

    def predict_marginals_single(self, xseq: Sequence[Any]) -> list[dict[str, float]]:
        """Give every label's probability at every position of one sequence."""
        return self.predict_marginals([xseq])[0]

    def predict_proba_segments(self, X: Sequences) -> list[list[Segment]]:
        """Find the chunks of the best labels, each with the probability of exactly this chunk."""
        return self.model_.segments_corpus(self._corpus(X))

    def score(self, X: Sequences, y: Labels, sample_weight: ArrayLike | None = None) -> float:
        """Give the share of labels that are right; those that are not known do not count."""
        model = self.model_
        corpus = self._corpus(X)
        codes, _ = number_sequences(listed(y, "y"), corpus.sentences, model.labels)
        weights = np.ones(len(corpus))
        if sample_weight is not None:
            weights = checked_weights(sample_weight, len(corpus))
        by_token = np.repeat(weights, np.diff(corpus.sentences)) * (codes != NO_LABEL)
        if not by_token.any():
            raise CorpusError("y holds no label that is known, or none with a weight")
        return float(np.average(model.tag_corpus(corpus) == codes, weights=by_token))

    @property
    def transition_features_(self) -> dict[tuple[str, str], float]:
        """Weights of label bigrams, (from, to)."""
        model = self.model_
        tables = [model.weights_of(p)[1] for p in model.index.plain_edges()]
        return {
            (a, b): float(sum(table[i, j] for table in tables if table is not None))
            for i, a in enumerate(model.labels)
            for j, b in enumerate(model.labels)
            if tables
        }

    @property
    def state_features_(self) -> dict[tuple[str, str], float]:
        """Weights of features and labels, (feature, label).

        Every feature has a weight for every label, and most are close to 0: those below a hundredth
        of the largest are left out.
        """
        model = self.model_
        table = model.node_weights()
        least = np.abs(table).max(initial=0) / 100
        rows, columns = np.nonzero(np.abs(table) > least)
        names = {p: model.index.name(p) for p in np.unique(rows).tolist()}
        return {
            (names[p], model.labels[k]): float(table[p, k])
            for p, k in zip(rows.tolist(), columns.tolist(), strict=True)
        }

    @property
    def attributes_(self) -> list[str]:
        """The features that have weights for labels."""
        node, both, _ = self.model_.index.n_of_kind
        return [self.model_.index.name(p) for p in range(node + both)]

    # ---- how --------------------------------------------------------------------------------

    def _corpus(self, X: Sequences) -> Corpus:
        return corpus_of_sequences(X, tokens=self.template is not None)

    def _template(self, corpus: Corpus) -> Template:
        if self.template is None:
            chosen = Template.for_attributes()
        else:
            columns = getattr(corpus, "n_columns", 0)
            chosen = Template.load(self.template, columns)
            chosen.check_columns(columns, "X")
        return chosen.rich() if self.rich_edges else chosen

    def _given(self) -> dict[str, Value]:
        return given_parameters(
            self.algorithm,
            {"rate": self.rate, "sigma": self.sigma, "l1": self.l1, "batch": self.batch},
            self.parameters,
        )


def _split(items: list[Any], offsets: NDArray[np.int64]) -> list[list[Any]]:
    """Cut a list of all positions into the sequences."""
    return [items[a:b] for a, b in itertools.pairwise(offsets.tolist())]
