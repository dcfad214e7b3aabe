"""The segmenter: text in, words out."""

from __future__ import annotations

import contextlib
import inspect
import itertools
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, ClassVar

import numpy as np

from adaptag._native import core, cores
from adaptag.corpus.segmented import TAG_SETS, SegmentedCorpus, tag_names
from adaptag.dataset.encoded import Examples
from adaptag.errors import CorpusError, ModelError, ParameterError, unknown
from adaptag.evaluation.segmentation import SegmentationScore, evaluate_segmentation
from adaptag.features.characters import TENSORS, CharacterFeatures, CharacterIndex
from adaptag.features.index import EdgeLimit
from adaptag.segmentation.data import corpus_of
from adaptag.segmentation.dictionary import UserDictionary
from adaptag.segmentation.new_words import Detection, detect
from adaptag.storage.stored import Stored
from adaptag.storage.tensors import write_tensors
from adaptag.training.algorithms import algorithm as find_algorithm
from adaptag.training.callbacks import Callback, Converged, EarlyStopping
from adaptag.training.loop import fit
from adaptag.training.online import PASS_SIZE, Trainer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.segmentation.data import Segmented
    from adaptag.training.declarations import Value

__all__ = ["Segmenter", "Word"]

VERSION = 1
# Chosen by four-fold cross-validation: see docs/guide/segmentation.md.
RARE_WEIGHT = 1.5


@dataclass(frozen=True)
class Word:
    """A word of a text: where it begins, and the probability that exactly this is a word."""

    text: str
    start: int
    probability: float


