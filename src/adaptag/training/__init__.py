"""Weights from a dataset: algorithms, the pass loop, callbacks, stopping."""
