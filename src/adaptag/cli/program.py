"""``adaptag`` as a program: how it starts, and how errors end it."""

from __future__ import annotations

import functools
import gc
import importlib
import os
import sys
import warnings
from collections.abc import Callable
from typing import TextIO

from adaptag.errors import AdaptagError, CorpusWarning

__all__ = ["run", "start"]

# Commands that start without typer where the command line is a plain one: module and function.
QUICK_COMMANDS = {
    ("train",): ("adaptag.cli.train", "train"),
    ("tag",): ("adaptag.cli.tag", "tag"),
    ("encode",): ("adaptag.cli.encode", "encode"),
    ("classify", "train"): ("adaptag.cli.classify", "train"),
    ("classify", "predict"): ("adaptag.cli.classify", "predict"),
}


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


def _quick_command(words: list[str]) -> Callable[[], None] | None:
    """The command that a plain command line means; None where typer must parse it."""
    n = next((n for n in (1, 2) if tuple(words[:n]) in QUICK_COMMANDS), None)
    if n is None:
        return None
    from adaptag.cli.arguments import parse_plain
    from adaptag.cli.output import interruptible

    module, function = QUICK_COMMANDS[tuple(words[:n])]
    command = getattr(importlib.import_module(module), function)
    arguments = parse_plain(command, words[n:])
    return None if arguments is None else functools.partial(interruptible(command), **arguments)


def _run_quickly(command: Callable[[], None]) -> None:
    try:
        command()
        sys.stdout.flush()
    except BrokenPipeError:  # nobody reads the output any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def start() -> None:
    """Run the program in a process of its own.

    A quick command ends it at once: taking the interpreter and all memory apart takes time, too.
    """
    if run():
        sys.stderr.flush()
        os._exit(0)


def run() -> bool:
    """Run the program; bad input ends it with a message and exit code 2.

    Returns:
        Whether it was a quick command, without an error.
    """
    warnings.showwarning = _show_warning
    gc.disable()  # what is imported stays: there is nothing to collect
    command = _quick_command(sys.argv[1:])
    try:
        if command is None:
            from adaptag.cli.main import app

            gc.enable()
            app()
        else:
            gc.enable()
            _run_quickly(command)
    except AdaptagError as error:
        sys.stderr.write(f"adaptag: {error}\n")
        sys.exit(2)
    return command is not None
