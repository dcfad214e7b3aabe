"""Where commands write, and how an interrupt ends them.

Results go to a file or to standard output, messages to standard error.
"""

from __future__ import annotations

import contextlib
import functools
import io
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NoReturn

__all__ = [
    "BAD_INPUT",
    "DIVERGED",
    "check_files",
    "end_interrupted",
    "file_size",
    "interruptible",
    "output_stream",
    "say",
]
BAD_INPUT, DIVERGED = 2, 3  # exit codes


def say(text: str) -> None:
    """Write a message to standard error."""
    sys.stderr.write(text + "\n")


def file_size(path: Path) -> str:
    """The size of a file as text."""
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size > 1e5 else f"{size / 1e3:.1f} kB"


def end_interrupted(text: str) -> NoReturn:
    """End a command that Ctrl-C or SIGTERM has interrupted, with a message."""
    from adaptag.training.interrupts import exit_code

    say(f"interrupted{text}")
    raise SystemExit(exit_code())


@contextlib.contextmanager
def output_stream(path: Path | str | None) -> Iterator[IO[bytes]]:
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


def interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """Let Ctrl-C end a command with a message and the exit code 130, and SIGTERM with 143."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except KeyboardInterrupt:
            end_interrupted(": files that were not finished are unchanged")

    return wrapped


def check_files(
    outputs: Mapping[str, Path | str | None], inputs: Mapping[str, Path | str | None]
) -> None:
    """Refuse outputs that cannot be written, or that are inputs too, before anything is read."""
    from adaptag.storage.files import check_outputs

    files = {name: path for name, path in inputs.items() if path is not None and str(path) != "-"}
    check_outputs(outputs, files)
