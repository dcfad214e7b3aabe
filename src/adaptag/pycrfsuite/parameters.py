"""CRFsuite's algorithms and parameters, and how they become adaptag's.

Both front ends use this module: ``adaptag.pycrfsuite.Trainer`` with CRFsuite's names, and
``adaptag.CRF`` with those of sklearn-crfsuite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from adaptag.errors import ParameterError, unknown
from adaptag.settings import Parameter
from adaptag.training.algorithms import algorithm as own_algorithm
from adaptag.training.callbacks import Callback

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from adaptag.training.callbacks import PassReport

__all__ = ["ALGORITHMS", "Conversion", "Declaration", "convert", "declaration", "parse"]

MIN_FREQUENCY = "feature.minfreq"
STATES = "feature.possible_states"
TRANSITIONS = "feature.possible_transitions"
UNLIMITED = 2147483647
ITERATIONS = "integer [1, 2147483647]"
VARIANTS = ("pa", "pa-1", "pa-2")  # by CRFsuite's number
LINE_SEARCHES = "MoreThuente | Backtracking | StrongBacktracking"

FEATURES = (
    Parameter(MIN_FREQUENCY, 0.0, "[0, inf)", "The minimum frequency of features."),
    Parameter(STATES, False, "", "Weights for all pairs of attributes and labels."),
    Parameter(TRANSITIONS, False, "", "Weights for all pairs of labels."),
)
L2 = Parameter("c2", 1.0, "[0, inf)", "Coefficient for L2 regularization.")
PERIOD = Parameter(
    "period", 10, ITERATIONS, "The number of iterations over which the improvement is tested."
)


def _delta(default: float) -> Parameter:
    text = "Stop when the loss, over the last period iterations, falls by no more than this share."
    return Parameter("delta", default, "[0, inf)", text)


def _iterations(default: int) -> Parameter:
    return Parameter("max_iterations", default, ITERATIONS, "The maximum number of iterations.")


WRONG_LABELS = Parameter(
    "epsilon", 0.0, "[0, 1]", "Stop when no larger share of the labels is wrong."
)


@dataclass(frozen=True)
class Declaration:
    """An algorithm of CRFsuite.

    Attributes:
        title: Its name in the log.
        parameters: Its parameters, with CRFsuite's defaults.
        without_counterpart: The parameters that have none here: only their defaults are allowed.
        algorithm: A function that gives adaptag's algorithm and its parameters.
    """

    title: str
    parameters: tuple[Parameter, ...]
    algorithm: Callable[[Mapping[str, Any]], tuple[str, dict[str, Any]]]
    without_counterpart: frozenset[str] = frozenset()

    @property
    def by_name(self) -> dict[str, Parameter]:
        """The parameters by name."""
        return {parameter.name: parameter for parameter in self.parameters}

    def defaults(self) -> dict[str, Any]:
        """The default of each parameter."""
        return {parameter.name: parameter.default for parameter in self.parameters}


def _sigma(c2: float) -> float:
    """The standard deviation of the prior: c2 · ‖w‖² = ‖w‖² / (2σ²)."""
    return math.inf if c2 == 0 else math.sqrt(1 / (2 * c2))


def _lbfgs(values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    common = {"sigma": _sigma(values["c2"]), "memory": values["num_memories"], "tolerance": 0.0}
    return ("owlqn", {"l1": values["c1"], **common}) if values["c1"] else ("lbfgs", common)


def _l2sgd(values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    return "sgd", {"sigma": _sigma(values["c2"]), "schedule": "bordes", "rate": "auto"}


def _pa(values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    return "pa", {"aggressiveness": values["c"], "variant": VARIANTS[values["type"]]}


def _arow(values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    return "arow", {name: values[name] for name in ("variance", "gamma")}


ALGORITHMS = {
    "lbfgs": Declaration(
        "L-BFGS optimization",
        (
            *FEATURES,
            Parameter("c1", 0.0, "[0, inf)", "Coefficient for L1 regularization."),
            L2,
            _iterations(UNLIMITED),
            Parameter(
                "num_memories", 6, "integer [1, 100]", "The number of steps that L-BFGS remembers."
            ),
            Parameter("epsilon", 1e-5, "[0, inf)", "Stop when the gradient is this small."),
            PERIOD,
            _delta(1e-5),
            Parameter("linesearch", "MoreThuente", LINE_SEARCHES, "The line search algorithm."),
            Parameter(
                "max_linesearch", 20, ITERATIONS, "The maximum number of trials of a line search."
            ),
        ),
        _lbfgs,
        frozenset({"epsilon", "linesearch", "max_linesearch"}),
    ),
    "l2sgd": Declaration(
        "Stochastic Gradient Descent (SGD)",
        (
            *FEATURES,
            L2,
            _iterations(1000),
            PERIOD,
            _delta(1e-6),
            Parameter("calibration.eta", 0.1, "(0, inf)", "The first learning rate to try."),
            Parameter("calibration.rate", 2.0, "(1, inf)", "The factor between learning rates."),
            Parameter("calibration.samples", 1000, ITERATIONS, "The sequences to calibrate on."),
            Parameter("calibration.candidates", 10, ITERATIONS, "The number of candidates."),
            Parameter("calibration.max_trials", 20, ITERATIONS, "The maximum number of trials."),
        ),
        _l2sgd,
        frozenset(
            f"calibration.{name}" for name in ("eta", "rate", "samples", "candidates", "max_trials")
        ),
    ),
    "averaged-perceptron": Declaration(
        "Averaged perceptron",
        (*FEATURES, _iterations(100), WRONG_LABELS),
        lambda _: ("averaged-perceptron", {}),
    ),
    "passive-aggressive": Declaration(
        "Passive Aggressive",
        (
            *FEATURES,
            Parameter("type", 1, "integer [0, 2]", "0: PA without slack, 1: PA-I, 2: PA-II."),
            Parameter("c", 1.0, "(0, inf)", "The aggressiveness parameter."),
            Parameter("error_sensitive", True, "", "A margin by the number of wrong labels."),
            Parameter("averaging", True, "", "Average the weights of all updates."),
            _iterations(100),
            WRONG_LABELS,
        ),
        _pa,
        frozenset({"error_sensitive", "averaging"}),
    ),
    "arow": Declaration(
        "Adaptive Regularization of Weights (AROW)",
        (
            *FEATURES,
            Parameter("variance", 1.0, "(0, inf)", "The initial variance of every weight."),
            Parameter("gamma", 1.0, "(0, inf)", "Tradeoff parameter."),
            _iterations(100),
            WRONG_LABELS,
        ),
        _arow,
    ),
}
ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}


def declaration(name: str) -> Declaration:
    """Find an algorithm of CRFsuite by its name or short name."""
    full = ALIASES.get(name.lower(), name.lower())
    if full not in ALGORITHMS:
        raise ParameterError(unknown("algorithm", name, [*ALGORITHMS, *ALIASES]))
    return ALGORITHMS[full]


def parse(algorithm: Declaration, name: str, value: Any) -> Any:
    """Turn the value of a parameter, which may be a text, into its type.

    Raises:
        ParameterError: The algorithm has no such parameter, or the value is not allowed.
    """
    parameter = algorithm.by_name.get(name)
    if parameter is None:
        raise ParameterError(unknown("parameter", str(name), algorithm.by_name))
    if parameter.is_flag:
        if str(value) not in ("0", "1", "True", "False"):
            raise ParameterError(f"{name} is {value!r}; allowed: 0, 1, True, False")
        return str(value) in ("1", "True")
    checked = parameter.check(value)
    return int(checked) if parameter.integer else checked


@dataclass(frozen=True)
class Conversion:
    """What training with CRFsuite's parameters means here.

    Attributes:
        algorithm: The name of adaptag's algorithm.
        parameters: Its parameters.
        passes: The maximum number of passes.
        min_frequency: The minimum frequency of a pair of an attribute and a label, or of labels.
        cutoff: The minimum count of an attribute, where the algorithm trains all pairs.
        states: Whether all pairs of attributes and labels have weights, not only those seen.
        transitions: Whether all pairs of labels have weights, not only those seen.
        stop: The rule by which training stops early.
        unused: The parameters without counterpart that differ from CRFsuite's defaults.
    """

    algorithm: str
    parameters: dict[str, Any]
    passes: int
    min_frequency: float
    cutoff: int
    states: bool
    transitions: bool
    stop: Callback
    unused: tuple[str, ...] = field(default=())


def convert(algorithm: Declaration, values: Mapping[str, Any]) -> Conversion:
    """Convert the parameters of an algorithm of CRFsuite, all of which are given."""
    name, parameters = algorithm.algorithm(values)
    frequency = values[MIN_FREQUENCY]
    stop: Callback
    if "period" in values:
        stop = SmallImprovement(values["period"], values["delta"])
    else:
        stop = FewErrors(values["epsilon"])
    unused = sorted(algorithm.without_counterpart)
    return Conversion(
        name,
        parameters,
        values["max_iterations"],
        frequency,
        max(1, math.ceil(frequency)) if own_algorithm(name).online else 1,
        values[STATES],
        values[TRANSITIONS],
        stop,
        tuple(n for n in unused if values[n] != algorithm.by_name[n].default),
    )


@dataclass
class SmallImprovement(Callback):
    """Stops as CRFsuite's lbfgs and l2sgd do: (L_{t-period} - L_t) / L_t < delta."""

    period: int
    delta: float

    def on_pass(self, history: Sequence[PassReport]) -> bool:
        """Stop where the loss has fallen too little."""
        if len(history) <= self.period:
            return False
        before, now = history[-1 - self.period].loss, history[-1].loss
        return before - now < self.delta * now


@dataclass
class FewErrors(Callback):
    """Stops as CRFsuite's online algorithms do: when few labels were wrong in a pass."""

    share: float

    def on_pass(self, history: Sequence[PassReport]) -> bool:
        """Stop where the share of wrong labels is small; 0 means never."""
        return 1 - history[-1].accuracy / 100 < self.share
