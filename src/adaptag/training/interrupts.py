"""Ctrl-C while training: noted at once, and acted on where nothing is lost."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType

    from typing_extensions import Self

__all__ = ["Interrupts", "interruptible"]


class Interrupts:
    """Turns Ctrl-C into a note that training looks at between steps.

    Where it is entered, an interrupt raises no exception: ``check`` raises it where training can be
    left. So it can come at any moment, also right after the last pass or while a file is written,
    and what was reached is kept. A second interrupt raises KeyboardInterrupt at once. One that is
    entered inside of another shares its note. Handlers that a program has installed itself, and
    threads other than the main one, are not affected.

    Attributes:
        requested: Whether an interrupt has come.
        immediate: Whether an interrupt raises KeyboardInterrupt at once, see ``interruptible``.
    """

    _outermost: ClassVar[Interrupts | None] = None

    def __init__(self) -> None:
        self.requested = False
        self.immediate = False

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        self._installed = (
            main
            and Interrupts._outermost is None
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._installed:
            Interrupts._outermost = self
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            Interrupts._outermost = None

    def _note(self, number: int, frame: FrameType | None) -> None:
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
