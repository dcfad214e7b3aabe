"""Training on shards as ``training/mixing.py`` states it: loops over rounds, workers and rows.

A worker's round is that of an oracle of ``trainers.py`` on the shard, from the mixed state. Inside,
weights are one vector w, and row[i] is the predicate that weight i belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.reference.trainers import ORACLES, Start, predicate_of_weight, shaped, vector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tests.reference.crf import Weights
    from tests.reference.data import Problem

    Vector = NDArray[np.float64]

C = 1 / 20  # how soon the moves of a feature turn from a sum to a mean
AVERAGING = ("averaged-perceptron", "pa", "dca")
CONFIDENT = ("arow", "cw")


@dataclass
class State:
    """What all workers start a round from."""

    w: Vector
    average: Vector
    rates: Vector | None  # of each predicate
    precision: Vector | None  # of each weight
    rounds: int = 0


@dataclass
class Outcome:
    """What a worker has after a round."""

    w: Vector
    reading: Vector  # averaged over the updates of the round
    rates: Vector | None
    precision: Vector | None
    steps: Vector = field(default_factory=lambda: np.zeros(0))  # s_k of each predicate


def progress(s: float) -> float:
    """g(s) = 1 − 1 / √(1 + c s), without the difference of nearly equal numbers."""
    root = sqrt(1 + C * s)
    return C * s / (root * (root + 1))


def factor(steps: Sequence[float]) -> float:
    """f = g(Σ s_k) / Σ g(s_k); 1 where nobody made a step."""
    below = sum(progress(s) for s in steps)
    return progress(sum(steps)) / below if below > 0 else 1.0


def mixed(state: State, outcomes: Sequence[Outcome], row: NDArray[np.int64]) -> State:
    """The state after a round."""
    k = len(outcomes)
    w, average = state.w.copy(), state.average.copy()
    for i in range(len(w)):
        f = factor([one.steps[row[i]] for one in outcomes])
        w[i] += f * sum(one.w[i] - state.w[i] for one in outcomes)
        of_round = state.w[i] + f * sum(one.reading[i] - state.w[i] for one in outcomes)
        average[i] = (state.rounds * average[i] + of_round) / (state.rounds + 1)
    rates = precision = None
    if state.rates is not None:
        rates = np.sum([one.rates for one in outcomes], axis=0) / k
    if state.precision is not None:
        precision = state.precision.copy()
        for one in outcomes:
            precision += one.precision - state.precision
    return State(w, average, rates, precision, state.rounds + 1)


def logarithmic_mean(a: float, b: float) -> float:
    """The mean of what falls exponentially from a to b."""
    return (a - b) / log(a / b) if abs(log(a / b)) > 1e-9 else a


def windows(n: int, batch: int, q: int) -> int:
    """ADF's windows in n sentences, the last one cut off: the first has q + 1 updates."""
    ends = [t for t in range(1, ceil(n / batch)) if t % q == 0]
    last = ceil(n / batch) - 1
    return len(ends) + (0 if last in ends else 1)


class Shards:
    """Several workers, each with a problem of its own; all have the same predicates."""

    def __init__(
        self, name: str, problems: Sequence[Problem], values: dict[str, Any], seed: int, rounds: int
    ) -> None:
        self.name, self.problems, self.seed, self.rounds = name, problems, seed, rounds
        self.values = values
        self.row = predicate_of_weight(problems[0])
        n = sum(map(len, self.kept))
        self.values_of = [self._scaled(len(kept), n) for kept in self.kept]
        w = vector(problems[0], problems[0].zeros())
        p = sum(problems[0].n_of_kind)
        self.state = State(
            w,
            w,
            np.full(p, float(values["rate"])) if name == "adf" else None,
            np.full(len(w), 1 / float(values["variance"])) if name in CONFIDENT else None,
        )

    @property
    def kept(self) -> list[list[int]]:
        """The sentences of each shard that have tokens."""
        return [[i for i, s in enumerate(p.sentences) if s] for p in self.problems]

    def _scaled(self, n: int, total: int) -> dict[str, Any]:
        """The parameters of a worker that has n of the sentences.

        Regularisation comes to the same in a pass. Of ADF's windows there are K times fewer.
        """
        values = dict(self.values)
        if "sigma" in values:
            values["sigma"] *= sqrt(total / n)
        if "l1" in values:
            values["l1"] *= n / total
        if self.name == "adf":
            b, length = int(values["batch"]), ceil(n / self.rounds)
            in_a_pass = max(1, total / (values["window"] or max(100, total // 10)))
            in_a_pass /= len(self.problems)
            in_a_round = max(1, round(in_a_pass / self.rounds))
            q = ceil(ceil(length / b) / in_a_round)
            power = in_a_pass / (windows(length, b, q) * self.rounds)
            values |= {"window": q * b, "alpha": values["alpha"] ** power}
            values["beta"] **= power
        return values

    def order(self, k: int, number: int) -> list[int]:
        """The sentences of worker k in a round."""
        one_pass, part = divmod(number, self.rounds)
        rng = np.random.default_rng([self.seed, k, one_pass])
        drawn = rng.permutation(np.array(self.kept[k], np.uint32))
        return np.array_split(drawn, self.rounds)[part].tolist()

    def outcome(self, k: int, number: int) -> Outcome:
        """What worker k has after a round."""
        problem, values, state = self.problems[k], self.values_of[k], self.state
        order, batch = self.order(k, number), int(values["batch"])
        updates = ceil(len(self.kept[k]) / batch)  # in a pass
        t = 0 if self.name == "adf" else number * updates // self.rounds
        start = Start(state.w, t, state.rates, state.precision)
        last = [*ORACLES[self.name](problem, [order], start=start, **values)][-1]
        rates = None
        if self.name == "adf":
            rates = last.state["gamma"]
            if last.state["open"][0]:  # the open window is closed
                q = int(values["window"]) // batch
                u = np.minimum(1, last.state["v"] / (q * batch))
                rates = (values["alpha"] - u * (values["alpha"] - values["beta"])) * rates
        outcome = Outcome(
            last.state["w"],
            vector(problem, last.weights),
            rates,
            last.state.get("precision"),
        )
        outcome.steps = self._steps(problem, outcome)
        return outcome

    def _steps(self, problem: Problem, outcome: Outcome) -> Vector:
        """Firings in a mean round times the mean step size: of ADF's rate, the first rate, or 1.

        All times the mean number of features of a token.
        """
        steps = np.zeros(sum(problem.n_of_kind))
        tokens = [position for sentence in problem.sentences for position in sentence]
        per_token = sum(len(position) for position in tokens) / max(1, len(tokens))
        for sentence in problem.sentences:
            for position in sentence:
                for predicate, _ in position:
                    if self.state.rates is not None and outcome.rates is not None:
                        before, after = self.state.rates[predicate], outcome.rates[predicate]
                        steps[predicate] += logarithmic_mean(before, after)
                    else:
                        steps[predicate] += float(self.values.get("rate", 1.0))
        return steps * per_token / self.rounds

    def run(self, number: int) -> list[Outcome]:
        """A round of all workers, which is mixed."""
        outcomes = [self.outcome(k, number) for k in range(len(self.problems))]
        self.state = mixed(self.state, outcomes, self.row)
        return outcomes

    @property
    def weights(self) -> Weights:
        """The weights as a model needs them."""
        state = self.state
        w = state.average if self.name in AVERAGING else state.w
        return shaped(self.problems[0], w)
