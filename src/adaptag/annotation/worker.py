"""Work in a thread of its own, done again whenever there is something new."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from adaptag.errors import AdaptagError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Worker"]


class Worker:
    """Runs a function in the background.

    However often it is requested while it runs, it runs once more afterwards: the newest data wins.

    Attributes:
        error: What went wrong in the last run; empty if nothing did.
    """

    def __init__(self, work: Callable[[], None], name: str) -> None:
        self.error = ""
        self._work = work
        self._condition = threading.Condition()
        self._requested = False
        self._running = False
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def request(self) -> None:
        """Ask for a run that begins after now; this returns at once."""
        with self._condition:
            self._requested = True
            self._condition.notify_all()

    @property
    def busy(self) -> bool:
        """Whether it runs, or will soon."""
        return self._requested or self._running

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until there is nothing to do; False where that took too long."""
        with self._condition:
            return self._condition.wait_for(lambda: not self.busy or self._stopped, timeout)

    def stop(self, timeout: float = 10.0) -> None:
        """End the thread after the run that it is in."""
        with self._condition:
            self._stopped = True
            self._condition.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._requested or self._stopped)
                if self._stopped:
                    return
                self._requested, self._running = False, True
            error = ""
            try:
                self._work()
            except AdaptagError as problem:
                error = str(problem)
            except Exception as problem:  # a mistake of ours must not end the labelling
                error = f"{type(problem).__name__}: {problem}"
            with self._condition:
                self.error, self._running = error, False
                self._condition.notify_all()
