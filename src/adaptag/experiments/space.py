"""The search space: values to try for each setting, and which of equal scores is preferred."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptag.errors import ParameterError, unknown
from adaptag.settings import BOUNDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from adaptag.settings import Parameter, Value
    from adaptag.training.declarations import Algorithm

    Settings = dict[str, Value]
    Space = dict[str, tuple[Value, ...]]

__all__ = [
    "at_edge",
    "configurations",
    "format_value",
    "on_request",
    "preference",
    "resolve",
    "space_of",
]

WINDOW = "window"
PART = re.compile(r"n/([1-9]\d*)")  # a window as a fraction of the training sentences


@dataclass(frozen=True)
class SearchValues:
    """The values to try for a parameter of the algorithms.

    Attributes:
        values: The values, or what the default is multiplied by.
        multiples: Whether they are multiples of the default.
        on_request: Whether the parameter is searched only on request.
    """

    values: tuple[Value, ...]
    multiples: bool = False
    on_request: bool = False


# Settings of features declare their values to try themselves; see ``Parameter.search``.
SEARCHES = {
    "rate": SearchValues((0.25, 0.5, 1, 2, 4), multiples=True),
    "aggressiveness": SearchValues((0.03, 0.1, 0.3, 1, 3), multiples=True),
    "gamma": SearchValues((0.01, 0.1, 1, 10), multiples=True),
    "sigma": SearchValues((1.0, 2.0, 5.0, 10.0)),
    "l1": SearchValues((0.25, 0.5, 1.0, 2.0, 4.0)),
    "confidence": SearchValues((0.55, 0.6, 0.7, 0.8, 0.9)),
    "alpha": SearchValues((0.99, 0.995, 0.999), on_request=True),
    "beta": SearchValues((0.4, 0.6, 0.8), on_request=True),
    WINDOW: SearchValues(("n/20", "n/10", "n/5"), on_request=True),
    "dropout": SearchValues((0.0, 0.1, 0.2), on_request=True),
    "orders": SearchValues((1, 4), on_request=True),
}


def on_request(features: Mapping[str, Parameter]) -> list[str]:
    """The names that are searched only on request."""
    return [*(name for name, search in SEARCHES.items() if search.on_request), *features]


def space_of(
    algorithm: Algorithm,
    given: Mapping[str, Iterable[Value]] | None = None,
    also: Iterable[str] = (),
    features: Mapping[str, Parameter] | None = None,
) -> Space:
    """Find the values to try for each setting.

    Args:
        algorithm: What is tuned. Its learning rate, regularisation strength and margin are searched
            around their defaults.
        given: Values by name, which replace the default ones; one value fixes a setting. A
            ``window`` may be a fraction of the sentences, ``n/10``.
        also: Further names to search: parameters that are searched on request, and settings of
            features.
        features: The declarations of the settings of features that can be searched.
    """
    settings = dict(features or {})
    parameters = {parameter.name: parameter for parameter in algorithm.parameters}
    declared = {**settings, **parameters}
    space: Space = {}
    for name, parameter in parameters.items():
        search = SEARCHES.get(name)
        fixed = parameter.default == math.inf or bool(parameter.choices)
        if search and not search.on_request and not fixed:
            space[name] = _values(search, parameter)
    requested = on_request(settings)
    for name in also:
        if name not in requested:
            raise ParameterError(unknown("parameter to search", name, requested))
        if name not in declared:
            raise ParameterError(f"{algorithm.name}: {unknown('parameter', name, declared)}")
        space[name] = settings[name].search if name in settings else SEARCHES[name].values
    for name, values in (given or {}).items():
        if name not in declared:
            raise ParameterError(f"{algorithm.name}: {unknown('parameter', name, declared)}")
        space[name] = tuple(dict.fromkeys(_checked(declared[name], value) for value in values))
        if not space[name]:
            raise ParameterError(f"{name} has no value to try")
    return space


def _values(search: SearchValues, parameter: Parameter) -> tuple[Value, ...]:
    if not search.multiples:
        return search.values
    default = parameter.start if parameter.automatic else float(parameter.default)
    return tuple(float(f"{default * float(multiple):.3g}") for multiple in search.values)


def _checked(declaration: Parameter, value: Value) -> Value:
    if declaration.name == WINDOW and isinstance(value, str) and PART.fullmatch(value):
        return value
    checked: Value = declaration.check(value)
    return int(checked) if declaration.integer and not isinstance(checked, str) else checked


def configurations(space: Space) -> list[Settings]:
    """All combinations, the last setting changing fastest."""
    return [dict(zip(space, values, strict=True)) for values in itertools.product(*space.values())]


def resolve(settings: Settings, n_sentences: int) -> Settings:
    """The same settings, with windows as numbers of sentences."""
    part = PART.fullmatch(str(settings.get(WINDOW)))
    return {**settings, WINDOW: max(1, n_sentences // int(part[1]))} if part else dict(settings)


def preference(settings: Settings) -> tuple[float, ...]:
    """Sort key for settings of equal scores: stronger regularisation first, then the lower rate."""
    sigma, l1, cutoff, rate = (settings.get(n, 0) for n in ("sigma", "l1", "cutoff", "rate"))
    return (
        float(sigma),
        -float(l1),
        -float(cutoff),
        math.inf if isinstance(rate, str) else rate,
    )


def format_value(value: Value) -> str:
    """A value as the command line takes it."""
    return value if isinstance(value, str) else f"{value:.12g}"


def at_edge(
    space: Space, settings: Settings, declared: Mapping[str, Parameter] | None = None
) -> Sequence[str]:
    """The names of the settings whose chosen value is the lowest or highest one tried.

    Values that no other value could go beyond, by the declared bounds, are left out.
    """
    names = []
    for name, values in space.items():
        numbers = sorted(v for v in values if not isinstance(v, str))
        value = settings[name]
        ends = {numbers[0], numbers[-1]} if len(numbers) > 1 else set()
        if value in ends and not _at_bound((declared or {}).get(name), value):
            names.append(name)
    return names


def _at_bound(declaration: Parameter | None, value: Value) -> bool:
    bounds = None if declaration is None else BOUNDS.fullmatch(declaration.bounds)
    return bounds is not None and value in (float(bounds[4]), float(bounds[5]))
