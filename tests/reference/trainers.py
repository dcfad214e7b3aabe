"""The training algorithms as their papers print them: every weight is touched at every sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.reference.crf import Weights, loss_and_gradient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.reference.data import Problem

    Oracle = Callable[..., Iterator[Weights]]


def stochastic_gradient(problem: Problem, i: int, w: Weights, sigma: float) -> Weights:
    """∇{ log P(y_i | x_i, w) − ‖w‖² / (2nσ²) }."""
    _, of_loss = loss_and_gradient(problem.sentences[i], problem.labels[i], w)
    shrink = 1 / (len(problem) * sigma**2)
    return problem.masked(Weights(*(-g - shrink * x for g, x in zip(of_loss, w, strict=True))))


def adf(
    problem: Problem,
    order: Sequence[int],
    *,
    rate: float,
    sigma: float,
    alpha: float,
    beta: float,
    window: float,
) -> Iterator[Weights]:
    """Figure 1 of Sun et al. (2014): the weights after each sample."""
    q = int(window) or max(100, len(problem) // 10)
    w = problem.zeros()
    v, gamma = np.zeros(len(w.node)), np.full(len(w.node), rate)
    for t, i in enumerate(order):
        v[list({predicate for position in problem.sentences[i] for predicate, _ in position})] += 1
        if t > 0 and t % q == 0:
            u = np.minimum(1, v / q)  # the first window holds q + 1 samples
            gamma = (alpha - u * (alpha - beta)) * gamma
            v = np.zeros_like(v)
        g = stochastic_gradient(problem, i, w, sigma)
        w = Weights(w.node + gamma[:, None] * g.node, w.edge + gamma[:, None, None] * g.edge)
        yield w


def sgd(
    problem: Problem, order: Sequence[int], *, rate: float, sigma: float, decay: float
) -> Iterator[Weights]:
    """Tsuruoka et al. (2009), equation 6, with an L2 prior: the weights after each sample."""
    w = problem.zeros()
    for t, i in enumerate(order):
        gamma = rate * decay ** (t / len(problem))
        g = stochastic_gradient(problem, i, w, sigma)
        w = Weights(w.node + gamma * g.node, w.edge + gamma * g.edge)
        yield w


ORACLES: dict[str, Oracle] = {"adf": adf, "sgd": sgd}
