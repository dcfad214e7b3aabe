"""Batches: what waits is answered together, each job for itself."""

from __future__ import annotations

import asyncio
import threading

import pytest

from adaptag.errors import AdaptagError
from adaptag.server.batching import Answered, Batcher
from adaptag.web.guards import RequestError


class Recorder:
    """Doubles numbers, and notes what it was called with."""

    def __init__(self):
        self.calls = []
        self.threads = set()
        self.free = threading.Event()
        self.free.set()

    def __call__(self, inputs, options):
        self.free.wait(10)
        self.calls.append((list(inputs), options))
        self.threads.add(threading.get_ident())
        if any(item is None for item in inputs):
            raise AdaptagError("None is no number")
        if options == "break":
            raise KeyError("broken")
        return Answered([2 * item for item in inputs], len(inputs))


def batcher(recorder, **options):
    return Batcher(recorder, **{"max_batch": 100, "max_waiting": 100, **options})


def test_what_is_sent_at_once_is_answered_in_one_call():
    recorder = Recorder()

    async def run():
        batches = batcher(recorder)
        return await asyncio.gather(
            *(batches.submit([k, k], 2, "a") for k in range(5)), batches.submit([9], 1, "b")
        )

    answers = asyncio.run(run())
    assert [a.answers for a in answers] == [[2 * k, 2 * k] for k in range(5)] + [[18]]
    assert [options for _, options in recorder.calls] == ["a", "b"]
    assert recorder.threads == {threading.get_ident()}


def test_what_comes_while_the_model_works_is_answered_together():
    recorder = Recorder()
    recorder.free.clear()
    seen = []

    async def run():
        batches = batcher(
            recorder,
            max_batch=3,
            inline_seconds=0,
            observe=lambda jobs, _: seen.append(len(jobs)),
        )
        first = batches.submit([0], 1, "a")
        await asyncio.sleep(0.05)
        others = [batches.submit([k], 1, "a") for k in range(1, 6)]
        assert batches.n_waiting == 5
        recorder.free.set()
        answers = await asyncio.gather(first, *others)
        assert batches.n_waiting == 0
        return answers

    answers = asyncio.run(run())
    assert [a.answers for a in answers] == [[2 * k] for k in range(6)]
    assert seen == [1, 3, 2]
    assert threading.get_ident() not in recorder.threads


def test_large_jobs_leave_the_event_loop_free():
    recorder = Recorder()
    recorder.free.clear()

    async def run():
        batches = batcher(recorder)
        job = batches.submit([1], 10_000_000, "a")
        await asyncio.sleep(0.05)  # would not return if the loop were busy
        assert not job.done()
        recorder.free.set()
        return (await job).answers

    assert asyncio.run(run()) == [2]


def test_a_bad_job_spoils_no_other():
    recorder = Recorder()

    async def run():
        batches = batcher(recorder)
        jobs = [batches.submit([item], 1, "a") for item in (1, None, 3)]
        jobs.append(batches.submit([4], 1, "break"))
        return await asyncio.gather(*jobs, return_exceptions=True)

    first, second, third, fourth = asyncio.run(run())
    assert (first.answers, third.answers) == ([2], [6])
    assert isinstance(second, AdaptagError)
    assert isinstance(fourth, KeyError)


def test_too_many_that_wait_are_refused():
    recorder = Recorder()
    recorder.free.clear()

    async def run():
        batches = batcher(recorder, max_waiting=2, inline_seconds=0)
        jobs = [batches.submit([0], 1, "a")]
        await asyncio.sleep(0.05)
        jobs += [batches.submit([k], 1, "a") for k in (1, 2)]
        with pytest.raises(RequestError, match="2 texts wait already") as refused:
            batches.submit([3], 1, "a")
        assert refused.value.status == 503
        recorder.free.set()
        return await asyncio.gather(*jobs)

    assert len(asyncio.run(run())) == 3


def test_jobs_that_nobody_waits_for_are_dropped():
    recorder = Recorder()

    async def run():
        batches = batcher(recorder)
        gone, kept = batches.submit([1], 1, "a"), batches.submit([2], 1, "a")
        gone.cancel()
        await kept

    asyncio.run(run())
    assert recorder.calls == [([2], "a")]


def test_after_a_job_that_was_alone_the_next_are_answered_at_once():
    recorder = Recorder()

    async def run():
        batches = batcher(recorder)
        first = batches.submit([1], 1, "a")
        assert not first.done()
        await first
        second = batches.submit([2], 1, "a")
        assert second.done()
        large = batches.submit([3], 10_000_000, "a")
        assert not large.done()
        behind = batches.submit([4], 1, "a")  # behind the large one, not before it
        assert not behind.done()
        return [(await job).answers for job in (first, second, large, behind)]

    assert asyncio.run(run()) == [[2], [4], [6], [8]]


def test_jobs_at_once_do_not_keep_batches_from_growing_again():
    recorder = Recorder()

    async def run():
        batches = batcher(recorder)
        await batches.submit([0], 1, "a")
        for _ in range(3):
            await asyncio.gather(*(batches.submit([k], 1, "a") for k in range(20)))

    asyncio.run(run())
    sizes = [len(inputs) for inputs, _ in recorder.calls]
    assert sizes == [1] * 17 + [4, 20, 20]
