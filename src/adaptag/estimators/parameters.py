"""What the estimators share: the parameters of the algorithms as arguments of their own."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from adaptag.settings import redeclared, setting
from adaptag.training.settings import AlgorithmSettings, TrainingSettings

if TYPE_CHECKING:
    from typing_extensions import Self

    from adaptag.settings import Value

__all__ = ["EstimatorSettings"]

DEFAULT = "that of the algorithm"


@dataclass(kw_only=True, eq=False, repr=False)
class EstimatorSettings(AlgorithmSettings):
    """The settings of training as arguments of an estimator.

    Those parameters that searches are made for have an argument of their own; None stands for the
    default of the algorithm.
    """

    algorithm: str = redeclared(AlgorithmSettings, "algorithm", positional=True)
    random_state: Any = setting(None, "Seed of the order of samples, or a NumPy random state.")
    rate: Value | None = setting(None, "Learning rate, or auto.", default_text=DEFAULT)
    sigma: float | None = setting(
        None, "Standard deviation of the Gaussian prior (L2).", default_text=DEFAULT
    )
    l1: float | None = setting(None, "Strength of the L1 penalty.", default_text=DEFAULT)
    batch: int | None = setting(None, "Samples in a mini-batch.", default_text=DEFAULT)

    __eq__ = object.__eq__  # estimators are compared and hashed by identity
    __hash__ = object.__hash__

    def check(self) -> Self:
        """Raise where a value is outside its bounds, or the algorithm lacks a parameter."""
        super().check()
        self.chosen.values(self.given_parameters())
        return self

    def given_parameters(self) -> dict[str, Value]:
        """The parameters of the algorithm that were given."""
        own = {name: getattr(self, name) for name in ("rate", "sigma", "l1", "batch")}
        given = {name: value for name, value in own.items() if value is not None}
        return {**given, **(self.parameters or {})}

    def training_settings(self, kind: type[TrainingSettings], seed: int, **more: Any) -> Any:
        """The settings of a training job, with a seed; checked."""
        names = [item.name for item in fields(AlgorithmSettings)]
        values = {name: getattr(self, name) for name in names if name != "parameters"}
        values["parameters"] = self.given_parameters() or None
        return kind(**{**values, **more}, seed=seed).check()
