"""What a target of fuzzing is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Target(NamedTuple):
    """A function of bytes that ends, or raises an ``AdaptagError``; all else is a finding.

    Attributes:
        run: The function.
        seeds: A function that makes the inputs to start from.
        mutate: A mutation that keeps the form of inputs: of an input, a ``random.Random`` and the
            mutation of plain bytes.
    """

    run: Callable[[bytes], object]
    seeds: Callable[[], list[bytes]]
    mutate: Callable[[bytes, object, Callable[[bytes], bytes]], bytes] | None = None
