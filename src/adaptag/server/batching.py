"""Batches across connections: what waits for a model is answered in one call.

A batch begins as soon as the model is free, with whatever waits then. So nothing waits while there
is nothing to do, and the more there is to do, the larger the batches become. A batch that takes
less time than changing threads does (with a GIL that both want, some milliseconds) is answered in
the thread of the event loop, others in a thread of the model.

To see what waits, a batch begins after the event loop has let all connections submit what they
have. Where a job was alone even so, the next few are answered at once, without that detour.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from adaptag.errors import AdaptagError
from adaptag.web.guards import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Answered", "Batcher", "Job"]

INLINE_SECONDS = 0.002
RATE = 2e-6  # seconds that a character or token takes, before any was measured
MEMORY = 0.1  # how much one batch changes the estimate of that
AT_ONCE = 16  # jobs that are answered at once after one that was alone


class Answered(NamedTuple):
    """Answers to some inputs, in their order, and how many tokens there were."""

    answers: list[Any]
    n_tokens: int


@dataclass(eq=False, slots=True)
class Job:
    """What one request asks of a model.

    Attributes:
        inputs: The texts or sentences.
        size: How much there is to do: characters or tokens.
        options: What is asked for; jobs with equal options are answered in one call.
        future: Takes the answers.
    """

    inputs: Sequence[Any]
    size: int
    options: Any
    future: asyncio.Future[Answered]


Outcome = Answered | Exception


class Batcher:
    """Answers jobs in batches, large ones in a thread of its own.

    Args:
        answer: Answers inputs with the same options; called in the thread.
        max_batch: How many inputs are answered in one call, unless a job has more.
        max_waiting: How many inputs may wait.
        inline_seconds: How long a batch may keep the event loop; 0 sends all to the thread.
        observe: Called with the jobs and their outcomes after each batch.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[Any], Any], Answered],
        *,
        max_batch: int,
        max_waiting: int,
        inline_seconds: float = INLINE_SECONDS,
        observe: Callable[[list[Job], list[Outcome]], None] | None = None,
    ) -> None:
        self._answer = answer
        self._max_batch = max_batch
        self._max_waiting = max_waiting
        self._inline_seconds = inline_seconds
        self._rate = RATE
        self._observe = observe
        self._jobs: deque[Job] = deque()
        self._busy = False
        self._at_once = 0
        self._thread = ThreadPoolExecutor(1, "adaptag-batches")
        self.n_waiting = 0

    def submit(self, inputs: Sequence[Any], size: int, options: Any) -> asyncio.Future[Answered]:
        """Have inputs of a size answered; raise where too many wait already."""
        if self._jobs and self.n_waiting + len(inputs) > self._max_waiting:
            raise RequestError(
                f"{self.n_waiting:,} texts wait already; try again", 503, {"Retry-After": "1"}
            )
        loop = asyncio.get_running_loop()
        job = Job(inputs, size, options, loop.create_future())
        if self._at_once and not self._busy and size * self._rate <= self._inline_seconds:
            self._at_once -= 1
            self._finish([job], self._work([job]))
            return job.future
        self._jobs.append(job)
        self.n_waiting += len(inputs)
        if not self._busy:
            self._busy = True
            loop.call_soon(self._begin, loop)  # behind what other connections have sent by now
        return job.future

    def close(self) -> None:
        """End the thread, after the batch that it works on."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin a batch of what waits."""
        inline_size = self._inline_seconds / self._rate
        batch = self._take(inline_size)
        if not batch:
            self._busy = False
        elif sum(job.size for job in batch) <= inline_size:
            self._finish(batch, self._work(batch))
            if self._jobs:
                loop.call_soon(self._begin, loop)
            else:
                self._busy = False
                self._at_once = AT_ONCE if len(batch) == 1 else 0
        else:
            work = loop.run_in_executor(self._thread, self._work, batch)
            work.add_done_callback(lambda done: self._finish_work(loop, batch, done))

    def _take(self, inline_size: float) -> list[Job]:
        """Take jobs that wait: only quick ones if the first is quick, else as many as allowed."""
        batch: list[Job] = []
        n_inputs = size = 0
        while self._jobs:
            job = self._jobs[0]
            n_inputs += len(job.inputs)
            size += job.size
            if batch and (n_inputs > self._max_batch or size > inline_size >= batch[0].size):
                break
            self._jobs.popleft()
            self.n_waiting -= len(job.inputs)
            if not job.future.done():  # else nobody waits for it any more
                batch.append(job)
        return batch

    def _finish_work(
        self, loop: asyncio.AbstractEventLoop, batch: list[Job], done: asyncio.Future[list[Outcome]]
    ) -> None:
        if not done.cancelled():
            self._finish(batch, done.result())
            self._begin(loop)

    def _finish(self, batch: list[Job], outcomes: list[Outcome]) -> None:
        for job, outcome in zip(batch, outcomes, strict=True):
            if job.future.done():
                continue
            if isinstance(outcome, Exception):
                job.future.set_exception(outcome)
            else:
                job.future.set_result(outcome)
        if self._observe is not None:
            self._observe(batch, outcomes)

    def _work(self, batch: list[Job]) -> list[Outcome]:
        """Answer the jobs of a batch, those with equal options together."""
        begin = time.perf_counter()
        if len(batch) == 1:
            outcomes = [self._answer_alone(batch[0])]
            size = batch[0].size
        else:
            outcomes = self._answer_groups(batch)
            size = sum(job.size for job in batch)
        if size:
            self._rate += MEMORY * ((time.perf_counter() - begin) / size - self._rate)
        return outcomes

    def _answer_groups(self, batch: list[Job]) -> list[Outcome]:
        groups: dict[Any, list[int]] = {}
        for k, job in enumerate(batch):
            groups.setdefault(job.options, []).append(k)
        outcomes: dict[int, Outcome] = {}
        for options, members in groups.items():
            jobs = [batch[k] for k in members]
            outcomes |= zip(members, self._answer_together(jobs, options), strict=True)
        return [outcomes[k] for k in range(len(batch))]

    def _answer_together(self, jobs: list[Job], options: Any) -> list[Outcome]:
        if len(jobs) == 1:
            return [self._answer_alone(jobs[0])]
        inputs = [item for job in jobs for item in job.inputs]
        try:
            answered = self._answer(inputs, options)
        except (AdaptagError, UnicodeError):  # one of them is wrong: only that one is refused
            return [self._answer_alone(job) for job in jobs]
        except Exception as error:  # raised again where the requests are answered
            return [error] * len(jobs)
        outcomes: list[Outcome] = []
        begin = 0
        for job in jobs:
            end = begin + len(job.inputs)
            share = answered.n_tokens * len(job.inputs) // max(1, len(inputs))
            outcomes.append(Answered(answered.answers[begin:end], share))
            begin = end
        return outcomes

    def _answer_alone(self, job: Job) -> Outcome:
        try:
            return self._answer(job.inputs, job.options)
        except UnicodeError:
            return RequestError("the text holds half of a surrogate pair, which is no character")
        except Exception as error:
            return error
