"""The segmenter: text in, words out."""

from __future__ import annotations

import contextlib
import itertools
import os
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, ClassVar

import numpy as np

from adaptag._native import core, cores
from adaptag.corpus.segmented import TAG_SETS, SegmentedCorpus, tag_names
from adaptag.dataset.encoded import Examples
from adaptag.errors import CorpusError, ModelError, ParameterError
from adaptag.evaluation.segmentation import SegmentationScore, evaluate_segmentation
from adaptag.features.characters import TENSORS, CharacterFeatures, CharacterIndex
from adaptag.features.index import EdgeLimit
from adaptag.segmentation.dictionary import UserDictionary
from adaptag.segmentation.new_words import Detection, detect
from adaptag.storage.stored import Stored
from adaptag.storage.tensors import write_tensors
from adaptag.training.callbacks import Callback, Converged, EarlyStopping
from adaptag.training.loop import fit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.storage.files import PathLike

    Segmented = PathLike | SegmentedCorpus | Iterable[Iterable[str]]

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


@dataclass(frozen=True, eq=False, repr=False)
class Segmenter(Stored):
    """A trained word segmenter.

    Words are always the text's own characters: joined, they give the text back, white space
    included. Runs of white space are pieces of their own. Cutting releases the GIL, and one
    segmenter can be shared by threads as long as its dictionary stays as it is.

    Attributes:
        tags: the tag set: ``bies``, ``bmes`` or ``bie``.
        index: the features, with the words of the training data.
        weights: float32; see ``layout.hpp``.
        provenance: where the model comes from.
        rare_weight: what a word of the training data that is no feature, because it is too rare or
            too long, adds to the score of its labels at each of its characters. Not saved.
        dictionary: words of the user's own. Not saved.
    """

    kind: ClassVar[str] = "segmenter"

    tags: str
    index: CharacterIndex
    weights: NDArray[np.float32]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    rare_weight: float = field(default=RARE_WEIGHT, kw_only=True)
    dictionary: UserDictionary = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dictionary", UserDictionary(self.index.features.fold))

    def __repr__(self) -> str:
        return f"<Segmenter of {self.index.n_words:,} words, {self.index.n_predicates:,} features>"

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
        corpus = _corpus(data)
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

    # ---- training -----------------------------------------------------------------------------

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
        """Train a segmenter.

        Args:
            data: spaced text, one sentence a line; a corpus that was read; or sentences of words.
            dev: development data: scored after every pass, the best pass is kept, and training
                stops when the score has not risen for ``patience`` passes.
            tags: the tag set: ``bies``, ``bmes``, or ``bie`` (a word of one character is ``B``).
            features: which features there are; all those of the paper unless given.
            algorithm: ``adf``, or another of ``adaptag.algorithms()``.
            passes: passes over the data at most; the algorithm's own number unless given.
            seed: of the order of sentences; the same seed gives the same model, bit for bit.
            converge: stop at the empirical convergence of Sun et al. (2014).
            patience: see ``dev``.
            callbacks: watch training, and stop it.
            **parameters: the algorithm's own parameters, such as ``rate`` and ``sigma``.
        """
        corpus = _corpus(data)
        index = CharacterIndex.build(corpus, features or CharacterFeatures())
        examples = Examples(index, index.encode(corpus), corpus.labels(tags), tag_names(tags))
        dev_corpus = None if dev is None else _corpus(dev)
        rules: list[Callback] = [Converged()] if converge else []
        if dev_corpus is not None:
            rules.append(EarlyStopping(patience))

        def score(weights: NDArray[np.float32]) -> float:
            assert dev_corpus is not None
            return cls(tags, index, weights).evaluate(dev_corpus).f1

        result = fit(
            examples,
            algorithm_name=algorithm,
            parameters=parameters,
            passes=passes,
            seed=seed,
            score=score if dev_corpus is not None else None,
            callbacks=[*callbacks, *rules],
        )
        provenance = {
            "sentences": len(corpus),
            "characters": corpus.n_characters,
            "words": corpus.n_words,
            **result.provenance(),
        }
        return cls(tags, index, result.weights, provenance)

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
            segmenter = cls(
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
    except TypeError as error:
        raise CorpusError(f"texts: {error}") from None
    except ValueError as error:  # where a weight is not finite, no word can be found
        raise ModelError(f"the segmenter is damaged: {error}") from None


def _corpus(data: Segmented) -> SegmentedCorpus:
    if isinstance(data, SegmentedCorpus):
        return data
    if isinstance(data, (str, os.PathLike)):
        return SegmentedCorpus.read(data)
    corpus = SegmentedCorpus.from_sentences(data)
    if len(corpus) == 0:
        raise ParameterError("the data holds no sentence")
    return corpus


def _threads(wanted: int | None) -> int:
    if wanted is not None and wanted < 1:
        raise ParameterError(f"threads is {wanted}; allowed: 1 or more")
    return wanted or cores()
