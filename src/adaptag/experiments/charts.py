"""Line and bar charts as SVG text: for reports that open without a network, and for the docs."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adaptag.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from adaptag.evaluation.calibration import Reliability

__all__ = [
    "Series",
    "bar_chart",
    "line_chart",
    "prefix_ids",
    "reliability_chart",
    "require_matplotlib",
]

# Okabe and Ito's palette for colour-blind readers, and a different mark for each line.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
MARKS = "osD^vPX*"
METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)  # addresses that nobody needs
REFERENCE = re.compile(r'( id="|href="#|url\(#)')
MOST_MARKS = 40  # a line of more points has no marks


@dataclass(frozen=True)
class Series:
    """One line of a chart.

    Attributes:
        name: The name in the legend.
        x: The x coordinates of the points.
        y: The y coordinates of the points.
        spread: The standard deviation at each point, drawn as a band; None means no band.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] | None = None


def require_matplotlib() -> None:
    """Raise where matplotlib is missing: before long work, not after it."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise ParameterError(
            "charts need matplotlib; install it: pip install 'adaptag[experiments]'"
        ) from None


def line_chart(
    series: Sequence[Series],
    *,
    title: str,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = False,
    lowest_y: float | None = None,
    size: tuple[float, float] = (7.0, 4.2),
) -> str:
    """Draw lines; the result is an ``<svg>`` element.

    Args:
        series: The lines, in the order of the legend.
        title: The title above the chart.
        x_label: The label of the x axis, with its unit.
        y_label: The label of the y axis, with its unit.
        log_x: Whether the x axis is logarithmic.
        log_y: Whether the y axis is logarithmic.
        lowest_y: Where the y axis begins; points below it are not shown.
        size: The width and height in inches.
    """
    figure, axes = _figure(size)
    for number, line in enumerate(series):
        colour = COLOURS[number % len(COLOURS)]
        mark = MARKS[number % len(MARKS)] if len(line.x) <= MOST_MARKS else None
        axes.plot(line.x, line.y, color=colour, marker=mark, markersize=4, label=line.name)
        if line.spread is not None:
            low = [y - s for y, s in zip(line.y, line.spread, strict=True)]
            high = [y + s for y, s in zip(line.y, line.spread, strict=True)]
            axes.fill_between(line.x, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_title(title)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    if lowest_y is not None:
        top = max((y for line in series for y in line.y), default=lowest_y)
        axes.set_ylim(lowest_y, top + 0.05 * (top - lowest_y) if top > lowest_y else None)
    if log_x:
        axes.set_xscale("log")
        _plain_numbers(axes.xaxis)
    elif all(float(x).is_integer() for line in series for x in line.x):
        axes.xaxis.get_major_locator().set_params(integer=True)
    if log_y:
        axes.set_yscale("log")
        _plain_numbers(axes.yaxis)
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if len(series) > 1:
        axes.legend(frameon=False, fontsize="small")
    return _svg(figure, title)


def bar_chart(
    values: Mapping[str, float],
    *,
    title: str,
    x_label: str,
    reference: float | None = None,
    log_x: bool = False,
    width: float = 8.0,
) -> str:
    """Draw a horizontal bar for each value, from top to bottom; the result is an ``<svg>`` element.

    Args:
        values: The values, by the names beside the bars.
        title: The title above the chart.
        x_label: The label of the x axis, with its unit.
        reference: Where a vertical line is drawn, which the bars are compared with.
        log_x: Whether the x axis is logarithmic.
        width: The width in inches; the height follows from the number of bars.
    """
    figure, axes = _figure((width, 1.2 + 0.28 * len(values)))
    bars = axes.barh(list(values), list(values.values()), color=COLOURS[0], height=0.7)
    axes.bar_label(bars, fmt="%.3g", padding=3, fontsize="small")
    axes.invert_yaxis()
    axes.set_title(title)
    axes.set_xlabel(x_label)
    axes.margins(x=0.1)
    if log_x:
        axes.set_xscale("log")
        _plain_numbers(axes.xaxis)
    if reference is not None:
        axes.axvline(reference, color=COLOURS[1], linewidth=1)
    axes.spines[["top", "right"]].set_visible(False)
    return _svg(figure, title)


def reliability_chart(parts: Mapping[str, Reliability], *, title: str) -> str:
    """Draw how often predictions are right by their probability; the result is an ``<svg>``.

    Args:
        parts: The predictions of each line, by its name in the legend.
        title: The title above the chart.
    """
    lines = [
        Series(
            f"{name}, ECE {part.ece:.4f}",
            [each.probability for each in part.bins],
            [each.right for each in part.bins],
        )
        for name, part in parts.items()
    ]
    return line_chart(
        [*lines, Series("calibrated", [0, 1], [0, 1])],
        title=title,
        x_label="predicted probability",
        y_label="share that is right",
        size=(5.6, 5.0),
    )


def _figure(size: tuple[float, float]) -> tuple[Any, Any]:
    """An empty figure of so many inches, and its axes."""
    require_matplotlib()
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasSVG(figure)
    return figure, figure.add_subplot()


def _svg(figure: Any, title: str) -> str:
    """The figure as an ``<svg>`` element."""
    from matplotlib import rc_context

    out = io.StringIO()
    with rc_context({"svg.hashsalt": title}):  # the same names inside the file each time
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return METADATA.sub("", text[text.index("<svg") :])


def prefix_ids(chart: str, number: int) -> str:
    """Prefix the ids inside a chart with its number, so that several fit into one document."""
    return REFERENCE.sub(lambda match: f"{match[0]}c{number}-", chart)


def _plain_numbers(axis: Any) -> None:
    """Mark a logarithmic axis with numbers such as 0.5 and 20, as many as there is room for."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    near = 0 < high < 300 * low
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if near else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())
