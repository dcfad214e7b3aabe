"""What a training algorithm declares: its parameters, what it optimises, the state it keeps."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptag.errors import ParameterError, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    Value = float | str
    Fields = tuple[tuple[str, str], ...]

__all__ = ["AUTO", "Algorithm", "Parameter"]

AUTO = "auto"
BOUNDS = re.compile(r"(auto or )?(integer )?([\[(])(\S+), (\S+)([\])])")


@dataclass(frozen=True)
class Parameter:
    """One value that steers an algorithm.

    Attributes:
        name: its name in Python and, with ``--``, on the command line.
        default: its value unless given.
        bounds: what is allowed, as text: an interval, e.g. ``(0, 1]``, or names, e.g. ``a | b``.
        help: what it does.
    """

    name: str
    default: Value
    bounds: str
    help: str

    @property
    def choices(self) -> tuple[str, ...]:
        """The names that are allowed, where it is not a number."""
        return tuple(self.bounds.split(" | ")) if " | " in self.bounds else ()

    @property
    def integer(self) -> bool:
        """Whether only whole numbers are allowed."""
        return "integer" in self.bounds

    @property
    def automatic(self) -> bool:
        """Whether ``auto`` is allowed: the value is then found on a part of the data."""
        return self.bounds.startswith(AUTO)

    @property
    def shown_default(self) -> str:
        """The default as text."""
        return self.default if isinstance(self.default, str) else f"{self.default:g}"

    def check(self, value: Value) -> Value:
        """Return the value as a number or name, or raise where it is outside the bounds."""
        if self.choices:
            if value not in self.choices:
                allowed = ", ".join(self.choices)
                raise ParameterError(f"{self.name} is {value!r}; allowed: {allowed}")
            return value
        if self.automatic and value == AUTO:
            return value
        match = BOUNDS.fullmatch(self.bounds)
        assert match is not None, self.bounds
        _, whole, left, low, high, right = match.groups()
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        above = number > float(low) or (left == "[" and number == float(low))
        below = number < float(high) or (right == "]" and number == float(high))
        if not (above and below) or (whole and not number.is_integer()):
            raise ParameterError(f"{self.name} is {value!r}; allowed: {self.bounds}")
        return number

    def number(self, value: Value) -> float:
        """The value as the core takes it: a name by its place among the choices."""
        return float(self.choices.index(str(value)) if self.choices else value)


@dataclass(frozen=True)
class Algorithm:
    """A training algorithm.

    Attributes:
        name: the word that selects it.
        objective: what it optimises.
        advice: when to use it.
        passes: over the data, unless given.
        parameters: what it can be given.
        online: whether it updates after each sentence, or few; else after each pass.
        row_state: The names and NumPy types of the state that it keeps for each predicate.
        run_state: The names and NumPy types of the state that it keeps for the whole run.
        per_weight_state: The name of the number that it keeps beside each weight. It is empty where
            there is none.
        looks_ahead: whether it needs all of the data before it starts.
    """

    name: str
    objective: str
    advice: str
    passes: int
    parameters: tuple[Parameter, ...]
    online: bool = True
    row_state: Fields = ()
    run_state: Fields = ()
    per_weight_state: str = ""
    looks_ahead: bool = False

    @property
    def streams(self) -> bool:
        """Whether it can learn from data that comes in parts."""
        return self.online and not self.looks_ahead

    def values(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """All parameters: those given, checked, and defaults for the others."""
        names = [parameter.name for parameter in self.parameters]
        for name in given:
            if name not in names:
                raise ParameterError(f"{self.name}: {unknown('parameter', name, names)}")
        return {p.name: p.check(given.get(p.name, p.default)) for p in self.parameters}
