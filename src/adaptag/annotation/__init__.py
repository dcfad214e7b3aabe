"""Labelling with a model that learns from every answer."""
