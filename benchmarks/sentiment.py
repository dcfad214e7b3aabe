"""Sentiment of Amazon reviews: table 6 of Sun et al. (2014), beside scikit-learn.

usage: python sentiment.py [--repeats N] [--quick]
       python sentiment.py --tune values|settings [--jobs N]

Four-fold cross-validation over the 2,000 labelled reviews of each of four domains (Blitzer et al.
2007). Writes results/sentiment.md, or with --tune results/tuning-sentiment-values.md, how values
are treated, and results/tuning-sentiment.md, the settings of every contestant: both by
cross-validation inside the training part of each domain's first fold. TREATMENT and CHOSEN hold
what was chosen. Needs `adaptag[sklearn]`.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import report
import sklearn
from chunking import DATA
from measure import HERE
from report import Table, figure, markdown_table
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import normalize

from adaptag import MaxEntClassifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Settings = dict[str, Any]
    Grid = dict[str, tuple[Any, ...]]
    Part = tuple[Any, NDArray[np.int64]]  # rows of a CSR matrix; 1 for positive reviews

SENTIMENT = DATA.parent / "amazon_sentiment"
DOMAINS = ("books", "dvd", "electronics", "kitchen")
RESULTS = HERE / "results"
FOLDS, SEED = 4, 1

# What --tune chose, on training data only; the evidence is in results/tuning-sentiment.md.
TREATMENT = "log"
CHOSEN: dict[str, Settings] = {
    "adaptag adf": {"rate": 0.002, "sigma": 0.5, "passes": 30},
    "adaptag sgd": {"rate": 0.2, "sigma": 0.5, "passes": 10},
    "adaptag lbfgs": {"C": 1.0},
    "adaptag perceptron": {"passes": 5},
    "adaptag averaged-perceptron": {"passes": 20},
    "LogisticRegression": {"C": 1.0},
    "SGDClassifier": {"alpha": 1e-3, "schedule": ("optimal", 0.0), "average": False, "passes": 10},
    "Perceptron": {"penalty": "l2", "alpha": 1e-6, "passes": 10},
}

RATES = {
    "adf": (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05),
    "sgd": (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
}
COARSE_RATES = (0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 2.0)  # long rows ask for others than short ones
SIGMAS = (0.5, 1.0, 2.0, 5.0)
STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # C, for sigma √(C/2)
ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
PASSES = (1, 2, 5, 10, 20, 30)
SCHEDULES = (
    ("optimal", 0.0),
    *((name, eta) for name in ("constant", "invscaling") for eta in (0.01, 0.1)),
)


def ours(algorithm: str, seed: int, **settings: Any) -> MaxEntClassifier:
    return MaxEntClassifier(algorithm, random_state=seed, **settings)


def lbfgs(_seed: int, C: float) -> MaxEntClassifier:  # noqa: N803
    return MaxEntClassifier("lbfgs", sigma=(C / 2) ** 0.5, passes=1000)


def logistic_regression(_seed: int, C: float) -> LogisticRegression:  # noqa: N803
    return LogisticRegression(C=C, max_iter=1000)


def sgd_classifier(
    seed: int, passes: int, schedule: tuple[str, float] = ("optimal", 0.0), **settings: Any
) -> SGDClassifier:
    name, eta0 = schedule
    rate = {"learning_rate": name} | ({"eta0": eta0} if eta0 else {})
    fixed = {"loss": "log_loss", "tol": None, "max_iter": passes, "random_state": seed}
    return SGDClassifier(**fixed, **rate, **settings)


def perceptron(seed: int, passes: int, **settings: Any) -> Perceptron:
    return Perceptron(tol=None, max_iter=passes, random_state=seed, **settings)


@dataclass(frozen=True)
class Contestant:
    """How to make a classifier of a seed and settings, what to try, and what was published."""

    name: str
    make: Callable[..., Any]
    grid: Grid | None  # None: that of LogisticRegression, which has the same optimum
    coarse: Grid | None  # for the choice of the treatment
    curve: bool = False  # one run gives the scores after all numbers of passes
    published: tuple[float | None, int | None] = (None, None)  # accuracy, passes

    def scores(
        self, settings: Settings, train: Part, held_out: Part
    ) -> Iterator[tuple[str, float]]:
        """Accuracy in percent; of a curve, one for every number of passes in the settings."""
        settings, passes = dict(settings), PASSES
        if not self.curve:
            model = self.make(SEED, **settings).fit(*train)
            yield text_of(settings), 100 * model.score(*held_out)
            return
        model = self.make(SEED, **settings)
        for number in range(1, passes[-1] + 1):
            model.partial_fit(*train, classes=[0, 1])
            if number in passes:
                yield text_of(settings | {"passes": number}), 100 * model.score(*held_out)


def online(name: str, grid: Grid, coarse: Grid, accuracy: float, passes: int) -> Contestant:
    make = partial(ours, name)
    return Contestant(f"adaptag {name}", make, grid, coarse, True, (accuracy, passes))


RATE_ONLY: Grid = {"rate": COARSE_RATES, "sigma": (1.0,)}
CONTESTANTS = [
    online("adf", {"rate": RATES["adf"], "sigma": SIGMAS}, RATE_ONLY, 87.89, 30),
    online("sgd", {"rate": RATES["sgd"], "sigma": SIGMAS}, RATE_ONLY, 87.13, 44),
    Contestant("adaptag lbfgs", lbfgs, None, None, False, (87.00, 86)),
    online("perceptron", {}, {}, 84.55, 25),
    online("averaged-perceptron", {}, {}, 85.04, 46),
    Contestant("LogisticRegression", logistic_regression, {"C": STRENGTHS}, {"C": STRENGTHS[1::2]}),
    Contestant(
        "SGDClassifier",
        sgd_classifier,
        {"alpha": ALPHAS, "schedule": SCHEDULES, "average": (False, True), "passes": PASSES[2:]},
        {"alpha": ALPHAS, "schedule": SCHEDULES, "passes": (30,)},
    ),
    Contestant(
        "Perceptron",
        perceptron,
        {"penalty": (None, "l2"), "alpha": (1e-6, 1e-5, 1e-4, 1e-3), "passes": PASSES},
        {"passes": PASSES},
    ),
]

TREATMENTS = ("counts", "binary", "log", "counts, L2", "log, L2")
HOW_TREATED = """\
counts: as they are; binary: 1 for each feature that occurs; log: log(1 + count); L2: the values of
a review divided by the square root of the sum of their squares."""

READ_FIRST = """\
Amazon reviews of four domains, 1,000 positive and 1,000 negative ones each; unigrams and bigrams
with their counts, as Blitzer et al. (2007) made them. Published: table 6 of Sun et al. (2014), with
real-valued features and one accuracy for all domains. The paper does not say how it splits the
reviews, how it treats the counts, nor whether a domain has a classifier of its own: compare its
figures with each other, and ours with each other.

