"""Experiments: search for settings, comparison of algorithms, the papers' tables and pictures."""
