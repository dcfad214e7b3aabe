"""The settings of training: how weights are found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adaptag.corpus.settings import AS_IS, SCHEMES
from adaptag.errors import ParameterError
from adaptag.parallel import MOST_THREADS
from adaptag.settings import AUTO, Settings, redeclared, setting
from adaptag.training.algorithms import algorithm, algorithms
from adaptag.training.callbacks import Callback, Converged, EarlyStopping
from adaptag.training.progress import TrainingProgress

if TYPE_CHECKING:
    from typing_extensions import Self

    from adaptag.settings import Value
    from adaptag.training.declarations import Algorithm

__all__ = [
    "MOST_TYPES",
    "NEVER",
    "AlgorithmSettings",
    "LabelSettings",
    "TaggingSettings",
    "TrainingSettings",
    "parameter_names",
    "with_parameters",
]

NEVER = 1_000_000_000  # as patience: training does not stop early
# Types of chunks, for training with bioes by default. Their 21 labels fit the widths of rows that
# the core is compiled for, so that a pass takes at most a third longer.
MOST_TYPES = 5


def parameter_names() -> list[str]:
    """The names of the parameters of all algorithms."""
    return list(dict.fromkeys(p.name for a in algorithms().values() for p in a.parameters))


def with_parameters(options: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Add parameters of the algorithm that were given by name to the option ``parameters``."""
    merged = {**(options.get("parameters") or {}), **parameters}
    return {**options, "parameters": merged} if parameters else dict(options)


@dataclass(kw_only=True)
class AlgorithmSettings(Settings):
    """How weights are trained: what every front end has, estimators included."""

    algorithm: str = setting(
        "adf",
        "Training algorithm; adaptag algorithms lists them all.",
        " | ".join(algorithms()),
        short="-a",
    )
    passes: int | None = setting(
        None,
        "Maximum number of passes over the data.",
        "integer [1, inf)",
        default_text="the algorithm's own number",
    )
    patience: int = setting(
        5,
        "With development data: stop after this many passes without improvement.",
        "integer [1, inf)",
    )
    converge: bool = setting(
        False,
        "Stop at the empirical convergence of Sun et al. (2014): the scores of five adjacent "
        "passes differ by less than 0.01.",
    )
    calibrate: bool = setting(
        False,
        "With development data: calibrate the probabilities on it, by a temperature that all "
        "scores are divided by. Best labels stay the same.",
    )
    restarts: int = setting(
        0,
        "If training diverges: how often it starts again, each time with a tenth of the learning "
        "rate. Without restarts it ends with the last weights that are finite.",
        "integer [0, inf)",
    )
    threads: int | None = setting(
        None,
        "Number of threads.",
        f"integer [1, {MOST_THREADS}]",
        default_text="1 for online algorithms in one order, else one per core",
    )
    parallel: str = setting(
        "deterministic",
        "How several threads train with an online algorithm: deterministic, where the same seed "
        "and number of threads give the same model, bit for bit, and each update is one of at "
        "least as many sentences as threads; or lock-free (Hogwild), where all threads update the "
        "same weights at the same time.",
        "deterministic | lock-free",
    )
    verbose: bool = setting(
        False,
        "Show the progress: one line per pass, and a bar on a terminal and in a notebook.",
        option=False,
    )
    parameters: Mapping[str, Any] | None = setting(
        None,
        "Parameters of the algorithm that differ from their defaults, by name.",
        default_text="the algorithm's defaults",
        option=False,
    )

    def check(self) -> Self:
        """Raise where a value is outside its bounds, or the algorithm lacks a parameter."""
        algorithm(self.algorithm)  # suggests a name where this one is unknown
        super().check()
        if not isinstance(self.parameters, (Mapping, type(None))):
            raise ParameterError(
                f"parameters is {self.parameters!r}; allowed: a dictionary of names and values"
            )
        self.chosen.values(self.parameters or {})
        return self

    @property
    def lock_free(self) -> bool:
        """Whether all threads update the same weights at the same time."""
        return self.parallel == "lock-free"

    @property
    def online_threads(self) -> dict[str, Any]:
        """What a ``Trainer`` needs to know about threads, by name."""
        return {"threads": self.threads or 1, "lock_free": self.lock_free}

    @property
    def chosen(self) -> Algorithm:
        """The algorithm."""
        return algorithm(self.algorithm)

    def values(self) -> dict[str, Value]:
        """All parameters of the algorithm: those given, and defaults for the others."""
        return self.chosen.values(self.parameters or {})

    def reporters(self) -> list[Callback]:
        """The callbacks that show the progress of training."""
        return [TrainingProgress()] if self.verbose else []

    def rules(self, *, scored: bool) -> list[Callback]:
        """The callbacks that stop training; ``scored``: there is development data."""
        rules: list[Callback] = [Converged()] if self.converge else []
        return rules + ([EarlyStopping(self.patience)] if scored else [])


@dataclass(kw_only=True)
class TrainingSettings(AlgorithmSettings):
    """How weights are trained, with the seed."""

    seed: int = setting(
        1,
        "Seed of the order of sentences. The same seed gives the same model, bit for bit, with the "
        "same number of threads; not where they train lock-free.",
        "integer [0, inf)",
    )

    @classmethod
    def from_options(cls, options: Mapping[str, Any], parameters: Mapping[str, Any]) -> Self:
        """Combine settings with parameters of the algorithm, and check them."""
        return cls(**with_parameters(options, parameters)).check()


@dataclass(kw_only=True)
class LabelSettings(Settings):
    """The label schemes of a tagger."""

    scheme: str | None = setting(
        AS_IS,
        "Label scheme to train with: labels that mark chunks are converted to it, its rules hold, "
        "and the model still gives labels like those of the training data. as-is: no conversion; "
        "auto: the scheme of the training data or bioes, by a short training with each on four "
        "fifths of the data.",
        f"{AS_IS} | {AUTO} | {' | '.join(SCHEMES)}",
        search=(AS_IS, "bioes"),
    )
    output_scheme: str = setting(
        AS_IS,
        "Label scheme of the labels that the model gives; as-is: that of the training data.",
        f"{AS_IS} | {' | '.join(SCHEMES)}",
    )


@dataclass(kw_only=True)
class TaggingSettings(TrainingSettings, LabelSettings):
    """How a tagger is trained."""

    scheme: str | None = redeclared(
        LabelSettings,
        "scheme",
        default=None,
        default_text=f"bioes where chunks have at most {MOST_TYPES} types and features no edge "
        "weights of their own, else as-is",
    )
    metric: str = setting(
        "auto",
        "Score on development data: F1 of chunks, or accuracy of tokens; auto: F1 where most of "
        "the training labels mark chunks.",
        "auto | F1 | accuracy",
    )
    legal: Any = setting(
        None,
        "Rule out label sequences that are impossible: in a scheme (iob1, iob2, ioe2, bioes), in "
        "the training data's own scheme (auto), or those not seen in the training data (seen).",
        default_text="all are possible",
    )
