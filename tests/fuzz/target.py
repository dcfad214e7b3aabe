"""What a target of fuzzing is, and a file for its input."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Path(tempfile.gettempdir()) if not Path("/dev/shm").is_dir() else Path("/dev/shm")
PATH = FOLDER / f"adaptag-fuzz-{os.getpid()}"


class Target(NamedTuple):
    """A function of bytes that ends, or raises an ``AdaptagError``; all else is a finding.

    Attributes:
        run: The function.
        seeds: A function that makes the inputs to start from.
        mutate: A mutation that keeps the form of inputs: of an input, a ``random.Random`` and the
            mutation of plain bytes.
    """

    run: Callable[[bytes], object]
    seeds: Callable[[], list[bytes]]
    mutate: Callable[[bytes, object, Callable[[bytes], bytes]], bytes] | None = None


@contextlib.contextmanager
def stored(data):
    """A file with this content, in memory where there is such a folder."""
    PATH.write_bytes(data)
    try:
        yield PATH
    finally:
        PATH.unlink(missing_ok=True)
