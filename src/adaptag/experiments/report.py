"""A comparison as Markdown, and as one HTML file without scripts or external resources."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.experiments.charts import Series, line_chart, prefix_ids
from adaptag.experiments.results import SIGNIFICANCE_LEVEL, machine_line
from adaptag.experiments.runs import ZERO_TOLERANCE
from adaptag.experiments.significance import BLOCKS, TRIALS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from adaptag.experiments.results import Comparison, Entry
    from adaptag.experiments.tables import Table

__all__ = ["curves_of", "html_report", "lowest_score", "markdown_report"]

SIZE = (5.4, 3.7)  # inches; small, so that text can still be read when a phone scales it down
ROOM = 5.0  # points of score that an axis shows at least, where some are cut off
MARKS = re.compile(r"[\\`*_|<>\[\]]")

STYLE = """
:root { color-scheme: light dark; --ink: #1c2126; --soft: #5b6670; --line: #d9dee3;
  --page: #ffffff; --band: #f4f6f8; --best: #00634b; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --soft: #9aa6b2; --line: #39424b; --page: #14181c; --band: #1e242a;
    --best: #5fd3ae; }
  figure svg { filter: invert(0.92) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 4rem; background: var(--page);
  color: var(--ink); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0 0.3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 0.6rem; }
p, ul { max-width: 46rem; margin: 0.5rem 0; }
ul { padding-left: 1.2rem; }
.lead, .note, figcaption { color: var(--soft); overflow-wrap: anywhere; }
.note, figcaption { font-size: 0.88rem; }
.wide { overflow-x: auto; border: 1px solid var(--line); border-radius: 0.5rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: 0.45rem 0.8rem; text-align: right; vertical-align: bottom; }
td { white-space: nowrap; border-top: 1px solid var(--line); }
th { background: var(--band); font-weight: 600; }
th:first-child, td:first-child, .text th, .text td { text-align: left; }
.text td { white-space: normal; }
td.best { font-weight: 700; color: var(--best); }
.charts { display: grid; gap: 1.2rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
figure { margin: 0; }
figure svg { display: block; width: 100%; height: auto; }
pre { padding: 0.8rem 1rem; background: var(--band); border-radius: 0.5rem; overflow-x: auto;
  font: 0.88rem/1.5 ui-monospace, Menlo, Consolas, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; }
@media print { body { max-width: none; } figure, table { break-inside: avoid; } }
"""


def markdown_report(comparison: Comparison, command: str = "") -> str:
    """The comparison as Markdown, without charts.

    Args:
        comparison: The comparison to show.
        command: The command that repeats the comparison.
    """
    parts = [f"# {_plain(_title(comparison))}", _plain(_about(comparison))]
    parts += [f"**{_plain(line)}**" for line in _unfinished(comparison)]
    parts += [comparison.table().markdown(), _list(_reading(comparison))]
    if comparison.significance:
        parts += ["## Significance", comparison.significance_table().markdown()]
        parts += [_list(_tests(comparison))]
    parts += ["## Settings", comparison.settings_table().markdown()]
    parts += [
        _plain(_features(comparison)),
        f"Machine: {_plain(machine_line(comparison.machine))}.",
    ]
    if command:
        fence = "```"
        while fence in command:
            fence += "`"
        parts += [f"## Command\n\n{fence}sh\n{command}\n{fence}"]
    return "\n\n".join(parts) + "\n"


def html_report(comparison: Comparison, command: str = "") -> str:
    """The comparison as one HTML document: tables, charts as SVG, no script, no other files.

    Args:
        comparison: The comparison to show.
        command: The command that repeats the comparison.
    """
    title = escape(_title(comparison))
    body = [f"<h1>{title}</h1>", f'<p class="lead">{escape(_about(comparison))}</p>']
    body += [f"<p><strong>{escape(line)}</strong></p>" for line in _unfinished(comparison)]
    body += ["<h2>Results</h2>", _html_table(comparison.table()), _notes(_reading(comparison))]
    body += ["<h2>Curves</h2>", '<div class="charts">', *_charts(comparison), "</div>"]
    if comparison.significance:
        body += ["<h2>Significance</h2>", _html_table(comparison.significance_table())]
        body += [_notes(_tests(comparison))]
    body += ["<h2>Settings</h2>", _html_table(comparison.settings_table())]
    body += [f'<p class="note">{escape(_features(comparison))}</p>']
    body += [f"<h2>Machine</h2>\n<p>{escape(machine_line(comparison.machine))}.</p>"]
    if command:
        body += [f"<h2>Command</h2>\n<pre>{escape(command)}</pre>"]
    head = (
        '<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>"
    )
    page = "\n".join(body)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{page}\n</body>\n'
        "</html>\n"
    )


# ---- text, the same in both --------------------------------------------------------------------


def _title(c: Comparison) -> str:
    return f"{', '.join(entry.name for entry in c.entries)} on {c.test.name}"


def _about(c: Comparison) -> str:
    seeds = f"Means over {len(c.seeds)} seeds" if len(c.seeds) > 1 else f"Seed {c.seeds[0]}"
    return (
        f"Trained on {c.train.name} ({c.train.size}, {c.labels} labels, {c.features:,} different "
        f"features), scored on {c.test.name} ({c.test.size}) after each pass. "
        f"The score is {c.metric}, in percent. {seeds}; with a seed, all algorithms see the "
        "sentences in the same order."
    )


def _unfinished(c: Comparison) -> list[str]:
    names = ", ".join(c.unfinished)
    lines = [f"{name} is left out. {error}." for name, error in c.errors.items()]
    return [f"Interrupted; unfinished and left out: {names}.", *lines] if names else lines


def _reading(c: Comparison) -> list[str]:
    """How to read the table of results."""
    notes = [
        "Converged: the first pass at which the scores of five adjacent passes, on the test data, "
        "differ by less than 0.01 (Sun et al. 2014). A dash means that it did not converge.",
        "The score at the end is that of the last pass, not of the best pass.",
        "Seconds are training time, including set-up and calibration but not scoring.",
        "The objective is the mean loss per sentence as each algorithm reports it: online "
        "algorithms report the loss accumulated during the pass, without regularisation; batch "
        "algorithms the loss at the end of the iteration, with regularisation. Compare it only "
        "between algorithms with the same loss.",
        f"Active weights are larger than {ZERO_TOLERANCE:g} times the largest weight; smaller ones "
        "are rounding errors.",
    ]
    if any(not entry.online for entry in c.entries):
        notes.append(
            "A pass of a batch algorithm is an iteration. The order of sentences has no effect on "
            "it: it was trained once, on all cores; online algorithms use one core."
        )
    if len(c.seeds) > 1:
        notes.append("±: standard deviation over seeds; in charts, the band around a line.")
    return notes


def _tests(c: Comparison) -> list[str]:
    """What was tested, and how."""
    blocks = min(BLOCKS, c.test.sentences)
    several = len(c.seeds) > 1
    pooled = " summed over seeds" if several else ""
    together = ", of all seeds," if several else ""
    return [
        f"t-test over blocks: the test sentences are divided into {blocks} consecutive blocks; the "
        f"scores of a block, from its counts{pooled}, are paired. It tests whether the difference "
        "generalises to other text. The paper reports t-tests, but does not say what is paired.",
        f"Random swaps: in approximate randomisation (Noreen 1989; Yeh 2000) the outputs of a "
        f"sentence{together} are swapped at random, {TRIALS:,} times. p is the share of rounds "
        "with a difference as large as the observed one.",
        "t-test over seeds: the scores with the same seed are paired. It tests whether the "
        "difference generalises to other sentence orders, on this test data only. A dash means "
        "that there is one seed, or that all differences are the same.",
        f"Differ: yes where p is below {SIGNIFICANCE_LEVEL} in both of the first two tests, "
        "unclear where it is in one of them. All tests are two-sided and not corrected for the "
        "number of comparisons.",
    ]


def _features(c: Comparison) -> str:
    texts = {True: "yes", False: "no"}
    shown = ", ".join(
        f"{name.replace('_', ' ')} {texts[v] if isinstance(v, bool) else v}"
        for name, v in c.feature_settings.items()
    )
    return f"Features: {shown}. Seeds: {', '.join(map(str, c.seeds))}."


# ---- Markdown ----------------------------------------------------------------------------------


def _plain(text: str) -> str:
    """Text that Markdown leaves as it is."""
    return MARKS.sub(lambda mark: "\\" + mark[0], text.replace("\n", " "))


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {_plain(line)}" for line in lines)


# ---- HTML --------------------------------------------------------------------------------------


def _notes(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>\n" for line in lines)
    return f'<ul class="note">\n{items}</ul>'


def _html_table(table: Table) -> str:
    kind = "wide" if table.numbers else "wide text"
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.head)
    rows = ""
    for r, row in enumerate(table.rows):
        cells = [
            f'<td class="best">{escape(cell)}</td>'
            if (r, c) in table.best
            else f"<td>{escape(cell)}</td>"
            for c, cell in enumerate(row)
        ]
        rows += f"<tr>{''.join(cells)}</tr>\n"
    return (
        f'<div class="{kind}" tabindex="0">\n<table>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}</tbody>\n</table>\n</div>"
    )


def _charts(c: Comparison) -> list[str]:
    """The four charts, each in a figure."""
    label = f"{c.metric} on the test data, %"
    lowest = lowest_score([[mean.value for mean in entry.curve("scores")] for entry in c.entries])
    cut = "" if lowest is None else f"Points below {lowest:.1f} are not shown."
    passes, times = (
        curves_of(c.entries, "scores"),
        curves_of(c.entries, "scores", against="seconds"),
    )
    losses, active = curves_of(c.entries, "objective"), curves_of(c.entries, "active")
    seconds = [x for line in times for x in line.x]
    positive = all(np.isfinite(y) and y > 0 for line in losses for y in line.y)
    batch = any(not entry.online for entry in c.entries)
    pass_label = "passes (iterations of batch algorithms)" if batch else "passes"
    many_passes = max(entry.passes for entry in c.entries) > 50
    steps: dict[str, Any] = {"x_label": pass_label, "log_x": many_passes, "size": SIZE}
    wide_range = min(seconds) > 0 and max(seconds) > 8 * min(seconds)
    return [
        _figure(
            1,
            line_chart(
                passes, title="Score against passes", y_label=label, lowest_y=lowest, **steps
            ),
            "Score against passes",
            cut,
        ),
        _figure(
            2,
            line_chart(
                times,
                title="Score against time",
                x_label="seconds of training",
                y_label=label,
                log_x=wide_range,
                lowest_y=lowest,
                size=SIZE,
            ),
            "Score against seconds of training",
            cut,
        ),
        _figure(
            3,
            line_chart(
                losses,
                title="Objective against passes",
                y_label="mean loss per sentence",
                log_y=positive,
                **steps,
            ),
            "Objective against passes",
            "As each algorithm reports it.",
        ),
        _figure(
            4,
            line_chart(
                [Series(s.name, s.x, [y / 1000 for y in s.y]) for s in active],
                title="Active weights against passes",
                y_label="weights that are not 0, thousands",
                **steps,
            ),
            "Active weights against passes",
            "",
        ),
    ]


def curves_of(entries: Iterable[Entry], name: str, against: str = "") -> list[Series]:
    """A curve of every algorithm, with the standard deviation over seeds as its spread.

    Args:
        entries: The algorithms.
        name: The name of the curve in ``Run``.
        against: The name of the curve on the x axis; empty means passes.
    """
    series = []
    for entry in entries:
        curve = entry.curve(name)
        x = [mean.value for mean in entry.curve(against)] if against else None
        several = name == "scores" and len(entry.runs) > 1
        spread = [mean.deviation or 0.0 for mean in curve] if several else None
        places: list[float] = x or [float(n) for n in range(1, len(curve) + 1)]
        series.append(Series(entry.name, places, [mean.value for mean in curve], spread))
    return series


def lowest_score(curves: list[list[float]]) -> float | None:
    """Where the score axis begins, if a few low early scores would compress all others.

    At least ``ROOM`` points of score are shown, and all but the lowest quarter, with half as much
    room below.
    """
    points = np.array([score for curve in curves for score in curve])
    top = float(points.max())
    floor = min(float(np.quantile(points, 0.25)), *(curve[-1] for curve in curves))
    lowest = top - max(ROOM, 1.5 * (top - floor))
    return None if float(points.min()) >= lowest else float(np.floor(10 * lowest) / 10)


def _figure(number: int, svg: str, label: str, caption: str) -> str:
    """A chart as a figure."""
    chart = prefix_ids(svg, number)
    chart = chart.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)
    text = f"\n<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>\n{chart.strip()}{text}\n</figure>"
