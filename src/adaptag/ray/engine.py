"""Training by workers of a Ray cluster: each has a shard of the data; weights are mixed in rounds.

The driver holds references. What has the size of the model goes from worker to worker:
each worker mixes some of the blocks of weights. A worker that dies is replaced, gets the mixed
state of the current round from another one, and does its part again; as what it does depends on
nothing else, the result is the same.
"""

from __future__ import annotations

import contextlib
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from adaptag._native import build
from adaptag.dataset.dropout import Dropout
from adaptag.errors import AdaptagError
from adaptag.ray.connection import n_cpus
from adaptag.ray.shards import ShardWorker, sum_blocks
from adaptag.ray.tasks import LostError, explained
from adaptag.training.arrays import aligned_zeros
from adaptag.training.mixing import blocks_of, combined, new_state
from adaptag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples
    from adaptag.ray.shards import ShardData, ShardInfo
    from adaptag.settings import Value
    from adaptag.training.declarations import Algorithm
    from adaptag.training.mixing import Block
    from adaptag.training.orders import PassPart
    from adaptag.training.settings import TrainingSettings

    Weights = NDArray[np.float32]

__all__ = ["ClusterEngine", "Workers"]

R = TypeVar("R")
BLOCK = (1 << 18, 1 << 24)  # weights of a block that is mixed at a time, at least and at most
MOST_DEATHS = 20  # of workers, without a finished round between them
PATIENCE = 20  # seconds in which a worker that replaces another gets a CPU, or does without
ROUNDS = "rounds"  # the number of finished rounds, in a checkpoint


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


@dataclass(eq=False)
class ClusterEngine:
    """Training data that workers of a cluster hold in shards.

    Attributes:
        workers: The workers.
        shards: The sizes of the shards.
        skeleton: Examples without sentences: the features, the states and the legal transitions.
        load: A function that has a new worker read and encode its shard.
        rounds_per_pass: How often weights are mixed in a pass.
    """

    workers: Workers
    shards: Sequence[ShardInfo]
    skeleton: Examples
    load: Callable[[int], None]
    rounds_per_pass: int
    blocks: list[Block] = field(init=False)

    def __post_init__(self) -> None:
        layout = self.skeleton.layout
        size = layout.n_weights // (2 * len(self.workers))
        self.blocks = blocks_of(layout, min(max(size, BLOCK[0]), BLOCK[1]))
        self.workers.recover = self.load

    @property
    def n_sentences(self) -> int:
        """The number of sentences."""
        return sum(shard.sentences for shard in self.shards)

    @property
    def n_trained(self) -> int:
        """The number of sentences that have tokens."""
        return sum(shard.trained for shard in self.shards)

    def checksum(self) -> int:
        """Checksum of all that training sees, and of how it is divided."""
        numbers = [len(self.workers), self.rounds_per_pass, *(s.checksum for s in self.shards)]
        return zlib.crc32(repr(numbers).encode())

    def find_rate(
        self,
        algorithm: Algorithm,
        parameters: Mapping[str, Value],
        seed: int,
        start: Weights | None,  # noqa: ARG002
    ) -> float:
        """Find the initial learning rate on a sample of all shards."""
        n, workers = self.n_sentences, self.workers

        def find() -> float:
            samples = workers.submit(lambda worker, _: worker.sample.remote(n, seed))
            first = workers.handles[0]
            return float(
                workers.get(first.find_rate.remote(algorithm.name, parameters, seed, n, *samples))
            )

        return workers.until_all_live(find)

    def online(
        self,
        algorithm: Algorithm,
        parameters: Mapping[str, Value],
        settings: TrainingSettings,
    ) -> ClusterTraining:
        """Prepare the training with an online algorithm."""
        return ClusterTraining(self, algorithm, parameters, settings.seed)

    def objective(
        self, settings: TrainingSettings, after_evaluation: Callable[[], None]
    ) -> ClusterObjective:
        """Prepare the objective of a batch algorithm."""
        return ClusterObjective(self, settings.threads or 1, after_evaluation)

    def task(self, function: Callable[..., Any]) -> Any:
        """A function as a task that waits for no CPU: workers may hold all of them."""
        return self.workers.ray.remote(
            num_cpus=0, scheduling_strategy="SPREAD", max_retries=3, retry_exceptions=False
        )(function)


