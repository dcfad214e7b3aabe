"""Batch training: every step uses all of the data. L-BFGS, and OWL-QN for L1.

A pass is an iteration of the optimiser here: mostly one evaluation of the data, sometimes more.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core, cores
from adaptag.errors import ParameterError
from adaptag.training.arrays import aligned_zeros

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples

    Vector = NDArray[np.float64]
    Weights = NDArray[np.float32]
    After = Callable[[NDArray[np.floating[Any]], float], bool]

__all__ = ["Objective", "lbfgs", "owlqn"]

PERIOD = 10  # iterations over which progress is averaged
BLOCK = 8192  # weights worked on at a time: all that belongs to them stays in the cache
SUFFICIENT = 1e-4  # Armijo's condition: the part of the slope's promise that a step must keep
TRIALS = 20  # steps, each half the one before, after which a line search gives up


class Objective:
    """The negative log-likelihood of a dataset, Σ −log P(y | x, w), and its gradient.

    The same number of threads gives the same bits.

    Attributes:
        n_weights: The number of weights, padding included; the gradient of padding is 0.
        real: The weights that are not padding, if omitting the padding saves a tenth or more, else
            all.
        threads: The number of threads; by default one for each core that the process may use.
        accuracy: The expected token accuracy at the weights last evaluated, in percent.
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
        self._layout = dataset.layout
        self._data = dataset.native(self._layout)
        self.n_weights = self._layout.n_weights
        # Where the padding of rows is a tenth of the weights or more, the numbers of the others.
        labels, width = self._layout.n_labels, self._layout.width
        self.real: NDArray[np.intp] | slice = slice(None)
        if labels / width < 0.9:
            self.real = np.flatnonzero(np.arange(self.n_weights) % width < labels)
        self.accuracy = 0.0
        self._after_evaluation = after_evaluation
        self._rounded = aligned_zeros(self.n_weights, np.float32)

    def __call__(self, x: Vector) -> tuple[float, Vector]:
        """Loss and gradient at ``x``."""
        gradient = aligned_zeros(self.n_weights, np.float64)
        return self.add(x, gradient), gradient

    def add(self, x: NDArray[np.floating[Any]], gradient: Vector) -> float:
        """Return the loss at ``x``, rounded to float32; its gradient is added to ``gradient``."""
        if x.dtype != np.float32:
            self._rounded[:] = x
            x = self._rounded
        loss, correct, tokens = core.objective(self._layout, self._data, x, gradient, self.threads)
        self.accuracy = 100 * correct / max(1, tokens)
        if self._after_evaluation is not None:
            self._after_evaluation()
        return loss


