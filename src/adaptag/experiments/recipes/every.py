"""THE list of recipes, in the order of the results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptag.errors import ParameterError, unknown
from adaptag.experiments.recipes.base_np import BASE_NP
from adaptag.experiments.recipes.bio_ner import BIO_NER
from adaptag.experiments.recipes.chunking import CHUNKING
from adaptag.experiments.recipes.english_pos import ENGLISH_POS
from adaptag.experiments.recipes.people_daily import CHINESE_NER, CHINESE_POS
from adaptag.experiments.recipes.resources import RESOURCES
from adaptag.experiments.recipes.segmentation import SEGMENTATION
from adaptag.experiments.recipes.sentiment import SENTIMENT

if TYPE_CHECKING:
    from adaptag.experiments.recipes.recipe import Recipe

__all__ = ["RECIPES", "recipe"]

RECIPES = {
    one.name: one
    for one in (
        BIO_NER,
        SEGMENTATION,
        BASE_NP,
        SENTIMENT,
        CHUNKING,
        ENGLISH_POS,
        CHINESE_POS,
        CHINESE_NER,
        RESOURCES,
    )
}


def recipe(name: str) -> Recipe:
    """Find a recipe by its name."""
    if name not in RECIPES:
        raise ParameterError(unknown("task", name, RECIPES))
    return RECIPES[name]
