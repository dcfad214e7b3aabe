"""Classification of documents: maximum entropy models, trained and used from files or texts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import IO, TYPE_CHECKING, Any, ClassVar

import numpy as np

from adaptag.classification.settings import DocumentFeatures
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.data import CLASSIFICATION, corpus_of
from adaptag.corpus.documents import Documents, read_parts
from adaptag.corpus.labels import warn_of_unknown_labels
from adaptag.corpus.lists import as_list
from adaptag.corpus.settings import DocumentFormat
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.model import Model
from adaptag.decoding.options import DecodingOptions
from adaptag.errors import CorpusError, ModelError, ParameterError, described
from adaptag.evaluation.calibration import BINS, Calibration
from adaptag.evaluation.classification import ClassificationScore, evaluate_classes
from adaptag.features.settings import FeatureSettings
from adaptag.features.template import Template
from adaptag.model.summary import model_facts, trained_briefly
from adaptag.rendering.tables import Shown, facts_table
from adaptag.settings import AUTO, split_options, with_options
from adaptag.storage.files import is_source
from adaptag.storage.stored import Stored
from adaptag.training.job import TrainingJob
from adaptag.training.saving import Saving
from adaptag.training.settings import TrainingSettings, parameter_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.storage.files import PathLike, Source
    from adaptag.training.callbacks import Callback

    Unlabelled = Iterable[str] | AttributeCorpus | Documents

__all__ = ["DocumentClassifier", "classification_job"]

USE = "classifier.predict(texts), classifier.evaluate(data), classifier.save(path)"
SECTION = "documents"  # of the configuration
TEMPLATE = Template("U:intercept", attributes=True, name="documents")  # it fires always
# The length of documents: a step of a rate r moves the score of a document by up to r · LENGTH², so
# this is about that of a token with 16 features, for which the defaults of the rates were chosen.
LENGTH = 4.0


@dataclass(frozen=True)
class Scaling:
    """How the values of documents are scaled before anything else.

    Attributes:
        normalise: Whether each document is scaled to the same length, 4; else all are multiplied by
            one factor, which brings the mean squared length of the training data to 4².
        factor: That factor; 1 with ``normalise``.
    """

    normalise: bool
    factor: float = 1.0

    @classmethod
    def of(cls, corpus: AttributeCorpus, normalise: bool) -> Scaling:
        """Find the factor for training data."""
        if normalise:
            return cls(True)
        mean = float(np.mean(_squared_lengths(corpus)))
        return cls(False, LENGTH / float(np.sqrt(mean)) if mean > 0 else 1.0)

    def __call__(self, corpus: AttributeCorpus) -> AttributeCorpus:
        """Scale the values of documents."""
        if not self.normalise:
            return replace(corpus, values=corpus.values * np.float32(self.factor))
        squares = _squared_lengths(corpus)
        scales = LENGTH / np.sqrt(np.where(squares > 0, squares, 1.0))
        each = np.repeat(scales, np.diff(corpus.positions))
        return replace(corpus, values=(corpus.values * each).astype(np.float32))


def _squared_lengths(corpus: AttributeCorpus) -> NDArray[np.float64]:
    """Sum of squares of each document's values, ``[N]``."""
    filled = np.diff(corpus.positions) > 0
    squares = np.zeros(len(corpus))
    if filled.any():
        values = np.square(corpus.values, dtype=np.float64)
        squares[filled] = np.add.reduceat(values, corpus.positions[:-1][filled])
    return squares


