"""The online algorithms with the parameters they are tested with, and ways to run them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from adaptag.training.algorithms import DATA_PARAMETERS, algorithm, algorithms
from adaptag.training.online import Trainer
from tests.reference.crf import best_path, scores
from tests.reference.data import KINDS, Problem, random_problem
from tests.reference.trainers import ORACLES

TOLERANCE = {"rtol": 2e-5, "atol": 2e-6}  # of float32 after some hundred updates

ONLINE = [name for name, one in algorithms().items() if one.online]
LIKELIHOOD = [name for name in ("adf", "madf", "sgd", "sgd-l1", "dca") if name in ONLINE]

PRIORS = {
    "defaults": {},
    "no prior": {"rate": 0.5, "sigma": math.inf},
    "strong prior": {"rate": 0.5, "sigma": 0.5},
    "very strong prior": {"rate": 0.9, "sigma": 0.4},
}
SCHEDULES = ("exponential", "harmonic", "bordes")
PENALTIES = ("cumulative", "clipping", "naive")
STRENGTHS = {"no": 0.0, "weak": 0.1, "strong": 4.0}
SETTINGS = {
    "adf": PRIORS
    | {
        "fast decay": {"rate": 0.5, "sigma": 1.0, "alpha": 0.9, "beta": 0.5, "window": 7},
        "equal decay": {"rate": 0.5, "sigma": 1.0, "alpha": 0.7, "beta": 0.7, "window": 10},
    },
    "madf": PRIORS
    | {
        "narrow": {"rate": 0.5, "sigma": 1.0, "lower": 0.5, "upper": 2.0},
        "period 1": {"rate": 0.5, "sigma": 0.5, "lower": 0.1, "period": 1},
        "period 3": {"rate": 0.3, "sigma": 0.6, "lower": 0.1, "period": 3},
    },
    "sgd": {
        f"{schedule}, {prior}": {"schedule": schedule} | given
        for schedule, (prior, given) in itertools.product(SCHEDULES, PRIORS.items())
    }
    | {
        f"{schedule}, {prior}, averaged from {k}": {"schedule": schedule, "average": k}
        | PRIORS[prior]
        for schedule, (k, prior) in itertools.product(
            SCHEDULES, [(1, "no prior"), (1, "strong prior"), (3, "very strong prior")]
        )
    }
    | {
        "fast decay": {"rate": 0.5, "sigma": 1.0, "decay": 0.3},
        "no decay": {"rate": 0.1, "sigma": 1.0, "decay": 1.0},
        "averaged from never": {"rate": 0.5, "sigma": 1.0, "average": 1000},
        "period 1": {"rate": 0.5, "sigma": 0.5, "schedule": "bordes", "period": 1},
        "period 3": {"rate": 0.3, "sigma": 0.6, "schedule": "bordes", "period": 3, "average": 2},
    },
    "sgd-l1": {
        f"{penalty}, {schedule}, {strength}": {
            "rate": 0.5,
            "penalty": penalty,
            "schedule": schedule,
            "l1": l1,
        }
        for penalty, schedule, (strength, l1) in itertools.product(
            PENALTIES, ("exponential", "harmonic"), STRENGTHS.items()
        )
    }
    | {f"{penalty}, fast decay": {"penalty": penalty, "decay": 0.3} for penalty in PENALTIES},
    "pa": {
        f"{variant}, {c}": {"variant": variant, "aggressiveness": c}
        for variant, c in itertools.product(("pa-1", "pa", "pa-2"), (0.01, 0.1, 1.0))
    },
    "dca": {f"{c}": {"aggressiveness": c} for c in (0.01, 0.1, 1.0)},
    "arow": {
        "middling": {"gamma": 1.5},
        "timid": {"variance": 0.3, "gamma": 5.0},
        "bold": {"variance": 2.0, "gamma": 0.2},
    },
    "cw": {
        "defaults": {},
        "timid": {"variance": 0.3, "confidence": 0.6},
        "bold": {"variance": 2.0, "confidence": 0.99},
    },
}
CASES = [
    pytest.param(name, given, id=f"{name}, {label}")
    for name in ONLINE
    for label, given in SETTINGS.get(name, {"defaults": {}}).items()
]
FIRMEST = {  # one case each, with as much regularisation as there is
    "rate": 0.5,
    "sigma": 0.5,
    "lower": 0.1,
    "l1": 1.0,
    "aggressiveness": 0.1,
}


def accepted(name, given):
    """The parameters that the algorithm has."""
    return {p.name: given[p.name] for p in algorithm(name).parameters if p.name in given}


def batched(given, batch):
    """Those parameters for groups, whose steps add up: the rate falls as the groups grow."""
    rate = {"rate": given["rate"] / batch} if "rate" in given else {}
    return given | rate | {"batch": batch}


def trainer_of(name, problem, threads=1, **given):
    return Trainer(problem.dataset, algorithm(name), accepted(name, given), threads=threads)


def oracle(name, problem, passes, delay=None, **given):
    """The updates, one after the other; documents in threads are trained on with a delay."""
    values = algorithm(name).values_without_sample(accepted(name, given))
    for parameter in DATA_PARAMETERS:  # they change the data, not the updates
        del values[parameter.name]
    if delay is not None:
        values["delay"] = delay
    return list(ORACLES[name](problem, passes, **values))


def orders(problem, passes, seed=1):
    """A random order for each pass."""
    rng = np.random.default_rng(seed)
    return [rng.permutation(len(problem)).astype(np.uint32) for _ in range(passes)]


def decides(name, given):
    """Whether it follows signs or best paths, so that rounding may turn large steps around."""
    return given.get("penalty") == "naive" or name not in LIKELIHOOD


def with_real_values(problem, seed, *, shared):
    """Any numbers for values, so that sums do not come out equal, or 0, in different ways.

    Where positions share predicates with edges, they may go on to do so.
    """
    rng, drawn = np.random.default_rng([seed, 1]), {}

    def real(pair):
        value = float(np.float32(pair[1] * rng.uniform(0.5, 1.5)))
        return pair[0], drawn.setdefault(id(pair), value) if shared else value

    sentences = [[[*map(real, position)] for position in s] for s in problem.sentences]
    return Problem(problem.n_labels, problem.n_of_kind, sentences, problem.labels)


def with_learnable_labels(problem, seed):
    """Those that some weights give."""
    weights = problem.random_weights(seed)
    labels = [best_path(scores(s, weights)) for s in problem.sentences]
    return Problem(problem.n_labels, problem.n_of_kind, problem.sentences, labels)


def problem_for(
    name, given, seed, n_labels=3, n_of_kind=KINDS["all"], *, values=True, n_sentences, max_length=4
):
    """Random data, with values on which float32 and float64 take the same decisions."""
    problem = random_problem(
        seed, n_labels, n_of_kind, n_sentences=n_sentences, max_length=max_length, values=values
    )
    if name == "cw":  # whose variances else go out of float32's range
        problem = with_learnable_labels(problem, seed)
    if decides(name, given):
        problem = with_real_values(problem, seed, shared=name != "sgd-l1")
    return problem


def assert_equal(problem, flat, expected):
    for found, want in zip(problem.unpack(flat), expected, strict=True):
        np.testing.assert_allclose(found, want, **TOLERANCE)


def check(name, problem, passes, threads=1, **given):
    """Train, and compare with the oracle."""
    trainer = trainer_of(name, problem, threads, **given)
    for order in passes:
        trainer.run(np.array(order, np.uint32))
    expected = oracle(name, problem, passes, **given)[-1].weights
    assert_equal(problem, trainer.current_weights(), expected)
    return trainer
