"""Where commands write, and how an interrupt ends them.

Results go to a file or to standard output, messages to standard error.
"""

from __future__ import annotations

import contextlib
import functools
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

__all__ = [
    "INTERRUPTED",
    "check_files",
    "interruptible",
    "output_stream",
    "say",
    "write_ordered",
]

T = TypeVar("T")

INTERRUPTED = 130  # the exit code of a program that Ctrl-C ended


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


def write_ordered(
    out: IO[bytes],
    function: Callable[[T], tuple[bytes, int]],
    parts: Iterable[T | None],
    threads: int | None,
    advance: Callable[[int], object] = lambda _: None,
) -> bool:
    """Write what a function makes of each part, computed on several cores, in the order of parts.

    Where the next part may be long in coming, all that was computed is written out.

    Args:
        out: The file to write.
        function: A function that returns the output for a part, and the size of the part.
        parts: The parts, with None before one that may be long in coming.
        threads: The number of threads; None means one per core.
        advance: A function that is told the size of each part that is finished.

    Returns:
        Whether there was any output.
    """
    from adaptag.parallel import ordered_map, threads_for

    any_output = False
    for result in ordered_map(function, parts, threads_for(threads)):
        if result is None:
            out.flush()
            continue
        output, size = result
        out.write(output)
        any_output = any_output or bool(output)
        advance(size)
    return any_output


def interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """Let Ctrl-C end a command with a message and the exit code 130."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except KeyboardInterrupt:
            say("interrupted: files that were not finished are unchanged")
            raise SystemExit(INTERRUPTED) from None

    return wrapped


def check_files(
    outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | str | None]
) -> None:
    """Refuse outputs that cannot be written, or that are inputs too, before anything is read."""
    from adaptag.storage.files import check_outputs

    files = {name: path for name, path in inputs.items() if path is not None and str(path) != "-"}
    check_outputs(outputs, files)
