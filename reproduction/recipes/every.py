"""The list of all recipes, in the order of the results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptag.errors import ParameterError, unknown
from reproduction.recipes.base_np import BASE_NP
from reproduction.recipes.bio_ner import BIO_NER
from reproduction.recipes.chunking import CHUNKING
from reproduction.recipes.conll_ner import DUTCH_NER, ENGLISH_NER
from reproduction.recipes.english_pos import ENGLISH_POS
from reproduction.recipes.people_daily import CHINESE_NER, CHINESE_POS
from reproduction.recipes.recipe import with_defaults
from reproduction.recipes.resources import RESOURCES
from reproduction.recipes.segmentation import SEGMENTATION
from reproduction.recipes.sentiment import SENTIMENT

if TYPE_CHECKING:
    from reproduction.recipes.recipe import Recipe

__all__ = ["RECIPES", "recipe"]

TASKS = (
    BIO_NER,
    SEGMENTATION,
    BASE_NP,
    SENTIMENT,
    CHUNKING,
    ENGLISH_POS,
    CHINESE_POS,
    CHINESE_NER,
    ENGLISH_NER,
    DUTCH_NER,
)
RECIPES = {recipe.name: recipe for recipe in (*map(with_defaults, TASKS), RESOURCES)}


def recipe(name: str) -> Recipe:
    """Find a recipe by its name."""
    if name not in RECIPES:
        raise ParameterError(unknown("task", name, RECIPES))
    return RECIPES[name]
