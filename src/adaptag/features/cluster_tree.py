"""The tree over word classes: classes are merged in pairs, the pair first that costs least.

The objective F is that of `adaptag.features.clustering`; merging classes lowers it. The mergers are
a binary tree, and the path from its root to a class is the code of the class. Changes of F are kept
for all pairs and corrected after each merger, so that it takes O(C³) time (Brown et al. 1992,
section 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Counts = NDArray[np.float64]
    Numbers = NDArray[np.int64]
    Report = Callable[[float], None]
    Tree = int | tuple["Tree", "Tree"]

__all__ = ["Merger", "codes_of", "entropy_term", "merge"]

REPORTED = 50  # mergers between two reports of progress


def entropy_term(x: Counts) -> Counts:
    """Compute x log x, and 0 for 0, of whole numbers."""
    terms: Counts = np.maximum(np.atleast_1d(x), 1.0)
    np.log(terms, out=terms)
    terms *= x
    return terms


def merge(counts: Counts, n_classes: int, report: Report) -> list[str]:
    """Merge classes until one is left; return the code of each.

    Args:
        counts: N(g, h), ``[C+k, C+k]``; the last k classes only serve as neighbours.
        n_classes: The number of classes to merge, ``C``.
        report: Called with the share of the work that is done, now and then.
    """
    merger = Merger(counts, n_classes)
    trees: list[Tree] = list(range(n_classes))
    for done in range(n_classes - 1):
        a, b = merger.best()
        trees[a] = (trees[a], trees[b])
        trees[b] = trees[-1]
        trees.pop()
        merger.merge(a, b)
        if done % REPORTED == 0:
            report(1 - ((n_classes - done) / n_classes) ** 3)
    report(1.0)
    return codes_of(trees[0], n_classes)


def codes_of(tree: Tree, n_classes: int) -> list[str]:
    """The paths from the root of a tree to its leaves, 0 for the first branch."""
    codes = [""] * n_classes
    open_branches: list[tuple[Tree, str]] = [(tree, "")]
    while open_branches:
        branch, code = open_branches.pop()
        if isinstance(branch, int):
            codes[branch] = code or "0"
        else:
            open_branches += [(branch[0], code + "0"), (branch[1], code + "1")]
    return codes


class Merger:
    """What F gains, or rather loses, by merging each two classes.

    Attributes:
        counts: N(g, h) of the classes that are left, and then of the fixed ones, ``[M+k, M+k]``.
        gains: The change of F if classes i < j were merged, ``[M, M]``; else minus infinity.
    """

    def __init__(self, counts: Counts, n_classes: int) -> None:
        self.counts = counts.copy()
        self.totals = self.counts.sum(axis=1)
        self.n = n_classes
        self.gains = np.full((n_classes, n_classes), -np.inf)
        for i in range(n_classes - 1):
            self.gains[i, i + 1 :] = self.gains_with(i, np.arange(i + 1, n_classes))

    def best(self) -> tuple[int, int]:
        """The two classes whose merger loses least."""
        i, j = divmod(int(self.gains.argmax()), self.n)
        return i, j

    def gains_with(self, i: int, others: Numbers) -> Counts:
        """The change of F if class i were merged with each of some others, ``[len(others)]``."""
        counts, totals, f = self.counts, self.totals, entropy_term
        gains = np.zeros(len(others))
        for side in (counts, counts.T):
            rows, own = side[others], side[i]
            gains += f(rows + own).sum(axis=1) - f(rows).sum(axis=1) - f(own).sum()
            # The columns of i and of the other class itself are merged as well: see below.
            column, inner = rows[:, i], side[others, others]
            gains -= f(column + own[i]) + f(inner + own[others])
        square = (counts[i, i], counts[i, others], counts[others, i], counts[others, others])
        gains += f(square[0] + square[1] + square[2] + square[3])
        gains += f(square[0]) + f(square[1]) + f(square[2]) + f(square[3])  # were taken away twice
        gains -= 2 * (f(totals[i] + totals[others]) - f(totals[i]) - f(totals[others]))
        return gains

    def merge(self, a: int, b: int) -> None:
        """Merge class b into class a < b; the last class gets the number of b."""
        self._update_others(a, b)
        counts, last = self.counts, self.n - 1
        counts[a] += counts[b]
        counts[:, a] += counts[:, b]
        self.totals[a] += self.totals[b]
        order = np.delete(np.arange(len(counts)), last)
        if b < last:
            order[b] = last
        self.counts, self.totals = counts[np.ix_(order, order)], self.totals[order]
        pairs = self.gains[:last, last].copy()  # of the class that gets the number of b
        self.n = last
        self.gains = self.gains[:last, :last].copy()
        if b < last:
            self.gains[:b, b], self.gains[b, b + 1 :] = pairs[:b], pairs[b + 1 :]
        self.gains[:a, a] = self.gains_with(a, np.arange(a))
        self.gains[a, a + 1 :] = self.gains_with(a, np.arange(a + 1, self.n))

    def _update_others(self, a: int, b: int) -> None:
        """Correct the gains of pairs without a and b, whose neighbours a and b become one."""
        f = entropy_term
        for side in (self.counts, self.counts.T):
            x, y = side[: self.n, a].copy(), side[: self.n, b].copy()
            self.gains += f(np.add.outer(x + y, x + y))
            self.gains -= f(np.add.outer(x, x)) + f(np.add.outer(y, y))
            # The terms of the single classes, which a merger replaces, change as well.
            change = f(x + y) - f(x) - f(y)
            self.gains -= np.add.outer(change, change)
