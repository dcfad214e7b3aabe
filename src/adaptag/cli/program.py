"""``adaptag`` as a program: how it starts, and how errors end it."""

from __future__ import annotations

import functools
import gc
import os
import sys
import warnings
from collections.abc import Callable
from typing import TextIO

from adaptag.errors import AdaptagError, CorpusWarning, WrongKindError

__all__ = ["run", "start"]


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,  # noqa: ARG001
    line: str | None = None,
) -> None:
    """Write what the library warns of as a note, and warnings of other packages as they are."""
    if issubclass(category, CorpusWarning):
        sys.stderr.write(f"note: {message}\n")
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


def _plain_command(words: list[str]) -> Callable[[], None] | None:
    """The command that a plain command line means; None where typer must parse it."""
    from adaptag.cli.arguments import parse_plain
    from adaptag.cli.commands import COMMANDS, command_of

    for n in (1, 2):
        if tuple(words[:n]) in COMMANDS:
            command = command_of(tuple(words[:n]))
            arguments = parse_plain(command, words[n:])
            return None if arguments is None else functools.partial(command, **arguments)
    return None


def _run_plain(command: Callable[[], None]) -> None:
    try:
        command()
        sys.stdout.flush()
    except BrokenPipeError:  # nobody reads the output any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _advice(error: AdaptagError) -> str:
    """What to do about an error, where the command line has a word on it."""
    from adaptag.cli.commands import TAKES

    if isinstance(error, WrongKindError) and error.found in TAKES:
        return f" (adaptag {TAKES[error.found]} takes a {error.found})"
    return ""


def start() -> None:
    """Run the program in a process of its own.

    After a plain command line it ends at once: taking the interpreter and all memory apart takes
    time, too.
    """
    if run():
        sys.stderr.flush()
        os._exit(0)


def run() -> bool:
    """Run the program; bad input ends it with a message and exit code 2.

    Returns:
        Whether the command line was a plain one, and there was no error.
    """
    warnings.showwarning = _show_warning
    gc.disable()  # what is imported stays: there is nothing to collect
    command = _plain_command(sys.argv[1:])
    try:
        if command is None:
            from adaptag.cli.main import app

            gc.enable()
            app()
        else:
            gc.enable()
            _run_plain(command)
    except AdaptagError as error:
        sys.stderr.write(f"adaptag: {error}{_advice(error)}\n")
        sys.exit(2)
    except MemoryError:
        sys.stderr.write(
            "adaptag: out of memory: less data at a time, fewer features (--cutoff, --hash-bits) "
            "or fewer labels need less\n"
        )
        sys.exit(2)
    return command is not None
