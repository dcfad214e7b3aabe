"""The summary of all recipes: scores, claims of the papers, training times."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from adaptag.experiments.results import SIGNIFICANCE_LEVEL
from adaptag.experiments.tables import MISSING, Table, format_score, format_seconds
from reproduction.pages import (
    format_number,
    machine_text,
    quick_note,
    with_published,
)
from reproduction.recipes.recipe import (
    DEFAULT,
    DEFAULTS,
    HELD_OUT_DEFAULTS,
    MAIN,
    Measurement,
    Published,
    Study,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from adaptag.experiments.results import Comparison, Significance
    from reproduction.recipes.recipe import Recipe
    from reproduction.runner import Figures

__all__ = ["index_page"]

COMPARED = ("adf", "sgd", "lbfgs", "perceptron", "averaged-perceptron")
DISPLAY_NAMES = {
    "adf": "ADF",
    "sgd": "SGD",
    "lbfgs": "L-BFGS",
    "perceptron": "the perceptron",
    "averaged-perceptron": "the averaged perceptron",
}

READ_FIRST = """\
The results of adaptag on the tasks of the papers, and the published results. Settings were chosen
on training data alone; each page links to what was tried. Scores are those after the last pass,
means over seeds; times are those of one core, without scoring."""

SCORES = f"""\
F or accuracy in percent, the best in bold. ▲: ADF is significantly better, ▼: ADF is significantly
worse, by both the t-test over blocks of the test data and approximate randomisation
(p < {SIGNIFICANCE_LEVEL}). Without a mark the difference from ADF is not significant."""

TIMES = """\
The first table has the seconds to the end of training. *Seconds to the score of L-BFGS*: the time
ADF takes to the first pass whose score is no lower than the final score of L-BFGS; –: there is no
such pass. *Times faster than published*: the published seconds per pass of ADF divided by ours; the
machines are ten years apart."""

ABOUT_DEFAULTS = """\
ADF with settings chosen on training data, for each task, and with the defaults: 20 passes, a rate
found on a sample, σ = 5. Regret is what the defaults lose; a negative one is a gain. *Dropout*: the
chosen settings with a dropout of 0.1 and twice the passes. Means over seeds."""

ONE_PASS = (
    "Each training sentence is seen once; settings were chosen for one pass. Means over 3 seeds."
)

BRACKETS = "Published figures in brackets. The pages say where data or features differ."

REPEAT = """\
This command makes all figures, `python -m reproduction NAME` those of one recipe. The environment
variable `ADAPTAG_DATA` names the folder of corpora."""


def index_page(recipes: Sequence[Recipe], figures: Mapping[str, Figures]) -> str:
    """The summary of all recipes: scores, significance and training times."""
    comparisons = _comparisons(recipes, figures, MAIN)
    quick = any(measured.quick for measured in figures.values())
    parts = ["# Results", READ_FIRST]
    if quick:
        parts.append(quick_note())
    parts += ["## Scores", _score_table(comparisons).markdown(), SCORES]
    parts += ["## The claims of the paper", _claims(comparisons)]
    parts += ["## Time, and L-BFGS", *(table.markdown() for table in _times(comparisons)), TIMES]
    on_test = _comparisons(recipes, figures, DEFAULTS)
    held_out = _comparisons(recipes, figures, HELD_OUT_DEFAULTS)
    if on_test and held_out:
        parts += ["## The defaults", _regrets(on_test, held_out), ABOUT_DEFAULTS]
    one_pass = _comparisons(recipes, figures, "one-pass")
    if one_pass:
        parts += ["## One pass", _one_pass(one_pass).markdown(), ONE_PASS]
    parts += _published_tables(recipes, figures)
    parts += ["## Pages"]
    parts.append(
        "\n".join(
            f"- [{recipe.title}]({recipe.name}.md): {'; '.join(_sources(recipe))}"
            for recipe in recipes
            if recipe.name in figures
        )
    )
    machines = {machine_text(measured): None for measured in figures.values()}
    parts += [
        "## Reproducing the results",
        f"```sh\npython -m reproduction{' --quick' * quick}\n```",
        REPEAT,
    ]
    parts += machines
    return "\n\n".join(parts) + "\n"


def _comparisons(
    recipes: Sequence[Recipe], figures: Mapping[str, Figures], key: str
) -> list[tuple[Recipe, Comparison]]:
    """The comparison of one study for every recipe that has its figures."""
    return [
        (recipe, comparison)
        for recipe in recipes
        if recipe.name in figures
        and (comparison := figures[recipe.name].comparison(key)) is not None
    ]


def _sources(recipe: Recipe) -> list[str]:
    return [study.source for study in recipe.studies if study.source]


def _score_table(comparisons: Sequence[tuple[Recipe, Comparison]]) -> Table:
    rows: list[list[str]] = []
    best = set()
    for recipe, c in comparisons:
        entries = {entry.name: entry for entry in c.entries}
        tests = {test.name: test for test in c.significance}
        cells, scores = [recipe.title], []
        for name in COMPARED:
            entry = entries.get(name)
            score = entry.at_end("scores") if entry else None
            mark = _mark(tests.get(name))
            cells.append(f"{score.value:.2f}{mark}" if score else MISSING)
            scores.append(score.value if score else 0.0)
        best |= {(len(rows), k + 1) for k, x in enumerate(scores) if x == max(scores)}
        rows.append(cells)
    return Table(["Task", *COMPARED], rows, frozenset(best))


def _mark(test: Significance | None) -> str:
    """Whether ADF, the baseline of the tests, is significantly better or worse."""
    if test is None or test.significant != "yes":
        return ""
    return " ▲" if test.difference < 0 else " ▼"


def _claims(comparisons: Sequence[tuple[Recipe, Comparison]]) -> str:
    """The claims of the 2014 paper, task by task."""
    lines = []
    for recipe, c in comparisons:
        adf = c.entries[0]
        tests = [test for test in c.significance if test.name in COMPARED]
        differ = [test for test in tests if test.significant == "yes"]
        better = _names(test for test in differ if test.difference < 0)
        worse = _names(test for test in differ if test.difference > 0)
        same = _names(test for test in tests if test.significant != "yes")
        top = max(c.entries, key=lambda e: e.at_end("scores").value if e.name in COMPARED else 0.0)
        texts = [
            f"significantly better than {better}" if better else "",
            f"not significantly different from {same}" if same else "",
            f"significantly worse than {worse}" if worse else "",
        ]
        differences = "; ".join(text for text in texts if text)
        if not (same or worse):
            conclusion = "confirmed"
        elif worse or top.name != adf.name:
            conclusion = "contradicted" if worse else "not confirmed"
        else:
            conclusion = "partly confirmed"
        lines.append(
            f"- **{recipe.title}**, best accuracy: {conclusion}. {DISPLAY_NAMES[top.name]} has the "
            f"highest score; ADF is {differences}."
        )
        lines.append(f"    - An order of magnitude faster than L-BFGS: {_speed(c)}")
    return "\n".join(lines)


def _names(tests: Iterable[Significance]) -> str:
    return ", ".join(DISPLAY_NAMES[test.name] for test in tests)


def _speed(c: Comparison) -> str:
    entries = {entry.name: entry for entry in c.entries}
    if "lbfgs" not in entries:
        return "not measured."
    batch, reached = entries["lbfgs"].at_end("seconds").value, _seconds_to(c)
    if reached is None:
        scores, times = (
            [entries[name].at_end(curve).value for name in ("lbfgs", "adf")]
            for curve in ("scores", "seconds")
        )
        return (
            f"not comparable, as ADF ends {scores[0] - scores[1]:.2f} below the score of L-BFGS; "
            f"it ends {times[0] / times[1]:,.0f} times sooner."
        )
    ratio = batch / reached
    conclusion = "confirmed" if ratio >= 10 else "contradicted"
    cut = entries["lbfgs"].runs[0].stopped == "passes"
    note = "; L-BFGS was stopped before it converged" if cut else ""
    return f"{conclusion}, {ratio:,.0f} times faster to the same score{note}."


def _seconds_to(c: Comparison) -> float | None:
    """Seconds that ADF takes to the final score of L-BFGS."""
    entries = {entry.name: entry for entry in c.entries}
    target = entries["lbfgs"].at_end("scores").value
    adf = entries["adf"]
    for score, seconds in zip(adf.curve("scores"), adf.curve("seconds"), strict=True):
        if score.value >= target:
            return seconds.value
    return None


def _times(comparisons: Sequence[tuple[Recipe, Comparison]]) -> list[Table]:
    """Training times, and the speed-up of ADF over L-BFGS and over the published times."""
    seconds, ratios = [], []
    for recipe, c in comparisons:
        entries = {entry.name: entry for entry in c.entries}
        ends = {name: entry.at_end("seconds").value for name, entry in entries.items()}
        cells = [format_seconds(ends[name]) if name in ends else MISSING for name in COMPARED]
        seconds.append([recipe.title, *cells])
        reached = _seconds_to(c) if "lbfgs" in ends else None
        published = _published(recipe, "adf")
        faster = None
        if published.seconds and published.passes:
            faster = published.seconds / published.passes / (ends["adf"] / entries["adf"].passes)
        ratios.append(
            [
                recipe.title,
                MISSING if reached is None else format_seconds(reached),
                MISSING if reached is None else f"{ends['lbfgs'] / reached:,.0f}",
                format_number(faster, ",.0f"),
            ]
        )
    head = ["Seconds to the score of L-BFGS", "Times faster than L-BFGS"]
    return [
        Table(["Seconds", *COMPARED], seconds),
        Table(["ADF", *head, "Times faster than published"], ratios),
    ]


def _published(recipe: Recipe, name: str) -> Published:
    """The published figures of an algorithm in the main study of a recipe."""
    main = next(s for s in recipe.studies if isinstance(s, Study) and s.key == MAIN)
    return main.published.get(name, Published())


def _published_tables(recipes: Sequence[Recipe], figures: Mapping[str, Figures]) -> list[str]:
    """Tables of a paper with a column for each task: our figure and the published one."""
    tables: dict[str, dict[str, dict[str, str]]] = {}
    for recipe in recipes:
        for study in recipe.studies:
            if isinstance(study, Measurement) or study.column is None:
                continue
            comparison = (
                figures[recipe.name].comparison(study.key) if recipe.name in figures else None
            )
            if comparison is None:
                continue
            table, column = study.column
            for entry in comparison.entries:
                p = study.published.get(entry.name, Published()).score
                if p is not None:
                    score = entry.at_end("scores").value
                    cells = tables.setdefault(table, {}).setdefault(entry.name, {})
                    cells[column] = with_published(score, p, ".2f")
    parts = []
    for title, rows in tables.items():
        columns = list(dict.fromkeys(column for cells in rows.values() for column in cells))
        lines = [[name, *(cells.get(c, MISSING) for c in columns)] for name, cells in rows.items()]
        parts += [f"## {title}", Table(["Algorithm", *columns], lines).markdown(), BRACKETS]
    return parts


def _regrets(
    tests: Sequence[tuple[Recipe, Comparison]], held_out: Sequence[tuple[Recipe, Comparison]]
) -> str:
    """What the defaults lose against chosen settings, on held-out training data and on test."""
    on_test = {recipe.name: _final_scores(c) for recipe, c in tests}
    rows, regrets = [], []
    for recipe, c in held_out:
        pair, test = _final_scores(c), on_test.get(recipe.name, {})
        if not test:
            continue
        regrets.append([scores["adf"] - scores[DEFAULT] for scores in (pair, test)])
        cells = []
        for scores, regret in zip((pair, test), regrets[-1], strict=True):
            cells += [f"{scores['adf']:.2f}", f"{scores[DEFAULT]:.2f}", f"{regret:+.2f}"]
        rows.append([recipe.title, *cells, f"{test['dropout']:.2f}"])
    for name, figure in (("Worst", max), ("Mean", statistics.fmean)):
        both = [f"{figure(column):+.2f}" for column in zip(*regrets, strict=True)] or ["", ""]
        rows.append([name, "", "", both[0], "", "", both[1], ""])
    head = ["chosen", "defaults", "regret"]
    columns = [f"{where}: {name}" for where in ("Held out", "Test") for name in head]
    return Table(["Task", *columns, "Test: dropout"], rows).markdown()


def _final_scores(c: Comparison) -> dict[str, float]:
    """The scores after the last pass, by the names of the rows."""
    return {entry.name: entry.at_end("scores").value for entry in c.entries}


def _one_pass(comparisons: Sequence[tuple[Recipe, Comparison]]) -> Table:
    names = [name for name in COMPARED if name != "lbfgs"]
    rows: list[list[str]] = []
    best = set()
    for recipe, c in comparisons:
        entries = {entry.name: entry for entry in c.entries}
        means = [entries[name].at_end("scores") for name in names]
        top = max(mean.value for mean in means)
        best |= {(len(rows), k + 1) for k, mean in enumerate(means) if mean.value == top}
        rows.append([recipe.title, *map(format_score, means)])
    return Table(["Task", *names], rows, frozenset(best))
