"""What happens between passes: reporting, and deciding when to stop."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from adaptag.errors import ParameterError, described

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Callback",
    "Converged",
    "EarlyStopping",
    "PassReport",
    "check_callbacks",
    "comparable",
]


@dataclass(frozen=True)
class PassReport:
    """One pass over the training data.

    Attributes:
        number: The number of the pass, from 1.
        seconds: The time of the pass in seconds, without scoring.
        loss: The mean loss per sentence during the pass.
        accuracy: The expected token accuracy on the training data during the pass, in percent: the
            mean probability of the gold label.
        dev_score: The score on the development data, in percent; None if there is no such data.
        dev_metric: The metric of that score: ``F1`` or ``accuracy``.
    """

    number: int
    seconds: float
    loss: float
    accuracy: float
    dev_score: float | None = None
    dev_metric: str | None = None

    def __post_init__(self) -> None:
        figures = (self.number, self.seconds, self.loss, self.accuracy, self.dev_score or 0.0)
        if not all(isinstance(figure, (int, float)) for figure in figures):
            raise TypeError("the figures of a pass are numbers")
        if not isinstance(self.dev_metric, (str, type(None))):
            raise TypeError("the metric of a pass is a name")

    def __str__(self) -> str:
        return f"pass {self.number:3d}  {self.seconds:7.3f} s  {self.figures()}"

    @property
    def score(self) -> float:
        """The score that stopping rules use: on development data, else on training data."""
        return self.accuracy if self.dev_score is None else self.dev_score

    @property
    def metric(self) -> str:
        """What ``score`` is: ``dev F1``, ``dev accuracy`` or ``training accuracy``."""
        return "training accuracy" if self.dev_metric is None else f"dev {self.dev_metric}"

    def scored(self, dev_score: float, dev_metric: str) -> PassReport:
        """The same pass with its score on development data."""
        return replace(self, dev_score=dev_score, dev_metric=dev_metric)

    def figures(self, held_out: str = "dev") -> str:
        """Loss, expected accuracy and the score on held-out data, by its name, as text."""
        text = f"loss {self.loss:8.4f}  accuracy {self.accuracy:5.2f}"
        if self.dev_score is None:
            return text
        return f"{text}  {held_out} {self.dev_metric} {self.dev_score:5.2f}"

    def to_dict(self) -> dict[str, Any]:
        """All figures, ready for JSON."""
        fields = asdict(self)
        return {"pass": fields.pop("number"), **fields}

    def outcome(self) -> dict[str, Any]:
        """All figures but the time: the same in every run with the same seed."""
        return {key: value for key, value in self.to_dict().items() if key != "seconds"}


def comparable(history: Sequence[PassReport]) -> list[PassReport]:
    """Return the passes whose scores have the same metric as the last one.

    A run that is resumed with other development data, or with none, has passes of both.
    """
    return [report for report in history if report.metric == history[-1].metric]


def check_callbacks(callbacks: object) -> None:
    """Raise unless callbacks are a list of them."""
    if not isinstance(callbacks, (list, tuple)):
        raise ParameterError(f"callbacks is {described(callbacks)}; allowed: a list of callbacks")
    for callback in callbacks:
        if not hasattr(callback, "on_pass"):
            raise ParameterError(f"a callback is {described(callback)}; allowed: adaptag.Callback")


class Callback:
    """Is notified of the progress of training, and can stop it. Each method is optional."""

    def on_start(self, passes: int, sentences: int) -> None:
        """Training begins: the maximum number of passes, and the number of sentences."""

    def on_note(self, text: str) -> None:
        """Something else is worth telling, such as the label scheme that was chosen."""

    def on_progress(self, sentences: int) -> None:
        """Training has processed this many more sentences."""

    def on_pass(self, history: Sequence[PassReport]) -> bool:  # noqa: ARG002
        """Decide after a pass, the last of ``history``: true stops training."""
        return False

    def on_end(self, best: PassReport | None) -> None:
        """Training has ended: the pass whose weights are kept; None if it failed."""


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
        scores = [report.score for report in comparable(history)[-self.passes :]]
        return len(scores) == self.passes and max(scores) - min(scores) < self.tolerance


@dataclass
class EarlyStopping(Callback):
    """Stops when the score has not risen for ``patience`` passes."""

    patience: int = 5

    def on_pass(self, history: Sequence[PassReport]) -> bool:
        """Stop where the best pass lies ``patience`` passes back."""
        best = max(comparable(history), key=lambda report: report.score)
        return history[-1].number - best.number >= self.patience
