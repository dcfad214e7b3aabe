"""Workers that train together without a driver: each calls the same functions at the same time.

They exchange references to values through one small actor; the values go from node to node.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Exchange", "Peers"]


class Exchange:
    """An actor: each of n workers brings one reference for each worker, and takes those for it."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.brought: dict[int, dict[int, Sequence[Any]]] = {}
        self.taken: dict[int, int] = {}
        self.changed = asyncio.Condition()

    async def swap(self, number: int, rank: int, references: Sequence[Any]) -> list[Any]:
        """Bring references, wait for all workers, and take those for this one, by their ranks."""
        async with self.changed:
            self.brought.setdefault(number, {})[rank] = references
            self.changed.notify_all()
            await self.changed.wait_for(lambda: len(self.brought[number]) == self.n)
            mine = [self.brought[number][other][rank] for other in range(self.n)]
            self.taken[number] = self.taken.get(number, 0) + 1
            if self.taken[number] == self.n:
                del self.brought[number], self.taken[number]
            return mine


class Peers:
    """One of n workers, and its connection to the others.

    Attributes:
        rank: The number of this worker, from 0.
        n: The number of workers.
    """

    def __init__(self, ray: Any, name: str, rank: int, n: int) -> None:
        """Connect.

        Args:
            ray: The module, connected to a cluster.
            name: A name that these workers and no others have in common.
            rank: The number of this worker.
            n: The number of workers.
        """
        self.ray, self.rank, self.n = ray, rank, n
        actor = ray.remote(num_cpus=0, max_concurrency=max(n, 2))(Exchange)
        self._exchange = actor.options(name=name, get_if_exists=True).remote(n)
        self._number = 0
        self._held: list[list[Any]] = []  # what others may still be reading

    def swap(self, values: Sequence[Any]) -> list[Any]:
        """Give each worker a value, and get theirs for this one, in the order of the ranks."""
        references = [self.ray.put(value) for value in values]
        mine = self.ray.get(self._exchange.swap.remote(self._number, self.rank, references))
        self._number += 1
        self._held = [*self._held[-1:], references]
        received: list[Any] = self.ray.get(mine)
        return received

    def gather(self, value: Any) -> list[Any]:
        """Give all workers the same value, and get theirs, in the order of the ranks."""
        reference = self.ray.put(value)
        mine = self.ray.get(
            self._exchange.swap.remote(self._number, self.rank, [reference] * self.n)
        )
        self._number += 1
        self._held = [*self._held[-1:], [reference]]
        received: list[Any] = self.ray.get(mine)
        return received
