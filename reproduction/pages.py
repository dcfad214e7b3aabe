"""Pages of results: what was measured, beside what was published, as Markdown with pictures."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, NamedTuple

from adaptag.experiments.charts import line_chart
from adaptag.experiments.report import curves_of, lowest_score
from adaptag.experiments.results import LEVEL, NONE, Table, machine_line, shown, shown_seconds
from reproduction.charts import side_by_side
from reproduction.recipes.recipe import QUICK_PASSES, Measurement, Published, Study

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from adaptag.experiments.results import Comparison, Entry, Verdict
    from reproduction.recipes.recipe import Recipe
    from reproduction.runner import Figures

__all__ = ["Page", "index_page", "recipe_page"]

PICTURES = "pictures"
SIZE = (5.0, 3.6)
MAIN = "algorithms"  # the study that each recipe of the summary has
RIVALS = ("adf", "sgd", "lbfgs", "perceptron", "averaged-perceptron")
TITLES = {"scores": "Score", "objective": "Objective", "active": "Active weights"}
AXES = {
    "scores": "{measure}, %",
    "objective": "objective per sentence",
    "active": "weights that are not 0",
}


class Page(NamedTuple):
    """A page of Markdown, and the pictures that it shows: SVG by file name."""

    text: str
    pictures: dict[str, str]


def recipe_page(recipe: Recipe, figures: Figures) -> Page:
    """All studies of a recipe."""
    parts = [f"# {recipe.title}", recipe.about]
    if figures.quick:
        parts.append(_quick())
    pictures: dict[str, str] = {}
    for study in recipe.studies:
        if study.key not in figures.studies:
            continue
        parts += [f"## {study.title}", f"Beside {study.source}."]
        if study.text:
            parts.append(study.text)
        if isinstance(study, Measurement):
            parts += [table.markdown() for table in figures.tables(study.key)]
            continue
        comparison = figures.comparison(study.key)
        assert comparison is not None
        more, drawn = _study(recipe.name, study, comparison)
        parts += more
        pictures |= drawn
    parts += _systems(recipe, figures)
    seconds = sum(found["seconds"] for found in figures.studies.values())
    parts += [
        "## How it was measured",
        f"{_machine(figures)} {seconds / 60:.0f} minutes in all.",
        f"Command: `python -m reproduction {recipe.name}{' --quick' * figures.quick}`",
    ]
    tuning = figures.folder / f"tuning-{recipe.name}.md"
    if tuning.exists():
        parts.append(f"Settings were chosen on training data: [evidence]({tuning.name}).")
    return Page("\n\n".join(parts) + "\n", pictures)


def _systems(recipe: Recipe, figures: Figures) -> list[str]:
    """Other systems, and ours among them."""
    comparison = figures.comparison(MAIN)
    if not recipe.systems or comparison is None:
        return []
    rows = [[one.name, one.method, f"{one.score:.1f}"] for one in recipe.systems]
    score = comparison.entries[0].at_end("scores").value
    rows.append(["adaptag", "CRF, ADF", f"{score:.1f}"])
    table = Table(["System", "Method", "F"], rows, frozenset(), numbers=False)
    return ["## Other systems", "Beside table 5 of Sun et al. (2014).", table.markdown()]


def index_page(recipes: Sequence[Recipe], figures: Mapping[str, Figures]) -> str:
    """The summary of all recipes: who is best, in what time, and whether that is chance."""
    found = _contests(recipes, figures, MAIN)
    quick = any(one.quick for one in figures.values())
    parts = ["# Results", READ_FIRST]
    if quick:
        parts.append(_quick())
    parts += ["## Who wins", _winners(found).markdown(), WINNERS]
    parts += ["## The claims of the paper", _claims(found)]
    parts += ["## Time, and L-BFGS", *(table.markdown() for table in _times(found)), TIMES]
    one_pass = _contests(recipes, figures, "one-pass")
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
    machines = {_machine(one): None for one in figures.values()}
    parts += ["## To repeat it", f"```sh\npython -m reproduction{' --quick' * quick}\n```", REPEAT]
    parts += machines
    return "\n\n".join(parts) + "\n"


def _contests(
    recipes: Sequence[Recipe], figures: Mapping[str, Figures], key: str
) -> list[tuple[Recipe, Comparison]]:
    """The study of that key, of all recipes that have its figures."""
    return [
        (recipe, comparison)
        for recipe in recipes
        if recipe.name in figures
        and (comparison := figures[recipe.name].comparison(key)) is not None
    ]


READ_FIRST = """\
What adaptag reaches on the tasks of the papers, beside what they published. Settings were chosen on
training data alone; each page links the evidence. Scores are those after the last pass, means over
seeds; times are those of one core, without scoring."""

WINNERS = f"""\
F or accuracy in percent, the best in bold. ▲: ADF is better, ▼: ADF is worse, and both the t-test
over blocks of the test data and approximate randomisation say so (p < {LEVEL}); without a mark it
may be chance."""

TIMES = """\
Above, seconds to the end of training. *Seconds to the score of L-BFGS*: those that ADF takes to the
first pass whose score is no lower than the last of L-BFGS; –: it never is. *Times faster than
published*: the published seconds of a pass of ADF by ours; the machines are ten years apart."""

ONE_PASS = (
    "Each training sentence is seen once; settings were chosen for that. Means over 3 orders."
)

BRACKETS = "In brackets: published. The pages say where data or features differ."

REPEAT = """\
All figures are made by this command; each recipe can be named to run it alone. `ADAPTAG_DATA` names
the folder of corpora."""


def _machine(figures: Figures) -> str:
    jobs = int(figures.machine.get("at a time", "1"))
    others = f", {jobs} recipes at a time, each on a core of its own" if jobs > 1 else ""
    return f"Machine: {machine_line(figures.machine)}{others}."


def _quick() -> str:
    return (
        f"**A quick run: at most {QUICK_PASSES} passes and one seed. It shows that all works; "
        "its figures are not results.**"
    )


def _sources(recipe: Recipe) -> list[str]:
    return [study.source for study in recipe.studies]


# ---- one study ---------------------------------------------------------------------------------


def _study(name: str, study: Study, c: Comparison) -> tuple[list[str], dict[str, str]]:
    parts = [_columns(c, study.published, cells).markdown() for cells in (_scores, _efforts)]
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
    if c.verdicts:
        parts.append(c.significance_table().markdown())
    parts.append(c.settings_table().markdown())
    return parts, pictures


def _about(c: Comparison) -> str:
    sizes = f"{c.train.sentences:,} training sentences, {c.features:,} features, {c.labels} labels"
    seeds = f"{len(c.seeds)} seeds" if len(c.seeds) > 1 else "one seed"
    return f"In brackets: published. {sizes}; {seeds}."


def _chart(c: Comparison, entries: Sequence[Entry], curve: str, against: str) -> str:
    series = curves_of(entries, curve, against)
    steps = "passes" + (" (iterations)" if any(not e.online for e in entries) else "")
    return line_chart(
        series,
        title=f"{TITLES[curve]} against {against or 'passes'}",
        x_label="seconds of training" if against else steps,
        y_label=AXES[curve].format(measure=c.measure),
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
    """A row for each algorithm; columns that have nothing to say are left out."""
    columns: dict[str, list[str]] = {}
    for entry in c.entries:
        for head, text in cells_of(entry, published.get(entry.name, Published())):
            columns.setdefault(head, []).append(text)
    kept = {head: cells for head, cells in columns.items() if any(x != NONE for x in cells)}
    best: set[tuple[int, int]] = set()
    if "Score" in kept:
        scores = [entry.at_end("scores").value for entry in c.entries]
        best = {(k, 1) for k, score in enumerate(scores) if score == max(scores)}
    rows = [list(row) for row in zip(*kept.values(), strict=True)]
    return Table(list(kept), rows, frozenset(best))


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
        ("Score", shown(score)),
        ("Published", _number(p.score, ".2f")),
        ("Difference", _signed(score.value - p.score if p.score is not None else None)),
        ("P", NONE if accuracy else _beside(precision, p.precision, ".2f")),
        ("R", NONE if accuracy else _beside(recall, p.recall, ".2f")),
        ("Weights not 0", _beside(active, p.weights, ",.0f") if sparse else NONE),
        ("Objective", _beside(loss, p.objective, ".3f") if sparse else NONE),
    ]


def _efforts(entry: Entry, p: Published) -> list[tuple[str, str]]:
    seconds = entry.at_end("seconds").value
    converged = entry.converged()[0]
    a_pass = seconds / entry.passes
    published = p.seconds / p.passes if p.seconds and p.passes else None
    return [
        ("Algorithm", entry.name),
        ("Passes", _beside(entry.passes, p.passes, "d")),
        ("Converged after", NONE if converged is None else f"{converged.value:.3g}"),
        ("Seconds", shown_seconds(seconds) + _bracketed(p.seconds, ",.0f")),
        ("Seconds a pass", shown_seconds(a_pass)),
        ("A pass, times faster", _number(published and published / a_pass, ",.0f")),
        ("Weights", f"{entry.weights:,}"),
    ]


def _beside(ours: float, published: float | None, form: str) -> str:
    """Our figure, and the published one in brackets."""
    return format(ours, form) + _bracketed(published, form)


def _bracketed(value: float | None, form: str) -> str:
    return "" if value is None else f" ({value:{form}})"


def _number(value: float | None, form: str) -> str:
    return NONE if value is None else format(value, form)


def _signed(value: float | None) -> str:
    return NONE if value is None else f"{value:+.2f}".replace("-", "−")


# ---- the summary -------------------------------------------------------------------------------


def _winners(found: Sequence[tuple[Recipe, Comparison]]) -> Table:
    rows: list[list[str]] = []
    best = set()
    for recipe, c in found:
        entries = {entry.name: entry for entry in c.entries}
        verdicts = {verdict.name: verdict for verdict in c.verdicts}
        cells, scores = [recipe.title], []
        for name in RIVALS:
            entry = entries.get(name)
            score = entry.at_end("scores") if entry else None
            mark = _mark(verdicts.get(name))
            cells.append(f"{score.value:.2f}{mark}" if score else NONE)
            scores.append(score.value if score else 0.0)
        best |= {(len(rows), k + 1) for k, x in enumerate(scores) if x == max(scores)}
        rows.append(cells)
    return Table(["Task", *RIVALS], rows, frozenset(best))


def _mark(verdict: Verdict | None) -> str:
    """Whether ADF, the first of its contest, is better or worse for sure."""
    if verdict is None or verdict.differ != "yes":
        return ""
    return " ▲" if verdict.difference < 0 else " ▼"


def _claims(found: Sequence[tuple[Recipe, Comparison]]) -> str:
    """What the 2014 paper claims, task by task."""
    lines = []
    for recipe, c in found:
        adf = c.entries[0]
        rivals = [verdict for verdict in c.verdicts if verdict.name in RIVALS]
        better = [v.name for v in rivals if v.differ == "yes" and v.difference < 0]
        worse = [v.name for v in rivals if v.differ == "yes" and v.difference > 0]
        same = [v.name for v in rivals if v.differ != "yes"]
        top = max(c.entries, key=lambda e: e.at_end("scores").value if e.name in RIVALS else 0.0)
        head = "ADF is first" if top.name == adf.name else f"{top.name} is first"
        texts = [
            f"better than {', '.join(better)}" if better else "",
            f"not told apart from {', '.join(same)}" if same else "",
            f"worse than {', '.join(worse)}" if worse else "",
        ]
        told = "; ".join(text for text in texts if text)
        if not (same or worse):
            verdict = "confirmed"
        elif worse or top.name != adf.name:
            verdict = "contradicted" if worse else "not confirmed"
        else:
            verdict = "confirmed in part"
        lines.append(f"- **{recipe.title}**, best accuracy: {verdict}. {head}; ADF is {told}.")
        lines.append(f"    - An order of magnitude faster than L-BFGS: {_speed(c)}")
    return "\n".join(lines)


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
            f"ADF does not reach its score, by {scores[0] - scores[1]:.2f}; its own end it reaches "
            f"{times[0] / times[1]:,.0f} times sooner."
        )
    ratio = batch / reached
    word = "confirmed" if ratio >= 10 else "contradicted"
    cut = entries["lbfgs"].runs[0].stopped == "passes"
    note = "; L-BFGS was stopped before its end" if cut else ""
    return f"{word}, {ratio:,.0f} times to the same score{note}."


def _seconds_to(c: Comparison) -> float | None:
    """Seconds that ADF takes to the last score of L-BFGS."""
    entries = {entry.name: entry for entry in c.entries}
    goal = entries["lbfgs"].at_end("scores").value
    adf = entries["adf"]
    for score, seconds in zip(adf.curve("scores"), adf.curve("seconds"), strict=True):
        if score.value >= goal:
            return seconds.value
    return None


def _times(found: Sequence[tuple[Recipe, Comparison]]) -> list[Table]:
    """Seconds of all, and how much sooner ADF is there than L-BFGS and than published."""
    seconds, ratios = [], []
    for recipe, c in found:
        entries = {entry.name: entry for entry in c.entries}
        ends = {name: entry.at_end("seconds").value for name, entry in entries.items()}
        cells = [shown_seconds(ends[name]) if name in ends else NONE for name in RIVALS]
        seconds.append([recipe.title, *cells])
        reached = _seconds_to(c) if "lbfgs" in ends else None
        published = _published(recipe, "adf")
        faster = None
        if published.seconds and published.passes:
            faster = published.seconds / published.passes / (ends["adf"] / entries["adf"].passes)
        ratios.append(
            [
                recipe.title,
                NONE if reached is None else shown_seconds(reached),
                NONE if reached is None else f"{ends['lbfgs'] / reached:,.0f}",
                _number(faster, ",.0f"),
            ]
        )
    head = ["Seconds to the score of L-BFGS", "Times faster than L-BFGS"]
    return [
        Table(["Seconds", *RIVALS], seconds),
        Table(["ADF", *head, "Times faster than published"], ratios),
    ]


def _published(recipe: Recipe, name: str) -> Published:
    """What the main study of a recipe has for an algorithm."""
    main = next(s for s in recipe.studies if isinstance(s, Study) and s.key == MAIN)
    return main.published.get(name, Published())


def _published_tables(recipes: Sequence[Recipe], figures: Mapping[str, Figures]) -> list[str]:
    """Tables of a paper that have a column for each task: ours, and the published figure."""
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
                    cells[column] = _beside(score, p, ".2f")
    parts = []
    for title, rows in tables.items():
        columns = list(dict.fromkeys(column for cells in rows.values() for column in cells))
        lines = [[name, *(cells.get(c, NONE) for c in columns)] for name, cells in rows.items()]
        parts += [f"## {title}", Table(["Algorithm", *columns], lines).markdown(), BRACKETS]
    return parts


def _one_pass(found: Sequence[tuple[Recipe, Comparison]]) -> Table:
    names = [name for name in RIVALS if name != "lbfgs"]
    rows: list[list[str]] = []
    best = set()
    for recipe, c in found:
        entries = {entry.name: entry for entry in c.entries}
        means = [entries[name].at_end("scores") for name in names]
        top = max(mean.value for mean in means)
        best |= {(len(rows), k + 1) for k, mean in enumerate(means) if mean.value == top}
        rows.append([recipe.title, *map(shown, means)])
    return Table(["Task", *names], rows, frozenset(best))
