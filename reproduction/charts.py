"""Several charts in one picture."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adaptag.experiments.charts import prefix_ids

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["side_by_side"]

SIZE = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')
POINTS = re.compile(r'(width|height)="([0-9.]+)pt"')


def side_by_side(charts: Sequence[str]) -> str:
    """Put charts of the same size into one picture, from left to right."""
    sizes = [SIZE.search(chart) for chart in charts]
    widths, heights = ([float(size[k]) if size else 0.0 for size in sizes] for k in (1, 2))
    total_width, height = sum(widths), max(heights, default=0.0)
    parts, left = [], 0.0
    for number, (chart, width) in enumerate(zip(charts, widths, strict=True), 1):
        part = POINTS.sub(r'\1="\2"', prefix_ids(chart, number), count=2)  # units of the picture
        parts.append(part.replace("<svg ", f'<svg x="{left:g}" ', 1))
        left += width
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" '
        f'width="{total_width:g}pt" height="{height:g}pt" '
        f'viewBox="0 0 {total_width:g} {height:g}">\n'
        f"{''.join(parts)}</svg>\n"
    )
