"""Training on shards of the data, each by a worker of its own, whose weights are mixed in rounds.

In a round every worker starts from the same weights and trains on some sentences of its shard.
Then the weights are mixed. A row of weights, which moved by d_k in worker k, moves by

    d = f Σ_k d_k,    f = g(Σ_k s_k) / Σ_k g(s_k),    g(s) = 1 − 1 / √(1 + c s)

where s_k is the sum of the step sizes of its updates, times the mean number of features of a token,
as these move its scores together, and g(s) is the share of its way that such steps take a weight;
as g is bounded, moves that all workers made alike do not add up too far. Where few updates of a
rare feature were made, f is nearly 1 and the moves add up, as if one worker had made all of them; a
feature that one worker alone has seen is never diluted. Where each worker moved a weight to what is
best for its shard, f is nearly 1 / K and the moves are averaged.

ADF's rates fall in each worker with the windows of its shard, and are averaged: the decay of a
window is linear in the frequency, so their mean is that of all sentences. As K workers learn less
from a pass than one worker would, a window has as many sentences in each of them as it has on one
machine: there are K times fewer in a pass.

Algorithms that average give the mean over rounds of what each round averages, whose distance from
the weights before the round is mixed as that of the weights. All that a round needs is mixed:
workers keep nothing for the next one, and what a worker does depends on its shard, the mixed state,
and the number of the round alone.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from adaptag.corpus.labels import NO_LABEL
from adaptag.dataset.dropout import Dropout
from adaptag.errors import ParameterError
from adaptag.features.index import Encoded
from adaptag.training.arrays import aligned_zeros
from adaptag.training.online import Trainer
from adaptag.training.orders import PassPart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag._native import core
    from adaptag.dataset.encoded import Examples
    from adaptag.settings import Value
    from adaptag.training.declarations import Algorithm

    Floats = NDArray[np.float32]
    Arrays = dict[str, Floats]

__all__ = [
    "Block",
    "Mixture",
    "ShardTraining",
    "blocks_of",
    "check_parameters",
    "mix",
    "new_state",
    "rounds_for",
]

SATURATION = np.float32(1 / 20)  # c: how soon the moves of a feature turn from a sum to a mean
FEWEST_IN_WINDOW = 100  # sentences in a window of ADF, as in adf_windows.hpp
WINDOWS = 10  # of ADF in a pass, unless the window is given
FEW = 2  # shards, for which one round in a pass is enough
AVERAGING = ("averaged-perceptron", "pa", "dca")
# The arrays of the mixed state.
WEIGHTS, AVERAGE, RATE, PRECISION = "weights", "average", "rate", "precision"
# Further arrays of what a worker hands in: the step sizes of each row, and how far the weights that
# a round averages are from those before it.
STEPS, READING = "steps", "reading"
LOWEST = 1e-37  # of ADF's rates, as in adf_windows.hpp: 0 stands for the initial rate
PROGRESS = "progress"  # Σ g(s_k)
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


def new_state(layout: core.Layout, algorithm: Algorithm, start: Floats | None = None) -> Arrays:
    """The mixed state before the first round; ``start``: the initial weights."""
    names = [WEIGHTS]
    names += [AVERAGE] if algorithm.name in AVERAGING else []
    names += [PRECISION] if algorithm.per_weight_state == PRECISION else []
    state = {name: aligned_zeros(layout.n_weights) for name in names}
    if algorithm.name == "adf":
        state[RATE] = aligned_zeros(layout.n_predicates)  # 0 stands for the initial rate
    if start is not None:
        state[WEIGHTS][:] = start
    return state


class Mixture:
    """What workers hand in for a block, added up in order."""

    def __init__(self, row_size: int) -> None:
        """Begin with no worker; a row of the block has ``row_size`` weights."""
        self.row_size, self.workers = row_size, 0
        self.sums: Arrays = {}

    def add(self, change: Mapping[str, Floats]) -> None:
        """Add what the next worker hands in."""
        arrays = dict(change)
        arrays[PROGRESS] = _progress(change[STEPS])
        if not self.workers:
            self.sums = {name: array.copy() for name, array in arrays.items()}
        else:
            for name, array in arrays.items():
                self.sums[name] += array
        self.workers += 1

    def factor(self) -> Floats:
        """The factor f of each row."""
        together = _progress(self.sums[STEPS])
        alone = self.sums[PROGRESS]
        out: Floats = np.divide(together, alone, out=np.ones_like(together), where=alone > 0)
        return out

    def mixed(self) -> Arrays:
        """What ``ShardTraining.apply`` needs of the block."""
        sums, factor = self.sums, self.factor()[:, None]
        for name in (WEIGHTS, READING):
            if name in sums:
                sums[name].reshape(-1, self.row_size)[:] *= factor
        out = {WEIGHTS: sums[WEIGHTS]}
        if READING in sums:
            out[AVERAGE] = sums[READING]
        if RATE in sums:
            out[RATE] = sums[RATE] / np.float32(self.workers)
        if PRECISION in sums:
            out[PRECISION] = sums[PRECISION]
        return out


def mix(changes: Sequence[Mapping[str, Floats]], row_size: int) -> Arrays:
    """Mix what workers hand in for a block: what ``ShardTraining.apply`` needs.

    Args:
        changes: For each worker, in order, the arrays of its ``change``.
        row_size: The weights of a row of the block.
    """
    mixture = Mixture(row_size)
    for change in changes:
        mixture.add(change)
    return mixture.mixed()


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
        n_shards: int,
        n_sentences: int,
        seed: int,
        rounds_per_pass: int = 1,
        state: Arrays | None = None,
    ) -> None:
        """Allocate the state.

        Args:
            examples: The sentences of the shard.
            algorithm: An online algorithm.
            parameters: All of its parameters, those of the training on the whole data.
            shard: The number of the shard.
            n_shards: The number of shards.
            n_sentences: The sentences of all shards that have tokens.
            seed: The seed of the order of sentences.
            rounds_per_pass: How often weights are mixed in a pass.
            state: The mixed state to start from; by default a new one.
        """
        check_parameters(algorithm, parameters)
        self.algorithm, self.shard, self.seed = algorithm, shard, seed
        self.rounds_per_pass, self.rounds = rounds_per_pass, 0
        self.examples, self.layout = examples, examples.layout
        lengths = np.diff(examples.encoded.sentences)
        self.sentences = np.flatnonzero(lengths > 0).astype(np.uint32)
        self.dropout = Dropout(examples, float(parameters["dropout"]))
        self.state = new_state(self.layout, algorithm) if state is None else state
        values = _of_shard(parameters, len(self.sentences), n_sentences)
        if algorithm.name == "adf":
            values |= self._windows(values, n_sentences, n_shards)
        self.trainer = Trainer(
            examples if len(self.sentences) else _without_features(examples), algorithm, values
        )
        self._change: Arrays = {}
        self._firings = self._count()

    def _windows(self, values: Mapping[str, Value], n: int, shards: int) -> dict[str, Value]:
        """ADF's windows: whole ones in a round, with decays that come to the same in a pass.

        K workers learn less from a pass than one does, so that rates must fall more slowly: a
        window has as many sentences of each worker as it has on one machine.
        """
        q = float(values["window"]) or max(FEWEST_IN_WINDOW, n // WINDOWS)
        in_a_pass = max(1.0, n / q) / shards
        in_a_round = max(1, round(in_a_pass / self.rounds_per_pass))
        b = int(values["batch"])
        updates = -(-len(self.sentences) // (self.rounds_per_pass * b))
        length = max(1, -(-updates // in_a_round))
        in_a_round = 1 + _window(updates - 1, length)  # in few updates there is no room for more
        power = in_a_pass / (in_a_round * self.rounds_per_pass)
        return {
            "window": length * b,
            "alpha": float(values["alpha"]) ** power,
            "beta": float(values["beta"]) ** power,
        }

    def run(self, number: int) -> PassPart:
        """Train on the sentences of a round, from the mixed state; ``change`` gives the outcome.

        Rounds are numbered from 0, through all passes.
        """
        one_pass, part = divmod(number, self.rounds_per_pass)
        rng = np.random.default_rng([self.seed, self.shard, one_pass])
        order = rng.permutation(self.sentences)
        order = np.array_split(order, self.rounds_per_pass)[part]
        self._begin(number)
        if self.dropout.probability and len(order):
            self.trainer.use(self.dropout.in_pass(one_pass + 1, self.seed, self.shard + 1))
        begin = time.perf_counter()
        loss, correct, tokens = self.trainer.run(order)
        seconds = time.perf_counter() - begin
        self._finish(len(order))
        last = part + 1 == self.rounds_per_pass
        return PassPart(loss, correct, tokens, len(order), seconds, last)

    def _begin(self, number: int) -> None:
        """Start a round from the mixed state alone."""
        trainer = self.trainer
        trainer.arrays()
        trainer.weights[:] = self.state[WEIGHTS]
        trainer.row_state[:] = 0
        trainer.run_state[:] = 0
        if self.algorithm.name == "adf":
            trainer.row_state[RATE] = self.state[RATE]
        elif AVERAGE not in self.state:  # schedules go on
            updates = -(-len(self.sentences) // trainer.batch)
            step = number * updates // self.rounds_per_pass
            trainer.run_state["step"] = step
            if trainer.parameters.get("penalty") == "naive":  # rows have paid up to here
                trainer.row_state["paid"] = step
        for name, array in trainer.per_weight_state.items():
            if name == PRECISION:
                array[:] = self.state[PRECISION]
            elif name != "scaling":  # MADF's, which follows from the data
                array[:] = 0

    def _finish(self, n: int) -> None:
        """Note what a round of n sentences has changed."""
        trainer, state = self.trainer, self.state
        trainer.arrays()
        reading = trainer.current_weights()
        reading -= state[WEIGHTS]
        change: Arrays = {}
        if AVERAGE in state:
            change[READING] = reading
            change[WEIGHTS] = trainer.weights - state[WEIGHTS]
        else:
            change[WEIGHTS] = reading
        if PRECISION in state:
            change[PRECISION] = trainer.per_weight_state[PRECISION] - state[PRECISION]
        firings = self._firings
        if RATE in state:
            rate = float(trainer.parameters["rate"])
            before = np.where(state[RATE] > 0, state[RATE], np.float32(rate))
            change[RATE] = self._closed_rates(before, n)
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
        own = touched // q  # the window that is open after the last touch: an update may close one
        last = _window((n - 1) // b, q)
        share = np.minimum(rows["count"] / (q * b), 1)
        rate = np.where(rows["rate"] > 0, rows["rate"], before)
        closed = rate * (alpha - share * (alpha - beta)) * alpha ** (last - own)
        return np.maximum(closed, LOWEST).astype(np.float32)

    def _count(self) -> Floats:
        """How often each predicate fires in a round, times the features of a token; on average."""
        counts = np.bincount(self.examples.encoded.predicates, minlength=self.layout.n_predicates)
        if self.examples.always is not None:
            counts[self.examples.always] += self.examples.n_tokens
        per_token = counts.sum() / max(1, self.examples.n_tokens)
        firings: Floats = (counts * (per_token / self.rounds_per_pass)).astype(np.float32)
        return firings

    def change(self, block: Block) -> Arrays:
        """What the worker hands in for a block after a round."""
        return {name: block.of(name, array) for name, array in self._change.items()}

    def apply(self, block: Block, mixed: Mapping[str, Floats]) -> None:
        """Take over the mixed state of a block; the state before stays until ``end_round``."""
        for name, array in mixed.items():
            part, before = block.of(name, self._next(name)), block.of(name, self.state[name])
            if name == RATE:
                part[:] = array
            elif name == AVERAGE:  # the mean over rounds of the weights before each, and this
                moved = block.of(WEIGHTS, self.state[WEIGHTS]) - before + array
                np.add(before, moved / np.float32(self.rounds + 1), out=part)
            else:
                np.add(before, array, out=part)

    def end_round(self) -> None:
        """Go on to the mixed state, all blocks of which were taken over."""
        for name, array in self.state.items():
            array[:] = self._next(name)
        self.rounds += 1
        self._change = {}

    def _next(self, name: str) -> Floats:
        """Where the next mixed state is put together: in arrays that the next round fills."""
        trainer = self.trainer
        if name == RATE:
            rates: Floats = trainer.row_state[RATE]
            return rates
        if name == WEIGHTS:
            return trainer.weights
        return trainer.per_weight_state[PRECISION if name == PRECISION else "sum"]

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


def _without_features(examples: Examples) -> Examples:
    """One sentence, for a trainer that needs one: a token of which nothing is known."""
    one = np.array([0, 1], np.int64)
    encoded = Encoded(one, np.zeros(2, np.int64), np.empty(0, np.uint32), None)
    return replace(examples, encoded=encoded, labels=np.full(1, NO_LABEL, np.int32))


def _of_shard(parameters: Mapping[str, Value], n: int, total: int) -> dict[str, Value]:
    """Parameters with which a pass over n of the sentences regularises as one over all does."""
    values = dict(parameters)
    if "sigma" in values:
        values["sigma"] = float(values["sigma"]) * float(np.sqrt(total / max(1, n)))
    if "l1" in values:
        values["l1"] = float(values["l1"]) * n / max(1, total)
    return values


def _window(update: int, q: int) -> int:
    """The window of ADF that an update is counted in: the first one holds q + 1 updates."""
    return max(0, update - 1) // q


def _progress(steps: Floats) -> Floats:
    """The share of its way that steps take a weight: g(s), exact for small steps too."""
    out: Floats = -np.expm1(np.log1p(SATURATION * steps) / -2)
    return out


def _logarithmic_mean(a: Floats, b: Floats) -> Floats:
    """The mean of what falls exponentially from a to b."""
    ratio = np.log(np.maximum(a, 1e-30) / np.maximum(b, 1e-30))
    near = np.abs(ratio) < 1e-3
    out: Floats = np.where(near, (a + b) / 2, (a - b) / np.where(near, 1, ratio))
    return out.astype(np.float32)


def rounds_for(shards: int) -> int:
    """How often weights are mixed in a pass by default."""
    return 1 if shards <= FEW else math.ceil(math.sqrt(shards))


def combined(parts: Sequence[PassPart]) -> PassPart:
    """What all workers did in a round, at the same time."""
    return PassPart(
        sum(part.loss for part in parts),
        sum(part.correct for part in parts),
        sum(part.tokens for part in parts),
        sum(part.sentences for part in parts),
        max(part.seconds for part in parts),
        all(part.last for part in parts),
    )
