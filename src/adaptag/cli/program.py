"""``adaptag`` as a program: how it starts, and how errors end it."""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import os
import sys
import warnings
from collections.abc import Callable
from typing import TextIO

from adaptag.cli.output import BAD_INPUT, DIVERGED, end_interrupted
from adaptag.errors import (
    AdaptagError,
    AdaptagWarning,
    CorpusError,
    DivergenceError,
    DivergenceWarning,
    WrongKindError,
)

__all__ = ["run", "start"]

UTF8_ONLY = "allowed: UTF-8 text"  # how the messages end that --encoding helps with
CTRL_C = 130  # the exit code of typer after an interrupt


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,  # noqa: ARG001
    line: str | None = None,
) -> None:
    """Write what the library warns of as a note, and warnings of other packages as they are."""
    if issubclass(category, AdaptagWarning):
        kind = "adaptag" if issubclass(category, DivergenceWarning) else "note"
        sys.stderr.write(f"{kind}: {message}\n")
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
        _discard_output()
        sys.exit(1)


def _discard_output() -> None:
    """Lose what is left of the output, so that nothing tries to write it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _advice(error: AdaptagError) -> str:
    """What to do about an error, where the command line has a word on it."""
    from adaptag.cli.commands import TAKES

    if isinstance(error, WrongKindError) and error.found in TAKES:
        return f" (adaptag {TAKES[error.found]} takes a {error.found})"
    if isinstance(error, CorpusError) and str(error).endswith(UTF8_ONLY):
        return ", or text in the encoding that --encoding names"
    return ""


class _Messages(io.TextIOWrapper):
    """Standard error: where it cannot be written to, messages are lost, and work goes on."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def _open_streams() -> None:
    """Open the standard streams that are closed, so that using them is an error, or does nothing.

    Else the files that the program opens would get their numbers. Reading and writing fail on
    streams that are opened for the other; messages are lost.
    """
    for number, name, flags in (
        (0, "stdin", os.O_WRONLY),
        (1, "stdout", os.O_RDONLY),
        (2, "stderr", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            stream = open(number, "r" if number == 0 else "w", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)  # which keeps it open
    buffer, encoding = sys.stderr.buffer, sys.stderr.encoding
    sys.stderr = _Messages(buffer, encoding, "backslashreplace", line_buffering=True)


def start() -> None:
    """Run the program in a process of its own.

    SIGTERM acts like Ctrl-C. After a plain command line the process ends at once: taking the
    interpreter and all memory apart takes time, too.
    """
    from adaptag.training.interrupts import install_handlers

    try:
        install_handlers()
        _open_streams()
        if run():
            sys.stderr.flush()
            os._exit(0)
    except KeyboardInterrupt:  # just before the program began, or after it ended
        end_interrupted("")


def run() -> bool:
    """Run the program.

    Bad input ends it with a message and exit code 2, training that diverges with exit code 3, and
    an interrupt with 130 (Ctrl-C) or 143 (SIGTERM).

    Returns:
        Whether the command line was a plain one, and there was no error.
    """
    warnings.showwarning = _show_warning
    gc.disable()  # what is imported stays: there is nothing to collect
    try:
        return _run()
    except AdaptagError as error:
        sys.stderr.write(f"adaptag: {error}{_advice(error)}\n")
        sys.exit(DIVERGED if isinstance(error, DivergenceError) else BAD_INPUT)
    except OSError as error:  # errors of files are among those above
        where = error.filename or "standard output"
        sys.stderr.write(f"adaptag: {where}: {error.strerror or error}\n")
        _discard_output()
        sys.exit(BAD_INPUT)
    except MemoryError:
        sys.stderr.write(
            "adaptag: out of memory: less data at a time, fewer features (--cutoff, --hash-bits) "
            "or fewer labels need less\n"
        )
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:  # before the command began, or after it ended
        end_interrupted("")
    except Exception:
        from adaptag.training.interrupts import was_interrupted

        if not was_interrupted():
            raise
        end_interrupted("")  # what is imported may turn an interrupt into another exception


def _run() -> bool:
    command = _plain_command(sys.argv[1:])
    if command is None:
        from adaptag.cli.main import app
        from adaptag.training.interrupts import exit_code

        gc.enable()
        try:
            app()
        except SystemExit as end:
            if end.code == CTRL_C != exit_code():  # typer takes any interrupt for Ctrl-C
                end_interrupted("")
            raise
    else:
        gc.enable()
        _run_plain(command)
    return command is not None
