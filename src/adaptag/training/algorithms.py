"""The training algorithms and their parameters, as the core declares them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from adaptag._native import core
from adaptag.errors import ParameterError, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Algorithm", "Parameter", "algorithm", "algorithms"]

BOUNDS = re.compile(r"(integer )?([\[(])(\S+), (\S+)([\])])")


@dataclass(frozen=True)
class Parameter:
    """One number that steers an algorithm.

    Attributes:
        name: its name in Python and, with ``--``, on the command line.
        default: its value unless given.
        bounds: the allowed interval as text, e.g. ``(0, 1]``.
        help: what it does.
    """

    name: str
    default: float
    bounds: str
    help: str

    @property
    def integer(self) -> bool:
        """Whether only whole numbers are allowed."""
        return self.bounds.startswith("integer")

    def check(self, value: float) -> float:
        """Return the value as a number, or raise where it is outside the bounds."""
        match = BOUNDS.fullmatch(self.bounds)
        assert match is not None, self.bounds
        whole, left, low, high, right = match.groups()
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        above = number > float(low) or (left == "[" and number == float(low))
        below = number < float(high) or (right == "]" and number == float(high))
        if not (above and below) or (whole and not number.is_integer()):
            raise ParameterError(f"{self.name} is {value!r}; allowed: {self.bounds}")
        return number


@dataclass(frozen=True)
class Algorithm:
    """A training algorithm.

    Attributes:
        name: the word that selects it.
        objective: what it optimises.
        advice: when to use it.
        parameters: what it can be given.
        row: names and types of its state for each predicate.
        clock: names and types of its state for the whole run.
    """

    name: str
    objective: str
    advice: str
    parameters: tuple[Parameter, ...]
    row: tuple[tuple[str, str], ...]
    clock: tuple[tuple[str, str], ...]

    def values(self, given: Mapping[str, float]) -> dict[str, float]:
        """All parameters: those given, checked, and defaults for the others."""
        names = [parameter.name for parameter in self.parameters]
        for name in given:
            if name not in names:
                raise ParameterError(f"{self.name}: {unknown('parameter', name, names)}")
        return {p.name: p.check(given.get(p.name, p.default)) for p in self.parameters}


@cache
def algorithms() -> dict[str, Algorithm]:
    """All algorithms by name."""
    return {
        one["name"]: Algorithm(
            one["name"],
            one["objective"],
            one["advice"],
            tuple(Parameter(*parameter) for parameter in one["parameters"]),
            tuple(one["row"]),
            tuple(one["clock"]),
        )
        for one in core.algorithms()
    }


def algorithm(name: str) -> Algorithm:
    """Find an algorithm by its name."""
    if name not in algorithms():
        raise ParameterError(unknown("algorithm", name, algorithms()))
    return algorithms()[name]
