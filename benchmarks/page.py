"""Fills README.md and docs/performance.md with the figures of the accepted runs, and draws charts.

usage: python page.py

Tables and pictures stand between `<!-- figures: NAME -->` and `<!-- end of figures -->`, where NAME
is that of a function here; all other text is written by hand.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

import history
import report
from chunking import ROOT
from report import Table, figure, markdown_table

if TYPE_CHECKING:
    from collections.abc import Callable

    Figures = dict[str, history.Figure]

PAGES = ("README.md", "docs/index.md", "docs/performance.md", "docs/guide/pycrfsuite.md")
PICTURES = ROOT / "docs" / "pictures"
BLOCK = re.compile(r"(<!-- figures: (.*?) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
LINK = re.compile(r"\]\((docs/[^)#]*)")  # as in README.md
FITTING_PASSES = 30  # of the classifiers of reviews
PER_PASS = "algorithms/seconds per pass"
FAMILIES = {"conll2000": "CoNLL-2000", "pku": "PKU", "bio-ner": "JNLPBA", "sentiment": "Reviews"}


def value(figures: Figures, name: str) -> float | None:
    found = figures.get(name)
    return None if found is None else found.value


def peer(figures: Figures, name: str) -> float | None:
    found = figures.get(name)
    return None if found is None else found.peer_value


def ratio(figures: Figures, name: str) -> float | None:
    found = figures.get(name)
    return None if found is None else found.ratio


# ---- README and the first page of the docs -----------------------------------------------------


def why_adaptag(figures: Figures) -> str:
    """What a reader gains, beside which peer, with a link to where that is measured."""
    rows = []
    for what, names, link in GAINS:
        found = [figures[name] for name in names if name in figures]
        gains = [
            f"**{one.ratio:.{0 if one.ratio >= 10 else 1}f}×** {one.peer}"
            for one in found
            if one.ratio
        ]
        if gains:
            ours = shown(found[0].value, ",.0f" if found[0].value >= 100 else ".2f")
            rows.append([f"[{what}]({link})", f"{ours} {found[0].unit}", ", ".join(gains)])
    smallest = [one for one in sizes(figures, "conll2000") if one[0] == COMPACT]
    for _, mb, f, _ in smallest:
        full = value(figures, "compact/conll2000/size/full") or mb
        link = "docs/guide/small-models.md"
        text = f"**{full / mb:.0f}×** smaller than the full model, F {f:.2f}"
        rows.append([f"[Size of a compact model]({link})", f"{mb:.1f} MB", text])
    return markdown_table(Table("", ["", "adaptag", "Times better than"], rows), texts=(0, 2))


COMPACT = "weights ≥ 0.05"  # the default of `adaptag compact`
PERFORMANCE = "docs/performance.md#beside-other-tools"
TUTORIAL_PAGE = "docs/guide/pycrfsuite.md#the-tutorial-measured"
GAINS = (
    (
        "Training to F 93.6, CoNLL-2000",
        (
            "conll2000/seconds to F 93.6/1 core",
            "conll2000/beside CRFsuite l2sgd/seconds to F 93.6",
            "conll2000/beside Wapiti sgd-l1/seconds to F 93.6",
        ),
        PERFORMANCE,
    ),
    (
        "The tutorial of sklearn-crfsuite, `fit`",
        ("tutorial/fit",),
        TUTORIAL_PAGE,
    ),
    ("The same tutorial with `CRF()`, `fit`", ("tutorial/fit/defaults",), TUTORIAL_PAGE),
    ("Tagging a file, whole process", ("conll2000/tagging, process/1 core",), PERFORMANCE),
    ("Tagging one sentence of 24 tokens", ("conll2000/latency of 24 tokens",), PERFORMANCE),
    (
        "Cutting Chinese text, PKU",
        ("pku/cutting/line by line", "pku/cutting beside jieba"),
        PERFORMANCE,
    ),
    ("Fitting a classifier of reviews", ("sentiment/fitting/1 thread",), PERFORMANCE),
)


def tutorial(figures: Figures) -> str:
    """The tutorial of sklearn-crfsuite with both libraries."""
    rows = [
        [
            name,
            *(
                shown(of(figures, f"tutorial/{key}{arguments}"), form)
                for key, form in TUTORIAL.items()
            ),
            shown(value(figures, score), ".2f"),
        ]
        for name, arguments, of, score in (
            ("adaptag", "", value, "tutorial/F"),
            ("adaptag, `CRF()`", "/defaults", value, "tutorial/F/defaults"),
            ("sklearn-crfsuite", "", peer, "tutorial/F of sklearn-crfsuite"),
        )
    ]
    return markdown_table(
        Table("", ["", "`fit`, s", "`predict`, s", "Peak MB", "Weighted F1"], rows)
    )


TUTORIAL = {"fit": ".1f", "predict": ".2f", "peak memory": ".0f"}


# ---- docs/performance.md: tables that other pages show too --------------------------------------


def chunking_speed(figures: Figures) -> str:
    """CoNLL-2000: adaptag on one and two cores, and the peers."""
    target, per_pass = "conll2000/seconds to F 93.6", "conll2000/seconds per pass"
    memory, tagging = "conll2000/peak memory/training", "conll2000/tagging, process"
    rows: list[tuple[str, list[float | None]]] = [
        (
            "adaptag, one core",
            [
                value(figures, f"{target}/1 core"),
                value(figures, f"{per_pass}/1 thread"),
                value(figures, memory),
                value(figures, f"{tagging}/1 core"),
            ],
        ),
        (
            "adaptag, two cores",
            [
                value(figures, f"{target}/2 cores"),
                value(figures, f"{per_pass}/2 threads"),
                None,
                value(figures, f"{tagging}/2 cores"),
            ],
        ),
        (
            "CRFsuite, passive-aggressive",
            [
                peer(figures, f"{target}/1 core"),
                peer(figures, f"{per_pass}/1 thread"),
                peer(figures, memory),
                peer(figures, f"{tagging}/1 core"),
            ],
        ),
    ]
    for name, tool in (("CRFsuite, L2 SGD", "CRFsuite l2sgd"), ("Wapiti, SGD-L1", "Wapiti sgd-l1")):
        beside = f"conll2000/beside {tool}"
        cells = [peer(figures, f"{beside}/{what}") for what in BESIDE]
        rows.append((name, [*cells, None]))
    head = ["", "Seconds to F 93.6", "Seconds per pass", "Peak MB", "Tagging, tokens/s"]
    forms = (".2f", ".3f", ".0f", ",.0f")
    return markdown_table(
        Table(
            "",
            head,
            [[name, *map(shown, cells, forms)] for name, cells in rows if any(cells)],
        )
    )


BESIDE = ("seconds to F 93.6", "seconds per pass", "peak memory")


def shown(number: float | None, form: str) -> str:
    """The number; large ones with three digits."""
    if number is not None and form == ",.0f" and number >= 1000:
        number = float(f"{number:.3g}")
    return figure(number, form)


def cutting_speed(figures: Figures) -> str:
    """PKU: adaptag, rjieba and jieba."""
    rows = [
        [
            "adaptag",
            shown(value(figures, "pku/cutting/line by line"), ",.0f"),
            shown(value(figures, "pku/F"), ".2f"),
        ],
        [
            "rjieba",
            shown(peer(figures, "pku/cutting/line by line"), ",.0f"),
            shown(value(figures, "pku/F of rjieba"), ".2f"),
        ],
        [
            "jieba",
            shown(peer(figures, "pku/cutting beside jieba"), ",.0f"),
            shown(value(figures, "pku/F of jieba"), ".2f"),
        ],
    ]
    return markdown_table(Table("", ["", "Characters/s", "F on PKU"], rows))


# ---- docs/performance.md -----------------------------------------------------------------------


def machine(figures: Figures) -> str:
    """The limits of the machine."""
    rows = []
    for level in ("L1", "L2", "L3", "memory"):
        bandwidth = [
            shown(value(figures, f"machine/bandwidth/{level}/{cores}"), ".0f")
            for cores in ("1 core", "2 cores")
        ]
        latency = shown(value(figures, f"machine/latency/{level}"), ".1f")
        rows.append([level, *bandwidth, latency])
    head = ["", "GB/s, one core", "GB/s, two cores", "Latency, ns"]
    peaks = [shown(value(figures, f"machine/peak/{c}"), ".0f") for c in ("1 core", "2 cores")]
    text = f"Float32 operations: {peaks[0]} Gflop/s on one core, {peaks[1]} on two."
    return markdown_table(Table("", head, rows)) + "\n\n" + text


def measured_ns(figures: Figures, task: str, work: str) -> float | None:
    """What a token takes now, on one core."""
    tokens = value(figures, f"roofline/{task}/tokens")
    if work == "decoding":
        name = {
            "conll2000": "conll2000/tagging, in process/1 thread",
            "pku": "pku/cutting/cut_all, 1 thread",
        }[task]
        speed = value(figures, name)
        return None if speed is None else 1e9 / speed
    name, passes = f"{task}/seconds per pass/1 thread", 1
    if task == "sentiment":
        name, passes = "sentiment/fitting/1 thread", FITTING_PASSES
    seconds = value(figures, name)
    return None if seconds is None or tokens is None else 1e9 * seconds / passes / tokens


def bounds(figures: Figures, task: str, work: str) -> dict[str, float]:
    """Ns per token that each part of the machine needs at least, if all else took no time."""

    def need(amount: str, limit: str) -> float:
        needed = value(figures, f"roofline/{task}/{work}/{amount}") or 0.0
        return needed / (value(figures, f"machine/{limit}") or float("inf"))

    return {
        "operations": need("operations", "peak/1 core"),
        "L1": need("bytes", "bandwidth/L1/1 core"),
        "L2": need("bytes beyond L1", "bandwidth/L2/1 core"),
        "L3": need("bytes beyond L2", "bandwidth/L3/1 core"),
        "memory": need("bytes beyond L3", "bandwidth/memory/1 core"),
    }


WORK = [
    ("conll2000", "training"),
    ("conll2000", "decoding"),
    ("pku", "training"),
    ("pku", "decoding"),
    ("bio-ner", "training"),
    ("sentiment", "training"),
]


def title_of(task: str, work: str) -> str:
    words = {"training": "training", "decoding": "tagging" if task == "conll2000" else "cutting"}
    return f"{FAMILIES[task]}, {words[work]}"


def work_per_token(figures: Figures) -> str:
    """Rows, bytes and operations per token."""
    rows = []
    for task, work in WORK:
        base = f"roofline/{task}/{work}"
        if f"{base}/bytes" not in figures:
            continue
        amounts = ("operations", "bytes", *(f"bytes beyond {k}" for k in ("L1", "L2", "L3")))
        cells = [shown(value(figures, f"{base}/{amount}"), ",.0f") for amount in amounts]
        n_rows = shown(value(figures, f"roofline/{task}/rows"), ".1f")
        rows.append([title_of(task, work), n_rows, *cells])
    beyond = [f"Bytes from beyond {level}" for level in ("L1", "L2", "L3")]
    head = ["Per token", "Rows", "Operations", "Bytes read and written", *beyond]
    return markdown_table(Table("", head, rows))


def roofline(figures: Figures) -> str:
    """The bounds beside what is measured."""
    rows = []
    for task, work in WORK:
        if f"roofline/{task}/{work}/bytes" not in figures:
            continue
        least, now = bounds(figures, task, work), measured_ns(figures, task, work)
        nearest = max(least, key=least.__getitem__)
        share = None if now is None else 100 * least[nearest] / now
        in_cache = value(figures, f"roofline/{task}/{work}/ns in cache")
        numbers = [*least.values(), in_cache, now]
        cells = [shown(number, ",.0f" if (number or 0) >= 10 else ".1f") for number in numbers]
        near = "-" if share is None else f"{share:.0f} % ({nearest})"
        rows.append([title_of(task, work), *cells, near])
    head = [
        "ns per token",
        "Operations",
        "L1",
        "L2",
        "L3",
        "Memory",
        "All rows in cache",
        "Measured",
    ]
    return markdown_table(Table("", [*head, "Nearest bound"], rows))


def threads(figures: Figures) -> str:
    """What a second core gains."""
    rows = []
    for title, name in SPEED_UPS.items():
        found = figures.get(name)
        if found is None or found.ratio is None:
            continue
        digits = ",.0f" if found.better == "higher" else ".3f"
        unit = "s" if found.unit == "s" else found.unit
        cells = [shown(found.peer_value, digits), shown(found.value, digits), unit]
        rows.append([title, *cells, f"{found.ratio:.2f}"])
    return markdown_table(Table("", ["", "One", "Two", "Unit", "Times faster"], rows))


SPEED_UPS = {
    "CoNLL-2000, a pass of training": "conll2000/seconds per pass/2 threads",
    "PKU, a pass of training": "pku/seconds per pass/2 threads",
    "JNLPBA with rich edges, a pass": "bio-ner/seconds per pass/2 threads",
    "Reviews, fitting": "sentiment/fitting/2 threads",
    "L-BFGS on CoNLL-2000, an iteration": f"{PER_PASS}/lbfgs, 2 threads",
    "L-BFGS on JNLPBA, an iteration": "bio-ner/seconds per L-BFGS iteration/2 threads",
    "CoNLL-2000, encoding": "conll2000/encoding/2 threads",
    "CoNLL-2000, tagging a file": "conll2000/tagging a large file, process/2 cores",
    "CoNLL-2000, tagging, in process": "conll2000/tagging, in process/2 threads",
    "PKU, cutting a file": "pku/cutting 100 MB, process/2 cores",
}


def peers(figures: Figures) -> str:
    """All figures with another tool as their peer."""
    rows = []
    for title, name in BESIDE_PEERS.items():
        found = figures.get(name)
        if found is None or found.ratio is None:
            continue
        form = ",.0f" if found.value >= 1000 else ".3f" if found.value < 10 else ".1f"
        cells = [shown(found.value, form), found.peer, shown(found.peer_value, form), found.unit]
        rows.append([title, *cells, f"{found.ratio:.2f}"])
    head = ["", "adaptag", "Peer", "Peer's", "Unit", "Times better"]
    return markdown_table(Table("", head, rows))


BESIDE_PEERS = {
    "Training to F 93.6, one core": "conll2000/seconds to F 93.6/1 core",
    "Training to F 93.6, two cores": "conll2000/seconds to F 93.6/2 cores",
    "Training to F 93.6, beside L2 SGD": "conll2000/beside CRFsuite l2sgd/seconds to F 93.6",
    "Training to F 93.6, beside SGD-L1": "conll2000/beside Wapiti sgd-l1/seconds to F 93.6",
    "A pass of ADF": "conll2000/seconds per pass/1 thread",
    "A pass of the averaged perceptron": f"{PER_PASS}/averaged-perceptron",
    "A pass of PA": f"{PER_PASS}/pa",
    "A pass of SGD": f"{PER_PASS}/sgd",
    "L-BFGS iteration, one thread": f"{PER_PASS}/lbfgs, 1 thread, beside CRFsuite",
    "The same iteration, one thread": f"{PER_PASS}/lbfgs, 1 thread, beside Wapiti",
    "L-BFGS iteration, two threads": f"{PER_PASS}/lbfgs, 2 threads, beside Wapiti",
    "Tagging, process, one core": "conll2000/tagging, process/1 core",
    "Tagging, process, two cores": "conll2000/tagging, process/2 cores",
    "Tagging, in process": "conll2000/tagging, in process/1 thread",
    "Latency of 24 tokens": "conll2000/latency of 24 tokens",
    "Cutting line by line": "pku/cutting/line by line",
    "Cutting beside jieba": "pku/cutting beside jieba",
    "Fitting reviews": "sentiment/fitting/1 thread",
}


def sizes(figures: Figures, task: str) -> list[tuple[str, float, float, float]]:
    """Name, MB, F and ms until the first result of the full model and of compact ones."""
    found = []
    for name in figures:
        prefix = f"compact/{task}/size/"
        if name.startswith(prefix):
            which = name.removeprefix(prefix)
            numbers = (
                value(figures, f"compact/{task}/{k}/{which}") for k in ("size", "F", "ready")
            )
            found.append((which, *(number or 0.0 for number in numbers)))
    return found


def compact(figures: Figures) -> str:
    """Compact models."""
    rows = [
        [
            FAMILIES[task],
            name,
            shown(mb, ".3f" if mb < 1 else ".1f"),
            shown(f, ".2f"),
            shown(ms, ".1f"),
        ]
        for task in ("conll2000", "pku")
        for name, mb, f, ms in sizes(figures, task)
    ]
    head = ["", "Model", "MB", "F", "Ready after ms"]
    return markdown_table(Table("", head, rows))


def corpus_size(figures: Figures) -> str:
    """Cost per token by size of the corpus."""
    pattern = re.compile(r"scaling/corpus/(\S+) times CoNLL-2000")
    rows = []
    for name, found in figures.items():
        if match := pattern.fullmatch(name):
            features = value(figures, f"scaling/features/{match[1]} times CoNLL-2000")
            rows.append([match[1], shown(features, ",.0f"), shown(found.value, ".0f")])
    spread = shown(value(figures, "scaling/corpus/largest cost to smallest"), ".2f")
    table = markdown_table(Table("", ["Times CoNLL-2000", "Features", "ns per token"], rows))
    return f"{table}\n\nThe largest cost is {spread} times the smallest."


BLOCKS: dict[str, Callable[[Figures], str]] = {
    function.__name__.replace("_", " "): function
    for function in (
        why_adaptag,
        tutorial,
        chunking_speed,
        cutting_speed,
        machine,
        work_per_token,
        roofline,
        threads,
        peers,
        compact,
        corpus_size,
    )
}


def accepted_runs(runs: list[history.Run]) -> str:
    """The accepted runs that figures are taken from."""
    newest = {one.name: run for run in runs if run.accepted for one in run.figures}
    used = {id(run): run for run in newest.values()}.values()
    lines = dict.fromkeys(
        f"- {run.date[:10]}, commit {run.commit}, core {run.core}" for run in used
    )
    machines = dict.fromkeys(report.described(run.machine) for run in used)
    return "\n".join([*lines, *(f"- {machine}" for machine in machines)])


def filled(text: str, runs: list[history.Run], name: str = "README.md") -> str:
    """The text of a page with all blocks made of the accepted runs."""
    folder = name.rpartition("/")[0]
    figures = history.accepted(runs)

    def block(match: re.Match[str]) -> str:
        begin, block_name, end = match.groups()
        if block_name == "accepted runs":
            made = accepted_runs(runs)
        else:
            made = LINK.sub(
                lambda link: f"]({posixpath.relpath(link[1], folder or '.')}",
                BLOCKS[block_name](figures),
            )
        return f"{begin}\n{made}\n\n{end}"

    return BLOCK.sub(block, text)


def main() -> None:
    import page_charts
    import page_pictures

    runs = history.read()
    figures = history.accepted(runs)
    for name in PAGES:
        path = ROOT / name
        path.write_text(filled(path.read_text(encoding="utf-8"), runs, name), encoding="utf-8")
        print(f"written: {name}")
    for name, chart in page_charts.charts(figures).items():
        (PICTURES / f"performance-{name}.svg").write_text(chart, encoding="utf-8")
        print(f"written: docs/pictures/performance-{name}.svg")
    for name, picture in page_pictures.pictures(figures).items():
        (PICTURES / name).write_text(picture, encoding="utf-8")
        print(f"written: docs/pictures/{name}")


if __name__ == "__main__":
    main()
