"""The pages show the figures of the accepted benchmark runs."""

from __future__ import annotations

from xml.etree import ElementTree

import history
import page
import page_pictures
import pytest
from history import Figure, Run

import adaptag
from adaptag.corpus.ingredients import UNSEEN_LINES, ingredients, tokenize


@pytest.mark.parametrize("name", page.PAGES)
def test_figures_of_pages_are_those_of_the_accepted_runs(name):
    text = (page.ROOT / name).read_text(encoding="utf-8")
    assert page.BLOCK.search(text)
    current = page.filled(text, history.read(), name)
    assert text == current, f"{name} is old: python benchmarks/page.py"


def test_pictures_of_the_readme_are_those_of_the_accepted_runs():
    found = page_pictures.pictures(history.accepted(history.read()))
    assert len(found) == 4
    for name, picture in found.items():
        text = (page.PICTURES / name).read_text(encoding="utf-8")
        assert text == picture, f"{name} is old: python benchmarks/page.py"
        assert f"docs/pictures/{name}" in (page.ROOT / "README.md").read_text(encoding="utf-8")
        root = ElementTree.fromstring(picture)
        right = max(
            float(item.get("x")) + float(item.get("width") or item.get("textLength"))
            for item in root.iter()
            if item.get("x")
        )
        assert right <= page_pictures.WIDTH, f"{name}: something lies outside"


def test_the_race_is_won_by_the_shortest_bar():
    figures = {
        "conll2000/seconds to F 93.6/1 core": Figure("", 2.0, "s", "lower", "CRFsuite pa", 1.0),
        "conll2000/seconds to F 93.6/2 cores": Figure("", 1.5, "s", "lower", "CRFsuite pa", 1.0),
    }
    names = [bar.name for bar in page_pictures.bars(figures)]
    assert names == ["CRFsuite, PA", "adaptag, 2 cores", "adaptag, 1 core"]


def test_the_tagged_lines_are_what_the_demo_finds():
    splits = ingredients()
    model = adaptag.train(
        [sentence.tokens for sentence in splits.train],
        [sentence.labels for sentence in splits.train],
        dev=[list(zip(s.tokens, s.labels, strict=True)) for s in splits.dev],
    )
    lines = {" ".join(tokenize(line)): tokenize(line) for line in UNSEEN_LINES}
    for spans in page_pictures.TAGGED:
        tokens = lines[" ".join(text for text, _ in spans)]
        found = [
            (" ".join(tokens[segment.first : segment.last + 1]), segment.type)
            for segment in model.segments(tokens)
        ]
        assert found == [(text, label) for text, label in spans if label]


def test_links_of_blocks_lead_from_where_the_page_is():
    text = "<!-- figures: why adaptag -->\n<!-- end of figures -->\n"
    gain = Figure("tutorial/fit", 2.0, "s", "lower", "sklearn-crfsuite", 9.0)
    runs = [Run("2026-01-01", "abc", "c", "generic", {}, True, [gain])]
    for name, link in (
        ("README.md", "docs/guide/pycrfsuite.md#the-tutorial-measured"),
        ("docs/index.md", "guide/pycrfsuite.md#the-tutorial-measured"),
        ("docs/guide/x.md", "pycrfsuite.md#the-tutorial-measured"),
    ):
        filled = page.filled(text, runs, name)
        assert f"| [The tutorial of sklearn-crfsuite, `fit`]({link}) | 2.00 s |" in filled
        assert "| **4.5×** sklearn-crfsuite |" in filled


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
