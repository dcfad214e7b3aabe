"""The pages in docs/results are those that the saved figures give."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproduction import pages
from reproduction.recipes.every import RECIPES
from reproduction.runner import Figures
from reproduction.summary import index_page

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.mark.parametrize("name", RECIPES)
def test_the_page_of_a_recipe(name, monkeypatch):
    monkeypatch.setattr(pages, "line_chart", lambda *_, **__: "")  # pictures take long to draw
    page = pages.recipe_page(RECIPES[name], Figures.load(RESULTS, name))
    assert page.text == (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    assert all((RESULTS / "pictures" / picture).is_file() for picture in page.pictures)


def test_the_summary():
    figures = {name: Figures.load(RESULTS, name) for name in RECIPES}
    text = index_page(list(RECIPES.values()), figures)
    assert text == (RESULTS / "index.md").read_text(encoding="utf-8")
