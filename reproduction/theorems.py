"""A small convex problem, ADF in plain NumPy, and what the paper's theorems speak of, measured.

    Sun, Li, Wang, Lu (2014). Feature-Frequency–Adaptive On-line Training for Fast and Accurate
    Natural Language Processing. Computational Linguistics 40(3), sections 3.2 and 5.

The letters are the paper's: n samples x_i with labels y_i = ±1, weights w, rates γ (one for each
weight), a prior of variance σ², whose share in one sample is λ/2 ‖w‖², λ = 1/(nσ²). The loss is
log(1 + exp(−y w·x)); the slope of its gradient is at most L = 1/4.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adaptag.dataset.matrix import matrix_examples
from adaptag.training.algorithms import algorithm
from adaptag.training.job import TrainingJob
from adaptag.training.online import Trainer
from adaptag.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples

    Vector = NDArray[np.float64]
    Order = NDArray[np.int64]

__all__ = [
    "SLOPE",
    "Problem",
    "State",
    "adf",
    "core_weights",
    "expected_distances",
    "lbfgs_optimum",
    "lipschitz",
    "optimum",
    "orders",
    "pair_ratios",
    "products",
    "reach",
    "repeated",
    "zipf_problem",
]

SLOPE = 0.25  # L: the largest slope of the gradient of the logistic loss


@dataclass(frozen=True, eq=False)
class Problem:
    """Logistic regression with a Gaussian prior: convex, with one optimum.

    Attributes:
        x: the samples, ``[n, d]``.
        y: their labels, −1 or 1, ``[n]``.
        sigma: standard deviation of the prior.
    """

    x: Vector
    y: Vector
    sigma: float

    @property
    def decay(self) -> float:
        """λ = 1/(nσ²): the prior's share in one sample."""
        return 1 / (len(self.x) * self.sigma**2)

    @property
    def bound(self) -> float:
        """The largest rate of Lemma 1 and Theorems 1 and 2: min_i 1/(‖x_i‖² L)."""
        return float(1 / (SLOPE * (self.x**2).sum(1).max()))

    def gradient(self, i: int, w: Vector) -> Vector:
        """Return g of equation 5: ∇ {ℓ(z_i, w) − ‖w‖²/(2nσ²)}, uphill."""
        x, y = self.x[i], self.y[i]
        pull: Vector = y / (1 + np.exp(y * (x @ w))) * x - self.decay * w
        return pull

    def hessian(self, w: Vector) -> Vector:
        """Return H of the mean loss of a sample with its share of the prior, ``[d, d]``."""
        p = 1 / (1 + np.exp(-(self.x @ w)))
        curved: Vector = (self.x.T * (p * (1 - p))) @ self.x / len(self.x)
        return curved + self.decay * np.eye(len(w))


def zipf_problem(n: int = 500, d: int = 60, sigma: float = 2.0, seed: int = 1) -> Problem:
    """Draw features of 0 and 1, the k-th with probability 0.9/k, and the first always.

    Labels are drawn from a logistic model with normal weights, so they overlap.
    """
    rng = np.random.default_rng(seed)
    chance = np.concatenate([[1.0], 0.9 / np.arange(1, d)])
    x = (rng.random((n, d)) < chance).astype(np.float64)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(x @ rng.standard_normal(d)))), 1.0, -1.0)
    return Problem(x, y, sigma)


def optimum(problem: Problem) -> Vector:
    """Find w* by Newton's method, to the last bits of float64."""
    w: Vector = np.zeros(problem.x.shape[1])
    for _ in range(50):
        slope = np.array([problem.gradient(i, w) for i in range(len(problem.x))]).mean(0)
        step: Vector = np.linalg.solve(problem.hessian(w), slope)
        w = w + step
        if np.abs(step).max() < 1e-13:
            break
    return w


def orders(n: int, passes: int, seed: int = 1) -> Order:
    """Permute the samples anew for each pass, ``[passes, n]``."""
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(n) for _ in range(passes)])


# ---- ADF ------------------------------------------------------------------------------------


class State(NamedTuple):
    """What an update leaves: weights and rates, and the gradient that it went along."""

    weights: Vector
    rates: Vector
    gradient: Vector

    @property
    def change(self) -> float:
        """|w_{t+1} − w_t|."""
        return float(np.linalg.norm(self.rates * self.gradient))


def adf(
    problem: Problem,
    order: Order,
    *,
    rate: float,
    alpha: float,
    beta: float,
    window: int,
    start: Vector | None = None,
) -> Iterator[State]:
    """Run the paper's Figure 1, line by line, on samples in order; α = β = 1 keeps the rates.

    One departure, that of adaptag: u is cut at 1, since the first window holds q + 1 samples.
    """
    d = problem.x.shape[1]
    w = np.zeros(d) if start is None else start
    v, rates = np.zeros(d), np.full(d, rate)
    for t, i in enumerate(order.ravel()):
        v = v + (problem.x[i] != 0)
        if t > 0 and t % window == 0:
            u = np.minimum(v / window, 1)
            rates = (alpha - u * (alpha - beta)) * rates
            v = np.zeros(d)
        g = problem.gradient(int(i), w)
        w = w + rates * g
        yield State(w, rates, g)


def core_weights(
    problem: Problem, order: Order, name: str, parameters: Mapping[str, float]
) -> Vector:
    """Train with adaptag's core; the weights after each pass, ``[passes, d]``.

    The core has a weight for each of the two classes. Their difference moves at twice the rate
    and has twice the variance, so with half of both it is the w of the problem.
    """
    chosen, data = algorithm(name), _examples(problem)
    halved = {**parameters, "rate": parameters["rate"] / 2, "sigma": problem.sigma / np.sqrt(2)}
    trainer = Trainer(data, chosen, halved)
    weights = []
    for samples in order:
        trainer.run(samples.astype(np.uint32))
        weights.append(_difference(data, trainer.current_weights()))
    return np.array(weights)


