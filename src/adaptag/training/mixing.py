"""Training on shards of the data, each by a worker of its own, whose weights are mixed in rounds.

In a round every worker starts from the same weights and trains on some sentences of its shard.
Then the weights are mixed. A row of weights, which moved by d_k in worker k, moves by

    d = f Σ_k d_k,    f = log(1 + c Σ_k s_k) / Σ_k log(1 + c s_k)

where s_k is the sum of the step sizes of its updates. Where few updates of a rare feature were
made, f is nearly 1 and the moves add up, as if one worker had made all of them; a feature that one
worker alone has seen is never diluted. Where each worker moved a weight to what is best for its
shard, f is nearly 1 / K and the moves are averaged.

ADF's rates fall in each worker with the windows of its shard, as many in a pass as for the whole
data, and are averaged: the decay of a window is linear in the frequency, so their mean is that of
all sentences. All that a round needs is mixed: workers keep nothing for the next one, and what a
worker does depends on its shard, the mixed state, and the number of the round alone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.dataset.dropout import Dropout
from adaptag.errors import ParameterError
from adaptag.training.arrays import aligned_zeros
from adaptag.training.online import Trainer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag._native import core
    from adaptag.dataset.encoded import Examples
    from adaptag.settings import Value
    from adaptag.training.declarations import Algorithm

    Floats = NDArray[np.float32]
    Arrays = dict[str, Floats]

__all__ = ["Block", "Progress", "ShardTraining", "blocks_of", "mix", "mixing_factor", "new_state"]

SATURATION = 1.0  # c: how fast the moves of frequent features turn from a sum to a mean
FEWEST_IN_WINDOW = 100  # sentences in a window of ADF, as in adf_windows.hpp
WINDOWS = 10  # of ADF in a pass, unless the window is given
AVERAGING = ("averaged-perceptron", "pa", "dca")
# The arrays of the mixed state.
WEIGHTS, AVERAGE, RATE, PRECISION = "weights", "average", "rate", "precision"
# Further arrays of what a worker hands in: the step sizes of each row, and averaged weights.
STEPS, READING = "steps", "reading"
PER_ROW = (RATE, STEPS)


@dataclass(frozen=True)
class Block:
    """Rows of weights of the same kind that lie one behind the other.

    Attributes:
        rows: The first row, and the end.
        weights: The first weight, and the end.
        row_size: The weights of a row.
    """

    rows: tuple[int, int]
    weights: tuple[int, int]
    row_size: int

    def of(self, name: str, array: Floats) -> Floats:
        """The block's part of an array."""
        begin, end = self.rows if name in PER_ROW else self.weights
        return array[begin:end]


