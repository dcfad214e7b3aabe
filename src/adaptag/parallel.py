"""Work on several cores: how many threads, and results in the order of the work."""

from __future__ import annotations

import math
from collections import deque
from numbers import Integral
from typing import TYPE_CHECKING, TypeVar

from adaptag._native import cores
from adaptag.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future
    from typing import IO

__all__ = ["MOST_THREADS", "PART", "ordered_map", "part_size", "threads_for", "write_ordered"]

# What is worth a thread, which takes a tenth of a millisecond to start.
TOKENS = 2_000
SENTENCES = 100
BYTES = 1 << 16
MOST_THREADS = 4096
PART = 1 << 20  # bytes of a file that are worked on at a time, at most
AHEAD = 2  # results that may wait for their turn, in addition to those in work

T = TypeVar("T")
R = TypeVar("R")
S = TypeVar("S")


def threads_for(
    requested: int | None,
    *,
    tokens: float = math.inf,
    sentences: float = math.inf,
    size: float = math.inf,
) -> int:
    """The number of threads to use, at most as many as the work is worth.

    Args:
        requested: The most to use; None means one for each core that the process may use.
        tokens: How many tokens there are to work on,
        sentences: or how many sentences,
        size: or how many bytes.
    """
    if requested is not None and not (
        isinstance(requested, Integral) and 1 <= requested <= MOST_THREADS
    ):
        raise ParameterError(f"threads is {requested!r}; allowed: 1 to {MOST_THREADS:,}")
    worth = min(tokens / TOKENS, sentences / SENTENCES, size / BYTES)
    if worth < 2:  # without asking the system for the cores
        return 1
    return int(min(requested or cores(), worth))


def part_size(size: int | None, threads: int | None) -> int:
    """How many bytes of a file to work on at a time: some parts for each thread.

    Args:
        size: The size of the file; None if it is not known.
        threads: The number of threads; None means one per core.
    """
    parts = 4 * threads_for(threads)
    return PART if size is None else max(BYTES, min(PART, size // parts))


def ordered_map(
    function: Callable[[T], R], items: Iterable[T | None], threads: int
) -> Iterator[R | None]:
    """Call a function with each item, in several threads, and give the results in order.

    A few items are in work or wait for their turn at any time, whatever their number. What the
    function raises is raised in the place of its result; work that was not begun by then, or when
    the caller stops, is dropped.

    Args:
        function: The function; it should release the GIL during most of its work.
        items: The items. None means that the next one may be long in coming: the results of all
            items before it are given, then None.
        threads: The number of threads. With one, items are worked on in this thread, one by one.
    """
    if threads == 1:
        for item in items:
            yield None if item is None else function(item)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        pending: deque[Future[R]] = deque()
        try:
            for item in items:
                if item is not None:
                    pending.append(pool.submit(function, item))
                while len(pending) >= (1 if item is None else threads + AHEAD):
                    yield pending.popleft().result()
                if item is None:
                    yield None
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def write_ordered(
    out: IO[bytes],
    function: Callable[[T], tuple[bytes, S]],
    parts: Iterable[T | None],
    threads: int | None,
    advance: Callable[[S], object] = lambda _: None,
) -> bool:
    """Write what a function makes of each part, computed on several cores, in the order of parts.

    Where the next part may be long in coming, all that was computed is written out.

    Args:
        out: The file to write.
        function: A function that returns the output for a part, and the size of the part.
        parts: The parts, with None before one that may be long in coming.
        threads: The number of threads; None means one per core.
        advance: A function that is told the size of each part that is finished.

    Returns:
        Whether there was any output.
    """
    any_output = False
    for result in ordered_map(function, parts, threads_for(threads)):
        if result is None:
            out.flush()
            continue
        output, size = result
        out.write(output)
        any_output = any_output or bool(output)
        advance(size)
    return any_output
