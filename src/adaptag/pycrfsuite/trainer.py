"""The trainer of python-crfsuite."""

from __future__ import annotations

import os
import time
from collections.abc import Sized
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.lists import is_iterable
from adaptag.corpus.settings import AS_IS
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.tagging_job import tagging_job
from adaptag.errors import CorpusError, ParameterError, counted, described
from adaptag.features.settings import FeatureSettings
from adaptag.foreign.crfsuite import crfsuite_bytes
from adaptag.foreign.sparse_chain import SparseChain
from adaptag.pycrfsuite import log
from adaptag.pycrfsuite._logparser import TrainLogParser
from adaptag.pycrfsuite.errors import WrongTypeError
from adaptag.pycrfsuite.items import ItemSequence
from adaptag.pycrfsuite.parameters import Conversion, Declaration, convert, declaration, parse
from adaptag.pycrfsuite.seen_pairs import restrict
from adaptag.storage.files import check_writable, replace_file
from adaptag.training.settings import NEVER, TaggingSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from typing_extensions import Self

    from adaptag.decoding.model import Model
    from adaptag.storage.files import PathLike

__all__ = ["BaseTrainer", "Trainer", "save_model"]

MODEL_TYPE = "crf1d"
ENDING = ".crfsuite"
MAX_GROUP = 1 << 31


@dataclass
class _Data:
    """The sequences that were appended, with their labels and groups."""

    items: core.ItemPacker = field(default_factory=lambda: core.ItemPacker(keep_zeros=True))
    labels: list[list[str]] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)

    def append(self, xseq: Iterable[Any], yseq: Sequence[str], group: int) -> None:
        if not is_iterable(yseq):
            raise WrongTypeError(f"the labels are {described(yseq)}; allowed: a list of strings")
        labels = [_label(label) for label in yseq]
        items = xseq if isinstance(xseq, Sized) else ItemSequence(xseq)
        if len(items) != len(labels):
            raise CorpusError(
                f"{counted(len(items), 'item')} and {counted(len(labels), 'label')}; "
                "allowed: as many"
            )
        try:
            self.items.add(items)
        except core.InputError as error:
            raise CorpusError(str(error)) from None
        self.labels.append(labels)
        self.groups.append(group)

    def corpus(self) -> AttributeCorpus:
        return AttributeCorpus.from_packed(self.items).with_labels(self.labels)


def _label(label: Any) -> str:
    if isinstance(label, bytes):
        return label.decode()
    if not isinstance(label, str):
        raise WrongTypeError(f"a label is {described(label)}; allowed: a string")
    return label


def _group(group: Any, name: str) -> int:
    number = isinstance(group, (int, float, np.integer, np.floating))
    if not number or not -MAX_GROUP <= group < MAX_GROUP:
        raise WrongTypeError(f"{name} is {described(group)}; allowed: a whole number of 32 bits")
    return int(group)