class Segmenter(Stored):
    """A word segmenter, with the conventions of scikit-learn's estimators.

    Words are always the text's own characters: joined, they give the text back, white space
    included. Runs of white space are pieces of their own. Cutting releases the GIL, and one
    segmenter can be shared by threads as long as its dictionary stays as it is.

    Args:
        tags: the tag set: ``bies``, ``bmes``, or ``bie`` (a word of one character is ``B``).
        features: which features there are; all those of the paper unless given.
        algorithm: ``adf``, or another of ``adaptag.algorithms()``.
        passes: passes over the data at most; the algorithm's own number unless given.
        seed: of the order of sentences; the same seed gives the same model, bit for bit.
        converge: stop at the empirical convergence of Sun et al. (2014).
        patience: with development data: stop when the score has not risen for so many passes.
        rare_weight: what a word of the training data that is no feature, because it is too rare or
            too long, adds to the score of its labels at each of its characters. Not saved.
        parameters: the algorithm's own parameters, such as ``rate`` and ``sigma``.

    Attributes:
        index: the features, with the words of the training data.
        weights: float32; see ``layout.hpp``.
        provenance: where the model comes from.
    """

    kind: ClassVar[str] = "segmenter"

    index: CharacterIndex
    weights: NDArray[np.float32]
    provenance: Mapping[str, Any]

    def __init__(
        self,
        tags: str = "bie",
        *,
        features: CharacterFeatures | None = None,
        algorithm: str = "adf",
        passes: int | None = None,
        seed: int = 1,
        converge: bool = False,
        patience: int = 5,
        rare_weight: float = RARE_WEIGHT,
        parameters: Mapping[str, Value] | None = None,
    ) -> None:
        self.tags = tags
        self.features = features
        self.algorithm = algorithm
        self.passes = passes
        self.seed = seed
        self.converge = converge
        self.patience = patience
        self.rare_weight = rare_weight
        self.parameters = parameters

    @classmethod
    def of(
        cls,
        tags: str,
        index: CharacterIndex,
        weights: NDArray[np.float32],
        provenance: Mapping[str, Any] | None = None,
        **arguments: Any,
    ) -> Segmenter:
        """Put a trained segmenter together; further arguments are those of the class."""
        found = cls(tags, features=index.features, **arguments)
        found._keep(index, weights, provenance or {})
        return found

    def __repr__(self) -> str:
        if not self._is_fitted():
            return f"<Segmenter, tags {self.tags}, not trained>"
        return f"<Segmenter of {self.index.n_words:,} words, {self.index.n_predicates:,} features>"

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """The arguments of the class, by name, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in _arguments(type(self))}

    def set_params(self, **arguments: Any) -> Segmenter:
        """Change arguments of the class, by name."""
        for name, value in arguments.items():
            if name not in _arguments(type(self)):
                raise ParameterError(unknown("parameter", name, _arguments(type(self))))
            setattr(self, name, value)
        return self

    # ---- the conventions of estimators --------------------------------------------------------

    def fit(
        self,
        X: Segmented,
        y: Iterable[Sequence[str]] | None = None,
        *,
        dev: Segmented | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> Segmenter:
        """Train.

        Args:
            X: segmented text: a file of spaced text, a corpus that was read, or sentences of words;
                or plain texts, where ``y`` is given.
            y: the words of each text.
            dev: development data, segmented: scored after every pass, and the best pass is kept.
            callbacks: watch training, and stop it.
        """
        corpus = corpus_of(X, y)
        index = CharacterIndex.build(corpus, self.features or CharacterFeatures())
        dev_corpus = None if dev is None else corpus_of(dev)
        rules: list[Callback] = [Converged()] if self.converge else []
        if dev_corpus is not None:
            rules.append(EarlyStopping(self.patience))

        def score(weights: NDArray[np.float32]) -> float:
            assert dev_corpus is not None
            return Segmenter.of(self.tags, index, weights).evaluate(dev_corpus).f1

        result = fit(
            self._examples(index, corpus),
            algorithm_name=self.algorithm,
            parameters=self.parameters,
            passes=self.passes,
            seed=self.seed,
            score=score if dev_corpus is not None else None,
            callbacks=[*callbacks, *rules],
        )
        self._keep(index, result.weights, {**corpus.sizes(), **result.provenance()})
        return self

    def partial_fit(self, X: Segmented, y: Iterable[Sequence[str]] | None = None) -> Segmenter:
        """Learn from some more sentences, once, in their order.

        The features are those of the first data, of ``fit`` or of the first call: new words are
        learned by the features of their characters, and get none of their own.

        Args:
            X: as for ``fit``.
            y: as for ``fit``.
        """
        corpus = corpus_of(X, y)
        fitted = self._is_fitted()
        index = (
            self.index
            if fitted
            else CharacterIndex.build(corpus, self.features or CharacterFeatures())
        )
        part = self._examples(index, corpus)
        trainer: Trainer | None = self.__dict__.get("_trainer")
        if trainer is None:
            chosen = find_algorithm(self.algorithm)
            if not chosen.streams:
                raise ParameterError(f"{chosen.name} needs all data at once; take one like adf")
            trainer = Trainer(part, chosen, self.parameters or {}, pass_size=PASS_SIZE)
            if fitted:
                trainer.weights[:] = self.weights
        trainer.run_on(part)
        before = self.provenance if fitted else {}
        sizes = {name: size + int(before.get(name, 0)) for name, size in corpus.sizes().items()}
        self._keep(index, trainer.current_weights(), {**before, **sizes})
        self._trainer = trainer
        return self

    def predict(self, X: Iterable[str]) -> list[list[str]]:
        """Cut texts into words, without the white space between them."""
        return [[word for word in words if not word.isspace()] for words in self.cut_all(X)]

    def score(self, X: Segmented, y: Iterable[Sequence[str]] | None = None) -> float:
        """The F1 of the words, 0 to 1; X and y as for ``fit``."""
        return self.evaluate(corpus_of(X, y)).f1 / 100

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted()

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags  # only scikit-learn asks for them

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False, string=True),
        )

    def _is_fitted(self) -> bool:
        return "weights" in self.__dict__

    def _keep(
        self, index: CharacterIndex, weights: NDArray[np.float32], provenance: Mapping[str, Any]
    ) -> None:
        """Take what was trained; what was made of something else is forgotten."""
        for name in ("lexicon", "layout", "_native", "_trainer"):
            self.__dict__.pop(name, None)
        self.index, self.weights, self.provenance = index, weights, provenance

    def __getattr__(self, name: str) -> Any:
        if name in ("index", "weights", "provenance"):
            raise ModelError("the segmenter is not trained yet: call fit")
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def _examples(self, index: CharacterIndex, corpus: SegmentedCorpus) -> Examples:
        return Examples(index, index.encode(corpus), corpus.labels(self.tags), tag_names(self.tags))

    @cached_property
    def dictionary(self) -> UserDictionary:
        """Words of the user's own. Not saved."""
        features = self.index.features if self._is_fitted() else self.features
        return UserDictionary((features or CharacterFeatures()).fold)

    # ---- cutting ------------------------------------------------------------------------------

    def cut(self, text: str) -> list[str]:
        """Cut a text into words."""
        return self._cut([text], 1)[0]

    def cut_all(self, texts: Iterable[str], threads: int | None = None) -> list[list[str]]:
        """Cut many texts, on all cores unless told otherwise."""
        return self._cut(list(texts), threads)

    def words(self, text: str) -> list[Word]:
        """Cut a text into words with their places and probabilities."""
        return self.words_all([text], 1)[0]

    def words_all(self, texts: Iterable[str], threads: int | None = None) -> list[list[Word]]:
        """Cut many texts into words with their places and probabilities."""
        all_texts = list(texts)
        offsets, starts, probabilities = self.marks(all_texts, threads)
        found = []
        for text, first, last in zip(all_texts, offsets, offsets[1:], strict=False):
            begins = np.flatnonzero(starts[first:last])
            bounds = itertools.pairwise([*begins.tolist(), len(text)])
            chances = probabilities[first:last][begins].tolist()
            found.append([Word(text[a:b], a, p) for (a, b), p in zip(bounds, chances, strict=True)])
        return found

    def new_words(
        self, texts: Iterable[str], *, threshold: float = 0.5, rounds: int = 10
    ) -> Detection:
        """Find words that the training data does not have; see ``new_words.detect``."""
        return detect(self, list(texts), threshold=threshold, rounds=rounds)

    def evaluate(self, data: Segmented) -> SegmentationScore:
        """Cut segmented text anew, and score the words."""
        corpus = corpus_of(data)
        predicted = self.cut_all(corpus.texts())
        return evaluate_segmentation(corpus.words(), predicted, self.lexicon.__contains__)

    def marks(
        self, texts: Sequence[str], threads: int | None = None, extra: core.Lexicon | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.float32]]:
        """Find where words begin in texts put one behind the other.

        Returns:
            The first character of every text, then T, int64 ``[N + 1]``; 1 where a word begins,
            uint8 ``[T]``; there the word's probability, float32 ``[T]``.
        """
        chosen = self.dictionary.native if extra is None else extra
        n = _threads(threads)
        with _refusals():
            return self._native.marks(texts, chosen, n)

    def _cut(self, texts: Sequence[str], threads: int | None) -> list[list[str]]:
        n = _threads(threads)
        with _refusals():
            return self._native.cut(texts, self.dictionary.native, n)

    @cached_property
    def lexicon(self) -> core.Lexicon:
        """All words of the training data, folded; ``word in segmenter.lexicon``."""
        return self.index.lexicon()

    @cached_property
    def layout(self) -> core.Layout:
        """How the weights lie in memory."""
        return core.Layout(len(tag_names(self.tags)), *self.index.n_of_kind)

    @cached_property
    def _native(self) -> core.Segmenter:
        names = tag_names(self.tags)
        begin, inside, end, single = (names.index(name) for name in TAG_SETS[self.tags])
        return core.Segmenter(
            self.layout,
            self.weights,
            self.index.native,
            (begin, inside, end, single),
            self.index.features.fold,
            self.index.rare_words(self.rare_weight),
        )

    @classmethod
    def train(
        cls,
        data: Segmented,
        *,
        dev: Segmented | None = None,
        tags: str = "bie",
        features: CharacterFeatures | None = None,
        algorithm: str = "adf",
        passes: int | None = None,
        seed: int = 1,
        converge: bool = False,
        patience: int = 5,
        callbacks: Sequence[Callback] = (),
        **parameters: float | str,
    ) -> Segmenter:
        """Train a segmenter in one call; the arguments are those of the class and of ``fit``."""
        found = cls(
            tags,
            features=features,
            algorithm=algorithm,
            passes=passes,
            seed=seed,
            converge=converge,
            patience=patience,
            parameters=parameters,
        )
        return found.fit(data, dev=dev, callbacks=callbacks)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments, and the safe bytes of the file where it is trained."""
        return _unpickled, (self.get_params(), self.to_bytes() if self._is_fitted() else None)

    # ---- files --------------------------------------------------------------------------------

    def _write(self, file: IO[bytes]) -> None:
        header = {
            "version": VERSION,
            "tags": self.tags,
            "features": asdict(self.index.features),
            "counts": dict(self.index.counts),
            "provenance": dict(self.provenance),
        }
        write_tensors(file, self.kind, header, {**self.index.tensors, "weights": self.weights})

    @classmethod
    def _from_file(
        cls, header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], name: str
    ) -> Segmenter:
        try:
            if header["version"] != VERSION:
                raise ValueError(f"version {header['version']}; this adaptag reads {VERSION}")
            found = {}
            for key, ndim in TENSORS.items():
                found[key] = tensors[key]
                if found[key].dtype != np.uint32 or found[key].ndim != ndim:
                    raise ValueError(f"{key} has the wrong type or shape")
            if len(found["word_counts"]) != len(found["word_offsets"]) - 1:
                raise ValueError("words and their counts do not fit together")
            counts = {key: int(header["counts"][key]) for key in ("n_unigrams", "n_parts")}
            rich = tuple(int(n) for n in header["counts"]["n_rich"])
            features = dict(header["features"])
            edges = features.pop("edges")
            index = CharacterIndex(
                CharacterFeatures(**features, edges=edges and EdgeLimit(**edges)),
                {**counts, "n_rich": rich},
                found,
            )
            if tensors["weights"].dtype != np.float32 or tensors["weights"].ndim != 1:
                raise ValueError("weights have the wrong type or shape")
            segmenter = cls.of(
                str(header["tags"]), index, tensors["weights"], dict(header["provenance"])
            )
            segmenter._native  # noqa: B018  builds the core's tables, which checks them
        except (KeyError, TypeError, ValueError, OverflowError, RuntimeError) as error:
            raise ModelError(f"{name}: malformed segmenter: {error}") from None
        return segmenter


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Pass on what the core refuses, as bad input."""
    try:
        yield
    except core.InputError as error:
        raise CorpusError(f"texts: {error}") from None
    except core.NoPathError as error:  # where a weight is not finite, no word can be found
        raise ModelError(f"the segmenter is damaged: {error}") from None


def _unpickled(arguments: Mapping[str, Any], data: bytes | None) -> Segmenter:
    if data is None:
        return Segmenter(**arguments)
    return Segmenter.from_bytes(data).set_params(**arguments)


def _arguments(of: type) -> list[str]:
    """The names of a class's arguments."""
    return list(inspect.signature(of).parameters)


def _threads(wanted: int | None) -> int:
    if wanted is not None and wanted < 1:
        raise ParameterError(f"threads is {wanted}; allowed: 1 or more")
    return wanted or cores()
