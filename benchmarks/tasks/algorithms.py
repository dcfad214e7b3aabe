"""Seconds per pass, algorithm by algorithm, beside CRFsuite and Wapiti, on CoNLL-2000 chunking.

CRFsuite keeps only the pairs of feature and label seen in training, except with all weights:
adaptag and Wapiti keep all. An iteration of L-BFGS can take more than one look at the data; the
fastest takes one. An iteration of Wapiti includes its evaluation of the training data.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from contestants import Contestant
from history import Figure
from suite import Context, measurement

from tasks.conll2000 import ALL_TRANSITIONS, train

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL_WEIGHTS = (*ALL_TRANSITIONS, "feature.possible_states=1")
ITERATIONS, PASSES = 8, 5
PERCEPTRON = "averaged-perceptron"


def own(algorithm: str, passes: int, threads: int = 1) -> Contestant:
    settings = ("--threads", str(threads))
    return Contestant(f"adaptag {algorithm}", "adaptag", algorithm, settings, passes, cores=threads)


# The name of the figure, adaptag, and the peer; the peer's name is that of the figure's peer.
PAIRS = [
    (
        PERCEPTRON,
        own(PERCEPTRON, PASSES),
        Contestant("CRFsuite ap", "crfsuite", "ap", ALL_TRANSITIONS),
    ),
    ("pa", own("pa", PASSES), Contestant("CRFsuite pa", "crfsuite", "pa", ALL_TRANSITIONS)),
    ("sgd", own("sgd", PASSES), Contestant("CRFsuite l2sgd", "crfsuite", "l2sgd", ALL_TRANSITIONS)),
]
LBFGS = [
    (
        "lbfgs, 1 thread, beside CRFsuite",
        own("lbfgs", ITERATIONS),
        Contestant("CRFsuite lbfgs, all weights", "crfsuite", "lbfgs", ALL_WEIGHTS, ITERATIONS),
    ),
    (
        "lbfgs, 1 thread, beside Wapiti",
        own("lbfgs", ITERATIONS),
        Contestant("Wapiti l-bfgs, 1 thread", "wapiti", "l-bfgs", ("1",), ITERATIONS),
    ),
    (
        "lbfgs, 2 threads, beside Wapiti",
        own("lbfgs", ITERATIONS, threads=2),
        Contestant("Wapiti l-bfgs, 2 threads", "wapiti", "l-bfgs", ("2",), ITERATIONS, cores=2),
    ),
]


def per_pass(context: Context, pairs: list[tuple[str, Contestant, Contestant]]) -> Iterator[Figure]:
    """The fastest pass of each; all take turns."""
    contestants = {c.name + str(c.cores): c for _, *both in pairs for c in both}
    found = context.turns(
        {
            name: lambda c=c: {"s": train(context, c, c.passes).per_pass}
            for name, c in contestants.items()
        },
        repeats=min(2, context.repeats),
    )
    for name, ours, peer in pairs:
        value, other = (found[c.name + str(c.cores)]["s"] for c in (ours, peer))
        yield Figure(f"algorithms/seconds per pass/{name}", value, "s", "lower", peer.name, other)


@measurement("algorithms/online")
def online(context: Context) -> Iterator[Figure]:
    """Online algorithms on one core."""
    yield from per_pass(context, [(n, a, replace(b, passes=PASSES)) for n, a, b in PAIRS])


@measurement("algorithms/lbfgs")
def lbfgs(context: Context) -> Iterator[Figure]:
    """L-BFGS at equal weights, per iteration."""
    times = {}
    for figure in per_pass(context, LBFGS):
        times[figure.name.rpartition("/")[2].split(", beside")[0]] = figure.value
        yield figure
    one, two = times["lbfgs, 1 thread"], times["lbfgs, 2 threads"]
    name = "algorithms/seconds per pass/lbfgs, 2 threads"
    yield Figure(name, two, "s", "lower", "1 thread", one)
