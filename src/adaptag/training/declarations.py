"""What a training algorithm declares: its parameters, what it optimises, the state it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptag.errors import ParameterError, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adaptag.settings import Parameter, Value

    Fields = tuple[tuple[str, str], ...]

__all__ = ["Algorithm"]


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
        minimise: for a batch algorithm, ``module:function`` of its optimiser; see ``batch.py``.
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
