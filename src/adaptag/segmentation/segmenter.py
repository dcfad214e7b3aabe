"""The segmenter: trained, saved and loaded, with the conventions of estimators."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, ClassVar

from adaptag.corpus.data import SEGMENTATION
from adaptag.corpus.segmented import tag_names
from adaptag.dataset.encoded import prefixed
from adaptag.errors import ModelError, NotTrainedError, ParameterError, unknown
from adaptag.evaluation.calibration import BINS, Calibration, reliability
from adaptag.features.characters import CharacterIndex
from adaptag.features.settings import CharacterFeatures
from adaptag.model.linear_chain import EXTRA, LinearChain
from adaptag.model.summary import model_facts, trained_briefly
from adaptag.rendering.tables import Shown, facts_table
from adaptag.segmentation.calibration import best_temperature, word_predictions
from adaptag.segmentation.cutter import Cutter
from adaptag.segmentation.dictionary import UserDictionary
from adaptag.segmentation.predictor import FORM, Patterns, SegmentPredictor
from adaptag.segmentation.settings import SegmenterSettings
from adaptag.segmentation.traditional import TraditionalCutter
from adaptag.segmentation.training import (
    segmentation_chain,
    segmentation_examples,
    segmentation_job,
)
from adaptag.settings import split_options, with_options
from adaptag.storage.stored import Stored
from adaptag.training.online import PASS_SIZE, Trainer
from adaptag.training.saving import Saving
from adaptag.training.settings import TrainingSettings, parameter_names, with_parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag._native import core
    from adaptag.segmentation.cutter import Segmented
    from adaptag.storage.files import PathLike
    from adaptag.training.callbacks import Callback

    Chain = LinearChain[CharacterIndex]

__all__ = ["Segmenter"]

USE = "segmenter.cut(text), segmenter.words(text), segmenter.evaluate(data), segmenter.save(path)"


@dataclass(eq=False, repr=False, kw_only=True)
class Segmenter(Shown, SegmenterSettings, CharacterFeatures, TrainingSettings, Cutter, Stored):
    """A word segmenter, with the conventions of scikit-learn's estimators.

    The arguments are the settings of the [features](guide/settings.md) and of
    [training](guide/settings.md). Words are always the text's own characters: joined, they give the
    text back, white space included. Runs of white space are pieces of their own. Cutting releases
    the GIL, and one segmenter can be shared by threads, also while its dictionary changes.

    Attributes:
        model_: The trained linear chain: its index, weights, provenance and configuration.
    """

    kind: ClassVar[str] = "segmenter"
    __eq__ = object.__eq__  # segmenters are compared and hashed by identity
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        if not self._is_fitted():
            return f"<Segmenter, tags {self.tags}, not trained>"
        index = self.model_.index
        sizes = f"{index.n_words:,} words, {index.n_predicates:,} features"
        return f"<Segmenter of {sizes}{trained_briefly(self.model_.provenance)}>"

    def _shown(self) -> list[Any]:
        if not self._is_fitted():
            return [f"{self!r}: segmenter.fit(texts) trains it"]
        own = {
            "known words": f"{self.model_.index.n_words:,}",
            "words of the user": f"{len(self.dictionary):,}",
            "tags": self.tags,
        }
        kind = f"{'compact ' * self.is_compact}segmenter"
        return [facts_table(model_facts(self.model_, kind, own=own, use=USE))]

    @classmethod
    def from_model(cls, model: Chain | SegmentPredictor, **arguments: Any) -> Segmenter:
        """Make a segmenter of a trained chain or a predictor; arguments are those of the class."""
        settings = {**model.index.features.record(), **arguments}
        segmenter = cls(**settings)
        segmenter._set_model(model)
        return segmenter

    # ---- the conventions of estimators --------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """The arguments of the class, by name, as scikit-learn requires."""
        return {name: getattr(self, name) for name in _arguments()}

    def set_params(self, **params: Any) -> Segmenter:
        """Set arguments of the class, as scikit-learn does."""
        for name, value in params.items():
            if name not in _arguments():
                raise ParameterError(unknown("parameter", name, _arguments()))
            setattr(self, name, value)
        return self

    def fit(
        self,
        X: Segmented,
        y: Iterable[Sequence[str]] | None = None,
        *,
        dev: Segmented | None = None,
        resume: PathLike | None = None,
        checkpoint: PathLike | None = None,
        every: int | str | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> Segmenter:
        """Train.

        Args:
            X: Segmented text: a file of spaced text, a corpus that was read, or sentences of words;
                or plain texts, where ``y`` is given.
            y: The words of each text.
            dev: Development data, segmented: scored after every pass, and the best pass is kept.
            resume: A checkpoint to continue from, as for ``adaptag.train``.
            checkpoint: A file for the state of training, as for ``adaptag.train``.
            every: How often it is saved.
            callbacks: Objects that are notified of the progress and can stop training.
        """
        saving = Saving.of(checkpoint, every, resume)
        training = TrainingSettings.taken_from(self)
        job = segmentation_job(
            self.read(X, y),
            SegmenterSettings.taken_from(self),
            CharacterFeatures.taken_from(self),
            saving.continued(training, training.given()),
            dev=None if dev is None else self.read(dev),
        )
        job.callbacks = callbacks
        saving.attach(job)
        self._set_model(job.run())
        return self

    def partial_fit(self, X: Segmented, y: Iterable[Sequence[str]] | None = None) -> Segmenter:
        """Train once on some more sentences, in their order.

        The features are those of the first data, of ``fit`` or of the first call: new words are
        learned by the features of their characters, and get no features of their own.

        Args:
            X: As for ``fit``.
            y: As for ``fit``.
        """
        corpus = self.read(X, y)
        settings = TrainingSettings.taken_from(self)
        model: Chain | SegmentPredictor | None = self.__dict__.get("model_")
        if isinstance(model, SegmentPredictor):
            raise ModelError("a compact segmenter has no weights to train: use the full one")
        if model is None:
            index = CharacterIndex.build(corpus, CharacterFeatures.taken_from(self))
        else:
            index = model.index
        part = segmentation_examples(index, corpus, self.tags)
        trainer: Trainer | None = self.__dict__.get("_trainer")
        if trainer is None:
            if not settings.chosen.streams:
                raise ParameterError(
                    f"{settings.algorithm} needs all data at once; choose an algorithm like adf"
                )
            values = settings.parameters or {}
            trainer = Trainer(
                part, settings.chosen, values, pass_size=PASS_SIZE, **settings.online_threads
            )
            if model is not None:
                trainer.weights[:] = model.weights
        trainer.run_on(part)
        before = {} if model is None else model.provenance
        sizes = {name: size + int(before.get(name, 0)) for name, size in corpus.sizes().items()}
        record = {**before, **sizes}
        record.pop("temperature", None)  # it belongs to other weights
        self._set_model(segmentation_chain(self.tags, index, trainer.current_weights(), record))
        self._trainer = trainer
        return self

    def predict(self, X: Iterable[str]) -> list[list[str]]:
        """Cut texts into words, without the white space between them."""
        return [[word for word in words if not word.isspace()] for words in self.cut_all(X)]

    def score(self, X: Segmented, y: Iterable[Sequence[str]] | None = None) -> float:
        """The F1 of the words, 0 to 1; X and y as for ``fit``."""
        return self.evaluate(X, y).f1 / 100

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted()

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags  # only scikit-learn calls this

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False, string=True),
        )

    def _is_fitted(self) -> bool:
        return "model_" in self.__dict__

    def _set_model(self, model: Chain | SegmentPredictor) -> None:
        """Set the trained model, and discard what was derived from an earlier one."""
        for name in ("lexicon_", "_compiled", "_trainer"):
            self.__dict__.pop(name, None)
        self.model_ = model

    def __getattr__(self, name: str) -> Any:
        if name in ("model_", "lexicon_", "_native") and not self._is_fitted():
            raise NotTrainedError("the segmenter is not trained yet: call fit")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @cached_property
    def dictionary(self) -> UserDictionary:
        """Words of the user's own; they are saved with the segmenter."""
        return UserDictionary(self.model_.index.features.fold if self._is_fitted() else self.fold)

    @cached_property
    def lexicon_(self) -> core.Lexicon:
        """All words of the training data, folded; ``word in segmenter.lexicon_``."""
        return self.model_.index.lexicon()

    @property
    def _knows(self) -> Callable[[str], bool]:
        """Whether a word is one of the training data; all are where these words were left out."""
        if isinstance(self.model_, SegmentPredictor) and not self.model_.has_words:
            return lambda _: True
        return super()._knows

    @property
    def _native(self) -> core.Segmenter:
        """The core's segmenter, made anew where ``rare_weight`` or ``tags`` have changed."""
        key = (self.tags, self.rare_weight)
        compiled: tuple[Any, core.Segmenter] | None = self.__dict__.get("_compiled")
        if compiled is None or compiled[0] != key:
            compiled = self._compiled = (key, self._predictor().native)
        return compiled[1]

    def _predictor(self) -> SegmentPredictor:
        """The stored predictor of a compact segmenter, or one that is compiled of the weights."""
        settings = SegmenterSettings.taken_from(self)
        model = self.model_
        if isinstance(model, LinearChain):
            return Patterns(model, settings).predictor()
        if settings.check() != model.settings:
            fixed = ", ".join(
                f"{name}={value!r}" for name, value in model.settings.record().items()
            )
            raise ParameterError(f"the settings of a compact segmenter are fixed: {fixed}")
        return model

    @classmethod
    @with_options(SegmenterSettings, CharacterFeatures, TrainingSettings, parameters=True)
    def train(
        cls,
        data: Segmented,
        words: Iterable[Sequence[str]] | None = None,
        *,
        dev: Segmented | None = None,
        resume: PathLike | None = None,
        checkpoint: PathLike | None = None,
        every: int | str | None = None,
        callbacks: Sequence[Callback] = (),
        **options: Any,
    ) -> Segmenter:
        """Train a segmenter in one call.

        Args:
            data: Segmented text, as for ``fit``.
            words: The words of each text, where ``data`` holds plain texts.
            dev: Development data, segmented.
            resume: A checkpoint to continue from, as for ``adaptag.train``.
            checkpoint: A file for the state of training, as for ``adaptag.train``.
            every: How often it is saved.
            callbacks: Objects that are notified of the progress and can stop training.
            **options: The arguments of the class, and the parameters of the algorithm.
        """
        *groups, parameters = split_options(
            options, SegmenterSettings, CharacterFeatures, TrainingSettings, also=parameter_names()
        )
        arguments = {name: value for group in groups for name, value in group.items()}
        return cls(**with_parameters(arguments, parameters)).fit(
            data,
            words,
            dev=dev,
            resume=resume,
            checkpoint=checkpoint,
            every=every,
            callbacks=callbacks,
        )

    def calibration(
        self,
        data: Segmented,
        words: Iterable[Sequence[str]] | None = None,
        *,
        bins: int = BINS,
    ) -> Calibration:
        """Measure on segmented text how well the probabilities of words can be trusted.

        Args:
            data: As for ``fit``.
            words: As for ``fit``.
            bins: The number of bins, all of the same width.
        """
        corpus = self.read(data, words)
        predictions = word_predictions(self._native, self.dictionary.native, corpus)
        return Calibration({"words": reliability(*predictions, bins)}, self.model_.temperature)

    def calibrated(
        self, data: Segmented, words: Iterable[Sequence[str]] | None = None
    ) -> Segmenter:
        """Make a segmenter whose probabilities are calibrated, and that cuts alike.

        All scores are divided by a temperature, where they become probabilities.

        Args:
            data: Segmented text that was not trained on, as for ``fit``.
            words: As for ``fit``.
        """
        corpus = self.read(data, words)
        temperature = best_temperature(self._predictor(), self.dictionary.native, corpus)
        calibrated = Segmenter(**self.get_params())
        calibrated._set_model(self.model_.with_temperature(temperature))
        calibrated.dictionary.update(self.dictionary)
        return calibrated

    def for_traditional(self) -> TraditionalCutter:
        """Make a segmenter of Traditional Chinese of this one, which was trained on Simplified."""
        return TraditionalCutter(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments, and the safe bytes of the file where it is trained."""
        data = self.to_bytes() if self._is_fitted() else None
        words = None if data or "dictionary" not in self.__dict__ else self.dictionary.to_dict()
        return _unpickled, (self.get_params(), data, words)

    # ---- files --------------------------------------------------------------------------------

    @property
    def is_compact(self) -> bool:
        """Whether the segmenter is compact: pruned, and ready to cut but not to train further."""
        return isinstance(self.model_, SegmentPredictor)

    def compact(
        self,
        *,
        within: float | None = None,
        dev: Segmented | None = None,
        prune: float | None = None,
        weights: str = "int8",
        names: bool = True,
    ) -> Segmenter:
        """Make a small segmenter that cuts alike: pruned, and with scores of one byte.

        It has the same methods, and a file that is mapped and used as it is, but cannot be trained
        further.

        Args:
            within: How much of the F1 may be lost on ``dev``, in percentage points: the highest
                threshold that loses no more is used.
            dev: Segmented text to score on.
            prune: The threshold instead: patterns of characters that change the score of no
                transition by more are left out; 0 keeps all.
            weights: How scores are stored: ``int8`` or ``int16``.
            names: Whether the words of the training data are kept: ``lexicon_``, recall of words
                that are not in them, and new words need them.
        """
        model = self.model_
        if isinstance(model, SegmentPredictor):
            raise ParameterError(
                "the segmenter is compact already; make another one from the full segmenter"
            )
        corpus = None if dev is None else self.read(dev)

        def segmenter(predictor: SegmentPredictor) -> Segmenter:
            small = Segmenter.from_model(predictor, **predictor.settings.record())
            small.dictionary.update(self.dictionary)
            return small

        def score(predictor: SegmentPredictor | None) -> float:
            assert corpus is not None
            return (self if predictor is None else segmenter(predictor)).evaluate(corpus).f1

        patterns = Patterns(model, SegmenterSettings.taken_from(self))
        return segmenter(
            patterns.compact(
                None if corpus is None else score, within, prune, values=weights, names=names
            )
        )

    def _write(self, file: IO[bytes]) -> None:
        model = self.model_
        if isinstance(model, SegmentPredictor):
            model.write_as(self.kind, file, self.dictionary.to_arrays())
            return
        section = {"tags": self.tags, "rare_weight": float(self.rare_weight)}
        LinearChain(
            model.labels,
            model.index,
            model.weights,
            model.provenance,
            configuration={**model.configuration, SEGMENTATION: section},
            extra=self.dictionary.to_arrays(),
        ).write_as(self.kind, file)

    @classmethod
    def _from_file(
        cls, header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], name: str
    ) -> Segmenter:
        if header.get("form") == FORM:
            return cls._from_compact_file(header, tensors, name)
        model: Chain = LinearChain._from_file(header, tensors, name)
        try:
            section = model.configuration[SEGMENTATION]
            if not isinstance(model.index, CharacterIndex):
                raise ValueError("the features are not those of characters")
            segmenter = cls.from_model(
                model, tags=str(section["tags"]), rare_weight=float(section["rare_weight"])
            )
            segmenter.dictionary.add_arrays(model.extra)
            settings = SegmenterSettings.taken_from(segmenter)
            if model.labels != tag_names(settings.check().tags):
                raise ValueError("the labels are not those of the tag set")
        except (KeyError, TypeError, ValueError, OverflowError, RuntimeError) as error:
            raise ModelError(f"{name}: malformed segmenter: {error}") from None
        return segmenter

    @classmethod
    def _from_compact_file(
        cls, header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], name: str
    ) -> Segmenter:
        try:
            predictor = SegmentPredictor.from_file(header, tensors)
            segmenter = cls.from_model(predictor, **predictor.settings.record())
            segmenter.dictionary.add_arrays(prefixed(tensors, EXTRA))
        except (KeyError, TypeError, ValueError, OverflowError, RuntimeError) as error:
            raise ModelError(f"{name}: malformed segmenter: {error}") from None
        return segmenter


def _unpickled(
    arguments: Mapping[str, Any], data: bytes | None, words: Mapping[str, float] | None
) -> Segmenter:
    if data is not None:
        return Segmenter.from_bytes(data).set_params(**arguments)
    segmenter = Segmenter(**arguments)
    if words is not None:
        segmenter.dictionary.add(words)
    return segmenter


def _arguments() -> list[str]:
    """The names of the arguments of the class."""
    return [item.name for item in fields(Segmenter)]
