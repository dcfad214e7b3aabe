"""The tables and figures of the literature, measured again: ``python -m reproduction``."""
