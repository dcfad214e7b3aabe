"""L-BFGS's approximation of the inverse Hessian, and the weights that move along its direction.

The core does the vector work on all cores; here are the two loops of L-BFGS, on dot products.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.training.arrays import aligned_zeros

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Weights = NDArray[np.float32]

__all__ = ["InverseHessian"]

LEAST_CURVATURE = 1e-9  # of a step, relative to the change of the gradient: less is rounding


class InverseHessian:
    """The inverse Hessian approximated from the last steps; gives the direction to go.

    The core's memory [2m, n] holds m steps s and the m changes y of the gradient that belong to
    them; with the pseudo-gradient they are the basis. The two loops of L-BFGS need only dot
    products of the basis, so that it is read twice in an iteration (Chen et al. 2014, Large-scale
    L-BFGS using MapReduce). Float32 is enough for it.

    The direction lies where the next step is to be, and the last gradient where its y is to be.

    Attributes:
        pairs: The numbers of the steps in the memory, oldest first.
    """

    def __init__(self, layout: core.Layout, memory: int, l1: float, threads: int) -> None:
        """Make room for ``memory`` steps; ``l1`` is the strength of the L1 penalty."""
        self.memory, self.l1 = memory, l1
        n = layout.n_weights // layout.width * layout.n_labels  # without padding
        self.basis = aligned_zeros(2 * memory * n).reshape(2 * memory, n)
        self.vectors = core.QuasiNewton(layout, self.basis, threads)
        self.dots = np.zeros((2 * memory + 1, 2 * memory + 1))
        self.pairs: list[int] = []
        self._used = 1  # steps, the next one included

    def learn(self, x: Weights, x_new: Weights, gradient: Weights) -> None:
        """Add the step from x to x_new, where the gradient (without L1) is given.

        The dot products that the two loops need are those of y and of the pseudo-gradient.
        """
        s, m = self.vectors.next, self.memory
        products = self.vectors.add_pair(x, x_new, gradient, self.l1)
        for column, vector in ((0, m + s), (1, 2 * m)):
            self.dots[:, vector] = self.dots[vector] = products[:, column]
        self.pairs = [pair for pair in self.pairs if pair != s]
        if self.dots[s, m + s] > LEAST_CURVATURE * self.dots[m + s, m + s]:
            self.pairs.append(s)
        free = set(range(m)) - set(self.pairs)
        self.vectors.next = min(free) if free else self.pairs[0]
        self._used = max(self._used, self.vectors.next + 1)

    def aim(self, x: Weights, gradient: Weights) -> float:
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
        return self.vectors.aim(x, gradient, self.l1, c)

    def forget(self) -> None:
        """Start again: the next direction is that of steepest descent."""
        self.pairs = []

    def kept_gradient(self) -> Weights:
        """The gradient that the last direction was found from, without padding."""
        gradient: Weights = self.basis[self.memory + self.vectors.next]
        return gradient

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is needed to continue, by name; rows of the basis that were never used are 0."""
        used = self._used
        return {
            "steps": self.basis[:used],
            "changes": self.basis[self.memory : self.memory + used],
            "products": self.dots,
            "pairs": np.array([self.vectors.next, *self.pairs], np.int64),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from the ``arrays`` of another one with the same memory."""
        self._used = used = len(arrays["steps"])
        self.basis[:used] = arrays["steps"]
        self.basis[self.memory : self.memory + used] = arrays["changes"]
        self.dots[:] = arrays["products"]
        following, *pairs = arrays["pairs"].tolist()
        if not set(pairs) <= set(range(used)):
            raise ValueError("pairs")
        self.pairs = pairs
        self.vectors.next = used - 1  # so the core knows how many rows there are
        self.vectors.next = following
