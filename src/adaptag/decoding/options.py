"""How sentences are decoded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from adaptag.decoding.constraints import Constraints

__all__ = ["Declared", "DecodingOptions"]

Declared = Constraints | Mapping[str, Any] | None


class DecodingOptions(NamedTuple):
    """How the labels of sentences are found.

    Attributes:
        legal: The label scheme whose impossible sequences are ruled out, ``auto`` for that of the
            labels, or None.
        constraints: What the labels of each sentence satisfy.
        threads: The number of threads; None means one per core.
    """

    legal: str | None = None
    constraints: Declared = None
    threads: int | None = None
