"""The learning rate that is found on a sample."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from adaptag.training import initial_rate
from adaptag.training.algorithms import algorithm, algorithms
from adaptag.training.initial_rate import find_rate, objective, progressive_loss
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
def test_the_progressive_loss_is_that_of_sentences_before_they_are_learned(name):
    """Sentence by sentence, with the losses of the slow reference."""
    problem = random_problem(2, 3, n_sentences=12)
    chosen, values = algorithm(name), {"rate": 0.2}
    trainer, losses = Trainer(problem.dataset, chosen, values), []
    for k, (sentence, labels) in enumerate(zip(problem.sentences, problem.labels, strict=True)):
        weights = problem.unpack(trainer.current_weights())
        losses.append(loss_and_gradient(sentence, labels, weights)[0])
        trainer.run(np.array([k], np.uint32))
    found = progressive_loss(problem.dataset, chosen, values)
    assert found == pytest.approx(sum(losses[6:]), rel=1e-4)


@every
def test_no_rate_nearby_is_better(name, monkeypatch):
    """The rate found lies beside the best one of those doubled and halved."""
    monkeypatch.setattr(initial_rate, "FEWEST", 1)
    problem = random_problem(2, 4, n_sentences=60, max_length=5)
    data, chosen = problem.dataset, algorithm(name)
    values = chosen.values({"rate": "auto"})
    rate = find_rate(data, chosen, values, seed=5)
    sample = data.select(np.random.default_rng(5).permutation(len(data)))
    start = next(p.start for p in chosen.parameters if p.name == "rate")
    step = math.log2(rate / start)
    low, high = math.floor(step), math.ceil(step)

    def loss(step):
        return progressive_loss(sample, chosen, values | {"rate": start * 2.0**step})

    assert min(loss(low), loss(high)) <= min(loss(low - 1), loss(high + 1))
    assert rate == float(f"{rate:.2g}")


def test_the_rate_of_adf_falls_with_the_sentences_for_each_one_of_the_sample(monkeypatch):
    data = random_problem(2, 4, n_sentences=640, max_length=5).dataset
    monkeypatch.setattr(initial_rate, "SAMPLE", (10, 10))
    for name, share in (("adf", 0.5), ("madf", 1)):  # 64^(-1/6)
        chosen = algorithm(name)
        values = chosen.values({"rate": "auto"})
        rate = find_rate(data, chosen, values)
        monkeypatch.setattr(initial_rate, "DECAY", {})
        assert rate == pytest.approx(share * find_rate(data, chosen, values), rel=0.05)
        monkeypatch.undo()
        monkeypatch.setattr(initial_rate, "SAMPLE", (10, 10))


def test_the_least_value_of_a_parabola():
    for least in (-0.4, 0.0, 0.3):
        values = [3 * (x - least) ** 2 + 7 for x in (-1, 0, 1)]
        assert initial_rate._least(*values) == pytest.approx(least)
    assert initial_rate._least(1, 1, 1) == initial_rate._least(2, 1, math.inf) == 0


def test_few_sentences_get_the_rate_that_the_search_starts_from():
    problem = random_problem(2, 3, n_sentences=initial_rate.FEWEST - 1)
    chosen = algorithm("adf")
    assert find_rate(problem.dataset, chosen, chosen.values({})) == 0.1


def test_adf_finds_its_rate_unless_one_is_given():
    problem = random_problem(7, 3, n_sentences=150)
    found = fit(problem.dataset, passes=1).parameters["rate"]
    assert found == find_rate(problem.dataset, algorithm("adf"), algorithm("adf").values({}))
    assert fit(problem.dataset, parameters={"rate": 0.3}, passes=1).parameters["rate"] == 0.3


@every
def test_auto_trains_with_the_rate_it_reports(name):
    problem = random_problem(3, 3, n_sentences=120)
    automatic = fit(problem.dataset, algorithm_name=name, parameters={"rate": "auto"}, passes=3)
    rate = automatic.parameters["rate"]
    given = fit(problem.dataset, algorithm_name=name, parameters={"rate": rate}, passes=3)
    assert automatic.weights.tobytes() == given.weights.tobytes()


def test_only_a_sample_is_looked_at(monkeypatch):
    problem = random_problem(4, 3, n_sentences=140)
    sizes = []
    monkeypatch.setattr(initial_rate, "SAMPLE", (7, 7))
    monkeypatch.setattr(
        initial_rate,
        "progressive_loss",
        lambda sample, *rest: sizes.append(len(sample)) or progressive_loss(sample, *rest),
    )
    find_rate(problem.dataset, algorithm("adf"), algorithm("adf").values({"rate": "auto"}))
    assert set(sizes) == {7}


def test_rates_that_the_prior_forbids_are_passed_over(monkeypatch):
    monkeypatch.setattr(initial_rate, "FEWEST", 1)
    problem = random_problem(5, 3, n_sentences=4)
    chosen = algorithm("sgd")
    rate = find_rate(problem.dataset, chosen, chosen.values({"rate": "auto", "sigma": 0.3}))
    assert rate / (4 * 0.3**2) < 0.5


def test_the_search_leaves_rates_behind_with_which_training_diverges():
    """Values of a million: at a rate of 0.1 the scores are beyond float32 after a few updates."""
    data = random_problem(8, 3, n_sentences=120).dataset
    values = np.full(len(data.encoded.predicates), 1e20, np.float32)
    large = replace(data, encoded=replace(data.encoded, values=values))
    chosen = algorithm("sgd")
    given = chosen.values({"rate": 0.1, "sigma": math.inf})
    assert progressive_loss(large, chosen, given) == math.inf
    assert find_rate(large, chosen, given) < 0.001


def test_the_search_starts_from_given_weights():
    problem = random_problem(6, 3, n_sentences=40)
    chosen = algorithm("sgd")
    trained = fit(problem.dataset, algorithm_name="sgd", passes=50).weights
    values = chosen.values({"rate": 1e-6})
    fresh, going_on = (
        progressive_loss(problem.dataset, chosen, values, start) for start in (None, trained)
    )
    second = problem.dataset.select(np.arange(20, 40))
    assert going_on == pytest.approx(objective(second, trained, {}), rel=1e-3)
    assert going_on < fresh
