"""All targets by name: those of Python, and those of the core alone, which are C++."""

from __future__ import annotations

import random
import struct

from tests.fuzz import model_files, objects, readers

PYTHON = readers.TARGETS | model_files.TARGETS | objects.TARGETS


def _noise(n, size, kinds=256):
    """Inputs of small random numbers, for targets that read choices from the bytes."""
    rng = random.Random(1)
    return [bytes(rng.randrange(kinds) for _ in range(size)) for _ in range(n)]


def _texts(target, head=b""):
    return [head + seed for seed in readers.TARGETS[target].seeds()]


CORE = {
    "core-columns": lambda: _texts("columns"),
    "core-attributes": lambda: _texts("attributes"),
    "core-text": lambda: [
        struct.pack("<BI", flags, 7) + seed
        for flags, target in ((1, "segmented"), (3, "tokenizers"))
        for seed in readers.TARGETS[target].seeds()
    ],
    "core-lexicon": lambda: _noise(4, 60),
    "core-index": lambda: _noise(8, 120) + _noise(4, 120, kinds=8),
    "core-compact": lambda: _noise(8, 300) + _noise(4, 300, kinds=8),
    "core-predictor": lambda: _noise(8, 300) + _noise(4, 300, kinds=8),
    "core-lattice": lambda: _noise(8, 100),
    "core-dataset": lambda: _noise(8, 100) + _noise(4, 100, kinds=8),
}
"""The seeds of the targets in ``core``."""
