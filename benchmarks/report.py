"""The results as Markdown, JSON and tables on the terminal."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
from pathlib import Path
from typing import Any, NamedTuple

CAVEATS = """\
- Wall times of one machine vary by 20–25 % from run to run. Contestants took turns, and every
  time is the minimum of its repeats (slow contestants have fewer): compare closely only figures
  of one table.
- No peer was built for the native instruction set: CRFsuite is the published wheel, Wapiti was
  compiled by its package's own options.
- Regularisation and stopping are each tool's defaults; differences of 0.1 F mean little. F is
  that of the test file, also where passes are chosen by it (time to F; the search over rising
  numbers of passes starts at 10 or 12 for Wapiti, whose F is well below the target before).
- CRFsuite keeps only the (attribute, label) pairs seen in training, except in the row
  "all weights"; the other tools keep them all.
- The peers read the text in Python: CRFsuite's attributes are made there, Wapiti makes its own.
  A Wapiti pass includes its evaluation of the training data, which cannot be turned off, and
  its models are saved compacted.
- MB are 10⁶ bytes. Whole-process figures include starting the program and loading the model."""


class Table(NamedTuple):
    """A title, column heads, and rows of text."""

    title: str
    head: list[str]
    rows: list[list[str]]


def machine(requirements: Path | None = None) -> dict[str, str]:
    """What the figures depend on; with the peers' versions where they are given."""
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"model name\s*: (.*)", cpuinfo)
    try:
        adaptag = importlib.metadata.version("adaptag")
    except importlib.metadata.PackageNotFoundError:
        adaptag = "not installed"
    peers = requirements.read_text(encoding="utf-8") if requirements else ""
    pins = re.findall(r"^(\S+)==(\S+)$", peers, re.MULTILINE)
    return {
        "processor": model[1] if model else platform.processor(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "adaptag": adaptag,
    } | dict(pins)


def figure(value: float | None, form: str = ".2f") -> str:
    return "-" if value is None else format(value, form)


def tables(results: dict[str, Any]) -> list[Table]:
    tokens, contestants = results["tagged_tokens"], results["contestants"]
    return [
        training_table(contestants, results["target_f"], results["limit"]),
        curve_table(contestants),
        tagging_table(contestants, tokens),
    ]


def training_table(contestants: list[dict[str, Any]], target: float, limit: int) -> Table:
    rows = []
    for c in contestants:
        runs = c["training"].get(c["passes"], [])
        wanted = c["target_passes"]
        to_target = "-"
        if wanted:
            fastest = min(run["wall_s"] for run in c["training"][wanted])
            to_target = f"{fastest:.2f} ({wanted})"
        rows.append(
            [
                c["name"] + (" (failed)" if c["failure"] else ""),
                str(c["passes"]),
                figure(min((run["wall_s"] for run in runs), default=None)),
                figure(min(c["pass_s"], default=None), ".3f"),
                figure(min((run["peak_mb"] for run in runs), default=None), ".0f"),
                figure(c["f"].get(c["passes"])),
                to_target,
                figure(c["model_mb"], ".1f"),
                figure(c["in_process"].get("load_ms"), ".1f"),
            ]
        )
    to_target = f"s to F {target} (passes, at most {limit})"
    head = ["Contestant", "Passes", "Wall s", "s per pass", "Peak MB", "F", to_target]
    return Table("Training, whole process", [*head, "Model MB", "Load ms"], rows)


def curve_table(contestants: list[dict[str, Any]]) -> Table:
    passes = sorted({p for c in contestants for p in c["f"]})
    rows = [[c["name"], *(figure(c["f"].get(p)) for p in passes)] for c in contestants]
    return Table("F by passes", ["Contestant", *map(str, passes)], rows)


def tagging_table(contestants: list[dict[str, Any]], tokens: int) -> Table:
    rows = []
    for c in contestants:
        inside = c["in_process"]
        seconds = [
            min((run["wall_s"] for run in c["tagging"]), default=None),
            *(inside.get(key) for key in ("columns_s", "attributes_s", "items_s")),
        ]
        latencies = [inside.get(key) for key in ("latency_us", "latency_attributes_us")]
        rows.append(
            [
                c["name"],
                *(figure(s and tokens / s, ",.0f") for s in seconds),
                *(figure(latency, ".0f") for latency in latencies),
            ]
        )
    return Table(
        f"Tagging {tokens:,} tokens, in tokens per second; latency of 24 tokens in µs",
        [
            "Contestant",
            "Process: text to text",
            "In process: token columns",
            "Ready attribute lists",
            "Converted items",
            "Latency, columns",
            "Latency, ready attributes",
        ],
        rows,
    )


def markdown_table(table: Table) -> str:
    """The head and rows, without the title; all columns but the first stand to the right."""
    lines = [table.head, ["---"] + ["---:"] * (len(table.head) - 1), *table.rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def described(machine: dict[str, str]) -> str:
    """The machine as one line of text."""
    return "; ".join(f"{name} {value}" for name, value in machine.items())


def markdown(results: dict[str, Any]) -> str:
    parts = ["# CoNLL-2000 chunking: adaptag beside CRFsuite and Wapiti"]
    parts += ["Features of the CRF++ chunking template, one core. Read first:", CAVEATS]
    parts += [f"Machine: {described(results['machine'])}.", f"Command: `{results['command']}`"]
    for table in tables(results):
        parts += [f"## {table.title}", markdown_table(table)]
    settings = (
        f"{c['name']} `{' '.join([c['algorithm'], *c['settings']])}`"
        for c in results["contestants"]
    )
    parts.append(f"Settings: {'; '.join(settings)}.")
    return "\n\n".join(parts) + "\n"


def write(results: dict[str, Any], folder: Path, stem: str) -> None:
    """Write `stem`.md and `stem`.json, and print the tables."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=1, ensure_ascii=False)
    (folder / f"{stem}.json").write_text(text + "\n", encoding="utf-8")
    (folder / f"{stem}.md").write_text(markdown(results), encoding="utf-8")
    show(tables(results))
    print(f"written: {stem}.md, {stem}.json")


def show(shown: list[Table]) -> None:
    """Print tables on the terminal."""
    from rich.console import Console
    from rich.table import Table as RichTable

    console = Console()
    console.width = max(console.width, 180)
    for title, head, rows in shown:
        table = RichTable(title=title)
        for column, name in enumerate(head):
            table.add_column(name, justify="right" if column else "left", no_wrap=not column)
        for row in rows:
            table.add_row(*row)
        console.print(table)
