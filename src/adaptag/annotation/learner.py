"""Trains a model from the answers so far, in well under a second."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from adaptag.annotation.pool import Pool
from adaptag.corpus.chunks import ChunkScheme, role_of
from adaptag.corpus.label_windows import LabelWindows
from adaptag.corpus.labels import NO_LABEL, known_sentences
from adaptag.corpus.schemes import LabelConversion, followed_scheme
from adaptag.corpus.settings import AS_IS
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.label_plan import BEST
from adaptag.decoding.scorer import TagScorer
from adaptag.decoding.tagging_job import tagging_job
from adaptag.errors import ParameterError, counted, unknown
from adaptag.features.settings import FeatureSettings
from adaptag.parallel import threads_for
from adaptag.training.initial_rate import find_rate
from adaptag.training.settings import MOST_TYPES, TaggingSettings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from adaptag.annotation.answers import Answer
    from adaptag.decoding.model import Model
    from adaptag.evaluation import Evaluation

__all__ = ["Learner", "Trained"]

PASSES = 5  # more do not score higher on a few thousand sentences
FEWEST_SCORED = 10  # answers, for a held-out score
FOLD_TOKENS = 60_000  # that the models of all folds are trained on, about, to bound the time
MOST_LOST = 0.02  # of the labels of chunks, where partly labelled sentences are written as bioes


@dataclass(frozen=True)
class Trained:
    """A model, and what it was trained on.

    Attributes:
        model: The model, trained on all answers.
        held_out: How well sentences are tagged that a model was not trained on: models like this
            one, each trained without a part of the answers. None where there are too few.
        n_answers: The number of answers that the model was trained on.
        n_held_out: The number of sentences that ``held_out`` is about.
        seconds: The time that it took.
    """

    model: Model
    held_out: Evaluation | None
    n_answers: int
    n_held_out: int
    seconds: float


class Learner:
    """Trains models from the answers to some of the sentences of a pool.

    Every model is trained from scratch, so that it depends on the answers alone and not on the
    order in which they came; the same answers and seed give the same model. Methods may be called
    from any thread.

    The answers are divided into as many parts as ``held_out`` says, by numbers drawn for their
    sentences once. Each part is tagged by a model that is trained on the other parts. When there
    are more answers this is done for some of the parts only, at last for one.

    Attributes:
        pool: The sentences.
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[str | Sequence[str]]],
        *,
        template: Any = "general",
        labels: Sequence[str] = (),
        seed: int = 1,
        held_out: float = 0.2,
    ) -> None:
        """Pack the sentences.

        Args:
            sentences: All sentences, each a list of tokens. A token is a string or a tuple of
                columns.
            template: The feature template, as for ``adaptag.train``.
            labels: The labels that answers may have: labels of tokens, or types of chunks such as
                ``PER``. By default any.
            seed: The seed of training, and of which answers are held out.
            held_out: The share of the answers that is held out for a score; 0 for no score.
        """
        if not 0 <= held_out <= 0.5:
            raise ParameterError(f"held_out is {held_out}; allowed: 0 to 0.5")
        self.pool = Pool.of(sentences)
        self._features = FeatureSettings(template=template).check()
        self._settings = TaggingSettings(passes=PASSES, seed=seed).check()
        self._labels = tuple(labels)
        self._n_folds = round(1 / held_out) if held_out else 0
        rng = np.random.default_rng(seed)
        self._fold_of = rng.integers(0, max(1, self._n_folds), len(self.pool))

    def train(self, answers: Sequence[Answer]) -> Trained | None:
        """Train on answers.

        Args:
            answers: The answers. Of several to the same sentence the last one counts. Labels that
                are None are not known, and training sums over them.

        Returns:
            The model and its score; None where there are not two different labels yet.

        Raises:
            ParameterError: An answer does not fit its sentence, or has a label that is not allowed.
        """
        began = time.perf_counter()
        numbers, dataset = self._encode(answers)
        if dataset is None:
            return None
        settings = _decided(self._settings, dataset)
        folds = self._folds(numbers, dataset)
        folds = folds[: max(1, FOLD_TOKENS // dataset.n_tokens)]
        train = partial(_train, dataset, settings)
        with ThreadPoolExecutor(threads_for(None)) as threads:
            final = threads.submit(train, np.arange(len(dataset)))
            models = list(threads.map(train, [rest for rest, _ in folds]))
            scores = [
                TagScorer(dataset.select(part)).evaluate(model)
                for model, (_, part) in zip(models, folds, strict=True)
            ]
            model = final.result()
        held_out = None
        for score in scores:
            held_out = score if held_out is None else held_out + score
        n_held_out = sum(len(part) for _, part in folds)
        return Trained(model, held_out, len(numbers), n_held_out, time.perf_counter() - began)

    def label_probabilities(self, answers: Sequence[Answer]) -> dict[int, NDArray[np.float32]]:
        """How probable the labels of answers are to models that were not trained on them.

        An improbable label may be a mistake. It takes some times as long as ``train``.

        Returns:
            For each sentence whose labels are all known the probability of each of them, ``[T]``.
            It is empty where there are too few answers.
        """
        numbers, dataset = self._encode(answers)
        if dataset is None:
            return {}
        settings = _decided(self._settings, dataset)
        found: dict[int, NDArray[np.float32]] = {}
        for rest, part in self._folds(numbers, dataset):
            model, held_out = _train(dataset, settings, rest), dataset.select(part)
            marginals = model.marginals_encoded(held_out.encoded)
            column = {label: number for number, label in enumerate(model.labels)}
            columns = np.array([column.get(name, -1) for name in dataset.label_names])
            of_token = columns[held_out.labels]
            given = np.where(of_token < 0, 0, marginals[np.arange(len(of_token)), of_token])
            cuts = held_out.encoded.sentences[1:-1]
            found |= zip(numbers[part].tolist(), np.split(given, cuts), strict=True)
        return dict(sorted(found.items()))

    def _encode(self, answers: Sequence[Answer]) -> tuple[NDArray[np.int64], Dataset | None]:
        """The numbers of the labelled sentences, and these encoded; None if there are too few."""
        latest = {answer.sentence: answer.labels for answer in answers}
        given = {n: labels for n, labels in sorted(latest.items()) if {*labels} - {None}}
        numbers = np.array([*given], np.int64)
        self.pool.check(numbers)
        names = {label for labels in given.values() for label in labels if label is not None}
        for name in sorted(names):
            self._check_label(name)
        if len(names) < 2:
            return numbers, None
        lengths = np.diff(self.pool.corpus.sentences)
        for number, labels in given.items():
            if len(labels) != lengths[number]:
                raise ParameterError(
                    f"sentence {number}: {counted(len(labels), 'label')} for "
                    f"{counted(lengths[number], 'token')}"
                )
        corpus = self.pool.corpus.select(numbers).with_labels(given.values())
        return numbers, Dataset.build(corpus, self._features)

    def _check_label(self, label: str) -> None:
        """Raise where a label is not allowed."""
        allowed = self._labels
        if not allowed or label in allowed or label == "O":
            return
        if role_of(label) == "?" or label.partition("-")[2] not in allowed:
            raise ParameterError(unknown("label", label, allowed))

    def _folds(
        self, numbers: NDArray[np.int64], dataset: Dataset
    ) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Of each fold the examples to train on, and those to score on, whose labels are known."""
        fold_of, offsets = self._fold_of[numbers], dataset.encoded.sentences
        unknown_labels = np.add.reduceat(dataset.labels == NO_LABEL, offsets[:-1])
        known = np.flatnonzero(unknown_labels == 0)
        folds = []
        for fold in range(self._n_folds if len(known) >= FEWEST_SCORED else 0):
            rest, part = np.flatnonzero(fold_of != fold), known[fold_of[known] == fold]
            if len(part) and len(rest):
                folds.append((rest, part))
        return folds


def _train(dataset: Dataset, settings: TaggingSettings, sentences: NDArray[np.int64]) -> Model:
    """Train on some sentences; features that only others have get no weight."""
    return tagging_job(dataset.select(sentences), settings).run()


def _decided(settings: TaggingSettings, dataset: Dataset) -> TaggingSettings:
    """The settings with the label scheme and the learning rate, found once for all folds."""
    settings = _with_scheme(settings, dataset)
    examples = tagging_job(dataset, settings).examples
    rate = find_rate(examples, settings.chosen, settings.values(), settings.seed)
    return replace(settings, parameters={"rate": rate})


def _with_scheme(settings: TaggingSettings, dataset: Dataset) -> TaggingSettings:
    """The settings with the label scheme to train with.

    It is that of ``adaptag.train``, but partly labelled sentences are converted too, unless that
    loses labels: what is written for the last known label of a chunk may depend on the next one.
    """
    names, offsets = dataset.label_names, dataset.encoded.sentences
    tokens, starts = known_sentences(dataset.labels, offsets)
    own = followed_scheme(LabelWindows.of(names, dataset.labels[tokens], starts))
    chunks = ChunkScheme(names)
    if own is None or len(chunks.types) > MOST_TYPES:
        return replace(settings, scheme=AS_IS)
    written = LabelConversion.of(names, BEST).apply(dataset.labels, offsets)
    marked = np.append(chunks.type_of >= 0, False)[dataset.labels]
    lost = (written[marked] == NO_LABEL).mean() if marked.any() else 0
    scheme = AS_IS if lost > MOST_LOST else BEST
    return replace(settings, scheme=scheme, output_scheme=AS_IS if scheme == AS_IS else own)