class ClusterTraining:
    """Rounds of all workers, and the mixing between them."""

    def __init__(
        self,
        engine: ClusterEngine,
        algorithm: Algorithm,
        parameters: Mapping[str, Value],
        seed: int,
    ) -> None:
        self.engine, self.workers, self.blocks = engine, engine.workers, engine.blocks
        self.algorithm, self.parameters, self.seed = algorithm, parameters, seed
        self.dropout = Dropout(engine.skeleton, float(parameters["dropout"]))
        self.number = 0  # the round
        self.began = False  # whether workers have run it
        self._start: dict[str, NDArray[np.float32]] | None = None  # the state of the first round
        self._start_number = 0
        self._kept: list[Any] = []  # references to the state of a single worker
        self.workers.recover = self._recover
        self.workers.each(self._prepare)

    def _prepare(self, worker: Any, _: int) -> Any:
        return worker.prepare.remote(
            self.algorithm.name,
            self.parameters,
            n_shards=len(self.workers),
            n_sentences=self.engine.n_trained,
            seed=self.seed,
            rounds_per_pass=self.engine.rounds_per_pass,
        )

    def _recover(self, k: int) -> None:
        """Bring a new worker to where the others are."""
        worker, get = self.workers.handles[k], self.workers.get
        self.engine.load(k)
        get(self._prepare(worker, k))
        if self.number > self._start_number:
            get(worker.set_state.remote(self.number, self.blocks, *self._state_for(k)))
        elif self._start is not None:
            get(self._set_start(worker, k))
        if self.began:
            get(worker.run.remote(self.number))

    def _state_for(self, k: int) -> list[Any]:
        """References to the state of the current round, from another worker."""
        if self._kept:
            return self._kept
        for other, handle in enumerate(self.workers.handles):
            if other == k:
                continue
            try:
                if self.workers.get(handle.rounds.remote()) == self.number:
                    state = self._state_of(handle)
                    self.workers.ray.wait(state, num_returns=len(state))
                    return state
            except AdaptagError:
                continue
        raise AdaptagError(
            "all workers of the training died; continue from a checkpoint, or train again"
        )

    def _state_of(self, worker: Any) -> list[Any]:
        state = worker.state.options(num_returns=len(self.blocks)).remote(self.blocks)
        return state if len(self.blocks) > 1 else [state]

    # ---- passes ---------------------------------------------------------------------------

    def parts(self, number: int) -> Iterator[PassPart]:
        """Train for a pass, round by round."""
        end = number * self.engine.rounds_per_pass
        while self.number < end:
            yield self._round()

    def _round(self) -> PassPart:
        number, workers = self.number, self.workers
        while self.number == number:  # again, where all workers died at its end
            part = combined(workers.each(lambda worker, _: worker.run.remote(number)))
            self.began = True
            workers.until_all_live(self._mix_all)
            self.began = False
            self._end_round(number)
        workers.finished_a_round()
        return part

    def _mix_all(self) -> None:
        """Mix all blocks, and hand them to all workers."""
        n, workers = len(self.blocks), self.workers
        changes = workers.submit(
            lambda worker, _: worker.changes.options(num_returns=1 + n).remote(self.blocks)
        )
        for of_worker in changes:  # so that what follows fails for no worker's death before
            workers.get(of_worker[0])
        mixed: list[Any] = [None] * n
        for k, worker in enumerate(workers.handles):  # each mixes some of the blocks
            own = range(k, n, len(workers))
            references = worker.mix.options(num_returns=1 + len(own)).remote(
                [self.blocks[b].row_size for b in own],
                *(of[1 + b] for b in own for of in changes),
            )
            for b, reference in zip(own, references[1:] if own else [], strict=True):
                mixed[b] = reference
        for reference in workers.submit(lambda worker, _: worker.apply.remote(self.blocks, *mixed)):
            workers.get(reference)

    def _end_round(self, number: int) -> None:
        """Have all workers go on; one that dies now gets the state of those that have."""
        references = self.workers.submit(lambda worker, _: worker.end_round.remote(number))
        dead = []
        for k, reference in enumerate(references):
            try:
                self.workers.get(reference)
            except DeadWorkerError:
                dead.append(k)
        self.number = number + 1
        if len(dead) == len(self.workers):
            self.number = number
        for k in dead:
            self.workers.replace(k)
        if len(self.workers) == 1:
            kept = self._state_of(self.workers.handles[0])
            self.workers.ray.wait(kept, num_returns=len(kept))
            self._kept = kept

    # ---- weights and state ----------------------------------------------------------------

    def start_from(self, weights: Weights) -> None:
        """Start from the weights of a model."""
        start = weights.copy()
        self.dropout.scale(start, inverse=True)
        self._begin_with({**new_state(self.engine.skeleton.layout, self.algorithm, start)})

    def current_weights(self) -> Weights:
        """The weights as a model needs them."""
        out = aligned_zeros(self.engine.skeleton.layout.n_weights)
        for block in self.blocks:
            out[slice(*block.weights)] = self.workers.one(
                0,
                lambda worker, _: worker.weights.remote(block),  # noqa: B023
            )
        return self.dropout.scale(out)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is needed to continue training, by name."""
        state = new_state(self.engine.skeleton.layout, self.algorithm)
        for block in self.blocks:
            part = self.workers.one(0, lambda worker, _: worker.state.remote([block]))  # noqa: B023
            for name, array in part.items():
                block.of(name, state[name])[:] = array
        return {**state, ROUNDS: np.array([self.number], np.int64)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from the ``arrays`` of another training with the same parameters and size."""
        self.number = int(arrays[ROUNDS][0])
        self._begin_with({name: array for name, array in arrays.items() if name != ROUNDS})

    def _begin_with(self, state: dict[str, NDArray[np.float32]]) -> None:
        self._start, self._start_number = state, self.number
        self.workers.each(self._set_start)

    def _set_start(self, worker: Any, _: int) -> Any:
        assert self._start is not None
        parts = [
            {name: block.of(name, array) for name, array in self._start.items()}
            for block in self.blocks
        ]
        return worker.set_state.remote(self._start_number, self.blocks, *parts)


