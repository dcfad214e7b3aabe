"""Classification of documents: maximum entropy models, trained and used from files."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from adaptag.corpus.documents import AUTO, DocumentFormat, read_documents, read_parts
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.model import Model
from adaptag.errors import CorpusError, ModelError, ParameterError
from adaptag.evaluation.classification import ClassificationScore, evaluate_classes
from adaptag.features.index import check_cutoff
from adaptag.features.template import Template
from adaptag.training.callbacks import Callback, Converged, EarlyStopping
from adaptag.training.loop import fit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.attributes import AttributeCorpus
    from adaptag.storage.files import PathLike

__all__ = ["DocumentClassifier", "Documents"]

TEMPLATE = Template("U:intercept", attributes=True, name="documents")  # it fires always
# The length of documents: a step of a rate r moves the score of a document by up to r · LENGTH², so
# this is about that of a token with 16 features, for which the defaults of the rates were chosen.
LENGTH = 4.0


@dataclass(frozen=True)
class Scaling:
    """How the values of documents are scaled before anything else.

    Attributes:
        normalise: whether each document is scaled to the same length, 4; else all are multiplied by
            one factor, which brings the mean squared length of the training data to 4².
        factor: that factor; 1 with ``normalise``.
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


@dataclass(frozen=True)
class Documents:
    """Labelled documents that were read, and how they were written."""

    corpus: AttributeCorpus
    written: DocumentFormat

    @classmethod
    def read(cls, path: PathLike, written: DocumentFormat | None = None) -> Documents:
        """Read a file; its first line tells the format unless one is given."""
        return cls(*read_documents(path, written or DocumentFormat()))

    def __len__(self) -> int:
        """Count the documents."""
        return len(self.corpus)


@dataclass(frozen=True, eq=False)
class DocumentClassifier:
    """A model of documents, with what it must know to read more of them.

    Attributes:
        model: an ordinary model; its ``provenance["documents"]`` holds the rest.
        written: how its documents are written and become features.
        scaling: how their values are scaled.
    """

    model: Model
    written: DocumentFormat
    scaling: Scaling

    @classmethod
    def of(cls, model: Model, name: str = "the model") -> DocumentClassifier:
        """Take a model of documents."""
        told = model.provenance.get("documents")
        if told is None:
            raise ModelError(f"{name}: no model of documents; train one with adaptag classify")
        try:
            if not isinstance(told, dict) or not model.index.template.attributes:
                raise ValueError(f"documents are {told!r}")
            flags = [told[key] for key in ("bigrams", "binary", "normalise")]
            factor = float(told["factor"])
            if not all(isinstance(flag, bool) for flag in flags) or not 0 < factor < np.inf:
                raise ValueError(f"documents are {told!r}")
            written = DocumentFormat(str(told["format"]), flags[0], flags[1])
            if written.name == AUTO:
                raise ValueError("the format of the documents is open")
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{name}: malformed model: {error}") from None
        return cls(model, written, Scaling(flags[2], factor))

    @classmethod
    def load(cls, path: PathLike) -> DocumentClassifier:
        """Load a model file."""
        return cls.of(Model.load(path), str(path))

    @classmethod
    def train(
        cls,
        data: Documents | PathLike,
        *,
        dev: Documents | PathLike | None = None,
        normalise: bool | None = None,
        algorithm: str = "adf",
        passes: int | None = None,
        seed: int = 1,
        cutoff: int = 1,
        hash_bits: int | None = None,
        converge: bool = False,
        patience: int = 5,
        callbacks: Sequence[Callback] = (),
        **parameters: float | str,
    ) -> DocumentClassifier:
        """Train a classifier.

        Args:
            data: labelled documents that were read, or their file.
            dev: development data: scored after every pass, the best pass is kept, and training
                stops when the accuracy has not risen for ``patience`` passes.
            normalise: scale each document to the same length; None: yes but with ``svmlight``,
                where the length may mean something.
            algorithm: ``adf``, or another of ``adaptag.algorithms()``.
            passes: passes over the data at most; the algorithm's own number unless given.
            seed: of the order of documents; the same seed gives the same model, bit for bit.
            cutoff: features that occur less often are left out.
            hash_bits: number features by hashes of so many bits: a model of fixed size.
            converge: stop at the empirical convergence of Sun et al. (2014).
            patience: see ``dev``.
            callbacks: watch training, and stop it.
            **parameters: the algorithm's own parameters, such as ``rate`` and ``sigma``.
        """
        check_cutoff("cutoff", cutoff)
        documents = data if isinstance(data, Documents) else Documents.read(data)
        written = documents.written
        scaling = Scaling.of(
            documents.corpus, written.name != "svmlight" if normalise is None else normalise
        )
        dataset = Dataset.build(scaling(documents.corpus), TEMPLATE, cutoff, hash_bits=hash_bits)
        if len(dataset.label_names) < 2:
            raise CorpusError(
                f"{documents.corpus.name}: the only label is {dataset.label_names[0]!r}; "
                "allowed: two or more"
            )
        told = {"format": written.name, "bigrams": written.bigrams, "binary": bool(written.binary)}
        held_out = None
        rules: list[Callback] = [Converged()] if converge else []
        if dev is not None:
            read = dev if isinstance(dev, Documents) else Documents.read(dev, written)
            if read.written != written:
                raise ParameterError("development data must be read like the training data")
            held_out = Dataset.encode(scaling(read.corpus), dataset.index, dataset.label_names)
            rules.append(EarlyStopping(patience))

        def score(weights: NDArray[np.float32]) -> float:
            assert held_out is not None
            model = Model(dataset.label_names, dataset.index, weights)
            return 100 * float(np.mean(model.tag_encoded(held_out.encoded) == held_out.labels))

        result = fit(
            dataset,
            algorithm_name=algorithm,
            parameters=parameters,
            passes=passes,
            seed=seed,
            score=None if held_out is None else score,
            callbacks=[*callbacks, *rules],
        )
        provenance = {
            "sentences": len(dataset),
            "cutoff": cutoff,
            **result.provenance(),
            "documents": told | asdict(scaling),
        }
        model = Model(dataset.label_names, dataset.index, result.weights, provenance)
        return cls(model, written, scaling)

    def save(self, path: PathLike) -> None:
        """Write the model file."""
        self.model.save(path)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes."""
        return self.model.labels

    def read_parts(self, path: PathLike, *, bare: bool = False) -> Iterator[AttributeCorpus]:
        """Read documents to classify, some at a time, as those of the training data were read.

        Labels are passed over where there are any; ``bare`` says that there are none.
        """
        return read_parts(path, self.written, labelled=False, bare=bare)

    def predict(self, corpus: AttributeCorpus) -> NDArray[np.int32]:
        """The best class of each document, by number, ``[N]``."""
        return self.model.tag_corpus(self.scaling(corpus))

    def probabilities(self, corpus: AttributeCorpus) -> NDArray[np.float32]:
        """The probability of each class for each document, ``[N, Y]``."""
        return self.model.marginals_corpus(self.scaling(corpus))

    def evaluate(self, path: PathLike) -> ClassificationScore:
        """Classify a file of labelled documents and score the classes."""
        corpus, _ = read_documents(path, self.written)
        gold, names = corpus.number_labels(self.labels)
        return evaluate_classes(gold, self.predict(corpus), names)
