"""Parameters of estimators and algorithms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptag.errors import ParameterError, unknown
from adaptag.training.algorithms import algorithm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adaptag.settings import Value

__all__ = ["given_parameters"]


def given_parameters(
    name: str, own: Mapping[str, Value | None], further: Mapping[str, Value] | None
) -> dict[str, Value]:
    """Put those of an algorithm's parameters together that were given.

    Args:
        name: the algorithm.
        own: those that the estimator has arguments for; None: not given.
        further: others.
    """
    given = {key: value for key, value in own.items() if value is not None} | dict(further or {})
    known = [parameter.name for parameter in algorithm(name).parameters]
    for key in given:
        if key not in known:
            raise ParameterError(f"{name}: {unknown('parameter', key, known)}")
    return given
