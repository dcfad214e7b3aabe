"""The learning rate that is found on a sample."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adaptag.training import initial_rate
from adaptag.training.algorithms import algorithm, algorithms
from adaptag.training.initial_rate import find_rate, objective
from adaptag.training.online import Trainer
from tests.reference.crf import loss_and_gradient
from tests.reference.data import random_problem
from tests.unit.making import fit

RATED = [n for n, a in algorithms().items() if any(p.automatic for p in a.parameters)]
every = pytest.mark.parametrize("name", RATED)


def test_every_method_with_a_rate_can_calibrate_it():
    assert RATED == ["adf", "madf", "sgd", "sgd-l1"]


@pytest.mark.parametrize(("sigma", "l1"), [(math.inf, 0), (2.0, 0), (math.inf, 3.0), (2.0, 3.0)])
def test_the_objective_is_that_of_the_papers(sigma, l1):
    problem = random_problem(1, 3, n_sentences=6)
    weights = np.random.default_rng(1).normal(size=problem.dataset.layout.n_weights)
    weights = problem.pack(problem.unpack(weights.astype(np.float32)))
    unpacked = problem.unpack(weights)
    expected = sum(
        loss_and_gradient(s, y, unpacked)[0]
        for s, y in zip(problem.sentences, problem.labels, strict=True)
    )
    expected += float(np.square(weights).sum()) / (2 * sigma**2) + l1 * np.abs(weights).sum()
    found = objective(problem.dataset, weights, {"sigma": sigma, "l1": l1})
    assert found == pytest.approx(expected, rel=1e-5)


@every
def test_no_rate_nearby_is_better(name):
    """On a sample of all sentences: the objective after one pass is least at the rate found."""
    problem = random_problem(2, 4, n_sentences=60, max_length=5)
    data, chosen = problem.dataset, algorithm(name)
    values = chosen.values({"rate": "auto"})
    rate = find_rate(data, chosen, values, seed=5)
    sample = data.select(np.random.default_rng(5).permutation(len(data)))

    def after_a_pass(rate):
        trainer = Trainer(sample, chosen, values | {"rate": rate})
        trainer.run(np.arange(len(data), dtype=np.uint32))
        return objective(sample, trainer.current_weights(), values)

    assert after_a_pass(rate) <= min(after_a_pass(rate * 2), after_a_pass(rate / 2))
    default = next(p.default for p in chosen.parameters if p.name == "rate")
    assert math.log2(rate / default).is_integer()


@every
def test_auto_trains_with_the_rate_it_reports(name):
    problem = random_problem(3, 3, n_sentences=30)
    automatic = fit(problem.dataset, algorithm_name=name, parameters={"rate": "auto"}, passes=3)
    rate = automatic.parameters["rate"]
    given = fit(problem.dataset, algorithm_name=name, parameters={"rate": rate}, passes=3)
    assert automatic.weights.tobytes() == given.weights.tobytes()


def test_only_a_sample_is_looked_at(monkeypatch):
    problem = random_problem(4, 3, n_sentences=40)
    sizes = []
    real = initial_rate._one_pass
    monkeypatch.setattr(initial_rate, "SAMPLE", 7)
    monkeypatch.setattr(
        initial_rate,
        "_one_pass",
        lambda sample, *rest: sizes.append(len(sample)) or real(sample, *rest),
    )
    find_rate(problem.dataset, algorithm("adf"), algorithm("adf").values({"rate": "auto"}))
    assert set(sizes) == {7}


def test_rates_that_the_prior_forbids_are_passed_over():
    problem = random_problem(5, 3, n_sentences=4)
    chosen = algorithm("sgd")
    rate = find_rate(problem.dataset, chosen, chosen.values({"rate": "auto", "sigma": 0.3}))
    assert rate / (4 * 0.3**2) < 0.5


def test_the_search_starts_from_given_weights():
    problem = random_problem(6, 3, n_sentences=40)
    chosen, order = algorithm("sgd"), np.arange(40, dtype=np.uint32)
    trained = fit(problem.dataset, algorithm_name="sgd", passes=50).weights
    values = chosen.values({"rate": 1e-6})
    fresh, going_on = (
        initial_rate._one_pass(problem.dataset, chosen, values, order, start)
        for start in (None, trained)
    )
    assert going_on == pytest.approx(objective(problem.dataset, trained, values), rel=1e-3)
    assert going_on < fresh
