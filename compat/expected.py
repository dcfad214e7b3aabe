"""Tests of other projects that fail with adaptag, each with its reason.

A test that fails with the original packages too needs no entry.
"""

from __future__ import annotations

__all__ = ["EXPECTED_FAILURES"]

# By project and API: the reason of each test, whose name may have the wildcards of file names.
EXPECTED_FAILURES: dict[tuple[str, str], dict[str, str]] = {}