class ClusterObjective:
    """The loss of all shards and its gradient; see ``batch.Objective``."""

    def __init__(
        self, engine: ClusterEngine, threads: int, after_evaluation: Callable[[], None]
    ) -> None:
        self.engine, self.threads, self._after_evaluation = engine, threads, after_evaluation
        self.layout = engine.skeleton.layout
        self.n_weights = self.layout.n_weights
        self.accuracy = 0.0
        self._sum = engine.task(sum_blocks)

    def add(self, x: Weights, gradient: Weights) -> float:
        """Return the loss at ``x``; its gradient is added to ``gradient``."""
        workers = self.engine.workers
        weights = workers.ray.put(x)
        figures = workers.until_all_live(lambda: self._evaluate(weights, gradient))
        self.accuracy = float(figures[1]) / max(1.0, float(figures[2]))
        workers.finished_a_round()
        self._after_evaluation()
        return float(figures[0])

    def _evaluate(self, weights: Any, gradient: Weights) -> NDArray[np.float64]:
        """The sums of loss, correct and known labels; the gradient is added at the end."""
        workers, blocks = self.engine.workers, self.engine.blocks
        results = workers.submit(
            lambda worker, _: worker.gradient.options(num_returns=1 + len(blocks)).remote(
                weights, blocks
            )
        )
        sums = [self._sum.remote(*(of[1 + b] for of in results)) for b in range(len(blocks))]
        figures = np.sum([workers.get(of[0]) for of in results], axis=0)
        parts = [workers.get(reference) for reference in sums]
        for block, part in zip(blocks, parts, strict=True):
            gradient[slice(*block.weights)] += part
        out: NDArray[np.float64] = figures
        return out
