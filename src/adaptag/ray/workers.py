"""The workers of distributed training, one for each shard, which are replaced when they die."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, TypeVar

from adaptag._native import build
from adaptag.errors import AdaptagError
from adaptag.ray.connection import n_cpus
from adaptag.ray.shards import ShardWorker
from adaptag.ray.tasks import LostError, explained
from adaptag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from adaptag.ray.shards import ShardData

__all__ = ["DeadWorkerError", "Workers"]

R = TypeVar("R")
MOST_DEATHS = 20  # of workers, without a finished round between them
PATIENCE = 20  # seconds in which a worker that replaces another gets a CPU, or does without


class Workers:
    """One worker for each shard, which is replaced when it dies.

    Attributes:
        handles: Ray's handles of the workers.
        recover: A function that brings a new worker, by its number, to where the others are.
    """

    def __init__(self, ray: Any, data: Sequence[ShardData], *arguments: Any) -> None:
        """Start the workers.

        Args:
            ray: The module, connected to a cluster.
            data: The data of each shard.
            *arguments: Further arguments of each worker.
        """
        self.ray, self._data, self._arguments = ray, data, arguments
        self._environment = {"env_vars": {"ADAPTAG_CORE": build, "OMP_NUM_THREADS": "1"}}
        self.recover: Callable[[int], None] = lambda _: None
        self._deaths = 0
        self.handles: list[Any] = []
        for shard in range(len(data)):
            self.handles.append(self._start(shard))
        self.ping()

    def __len__(self) -> int:
        return len(self._data)

    def _start(self, shard: int, cpus: int | None = None) -> Any:
        """Start a worker. Where no CPU is left for it, it shares one with another worker."""
        others = sum(1 for k in range(len(self.handles)) if k != shard)
        if cpus is None:
            cpus = 1 if n_cpus(self.ray) > others else 0
        worker = self.ray.remote(
            num_cpus=cpus,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
            runtime_env=self._environment,
        )(ShardWorker)
        return worker.remote(shard, self._data[shard], *self._arguments)

    def finished_a_round(self) -> None:
        """Note that training goes on, however many workers died before."""
        self._deaths = 0

    def each(self, submit: Callable[[Any, int], Any]) -> list[Any]:
        """Call all workers at the same time, and get the results in the order of the shards.

        Args:
            submit: A function that calls a worker, given its handle and number, and returns Ray's
                reference.
        """
        references = self.submit(submit)
        return [self._get(submit, k, references[k]) for k in range(len(self))]

    def submit(self, submit: Callable[[Any, int], Any]) -> list[Any]:
        """Call all workers at the same time: references to the results."""
        return [submit(handle, k) for k, handle in enumerate(self.handles)]

    def until_all_live(self, function: Callable[[], R]) -> R:
        """Call a function again until no worker dies and nothing is lost meanwhile."""
        while True:
            try:
                return function()
            except (DeadWorkerError, LostError) as error:
                if isinstance(error, LostError):
                    self._count_loss()
                self.ping()

    def ping(self) -> None:
        """Wait for all workers; raise where a node has another version of adaptag."""
        self.each(lambda worker, _: worker.ping.remote(__version__))

    def one(self, k: int, submit: Callable[[Any, int], Any]) -> Any:
        """Call one worker."""
        return self._get(submit, k, submit(self.handles[k], k))

    def _get(self, submit: Callable[[Any, int], Any], k: int, reference: Any) -> Any:
        while True:
            try:
                return self.get(reference)
            except DeadWorkerError:
                self.replace(k)
            except LostError:  # the result was on a node that has left, perhaps with its worker
                self._count_loss()
            reference = submit(self.handles[k], k)

    def get(self, reference: Any) -> Any:
        """The value of a reference; errors of adaptag are raised as where they arose."""
        kinds = self.ray.exceptions
        try:
            return self.ray.get(reference)
        except kinds.RayActorError as error:
            raise DeadWorkerError(str(error)) from None
        except kinds.RayError as error:
            known = explained(error, kinds)
            if known is None:
                raise
            raise known from None

    def replace(self, k: int) -> None:
        """Start a worker in the place of one that died, and bring it to where the others are."""
        live = False
        while not live:
            self._count_loss()
            # It may live on, e.g. where another one died meanwhile, and would hold its CPU.
            self.ray.kill(self.handles[k])
            self.handles[k] = self._start(k)
            started, _ = self.ray.wait([self.handles[k].ping.remote(__version__)], timeout=PATIENCE)
            if not started:  # there may be fewer CPUs than the cluster knew
                self.ray.kill(self.handles[k])
                self.handles[k] = self._start(k, cpus=0)
            with contextlib.suppress(DeadWorkerError, LostError):
                self.recover(k)
                live = True

    def _count_loss(self) -> None:
        self._deaths += 1
        if self._deaths > MOST_DEATHS:
            raise AdaptagError(
                f"workers died {self._deaths} times in one round, perhaps for lack of memory; the "
                "logs of the nodes say more"
            )

    def stop(self) -> None:
        """End all workers."""
        for handle in self.handles:
            self.ray.kill(handle)


class DeadWorkerError(AdaptagError):
    """A worker died."""
