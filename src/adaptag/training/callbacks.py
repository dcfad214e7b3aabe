"""What happens between passes: watching, and deciding when to stop."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Callback", "Converged", "EarlyStopping", "PassReport"]


@dataclass(frozen=True)
class PassReport:
    """One pass over the training data.

    Attributes:
        number: 1 for the first pass.
        seconds: time of the pass, without scoring.
        loss: mean loss per sentence, as met on the way.
        accuracy: expected token accuracy on the training data, in percent, as met on the way: the
            mean probability of the gold label.
        dev_score: score on the development data, in percent, where there is any.
    """

    number: int
    seconds: float
    loss: float
    accuracy: float
    dev_score: float | None = None

    @property
    def score(self) -> float:
        """The score that stopping rules watch: on development data, else on training data."""
        return self.accuracy if self.dev_score is None else self.dev_score

    def scored(self, dev_score: float) -> PassReport:
        """The same pass with its score on development data."""
        return replace(self, dev_score=dev_score)

    def to_dict(self) -> dict[str, Any]:
        """All figures, ready for JSON."""
        fields = asdict(self)
        return {"pass": fields.pop("number"), **fields}

    def outcome(self) -> dict[str, Any]:
        """All figures but the time: the same in every run with the same seed."""
        return {key: value for key, value in self.to_dict().items() if key != "seconds"}


class Callback:
    """Watches training. Each method may be left out."""

    def on_start(self, passes: int, sentences: int) -> None:
        """Training begins: how many passes at most, over how many sentences."""

    def on_progress(self, sentences: int) -> None:
        """So many more sentences were seen."""

    def on_pass(self, history: Sequence[PassReport]) -> bool:  # noqa: ARG002
        """Decide after a pass, the last of ``history``: true stops training."""
        return False


@dataclass
class Converged(Callback):
    """Stops at the empirical convergence of Sun et al. (2014).

    The scores of adjacent passes deviate by less than ``tolerance`` percentage points: the largest
    minus the smallest score of the last ``passes`` passes.
    """

    passes: int = 5
    tolerance: float = 0.01

    def on_pass(self, history: Sequence[PassReport]) -> bool:
        """Stop where the last scores agree."""
        scores = [report.score for report in history[-self.passes :]]
        return len(scores) == self.passes and max(scores) - min(scores) < self.tolerance


@dataclass
class EarlyStopping(Callback):
    """Stops when the score has not risen for ``patience`` passes."""

    patience: int = 5

    def on_pass(self, history: Sequence[PassReport]) -> bool:
        """Stop where the best pass lies ``patience`` passes back."""
        best = max(history, key=lambda report: report.score)
        return history[-1].number - best.number >= self.patience
