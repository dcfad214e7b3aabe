"""ADF's convergence theory, checked: ``python -m reproduction.convergence``.

Each function below quotes a statement, measures exactly what it says on a small convex problem,
and gives the figures and the lines of a chart. ``docs/theory.md`` says what they show.

    Sun, Li, Wang, Lu (2014). Computational Linguistics 40(3). Lemma 1, Theorems 1 to 4.
    He, Wang (2012). COLING. Section 2.3.2, on ADF.
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.experiments.charts import Series, line_chart
from reproduction import theorems
from reproduction.theorems import Problem, adf, core_weights, lipschitz, orders, repeated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Order = NDArray[np.int64]
    Vector = NDArray[np.float64]

__all__ = ["SECTIONS", "Section", "figures", "main"]

RATE = 0.2  # γ at the start: below the bound of the theorems for the problem here
PAPER = {"rate": RATE, "alpha": 0.995, "beta": 0.6, "window": 50}  # q = n/10
SLOW = {"rate": RATE, "alpha": 0.995, "beta": 0.9, "window": 500}
FAST = {"rate": RATE, "alpha": 0.8, "beta": 0.4, "window": 50}
PASSES = 2000  # of the comparison with MADF


@dataclass(frozen=True)
class Section:
    """The measured figures and the chart of a statement.

    Attributes:
        figures: The measured numbers, by name.
        series: The lines of the chart.
        chart: The other arguments of ``line_chart``.
    """

    figures: dict[str, float]
    series: Sequence[Series]
    chart: dict[str, Any]


def contraction(problem: Problem) -> Section:
    """Check Lemma 1 and Theorem 1: does the update bring two weight vectors closer?

    Lemma 1: "Let γ be a fixed low learning rate in SGD updating. If γ ≤ (‖x_i²‖ ·
    ‖∇_y' ℓ(x_i, y_i, y')‖_Lip)^−1, the SGD update rule is a contraction mapping in Euclidean
    space with Lipschitz continuity degree 1 − γ/σ²."

    Theorem 1: "Let γ be a fixed learning rate vector with different learning rates. […] Then if
    γ_max ≤ (‖x_i²‖ · ‖∇_y' ℓ(x_i, y_i, y')‖_Lip)^−1, the ADF update rule is a dynamic contraction
    mapping in Euclidean space with Lipschitz continuity degree 1 − γ_max/σ²."

    The rates of ADF are those of a real run after three passes, scaled to the γ_max asked for.
    """
    *_, last = adf(problem, orders(len(problem.x), 3), **_adf(PAPER))
    shape = last.rates / last.rates.max()
    same, bound = np.ones_like(shape), problem.bound
    grid = np.linspace(0.05, 3, 50)
    figures = {
        "bound": bound,
        "printed_degree": 1 - bound / problem.sigma**2,
        "degree": 1 - bound * problem.decay,
        "sgd": lipschitz(problem, bound * same),
        "sgd_pairs": theorems.pair_ratios(problem, bound * same, pairs=1000).max(),
        "sgd_limit": 2 / (1 / bound + 2 * problem.decay) / bound,
        "rates_ratio": 1 / shape.min(),
        "adf": lipschitz(problem, bound * shape),
        "adf_pairs": theorems.pair_ratios(problem, bound * shape, pairs=1000).max(),
        "adf_tenth": lipschitz(problem, bound / 10 * shape),
        "scaled": lipschitz(problem, bound * shape, scaled=True),
        "scaled_degree": 1 - bound * problem.decay * shape.min(),
        "scaled_pairs": theorems.pair_ratios(problem, bound * shape, scaled=True, pairs=1000).max(),
    }

    def line(name: str, rates: Vector, *, scaled: bool = False) -> Series:
        y = [lipschitz(problem, bound * part * rates, scaled=scaled) for part in grid]
        return Series(name, list(grid), y)

    series = [
        line("SGD: equal rates, |w|", same),
        line("ADF: rates of a run, |w|", shape),
        line("ADF: rates of a run, |Γ^(−1/2) w|", shape, scaled=True),
        Series("the bound on γ_max", [1, 1], [0.95, 1.25]),
    ]
    return Section(
        _floats(figures),
        series,
        {
            "title": "How far one update can move two weight vectors apart",
            "x_label": "largest rate γ_max, as a part of the bound",
            "y_label": "Lipschitz constant of the update",
        },
    )


def successive(problem: Problem) -> Section:
    """Check Definition 4 and Theorem 2: is each step shorter than the one before?

    Definition 4: "the function F is a dynamic contraction mapping if ∃D < 1, |x_{t+2} − x_{t+1}| ≤
    D |x_{t+1} − x_t| for ∀x_t ∈ X", where x_{t+1} = F(x_t) and x_{t+2} = F(x_{t+1}).

    Theorem 2: "Let γ_t start from a low enough learning rate vector γ_0 such that γ_max ≤ (‖x_i²‖ ·
    ‖∇_y' ℓ(x_i, y_i, y')‖_Lip)^−1, where γ_max is the maximum element in γ_0. Then, the ADF update
    rule with decaying learning rate vector is a dynamic contraction mapping in Euclidean space
    with Lipschitz continuity degree 1 − γ_max/σ²."

    F is that of one sample; training has another sample, so another F, at each update.
    """
    order = orders(len(problem.x), 5)
    states = list(adf(problem, order, **_adf(PAPER)))
    changes = np.array([state.change for state in states])
    other = changes[1:] / changes[:-1]
    after = order.ravel()[1:]  # samples that come next: each is taken twice, from where training is
    twice = np.array(
        [repeated(problem, i, s.weights, s.rates) for i, s in zip(after, states, strict=False)]
    )
    printed, degree = 1 - RATE / problem.sigma**2, 1 - RATE * problem.decay
    figures = {
        "twice_largest": twice.max(),
        "twice_above_printed": 100 * np.mean(twice > printed),
        "twice_above_degree": 100 * np.mean(twice > degree),
        "other_above_one": 100 * np.mean(other > 1),
        "other_largest": other.max(),
        "counter_example": repeated(*_counter_example(2.0, 0.2)),
        "counter_example_equal": repeated(*_counter_example(2.0, 2.0)),
    }
    parts = np.linspace(0, 1, 101)
    series = [
        Series(name, list(np.quantile(ratios, parts)), list(100 * parts))
        for name, ratios in (("the same sample twice", twice), ("training: the next sample", other))
    ]
    return Section(
        _floats(figures),
        [*series, Series("equal steps", [1, 1], [0, 100])],
        {
            "title": "Length of a step, as a part of the one before",
            "x_label": "|w(t+2) − w(t+1)| / |w(t+1) − w(t)|",
            "y_label": "updates with this ratio or less, %",
            "log_x": True,
        },
    )


def accumulated(problem: Problem) -> Section:
    """Check Theorem 3: is the accumulated change of the weights bounded?

    Theorem 3: "ADF training is asymptotically convergent."

    Its proof bounds the accumulated change (equation 9): "Let d_0 := |w_2 − w_1| and q := 1 −
    γ_max/σ², then […] M_t = Σ |w_{t'+1} − w_{t'}| ≤ d_0 + d_0 q + d_0 q² + … = d_0 (1 − q^t)/(1 −
    q)", hence "M_t ≤ d_0/(1 − q)".

    The bound that holds comes from the rates: all of a window's q samples have rates of at most
    c α^m, so M_t ≤ G c q/(1 − α), where no gradient is longer than G.
    """
    n, best = len(problem.x), theorems.optimum(problem)
    order, fixed = orders(n, 40), {**PAPER, "alpha": 1.0, "beta": 1.0}
    longest = np.linalg.norm(problem.x, axis=1).max()
    longest += np.linalg.norm(np.abs(problem.x).max(0))  # the prior's pull: λ|w_k| ≤ max |x_k|

    def sums(order: Order, settings: dict[str, float], start: Vector | None = None) -> Vector:
        run = adf(problem, order, start=start, **_adf(settings))
        return np.cumsum([state.change for state in run])

    decaying, constant = sums(order, PAPER), sums(order, fixed)
    easy = np.argmax(problem.y * (problem.x @ best))
    from_best = sums(np.append(easy, order[:10]), PAPER, best)
    share = 1 / (RATE * problem.decay)  # 1/(1 − q) with the prior's share in one sample
    figures = {
        "change": decaying[-1],
        "printed_bound": decaying[0] * problem.sigma**2 / RATE,
        "bound": decaying[0] * share,
        "geometric_bound": longest * RATE * PAPER["window"] / (1 - PAPER["alpha"]),
        "last_pass": decaying[-1] - decaying[-n - 1],
        "fixed_change": constant[-1],
        "fixed_crossing": (1 + np.argmax(constant > constant[0] * share)) / n,
        "easy_change": from_best[-1],
        "easy_bound": from_best[0] * share,
    }
    seen = np.unique(np.geomspace(1, order.size, 52).astype(int)) - 1
    passes = [float(t + 1) / n for t in seen]

    def level(name: str, height: float) -> Series:
        return Series(name, [passes[0], passes[-1]], [height, height])

    series = [
        Series("ADF", passes, list(decaying[seen])),
        Series("fixed rates", passes, list(constant[seen])),
        level("d₀σ²/γ_max, as printed", figures["printed_bound"]),
        level("d₀nσ²/γ_max", figures["bound"]),
        level("Gcq/(1 − α)", figures["geometric_bound"]),
    ]
    return Section(
        _floats(figures),
        series,
        {
            "title": "Accumulated change of the weights, and its bounds",
            "x_label": "passes",
            "y_label": "M = Σ |w(t+1) − w(t)|",
            "log_x": True,
            "log_y": True,
        },
    )


def rate(problem: Problem) -> Section:
    """Check Theorem 4: what is left of the distance to the optimum, in expectation?

    "When we have the lowest learning rate γ_{t+1} = βγ_t, the expectation of the obtained w_t is
    […] E(w_t) = w* + Π_{m=1}^t (I − γ_0 β^m H(w*)) (w_0 − w*)".

    Theorem 4: "Assume φ is the largest eigenvalue of the function C_t = Π_{m=1}^t (I − γ_0 β^m
    H(w*)). For the proposed ADF training, its convergence rate is bounded by φ, and we have φ ≤
    exp{γ_0 λ β / (β − 1)} where λ is the minimum eigenvalue of H(w*)."

    H is that of a sample, since each update looks at one.
    """
    best, beta, updates = theorems.optimum(problem), 0.98, 300
    values, vectors = np.linalg.eigh(problem.hessian(best))
    low, high = float(values[0]), float(values[-2])
    run: dict[str, Any] = {"rate": RATE, "beta": beta, "updates": updates, "runs": 1500}
    mean, error = theorems.expected_distances(problem, best, vectors[:, -2], **run)
    far, _ = theorems.expected_distances(problem, best, 10 * vectors[:, -2], **run)
    phi = theorems.products(low, RATE, beta, updates)
    steep = theorems.products(high, RATE, beta, updates)

    def printed(eigenvalue: float) -> float:
        return float(np.exp(RATE * eigenvalue * beta / (beta - 1)))

    figures = {
        "smallest_eigenvalue": low,
        "condition": RATE * beta * float(values[-1]),
        "phi_10": phi[9],
        "phi_end": phi[-1],
        "phi_limit": theorems.products(low, RATE, beta, 5000)[-1],
        "printed_bound": printed(low),
        "other_eigenvalue": high,
        "other_printed_bound": printed(high),
        "other_limit": theorems.products(high, RATE, beta, 5000)[-1],
        "other_end": steep[-1],
        "measured_end": mean[-1],
        "measured_error": error[-1],
        "far_end": far[-1],
    }
    seen = np.arange(0, updates, 6)
    at = [float(t + 1) for t in seen]
    ends = [at[0], at[-1]]
    series = [
        Series("φ: smallest eigenvalue of H", at, list(phi[seen])),
        Series("its bound, as printed", ends, [printed(low)] * 2),
        Series("second largest eigenvalue of H", at, list(steep[seen])),
        Series("the bound with that one", ends, [printed(high)] * 2),
        Series("mean of 1,500 runs", at, list(mean[seen]), list(error[seen])),
    ]
    return Section(
        _floats(figures),
        series,
        {
            "title": "What is left of the distance to the optimum",
            "x_label": "updates",
            "y_label": "part of the distance at the start",
        },
    )


def distance(problem: Problem) -> Section:
    """Check He and Wang's remark on ADF, and that MADF goes on.

    "Unfortunately, this decrease in learning rate does not have theoretically convergence
    guarantee for now, although it works well in practice. (Murata, 1998) shows that SGD with
    1/t-annealing learning rate guarantees convergence."

    All runs are those of adaptag's core, on the same orders of samples.
    """
    best = theorems.optimum(problem)
    order = orders(len(problem.x), PASSES)
    length = np.linalg.norm(best)

    def left(name: str, settings: dict[str, float]) -> Vector:
        weights = core_weights(problem, order, name, settings)
        parts: Vector = np.linalg.norm(weights - best, axis=1) / length
        return parts

    lines = {
        "ADF, fast": left("adf", FAST),
        "ADF, paper": left("adf", PAPER),
        "ADF, slow": left("adf", SLOW),
        "MADF, paper": left("madf", {"rate": 1.0}),
        "MADF, a = 0.1": left("madf", {"rate": RATE, "lower": 0.1}),
    }
    keys = ("fast", "paper", "slow", "madf", "madf_mild")
    figures: dict[str, Any] = {
        f"{key}_{number}": curve[number - 1]
        for key, curve in zip(keys, lines.values(), strict=True)
        for number in (10, 100, 1000, PASSES)
    }
    states = list(adf(problem, order[:20], **_adf(FAST)))
    lacking = np.maximum(0, np.abs(best) - theorems.reach(problem, order[:20], states))
    figures["fast_provable"] = np.linalg.norm(lacking) / length
    figures["lbfgs"] = np.linalg.norm(theorems.lbfgs_optimum(problem) - best) / length
    *_, last = adf(problem, order[:5], **_adf(PAPER))
    core = core_weights(problem, order[:5], "adf", PAPER)
    figures["numpy_and_core"] = np.abs(last.weights - core[-1]).max()
    seen = np.unique(np.geomspace(1, PASSES, 48).astype(int)) - 1
    at = [float(number + 1) for number in seen]
    return Section(
        _floats(figures),
        [Series(name, at, list(curve[seen])) for name, curve in lines.items()],
        {
            "title": "Distance to the optimum: exponential decay and 1/t",
            "x_label": "passes",
            "y_label": "|w − w*| / |w*|",
            "log_x": True,
            "log_y": True,
        },
    )


SECTIONS: dict[str, Callable[[Problem], Section]] = {
    "contraction": contraction,
    "successive": successive,
    "accumulated": accumulated,
    "rate": rate,
    "distance": distance,
}


def figures() -> dict[str, Section]:
    """Measure everything on the one problem; the same bits each time on one machine."""
    problem = theorems.zipf_problem()
    return {name: section(problem) for name, section in SECTIONS.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Write ``convergence.json`` and one SVG per section."""
    parser = argparse.ArgumentParser(prog="python -m reproduction.convergence")
    parser.add_argument("--output", type=Path, required=True, help="folder for charts and figures")
    output: Path = parser.parse_args(arguments).output
    output.mkdir(parents=True, exist_ok=True)
    sections = figures()
    for name, section in sections.items():
        svg = line_chart(section.series, **section.chart)
        svg = re.sub(r"\n +", "\n", svg)  # a tenth of the file
        (output / f"convergence-{name}.svg").write_text(svg, encoding="utf-8")
    numbers = {name: section.figures for name, section in sections.items()}
    text = json.dumps(numbers, indent=2) + "\n"
    (output / "convergence.json").write_text(text, encoding="utf-8")


def _counter_example(first: float, second: float) -> tuple[Problem, int, Vector, Vector]:
    """Two weights that fire together, at rates of their own; γ_max ≤ 2 is the bound here."""
    problem = Problem(np.ones((1, 2)), np.ones(1), np.sqrt(20))
    return problem, 0, np.array([10.6, -10.6]), np.array([first, second])


def _adf(settings: dict[str, float]) -> dict[str, Any]:
    return {**settings, "window": int(settings["window"])}


def _floats(figures: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in figures.items()}


if __name__ == "__main__":
    main()
