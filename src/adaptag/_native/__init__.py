"""The native core: the best of its variants that is installed and that this processor can run.

``ADAPTAG_CORE`` names another variant, e.g. ``generic``, to compare or to debug.
"""

from __future__ import annotations

import importlib
import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from adaptag._native import cpu

__all__ = ["available", "build", "core", "cores"]


def _choose() -> str:
    requested = os.environ.get("ADAPTAG_CORE")
    if requested is None and available:
        return available[0]
    if requested is None or requested not in available:
        setting = "the core is not built" if requested is None else f"ADAPTAG_CORE={requested!r}"
        raise ImportError(
            f"{setting}; this processor runs: {', '.join(cpu.supported_variants())}; "
            f"installed of these: {', '.join(available) or 'none'}"
        )
    return requested


def cores() -> int:
    """The number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


available = [name for name in cpu.supported_variants() if find_spec(f"adaptag._native.{name}")]
"""The variants that are installed and that this processor can run, best first."""

build = _choose()
"""The variant in use."""

if TYPE_CHECKING:
    from adaptag._native import core
else:
    core = importlib.import_module(f"adaptag._native.{build}")
