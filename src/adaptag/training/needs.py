"""What training will need, estimated before anything is allocated: memory and time."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from adaptag.errors import CorpusWarning
from adaptag.storage.memory import check_memory

if TYPE_CHECKING:
    from adaptag.dataset.encoded import Examples

__all__ = ["check_training_memory", "warn_of_long_passes"]

FLOAT = 4
LATTICE_ROWS = 8  # floats that inference keeps for each token and label
ADVICE = (
    "use fewer features (a larger cutoff, or hash_bits), fewer features with edge weights (a "
    "larger edge_cutoff, or a template with fewer B and * lines), or fewer labels"
)
LONG_ADVICE = "; split long sentences"
# Of training on one token, of a pair of labels: on a processor of 2020, in one thread.
SECONDS_PER_PAIR = 2.5e-9
LONG_PASS = 120.0  # seconds


def check_training_memory(examples: Examples, arrays: int, row_bytes: int = 0) -> None:
    """Raise where training needs more memory than there is.

    Args:
        examples: The training data.
        arrays: The number of arrays of as many numbers as there are weights.
        row_bytes: The bytes that are kept for each predicate.
    """
    layout = examples.layout
    node, both, edge = examples.index.n_of_kind
    weights = layout.n_weights * FLOAT * arrays + (node + both + edge) * row_bytes
    longest = int(np.diff(examples.encoded.sentences).max(initial=0))
    width, rich = layout.width, both + edge > 8
    matrices = (longest if rich else 1) * layout.n_labels * width * 2
    lattice = (longest * width * LATTICE_ROWS + matrices) * FLOAT
    what = (
        f"training {layout.n_weights:,} weights ({examples.index.n_predicates:,} features, "
        f"{layout.n_labels:,} labels)"
    )
    if lattice > weights:
        what += f" on a sentence of {longest:,} tokens"
    check_memory(weights + lattice, what, ADVICE + LONG_ADVICE * (lattice > weights))


def warn_of_long_passes(examples: Examples) -> None:
    """Warn where a pass takes minutes, since the time grows with the square of the labels."""
    n_labels, n_tokens = len(examples.label_names), examples.n_tokens
    if not any(examples.index.n_of_kind[1:]):
        return
    seconds = SECONDS_PER_PAIR * n_tokens * n_labels**2
    if seconds > LONG_PASS:
        warnings.warn(
            f"{n_labels:,} labels and {n_tokens:,} tokens: a pass takes about "
            f"{_minutes(seconds)}, since the time grows with the square of the number of labels; "
            "a template without B and * lines, or fewer labels, is much faster",
            CorpusWarning,
            stacklevel=2,
        )


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
