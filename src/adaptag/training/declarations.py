"""What a training algorithm declares: its parameters, what it optimises, the state it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptag.errors import ParameterError, counted, unknown
from adaptag.settings import AUTO

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adaptag.settings import Parameter, Value

    Fields = tuple[tuple[str, str], ...]

__all__ = ["Algorithm"]


@dataclass(frozen=True, repr=False)
class Algorithm:
    """A training algorithm.

    Attributes:
        name: The name that selects it.
        objective: What it optimises.
        advice: When to use it.
        passes: The default number of passes over the data.
        parameters: The declarations of its parameters.
        online: Whether it updates after each sentence or small batch, not only after each pass.
        row_state: The names and NumPy types of the state that it keeps for each predicate.
        run_state: The names and NumPy types of the state that it keeps for the whole run.
        per_weight_state: The name of the number that it keeps for each weight. It is empty where
            there is none.
        looks_ahead: Whether it needs all of the data before it starts.
        minimise: The optimiser of a batch algorithm as ``module:function``; see ``batch.py``.
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
    minimise: str = ""

    def __repr__(self) -> str:
        defaults = ", ".join(f"{p.name}={p.default}" for p in self.parameters)
        return f"<Algorithm {self.name}({defaults}), {counted(self.passes, 'pass', 'passes')}>"

    def __str__(self) -> str:
        return f"{self!r}\nOptimises: {self.objective}\nUse: {self.advice}"

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

    def values_without_sample(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """All parameters, for data that cannot be sampled: the start of a search for its result."""
        values = self.values(given)
        return {
            p.name: p.start if values[p.name] == AUTO else values[p.name] for p in self.parameters
        }
