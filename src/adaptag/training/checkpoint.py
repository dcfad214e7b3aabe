"""The state of a training run, and the file it is kept in."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from adaptag._native import core
from adaptag.corpus.settings import AS_IS
from adaptag.errors import ModelError, ParameterError
from adaptag.settings import AUTO
from adaptag.storage.files import replace_file
from adaptag.storage.tensors import read_tensors, write_tensors
from adaptag.training.algorithms import algorithm
from adaptag.training.callbacks import PassReport

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray
    from typing_extensions import Self

    from adaptag.dataset.encoded import Examples
    from adaptag.settings import Value
    from adaptag.storage.files import PathLike
    from adaptag.training.settings import TrainingSettings

    S = TypeVar("S", bound=TrainingSettings)

__all__ = ["Checkpoint", "PassSums", "checksum", "continued"]

KIND = "checkpoint"
VERSION = 5
BEST = "best_weights"


@dataclass
class PassSums:
    """What was summed up in a pass that is not finished.

    Attributes:
        loss: The sum of losses.
        correct: The expected number of correct labels.
        tokens: The number of tokens.
        sentences: The number of sentences.
        seconds: The time of training.
    """

    loss: float = 0.0
    correct: float = 0.0
    tokens: float = 0.0
    sentences: int = 0
    seconds: float = 0.0

    def report(self, number: int) -> PassReport:
        """The report of the pass, which is finished."""
        mean, share = self.loss / max(1, self.sentences), 100 * self.correct / max(1, self.tokens)
        return PassReport(number, self.seconds, mean, share)


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state of a run: continuing from it gives the same bits as a run without interruption.

    Attributes:
        algorithm: The name of the algorithm.
        parameters: All parameters of the algorithm.
        seed: The seed of the order of sentences.
        history: The finished passes.
        arrays: The state of the algorithm.
        data: A checksum of the training data.
        threads: The number of threads; None means the default.
        parallel: How they train, ``deterministic`` or ``lock-free``.
        scheme: The label scheme that is trained with; ``as-is`` for that of the data.
        best: The best pass so far, if there is development data.
        best_weights: The weights of that pass.
        requested: The parameters as they were requested: ``rate`` may be ``auto``.
        passes: The maximum number of passes that was requested.
        stopped: Why training ended, as in ``Result``; empty where it had not.
        sums: What was summed up in the pass that is not finished.
        restarts: How often training was restarted with a lower rate.
        record: What was found out before training for the record of the model.
    """

    algorithm: str
    parameters: Mapping[str, Value]
    seed: int
    history: list[PassReport]
    arrays: Mapping[str, NDArray[Any]] = field(repr=False)
    data: int
    threads: int | None = None
    parallel: str = "deterministic"
    scheme: str = AS_IS
    best: int = 0
    best_weights: NDArray[np.float32] | None = field(default=None, repr=False)
    requested: Mapping[str, Value] = field(default_factory=dict)
    passes: int | None = None
    stopped: str = ""
    sums: PassSums = field(default_factory=PassSums)
    restarts: int = 0
    record: Mapping[str, Any] = field(default_factory=dict)

    @property
    def best_metric(self) -> str | None:
        """The metric that chose the best pass, ``F1`` or ``accuracy``; None if none was chosen."""
        if self.best_weights is None or not 0 < self.best <= len(self.history):
            return None
        return self.history[self.best - 1].dev_metric

    @property
    def counts_threads(self) -> bool:
        """Whether another number of threads would give other weights."""
        return algorithm(self.algorithm).online and self.parameters.get("orders", 1) == 1

    def check_data(self, data: int) -> None:
        """Raise where the checksum of the training data is another one."""
        if data != self.data:
            raise ParameterError(
                "the checkpoint belongs to other training data, or to another template, cutoff or "
                "set of legal transitions; to continue on new data, start from the model"
            )

    def save(self, path: PathLike) -> None:
        """Write the checkpoint atomically."""
        header = {
            "version": VERSION,
            "algorithm": self.algorithm,
            "parameters": dict(self.parameters),
            "seed": self.seed,
            "history": [asdict(report) for report in self.history],
            "data": self.data,
            "threads": self.threads,
            "parallel": self.parallel,
            "scheme": self.scheme,
            "best": self.best,
            "requested": dict(self.requested),
            "passes": self.passes,
            "stopped": self.stopped,
            "sums": asdict(self.sums),
            "restarts": self.restarts,
            "record": dict(self.record),
        }
        tensors = dict(self.arrays)
        if self.best_weights is not None:
            tensors[BEST] = self.best_weights
        with replace_file(path) as file:
            write_tensors(file, KIND, header, tensors)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Map a saved checkpoint into memory."""
        header, tensors = read_tensors(path, KIND, verify=True)
        try:
            if header["version"] != VERSION:
                raise ValueError(f"version {header['version']}; this adaptag reads {VERSION}")
            return cls(
                str(header["algorithm"]),
                dict(header["parameters"]),
                int(header["seed"]),
                [PassReport(**report) for report in header["history"]],
                {name: array for name, array in tensors.items() if name != BEST},
                int(header["data"]),
                None if header["threads"] is None else int(header["threads"]),
                str(header["parallel"]),
                str(header["scheme"]),
                int(header["best"]),
                tensors.get(BEST),
                dict(header["requested"]),
                None if header["passes"] is None else int(header["passes"]),
                str(header["stopped"]),
                _sums(header["sums"]),
                int(header["restarts"]),
                dict(header["record"]),
            )
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise ModelError(f"{path}: malformed checkpoint: {error}") from None


def _sums(values: Mapping[str, Any]) -> PassSums:
    """What is written of an unfinished pass, of which nothing but numbers is taken."""
    numbers = {name: float(value) for name, value in dict(values).items()}
    return PassSums(**{**numbers, "sentences": int(numbers["sentences"])})  # type: ignore[arg-type]


def continued(state: Checkpoint, settings: S, given: Collection[str]) -> S:
    """Settings that continue from a checkpoint, whose label scheme they take over.

    Args:
        state: The checkpoint. Its algorithm, parameters, seed and threads are taken over by the
            training job.
        settings: The settings of training.
        given: The names of the settings and parameters that were given: those that decide the
            result must be those of the checkpoint.
    """
    chosen = algorithm(state.algorithm)
    saved: dict[str, Any] = {
        "algorithm": state.algorithm,
        "seed": state.seed,
        "parallel": state.parallel,
    }
    now = {name: getattr(settings, name) for name in saved}
    if state.counts_threads:  # None stands for one
        saved["threads"], now["threads"] = state.threads or 1, settings.threads or 1
    for name, value in saved.items():
        if name in given and now[name] != value:
            raise _other_setting(name, value, now[name])
    parameters = settings.parameters or {}
    values = chosen.values(parameters)
    for name in parameters:
        if values[name] not in (state.requested.get(name), state.parameters.get(name)):
            raise _other_setting(name, state.parameters.get(name), values[name])
    if not hasattr(settings, "scheme"):
        return settings
    scheme = getattr(settings, "scheme", None)
    if "scheme" in given and scheme not in (state.scheme, AUTO, None):
        raise ParameterError(f"the checkpoint was trained with the label scheme {state.scheme}")
    return replace(settings, scheme=state.scheme)  # type: ignore[call-arg]


def _other_setting(name: str, saved: object, given: object) -> ParameterError:
    return ParameterError(
        f"{name} is {given}, but the checkpoint was trained with {name} {saved}; leave it out, or "
        "train without the checkpoint"
    )


def checksum(dataset: Examples) -> int:
    """Checksum of all that training sees."""
    e = dataset.encoded
    total = core.checksum(np.frombuffer("\n".join(dataset.label_names).encode(), np.uint8), 0)
    for array in (
        e.sentences,
        e.positions,
        e.predicates,
        e.values,
        dataset.labels,
        dataset.weights,
        dataset.legal,
    ):
        if array is not None:
            total = core.checksum(np.ascontiguousarray(array).reshape(-1).view(np.uint8), total)
    return int(total)
