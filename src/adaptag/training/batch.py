"""Batch training: every step uses all of the data. L-BFGS, and OWL-QN for L1.

A pass is an iteration of the optimiser here: mostly one evaluation of the data, sometimes more.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core, cores
from adaptag.errors import ModelError, ParameterError
from adaptag.training.arrays import aligned_zeros
from adaptag.training.interrupts import interruptible
from adaptag.training.inverse_hessian import InverseHessian
from adaptag.training.line_search import CURVATURE, Trial, backtracking_search, wolfe_search

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples
    from adaptag.training.engine import BatchObjective

    Weights = NDArray[np.float32]
    After = Callable[[Weights, float], bool]

__all__ = ["Descent", "Objective", "lbfgs", "owlqn"]

PERIOD = 10  # iterations over which progress is averaged
LEAST_SIGMA = 1e-19  # with less, 1 / σ² is no float32


class Objective:
    """The negative log-likelihood of a dataset, Σ −log P(y | x, w), and its gradient.

    The number of threads changes no bit of them.

    Attributes:
        layout: How weights lie in memory; the gradient of padding is 0.
        n_weights: The number of weights, padding included.
        threads: The number of threads; by default one for each core that the process may use.
        accuracy: The expected token accuracy at the weights last evaluated, in percent.
        in_log_space: How many sentences of the last evaluation needed the slow computation in log
            space, since their weights are extreme.
    """

    def __init__(
        self,
        dataset: Examples,
        threads: int | None = None,
        after_evaluation: Callable[[], None] | None = None,
    ) -> None:
        """Prepare; ``after_evaluation`` is called after each evaluation, and may raise."""
        if threads is not None and threads < 1:
            raise ParameterError(f"threads is {threads}; allowed: 1 or more")
        self.threads = threads or cores()
        self.layout = dataset.layout
        self.n_weights = self.layout.n_weights
        self._evaluate = core.Objective(self.layout, dataset.native(self.layout))
        self.accuracy = 0.0
        self.in_log_space = 0
        self._after_evaluation = after_evaluation

    def __call__(self, x: NDArray[np.floating[Any]]) -> tuple[float, Weights]:
        """Loss and gradient at ``x``, which is rounded to float32."""
        weights, gradient = aligned_zeros(self.n_weights), aligned_zeros(self.n_weights)
        weights[:] = x
        return self.add(weights, gradient), gradient

    def add(self, x: Weights, gradient: Weights) -> float:
        """Return the loss at ``x``; its gradient is added to ``gradient``."""
        with interruptible():
            loss, correct, tokens, self.in_log_space = self._evaluate(x, gradient, self.threads)
        self.accuracy = 100 * correct / max(1, tokens)
        if self._after_evaluation is not None:
            self._after_evaluation()
        return loss


def lbfgs(
    objective: BatchObjective,
    start: NDArray[np.floating[Any]],
    *,
    sigma: float,
    memory: float,
    tolerance: float,
) -> Descent:
    """Prepare to minimise loss + ‖w‖² / (2σ²) by L-BFGS (Liu & Nocedal 1989).

    Args:
        objective: The loss.
        start: The initial weights.
        sigma: The standard deviation of the Gaussian prior; ``inf`` means no prior.
        memory: The number of steps from which the Hessian is approximated.
        tolerance: Optimisation stops when the relative decrease of the objective per iteration, on
            average over the last 10, is less than this.
    """
    return Descent(objective, start, 0.0, sigma, int(memory), tolerance)


def owlqn(
    objective: BatchObjective,
    start: NDArray[np.floating[Any]],
    *,
    l1: float,
    sigma: float,
    memory: float,
    tolerance: float,
) -> Descent:
    """Prepare to minimise loss + l1 · ‖w‖₁ + ‖w‖² / (2σ²) by OWL-QN (Andrew & Gao 2007).

    L-BFGS on the pseudo-gradient, the steepest one-sided slope; no step takes a weight across 0.
    Without L1 this is ``lbfgs``, whose arguments the others are.
    """
    return Descent(objective, start, l1, sigma, int(memory), tolerance)


class Descent:
    """One minimisation: the weights, the gradient, and the direction to go.

    Between two iterations its state is the weights ``x`` and the gradient there, the approximation
    of the Hessian, and the objective of the last iterations. Where the line search of an iteration
    is interrupted, ``x`` is still where it began, and the gradient there and the direction lie in
    the memory of the Hessian: so the state is that at the beginning of the search.

    Attributes:
        x: The weights after the last iteration.
        values: The objective after the last iterations.
    """

    def __init__(
        self,
        objective: BatchObjective,
        start: NDArray[np.floating[Any]],
        l1: float,
        sigma: float,
        memory: int,
        tolerance: float,
    ) -> None:
        self.objective, self.l1, self.decay = objective, l1, _decay(sigma)
        self.tolerance = tolerance
        self.hessian = InverseHessian(objective.layout, memory, l1, objective.threads)
        self.x, self.x_new = aligned_zeros(len(start)), aligned_zeros(len(start))
        self.gradient = aligned_zeros(len(start))  # at x_new, without L1
        self.x[:] = start
        self.value: float | None = None  # at x
        self.values: deque[float] = deque(maxlen=PERIOD + 1)
        self._slope: float | None = None  # along the direction, where one was found
        self._aimed = False  # whether the gradient at x lies in the memory of the Hessian

    def run(self, passes: int, after: After) -> Weights:
        """Iterate until a stopping rule holds, or no step is better: float32 gives no more.

        Args:
            passes: The maximum number of iterations.
            after: A function that is called after each iteration with the weights, which it must
                not change, and the objective; true stops.
        """
        if self.value is None:
            value = self._go(0.0)
            self._arrive(value)
        for _ in range(passes):
            if self._converged():  # also where the state that was restored had
                break
            trial = self._search()
            if trial is None and self.hessian.pairs:  # once more, with steepest descent
                self.hessian.forget()
                self._slope = None
                self._go(0.0)
                trial = self._search()
            if trial is None:
                break
            self._arrive(trial.value)
            self.values.append(trial.value)
            if after(self.x, trial.value):
                break
        return self.x

    def _arrive(self, value: float) -> None:
        """Take the point that was evaluated last for the place to go on from."""
        self.hessian.learn(self.x, self.x_new, self.gradient)
        self.x, self.x_new = self.x_new, self.x
        self.value, self._slope, self._aimed = value, None, False

    def _converged(self) -> bool:
        """Whether the objective falls too little."""
        if len(self.values) <= PERIOD:
            return False
        value = self.values[-1]
        return (self.values[0] - value) / PERIOD < self.tolerance * abs(value)

    def _search(self) -> Trial | None:
        """Find a better point in the direction of the inverse Hessian."""
        assert self.value is not None
        if self._slope is None:
            self._slope = self.hessian.aim(self.x, self.gradient)
            self._aimed = True
        slope = self._slope
        if not slope < 0:
            return None
        start = Trial(0.0, self.value, slope)
        if self.l1 > 0:
            return backtracking_search(lambda step: Trial(step, self._go(step), slope), start)

        def evaluate(step: float) -> Trial:
            value = self._go(step)
            return Trial(step, value, self.hessian.vectors.slope(self.gradient))

        # The first step only has to tell the scale.
        return wolfe_search(evaluate, start, CURVATURE if self.hessian.pairs else 1.0)

    def _go(self, step: float) -> float:
        """Evaluate the objective at x_new, which is this far from x in the direction."""
        squares, absolutes = self.hessian.vectors.walk(
            self.x, step, self.l1, self.decay, self.x_new, self.gradient
        )
        loss = self.objective.add(self.x_new, self.gradient)
        return loss + self.l1 * absolutes + self.decay / 2 * squares

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is needed to continue after the last finished iteration, by name."""
        gradient = self.hessian.kept_gradient() if self._aimed else self._rows(self.gradient)
        numbers = [np.nan if number is None else number for number in (self.value, self._slope)]
        return {
            "weights": self.x,
            "gradient": gradient,
            "numbers": np.array(numbers),
            "objectives": np.array(self.values),
            **self.hessian.arrays(),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from the ``arrays`` of another minimisation of the same objective."""
        try:
            self.x[:] = arrays["weights"]
            rows = self._rows(self.gradient)
            rows[:] = arrays["gradient"].reshape(rows.shape)
            self.hessian.restore(arrays)
            numbers = arrays["numbers"].tolist()
            self.value, self._slope = (None if math.isnan(x) else x for x in numbers)
            self._aimed = self._slope is not None
            self.values.extend(arrays["objectives"].tolist())
        except (IndexError, KeyError, ValueError):
            raise ModelError("the state of training does not fit the algorithm") from None

    def _rows(self, vector: Weights) -> Weights:
        """The rows of a vector, without their padding."""
        layout = self.objective.layout
        return vector.reshape(-1, layout.width)[:, : layout.n_labels]


def _decay(sigma: float) -> float:
    """The factor 1 / σ² of the prior."""
    if sigma < LEAST_SIGMA:
        raise ParameterError(f"sigma is {sigma:g}; allowed: {LEAST_SIGMA:g} or more")
    return 1 / (sigma * sigma)  # 0 where the square overflows
