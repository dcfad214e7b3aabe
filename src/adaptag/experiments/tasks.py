"""Tasks: tagging, segmentation and classification turn data and settings into problems.

A new kind of model that should be compared and tuned needs a class here and its declaration in
``declarations.py``.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from adaptag.api import encode
from adaptag.classification.documents import DocumentClassifier, classification_job
from adaptag.classification.settings import DocumentFeatures
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.data import corpus_of
from adaptag.corpus.documents import Documents
from adaptag.corpus.settings import DocumentFormat
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.scorer import TagScorer
from adaptag.decoding.tagging_job import tagging_job
from adaptag.errors import ParameterError, unknown
from adaptag.evaluation import metric_of
from adaptag.evaluation.segmentation import common_words
from adaptag.experiments.declarations import CLASSIFICATION, SEGMENTATION, TAGGING, TASKS
from adaptag.experiments.problem import Part, Problem
from adaptag.experiments.results import Data
from adaptag.features.settings import CharacterFeatures, FeatureSettings
from adaptag.features.template import Template
from adaptag.loading import load_tokenizer
from adaptag.segmentation.segmenter import Segmenter
from adaptag.segmentation.settings import SegmenterSettings
from adaptag.segmentation.training import segmentation_job
from adaptag.settings import AUTO, Settings
from adaptag.storage.files import STDIN, shown
from adaptag.storage.tensors import kind_of
from adaptag.training.settings import TaggingSettings, TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from typing_extensions import Self

    from adaptag.corpus.data import Corpus
    from adaptag.corpus.segmented import SegmentedCorpus
    from adaptag.experiments.declarations import TaskDeclaration

    Weights = NDArray[np.float32]

__all__ = [
    "Classification",
    "Segmentation",
    "Tagging",
    "Task",
    "tagging_problem",
    "task_of",
]

S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class Task(ABC):
    """What is trained and how it is scored, with the settings that all trainings share.

    Attributes:
        settings: The settings of the task that were given, by name.
        format: The format of files, if it is not a setting.
    """

    declaration: ClassVar[TaskDeclaration]

    settings: Mapping[str, Any] = field(default_factory=dict)
    format: Any = None

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Make a task of keyword arguments, which are checked before anything is read."""
        names = cls.declaration.declared()
        for name in options:
            if name not in names:
                raise ParameterError(unknown("argument", name, names))
        task = cls(dict(options))
        task.check()
        return task

    def check(self, changes: Mapping[str, Any] | None = None) -> None:
        """Raise where a setting, with some changes, is outside its bounds."""
        for group in self.declaration.groups:
            self.group(group, changes or {})

    def group(self, kind: type[S], changes: Mapping[str, Any]) -> S:
        """The settings of a group, with some changes."""
        given = {**self.settings, **changes}
        return kind(**{name: given[name] for name in kind.declared() if name in given}).check()

    @abstractmethod
    def read(self, data: Any) -> Any:
        """Turn data, or a pair of data and labels, into a corpus that can ``select`` sentences."""

    def prepared(self, corpus: Any) -> Self:  # noqa: ARG002
        """The task with all that follows from the whole corpus, and must not from its parts."""
        return self

    @abstractmethod
    def metric(self, corpus: Any) -> str:
        """What a corpus is scored by: ``F1`` or ``accuracy``."""

    @abstractmethod
    def part(
        self,
        train: Any,
        test: Any,
        changes: Mapping[str, Any] | None = None,
        *,
        threads: int | None = None,
    ) -> Part:
        """Encode training data, and test data with the same features.

        Args:
            train: The corpus to train on.
            test: The corpus to score.
            changes: Settings of the task that differ from those of ``settings``.
            threads: The number of threads that scoring may use; None means one per core.
        """

    @abstractmethod
    def problem(self, train: Any, test: Any) -> Problem:
        """Read training and test data, and make the problem that algorithms are compared on."""

    def record(self) -> dict[str, Any]:
        """All settings, ready for JSON."""
        record: dict[str, Any] = {}
        for group in self.declaration.groups:
            record |= self.group(group, {}).record()
        template = self.settings.get("template")
        if isinstance(template, Template):
            record["template"] = template.text
        return {name: record[name] for name in self.declaration.declared()}

    def words(self) -> list[str]:
        """The settings as options of the command that trains."""
        words: list[str] = []
        for name, parameter in self.declaration.declared().items():
            value = self.settings.get(name, parameter.default)
            if value == parameter.default:
                continue
            option = f"--{name.replace('_', '-')}"
            if parameter.is_flag:
                yes, _, no = (parameter.flag or option).partition("/")
                words += [yes if value else no]
            elif isinstance(value, (int, float)):
                words += [option, f"{value:.12g}"]
            else:
                text = value.name if isinstance(value, Template) else str(value)
                if isinstance(value, (list, tuple)):
                    text = ",".join(map(str, value))
                words += [option, text if "\n" not in text else name.upper()]
        return words

    def shown(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a record, as a report shows them."""
        result = {}
        for name, parameter in self.declaration.declared().items():
            value = record.get(name, parameter.default)
            if value is None:
                value = parameter.shown_default
            elif name == "template":
                value = shown(Path(value).name) if "\n" not in value else "given in Python"
            result[name] = value
        return result


def task_of(task: Task | str, options: Mapping[str, Any]) -> Task:
    """A task by its name and options; one that was made already takes no options."""
    if isinstance(task, Task):
        if options:
            raise ParameterError(f"the task has its {', '.join(options)} already")
        return task
    if task not in TASKS:
        raise ParameterError(unknown("task", task, TASKS))
    kinds: tuple[type[Task], ...] = (Tagging, Segmentation, Classification)
    return next(k for k in kinds if k.declaration.name == task).from_options(options)


@dataclass(frozen=True)
class Tagging(Task):
    """Label tokens; the score is the F1 of chunks, or the accuracy where labels mark none.

    Attributes:
        format: As for ``adaptag.train``.
    """

    declaration = TAGGING

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Make a task of its settings and of the ``format`` of files."""
        settings = dict(options)
        file_format = settings.pop("format", None)
        return replace(super().from_options(settings), format=file_format)

    def read(self, data: Any) -> Any:
        """Read text or sentences; a dataset has features of all its sentences already."""
        if isinstance(data, Dataset) or _is_dataset_file(data):
            raise ParameterError(
                "cannot tune on an encoded dataset: its features come from all of the data, "
                "held-out sentences included; give the text"
            )
        return corpus_of(*_data_and_labels(data), format=self.format, tokenizer=self._tokenizer())

    def _tokenizer(self) -> Any:
        return load_tokenizer(self.settings.get("tokenizer"))

    def prepared(self, corpus: Corpus) -> Self:
        """Load the template, and decide on the metric by all labels."""
        settings = {**self.settings, "metric": self.metric(corpus)}
        template = settings.get("template")
        if template is not None and not isinstance(corpus, AttributeCorpus):
            columns = corpus.n_feature_columns(labelled=True)
            settings["template"] = Template.load(template, columns)
        return replace(self, settings=settings)

    def metric(self, corpus: Corpus) -> str:
        """F1 where the labels as a whole mark chunks, unless the settings say otherwise."""
        return metric_of(self.group(TaggingSettings, {}).metric, corpus.number_labels()[1])

    def part(
        self,
        train: Corpus,
        test: Corpus,
        changes: Mapping[str, Any] | None = None,
        *,
        threads: int | None = None,  # noqa: ARG002
    ) -> Part:
        """Encode training and test data with the features of the training data."""
        dataset = Dataset.build(train, self.group(FeatureSettings, changes or {}))
        held_out = Dataset.encode(test, dataset.index, dataset.label_names)
        return _tagging_part(dataset, held_out, self.group(TaggingSettings, changes or {}))

    def problem(self, train: Any, test: Any) -> Problem:
        """Read and encode; training data may be an encoded dataset."""
        if isinstance(test, Dataset):
            raise ParameterError("the test data must be text or sentences, not an encoded dataset")
        data, labels = _data_and_labels(train)
        given = self.group(FeatureSettings, {}).given()
        tokenizer = self._tokenizer()
        dataset = encode(data, labels, format=self.format, **{**given, "tokenizer": tokenizer})
        attributes = dataset.index.template.attributes
        held_out = corpus_of(
            *_data_and_labels(test),
            format="attributes" if attributes else self.format,
            tokens=not attributes,
            tokenizer=tokenizer or dataset.features.get("tokenizer"),
        )
        features = self.shown({**self.record(), **dataset.features})
        if attributes:
            features["template"] = "none: attributes"
        elif not dataset.features:
            features["template"] = "that of the dataset"
        return tagging_problem(
            dataset,
            Dataset.encode(held_out, dataset.index, dataset.label_names),
            (_name(train), _name(test)),
            settings=self.group(TaggingSettings, {}),
            feature_settings=features,
        )


def tagging_problem(
    train: Dataset,
    test: Dataset,
    names: tuple[str, str] = ("training data", "test data"),
    *,
    settings: TaggingSettings | None = None,
    feature_settings: Mapping[str, Any] | None = None,
) -> Problem:
    """The problem of encoded training and test data.

    Args:
        train: The training data.
        test: The test data, encoded with the features of the training data.
        names: The names of both, for reports.
        settings: The metric, and the transitions that are ruled out.
        feature_settings: How the features were made, for reports.
    """
    training = settings or TaggingSettings()
    chunked = metric_of(training.metric, train.label_names) == "F1"
    return Problem(
        (_tagging_part(train, test, training),),
        "chunk F1" if chunked else "token accuracy",
        Data(names[0], len(train), train.n_tokens),
        Data(names[1], len(test), test.n_tokens),
        feature_settings or {},
    )


def _tagging_part(train: Dataset, test: Dataset, settings: TaggingSettings) -> Part:
    """Train on one dataset, and score on those sentences of the other whose labels are known."""
    job = tagging_job(train, replace(settings, metric=AUTO))
    names = train.label_names if settings.metric == AUTO else test.label_names
    scorer = TagScorer(test, metric_of(settings.metric, names))
    return Part(job.examples, lambda weights: scorer.counts(job.build(weights, {})))


@dataclass(frozen=True)
class Segmentation(Task):
    """Cut text into words; the score is the F1 of words, as the SIGHAN bakeoffs count them."""

    declaration = SEGMENTATION

    def read(self, data: Any) -> SegmentedCorpus:
        """Read segmented text, or take sentences of words."""
        corpus: SegmentedCorpus = corpus_of(
            *_data_and_labels(data), task=self.declaration.name, format=self.format
        )
        return corpus

    def metric(self, corpus: SegmentedCorpus) -> str:  # noqa: ARG002
        """The F1 of words."""
        return "F1"

    def part(
        self,
        train: SegmentedCorpus,
        test: SegmentedCorpus,
        changes: Mapping[str, Any] | None = None,
        *,
        threads: int | None = None,
    ) -> Part:
        """Encode the training data; the test data is cut as text."""
        segmenter = self.group(SegmenterSettings, changes or {})
        features = self.group(CharacterFeatures, changes or {})
        job = segmentation_job(train, segmenter, features, TrainingSettings())
        gold, texts = test.words(), test.texts()

        def counts(weights: Weights) -> NDArray[np.int64]:
            cutter = Segmenter.from_model(job.build(weights, {}), **segmenter.record())
            pairs = zip(gold, cutter.cut_all(texts, threads), strict=True)
            rows = [(sum(common_words(right, cut)), len(cut), len(right)) for right, cut in pairs]
            return np.array(rows, np.int64).reshape(-1, 3)

        return Part(job.examples, counts)

    def problem(self, train: Any, test: Any) -> Problem:
        """Read both, and encode the training data."""
        corpora = self.read(train), self.read(test)
        first, second = (
            Data(_name(data), len(corpus), corpus.n_characters, unit="characters")
            for data, corpus in zip((train, test), corpora, strict=True)
        )
        features = self.shown(self.record())
        return Problem((self.part(*corpora),), "word F1", first, second, features)


@dataclass(frozen=True)
class Classification(Task):
    """Classify documents; the score is the accuracy."""

    declaration = CLASSIFICATION

    def read(self, data: Any) -> Documents:
        """Read labelled documents, or take those that were read."""
        given = [name for name in DocumentFormat.declared() if name in self.settings]
        if isinstance(data, Documents) and given:
            raise ParameterError(f"documents that were read have their {', '.join(given)} already")
        documents = self._documents(data, self.group(DocumentFormat, {}))
        if not self.settings.get("bigrams", True) and documents.format.format != "text":
            raise ParameterError(
                "bigrams require the format text; "
                f"{documents.corpus.name} is {documents.format.format}"
            )
        return documents

    def _documents(self, data: Any, form: DocumentFormat) -> Documents:
        documents: Documents = corpus_of(
            *_data_and_labels(data), task=self.declaration.name, format=form
        )
        return documents

    def metric(self, corpus: Documents) -> str:  # noqa: ARG002
        """The accuracy of classes."""
        return "accuracy"

    def part(
        self,
        train: Documents,
        test: Documents,
        changes: Mapping[str, Any] | None = None,
        *,
        threads: int | None = None,  # noqa: ARG002
    ) -> Part:
        """Encode and scale training and test documents as the training documents ask for."""
        return self._part(train, test, changes or {})[0]

    def _part(
        self, train: Documents, test: Documents, changes: Mapping[str, Any]
    ) -> tuple[Part, Mapping[str, Any]]:
        """The part, and how its documents are written and scaled."""
        if test.format != train.format:
            raise ParameterError("the test data must be read like the training data")
        features = self.group(DocumentFeatures, changes)
        job = classification_job(train, features, TrainingSettings())
        model = job.build(np.zeros(job.examples.layout.n_weights, np.float32), {})
        classifier = DocumentClassifier.of(model)
        held_out = Dataset.encode(classifier.scaling(test.corpus), model.index, model.labels)

        def counts(weights: Weights) -> NDArray[np.int64]:
            right = job.build(weights, {}).tag_encoded(held_out.encoded) == held_out.labels
            every = np.ones_like(right)
            return np.stack([right, every, every], axis=1).astype(np.int64)

        format_settings = {**classifier.format.record(), "normalise": classifier.scaling.normalise}
        return Part(job.examples, counts), format_settings

    def problem(self, train: Any, test: Any) -> Problem:
        """Read both in the same format, and encode them."""
        documents = self.read(train)
        corpora = documents, self._documents(test, documents.format)
        first, second = (
            Data(_name(data), len(corpus), len(corpus.corpus.values), "documents", "features")
            for data, corpus in zip((train, test), corpora, strict=True)
        )
        part, format_settings = self._part(*corpora, {})
        features = self.shown({**self.record(), **format_settings})
        return Problem((part,), "accuracy", first, second, features)


# ---- data --------------------------------------------------------------------------------------


def _data_and_labels(data: Any) -> tuple[Any, Any]:
    """Data with its labels inside, or a pair of data and labels."""
    return data if isinstance(data, tuple) and len(data) == 2 else (data, None)


def _is_dataset_file(data: Any) -> bool:
    return isinstance(data, (str, os.PathLike)) and kind_of(data) == "dataset"


def _name(data: Any) -> str:
    """Return the name of data in a report: that of its file, without the folder."""
    if not isinstance(data, (str, os.PathLike)):
        return "Python data"
    return "standard input" if str(data) == STDIN else shown(Path(data).name)
