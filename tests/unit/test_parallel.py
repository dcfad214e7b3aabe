"""Work in several threads: results in order, few at a time, and errors in their place."""

from __future__ import annotations

import threading
import time

import pytest

from adaptag import parallel
from adaptag.errors import ParameterError
from adaptag.parallel import ordered_map, part_size, threads_for


def test_threads_are_at_most_as_many_as_the_work_is_worth(monkeypatch):
    monkeypatch.setattr(parallel, "cores", lambda: 4)
    monkeypatch.setattr(parallel, "TOKENS", 10)
    assert [threads_for(None, tokens=n) for n in (0, 9, 19, 20, 39, 40, 1000)] == [
        1, 1, 1, 2, 3, 4, 4,
    ]  # fmt: skip
    assert threads_for(8, tokens=1000) == 8
    assert threads_for(None) == 4
    with pytest.raises(ParameterError, match="threads is 0; allowed: 1 to 4,096"):
        threads_for(0, tokens=5)


def test_a_file_is_cut_into_some_parts_for_each_thread(monkeypatch):
    monkeypatch.setattr(parallel, "BYTES", 10)
    monkeypatch.setattr(parallel, "PART", 100)
    assert part_size(400, 2) == 50
    assert part_size(40, 2) == 10
    assert part_size(10_000, 2) == 100
    assert part_size(None, 2) == 100


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(threads):
    def work(n):
        time.sleep(0.002 * (n % 3))
        return n * n

    assert list(ordered_map(work, range(30), threads)) == [n * n for n in range(30)]


@pytest.mark.parametrize("threads", [1, 3])
def test_few_items_are_taken_before_their_turn(threads):
    taken = []
    results = ordered_map(lambda n: n, (taken.append(n) or n for n in range(100)), threads)
    for n, result in zip(range(50), results, strict=False):
        assert result == n
        assert len(taken) <= n + 1 + threads + parallel.AHEAD
    results.close()


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_comes_in_the_place_of_its_result(threads):
    def work(n):
        if n % 5 == 4:
            raise ValueError(n)
        return n

    results = ordered_map(work, range(100), threads)
    assert [next(results) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="4"):
        next(results)
    assert threading.active_count() == 1 or all(
        not thread.name.startswith("ThreadPool") for thread in threading.enumerate()
    )


@pytest.mark.parametrize("threads", [1, 3])
def test_all_results_come_before_an_item_that_may_take_long(threads):
    given = []

    def items():
        yield from range(4)
        yield None
        assert given == [0, 1, 2, 3, None]
        yield 4

    given.extend(ordered_map(lambda n: n, items(), threads))
    assert given == [0, 1, 2, 3, None, 4]