- **Protocol**: stratified four-fold cross-validation in each domain, {repeats} repeats with other
  seeds; accuracy is the mean of all. 8,000 reviews are tested: the standard error of an accuracy is
  0.4, that of a difference between two rows less.
- **Values**: {treatment}, for all contestants alike. {how}
- **Fold 1**: the mean of the first folds alone. Settings and values were chosen inside their
  training parts (`tuning-sentiment*.md`), which hold test reviews of the other folds.
- **Seconds**: one training, the mean of 16 (domains and folds); the fastest of the repeats, one
  core, the contestants taking turns. All get the same CSR matrix of float32 values."""

TOGETHER = """\
The reviews of all domains in four folds, one seed, the settings of above (they were not chosen for
this)."""

INNER = """\
Mean accuracy of the four domains, by four-fold cross-validation inside the training part of each
domain's first outer fold (1,500 reviews)."""

HOW_VALUES = f"""\
{INNER} What each contestant reaches at its best in a coarse grid; σ is 1, and `lbfgs` is left out:
it has the optimum of LogisticRegression. The treatment with the highest mean over the contestants
is taken for all."""

HOW_CHOSEN = f"""\
{INNER} Values: {{treatment}}. One setting is chosen for all domains, the best of the grid: the
first line of each table. `lbfgs` takes the C of LogisticRegression (σ² = C/2), which has the same
optimum; only the intercept is regularised as well."""


