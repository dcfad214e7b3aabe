"""The result of training: weights, and how they were found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from adaptag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from adaptag.settings import Value
    from adaptag.training.callbacks import PassReport
    from adaptag.training.checkpoint import Checkpoint

    Weights = NDArray[np.float32]

__all__ = ["DIVERGED", "INTERRUPT", "Result"]

DIVERGED, INTERRUPT = "diverged", "interrupt"  # why training ended


@dataclass
class Result:
    """The result of training.

    Attributes:
        algorithm: The name of the algorithm.
        weights: The weights, float32, in the layout of the examples.
        parameters: The algorithm's parameters, defaults included.
        seed: The seed of the order of sentences.
        history: One report per pass.
        best: The pass whose weights these are.
        stopped: Why training ended: ``passes``, ``converged`` (the algorithm's own rule),
            ``callback``, ``interrupt`` or ``diverged``.
        error: Where training diverged: what happened, and what to do about it.
        make_checkpoint: A function that makes the checkpoint.
    """

    algorithm: str
    weights: Weights
    parameters: dict[str, Value]
    seed: int
    history: list[PassReport] = field(default_factory=list)
    best: int = 0
    stopped: str = "passes"
    error: str = ""
    make_checkpoint: Callable[[], Checkpoint] | None = field(default=None, repr=False)

    @property
    def checkpoint(self) -> Checkpoint | None:
        """All that is needed to continue later; None where training diverged."""
        return None if self.make_checkpoint is None else self.make_checkpoint()

    def record(self) -> dict[str, Any]:
        """How the weights were trained, ready for JSON."""
        return {
            "adaptag": __version__,
            "algorithm": self.algorithm,
            "parameters": self.parameters,
            "seed": self.seed,
            "stopped": self.stopped,
            "best_pass": self.best,
            "passes": [report.outcome() for report in self.history],
        }
