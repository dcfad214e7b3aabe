"""Where commands write: results to a file or standard output, messages to standard error."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

__all__ = ["output_stream", "say"]


def say(text: str) -> None:
    """Write a message to standard error."""
    sys.stderr.write(text + "\n")


@contextlib.contextmanager
def output_stream(path: Path | None) -> Iterator[IO[bytes]]:
    """Open a file that is renamed into place at the end, or standard output."""
    from adaptag.storage.files import replace_file

    if path is None:
        standard: Any = sys.stdout.buffer
        if not isinstance(standard, io.RawIOBase):
            yield standard
            standard.flush()
            return
        buffered = io.BufferedWriter(standard)  # a raw stream may write only a part at a time
        try:
            yield buffered
        finally:
            buffered.detach()
    else:
        with replace_file(path) as file:
            yield file