class BaseTrainer:
    """Collects sequences, and trains a model on them.

    Args:
        algorithm: The algorithm: ``lbfgs``, ``l2sgd``, ``ap``, ``pa`` or ``arow``.
        params: Parameters of the algorithm, by name.
        verbose: Whether the log of training is printed.
    """

    verbose: bool | None
    _algorithm: Declaration
    _values: dict[str, Any]
    _data: _Data

    def __new__(cls, *_arguments: Any, **_options: Any) -> Self:
        """Prepare for ``lbfgs``, so that subclasses need not call ``__init__``."""
        self = super().__new__(cls)
        self.verbose = None
        self._data = _Data()
        self._select("lbfgs")
        return self

    def __init__(
        self,
        algorithm: str | None = None,
        params: Mapping[str, Any] | None = None,
        verbose: bool = True,
    ) -> None:
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    def message(self, message: str) -> None:
        """Receive a line of the log; by default it is printed where ``verbose`` is true."""
        if self.verbose:
            print(message, end="")

    def append(self, xseq: Iterable[Any], yseq: Sequence[str], group: int = 0) -> None:
        """Add a sequence to the training data.

        Args:
            xseq: A list of items, or an ``ItemSequence``.
            yseq: A label for each item.
            group: The number of a group, by which ``train`` can hold out sequences.
        """
        self._data.append(xseq, yseq, _group(group, "group"))

    def select(self, algorithm: str, type: str = MODEL_TYPE) -> None:  # noqa: A002
        """Choose the algorithm; its parameters get their defaults.

        Args:
            algorithm: ``lbfgs``, ``l2sgd``, ``ap`` (or ``averaged-perceptron``), ``pa`` (or
                ``passive-aggressive``) or ``arow``.
            type: The type of the model: ``crf1d``.
        """
        if type != MODEL_TYPE:
            raise ParameterError(f"type is {type!r}; allowed: {MODEL_TYPE}")
        self._select(algorithm)

    def _select(self, algorithm: str) -> None:
        self._algorithm = declaration(algorithm)
        self._values = self._algorithm.defaults()

    def params(self) -> list[str]:
        """The names of the parameters of the algorithm."""
        return list(self._values)

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set several parameters, by name."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """All parameters, by name."""
        return dict(self._values)

    def set(self, name: str, value: Any) -> None:
        """Set a parameter; a value that has no counterpart in adaptag is refused."""
        parsed = parse(self._algorithm, name, value)
        default = self._algorithm.by_name[name].default
        if name in self._algorithm.without_counterpart and parsed != default:
            raise ParameterError(
                f"{name} is {value!r}; adaptag has no counterpart of this parameter of CRFsuite; "
                f"allowed: {default!r}, its default"
            )
        self._values[name] = parsed

    def get(self, name: str) -> Any:
        """The value of a parameter."""
        parse(self._algorithm, name, self._algorithm.defaults().get(name))
        return self._values[name]

    def help(self, name: str) -> str:
        """The description of a parameter."""
        parse(self._algorithm, name, self._algorithm.defaults().get(name))
        return self._algorithm.by_name[name].help

    def clear(self) -> None:
        """Forget the sequences."""
        self._data = _Data()

    def train(self, model: PathLike, holdout: int = -1) -> None:
        """Train, and write the model.

        Args:
            model: The file. One whose name ends in ``.crfsuite`` is written as CRFsuite does,
                others as models of adaptag. Nothing is written where the name is empty.
            holdout: The number of a group that is not trained on but tagged after each iteration,
                and scored in the log; -1 for none.
        """
        path, holdout = os.fsdecode(model), _group(holdout, "holdout")
        if path:
            check_writable(path)
        self._before_train()
        for line in log.head_lines(self._values, holdout):
            self.message(line)
        began = time.perf_counter()
        result = self._run(holdout)
        self.message(f"Total seconds required for training: {time.perf_counter() - began:.3f}\n")
        self.message("\n")
        self._store(path, result)

    def _before_train(self) -> None:
        """Called before the first message; subclasses may prepare for them."""

    def _run(self, holdout: int) -> Model | None:
        """Train; None where there is no data."""
        began = time.perf_counter()
        held_out = np.array(self._data.groups, np.int64) == holdout
        train = np.flatnonzero(~held_out)
        if not any(self._data.labels[i] for i in train.tolist()):
            self._without_data(began)
            return None
        conversion = convert(self._algorithm, self._values)
        corpus = self._data.corpus()
        features = FeatureSettings(cutoff=conversion.cutoff)
        dataset = Dataset.build(corpus.select(train), features)
        scorer = None
        if held_out.any():
            dev = corpus.select(np.flatnonzero(held_out))
            scorer = log.Holdout(Dataset.encode(dev, dataset.index, dataset.label_names))
        job = tagging_job(dataset, _settings(conversion))
        n_features = restrict(job, conversion)
        seconds = time.perf_counter() - began
        for line in log.parameter_lines(self._algorithm, self._values, n_features, seconds):
            self.message(line)
        job.scorer, job.keep_best = scorer, False
        job.callbacks = [log.IterationLog(self.message, len(dataset), scorer), conversion.stop]
        model = job.run()
        how = f": {job.result.stopped}" if job.result.history else " with error: nothing to improve"
        self.message(f"{self._algorithm.title} terminated{how}\n")
        return model

    def _without_data(self, began: float) -> None:
        """Tell that there is nothing to train on, as CRFsuite does, which writes an empty model."""
        seconds = time.perf_counter() - began
        for line in log.parameter_lines(self._algorithm, self._values, 0, seconds):
            self.message(line)
        self.message(f"{self._algorithm.title} terminated with error: no data\n")

    def _store(self, path: str, model: Model | None) -> None:
        self.message("Storing the model\n")
        began = time.perf_counter()
        chain = EMPTY if model is None else SparseChain.of(model)
        if path and model is None:
            _write(chain, path)
        elif path and model is not None:
            save_model(model, path)
        seconds = time.perf_counter() - began
        n_weights = len(chain.weights) + int(np.count_nonzero(chain.transitions))
        for line in log.end_lines(n_weights, len(chain.attributes), len(chain.labels), seconds):
            self.message(line)


def save_model(model: Model, path: str) -> None:
    """Write a model: as CRFsuite does where the name ends in ``.crfsuite``, else as adaptag."""
    if path.endswith(ENDING):
        _write(SparseChain.of(model), path)
    else:
        model.save(path)


def _write(chain: SparseChain, path: str) -> None:
    data = crfsuite_bytes(chain)
    with replace_file(path) as file:
        file.write(data)


EMPTY = SparseChain(
    (),
    (),
    np.zeros(1, np.int64),
    np.zeros(0, np.uint32),
    np.zeros(0, np.float64),
    np.zeros((0, 0), np.float64),
)


def _settings(conversion: Conversion) -> TaggingSettings:
    return TaggingSettings(
        algorithm=conversion.algorithm,
        parameters=conversion.parameters,
        passes=conversion.passes,
        scheme=AS_IS,
        patience=NEVER,
    )


class Trainer(BaseTrainer):
    """Collects sequences, and trains a model on them; the log is also parsed.

    A subclass may override the methods ``on_…``, which get the lines of an event where ``verbose``
    is true.

    Args:
        algorithm: The algorithm: ``lbfgs``, ``l2sgd``, ``ap``, ``pa`` or ``arow``.
        params: Parameters of the algorithm, by name.
        verbose: Whether the log of training is printed.

    Attributes:
        logparser: The parsed log of the last training.

    Examples:
        >>> from adaptag.pycrfsuite import Trainer
        >>> trainer = Trainer(params={"c1": 0.1, "c2": 0.01}, verbose=False)
        >>> trainer.append([{"word": "New"}, {"word": "York"}], ["B", "I"])
        >>> trainer.train("places.crfsuite")  # doctest: +SKIP
    """

    logparser: TrainLogParser | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Receive a line of the log, and call the method of the event that ends with it."""
        if self.logparser is None:
            self._before_train()
        assert self.logparser is not None
        event = self.logparser.feed(message)
        if event is None or not self.verbose:
            return
        lines = self.logparser.last_log
        if event == "featgen_progress":
            self.on_featgen_progress(lines, self.logparser.featgen_percent)
        elif event == "iteration":
            assert self.logparser.last_iteration is not None
            self.on_iteration(lines, self.logparser.last_iteration)
        else:
            getattr(self, f"on_{event}")(lines)

    def on_start(self, log: str) -> None:
        """Training begins."""
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:  # noqa: ARG002
        """Some of the data has been read."""
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        """All data has been read."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """The first iteration begins."""
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        """There is nothing to train on."""
        print(log, end="")

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:  # noqa: ARG002
        """An iteration has ended; ``info`` has its figures by name."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """All iterations have ended."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """The model has been written."""
        print(log, end="")
