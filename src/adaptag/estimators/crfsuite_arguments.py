"""The constructor arguments of sklearn-crfsuite, for the CRF estimator.

With any of them, training is what CRFsuite's is: its algorithm, its defaults, and weights only for
what occurs in the training data unless all are asked for. ``adaptag.pycrfsuite.parameters`` says
what each of them becomes.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptag.decoding.model import Model
from adaptag.errors import ParameterError, UnusedArgumentWarning
from adaptag.pycrfsuite._logparser import TrainLogParser
from adaptag.pycrfsuite.parameters import ALGORITHMS, ALIASES, convert, declaration, parse
from adaptag.pycrfsuite.tagger import Tagger
from adaptag.pycrfsuite.trainer import save_model
from adaptag.training.algorithms import algorithms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adaptag.pycrfsuite.parameters import Conversion
    from adaptag.training.callbacks import PassReport

__all__ = ["CRFsuiteArguments"]

PARAMETERS = {  # the name of CRFsuite's parameter by that of the argument
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    **{
        name: name
        for name in (
            *("c1", "c2", "max_iterations", "num_memories", "epsilon", "period", "delta"),
            *("linesearch", "max_linesearch", "c", "error_sensitive", "averaging"),
            *("variance", "gamma"),
        )
    },
    **{
        f"calibration_{name}": f"calibration.{name}"
        for name in ("eta", "rate", "samples", "candidates", "max_trials")
    },
    "pa_type": "type",
}
OWN = ("rate", "sigma", "l1", "batch", "parameters", "passes")  # what says the same here
WITHOUT_MEANING = ("keep_tempfiles", "trainer_cls")


@dataclass(kw_only=True, eq=False, repr=False)
class CRFsuiteArguments:
    """The arguments of ``sklearn_crfsuite.CRF``; None stands for CRFsuite's default.

    Args:
        min_freq: The minimum count of an attribute.
        all_possible_states: Whether all pairs of attributes and labels get weights, not only those
            that occur in the training data.
        all_possible_transitions: Whether all pairs of labels get weights.
        c1: The coefficient of the L1 penalty.
        c2: The coefficient of the L2 penalty.
        max_iterations: The maximum number of passes.
        num_memories: The number of steps that L-BFGS remembers.
        epsilon: The share of wrong labels at which ``ap``, ``pa`` and ``arow`` stop; no counterpart
            for ``lbfgs``.
        period: The number of passes over which the improvement is tested.
        delta: The relative improvement of the loss at which ``lbfgs`` and ``l2sgd`` stop.
        linesearch: No counterpart.
        max_linesearch: No counterpart.
        calibration_eta: No counterpart, like the other arguments of calibration.
        calibration_rate: No counterpart.
        calibration_samples: No counterpart.
        calibration_candidates: No counterpart.
        calibration_max_trials: No counterpart.
        pa_type: 0 for PA without slack variables, 1 for PA-I, 2 for PA-II.
        c: The aggressiveness of ``pa``.
        error_sensitive: No counterpart.
        averaging: No counterpart.
        variance: The initial variance of the weights of ``arow``.
        gamma: How little ``arow`` changes weights and variances.
        model_filename: A file that ``fit`` writes the model to. Before ``fit`` the model that it
            holds is used.
        keep_tempfiles: Without meaning: there are no temporary files.
        trainer_cls: Without meaning: there is one trainer.
    """

    min_freq: float | None = None
    all_possible_states: bool | None = None
    all_possible_transitions: bool | None = None
    c1: float | None = None
    c2: float | None = None
    max_iterations: int | None = None
    num_memories: int | None = None
    epsilon: float | None = None
    period: int | None = None
    delta: float | None = None
    linesearch: str | None = None
    max_linesearch: int | None = None
    calibration_eta: float | None = None
    calibration_rate: float | None = None
    calibration_samples: int | None = None
    calibration_candidates: int | None = None
    calibration_max_trials: int | None = None
    pa_type: int | None = None
    c: float | None = None
    error_sensitive: bool | None = None
    averaging: bool | None = None
    variance: float | None = None
    gamma: float | None = None
    model_filename: str | os.PathLike[str] | None = None
    keep_tempfiles: bool | None = False
    trainer_cls: Any = None

    def _conversion(self) -> Conversion | None:
        """What CRFsuite's arguments mean here; None where none is given."""
        given = {name: getattr(self, name) for name in PARAMETERS}
        given = {name: value for name, value in given.items() if value is not None}
        algorithm: str | None = getattr(self, "algorithm")  # noqa: B009  of another base
        only_theirs = {*ALGORITHMS, *ALIASES} - set(algorithms())
        if not given and algorithm not in only_theirs:
            return None
        first = next(iter(given), f"algorithm={algorithm!r}")
        if algorithm in set(algorithms()) - {*ALGORITHMS, *ALIASES}:
            raise ParameterError(
                f"{first} is an argument for CRFsuite's algorithms, and the algorithm is "
                f"{algorithm!r}; allowed with it: {', '.join([*ALIASES, *ALGORITHMS])}"
            )
        own = [name for name in OWN if getattr(self, name) is not None]
        own += ["cutoff"] if getattr(self, "cutoff") != 1 else []  # noqa: B009
        if own:
            raise ParameterError(
                f"{first} and {own[0]} are given; allowed: the arguments of sklearn-crfsuite or "
                "those of adaptag, not both"
            )
        declared = declaration(algorithm or "lbfgs")
        values = declared.defaults()
        for name, value in given.items():
            values[PARAMETERS[name]] = parse(declared, PARAMETERS[name], value)
        return convert(declared, values)

    def _warn(self, conversion: Conversion | None) -> None:
        """Warn of arguments without meaning or counterpart."""
        unused = [name for name in WITHOUT_MEANING if getattr(self, name)]
        unused += [] if conversion is None else conversion.unused
        for name in unused:
            warnings.warn(
                f"{name} has no counterpart in adaptag; it is ignored",
                UnusedArgumentWarning,
                stacklevel=3,
            )

    def _store(self, model: Model, history: Sequence[PassReport]) -> None:
        """Keep the log of training, and write the model where a file is given."""
        self.training_log_ = TrainLogParser()
        self.training_log_.iterations = [
            {"num": report.number, "loss": report.loss, "time": report.seconds, "scores": {}}
            for report in history
        ]
        self.training_log_.last_iteration = next(reversed(self.training_log_.iterations), None)
        if self.model_filename is not None:
            save_model(model, os.fsdecode(self.model_filename))

    def _has_stored_model(self) -> bool:
        """Whether there is a file to take the model from."""
        return self.model_filename is not None and Path(self.model_filename).is_file()

    def _stored_model(self) -> Model | None:
        """The model of the file; None where there is none."""
        if self.model_filename is None or not self._has_stored_model():
            return None
        return Model.load(self.model_filename)

    @property
    def tagger_(self) -> Tagger:
        """The model behind the API of python-crfsuite."""
        model: Model = getattr(self, "model_")  # noqa: B009  of a subclass
        cached: tuple[Model, Tagger] | None = self.__dict__.get("_cached_tagger")
        if cached is None or cached[0] is not model:
            cached = self.__dict__["_cached_tagger"] = model, Tagger.of(model)
        return cached[1]

    @property
    def size_(self) -> int:
        """The size of the model's file in bytes."""
        return int(self.tagger_.info().header["size"])

    @property
    def num_attributes_(self) -> int:
        """The number of attributes that have weights."""
        return len(self.tagger_.info().attributes)
