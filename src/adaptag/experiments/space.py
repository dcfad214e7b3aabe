"""The search space: values to try for each parameter, and which of equal scores is preferred."""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING

from adaptag.errors import ParameterError, unknown
from adaptag.features.index import check_cutoff

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from adaptag.settings import Value
    from adaptag.training.declarations import Algorithm

    Settings = dict[str, Value]
    Space = dict[str, tuple[Value, ...]]

__all__ = ["ON_REQUEST", "configurations", "format_value", "preference", "resolve", "space_of"]

CUTOFF = "cutoff"
WINDOW = "window"
PART = re.compile(r"n/([1-9]\d*)")  # a window as a fraction of the training sentences
# Searched unless other values are given: multiples of the default, or values.
MULTIPLES = {
    "rate": (0.25, 0.5, 1, 2, 4),
    "aggressiveness": (0.03, 0.1, 0.3, 1, 3),
    "gamma": (0.01, 0.1, 1, 10),
}
VALUES: Space = {
    "sigma": (1.0, 2.0, 5.0, 10.0),
    "l1": (0.25, 0.5, 1.0, 2.0, 4.0),
    "confidence": (0.55, 0.6, 0.7, 0.8, 0.9),
}
ON_REQUEST: Space = {
    "alpha": (0.99, 0.995, 0.999),
    "beta": (0.4, 0.6, 0.8),
    WINDOW: ("n/20", "n/10", "n/5"),
    CUTOFF: (1, 2, 3),
}


def space_of(
    algorithm: Algorithm,
    given: Mapping[str, Iterable[Value]] | None = None,
    also: Iterable[str] = (),
) -> Space:
    """Find the values to try for each parameter.

    Args:
        algorithm: what is tuned. Its learning rate, regularisation strength and margin are searched
            around their defaults.
        given: values by name, which replace the default ones; one value fixes a parameter.
            ``cutoff`` is a name too, and a ``window`` may be a fraction of the sentences, ``n/10``.
        also: names in ``ON_REQUEST`` to search as well.
    """
    declared = {parameter.name: parameter for parameter in algorithm.parameters}
    space: Space = {}
    for name, parameter in declared.items():
        if name in MULTIPLES and not isinstance(parameter.default, str):
            default = parameter.default
            space[name] = tuple(float(f"{default * m:.3g}") for m in MULTIPLES[name])
        elif name in VALUES and parameter.default != math.inf:
            space[name] = VALUES[name]
    for name in also:
        if name not in ON_REQUEST:
            raise ParameterError(unknown("parameter to search", name, ON_REQUEST))
        if name != CUTOFF and name not in declared:
            raise ParameterError(f"{algorithm.name}: {unknown('parameter', name, declared)}")
        space[name] = ON_REQUEST[name]
    for name, values in (given or {}).items():
        if name != CUTOFF and name not in declared:
            names = [*declared, CUTOFF]
            raise ParameterError(f"{algorithm.name}: {unknown('parameter', name, names)}")
        space[name] = tuple(dict.fromkeys(_checked(algorithm, name, value) for value in values))
        if not space[name]:
            raise ParameterError(f"{name} has no value to try")
    return space


def _checked(algorithm: Algorithm, name: str, value: Value) -> Value:
    if name == CUTOFF:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not number.is_integer():
            raise ParameterError(f"cutoff is {value!r}; allowed: integers from 1")
        check_cutoff(CUTOFF, int(number))
        return int(number)
    if name == WINDOW and isinstance(value, str) and PART.fullmatch(value):
        return value
    return next(p for p in algorithm.parameters if p.name == name).check(value)


def configurations(space: Space) -> list[Settings]:
    """All combinations, the last parameter changing fastest."""
    return [dict(zip(space, values, strict=True)) for values in itertools.product(*space.values())]


def resolve(settings: Settings, n_sentences: int) -> Settings:
    """The parameters of the algorithm: without the cutoff, and windows as numbers of sentences."""
    values = {name: value for name, value in settings.items() if name != CUTOFF}
    part = PART.fullmatch(str(values.get(WINDOW)))
    if part:
        values[WINDOW] = max(1, n_sentences // int(part[1]))
    return values


def preference(settings: Settings) -> tuple[float, ...]:
    """Sort key for settings of equal scores: stronger regularisation first, then the lower rate."""
    sigma, l1, cutoff, rate = (settings.get(n, 0) for n in ("sigma", "l1", CUTOFF, "rate"))
    return (
        float(sigma),
        -float(l1),
        -float(cutoff),
        math.inf if isinstance(rate, str) else rate,
    )


def format_value(value: Value) -> str:
    """A value as the command line takes it."""
    return value if isinstance(value, str) else f"{value:.12g}"


def at_edge(space: Space, settings: Settings) -> Sequence[str]:
    """The names of the parameters whose chosen value is the lowest or highest one tried."""
    names = []
    for name, values in space.items():
        numbers = sorted(v for v in values if not isinstance(v, str))
        value = settings[name]
        ends = {numbers[0], numbers[-1]} if len(numbers) > 1 else set()
        natural = (name == CUTOFF and value == 1) or value == math.inf
        if value in ends and not natural:
            names.append(name)
    return names
