"""What is compared: algorithms with their settings, under names of their own."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptag.errors import ParameterError, unknown
from adaptag.training.algorithms import algorithm as find_algorithm
from adaptag.training.settings import NEVER, TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from adaptag.settings import Value
    from adaptag.training.declarations import Algorithm

__all__ = ["Candidate", "check_candidates"]

NAME = re.compile(r"[A-Za-z][\w.+-]*", re.ASCII)
PASSES = "passes"


@dataclass(frozen=True)
class Candidate:
    """An algorithm with its settings, checked.

    Attributes:
        name: The name in the comparison.
        algorithm: The declaration of the algorithm.
        values: All parameters of the algorithm, defaults included.
        passes: The number of passes; None means the algorithm's default.
    """

    name: str
    algorithm: Algorithm
    values: dict[str, Value]
    passes: int | None

    def settings(self, seed: int) -> TrainingSettings:
        """The settings of a training: all passes are made, whatever their scores."""
        return TrainingSettings(
            algorithm=self.algorithm.name,
            parameters=self.values,
            passes=self.passes,
            seed=seed,
            patience=NEVER,
        )


def check_candidates(
    algorithms: Sequence[str], parameters: Mapping[str, Mapping[str, Value]], passes: int | None
) -> list[Candidate]:
    """Check names and settings, before anything is read.

    Args:
        algorithms: The algorithms, as in ``compare``.
        parameters: The settings of each algorithm by its name; ``passes`` may be among them.
        passes: The number of passes of algorithms whose settings give none.
    """
    candidates: dict[str, Candidate] = {}
    for text in algorithms:
        name, _, other = text.partition("=")
        if name in candidates:
            raise ParameterError(
                f"algorithm {name!r} is given twice; another name for one: other={name}"
            )
        declaration = find_algorithm(other if "=" in text else name)
        if not NAME.fullmatch(name):
            raise ParameterError(
                f"name {name!r}; allowed: a letter, then letters, digits and . + - _"
            )
        settings = dict(parameters.get(name, {}))
        own_passes = _passes(name, settings.pop(PASSES, passes))
        candidates[name] = Candidate(name, declaration, declaration.values(settings), own_passes)
    if not candidates:
        raise ParameterError("no algorithm is given; expected one or more names")
    for name in parameters:
        if name not in candidates:
            raise ParameterError(f"settings of {unknown('algorithm', name, candidates)}")
    return list(candidates.values())


def _passes(name: str, value: Value | None) -> int | None:
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not (number >= 1 and number.is_integer()):
        raise ParameterError(f"{name}: passes is {value!r}; allowed: 1 or more")
    return int(number)
