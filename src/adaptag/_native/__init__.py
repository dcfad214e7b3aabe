"""The native core: the best of its builds that this processor can run.

``ADAPTAG_CORE`` names another build, e.g. ``generic``, to compare or to debug.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

from adaptag._native import cpu

__all__ = ["build", "core", "cores"]


def _choose() -> str:
    supported = cpu.supported_builds()
    wanted = os.environ.get("ADAPTAG_CORE")
    if wanted is None:
        return supported[0]
    if wanted not in supported:
        raise ImportError(f"ADAPTAG_CORE={wanted!r}; this processor runs: {', '.join(supported)}")
    return wanted


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


build = _choose()

if TYPE_CHECKING:
    from adaptag._native import generic as core
else:
    core = importlib.import_module(f"adaptag._native.{build}")
