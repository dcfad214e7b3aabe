"""The training algorithms as their papers print them: every weight is touched at every update.

An oracle is given a problem and the order of each pass, and yields an ``Update`` after each group
of ``batch`` sentences. Inside, all weights are one vector w, as in the papers; N is the number of
updates in a pass, t counts updates, and λ = 1 / (Nσ²). All sentences of a group are looked at
before the update; their steps add up, but for CW, which takes their mean.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tests.reference.crf import (
    Weights,
    agreeing,
    best_path,
    constrained,
    features,
    forward_backward,
    lead,
    loss_and_gradient,
    scores,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from tests.reference.crf import Position, Scores
    from tests.reference.data import Problem

    Vector = NDArray[np.float64]
    Passes = Sequence[Sequence[int]]
    Oracle = Callable[..., Iterator["Update"]]


class Start(NamedTuple):
    """Where training starts from, unless with zeros."""

    w: Vector
    t: int = 0  # the first update, for schedules
    rates: Vector | None = None  # γ of each predicate, ADF's
    precision: Vector | None = None  # 1/Σ of each weight


class Update(NamedTuple):
    """What an update leaves, and the totals of its group, taken before it."""

    weights: Weights  # as given back: averaged where the algorithm averages
    loss: float
    correct: float
    tokens: int
    state: dict[str, Vector] = {}  # noqa: RUF012  # w without averaging, and what else goes on


class Sample(NamedTuple):
    """What one sentence gives at some weights."""

    loss: float
    correct: float
    tokens: int
    step: Vector  # its direction, or what it alone would add to w


class Mistake(NamedTuple):
    """The best path ŷ against the gold path y; where they are the same, x is 0."""

    x: Vector  # φ(y) − φ(ŷ)
    margin: float  # s(y) − s(ŷ)
    hamming: int  # labels of ŷ that are wrong
    tokens: int
    clear: bool  # whether float32 finds the same ŷ

    @property
    def loss(self) -> float:
        return self.hamming - self.margin

    def decided(self) -> Mistake:
        assert self.clear, "a near tie: take another seed"
        return self

    def sample(self, loss: float, step: Vector) -> Sample:
        return Sample(max(0.0, loss), self.tokens - self.hamming, self.tokens, step)


# ---- what they share ----------------------------------------------------------------------------


def vector(problem: Problem, w: Weights) -> Vector:
    """Weights as one vector; 0 for those that a predicate's kind does not have."""
    return np.concatenate([part.ravel() for part in problem.masked(w)])


def shaped(problem: Problem, w: Vector) -> Weights:
    """The inverse of ``vector``."""
    node, edge = problem.zeros()
    return Weights(w[: node.size].reshape(node.shape), w[node.size :].reshape(edge.shape))


def predicate_of_weight(problem: Problem) -> NDArray[np.int64]:
    return np.concatenate([np.indices(part.shape)[0].ravel() for part in problem.zeros()])


def phi(problem: Problem, sentence: Sequence[Position], path: Sequence[int]) -> Vector:
    """φ(x, y)."""
    return vector(problem, features(sentence, path, problem.zeros()))


def phi_of_known(problem: Problem, sentence: Sequence[Position], labels: Sequence[int]) -> Vector:
    """φ(x, y) over the labels, and pairs of labels, that are known."""
    found = problem.zeros()
    for t, y in enumerate(labels):
        for predicate, value in sentence[t]:
            if y >= 0:
                found.node[predicate, y] += value
            if t > 0 and min(y, labels[t - 1]) >= 0:
                found.edge[predicate, labels[t - 1], y] += value
    return vector(problem, found)


def groups(
    problem: Problem, passes: Passes, batch: float, start: Start | None = None
) -> Iterator[tuple[int, list[int]]]:
    """Number and sentences of each update; sentences without tokens count nowhere."""
    t = 0 if start is None else start.t
    for order in passes:
        kept = [int(i) for i in order if problem.sentences[i]]
        for first in range(0, len(kept), int(batch)):
            yield t, kept[first : first + int(batch)]
            t += 1


def first_weights(problem: Problem, start: Start | None) -> Vector:
    """The weights before the first update."""
    return vector(problem, problem.zeros()) if start is None else start.w


