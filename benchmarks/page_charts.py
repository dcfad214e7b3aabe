"""The charts of docs/performance.md, as SVG."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from chunking import ROOT
from page import BESIDE_PEERS, SPEED_UPS, sizes

from adaptag.experiments.charts import Series, bar_chart, line_chart

if TYPE_CHECKING:
    from page import Figures

SIZE = (5.6, 3.8)


def numbered(figures: Figures, pattern: str) -> tuple[list[float], list[float]]:
    """Numbers in the names of figures, and their values, ascending."""
    found = [(re.fullmatch(pattern, name), one.value) for name, one in figures.items()]
    pairs = sorted((float(match[1]), value) for match, value in found if match)
    return [x for x, _ in pairs], [y for _, y in pairs]


def charts(figures: Figures) -> dict[str, str]:
    """All charts, by name."""
    sys.path.append(str(ROOT))
    from reproduction.charts import side_by_side

    corpus = numbered(figures, r"scaling/corpus/(\S+) times CoNLL-2000")
    labels = numbered(figures, r"scaling/labels/(\d+)")
    scaling = [
        line_chart(
            [Series("ADF", *corpus)],
            title="Cost against the size of the corpus",
            x_label="times CoNLL-2000",
            y_label="ns per token",
            log_x=True,
            lowest_y=0,
            size=SIZE,
        ),
        line_chart(
            [Series("ADF", *labels)],
            title="Cost against the number of labels",
            x_label="labels",
            y_label="ns per token",
            log_x=True,
            log_y=True,
            size=SIZE,
        ),
    ]
    return {
        "scaling": side_by_side(scaling),
        "threads": threads(figures),
        "sizes": side_by_side([size_chart(figures, task) for task in ("conll2000", "pku")]),
        "peers": peers(figures),
    }


def threads(figures: Figures) -> str:
    """How many times faster two threads are."""
    gains = {
        title: figures[name].ratio
        for title, name in SPEED_UPS.items()
        if name in figures and figures[name].ratio
    }
    return bar_chart(gains, title="Two threads beside one", x_label="times faster", reference=1.0)


def peers(figures: Figures) -> str:
    """How many times better than the peers."""
    gains = {
        f"{title} ({figures[name].peer})": figures[name].ratio
        for title, name in BESIDE_PEERS.items()
        if name in figures and figures[name].ratio
    }
    return bar_chart(
        gains, title="Beside the peers", x_label="times better", reference=1.0, log_x=True
    )


def size_chart(figures: Figures, task: str) -> str:
    """F against the size of the model."""
    points = sorted((mb, f) for _, mb, f, _ in sizes(figures, task))
    series = Series("adaptag", [mb for mb, _ in points], [f for _, f in points])
    title = {"conll2000": "CoNLL-2000", "pku": "PKU"}[task]
    return line_chart(
        [series], title=f"F against size, {title}", x_label="MB", y_label="F", log_x=True, size=SIZE
    )
