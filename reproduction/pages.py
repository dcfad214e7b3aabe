"""Pages of results: measured and published figures as Markdown, with pictures."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, NamedTuple

from adaptag.experiments.charts import line_chart
from adaptag.experiments.report import curves_of, lowest_score
from adaptag.experiments.results import (
    MISSING,
    SIGNIFICANCE_LEVEL,
    Table,
    format_score,
    format_seconds,
    machine_line,
)
from reproduction.charts import side_by_side
from reproduction.recipes.recipe import QUICK_PASSES, Measurement, Published, Study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from adaptag.experiments.results import Comparison, Entry, Significance
    from reproduction.recipes.recipe import Recipe
    from reproduction.runner import Figures

__all__ = ["Page", "index_page", "recipe_page"]

PICTURES = "pictures"
SIZE = (5.0, 3.6)
MAIN = "algorithms"  # the study that the summary is made of
COMPARED = ("adf", "sgd", "lbfgs", "perceptron", "averaged-perceptron")
DISPLAY_NAMES = {
    "adf": "ADF",
    "sgd": "SGD",
    "lbfgs": "L-BFGS",
    "perceptron": "the perceptron",
    "averaged-perceptron": "the averaged perceptron",
}
TITLES = {"scores": "Score", "objective": "Objective", "active": "Active weights"}
AXES = {
    "scores": "{metric}, %",
    "objective": "objective per sentence",
    "active": "weights that are not 0",
}


class Page(NamedTuple):
    """A page of Markdown, and its pictures: SVG by file name."""

    text: str
    pictures: dict[str, str]


def recipe_page(recipe: Recipe, figures: Figures) -> Page:
    """The page of a recipe, with all of its studies."""
    parts = [f"# {recipe.title}", recipe.about]
    if figures.quick:
        parts.append(_quick())
    pictures: dict[str, str] = {}
    for study in recipe.studies:
        if study.key not in figures.studies:
            continue
        parts += [f"## {study.title}", f"Reference: {study.source}."]
        if study.text:
            parts.append(study.text)
        if isinstance(study, Measurement):
            parts += [table.markdown() for table in figures.tables(study.key)]
            continue
        comparison = figures.comparison(study.key)
        assert comparison is not None
        text, charts = _study(recipe.name, study, comparison)
        parts += text
        pictures |= charts
    parts += _systems(recipe, figures)
    seconds = sum(study["seconds"] for study in figures.studies.values())
    parts += [
        "## How it was measured",
        f"{_machine(figures)} {seconds / 60:.0f} minutes in total.",
        f"Command: `python -m reproduction {recipe.name}{' --quick' * figures.quick}`",
    ]
    tuning = figures.folder / f"tuning-{recipe.name}.md"
    if tuning.exists():
        parts.append(f"Settings were chosen on training data: [what was tried]({tuning.name}).")
    return Page("\n\n".join(parts) + "\n", pictures)


def _systems(recipe: Recipe, figures: Figures) -> list[str]:
    """The results of other systems, and ours."""
    comparison = figures.comparison(MAIN)
    if not recipe.systems or comparison is None:
        return []
    rows = [[system.name, system.method, f"{system.score:.1f}"] for system in recipe.systems]
    score = comparison.entries[0].at_end("scores").value
    rows.append(["adaptag", "CRF, ADF", f"{score:.1f}"])
    table = Table(["System", "Method", "F"], rows, frozenset(), numbers=False)
    return ["## Other systems", "Reference: table 5 of Sun et al. (2014).", table.markdown()]


def index_page(recipes: Sequence[Recipe], figures: Mapping[str, Figures]) -> str:
    """The summary of all recipes: scores, significance and training times."""
    comparisons = _comparisons(recipes, figures, MAIN)
    quick = any(measured.quick for measured in figures.values())
    parts = ["# Results", READ_FIRST]
    if quick:
        parts.append(_quick())
    parts += ["## Scores", _score_table(comparisons).markdown(), SCORES]
    parts += ["## The claims of the paper", _claims(comparisons)]
    parts += ["## Time, and L-BFGS", *(table.markdown() for table in _times(comparisons)), TIMES]
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
    machines = {_machine(measured): None for measured in figures.values()}
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

ONE_PASS = (
    "Each training sentence is seen once; settings were chosen for one pass. Means over 3 seeds."
)

BRACKETS = "Published figures in brackets. The pages say where data or features differ."

REPEAT = """\
This command makes all figures, `python -m reproduction NAME` those of one recipe. The environment
variable `ADAPTAG_DATA` names the folder of corpora."""


def _machine(figures: Figures) -> str:
    jobs = int(figures.machine.get("at a time", "1"))
    others = f", {jobs} recipes at a time, each on its own core" if jobs > 1 else ""
    return f"Machine: {machine_line(figures.machine)}{others}."


def _quick() -> str:
    return (
        f"**A quick run: at most {QUICK_PASSES} passes and one seed. It checks that everything "
        "works; its figures are not results.**"
    )


def _sources(recipe: Recipe) -> list[str]:
    return [study.source for study in recipe.studies]


# ---- one study ---------------------------------------------------------------------------------


def _study(name: str, study: Study, c: Comparison) -> tuple[list[str], dict[str, str]]:
    parts = [_columns(c, study.published, cells).markdown() for cells in (_scores, _training_time)]
    parts.append(_about(c))
    pictures: dict[str, str] = {}
    for number, (curve, names) in enumerate(study.charts, 1):
        entries = [entry for entry in c.entries if not names or entry.name in names]
        stem = f"{name}-{study.key}-{number}.svg"
        pictures[stem] = side_by_side(
            [_chart(c, entries, curve, against) for against in ("", "seconds")]
        )
        shown_names = ", ".join(entry.name for entry in entries)
        text = f"{TITLES[curve]} against passes and seconds: {shown_names}"
        parts.append(f"![{text}]({PICTURES}/{stem})")
    if c.significance:
        parts.append(c.significance_table().markdown())
    parts.append(c.settings_table().markdown())
    return parts, pictures


def _about(c: Comparison) -> str:
    sizes = f"{c.train.sentences:,} training sentences, {c.features:,} features, {c.labels} labels"
    seeds = f"{len(c.seeds)} seeds" if len(c.seeds) > 1 else "one seed"
    return f"Published figures in brackets. {sizes}; {seeds}."


def _chart(c: Comparison, entries: Sequence[Entry], curve: str, against: str) -> str:
    series = curves_of(entries, curve, against)
    steps = "passes" + (" (iterations)" if any(not e.online for e in entries) else "")
    return line_chart(
        series,
        title=f"{TITLES[curve]} against {against or 'passes'}",
        x_label="seconds of training" if against else steps,
        y_label=AXES[curve].format(metric=c.metric),
        log_x=bool(against) or max(len(s.x) for s in series) > 50,
        log_y=curve == "active",
        lowest_y=lowest_score([list(s.y) for s in series]) if curve == "scores" else None,
        size=SIZE,
    )


def _columns(
    c: Comparison,
    published: Mapping[str, Published],
    cells_of: Callable[[Entry, Published], list[tuple[str, str]]],
) -> Table:
    """One row per algorithm; columns without values are left out."""
    columns: dict[str, list[str]] = {}
    for entry in c.entries:
        for head, text in cells_of(entry, published.get(entry.name, Published())):
            columns.setdefault(head, []).append(text)
    used = {head: cells for head, cells in columns.items() if any(x != MISSING for x in cells)}
    best: set[tuple[int, int]] = set()
    if "Score" in used:
        scores = [entry.at_end("scores").value for entry in c.entries]
        best = {(k, 1) for k, score in enumerate(scores) if score == max(scores)}
    rows = [list(row) for row in zip(*used.values(), strict=True)]
    return Table(list(used), rows, frozenset(best))


def _scores(entry: Entry, p: Published) -> list[tuple[str, str]]:
    score, runs = entry.at_end("scores"), entry.runs
    precision, recall = (
        statistics.mean(getattr(run, name) for run in runs) for name in ("precision", "recall")
    )
    accuracy = precision == recall  # of all tokens, or classes
    sparse = p.weights is not None
    active, loss = (entry.at_end(name).value for name in ("active", "objective"))
    return [
        ("Algorithm", entry.name),
        ("Score", format_score(score)),
        ("Published", _number(p.score, ".2f")),
        ("Difference", _signed(score.value - p.score if p.score is not None else None)),
        ("P", MISSING if accuracy else _with_published(precision, p.precision, ".2f")),
        ("R", MISSING if accuracy else _with_published(recall, p.recall, ".2f")),
        ("Non-zero weights", _with_published(active, p.weights, ",.0f") if sparse else MISSING),
        ("Objective", _with_published(loss, p.objective, ".3f") if sparse else MISSING),
    ]


def _training_time(entry: Entry, p: Published) -> list[tuple[str, str]]:
    seconds = entry.at_end("seconds").value
    converged = entry.converged()[0]
    per_pass = seconds / entry.passes
    published = p.seconds / p.passes if p.seconds and p.passes else None
    return [
        ("Algorithm", entry.name),
        ("Passes", _with_published(entry.passes, p.passes, "d")),
        ("Converged after", MISSING if converged is None else f"{converged.value:.3g}"),
        ("Seconds", format_seconds(seconds) + _bracketed(p.seconds, ",.0f")),
        ("Seconds per pass", format_seconds(per_pass)),
        ("Speed-up per pass", _number(published and published / per_pass, ",.0f")),
        ("Weights", f"{entry.weights:,}"),
    ]


def _with_published(ours: float, published: float | None, form: str) -> str:
    """Our figure, and the published one in brackets."""
    return format(ours, form) + _bracketed(published, form)


def _bracketed(value: float | None, form: str) -> str:
    return "" if value is None else f" ({value:{form}})"


def _number(value: float | None, form: str) -> str:
    return MISSING if value is None else format(value, form)


def _signed(value: float | None) -> str:
    return MISSING if value is None else f"{value:+.2f}".replace("-", "−")


# ---- the summary -------------------------------------------------------------------------------


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
                _number(faster, ",.0f"),
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
                    cells[column] = _with_published(score, p, ".2f")
    parts = []
    for title, rows in tables.items():
        columns = list(dict.fromkeys(column for cells in rows.values() for column in cells))
        lines = [[name, *(cells.get(c, MISSING) for c in columns)] for name, cells in rows.items()]
        parts += [f"## {title}", Table(["Algorithm", *columns], lines).markdown(), BRACKETS]
    return parts


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