def starts_group(problem: Problem, t: int, delay: int) -> bool:
    """Whether update t, of one sentence, is the first of a group: groups end with the pass."""
    return t % sum(1 for sentence in problem.sentences if sentence) % delay == 0


def updates_per_pass(problem: Problem, batch: float) -> int:
    """N."""
    return -(-len(problem) // int(batch))


def regularisation(problem: Problem, sigma: float, batch: float) -> float:
    """λ."""
    return 1 / (updates_per_pass(problem, batch) * sigma**2)


def automatic_period(problem: Problem, batch: float, shrink: float) -> int:
    """Updates between two regularisations: cheap, once in a pass, by no more than a quarter."""
    n_updates = updates_per_pass(problem, batch)
    firings = sum(len(position) for sentence in problem.sentences for position in sentence)
    cheap = 8 * sum(problem.n_of_kind) * n_updates / max(1, firings)
    return int(max(1, min(n_updates, cheap, 0.25 / shrink if shrink else np.inf)))


def schedule_of(
    problem: Problem, schedule: str, rate: float, decay: float, batch: float
) -> Callable[[int], float]:
    """γ_t."""
    n_updates = updates_per_pass(problem, batch)
    return {
        "exponential": lambda t: rate * decay ** (t / n_updates),
        "harmonic": lambda t: rate / (1 + t / n_updates),
    }[schedule]


def likelihood(problem: Problem, i: int, w: Vector) -> Sample:
    """−log P(y_i | x_i, w), the sum of P(gold label), and ∇ log P."""
    sentence, gold, weights = problem.sentences[i], problem.labels[i], shaped(problem, w)
    loss, of_loss = loss_and_gradient(sentence, gold, weights, problem.legal)
    node_p = forward_backward(constrained(scores(sentence, weights), problem.legal)).node
    known = [(t, y) for t, y in enumerate(gold) if y >= 0]
    correct = sum(node_p[t, y] for t, y in known)
    return Sample(loss, correct, len(known), -vector(problem, of_loss))


def decision(scored: Callable[[Vector], Scores], w: Vector) -> tuple[Sequence[int], bool]:
    """The best path, and whether float32 finds the same: it leads, or ties are exact."""
    found, by = best_path(scored(w)), lead(scored(w))
    exact = by < 1e-12 and best_path(scored(np.float64(np.float32(w)))) == found
    return found, by > 2e-5 or exact


def mistake(problem: Problem, i: int, w: Vector, cost: float) -> Mistake:
    """ŷ = argmax s(y') + cost · Hamming(y, y'); the best path that agrees completes y.

    Only labels that are known can be wrong.
    """
    sentence, gold = problem.sentences[i], problem.labels[i]
    known = [(t, y) for t, y in enumerate(gold) if y >= 0]

    def plain(w: Vector) -> Scores:
        return constrained(scores(sentence, shaped(problem, w)), problem.legal)

    def completed(w: Vector) -> Scores:
        return constrained(plain(w), allowed=agreeing(problem.labels[i], problem.n_labels))

    gold, firm = (gold, True) if -1 not in gold else decision(completed, w)

    def augmented(w: Vector) -> Scores:
        s = plain(w)
        for t, y in known:
            s.node[t] += cost
            s.node[t, y] -= cost
        return s

    found, clear = decision(augmented, w)
    x = phi(problem, sentence, gold) - phi(problem, sentence, found)
    hamming = sum(found[t] != y for t, y in known)
    return Mistake(x, float(w @ x), hamming, len(known), clear and firm)


def weighted(problem: Problem, i: int, sample: Sample) -> Sample:
    """What a sentence gives, its loss and step multiplied by the sentence's weight."""
    weight = problem.weight(i)
    return sample._replace(loss=weight * sample.loss, step=weight * sample.step)


def total(samples: Sequence[Sample]) -> Vector:
    return np.sum([sample.step for sample in samples], axis=0)


def update(problem: Problem, w: Vector, samples: Sequence[Sample], **state: Vector) -> Update:
    loss, correct, tokens = (sum(column) for column in list(zip(*samples, strict=True))[:3])
    return Update(shaped(problem, w), loss, correct, tokens, {"w": w, **state})


def averaged(updates: Iterator[Update], first: int = 0) -> Iterator[Update]:
    """The mean of the weights after each update t ≥ first; until there is one, the weights."""
    node, edge, count = 0.0, 0.0, 0
    for t, one in enumerate(updates):
        if t >= first:
            node, edge, count = node + one.weights.node, edge + one.weights.edge, count + 1
        yield one._replace(weights=Weights(node / count, edge / count)) if count else one


# ---- likelihood ---------------------------------------------------------------------------------


def adf(
    problem: Problem,
    passes: Passes,
    *,
    rate: float,
    sigma: float,
    alpha: float,
    beta: float,
    window: float,
    batch: float,
    delay: int = 1,
    start: Start | None = None,
) -> Iterator[Update]:
    """Figure 1 of Sun et al. (2014); v counts sentences, a window is whole updates.

    With a delay, gradients of a group of so many updates are those of weights that lack the
    gradients of the group, as in threads that train on documents.
    """
    q = max(1, (int(window) or max(100, len(problem) // 10)) // int(batch))
    shrink, row = regularisation(problem, sigma, batch), predicate_of_weight(problem)
    w = first_weights(problem, start)
    v, gamma = np.zeros(row.max() + 1), np.full(row.max() + 1, rate)
    if start is not None and start.rates is not None:
        gamma = start.rates
    seen = w
    for t, group in groups(problem, passes, batch, start):
        seen = w if starts_group(problem, t, delay) else seen
        for i in group:
            v[list({p for position in problem.sentences[i] for p, _ in position})] += 1
        if t > 0 and t % q == 0:
            u = np.minimum(1, v / (q * int(batch)))  # the first window holds q + 1 updates
            gamma = (alpha - u * (alpha - beta)) * gamma
            v = np.zeros_like(v)
        samples = [weighted(problem, i, likelihood(problem, i, seen)) for i in group]
        w = w * (1 - shrink * gamma[row]) + gamma[row] * total(samples)
        seen = seen * (1 - shrink * gamma[row])
        yield update(problem, w, samples, gamma=gamma, v=v, open=np.array([t == 0 or t % q]))


def sgd(
    problem: Problem,
    passes: Passes,
    *,
    rate: float,
    sigma: float,
    schedule: str,
    decay: float,
    period: float,
    average: float,
    batch: float,
    delay: int = 1,
    start: Start | None = None,
) -> Iterator[Update]:
    """Tsuruoka et al. (2009), equations 5 and 6, with an L2 prior; or as Bordes et al. (2009)."""
    if schedule == "bordes":
        plain = scaled_sgd(problem, passes, 1.0, 1.0, rate, sigma, period, batch, delay, start)
    else:
        rates = schedule_of(problem, schedule, rate, decay, batch)
        plain = decayed_sgd(problem, passes, rates, sigma, batch, delay, start)
    first = (int(average) - 1) * updates_per_pass(problem, batch)
    return averaged(plain, first) if average else plain


def decayed_sgd(
    problem: Problem,
    passes: Passes,
    rates: Callable[[int], float],
    sigma: float,
    batch: float,
    delay: int = 1,
    start: Start | None = None,
) -> Iterator[Update]:
    shrink = regularisation(problem, sigma, batch)
    w = seen = first_weights(problem, start)
    for t, group in groups(problem, passes, batch, start):
        seen = w if starts_group(problem, t, delay) else seen
        gamma = rates(t)
        samples = [weighted(problem, i, likelihood(problem, i, seen)) for i in group]
        w = w * (1 - shrink * gamma) + gamma * total(samples)
        seen = seen * (1 - shrink * gamma)
        yield update(problem, w, samples)


def scaled_sgd(
    problem: Problem,
    passes: Passes,
    scale: Vector | float,
    largest: float,
    rate: float,
    sigma: float,
    period: float,
    batch: float,
    delay: int = 1,
    start: Start | None = None,
) -> Iterator[Update]:
    """Bordes et al. (2009): a fixed diagonal B, at most ``largest``, and rare regularisation."""
    shrink = regularisation(problem, sigma, batch)
    every = int(period) or automatic_period(problem, batch, shrink * rate * largest)
    w = seen = first_weights(problem, start)
    for t, group in groups(problem, passes, batch, start):
        seen = w if starts_group(problem, t, delay) else seen
        eta = rate / (1 + shrink * rate * t)
        samples = [weighted(problem, i, likelihood(problem, i, seen)) for i in group]
        w = w + eta * scale * total(samples)
        if (t + 1) % every == 0:
            w, seen = (x * (1 - every * shrink * eta * scale) for x in (w, seen))
        yield update(problem, w, samples)


def madf(
    problem: Problem,
    passes: Passes,
    *,
    rate: float,
    sigma: float,
    lower: float,
    upper: float,
    period: float,
    batch: float,
    start: Start | None = None,
) -> Iterator[Update]:
    """He and Wang (2012), equations 14 and 15: B from how often the gold labels fire a feature."""
    counts = vector(problem, problem.zeros())
    for sentence, gold in zip(problem.sentences, problem.labels, strict=True):
        fired = [[(predicate, 1.0) for predicate, _ in position] for position in sentence]
        counts += phi_of_known(problem, fired, gold)
    frequency = counts / sum(map(len, problem.labels))
    scale = 1 / (1 / upper + (1 / lower - 1 / upper) * frequency)
    return scaled_sgd(problem, passes, scale, upper, rate, sigma, period, batch, start=start)


def sgd_l1(
    problem: Problem,
    passes: Passes,
    *,
    rate: float,
    l1: float,
    penalty: str,
    schedule: str,
    decay: float,
    batch: float,
    start: Start | None = None,
) -> Iterator[Update]:
    """Tsuruoka et al. (2009): sections 3.1 (naive, clipping) and 3.2 (Figure 2)."""
    rates = schedule_of(problem, schedule, rate, decay, batch)
    w = first_weights(problem, start)
    u, q = 0.0, np.zeros_like(w)  # the penalty that a weight could have had, and has had
    for t, group in groups(problem, passes, batch, start):
        eta = rates(t)
        delta = eta * l1 / updates_per_pass(problem, batch)
        samples = [weighted(problem, i, likelihood(problem, i, w)) for i in group]
        z = w + eta * total(samples)
        if penalty == "naive":
            near = (w != 0) & (abs(w) < 2e-7)  # float32 may find another sign
            assert not near.any() or delta < 5e-7, "nearly 0: take another seed"
            w = z - delta * np.sign(w)
        elif penalty == "clipping":
            w = np.where(z > 0, np.maximum(0, z - delta), np.minimum(0, z + delta))
        else:
            u += delta
            w = np.where(z > 0, np.maximum(0, z - (u + q)), z)
            w = np.where(z < 0, np.minimum(0, z + (u - q)), w)
            q = q + (w - z)
        yield update(problem, w, samples)


def dca(
    problem: Problem,
    passes: Passes,
    *,
    aggressiveness: float,
    batch: float,
    start: Start | None = None,
) -> Iterator[Update]:
    """Martins et al. (2010) for CRFs: He and Wang (2012), equations 8 and 9."""

    def sample(i: int, w: Vector) -> Sample:
        one = likelihood(problem, i, w)
        square = one.step @ one.step
        tau = min(aggressiveness, one.loss / square) if square > 0 else 0.0
        return one._replace(step=tau * one.step)

    return averaged(additive(problem, passes, batch, sample, start))


# ---- best paths ---------------------------------------------------------------------------------


def additive(
    problem: Problem,
    passes: Passes,
    batch: float,
    sample: Callable[[int, Vector], Sample],
    start: Start | None = None,
) -> Iterator[Update]:
    """To w comes what each sentence would add."""
    w = first_weights(problem, start)
    for _, group in groups(problem, passes, batch):
        samples = [weighted(problem, i, sample(i, w)) for i in group]
        w = w + total(samples)
        yield update(problem, w, samples)


def perceptron(
    problem: Problem, passes: Passes, *, batch: float, start: Start | None = None
) -> Iterator[Update]:
    """Collins (2002), Figure 1."""

    def sample(i: int, w: Vector) -> Sample:
        m = mistake(problem, i, w, cost=0).decided()
        return m.sample(-m.margin, m.x)

    return additive(problem, passes, batch, sample, start)


def averaged_perceptron(
    problem: Problem, passes: Passes, *, batch: float, start: Start | None = None
) -> Iterator[Update]:
    """Collins (2002), section 2.3."""
    return averaged(perceptron(problem, passes, batch=batch, start=start))


def pa(
    problem: Problem,
    passes: Passes,
    *,
    aggressiveness: float,
    variant: str,
    batch: float,
    start: Start | None = None,
) -> Iterator[Update]:
    """Crammer et al. (2006), Figure 1; He and Wang (2012), equations 3 to 6."""
    c = aggressiveness

    def sample(i: int, w: Vector) -> Sample:
        m = mistake(problem, i, w, cost=1)
        if m.loss > 2e-5:  # below, ties with the gold path are common, and the step is next to 0
            m.decided()
        square = m.x @ m.x
        if square == 0:
            return m.sample(m.loss, m.x)
        tau = {
            "pa": m.loss / square,
            "pa-1": min(c, m.loss / square),
            "pa-2": m.loss / (square + 1 / (2 * c)),
        }[variant]
        return m.sample(m.loss, tau * m.x)

    return averaged(additive(problem, passes, batch, sample, start))


def confident(
    problem: Problem,
    passes: Passes,
    variance: float,
    batch: float,
    rule: Callable[[Mistake, float], tuple[float, float]],
    *,
    mean: bool = False,
    start: Start | None = None,
) -> Iterator[Update]:
    """A variance Σ for each weight: w ← w + α Σ∘x, 1/Σ ← 1/Σ + β x²; a rule gives α and β.

    All rules of a group are asked at the weights and variances before it.
    """
    w = first_weights(problem, start)
    sigma = np.full_like(w, variance)
    if start is not None and start.precision is not None:
        sigma = 1 / start.precision
    for _, group in groups(problem, passes, batch):
        mistakes = [mistake(problem, i, w, cost=1).decided() for i in group]
        steps = [rule(m, float(sigma @ m.x**2)) for m in mistakes]
        for i, m, (alpha, beta) in zip(group, mistakes, steps, strict=True):
            share = problem.weight(i) / (len(group) if mean else 1)
            w = w + share * alpha * sigma * m.x
            sigma = 1 / (1 / sigma + share * beta * m.x**2)
        samples = [m.sample(m.loss, m.x) for m in mistakes]
        samples = [weighted(problem, i, s) for i, s in zip(group, samples, strict=True)]
        yield update(problem, w, samples, precision=1 / sigma)


def arow(
    problem: Problem,
    passes: Passes,
    *,
    variance: float,
    gamma: float,
    batch: float,
    start: Start | None = None,
) -> Iterator[Update]:
    """Crammer, Kulesza, Dredze (2009), Figure 1, with the Hamming distance for the margin of 1."""

    def rule(m: Mistake, v: float) -> tuple[float, float]:
        return m.loss / (v + gamma), 1 / gamma

    return confident(problem, passes, variance, batch, rule, start=start)


def cw(
    problem: Problem,
    passes: Passes,
    *,
    variance: float,
    confidence: float,
    batch: float,
    start: Start | None = None,
) -> Iterator[Update]:
    """Crammer, Dredze, Pereira (2008): "CW-Stdev"."""
    phi = NormalDist().inv_cdf(confidence)
    psi, xi = 1 + phi**2 / 2, 1 + phi**2

    def rule(m: Mistake, v: float) -> tuple[float, float]:
        if v == 0:
            return 0.0, 0.0
        root = np.sqrt(m.margin**2 * phi**4 / 4 + v * phi**2 * xi)
        alpha = max(0.0, (-m.margin * psi + root) / (v * xi))
        # √u = ½ (−αvφ + √(α²v²φ² + 4v)), without the difference
        root_u = 2 * v / (alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v))
        return alpha, alpha * phi / root_u

    return confident(problem, passes, variance, batch, rule, mean=True, start=start)


ORACLES: dict[str, Oracle] = {
    "adf": adf,
    "madf": madf,
    "sgd": sgd,
    "sgd-l1": sgd_l1,
    "perceptron": perceptron,
    "averaged-perceptron": averaged_perceptron,
    "pa": pa,
    "dca": dca,
    "arow": arow,
    "cw": cw,
}
