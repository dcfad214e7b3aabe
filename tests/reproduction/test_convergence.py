"""The convergence theory of ADF, measured: the parts, what holds, and the page's numbers."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy")

from reproduction import convergence, theorems
from reproduction.theorems import adf, core_weights, lipschitz, orders, pair_ratios, repeated

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"\| ([\d.e]+) \| `(\w+)\.(\w+)` \|$", re.MULTILINE)
SETTINGS = {"rate": 0.3, "alpha": 0.9, "beta": 0.5, "window": 7}


@pytest.fixture(scope="module")
def problem():
    return theorems.zipf_problem(n=60, d=12, sigma=1.5, seed=3)


@pytest.fixture(scope="module")
def sections():
    return convergence.figures()


@pytest.fixture
def rates(problem):
    return problem.bound * np.random.default_rng(4).uniform(0.001, 1, problem.x.shape[1])


def test_the_problem_has_zipf_like_frequencies():
    frequencies = theorems.zipf_problem().x.mean(0)
    assert frequencies[0] == 1
    assert np.all(frequencies > 0)
    assert frequencies[:10].mean() > 5 * frequencies[-10:].mean()


def test_numpy_and_core_are_the_same_adf(problem):
    order = orders(60, 4)
    states = list(adf(problem, order, **SETTINGS))
    ours = np.array([state.weights for state in states[59::60]])
    assert core_weights(problem, order, "adf", SETTINGS) == pytest.approx(ours, abs=2e-6)
    assert np.abs(ours).max() > 0.1


def test_a_change_is_the_step_taken(problem):
    first, second = adf(problem, orders(60, 1)[0, :2], **SETTINGS)
    assert second.change == pytest.approx(np.linalg.norm(second.weights - first.weights))


def test_the_gradient_is_that_of_the_objective(problem):
    w, i, h = np.random.default_rng(1).standard_normal(12), 5, 1e-6

    def objective(w):
        loss = np.log1p(np.exp(-problem.y[i] * (problem.x[i] @ w)))
        return -loss - w @ w / (2 * 60 * 1.5**2)

    steps = h * np.eye(12)
    slopes = [(objective(w + step) - objective(w - step)) / (2 * h) for step in steps]
    assert problem.gradient(i, w) == pytest.approx(np.array(slopes), abs=1e-8)


def test_the_optimum_is_flat_and_that_of_lbfgs(problem):
    best = theorems.optimum(problem)
    assert np.abs(sum(problem.gradient(i, best) for i in range(60))).max() < 1e-12
    assert theorems.lbfgs_optimum(problem) == pytest.approx(best, abs=2e-3)


@pytest.mark.parametrize("part", [0.1, 0.5, 1.0])
def test_sgd_contracts_below_the_bound(problem, part):
    rates = np.full(12, part * problem.bound)
    degree = 1 - part * problem.bound * problem.decay
    assert pair_ratios(problem, rates, pairs=300).max() <= degree + 1e-12
    assert lipschitz(problem, rates) == pytest.approx(degree)


def test_sgd_moves_pairs_apart_above_twice_the_bound(problem):
    assert lipschitz(problem, np.full(12, 2.1 * problem.bound)) > 1


def test_adf_contracts_in_the_scaled_norm_only(problem, rates):
    degree = 1 - rates.min() * problem.decay
    assert pair_ratios(problem, rates, pairs=300, scaled=True).max() <= degree + 1e-12
    assert lipschitz(problem, rates, scaled=True) == pytest.approx(degree)
    assert lipschitz(problem, rates) > 1.01


@pytest.mark.parametrize("scaled", [False, True])
def test_the_lipschitz_constant_is_the_largest_norm_of_a_matrix(problem, rates, scaled):
    rates, root = 20 * rates, np.diag(np.sqrt(20 * rates))
    inverse = np.linalg.inv(root)
    norms = []
    for x in problem.x:
        for slope in np.linspace(0, 0.25, 6):
            curve = problem.decay * np.eye(12) + slope * np.outer(x, x)
            matrix = np.eye(12) - np.diag(rates) @ curve
            norms.append(np.linalg.norm(inverse @ matrix @ root if scaled else matrix, 2))
    assert max(norms) > 1.5
    assert lipschitz(problem, rates, scaled=scaled) == pytest.approx(max(norms))


@pytest.mark.parametrize("scaled", [False, True])
def test_no_pair_is_above_the_lipschitz_constant(problem, rates, scaled):
    most = lipschitz(problem, 3 * rates, scaled=scaled)
    found = pair_ratios(problem, 3 * rates, pairs=300, scaled=scaled)
    assert found.max() <= most + 1e-12


def test_a_second_step_of_the_same_sample_may_be_longer():
    example = convergence._counter_example(2.0, 0.2)
    assert example[0].bound == 2.0
    assert repeated(*example) > 1.05
    assert repeated(*convergence._counter_example(2.0, 2.0)) < 1


def test_reach_bounds_the_weights(problem):
    order = orders(60, 5)
    states = list(adf(problem, order, **SETTINGS))
    reach = theorems.reach(problem, order, states)
    assert np.all(np.abs([state.weights for state in states]).max(0) <= reach)
    assert reach.max() < 5


def test_accumulated_change(sections):
    found = sections["accumulated"].figures
    assert found["printed_bound"] < found["change"] < found["geometric_bound"]
    assert found["fixed_change"] > found["bound"]
    assert found["easy_change"] > found["easy_bound"]


def test_convergence_rate(sections):
    found = sections["rate"].figures
    assert found["phi_limit"] < found["printed_bound"] < found["phi_end"] < found["phi_10"]
    assert abs(found["measured_end"] - found["other_end"]) < 3 * found["measured_error"]


def test_adf_stops_short_and_madf_goes_on(sections):
    found = sections["distance"].figures
    for name in ("fast", "paper", "slow"):
        assert found[f"{name}_2000"] > 0.98 * found[f"{name}_1000"]
    for name in ("madf", "madf_mild"):
        assert found[f"{name}_2000"] < 0.95 * found[f"{name}_1000"]
    assert 0.1 < found["fast_provable"] < found["fast_2000"]


def test_the_numbers_on_the_page(sections):
    """A number may be off by one in its last digit: builds of the core round differently."""
    rows = ROW.findall((ROOT / "docs" / "theory.md").read_text(encoding="utf-8"))
    assert len(rows) > 50
    for shown, section, name in rows:
        digit = Decimal(10) ** Decimal(shown).as_tuple().exponent
        real = sections[section].figures[name]
        assert float(shown) == pytest.approx(real, abs=float(digit)), f"{section}.{name}"


@pytest.mark.parametrize("name", convergence.SECTIONS)
def test_pictures_of_the_page(name):
    picture = f"pictures/convergence-{name}.svg"
    assert f"({picture})" in (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    assert 10_000 < (ROOT / "docs" / picture).stat().st_size < 60_000


def test_command(tmp_path, monkeypatch, sections):
    pytest.importorskip("matplotlib")
    sections = {name: sections[name] for name in ("rate",)}
    monkeypatch.setattr(convergence, "figures", lambda: sections)
    convergence.main(["--output", str(tmp_path / "a")])
    convergence.main(["--output", str(tmp_path / "b")])
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == sorted(["convergence.json", *(f"convergence-{name}.svg" for name in sections)])
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    written = json.loads((tmp_path / "a" / "convergence.json").read_text(encoding="utf-8"))
    assert written["rate"] == sections["rate"].figures
