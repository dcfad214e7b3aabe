"""The state of an online training run, and the file it is kept in."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.corpus.settings import AS_IS
from adaptag.errors import ModelError, ParameterError
from adaptag.settings import AUTO
from adaptag.storage.files import replace_file
from adaptag.storage.tensors import read_tensors, write_tensors
from adaptag.training.callbacks import PassReport

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from typing_extensions import Self

    from adaptag.dataset.encoded import Examples
    from adaptag.settings import Value
    from adaptag.storage.files import PathLike
    from adaptag.training.engine import Engine, OnlineTraining
    from adaptag.training.settings import TaggingSettings

__all__ = ["Checkpoint", "check_checkpoint", "checksum", "continued"]

KIND = "checkpoint"
VERSION = 4
BEST = "best_weights"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state at the end of a run: continuing from it gives the same bits as one longer run.

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

    @property
    def best_metric(self) -> str | None:
        """The metric that chose the best pass, ``F1`` or ``accuracy``; None if none was chosen."""
        if self.best_weights is None or not 0 < self.best <= len(self.history):
            return None
        return self.history[self.best - 1].dev_metric

    def restore(self, trainer: OnlineTraining, engine: Engine) -> None:
        """Put the state into a new training on the same data."""
        if engine.checksum() != self.data:
            raise ParameterError(
                "the checkpoint belongs to other training data, or to another template or cutoff; "
                "to continue on new data, start from the model"
            )
        trainer.restore(self.arrays)

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
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{path}: malformed checkpoint: {error}") from None


def continued(
    path: PathLike, settings: TaggingSettings, given: Mapping[str, Any]
) -> tuple[Checkpoint, TaggingSettings]:
    """Load a checkpoint to continue from, and take over its label scheme.

    Args:
        path: The file.
        settings: The settings of training.
        given: The settings and parameters of the algorithm that were given, by name.
    """
    state = Checkpoint.load(path)
    if {"algorithm", "seed", "parameters", *state.parameters} & given.keys():
        raise ParameterError("a checkpoint has its algorithm, parameters and seed already")
    if given.get("scheme", state.scheme) not in (state.scheme, AUTO):
        raise ParameterError(f"the checkpoint was trained with the label scheme {state.scheme}")
    return state, replace(settings, scheme=state.scheme)


def check_checkpoint(settings: TaggingSettings) -> None:
    """Raise where the algorithm has no state that a checkpoint could hold."""
    if not settings.chosen.online:
        raise ParameterError(
            f"{settings.algorithm} keeps no state for a checkpoint; start from its model"
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
    ):
        if array is not None:
            total = core.checksum(np.ascontiguousarray(array).view(np.uint8), total)
    return int(total)
