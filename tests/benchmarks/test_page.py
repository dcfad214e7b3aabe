"""The pages show the figures of the accepted benchmark runs."""

from __future__ import annotations

import history
import page
import pytest
from history import Figure, Run


@pytest.mark.parametrize("name", page.PAGES)
def test_figures_of_pages_are_those_of_the_accepted_runs(name):
    text = (page.ROOT / name).read_text(encoding="utf-8")
    assert page.BLOCK.search(text)
    assert text == page.filled(text, history.read()), f"{name} is old: python benchmarks/page.py"


def test_blocks_are_filled_with_what_was_accepted():
    text = "before\n<!-- figures: cutting speed -->\nold\n<!-- end of figures -->\nafter\n"
    cutting = Figure("pku/cutting/line by line", 8123456.0, "characters/s", "higher", "rjieba", 7e6)
    runs = [Run("2026-01-01", "abc", "c", "generic", {}, True, [cutting])]
    filled = page.filled(text, runs)
    assert "| adaptag | 8,120,000 | - |" in filled
    assert "| rjieba | 7,000,000 | - |" in filled
    assert "old" not in filled
    assert filled.startswith("before\n")
    assert filled.endswith("after\n")
    assert page.filled(filled, runs) == filled


def test_roofline_names_the_nearest_bound():
    figures = {
        name: Figure(name, value, "")
        for name, value in {
            "roofline/conll2000/tokens": 1e6,
            "roofline/conll2000/training/operations": 1000.0,
            "roofline/conll2000/training/bytes": 5000.0,
            "roofline/conll2000/training/bytes beyond L1": 4000.0,
            "machine/peak/1 core": 100.0,
            "machine/bandwidth/L1/1 core": 200.0,
            "machine/bandwidth/L2/1 core": 100.0,
            "conll2000/seconds per pass/1 thread": 0.08,
        }.items()
    }
    assert page.measured_ns(figures, "conll2000", "training") == pytest.approx(80)
    least = page.bounds(figures, "conll2000", "training")
    assert least == {"operations": 10, "L1": 25, "L2": 40, "L3": 0, "memory": 0}
    assert "50 % (L2)" in page.roofline(figures)
