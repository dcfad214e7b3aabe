"""Training by workers of a Ray cluster: each has a shard of the data; weights are mixed in rounds.

The driver holds references. What has the size of the model goes from worker to worker:
each worker mixes some of the blocks of weights. A worker that dies is replaced, gets the mixed
state of the current round from another one, and does its part again; as what it does depends on
nothing else, the result is the same.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from adaptag.dataset.dropout import Dropout
from adaptag.errors import AdaptagError
from adaptag.ray.shards import sum_blocks
from adaptag.ray.workers import DeadWorkerError
from adaptag.training.arrays import aligned_zeros
from adaptag.training.mixing import blocks_of, combined, new_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Examples
    from adaptag.ray.shards import ShardInfo
    from adaptag.ray.workers import Workers
    from adaptag.settings import Value
    from adaptag.training.declarations import Algorithm
    from adaptag.training.mixing import Block
    from adaptag.training.orders import PassPart
    from adaptag.training.settings import TrainingSettings

    Weights = NDArray[np.float32]

__all__ = ["ClusterEngine"]

R = TypeVar("R")
BLOCK = (1 << 18, 1 << 24)  # weights of a block that is mixed at a time, at least and at most
MOST_REPLAYS = 3  # of the same round, after the death of all workers
ROUNDS = "rounds"  # the number of finished rounds, in a checkpoint


class LostStateError(AdaptagError):
    """All workers died, and with them the mixed state."""


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
        # The state that rounds are computed again from where all workers died: that of the first
        # round, or of the last checkpoint.
        self._start: dict[str, NDArray[np.float32]] | None = None
        self._start_number = 0
        self._replays = 0  # of the round ``number``
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
        raise LostStateError("all workers of the training died")

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
        part = self._with_state(self._run_round)
        self._replays = 0
        return part

    def _run_round(self) -> PassPart:
        number, workers = self.number, self.workers
        while self.number == number:  # again, where all workers died at its end
            part = combined(workers.each(lambda worker, _: worker.run.remote(number)))
            self.began = True
            workers.until_all_live(self._mix_all)
            self.began = False
            self._end_round(number)
        workers.finished_a_round()
        return part

    def _with_state(self, function: Callable[[], R]) -> R:
        """Call a function; where all workers died, compute the rounds before it again."""
        number = self.number
        while True:
            try:
                while self.number < number:
                    self._run_round()
                return function()
            except LostStateError:
                self._replays += 1
                if self._replays > MOST_REPLAYS:
                    raise AdaptagError(
                        f"all workers of the training died {self._replays} times in round "
                        f"{number + 1}, perhaps for lack of memory; the logs of the nodes say more"
                    ) from None
                self.number, self.began = self._start_number, False
                self._kept = []
                for k in range(len(self.workers)):
                    self.workers.replace(k)

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
        return self._with_state(self._collect_weights)

    def _collect_weights(self) -> Weights:
        out = aligned_zeros(self.engine.skeleton.layout.n_weights)
        for block in self.blocks:
            out[slice(*block.weights)] = self.workers.one(
                0,
                lambda worker, _: worker.weights.remote(block),  # noqa: B023
            )
        return self.dropout.scale(out)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is needed to continue training, by name; kept for the death of all workers."""
        self._start, self._start_number = self._with_state(self._collect_state), self.number
        return {**self._start, ROUNDS: np.array([self.number], np.int64)}

    def _collect_state(self) -> dict[str, NDArray[np.float32]]:
        state = new_state(self.engine.skeleton.layout, self.algorithm)
        for block in self.blocks:
            part = self.workers.one(0, lambda worker, _: worker.state.remote([block]))  # noqa: B023
            for name, array in part.items():
                block.of(name, state[name])[:] = array
        return state

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
