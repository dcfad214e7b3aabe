"""The objective of batch training and its minimum, by the oracle's loss and SciPy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

from tests.reference.crf import Weights, loss_and_gradient

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.reference.data import Problem


def total_loss(problem: Problem, weights: Weights) -> tuple[float, Weights]:
    """Σ −log P(y | x, w) and its gradient."""
    loss, total = 0.0, problem.zeros()
    for sentence, gold in zip(problem.sentences, problem.labels, strict=True):
        if sentence:
            one, gradient = loss_and_gradient(sentence, gold, weights)
            loss += one
            total = Weights(*(a + b for a, b in zip(total, gradient, strict=True)))
    return loss, problem.masked(total)


def penalised(
    problem: Problem, flat: NDArray, *, l1: float = 0.0, sigma: float = math.inf
) -> float:
    """Loss + l1 · ‖w‖₁ + ‖w‖² / (2σ²) of the core's flat weights."""
    loss, _ = total_loss(problem, problem.unpack(flat))
    return loss + l1 * np.abs(flat).sum() + np.square(flat).sum() / (2 * sigma**2)


def minimum(problem: Problem, *, l1: float = 0.0, sigma: float = math.inf) -> NDArray:
    """The best flat weights, as u − v with u, v ≥ 0: there ‖w‖₁ = Σ u + v is smooth."""
    n = problem.dataset.layout.n_weights

    def objective(uv: NDArray) -> tuple[float, NDArray]:
        w = uv[:n] - uv[n:]
        loss, gradient = total_loss(problem, problem.unpack(w))
        g = problem.pack(gradient, np.float64) + w / sigma**2
        return loss + l1 * uv.sum() + w @ w / (2 * sigma**2), np.concatenate([g + l1, -g + l1])

    result = minimize(
        objective,
        np.zeros(2 * n),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * (2 * n),
        options={"maxiter": 10_000, "maxfun": 10_000, "ftol": 1e-14, "gtol": 1e-8},
    )
    return result.x[:n] - result.x[n:]
