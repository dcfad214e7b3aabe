"""The automaton that counts: which names have begun so far in a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from adaptag.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "BETWEEN",
    "DEAD",
    "LEAST",
    "MOST",
    "ORDER",
    "Rule",
    "TooManyStatesError",
    "make_automaton",
    "too_many",
]

MOST, LEAST, ORDER = "at_most_once", "at_least_once", "order"
BETWEEN = "at_most_once_between"
DEAD = -1


class TooManyStatesError(ParameterError):
    """A product of labels and counted constraints is too large."""


@dataclass(frozen=True)
class Rule:
    """A constraint that counts.

    Attributes:
        kind: The field of the constraints that it comes from.
        items: The numbers of its names: one; of an order all; or one and its separator.
    """

    kind: str
    items: tuple[int, ...]


def make_automaton(
    rules: Sequence[Rule], begun: Sequence[frozenset[int]], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Make the automaton of some rules.

    Args:
        rules: The rules.
        begun: The names that begin at each event, E of them.
        limit: How many states there may be.

    Returns:
        Steps by state and event, ``[Q, E]``, −1 for none; which states are final, ``[Q]``.
    """
    first = tuple(0 for _ in rules)
    numbers, states, steps = {first: 0}, [first], []
    for state in states:  # which grows
        row = []
        for items in begun:
            after = _step(rules, state, items)
            if after is not None and after not in numbers:
                numbers[after] = len(states)
                states.append(after)
                if len(states) > limit:
                    raise too_many(len(states), limit)
            row.append(DEAD if after is None else numbers[after])
        steps.append(row)
    least = [k for k, rule in enumerate(rules) if rule.kind == LEAST]
    final = np.array([all(state[k] for k in least) for state in states])
    return np.array(steps, np.int64).reshape(len(states), len(begun)), final


def too_many(found: int, limit: int) -> TooManyStatesError:
    """The error where a product would be too large."""
    return TooManyStatesError(
        f"the constraints need at least {found:,} states; allowed: {limit:,}; each name that is "
        "counted without an order doubles them"
    )


def _step(
    rules: Sequence[Rule], state: tuple[int, ...], items: frozenset[int]
) -> tuple[int, ...] | None:
    """The state after some names begin; None if that breaks a rule."""
    after = list(state)
    passed: set[int] = set()
    for k, rule in enumerate(rules):
        if rule.kind == ORDER:
            for rank, item in enumerate(rule.items):
                if item in items:
                    if rank < after[k]:
                        return None
                    after[k] = rank
            passed.update(rule.items[: after[k]])
        elif rule.kind == BETWEEN:
            begun = 0 if rule.items[1] in items else state[k]
            if rule.items[0] in items:
                if begun:
                    return None
                begun = 1
            after[k] = begun
        elif rule.items[0] in items:
            if rule.kind == MOST and state[k]:
                return None
            after[k] = 1
    for k, rule in enumerate(rules):
        if rule.kind == MOST and rule.items[0] in passed:
            after[k] = 1  # it cannot begin any more, so it need not be known whether it has
    return tuple(after)