@dataclass(frozen=True, eq=False, repr=False)
class DocumentClassifier(Shown, Stored):
    """A model of documents, with what it must know to read more of them.

    Attributes:
        model: The model; the section ``documents`` of its configuration holds the rest.
        format: How its documents are written and become features.
        scaling: How their values are scaled.
    """

    kind: ClassVar[str] = "classifier"

    model: Model
    format: DocumentFormat
    scaling: Scaling

    def __repr__(self) -> str:
        sizes = f"{len(self.model.labels)} classes, {self.model.index.n_predicates:,} features"
        return f"<DocumentClassifier of {sizes}{trained_briefly(self.model.provenance)}>"

    def _shown(self) -> list[Any]:
        kind = f"{'compact ' * self.is_compact}classifier"
        own = {"format": self.format.format, "normalise": self.scaling.normalise}
        return [facts_table(model_facts(self.model, kind, item="documents", own=own, use=USE))]

    @classmethod
    def of(cls, model: Model, name: str = "the model") -> DocumentClassifier:
        """Make a classifier of a model of documents."""
        section = model.configuration.get(SECTION)
        try:
            if not isinstance(section, dict) or not model.index.template.attributes:
                raise ValueError(f"documents are {section!r}")
            flags = [section[key] for key in ("bigrams", "binary", "normalise")]
            factor = float(section["factor"])
            if not all(isinstance(flag, bool) for flag in flags) or not 0 < factor < np.inf:
                raise ValueError(f"documents are {section!r}")
            document_format = DocumentFormat(
                format=str(section["format"]), bigrams=flags[0], binary=flags[1]
            ).check()
            if document_format.format == AUTO:
                raise ValueError("the format of the documents is auto")
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{name}: malformed classifier: {error}") from None
        return cls(model, document_format, Scaling(flags[2], factor))

    @classmethod
    @with_options(DocumentFormat, DocumentFeatures, TrainingSettings, parameters=True)
    def train(
        cls,
        data: Any,
        labels: Iterable[str] | None = None,
        *,
        dev: Any = None,
        resume: PathLike | None = None,
        checkpoint: PathLike | None = None,
        every: int | str | None = None,
        callbacks: Sequence[Callback] = (),
        **options: Any,
    ) -> DocumentClassifier:
        """Train a classifier.

        Args:
            data: Labelled documents: a file, documents that were read, or a list of texts.
            labels: The class of each text, where ``data`` is a list of texts.
            dev: Development data, a file or documents that were read: scored after every pass, the
                best pass is kept, and training stops after ``patience`` passes without improvement.
            resume: A checkpoint to continue from, as for ``adaptag.train``.
            checkpoint: A file for the state of training, as for ``adaptag.train``.
            every: How often it is saved.
            callbacks: Objects that are notified of the progress and can stop training.
            **options: The settings of documents, of features and of training, and the parameters of
                the algorithm. See [the settings](guide/settings.md).
        """
        form, features, training, parameters = split_options(
            options, DocumentFormat, DocumentFeatures, TrainingSettings, also=parameter_names()
        )
        settings = TrainingSettings.from_options(training, parameters)
        saving = Saving.of(checkpoint, every, resume)
        settings = saving.continued(settings, training)
        document_format = DocumentFormat(**form).check()
        if isinstance(data, Documents) and form:
            raise ParameterError(f"documents that were read have their {', '.join(form)} already")
        documents = corpus_of(data, labels, task=CLASSIFICATION, format=document_format)
        held_out = None
        if dev is not None:
            held_out = corpus_of(dev, task=CLASSIFICATION, format=documents.format)
        job = classification_job(documents, DocumentFeatures(**features), settings, dev=held_out)
        job.callbacks = callbacks
        saving.attach(job)
        return cls.of(job.run())

    def compact(
        self,
        *,
        within: float | None = None,
        dev: Any = None,
        prune: float | None = None,
        weights: str = "int8",
        names: bool = True,
    ) -> DocumentClassifier:
        """Make a small classifier; the arguments are those of ``Model.compact``.

        Args:
            within: How much of the accuracy on ``dev`` may be lost, in percentage points.
            dev: Labelled documents, as for ``evaluate``.
            prune: The threshold of weights, instead.
            weights: How weights are stored: ``int8``, ``float16`` or ``float32``.
            names: Whether the names of features are kept.
        """
        if dev is not None:
            dev = self.scaling(self.read(dev).corpus)
        small = self.model.compact(
            within=within, dev=dev, prune=prune, weights=weights, names=names
        )
        return replace(self, model=small)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes."""
        return self.model.labels

    @property
    def is_compact(self) -> bool:
        """Whether the classifier is compact: pruned, and not to be trained further."""
        return self.model.is_compact

    def read(self, data: Any, labels: Iterable[str] | None = None) -> Documents:
        """Read labelled documents, written like those of the training data; as for ``train``."""
        documents: Documents = corpus_of(data, labels, task=CLASSIFICATION, format=self.format)
        return documents

    def read_parts(
        self, path: Source, *, bare: bool = False, line: int = 1
    ) -> Iterator[AttributeCorpus]:
        """Read documents to classify, some at a time, as those of the training data were read.

        Labels are ignored where there are any; ``bare`` says that there are none. ``line`` is the
        number of the first line, of an open file that is read from its middle.
        """
        return read_parts(path, self.format, labelled=False, bare=bare, line=line)

    def predict(self, data: Unlabelled, threads: int | None = None) -> list[str]:
        """Find the best class of each document.

        Args:
            data: A list of texts, or documents that were read.
            threads: The number of threads; None means one per core.
        """
        return [self.labels[y] for y in self._best(self._scaled(data), threads).tolist()]

    def predicted_lines(self, corpus: AttributeCorpus, *, probabilities: bool = False) -> bytes:
        """Classify in this thread: a line for each document, with its class.

        With ``probabilities``, ``label:probability`` of each class comes after it.
        """
        names = self.labels
        if not probabilities:
            return "".join(f"{name}\n" for name in self.predict(corpus, threads=1)).encode()
        lines = []
        for row in self.probabilities(corpus, threads=1).tolist():
            cells = [f"{name}:{p:.6f}" for name, p in zip(names, row, strict=True)]
            lines.append("\t".join([names[row.index(max(row))], *cells]) + "\n")
        return "".join(lines).encode()

    def probabilities(self, data: Unlabelled, threads: int | None = None) -> NDArray[np.float32]:
        """Compute the probability of each class for each document, ``[N, Y]``.

        Args:
            data: As for ``predict``.
            threads: As for ``predict``.
        """
        return self.model.marginals_corpus(self._scaled(data), DecodingOptions(threads=threads))

    def _best(self, scaled: AttributeCorpus, threads: int | None = None) -> NDArray[np.int32]:
        """The best class of each document, by number, ``[N]``."""
        return self.model.tag_corpus(scaled, DecodingOptions(threads=threads))

    def _scaled(self, data: Unlabelled) -> AttributeCorpus:
        """Documents to classify, with scaled values."""
        if isinstance(data, AttributeCorpus):
            return self.scaling(data)
        if not isinstance(data, Documents):
            allowed = "a list of texts, or documents that were read"
            if is_source(data):  # an open file is a list of lines, too
                raise CorpusError(f"the data is {described(data)}; allowed: {allowed}")
            data = as_list(data, "the data", allowed)
        documents = corpus_of(data, task=CLASSIFICATION, format=self.format, labelled=False)
        return self.scaling(documents.corpus)

    def calibration(
        self, data: Any, labels: Iterable[str] | None = None, *, bins: int = BINS
    ) -> Calibration:
        """Measure on labelled documents how well the probabilities can be trusted.

        Args:
            data: As for ``train``.
            labels: As for ``train``.
            bins: The number of bins, all of the same width.
        """
        measured = self.model.calibration(self._encoded(data, labels), bins=bins)
        return Calibration({"documents": measured["sequences"]}, measured.temperature)

    def calibrated(self, data: Any, labels: Iterable[str] | None = None) -> DocumentClassifier:
        """Make a classifier whose probabilities are calibrated; see ``Model.calibrated``.

        Args:
            data: Labelled documents that were not trained on, as for ``train``.
            labels: As for ``train``.
        """
        return replace(self, model=self.model.calibrated(self._encoded(data, labels)))

    def _encoded(self, data: Any, labels: Iterable[str] | None) -> Dataset:
        """Encode labelled documents."""
        documents = corpus_of(data, labels, task=CLASSIFICATION, format=self.format)
        return Dataset.encode(self.scaling(documents.corpus), self.model.index, self.labels)

    def evaluate(self, data: Any, labels: Iterable[str] | None = None) -> ClassificationScore:
        """Classify labelled documents, and score the classes; data and labels as for ``train``."""
        documents = self.read(data, labels)
        gold, names = documents.corpus.number_labels(self.labels)
        return evaluate_classes(gold, self._best(self._scaled(documents)), names)

    def _write(self, file: IO[bytes]) -> None:
        self.model.write_as(self.kind, file)

    @classmethod
    def _from_file(
        cls, header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], name: str
    ) -> DocumentClassifier:
        return cls.of(Model._from_file(header, tensors, name), name)


def classification_job(
    documents: Documents,
    features: DocumentFeatures,
    training: TrainingSettings,
    *,
    dev: Documents | None = None,
) -> TrainingJob[Model]:
    """The job that trains a classifier on documents."""
    features.check()
    form = documents.format
    normalise = form.format != "svmlight" if features.normalise is None else features.normalise
    scaling = Scaling.of(documents.corpus, normalise)
    counted = FeatureSettings(
        template=TEMPLATE, cutoff=features.cutoff, hash_bits=features.hash_bits
    )
    dataset = Dataset.build(scaling(documents.corpus), counted, training.threads)
    if len(dataset.label_names) < 2:
        raise CorpusError(
            f"{documents.corpus.name}: the only label is {dataset.label_names[0]!r}; "
            "allowed: two or more"
        )
    section = {**form.record(), "binary": bool(form.binary), **asdict(scaling)}

    def build(weights: NDArray[np.float32], record: dict[str, Any]) -> Model:
        names, index = dataset.label_names, dataset.index
        return Model(names, index, weights, record, configuration={SECTION: section})

    scorer = None
    if dev is not None:
        if dev.format != form:
            raise ParameterError("development data must be read like the training data")
        held_out = Dataset.encode(scaling(dev.corpus), dataset.index, dataset.label_names)
        found = dev.corpus.number_labels()[1]
        warn_of_unknown_labels(found, dataset.label_names, f"development data {dev.corpus.name}")
        scorer = _ClassScorer(held_out)
    record = {
        "sentences": len(dataset),
        "feature_settings": {**form.record(), **features.record()},
    }
    return TrainingJob(dataset, training, build, scorer, record=record)


class _ClassScorer:
    """Scores models by the accuracy of classes on development data."""

    metric = "accuracy"

    def __init__(self, data: Dataset) -> None:
        self.data = data

    def __call__(self, model: Model) -> float:
        return 100 * float(np.mean(model.tag_encoded(self.data.encoded) == self.data.labels))

    def calibrated(self, model: Model) -> Model:
        return model.calibrated(self.data)
