"""Recipes: a task of the papers each, from its corpus to data that algorithms are compared on."""
