"""THE registry of training algorithms: online ones as the core declares them, and batch ones.

It needs no NumPy, so that the command line can list them at once.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

from adaptag._native import core
from adaptag.errors import ParameterError, unknown
from adaptag.settings import AUTO, Parameter
from adaptag.training.declarations import Algorithm

__all__ = ["DATA_PARAMETERS", "algorithm", "algorithms"]

SIGMA = "standard deviation of the Gaussian prior; inf means no prior"
MEMORY = Parameter(
    "memory", 10.0, "integer [1, 100]", "number of steps from which the Hessian is approximated"
)
TOLERANCE = Parameter(
    "tolerance",
    1e-4,
    "[0, 1)",
    "stop when the relative decrease of the objective per pass is less than this",
)
# Parameters of all online algorithms that the core does not see: the training job acts on them.
DATA_PARAMETERS = (
    Parameter(
        "dropout",
        0.0,
        "[0, 1)",
        "probability with which a feature of a token is left out in a pass",
    ),
    Parameter(
        "orders",
        1.0,
        "integer [1, 1000]",
        "number of random orders of the sentences to train in; their weights are averaged",
    ),
)
LBFGS = Algorithm(
    "lbfgs",
    "L2-regularised conditional likelihood, to its optimum",
    "A reference: the exact optimum, on all cores; far slower than adf, and seldom more accurate.",
    300,
    (Parameter("sigma", 5.0, "(0, inf]", SIGMA), MEMORY, TOLERANCE),
    online=False,
    minimise="adaptag.training.batch:lbfgs",
)
OWLQN = Algorithm(
    "owlqn",
    "L1-regularised conditional likelihood, to its optimum; with sigma the elastic net",
    "The smallest models, when time does not matter; sgd-l1 is almost as good in less time.",
    300,
    (
        Parameter("l1", 1.0, "[0, inf)", "strength C of the L1 penalty"),
        Parameter("sigma", math.inf, "(0, inf]", SIGMA),
        MEMORY,
        TOLERANCE,
    ),
    online=False,
    minimise="adaptag.training.batch:owlqn",
)


@cache
def algorithms() -> dict[str, Algorithm]:
    """All algorithms by name."""
    online = [_from_core(declaration) for declaration in core.algorithms()]
    return {algorithm.name: algorithm for algorithm in (*online, LBFGS, OWLQN)}


def algorithm(name: str) -> Algorithm:
    """Find an algorithm by its name."""
    if not isinstance(name, str) or name not in algorithms():
        raise ParameterError(unknown("algorithm", name, algorithms()))
    return algorithms()[name]


def _from_core(declared: dict[str, Any]) -> Algorithm:
    parameters = []
    for name, default, bounds, text, automatic in declared["parameters"]:
        parameter = Parameter(name, default, bounds, text)
        if parameter.choices:
            parameter = replace(parameter, default=parameter.choices[int(default)])
        elif parameter.automatic:
            parameter = replace(parameter, default=AUTO if automatic else default, start=default)
        parameters.append(parameter)
    return Algorithm(
        declared["name"],
        declared["objective"],
        declared["advice"],
        declared["passes"],
        (*parameters, *DATA_PARAMETERS),
        row_state=tuple(declared["row_state"]),
        run_state=tuple(declared["run_state"]),
        per_weight_state=declared["per_weight_state"],
        looks_ahead=declared["looks_ahead"],
    )