def lbfgs(
    objective: Objective,
    start: Vector,
    *,
    sigma: float,
    memory: float,
    tolerance: float,
    passes: int,
    after: After,
) -> Vector:
    """Minimise loss + ‖w‖² / (2σ²) with SciPy's L-BFGS.

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
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise ParameterError("lbfgs needs SciPy; install it: pip install adaptag[batch]") from None
    stop = _Stop(tolerance, after)
    real = objective.real  # SciPy works on these alone: its own share of the time is large
    weights = aligned_zeros(objective.n_weights, np.float64)
    gradient = aligned_zeros(objective.n_weights, np.float64)

    def spread(x: Vector) -> Vector:
        weights[real] = x
        return weights

    def penalised(x: Vector) -> tuple[float, Vector]:
        np.multiply(spread(x), 1 / sigma**2, out=gradient)
        loss = objective.add(weights, gradient)
        return float(x @ x) / (2 * sigma**2) + loss, gradient[real]

    def callback(intermediate_result: Any) -> None:
        if stop(spread(intermediate_result.x), float(intermediate_result.fun)):
            raise StopIteration

    options = {"maxcor": int(memory), "maxiter": passes, "maxfun": math.inf, "ftol": 0, "gtol": 0}
    result = minimize(
        penalised, start[real], method="L-BFGS-B", jac=True, callback=callback, options=options
    )
    return spread(result.x)


def owlqn(
    objective: Objective,
    start: Vector,
    *,
    l1: float,
    sigma: float,
    memory: float,
    tolerance: float,
    passes: int,
    after: After,
) -> Vector:
    """Minimise loss + l1 · ‖w‖₁ + ‖w‖² / (2σ²) by OWL-QN (Andrew & Gao 2007).

    L-BFGS on the pseudo-gradient, the steepest one-sided slope; no step takes a weight across 0.
    Without L1 this is plain L-BFGS. It also stops where no step is better: float32 gives no more.
    The other arguments are those of ``lbfgs``.
    """
    decay = 1 / sigma**2
    stop = _Stop(tolerance, after)
    hessian = _InverseHessian(int(memory), len(start))
    x, x_new = aligned_zeros(len(start), np.float32), aligned_zeros(len(start), np.float32)
    gradient = aligned_zeros(len(start), np.float64)  # at x_new, without L1
    x[:] = x_new[:] = start

    def evaluate() -> float:
        squares = absolutes = 0.0
        for b in _blocks(len(x_new)):
            new = x_new[b]
            squares += float(new @ new)
            absolutes += float(np.abs(new).sum()) if l1 > 0 else 0
            np.multiply(new, decay, out=gradient[b])
        return objective.add(x_new, gradient) + l1 * absolutes + decay / 2 * squares

    value = evaluate()
    for _ in range(passes):
        hessian.learn(x, x_new, gradient, l1)
        x, x_new = x_new, x
        slope = hessian.aim(l1)
        for step in 0.5 ** np.arange(TRIALS if slope < 0 else 0):
            for b in _blocks(len(x)):
                new = x_new[b]
                np.multiply(hessian.direction[b], np.float32(step), out=new)
                new += x[b]
                if l1 > 0:
                    np.copyto(new, 0, where=new * x[b] < 0)
            value_new = evaluate()
            if value_new <= value + SUFFICIENT * step * slope:
                break
        else:
            return x.astype(np.float64)
        value = value_new
        if stop(x_new, value):
            break
    return x_new.astype(np.float64)


class _InverseHessian:
    """L-BFGS's approximation of it, from the last steps; gives the direction to go.

    The basis [2m + 1, n] holds m steps s, the m changes y of the gradient, and the pseudo-gradient.
    The two loops of L-BFGS need only its dot products, so it is read twice an iteration (Chen et
    al. 2014, Large-scale L-BFGS using MapReduce). Float32 is enough for it.
    """

    def __init__(self, memory: int, n: int) -> None:
        self.memory = memory
        self.basis = np.zeros((2 * memory + 1, n), np.float32)
        self.dots = np.zeros((2 * memory + 1, 2 * memory + 1))
        self.pairs: list[int] = []  # rows of the steps, oldest first
        self.gradient = np.zeros(n, np.float32)
        self.direction = np.zeros(n, np.float32)

    def learn(self, x: Weights, x_new: Weights, gradient: Vector, l1: float) -> None:
        """Add the step from x to x_new, and the gradient at x_new."""
        if len(self.pairs) == self.memory:
            self.pairs.pop(0)
        s = min(set(range(self.memory)) - set(self.pairs))
        y, slope = self.memory + s, 2 * self.memory
        changed = [s, y, slope]
        sums = np.zeros((len(self.dots), 3))
        for b in _blocks(len(x)):
            basis, old = self.basis[:, b], self.gradient[b]
            new = gradient[b].astype(np.float32)
            np.subtract(x_new[b], x[b], out=basis[s])
            np.subtract(new, old, out=basis[y])
            basis[slope] = _pseudo_gradient(x_new[b], new, np.float32(l1))
            old[:] = new
            sums += basis @ basis[changed].T
        self.dots[:, changed] = sums
        self.dots[changed] = sums.T
        if self.dots[s, y] > 1e-9 * self.dots[y, y]:  # else it did not move, or rounding hides how
            self.pairs.append(s)

    def aim(self, l1: float) -> float:
        """Set the direction to −H · pseudo-gradient; return the slope along it.

        The two loops of L-BFGS, in coordinates c of the basis. With L1 the direction keeps to the
        sides that go down.
        """
        m, dots, pairs = self.memory, self.dots, self.pairs
        c = np.zeros(len(dots))
        c[-1] = -1
        along = {}
        for s in reversed(pairs):
            along[s] = dots[s] @ c / dots[s, m + s]
            c[m + s] -= along[s]
        if pairs:
            c *= dots[pairs[-1], m + pairs[-1]] / dots[m + pairs[-1], m + pairs[-1]]
        else:
            c /= math.sqrt(dots[-1, -1]) or 1
        for s in pairs:
            c[s] += along[s] - dots[m + s] @ c / dots[s, m + s]
        total = 0.0
        for b in _blocks(len(self.direction)):
            d, slope = self.direction[b], self.basis[-1, b]
            np.matmul(c.astype(np.float32), self.basis[:, b], out=d)
            if l1 > 0:
                np.copyto(d, 0, where=d * slope >= 0)
            total += float(d @ slope)
        return total


class _Stop:
    """Whether an iteration was the last: ``after`` says so, or the objective falls too little."""

    def __init__(self, tolerance: float, after: After) -> None:
        self.tolerance = tolerance
        self.after = after
        self.values: deque[float] = deque(maxlen=PERIOD + 1)

    def __call__(self, x: NDArray[np.floating[Any]], value: float) -> bool:
        self.values.append(value)
        fall = (self.values[0] - value) / PERIOD
        converged = len(self.values) > PERIOD and fall < self.tolerance * abs(value)
        return self.after(x, value) or converged


def _pseudo_gradient(x: Weights, gradient: Weights, l1: np.float32) -> Weights:
    """The steepest one-sided slope of loss + l1 · ‖x‖₁; 0 where both sides go up."""
    if l1 == 0:
        return gradient
    return np.where(x == 0, gradient - np.clip(gradient, -l1, l1), gradient + l1 * np.sign(x))


def _blocks(n: int) -> Iterator[slice]:
    return (slice(first, first + BLOCK) for first in range(0, n, BLOCK))