def lbfgs_optimum(problem: Problem) -> Vector:
    """Find w* with adaptag's L-BFGS, as precisely as float32 allows."""
    data = _examples(problem)
    parameters = {"sigma": problem.sigma / np.sqrt(2), "tolerance": 1e-12}
    settings = TrainingSettings(algorithm="lbfgs", parameters=parameters, passes=1000)
    return _difference(data, TrainingJob(data, settings, lambda weights, _: weights).run())


def _examples(problem: Problem) -> Examples:
    codes = (problem.y > 0).astype(np.intp)
    return matrix_examples(problem.x, codes, np.ones(len(codes)), 2, intercept=False)


def _difference(data: Examples, weights: NDArray[np.float32]) -> Vector:
    rows = weights.reshape(data.index.n_predicates, -1).astype(np.float64)
    return rows[:, 1] - rows[:, 0]


# ---- Lemma 1, Theorems 1 and 2 ----------------------------------------------------------------


def lipschitz(problem: Problem, rates: Vector, *, scaled: bool = False) -> float:
    """Compute the Lipschitz constant of the update w → w + γ∘g, the largest of all samples.

    Between any two weights the update is the matrix I − Γ(λI + s x xᵀ), with a slope s between 0
    and L that depends on them. Its norm is convex in s, so the largest is at one of the ends.

    Args:
        problem: the data.
        rates: γ, ``[d]``.
        scaled: measures lengths as |Γ^(−1/2) w| instead of |w|.
    """
    rest = 1 - problem.decay * rates
    most = int((problem.x != 0).sum(1).max())
    fire = np.argsort(problem.x == 0, axis=1, kind="stable")[:, :most]  # outside J is diagonal
    x, r = np.take_along_axis(problem.x, fire, 1), rates[fire]
    left, right = (x * np.sqrt(r), x * np.sqrt(r)) if scaled else (x * r, x)
    steep = rest[fire][:, :, None] * np.eye(most) - SLOPE * left[:, :, None] * right[:, None, :]
    return max(float(np.abs(rest).max()), float(np.linalg.norm(steep, 2, axis=(1, 2)).max()))


def pair_ratios(
    problem: Problem, rates: Vector, *, pairs: int, seed: int = 1, scaled: bool = False
) -> Vector:
    """Measure |F(w) − F(w')| / |w − w'| for random pairs and samples, ``[pairs]``."""
    rng = np.random.default_rng(seed)
    scale = 1 / np.sqrt(rates) if scaled else np.ones(len(rates))
    ratios = []
    for i in rng.integers(len(problem.x), size=pairs):
        w, far = rng.standard_normal((2, len(rates)))
        far = w + far * 10.0 ** rng.uniform(-3, 1)
        after = w - far + rates * (problem.gradient(i, w) - problem.gradient(i, far))
        ratios.append(np.linalg.norm(scale * after) / np.linalg.norm(scale * (w - far)))
    return np.array(ratios)


def repeated(problem: Problem, i: int, w: Vector, rates: Vector) -> float:
    """Measure Definition 4: |w_{t+2} − w_{t+1}| / |w_{t+1} − w_t| of one sample taken twice."""
    first = rates * problem.gradient(i, w)
    second = rates * problem.gradient(i, w + first)
    return float(np.linalg.norm(second) / np.linalg.norm(first))


# ---- Theorem 3 --------------------------------------------------------------------------------


def reach(problem: Problem, order: Order, states: Sequence[State]) -> Vector:
    """Sum γ_k |x_k| over the updates of a run: no weight gets farther from 0, ``[d]``.

    The gradient of the loss is at most |x_k|, and the prior only pulls back.
    """
    rates = np.array([state.rates for state in states])
    total: Vector = (rates * np.abs(problem.x[order.ravel()])).sum(0)
    return total


# ---- Theorem 4 --------------------------------------------------------------------------------


def products(eigenvalue: float, rate: float, beta: float, updates: int) -> Vector:
    """Π_{m=1}^t (1 − γ₀ βᵐ h), an eigenvalue of C_t, for t = 1, 2, …, ``[updates]``."""
    factors = [1 - rate * beta**m * eigenvalue for m in range(1, updates + 1)]
    return np.array(list(accumulate(factors, mul)))


def expected_distances(
    problem: Problem,
    best: Vector,
    direction: Vector,
    *,
    rate: float,
    beta: float,
    updates: int,
    runs: int,
    seed: int = 1,
) -> tuple[Vector, Vector]:
    """Start many runs at w* + direction; what is left along it, mean and standard error.

    Samples are drawn at random, and the rate of all weights is γ₀ βᵗ, t = 1, 2, …: "the lowest
    learning rate" of the paper's Theorem 4. Both results are parts of the start, ``[updates]``.
    """
    rng = np.random.default_rng(seed)
    w = np.tile(best + direction, (runs, 1))
    along = direction / (direction @ direction)
    means, errors = [], []
    for t in range(1, updates + 1):
        i = rng.integers(len(problem.x), size=runs)
        x, y = problem.x[i], problem.y[i]
        pull = y / (1 + np.exp(y * np.einsum("ij,ij->i", x, w)))
        w = w + rate * beta**t * (pull[:, None] * x - problem.decay * w)
        left = (w - best) @ along
        means.append(left.mean())
        errors.append(left.std() / np.sqrt(runs))
    return np.array(means), np.array(errors)
