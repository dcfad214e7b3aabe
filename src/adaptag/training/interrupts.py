"""Ctrl-C and SIGTERM while training: noted at once, and acted on where nothing is lost."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType

    from typing_extensions import Self

__all__ = ["Interrupts", "exit_code", "install_handlers", "interruptible", "was_interrupted"]

_received: int | None = None  # the last signal that was turned into an interrupt


def exit_code() -> int:
    """The exit code of a program that was interrupted: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + (_received or signal.SIGINT)


def was_interrupted() -> bool:
    """Whether a handler that was installed has raised an interrupt, whatever became of it."""
    return _received is not None


def install_handlers() -> None:
    """Let SIGTERM act like Ctrl-C from now on, unless it is handled otherwise, or ignored."""
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGTERM, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is usual:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Handle a signal as Python handles Ctrl-C."""
    global _received
    _received = number
    signal.default_int_handler(number, frame)


class Interrupts:
    """Turns Ctrl-C into a note that training looks at between steps; SIGTERM too, in a command.

    Where it is entered, an interrupt raises no exception: ``check`` raises it where training can be
    left. So it can come at any moment, also right after the last pass or while a file is written,
    and what was reached is kept. A second interrupt raises KeyboardInterrupt at once. One that is
    entered inside of another shares its note. Handlers that a program has installed itself, and
    threads other than the main one, are not affected; nor is SIGTERM, which ends a program, unless
    ``install_handlers`` was called.

    Attributes:
        requested: Whether an interrupt has come.
        immediate: Whether an interrupt raises KeyboardInterrupt at once, see ``interruptible``.
    """

    _outermost: ClassVar[Interrupts | None] = None

    def __init__(self) -> None:
        self.requested = False
        self.immediate = False

    def __enter__(self) -> Self:
        self._before: dict[int, Any] = {}
        main = threading.current_thread() is threading.main_thread()
        if main and Interrupts._outermost is None:
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.getsignal(number)
                if handler in (signal.default_int_handler, _interrupt):
                    self._before[number] = handler
        if self._before:
            Interrupts._outermost = self
            for noted in self._before:
                signal.signal(noted, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before:
            for noted, handler in self._before.items():
                signal.signal(noted, handler)
            Interrupts._outermost = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        global _received
        _received = number
        at_once, self.requested = self.requested or self.immediate, True
        if at_once:
            signal.default_int_handler(number, frame)

    def check(self) -> None:
        """Raise KeyboardInterrupt where an interrupt has come."""
        if (Interrupts._outermost or self).requested:
            raise KeyboardInterrupt


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let an interrupt raise KeyboardInterrupt at once, in long work of which nothing is kept.

    The core looks for signals in such work, so it ends within a moment.
    """
    current = Interrupts._outermost
    if current is None:
        yield
        return
    current.check()
    current.immediate, before = True, current.immediate
    try:
        yield
    finally:
        current.immediate = before
