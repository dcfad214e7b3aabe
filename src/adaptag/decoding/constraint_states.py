"""Constraints on a label set: tables of label pairs, and an automaton that counts.

Forbidden and required pairs are a table of transitions. The other constraints are rules that count
which names have begun. An automaton follows them; a label sequence satisfies them if the automaton
takes it from its first state to a final one. The product of labels and automaton is a chain again,
so the decoder of the model decodes it exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from adaptag.corpus.schemes import Expansion
from adaptag.decoding.constraint_automaton import (
    BETWEEN,
    DEAD,
    LEAST,
    MOST,
    ORDER,
    Rule,
    make_automaton,
    too_many,
)
from adaptag.decoding.constraints import EVERY
from adaptag.errors import ParameterError, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.chunks import ChunkScheme
    from adaptag.decoding.constraints import Constraints

__all__ = ["MAX_STATES", "Branch", "LabelRules", "Product"]

MAX_STATES = 1024  # of a product: each token costs time and memory with their square
OUTSIDE = "O"


@dataclass(frozen=True)
class Branch:
    """A part of the label sequences of one sentence.

    Attributes:
        excluded: A name, and tokens at which it does not begin.
        required: A name, and the token at which it begins, if there is one.
    """

    excluded: tuple[int, slice]
    required: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Product:
    """Copies of parts of labels, each with a state of the automaton, P of them.

    Attributes:
        copies: The chain that is decoded.
        begun: Whether a name begins at a token with this copy, bool ``[P, items]``.
    """

    copies: Expansion
    begun: NDArray[np.bool_]


class LabelRules:
    """Constraints on the labels of a model, Z of them.

    Attributes:
        pairs: The transitions that pairs leave, bool ``[Z + 1, Z + 1]``.
        rules: The constraints that count.
        begins: For each counted name whether it begins at the second label after the first, bool
            ``[items, Z + 1, Z + 1]``.
        fixed: For the numbers of tokens the labels that are allowed, bool ``[Z]``.
    """

    def __init__(self, constraints: Constraints, scheme: ChunkScheme) -> None:
        """Look up the names; raise where there is no such label or type."""
        self.scheme = scheme
        self._items: dict[str, int] = {}
        self.rules = self._rules(constraints)
        self.pairs = self._pairs(constraints)
        z = len(scheme.labels)
        begins = [self._begins(name) for name in self._items]
        self.begins = np.stack(begins) if begins else np.zeros((0, z + 1, z + 1), bool)
        self.fixed: list[tuple[int, NDArray[np.bool_]]] = [
            (token, np.any([self._labels(n, f"fixed, token {token}") for n in names], axis=0))
            if names
            else (token, np.zeros(z, bool))
            for token, names in constraints.fixed
        ]

    def _rules(self, constraints: Constraints) -> tuple[Rule, ...]:
        rules: list[Rule] = []
        for kind in (LEAST, MOST):
            names = self._every(getattr(constraints, kind))
            rules += [Rule(kind, (self._item(name, kind),)) for name in names]
        for separator, names in constraints.at_most_once_between:
            item = self._item(separator, BETWEEN)
            every = [name for name in self._every(names) if name != separator]
            rules += [Rule(BETWEEN, (self._item(name, BETWEEN), item)) for name in every]
        for order in constraints.order:
            rules += [Rule(ORDER, tuple(self._item(name, ORDER) for name in order))]
        return tuple(dict.fromkeys(rules))

    def _every(self, names: Sequence[str]) -> list[str]:
        found = []
        for name in names:
            if name != EVERY or EVERY in self.scheme.labels:
                found.append(name)
            elif self.scheme.chunked:
                found.extend(self.scheme.types)
            else:
                found.extend(label for label in self.scheme.labels if label != OUTSIDE)
        return found

    def _item(self, name: str, where: str) -> int:
        self._check(name, where)
        return self._items.setdefault(name, len(self._items))

    def _check(self, name: str, where: str) -> None:
        known = {*self.scheme.labels, *self.scheme.types}
        if name not in known:
            raise ParameterError(f"constraints, {where}: {unknown('label or type', name, known)}")

    def _is_label(self, name: str) -> bool:
        return name in self.scheme.labels

    def _labels(self, name: str, where: str) -> NDArray[np.bool_]:
        """Which labels a name stands for, ``[Z]``."""
        self._check(name, where)
        if self._is_label(name):
            return np.array([label == name for label in self.scheme.labels])
        found: NDArray[np.bool_] = self.scheme.type_of == self.scheme.types.index(name)
        return found

    def _begins(self, name: str) -> NDArray[np.bool_]:
        """Whether a span begins at the second label after the first, ``[Z + 1, Z + 1]``."""
        on: NDArray[np.bool_] = np.append(self._labels(name, ""), False)
        if not self._is_label(name):
            return self.scheme.starts & on
        return self._tokens(on) if self._single(on) else ~on[:, None] & on

    def _ends(self, name: str) -> NDArray[np.bool_]:
        """Whether a span of the first label ends before the second."""
        on: NDArray[np.bool_] = np.append(self._labels(name, ""), False)
        if not self._is_label(name):
            return self.scheme.ends & on[:, None]
        return self._tokens(on).T if self._single(on) else on[:, None] & ~on

    def _single(self, on: NDArray[np.bool_]) -> bool:
        """Whether a label is a chunk label, which stands for single tokens."""
        return bool(self.scheme.type_of[on[:-1]].max() >= 0)

    @staticmethod
    def _tokens(on: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.broadcast_to(on, (len(on), len(on)))

    def _side(self, name: str | None, where: str, *, first: bool) -> NDArray[np.bool_]:
        """Whether a name stands on one side of a transition, ``[Z + 1, Z + 1]``."""
        z = len(self.scheme.labels)
        on = np.arange(z + 1) == z
        if name is not None:
            self._check(name, where)
            if not self._is_label(name):
                return self._ends(name) if first else self._begins(name)
            on = np.append(self._labels(name, where), False)
        return self._tokens(on).T if first else self._tokens(on)

    def _pairs(self, constraints: Constraints) -> NDArray[np.bool_]:
        z = len(self.scheme.labels)
        allowed = np.ones((z + 1, z + 1), bool)
        for left, right in constraints.forbidden_pairs:
            where = "forbidden_pairs"
            allowed &= ~(
                self._side(left, where, first=True) & self._side(right, where, first=False)
            )
        for name, others in constraints.followed_by:
            self._check(name, "followed_by")
            after = [self._side(other, "followed_by", first=False) for other in others]
            allowed &= ~self._ends(name) | np.any([np.zeros_like(allowed), *after], axis=0)
        for name, others in constraints.preceded_by:
            self._check(name, "preceded_by")
            before = [self._side(other, "preceded_by", first=True) for other in others]
            allowed &= ~self._begins(name) | np.any([np.zeros_like(allowed), *before], axis=0)
        return allowed

    def violations(self, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rules the label sequences of sentences break, ``[N, rules]``; empty ones none."""
        n, z = len(offsets) - 1, len(self.scheme.labels)
        if not self.rules:
            return np.zeros((n, 0), bool)
        lengths = np.diff(offsets)
        sentence = np.repeat(np.arange(n), lengths)
        previous = np.append(z, ids[:-1])[: len(ids)]
        previous[offsets[:-1][lengths > 0]] = z
        begun = self.begins[:, previous, ids]  # [items, T]
        broken = np.zeros((n, len(self.rules)), bool)
        for number, rule in enumerate(self.rules):
            if rule.kind == ORDER:
                rank, where, _ = self._ranked(rule, begun, sentence)
                wrong = (rank[1:] < rank[:-1]) & (where[1:] == where[:-1])
                broken[where[1:][wrong], number] = True
            elif rule.kind == BETWEEN:
                token = _repeated(begun[rule.items[0]], begun[rule.items[1]], sentence)[:, 1]
                broken[sentence[token], number] = True
            else:
                counts = np.bincount(sentence[begun[rule.items[0]]], minlength=n)
                broken[:, number] = counts > 1 if rule.kind == MOST else counts < 1
        return broken & (lengths > 0)[:, None]

    @staticmethod
    def _ranked(
        rule: Rule, begun: NDArray[np.bool_], sentence: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The ranks of the names of an order as they begin, their sentences and their tokens."""
        rank, token = begun[list(rule.items)].nonzero()
        by_token = np.lexsort((rank, token))
        rank, token = rank[by_token], token[by_token]
        return rank, sentence[token], token

    def branches(self, number: int, ids: NDArray[np.int32]) -> list[Branch]:
        """Divide the label sequences of a sentence whose labels break a rule.

        Returns:
            Parts of the label sequences. Each sequence that satisfies the rule is in one of them,
            and the given one is in none.
        """
        rule, length = self.rules[number], len(ids)
        begun = self.begins[:, np.append(len(self.scheme.labels), ids[:-1]), ids]
        item, one = rule.items[0], np.zeros(length, np.int64)
        if rule.kind == LEAST:  # it first begins here
            return [Branch((item, slice(0, t)), (item, t)) for t in range(length)]
        if rule.kind == ORDER:
            rank, _, token = self._ranked(rule, begun, one)
            i = int((rank[1:] < rank[:-1]).argmax())
            return [
                Branch((rule.items[rank[i]], slice(0, int(token[i]) + 1))),
                Branch((rule.items[rank[i + 1]], slice(int(token[i + 1]), None))),
            ]
        if rule.kind == MOST:
            second = int(begun[item].nonzero()[0][1])
            return [Branch((item, slice(second, None))), Branch((item, slice(0, second)))]
        separator = rule.items[1]
        first, second = _repeated(begun[item], begun[separator], one)[0].tolist()
        return [
            Branch((item, slice(first, first + 1))),
            Branch((item, slice(second, second + 1))),
            *(  # the separator first begins here
                Branch((separator, slice(first + 1, t)), (separator, t))
                for t in range(first + 1, second + 1)
            ),
        ]

    def product(
        self,
        parts: Expansion,
        active: frozenset[int],
        *,
        shown: bool = False,
        limit: int = MAX_STATES,
    ) -> Product:
        """Make the product of parts of labels with the automaton of some rules.

        Args:
            parts: The parts; their transitions already satisfy the pairs.
            active: The numbers of the rules.
            shown: Whether copies also tell which names begin, and where chunks start: the last item
                of ``begun``.
            limit: How many copies there may be.
        """
        counted = sorted({item for number in active for item in self.rules[number].items})
        tables = self.begins[counted]
        if shown:
            tables = np.concatenate([self.begins, self.scheme.starts[None]])
        r, z = len(parts.label_of), len(self.scheme.labels)
        if not len(tables):
            tables = np.zeros((1, z + 1, z + 1), bool)  # nothing ever begins
        outputs = np.append(parts.output_of, z)
        codes = np.zeros((r + 1, r + 1), np.int64)
        for table in tables[:, outputs][:, :, outputs]:
            codes = 2 * np.unique(codes, return_inverse=True)[1].reshape(codes.shape) + table
        _, first, code = np.unique(codes, return_index=True, return_inverse=True)
        code = code.reshape(codes.shape)
        before, after = np.unravel_index(first, codes.shape)
        events = tables[:, outputs[before], outputs[after]].T  # [E, tables]
        items = range(len(self.begins)) if shown else counted
        begun = [frozenset(i for i, on in zip(items, row, strict=False) if on) for row in events]
        rules = [self.rules[number] for number in sorted(active)]
        step, final = make_automaton(rules, begun, limit)
        legal = parts.legal.astype(bool)
        occurs = np.zeros((r, len(events)), bool)
        before, after = legal[:, :r].nonzero()
        occurs[after, code[before, after]] = True
        reached = np.zeros((len(events), len(step)), bool)
        where_from, event = (step != DEAD).nonzero()
        reached[event, step[where_from, event]] = True
        part, event, state = (occurs[:, :, None] & reached).nonzero()
        if len(part) > 4 * limit:
            raise too_many(len(part), limit)
        rows, row_states = np.append(part, r), np.append(state, 0)
        table = legal[np.ix_(rows, rows)]
        table[:, :-1] &= code[np.ix_(rows, part)] == event
        table[:, :-1] &= step[np.ix_(row_states, event)] == state
        table[:-1, -1] &= final[state]
        table[-1, -1] = False
        kept = _useful(table)
        if kept.sum() > limit:
            raise too_many(int(kept.sum()), limit)
        rows = np.append(kept.nonzero()[0], len(part))
        event, part_of = event[kept], part[kept].astype(np.int32)
        copies = Expansion(
            np.ascontiguousarray(parts.label_of[part_of]),
            parts.output_of[part_of],
            np.ascontiguousarray(table[np.ix_(rows, rows)].astype(np.uint8)),
        )
        return Product(copies, events[event])


def _repeated(
    name: NDArray[np.bool_], separator: NDArray[np.bool_], sentence: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Pairs of tokens, ``[n, 2]``, at which a name begins with no separator after the first."""
    token = name.nonzero()[0]
    parts = separator.cumsum()[token]
    same = (parts[1:] == parts[:-1]) & (sentence[token[1:]] == sentence[token[:-1]])
    return np.stack([token[:-1][same], token[1:][same]], axis=1)


def _useful(table: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which copies lie on a way from the start of a sentence to its end, ``[P]``."""
    inner = table[:-1, :-1]
    found = []
    for edges, ends in ((inner, table[-1, :-1]), (inner.T, table[:-1, -1])):
        reached, new = ends.copy(), ends
        while new.any():
            new = edges[new].any(axis=0) & ~reached
            reached |= new
        found.append(reached)
    useful: NDArray[np.bool_] = found[0] & found[1]
    return useful
