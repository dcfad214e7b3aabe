"""Time limits of requests: one timer of the event loop for all of them.

A timer for each request would cost more than all other checks of the guard together.
"""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["Deadline", "Deadlines"]


class Deadlines:
    """Cancels tasks that take longer than some seconds.

    All have the same time, so those that began first end first: a timer for the first is enough.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends: dict[Deadline, float] = {}  # in the order of their time
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._ends)

    def start(self) -> Deadline:
        """Start the time of the running task."""
        task = asyncio.current_task()
        assert task is not None
        deadline = Deadline(self, task)
        deadline.restart()
        return deadline

    def _add(self, deadline: Deadline) -> None:
        loop = asyncio.get_running_loop()
        self._ends[deadline] = end = loop.time() + self.seconds
        if self._timer is None or self._loop is not loop:
            self._loop = loop
            self._timer = loop.call_at(end, self._sweep, loop)

    def _remove(self, deadline: Deadline) -> None:
        self._ends.pop(deadline, None)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Cancel the tasks whose time is over; wait for the next one."""
        now = loop.time()
        self._timer = None
        for deadline, end in list(self._ends.items()):
            if end > now:
                self._timer = loop.call_at(end, self._sweep, loop)
                return
            deadline.expire()


class Deadline:
    """The time limit of one task."""

    __slots__ = ("_all", "_task", "exceeded")

    def __init__(self, deadlines: Deadlines, task: asyncio.Task[Any]) -> None:
        self._all = deadlines
        self._task = task
        self.exceeded = False

    def restart(self) -> None:
        """Start the time anew."""
        self._all._remove(self)
        self._all._add(self)

    def stop(self) -> None:
        """Stop the time; the task may take as long as it likes from here on."""
        self._all._remove(self)

    def expire(self) -> None:
        """Cancel the task."""
        self.stop()
        self.exceeded = True
        self._task.cancel()

    def uncancel(self) -> None:
        """Take back the cancellation, once it was caught."""
        if hasattr(self._task, "uncancel"):  # from Python 3.11 on
            self._task.uncancel()
