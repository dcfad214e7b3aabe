"""The linear-chain CRF as a scikit-learn estimator."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
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

from adaptag.corpus.data import corpus_of
from adaptag.corpus.labels import NO_LABEL
from adaptag.corpus.lists import as_list
from adaptag.corpus.transitions import SEEN
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.options import DecodingOptions
from adaptag.decoding.tagging_job import tagging_job
from adaptag.errors import CorpusError, ParameterError, unknown
from adaptag.estimators.crfsuite_arguments import CRFsuiteArguments
from adaptag.estimators.parameters import EstimatorSettings
from adaptag.estimators.weights import (
    BALANCED,
    SEQUENCES,
    checked_weights,
    weighted_sequences,
    with_class_weights,
)
from adaptag.features.index import template_for
from adaptag.features.settings import FeatureSettings
from adaptag.pycrfsuite.seen_pairs import restrict
from adaptag.settings import redeclared
from adaptag.streams.trainer import StreamTrainer
from adaptag.training.algorithms import algorithm as find_algorithm
from adaptag.training.settings import LabelSettings, TaggingSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from adaptag.corpus.data import Corpus
    from adaptag.decoding.decoder import Segment
    from adaptag.decoding.model import Model
    from adaptag.decoding.options import Declared
    from adaptag.pycrfsuite.parameters import Conversion

    Sequences = Sequence[Sequence[Any]]
    Labels = Sequence[Sequence[str | None]]

__all__ = ["CRF"]

DEFAULT = "adf"


@dataclass(eq=False, repr=False, kw_only=True)
class CRF(
    CRFsuiteArguments,
    BaseEstimator,  # type: ignore[misc]
    EstimatorSettings,
    LabelSettings,
    FeatureSettings,
):
    """A linear-chain CRF over sequences of features, trained by any of adaptag's algorithms.

    ``X`` is a list of sequences. Without a template, each position is a dictionary of features
    (strings, numbers, bools, and dictionaries and lists of them, as python-crfsuite takes them) or
    a list of attributes, which are strings. With a template, each position is a token: a string, or
    a tuple of columns. ``y`` holds a list of labels for each sequence; None stands for a label that
    is not known, and the likelihood of the others is trained.

    The arguments are the settings of [features](guide/settings.md) and of
    [training](guide/settings.md), those of
    [sklearn-crfsuite](guide/pycrfsuite.md#sklearn-crfsuite), and these:

    Args:
        random_state: Seed of the order of sequences, or a NumPy random state.
        legal: Which labels may follow each other: ``auto`` (what the scheme of the training data
            allows), a scheme by its name, ``seen`` (in the training data), or pairs of labels, with
            None for the outside of a sequence where it matters. By default all may.
        class_weight: Weights of the labels, or ``balanced``; that of a sequence is the mean over
            its labels.
        max_features: With ``partial_fit``: the maximum number of features.

    Attributes:
        n_iter_: The number of passes that were made.
        training_log_: The figures of each pass, in ``iterations``.
    """

    algorithm: str | None = redeclared(  # type: ignore[assignment]
        EstimatorSettings,
        "algorithm",
        positional=True,
        default=None,
        default_text=f"{DEFAULT}; lbfgs with arguments of sklearn-crfsuite",
    )
    legal: str | Iterable[tuple[str | None, str | None]] | None = None
    class_weight: Mapping[str, float] | str | None = None
    max_features: int | None = None

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
            X: The sequences.
            y: The labels of the sequences.
            X_dev: Development data: scored after each pass, and the best pass is kept.
            y_dev: The labels of the development data.
            sample_weight: A weight for each sequence; those of weight 0 are ignored.
        """
        X, y, given_weights = weighted_sequences(X, y, sample_weight)
        if (X_dev is None) != (y_dev is None):
            raise ParameterError("X_dev and y_dev must be given together")
        conversion = self._conversion()
        self._warn(conversion)
        dataset = Dataset.build(
            self._corpus(X, y, keep_zeros=conversion is not None), self._features(conversion)
        )
        weights = self._weights(given_weights, dataset)
        dev = None if X_dev is None else self._corpus(X_dev, y_dev)
        job = tagging_job(replace(dataset, weights=weights), self._settings(conversion), dev=dev)
        if conversion is not None:
            job.callbacks = [conversion.stop]
            restrict(job, conversion)
        self._model: Model | None = job.run()
        self._stream: StreamTrainer | None = None
        self.n_iter_ = len(job.result.history)
        self._store(self._model, job.result.history)
        return self

    def _features(self, conversion: Conversion | None) -> FeatureSettings:
        given = {} if conversion is None else {"cutoff": conversion.cutoff}
        return FeatureSettings.taken_from(self, **given)

    def _settings(self, conversion: Conversion | None) -> TaggingSettings:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        more: dict[str, Any] = {name: getattr(self, name) for name in LabelSettings.declared()}
        more |= {"legal": self.legal, **self._algorithm(conversion)}
        if conversion is not None:
            more["passes"] = conversion.passes
        settings: TaggingSettings = self.training_settings(TaggingSettings, seed, **more)
        return settings

    def _algorithm(self, conversion: Conversion | None) -> dict[str, Any]:
        """The name of adaptag's algorithm and its parameters, as settings."""
        if conversion is not None:
            return {"algorithm": conversion.algorithm, "parameters": conversion.parameters or None}
        return {
            "algorithm": DEFAULT if self.algorithm is None else self.algorithm,
            "parameters": self.given_parameters() or None,
        }

    def _weights(
        self, given: NDArray[np.float64] | None, dataset: Dataset
    ) -> NDArray[np.float32] | None:
        names = dataset.label_names
        if isinstance(self.class_weight, Mapping) and not set(names) <= set(self.class_weight):
            for name in self.class_weight:
                if name not in names:  # a slip, as others have no weight
                    raise ParameterError(f"class_weight: {unknown('label', str(name), names)}")
        offsets = dataset.encoded.sentences
        return with_class_weights(given, self.class_weight, dataset.labels, offsets, names)

    def _streams(self) -> bool:
        return find_algorithm(self._algorithm(self._conversion())["algorithm"]).streams

    @available_if(_streams)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Sequences, y: Labels, sample_weight: ArrayLike | None = None) -> CRF:
        """Learn from some more sequences, once, in their order; new labels and features are added.

        Args:
            X: The sequences.
            y: The labels of the sequences.
            sample_weight: A weight for each sequence; those of weight 0 are ignored.
        """
        X, y, weights = weighted_sequences(X, y, sample_weight)
        if not isinstance(self.legal, str | None) or self.legal == SEEN:
            raise ParameterError("partial_fit: legal must be the name of a scheme, or auto")
        if self.class_weight == BALANCED:
            raise ParameterError("partial_fit: class_weight must be a dictionary, not 'balanced'")
        corpus = self._corpus(X, y)
        stream: StreamTrainer | None = getattr(self, "_stream", None)
        conversion = self._conversion()
        settings: dict[str, Any] = {
            "max_features": self.max_features,
            "legal": self.legal,
            "scheme": self.scheme,
            "output_scheme": self.output_scheme,
            **self._algorithm(conversion),
        }
        if stream is None or any(getattr(stream, name) != settings[name] for name in settings):
            features = self._features(conversion)
            start = self.model_ if hasattr(self, "_model") else template_for(corpus, features)
            stream = StreamTrainer(start, **settings)
        codes, names = corpus.number_labels(stream.labels)
        stream.learn(
            corpus,
            weights=with_class_weights(weights, self.class_weight, codes, corpus.sentences, names),
        )
        self._stream, self._model = stream, None
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        return self

    @property
    def model_(self) -> Model:
        """The trained model."""
        check_is_fitted(self)
        if not hasattr(self, "_model"):
            self._model = self._stored_model()
        if self._model is None:
            assert self._stream is not None
            self._model = self._stream.model()
        return self._model

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return np.array(sorted(self.model_.labels), object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model") or self._has_stored_model()

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
        left_out = ("_stream", "_cached_tagger")
        return {name: value for name, value in state.items() if name not in left_out}

    def predict(self, X: Sequences, *, constraints: Declared = None) -> list[list[str]]:
        """Find the best labels of each sequence, under ``adaptag.Constraints`` if there are any."""
        model = self.model_
        corpus = self._corpus(X)
        codes = model.tag_corpus(corpus, DecodingOptions(constraints=constraints))
        return _split([model.labels[code] for code in codes.tolist()], corpus.sentences)

    def predict_single(self, xseq: Sequence[Any]) -> list[str]:
        """Find the best labels of one sequence."""
        return self.predict([xseq])[0]

    def predict_marginals(self, X: Sequences) -> list[list[dict[str, float]]]:
        """Return every label's probability at every position."""
        model = self.model_
        corpus = self._corpus(X)
        table = model.marginals_corpus(corpus).astype(np.float64)
        table /= table.sum(axis=1, keepdims=True)
        rows = [dict(zip(model.labels, row, strict=True)) for row in table.tolist()]
        return _split(rows, corpus.sentences)

    def predict_marginals_single(self, xseq: Sequence[Any]) -> list[dict[str, float]]:
        """Return every label's probability at every position of one sequence."""
        return self.predict_marginals([xseq])[0]

    def predict_proba_segments(self, X: Sequences) -> list[list[Segment]]:
        """Find the chunks of the best labels, each with the probability of exactly this chunk."""
        return self.model_.segments_corpus(self._corpus(X))

    def score(self, X: Sequences, y: Labels, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of labels that are right; those that are not known do not count."""
        model = self.model_
        if y is None:
            raise ParameterError(f"y is None; allowed: {SEQUENCES}")
        corpus = self._corpus(X)
        codes, names = self._corpus(X, y).number_labels(model.labels)
        if model.rewrites_labels:
            codes, _ = model.rewrite(names, codes, corpus.sentences)
        weights = np.ones(len(corpus))
        if sample_weight is not None:
            weights = checked_weights(sample_weight, len(corpus))
        by_token = np.repeat(weights, np.diff(corpus.sentences)) * (codes != NO_LABEL)
        if not by_token.any():
            raise CorpusError("y holds no label that is known, or none with a weight")
        return float(np.average(model.tag_corpus(corpus) == codes, weights=by_token))

    @property
    def transition_features_(self) -> dict[tuple[str, str], float]:
        """Weights of label bigrams, (from, to); the labels are those of the training scheme."""
        model = self.model_
        tables = [model.weights_of(p)[1] for p in model.index.plain_edges()]
        return {
            (a, b): weight
            for i, a in enumerate(model.states)
            for j, b in enumerate(model.states)
            if (weight := float(sum(table[i, j] for table in tables if table is not None)))
        }

    @property
    def state_features_(self) -> dict[tuple[str, str], float]:
        """Weights of features and labels, (feature, label), in the scheme of training.

        Those that are 0 are omitted. Without arguments of sklearn-crfsuite, every feature has a
        weight for every label and most are close to 0: those below a hundredth of the largest are
        omitted too.
        """
        model = self.model_
        table = model.node_weights()
        every = self._conversion() is not None or self.model_filename is not None
        least = 0 if every else np.abs(table).max(initial=0) / 100
        rows, columns = np.nonzero(np.abs(table) > least)
        names = {p: model.index.name(p) for p in np.unique(rows).tolist()}
        return {
            (names[p], model.states[k]): float(table[p, k])
            for p, k in zip(rows.tolist(), columns.tolist(), strict=True)
        }

    @property
    def attributes_(self) -> list[str]:
        """The features that have weights for labels."""
        node, both, _ = self.model_.index.n_of_kind
        return [self.model_.index.name(p) for p in range(node + both)]

    # ---- how --------------------------------------------------------------------------------

    def _corpus(self, X: Sequences, y: Labels | None = None, *, keep_zeros: bool = False) -> Corpus:
        tokens = self.template is not None
        sequences = as_list(X, "X", SEQUENCES)
        corpus: Corpus = corpus_of(
            sequences, y, tokens=tokens, labelled=y is not None, keep_zeros=keep_zeros
        )
        return corpus


def _split(items: list[Any], offsets: NDArray[np.int64]) -> list[list[Any]]:
    """Cut a list of all positions into the sequences."""
    return [items[a:b] for a, b in itertools.pairwise(offsets.tolist())]