def blocks_of(layout: core.Layout, most: int) -> list[Block]:
    """Divide the rows of a layout into blocks of at most ``most`` weights, or one row."""
    edge = layout.n_labels * layout.width
    kinds = (
        (layout.n_node, layout.width),
        (layout.n_both, layout.width + edge),
        (layout.n_edge, edge),
    )
    blocks, row, weight = [], 0, 0
    for n, size in kinds:
        step = max(1, most // size)
        for first in range(0, n, step):
            k = min(step, n - first)
            blocks.append(Block((row, row + k), (weight, weight + k * size), size))
            row, weight = row + k, weight + k * size
    return blocks


def new_state(examples: Examples, algorithm: Algorithm, start: Floats | None = None) -> Arrays:
    """The mixed state before the first round."""
    layout = examples.layout
    names = [WEIGHTS]
    names += [AVERAGE] if algorithm.name in AVERAGING else []
    names += [PRECISION] if algorithm.per_weight_state == PRECISION else []
    state = {name: aligned_zeros(layout.n_weights) for name in names}
    if algorithm.name == "adf":
        state[RATE] = aligned_zeros(layout.n_predicates)  # 0 stands for the initial rate
    if start is not None:
        state[WEIGHTS][:] = start
    return state


def mixing_factor(steps: Sequence[Floats], saturation: float = SATURATION) -> Floats:
    """The factor f of each row, from the sums of step sizes in each worker."""
    alone = np.sum([np.log1p(saturation * s) for s in steps], axis=0)
    together = np.log1p(saturation * np.sum(steps, axis=0))
    out: Floats = np.divide(together, alone, out=np.ones_like(together), where=alone > 0)
    return out


def mix(changes: Sequence[Mapping[str, Floats]], row_size: int, rounds: int) -> Arrays:
    """Mix what workers hand in for a block: how its part of the mixed state changes.

    Args:
        changes: For each worker, in order, the arrays of its ``change``.
        row_size: The weights of a row of the block.
        rounds: The number of rounds before this one.
    """
    factor = mixing_factor([change[STEPS] for change in changes])[:, None]

    def moved(name: str) -> Floats:
        total = changes[0][name].copy()
        for change in changes[1:]:
            total += change[name]
        total.reshape(-1, row_size)[:] *= factor
        return total

    out = {WEIGHTS: moved(WEIGHTS)}
    first = changes[0]
    if RATE in first:
        out[RATE] = np.mean([change[RATE] for change in changes], axis=0, dtype=np.float32)
    if PRECISION in first:
        out[PRECISION] = np.sum([change[PRECISION] for change in changes], axis=0)
    if READING in first:
        out[AVERAGE] = moved(READING)
        out[AVERAGE] /= rounds + 1
    return out


@dataclass(frozen=True)
class Progress:
    """What a worker did in a round.

    Attributes:
        loss: The sum of losses.
        correct: The expected number of correct labels.
        tokens: The number of tokens.
        sentences: The number of sentences.
        seconds: The time of training.
    """

    loss: float
    correct: float
    tokens: int
    sentences: int
    seconds: float

    def __add__(self, other: Progress) -> Progress:
        return Progress(
            self.loss + other.loss,
            self.correct + other.correct,
            self.tokens + other.tokens,
            self.sentences + other.sentences,
            max(self.seconds, other.seconds),
        )


class ShardTraining:
    """The training of one worker on its shard.

    Attributes:
        state: The mixed state that a round starts from.
        rounds: The number of finished rounds.
    """

    def __init__(
        self,
        examples: Examples,
        algorithm: Algorithm,
        parameters: Mapping[str, Value],
        *,
        shard: int,
        n_sentences: int,
        seed: int,
        rounds_per_pass: int = 1,
        start: Floats | None = None,
    ) -> None:
        """Allocate the state.

        Args:
            examples: The sentences of the shard.
            algorithm: An online algorithm.
            parameters: All of its parameters, those of the training on the whole data.
            shard: The number of the shard.
            n_sentences: The sentences of all shards that have tokens.
            seed: The seed of the order of sentences.
            rounds_per_pass: How often weights are mixed in a pass.
            start: The initial weights.
        """
        check_parameters(algorithm, parameters)
        self.algorithm, self.shard, self.seed = algorithm, shard, seed
        self.rounds_per_pass, self.rounds = rounds_per_pass, 0
        self.examples, self.layout = examples, examples.layout
        lengths = np.diff(examples.encoded.sentences)
        self.sentences = np.flatnonzero(lengths > 0).astype(np.uint32)
        self.dropout = Dropout(examples, float(parameters["dropout"]))
        self.state = new_state(examples, algorithm, start)
        if start is not None:
            self.dropout.scale(self.state[WEIGHTS], inverse=True)
        values = _of_shard(parameters, len(self.sentences), n_sentences)
        if algorithm.name == "adf":
            values |= self._windows(values, n_sentences)
        self.trainer = Trainer(examples, algorithm, values)
        self._change: Arrays = {}
        self._firings: Floats | None = None

    def _windows(self, values: Mapping[str, Value], n: int) -> dict[str, Value]:
        """ADF's windows: whole ones in a round, with decays that come to the same in a pass."""
        q = float(values["window"]) or max(FEWEST_IN_WINDOW, n // WINDOWS)
        in_a_pass = max(1.0, n / q)
        in_a_round = max(1, round(in_a_pass / self.rounds_per_pass))
        power = in_a_pass / (in_a_round * self.rounds_per_pass)
        length = -(-len(self.sentences) // self.rounds_per_pass)
        return {
            "window": max(1, -(-length // in_a_round)),
            "alpha": float(values["alpha"]) ** power,
            "beta": float(values["beta"]) ** power,
        }

    def run(self, number: int) -> Progress:
        """Train on the sentences of a round, from the mixed state; ``change`` gives the outcome."""
        one_pass, part = divmod(number, self.rounds_per_pass)
        rng = np.random.default_rng([self.seed, self.shard, one_pass])
        order = rng.permutation(self.sentences)
        order = np.array_split(order, self.rounds_per_pass)[part]
        self._begin(number)
        if self.dropout.probability:
            self.trainer.use(self.dropout.in_pass(one_pass + 1, self.seed, self.shard + 1))
        begin = time.perf_counter()
        loss, correct, tokens = self.trainer.run(order)
        seconds = time.perf_counter() - begin
        self._finish(order)
        return Progress(loss, correct, tokens, len(order), seconds)

    def _begin(self, number: int) -> None:
        """Start a round from the mixed state alone."""
        trainer = self.trainer
        trainer.arrays()
        trainer.weights[:] = self.state[WEIGHTS]
        trainer.row_state[:] = 0
        trainer.run_state[:] = 0
        if self.algorithm.name == "adf":
            trainer.row_state[RATE] = self.state[RATE]
        else:  # schedules go on
            updates = -(-len(self.sentences) // trainer.batch)
            trainer.run_state["step"] = number * updates // self.rounds_per_pass
        for name, array in trainer.per_weight_state.items():
            if name == PRECISION:
                array[:] = self.state[PRECISION]
            elif name != "scaling":  # MADF's, which follows from the data
                array[:] = 0

    def _finish(self, order: NDArray[np.uint32]) -> None:
        trainer, state = self.trainer, self.state
        reading = trainer.current_weights()
        change: Arrays = {}
        if AVERAGE in state:
            trainer.arrays()
            change[READING] = reading - state[AVERAGE]
            change[WEIGHTS] = trainer.weights - state[WEIGHTS]
        else:
            reading -= state[WEIGHTS]
            change[WEIGHTS] = reading
        if PRECISION in state:
            change[PRECISION] = trainer.per_weight_state[PRECISION] - state[PRECISION]
        firings = self._count(order)
        if RATE in state:
            rate = float(trainer.parameters["rate"])
            before = np.where(state[RATE] > 0, state[RATE], np.float32(rate))
            change[RATE] = self._closed_rates(before, len(order))
            change[STEPS] = firings * _logarithmic_mean(before, change[RATE])
        else:
            change[STEPS] = firings * np.float32(trainer.parameters.get("rate", 1.0))
        self._change = change

    def _closed_rates(self, before: Floats, n: int) -> Floats:
        """ADF's rates with all windows of the round closed, those of rows that did not fire too."""
        rows, values = self.trainer.row_state, self.trainer.parameters
        b = self.trainer.batch
        q = max(1, int(values["window"]) // b)
        alpha, beta = float(values["alpha"]), float(values["beta"])
        touched = (np.maximum(rows["stamp"].astype(np.int64), 1) - 1) // b
        own = np.maximum(touched - 1, 0) // q  # the window of the last touch
        last = max(0, (n - 1) // b - 1) // q
        share = np.minimum(rows["count"] / (q * b), 1)
        rate = np.where(rows["rate"] > 0, rows["rate"], before)
        closed: Floats = rate * (alpha - share * (alpha - beta)) * alpha ** (last - own)
        return closed.astype(np.float32)

    def _count(self, order: NDArray[np.uint32]) -> Floats:
        """How often each predicate fires in some sentences."""
        if self._firings is not None:
            return self._firings
        e, n = self.examples.encoded, self.layout.n_predicates
        if len(order) == len(self.sentences):
            predicates = e.predicates
        else:
            predicates = self.examples.select(order.astype(np.int64)).encoded.predicates
        counts = np.bincount(predicates, minlength=n).astype(np.float32)
        if self.examples.always is not None:
            counts[self.examples.always] += len(order)
        if len(order) == len(self.sentences):
            self._firings = counts
        return counts

    def change(self, block: Block) -> Arrays:
        """What the worker hands in for a block after a round."""
        return {name: block.of(name, array) for name, array in self._change.items()}

    def apply(self, block: Block, mixed: Mapping[str, Floats]) -> None:
        """Take over the mixed state of a block."""
        for name, array in mixed.items():
            part = block.of(name, self.state[name])
            if name == RATE:
                part[:] = array
            else:
                part += array

    def end_round(self) -> None:
        """All blocks were taken over."""
        self.rounds += 1
        self._change = {}

    def weights(self, block: Block) -> Floats:
        """A block of the weights as a model needs them, before dropout is made up for."""
        return block.of(WEIGHTS, self.state[AVERAGE if AVERAGE in self.state else WEIGHTS])


def check_parameters(algorithm: Algorithm, parameters: Mapping[str, Value]) -> None:
    """Raise where workers cannot train with these parameters."""
    if not algorithm.online:
        raise ParameterError(f"{algorithm.name} is no online algorithm")
    if float(parameters["orders"]) > 1:
        raise ParameterError("orders is more than 1; allowed: 1, with several workers")
    if algorithm.name == "sgd" and float(parameters["average"]) > 0:
        raise ParameterError("average is not 0; allowed: 0, with several workers")


def _of_shard(parameters: Mapping[str, Value], n: int, total: int) -> dict[str, Value]:
    """Parameters with which a pass over n of the sentences regularises as one over all does."""
    values = dict(parameters)
    if "sigma" in values:
        values["sigma"] = float(values["sigma"]) * float(np.sqrt(total / max(1, n)))
    if "l1" in values:
        values["l1"] = float(values["l1"]) * n / max(1, total)
    return values


def _logarithmic_mean(a: Floats, b: Floats) -> Floats:
    """The mean of what falls exponentially from a to b."""
    ratio = np.log(np.maximum(a, 1e-30) / np.maximum(b, 1e-30))
    near = np.abs(ratio) < 1e-3
    out: Floats = np.where(near, (a + b) / 2, (a - b) / np.where(near, 1, ratio))
    return out.astype(np.float32)


def rounds(passes: int, rounds_per_pass: int) -> Iterator[tuple[int, list[int]]]:
    """The passes, each with the numbers of its rounds."""
    for number in range(passes):
        first = number * rounds_per_pass
        yield number + 1, list(range(first, first + rounds_per_pass))


def together(progress: Sequence[Any]) -> Progress:
    """What all workers did."""
    total = progress[0]
    for one in progress[1:]:
        total = total + one
    return total
