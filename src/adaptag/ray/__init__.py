"""Training and tagging on a Ray cluster, or with Ray on one machine.

It needs the extra: ``pip install 'adaptag[ray]'``. Names are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adaptag.ray.connection import connect as connect
    from adaptag.ray.datasets import classify as classify
    from adaptag.ray.datasets import cut as cut
    from adaptag.ray.datasets import tag as tag
    from adaptag.ray.train_loop import train_loop_per_worker as train_loop_per_worker
    from adaptag.ray.training import train as train

_PLACES = {
    "classify": "adaptag.ray.datasets",
    "connect": "adaptag.ray.connection",
    "cut": "adaptag.ray.datasets",
    "tag": "adaptag.ray.datasets",
    "train": "adaptag.ray.training",
    "train_loop_per_worker": "adaptag.ray.train_loop",
}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'adaptag.ray' has no attribute {name!r}")