def text_of(settings: Settings) -> str:
    return ", ".join(f"{name} {shown(value)}" for name, value in settings.items())


def shown(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(shown(one) for one in value if one)
    return f"{value:g}" if isinstance(value, float) else str(value)


@cache
def counts(*domains: str) -> Part:
    """All reviews of some domains: a matrix of counts, and whether each is positive."""
    samples, labels = [], []
    for domain, (label, name) in itertools.product(domains, enumerate(("negative", "positive"))):
        path = SENTIMENT / domain / f"{name}.review"
        for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
            if line.strip():
                *pairs, _ = line.split()  # the last is the label
                split = (pair.rpartition(":") for pair in pairs)
                samples.append({feature: float(count) for feature, _, count in split})
                labels.append(label)
    return DictVectorizer(dtype=np.float32).fit_transform(samples).tocsr(), np.array(labels)


def treated(treatment: str, *domains: str) -> Part:
    X, y = counts(*domains)  # noqa: N806
    X = X.copy()  # noqa: N806
    if treatment == "binary":
        X.data[:] = 1
    elif treatment.startswith("log"):
        X.data = np.log1p(X.data)
    return (normalize(X) if treatment.endswith("L2") else X), y


def folds(part: Part) -> Iterator[tuple[Part, Part]]:
    """What to train on and what to score, fold by fold."""
    X, y = part  # noqa: N806
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(X, y):
        yield (X[train], y[train]), (X[test], y[test])


def choices(grid: Grid) -> Iterator[Settings]:
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


# ---- choosing ----------------------------------------------------------------------------------


def tried(number: int, treatment: str, coarse: bool, domain: str) -> dict[str, float]:
    """The mean inner accuracy of a contestant's settings in one domain."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    contestant, found = CONTESTANTS[number], {}
    outer_train, _ = next(folds(treated(treatment, domain)))
    for train, held_out in folds(outer_train):
        for settings in choices((contestant.coarse if coarse else contestant.grid) or {}):
            for text, score in contestant.scores(settings, train, held_out):
                found.setdefault(text, []).append(score)
    return {text: statistics.mean(scores) for text, scores in found.items()}


def mean_of_domains(
    pool: ProcessPoolExecutor, number: int, treatment: str, coarse: bool
) -> dict[str, float]:
    parts = list(pool.map(partial(tried, number, treatment, coarse), DOMAINS))
    return {text: statistics.mean(part[text] for part in parts) for text in parts[0]}


def tune_values(jobs: int) -> None:
    """Try the treatments of values; write the evidence."""
    asked = [number for number, one in enumerate(CONTESTANTS) if one.coarse is not None]
    names = [CONTESTANTS[number].name for number in asked]
    table = Table("How values are treated", ["Values", *names, "Mean"], [])
    with ProcessPoolExecutor(jobs) as pool:
        for treatment in TREATMENTS:
            best = [max(mean_of_domains(pool, n, treatment, True).values()) for n in asked]
            table.rows.append([treatment, *(figure(x) for x in [*best, statistics.mean(best)])])
            print(*table.rows[-1], flush=True)
    parts = ["# Sentiment: how values are treated", HOW_VALUES + " " + HOW_TREATED]
    parts += ["Command: `python benchmarks/sentiment.py --tune values`", markdown_table(table)]
    write("tuning-sentiment-values.md", parts)


def tune_settings(jobs: int) -> None:
    """Try the settings of all contestants; write the evidence."""
    parts = ["# Settings for sentiment", HOW_CHOSEN.format(treatment=TREATMENT)]
    parts += ["Command: `python benchmarks/sentiment.py --tune settings`"]
    with ProcessPoolExecutor(jobs) as pool:
        for number, contestant in enumerate(CONTESTANTS):
            if contestant.grid is None:
                continue
            scores = mean_of_domains(pool, number, TREATMENT, False)
            best = max(scores, key=scores.__getitem__)
            print(f"{contestant.name}: {best}: {scores[best]:.2f}", flush=True)
            parts += [f"## {contestant.name}", settings_text(scores)]
    write("tuning-sentiment.md", parts)


def write(name: str, parts: list[str]) -> None:
    (RESULTS / name).write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def settings_text(scores: dict[str, float], most: int = 25) -> str:
    """The best settings, first the one that was chosen."""
    ranked = sorted(scores.items(), key=lambda item: -item[1])
    rows = [[text, figure(score)] for text, score in ranked[:most]]
    table = markdown_table(Table("", ["Settings", "Accuracy"], rows))
    left = len(ranked) - len(rows)
    rest = f"\n\n{left} more, down to {ranked[-1][1]:.2f}." if left > 0 else ""
    return table + rest


# ---- measuring ---------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What the trainings of one contestant gave."""

    accuracy: dict[tuple[str, int], list[float]] = field(default_factory=dict)  # domain, fold
    seconds: list[float] = field(default_factory=list)  # of all trainings of a repeat
    passes: list[int] = field(default_factory=list)

    def mean(self, domain: str | None = None, fold: int | None = None) -> float:
        """Accuracy over the repeats, of all or of one domain or fold."""
        return statistics.mean(
            score
            for (d, f), scores in self.accuracy.items()
            for score in scores
            if domain in (None, d) and fold in (None, f)
        )

    def spread(self) -> float:
        """Standard deviation over the repeats of the mean accuracy."""
        runs = [statistics.mean(run) for run in zip(*self.accuracy.values(), strict=True)]
        return statistics.stdev(runs) if len(runs) > 1 else 0.0

    def training_seconds(self) -> float:
        """One training, in the fastest repeat."""
        return min(self.seconds) / len(self.accuracy)


def all_folds(*groups: tuple[str, ...]) -> dict[tuple[str, int], tuple[Part, Part]]:
    """The folds of groups of domains, by the name of the first domain and the fold's number."""
    return {
        (group[0], number): fold
        for group in groups
        for number, fold in enumerate(folds(treated(TREATMENT, *group)), 1)
    }


def measure(
    rows: dict[str, Callable[[int], Any]],
    parts: dict[tuple[str, int], tuple[Part, Part]],
    repeats: int,
) -> dict[str, Outcome]:
    """Train and test every row on every fold; the rows take turns."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    outcomes = {name: Outcome() for name in rows}
    for repeat in range(repeats):
        spent = dict.fromkeys(rows, 0.0)
        for place, (train, test) in parts.items():
            for name, make in rows.items():
                model = make(SEED + repeat)
                begin = time.perf_counter()
                model.fit(*train)
                spent[name] += time.perf_counter() - begin
                outcomes[name].accuracy.setdefault(place, []).append(100 * model.score(*test))
                outcomes[name].passes.append(int(np.max(model.n_iter_)))
        for name, seconds in spent.items():
            outcomes[name].seconds.append(seconds)
        print(f"repeat {repeat + 1} of {repeats}", flush=True)
    return outcomes


def accuracy_table(outcomes: dict[str, Outcome]) -> Table:
    head = ["Contestant", *DOMAINS, "Mean", "± (seeds)", "Fold 1", "Passes", "Seconds"]
    table = Table("Accuracy", [*head, "Published accuracy", "Published passes"], [])
    for contestant in CONTESTANTS:
        one = outcomes[contestant.name]
        scores = [*(one.mean(domain) for domain in DOMAINS), one.mean(), one.spread()]
        passes = statistics.mean(one.passes)
        published, published_passes = contestant.published
        table.rows.append(
            [
                contestant.name,
                *(figure(score) for score in [*scores, one.mean(fold=1)]),
                figure(passes, ".0f"),
                figure(one.training_seconds(), ".3f"),
                figure(published),
                figure(published_passes, "d"),
            ]
        )
    return table


def together_table(outcomes: dict[str, Outcome]) -> Table:
    head = ["Contestant", "Accuracy", "Passes", "Seconds", "Published accuracy"]
    table = Table("One classifier for all four domains", head, [])
    for contestant in CONTESTANTS:
        one = outcomes[contestant.name]
        cells = [figure(one.mean()), figure(statistics.mean(one.passes), ".0f")]
        cells += [figure(one.training_seconds(), ".3f"), figure(contestant.published[0])]
        table.rows.append([contestant.name, *cells])
    return table


def timing_table(outcomes: dict[str, Outcome], passes: int) -> Table:
    adf, peer = outcomes["adaptag adf"], outcomes[SAME_PASSES]
    table = Table(
        f"The same number of passes: {passes}",
        ["Contestant", "Seconds", "ms per pass", "Accuracy", "Time beside SGDClassifier"],
        [],
    )
    for name, one in (("adaptag adf", adf), ("SGDClassifier", peer)):
        seconds = one.training_seconds()
        ratio = seconds / peer.training_seconds()
        cells = [figure(seconds, ".3f"), figure(1000 * seconds / passes), figure(one.mean())]
        table.rows.append([name, *cells, figure(ratio)])
    return table


SAME_PASSES = "SGDClassifier, the passes of adf"


def verdict(outcomes: dict[str, Outcome]) -> str:
    """How ADF stands to the best of the others."""
    others = {c.name: outcomes[c.name].mean() for c in CONTESTANTS[1:]}
    best = max(others, key=others.__getitem__)
    own = outcomes["adaptag adf"].mean()
    return (
        f"ADF: {own:.2f}. The best of the others: {best}, {others[best]:.2f} "
        f"({own - others[best]:+.2f})."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tune", choices=("values", "settings"), help="choose the settings")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes that tune")
    parser.add_argument("--repeats", type=int, default=5, help="times that every row is trained")
    parser.add_argument("--quick", action="store_true", help="one repeat: does it run?")
    arguments = parser.parse_args()
    if arguments.tune:
        {"values": tune_values, "settings": tune_settings}[arguments.tune](arguments.jobs)
        return
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    repeats = 1 if arguments.quick else arguments.repeats
    passes = CHOSEN["adaptag adf"]["passes"]
    rows = {c.name: partial(c.make, **CHOSEN[c.name]) for c in CONTESTANTS}
    rows[SAME_PASSES] = partial(sgd_classifier, **CHOSEN["SGDClassifier"] | {"passes": passes})
    outcomes = measure(rows, all_folds(*((domain,) for domain in DOMAINS)), repeats)
    together = measure(rows, all_folds(DOMAINS), 1)
    tables = [
        accuracy_table(outcomes),
        timing_table(outcomes, passes),
        together_table(together),
    ]
    notes = [verdict(outcomes), "", TOGETHER + " " + verdict(together)]
    report.show(tables)
    parts = ["# Sentiment of reviews: adaptag beside scikit-learn"]
    parts += [READ_FIRST.format(repeats=repeats, treatment=TREATMENT, how=HOW_TREATED)]
    machine = report.machine() | {"scikit-learn": sklearn.__version__}
    parts += [f"Machine: {report.described(machine)}."]
    option = " --quick" if arguments.quick else f" --repeats {repeats}"
    parts += [f"Command: `python benchmarks/sentiment.py{option}`"]
    for table, note in zip(tables, notes, strict=True):
        parts += [f"## {table.title}", markdown_table(table), *([note] if note else [])]
    settings = "; ".join(f"{name}: {text_of(chosen)}" for name, chosen in CHOSEN.items())
    parts += [f"Settings, chosen on training data (`tuning-sentiment.md`): {settings}."]
    write("sentiment-partial.md" if arguments.quick else "sentiment.md", parts)


if __name__ == "__main__":
    main()
