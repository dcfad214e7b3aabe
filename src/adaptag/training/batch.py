"""Batch training: every step uses all of the data. L-BFGS, and OWL-QN for L1.

A pass is an iteration of the optimiser here: mostly one evaluation of the data, sometimes more.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from adaptag._native import core, cores
from adaptag.errors import ParameterError
from adaptag.training.arrays import aligned_zeros
from adaptag.training.interrupts import interruptible
from adaptag.training.inverse_hessian import InverseHessian
from adaptag.training.line_search import CURVATURE, Trial, backtracking_search, wolfe_search

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples

    Weights = NDArray[np.float32]
    After = Callable[[Weights, float], bool]

__all__ = ["Objective", "lbfgs", "owlqn"]

PERIOD = 10  # iterations over which progress is averaged


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
    objective: Objective,
    start: NDArray[np.floating[Any]],
    *,
    sigma: float,
    memory: float,
    tolerance: float,
    passes: int,
    after: After,
) -> Weights:
    """Minimise loss + ‖w‖² / (2σ²) by L-BFGS (Liu & Nocedal 1989).

    It also stops where no step is better: float32 gives no more.

    Args:
        objective: The loss.
        start: The initial weights.
        sigma: The standard deviation of the Gaussian prior; ``inf`` means no prior.
        memory: The number of steps from which the Hessian is approximated.
        tolerance: Optimisation stops when the relative decrease of the objective per iteration, on
            average over the last 10, is less than this.
        passes: The maximum number of iterations.
        after: A function that is called after each iteration with the weights, which it must not
            change, and the objective; true stops.
    """
    return _Descent(objective, start, 0.0, sigma, int(memory)).run(passes, _Stop(tolerance, after))


def owlqn(
    objective: Objective,
    start: NDArray[np.floating[Any]],
    *,
    l1: float,
    sigma: float,
    memory: float,
    tolerance: float,
    passes: int,
    after: After,
) -> Weights:
    """Minimise loss + l1 · ‖w‖₁ + ‖w‖² / (2σ²) by OWL-QN (Andrew & Gao 2007).

    L-BFGS on the pseudo-gradient, the steepest one-sided slope; no step takes a weight across 0.
    Without L1 this is ``lbfgs``, whose arguments the others are.
    """
    return _Descent(objective, start, l1, sigma, int(memory)).run(passes, _Stop(tolerance, after))


class _Descent:
    """One minimisation: the weights, the gradient, and the direction to go."""

    def __init__(
        self,
        objective: Objective,
        start: NDArray[np.floating[Any]],
        l1: float,
        sigma: float,
        memory: int,
    ) -> None:
        self.objective, self.l1, self.decay = objective, l1, 1 / sigma**2
        self.hessian = InverseHessian(objective.layout, memory, l1, objective.threads)
        self.x, self.x_new = aligned_zeros(len(start)), aligned_zeros(len(start))
        self.gradient = aligned_zeros(len(start))  # at x_new, without L1
        self.x[:] = start

    def run(self, passes: int, stop: _Stop) -> Weights:
        """Iterate until a stopping rule holds, or no step is better."""
        value = self._go(0.0)
        for _ in range(passes):
            self.hessian.learn(self.x, self.x_new, self.gradient)
            self.x, self.x_new = self.x_new, self.x
            trial = self._search(value)
            if trial is None and self.hessian.pairs:  # once more, with steepest descent
                self.hessian.forget()
                self._go(0.0)
                trial = self._search(value)
            if trial is None:
                return self.x
            value = trial.value
            if stop(self.x_new, value):
                break
        return self.x_new

    def _search(self, value: float) -> Trial | None:
        """Find a better point in the direction of the inverse Hessian."""
        slope = self.hessian.aim(self.x, self.gradient)
        if not slope < 0:
            return None
        start = Trial(0.0, value, slope)
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


class _Stop:
    """Whether an iteration was the last: ``after`` says so, or the objective falls too little."""

    def __init__(self, tolerance: float, after: After) -> None:
        self.tolerance = tolerance
        self.after = after
        self.values: deque[float] = deque(maxlen=PERIOD + 1)

    def __call__(self, x: Weights, value: float) -> bool:
        self.values.append(value)
        fall = (self.values[0] - value) / PERIOD
        converged = len(self.values) > PERIOD and fall < self.tolerance * abs(value)
        return self.after(x, value) or converged
