"""Time limits: one timer for all tasks, each cancelled in its time."""

from __future__ import annotations

import asyncio
import contextlib

from adaptag.web.deadlines import Deadlines


async def work(deadlines, seconds, cancelled, name):
    deadline = deadlines.start()
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        assert deadline.exceeded
        deadline.uncancel()
        cancelled.append(name)
    finally:
        deadline.stop()


def test_only_tasks_whose_time_is_over_are_cancelled():
    cancelled = []
    deadlines = Deadlines(0.2)

    async def run():
        first = asyncio.create_task(work(deadlines, 10, cancelled, "first"))
        quick = asyncio.create_task(work(deadlines, 0, cancelled, "quick"))
        await asyncio.sleep(0.1)
        later = asyncio.create_task(work(deadlines, 10, cancelled, "later"))
        await first
        await quick
        assert cancelled == ["first"]
        assert not later.done()
        await later

    asyncio.run(run())
    assert cancelled == ["first", "later"]
    assert len(deadlines) == 0


def test_restarted_and_stopped_time():
    deadlines = Deadlines(0.2)

    async def run():
        deadline = deadlines.start()
        await asyncio.sleep(0.15)
        deadline.restart()
        await asyncio.sleep(0.15)
        deadline.stop()
        await asyncio.sleep(0.15)
        return deadline.exceeded

    assert asyncio.run(run()) is False


def test_many_tasks_share_a_timer():
    timers = []
    deadlines = Deadlines(30)

    async def run():
        loop = asyncio.get_running_loop()
        call_at = loop.call_at

        def counted(when, callback, *arguments, **options):
            if callback == deadlines._sweep:
                timers.append(when)
            return call_at(when, callback, *arguments, **options)

        loop.call_at = counted
        await asyncio.gather(*(work(deadlines, 0, [], k) for k in range(50)))

    asyncio.run(run())
    assert len(timers) == 1


def test_another_event_loop_has_its_own_timer():
    deadlines = Deadlines(0.05)
    cancelled = []
    for k in range(2):
        asyncio.run(work(deadlines, 0, cancelled, k))
        with contextlib.suppress(asyncio.TimeoutError):
            asyncio.run(asyncio.wait_for(work(deadlines, 10, cancelled, k), 5))
    assert cancelled == [0, 1]
