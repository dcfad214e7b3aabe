"""The page of a recipe: measured and published figures as Markdown, with pictures."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, NamedTuple

from adaptag.experiments.charts import line_chart
from adaptag.experiments.report import curves_of, lowest_score
from adaptag.experiments.results import machine_line
from adaptag.experiments.tables import MISSING, Table, format_score, format_seconds
from reproduction.charts import side_by_side
from reproduction.recipes.recipe import MAIN, QUICK_PASSES, Measurement, Published, Study

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from adaptag.experiments.results import Comparison, Entry
    from reproduction.recipes.recipe import Recipe
    from reproduction.runner import Figures

__all__ = [
    "PICTURES",
    "Page",
    "format_number",
    "machine_text",
    "quick_note",
    "recipe_page",
    "with_published",
]

PICTURES = "pictures"
SIZE = (5.0, 3.6)
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
        parts.append(quick_note())
    pictures: dict[str, str] = {}
    for study in recipe.studies:
        if study.key not in figures.studies:
            continue
        parts.append(f"## {study.title}")
        if study.source:
            parts.append(f"Reference: {study.source}.")
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
        f"{machine_text(figures)} {seconds / 60:.0f} minutes in total.",
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


def machine_text(figures: Figures) -> str:
    """The machine that figures were measured on."""
    jobs = int(figures.machine.get("at a time", "1"))
    others = f", {jobs} recipes at a time, each on its own core" if jobs > 1 else ""
    return f"Machine: {machine_line(figures.machine)}{others}."


def quick_note() -> str:
    """A warning that figures are those of a quick run."""
    return (
        f"**A quick run: at most {QUICK_PASSES} passes and one seed. It checks that everything "
        "works; its figures are not results.**"
    )


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
        ("Published", format_number(p.score, ".2f")),
        ("Difference", _signed(score.value - p.score if p.score is not None else None)),
        ("P", MISSING if accuracy else with_published(precision, p.precision, ".2f")),
        ("R", MISSING if accuracy else with_published(recall, p.recall, ".2f")),
        ("Non-zero weights", with_published(active, p.weights, ",.0f") if sparse else MISSING),
        ("Objective", with_published(loss, p.objective, ".3f") if sparse else MISSING),
    ]


def _training_time(entry: Entry, p: Published) -> list[tuple[str, str]]:
    seconds = entry.at_end("seconds").value
    converged = entry.converged()[0]
    per_pass = seconds / entry.passes
    published = p.seconds / p.passes if p.seconds and p.passes else None
    return [
        ("Algorithm", entry.name),
        ("Passes", with_published(entry.passes, p.passes, "d")),
        ("Converged after", MISSING if converged is None else f"{converged.value:.3g}"),
        ("Seconds", format_seconds(seconds) + _bracketed(p.seconds, ",.0f")),
        ("Seconds per pass", format_seconds(per_pass)),
        ("Speed-up per pass", format_number(published and published / per_pass, ",.0f")),
        ("Weights", f"{entry.weights:,}"),
    ]


def with_published(ours: float, published: float | None, form: str) -> str:
    """Our figure, and the published one in brackets."""
    return format(ours, form) + _bracketed(published, form)


def _bracketed(value: float | None, form: str) -> str:
    return "" if value is None else f" ({value:{form}})"


def format_number(value: float | None, form: str) -> str:
    """A number as text, or a dash where there is none."""
    return MISSING if value is None else format(value, form)


def _signed(value: float | None) -> str:
    return MISSING if value is None else f"{value:+.2f}".replace("-", "−")
