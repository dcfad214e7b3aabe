"""Best labels, probabilities and n-best lists under constraints, exactly.

Pairs of labels only change the transitions that the decoder may take. Rules that count need a
product of labels and automaton. For the best labels it is built lazily: sentences are decoded
without the rules, those whose labels break some of them again with these, until none is broken.
Fewer rules only allow more sequences, so a best sequence that breaks none is the best of all. Where
the product would be too large, the sequences are searched best first, by branch and bound.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.corpus.offsets import items_of
from adaptag.decoding.constraint_automaton import TooManyStatesError
from adaptag.decoding.constraint_states import LabelRules
from adaptag.decoding.constraints import Constraints, described_element, elements_of
from adaptag.errors import CorpusError, ParameterError, counted
from adaptag.features.index import Encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.schemes import Expansion
    from adaptag.decoding.chain_core import ChainCore

    Place = Callable[[int], str]
    Mask = NDArray[np.uint8]
    Active = frozenset[int]
    Node = tuple[float, int, NDArray[np.int32], Mask]  # of a search: minus the score comes first

__all__ = ["ConstrainedDecoder"]

SEARCH_FROM = 64  # states of a product from which branch and bound is mostly quicker
FEW_STEPS = 4000  # of branch and bound, before it is tried with a product
MAX_STEPS = 20_000
MAX_SEARCHED = 256  # states of that product
MAX_ENGINES = 100  # that are kept
NO_RULES: Active = frozenset()


@dataclass(frozen=True)
class _Engine:
    """A decoder of copies of labels."""

    decoder: core.Decoder
    copies: Expansion
    begun: NDArray[np.bool_]

    def mask(self, allowed: Mask | None) -> Mask | None:
        if allowed is None:
            return None
        return np.ascontiguousarray(allowed[:, self.copies.output_of])


class ConstrainedDecoder:
    """Decodes encoded sentences under constraints.

    In all methods ``allowed`` are the labels that tokens may have, ``[T, Z]``, or None for any.
    """

    def __init__(self, chain: ChainCore, legal: str | None, constraints: Constraints) -> None:
        """Look up the names of the constraints."""
        self._chain, self._legal, self._constraints = chain, legal, constraints
        self.rules = LabelRules(constraints, chain.scheme)
        parts = chain.parts(chain.transitions(legal))
        outputs = np.append(parts.output_of, len(chain.scheme.labels))
        allowed = parts.legal & self.rules.pairs[np.ix_(outputs, outputs)]
        self.parts = replace(parts, legal=np.ascontiguousarray(allowed.astype(np.uint8)))
        self._all = frozenset(range(len(self.rules.rules)))
        self._engines: dict[tuple[Active, bool], _Engine] = {}

    @property
    def transitions(self) -> NDArray[np.uint8]:
        """The transitions between parts of labels that pairs of them leave."""
        return self.parts.legal

    @cached_property
    def token_decoder(self) -> core.Decoder | None:
        """Finds the labels of lists of tokens; None where transitions are not all that counts."""
        if self.rules.rules or self.rules.fixed or self._chain.output is not None:
            return None
        return self._chain.token_decoder(self.transitions)

    # ---- best labels ---------------------------------------------------------------------------

    def viterbi(
        self,
        encoded: Encoded,
        allowed: Mask | None = None,
        threads: int = 1,
        place: Place | None = None,
    ) -> NDArray[np.int32]:
        """The best label of every token, by number, ``[T]``; ``place`` names a sentence."""
        mask = self._fix(allowed, encoded.sentences, place)
        try:
            return self._viterbi(encoded, mask, threads)
        except core.NoPathError:
            raise self._contradiction(encoded, allowed, place) from None

    def is_satisfied(
        self, ids: NDArray[np.int32], sentences: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Whether the labels of sentences break no rule that counts, ``[N]``."""
        return np.logical_not(self.rules.violations(ids, sentences).any(axis=1))

    def _viterbi(self, encoded: Encoded, mask: Mask | None, threads: int) -> NDArray[np.int32]:
        ids = self._best(self._engine(NO_RULES), encoded, mask, threads)
        active: dict[int, Active] = defaultdict(frozenset)
        while True:
            broken = self.rules.violations(ids, encoded.sentences)
            groups: dict[Active, list[int]] = defaultdict(list)
            for i in broken.any(axis=1).nonzero()[0].tolist():
                rules = active[i] | frozenset(broken[i].nonzero()[0].tolist())
                assert rules != active[i], "a rule is broken by a decoder that counts it"
                active[i] = rules
                groups[rules].append(i)
            if not groups:
                return ids
            for rules, members in groups.items():
                some, tokens = _select(encoded, members)
                part = None if mask is None else mask[tokens]
                ids[tokens] = self._best_under(rules, some, part, threads)

    def _best_under(
        self, rules: Active, encoded: Encoded, mask: Mask | None, threads: int
    ) -> NDArray[np.int32]:
        try:
            engine = self._engine(rules, limit=SEARCH_FROM)
        except TooManyStatesError:
            found = []
            for i in range(len(encoded.sentences) - 1):
                one, tokens = _select(encoded, [i])
                found.append(self._search(rules, one, None if mask is None else mask[tokens]))
            return np.concatenate(found)
        return self._best(engine, encoded, mask, threads)

    def _best(
        self, engine: _Engine, encoded: Encoded, mask: Mask | None, threads: int
    ) -> NDArray[np.int32]:
        data, allowed = self._chain.data(encoded), engine.mask(mask)
        paths = engine.decoder.viterbi(data, engine.copies.legal, allowed, threads)
        return engine.copies.output_of[paths]

    def _search(self, rules: Active, encoded: Encoded, mask: Mask | None) -> NDArray[np.int32]:
        """The best labels of one sentence, by branch and bound; the rules are those to count."""
        found = self._branch_and_bound(self._engine(NO_RULES, shown=True), encoded, mask, FEW_STEPS)
        if found is None:
            found = self._branch_and_bound(self._largest(rules), encoded, mask, MAX_STEPS)
        if found is None:
            raise ParameterError(
                f"the constraints break too often in a sentence of {len(encoded.positions) - 1} "
                f"tokens: no best labels after {MAX_STEPS:,} steps; allowed: fewer names to count"
            )
        return found

    def _branch_and_bound(
        self, engine: _Engine, encoded: Encoded, mask: Mask | None, steps: int
    ) -> NDArray[np.int32] | None:
        """The best labels of one sentence; None if they are not found in some steps."""
        data, outputs = self._chain.data(encoded), engine.copies.output_of
        n_tokens = len(encoded.positions) - 1
        root = engine.mask(mask)
        if root is None:
            root = np.ones((n_tokens, len(outputs)), np.uint8)
        ends, order = np.array([0, n_tokens]), itertools.count()

        def solve(restricted: Mask) -> Node | None:
            try:
                path = engine.decoder.viterbi(data, engine.copies.legal, restricted)
            except core.NoPathError:
                return None
            # Without constraints, so that all are divided by the same sum.
            labelled = self._chain.data(encoded, engine.copies.label_of[path])
            score = float(self._plain.log_probabilities(labelled, None)[0])
            return -score, next(order), outputs[path], restricted

        queue = [node for node in [solve(root)] if node is not None]
        while queue:
            _, _, ids, restricted = heapq.heappop(queue)
            broken = self.rules.violations(ids, ends)[0].nonzero()[0].tolist()
            if not broken:
                return ids
            if next(order) > steps:
                return None
            choices = []  # the rule that lowers the scores most makes the fewest branches
            for rule in broken:
                masks = self._branches(rule, ids, restricted, engine.begun)
                choices.append([node for node in map(solve, masks) if node is not None])
            chosen = max(choices, key=lambda nodes: min((n[0] for n in nodes), default=np.inf))
            for node in chosen:
                heapq.heappush(queue, node)
        raise core.NoPathError

    def _largest(self, rules: Active) -> _Engine:
        """The engine of as many of some rules as fit, whose copies tell what begins."""
        engine, kept = self._engine(NO_RULES, shown=True), NO_RULES
        for rule in sorted(rules):
            try:
                engine = self._engine(kept | {rule}, shown=True, limit=MAX_SEARCHED)
            except TooManyStatesError:
                break
            kept |= {rule}
        return engine

    def _branches(
        self, rule: int, ids: NDArray[np.int32], mask: Mask, begun: NDArray[np.bool_]
    ) -> list[Mask]:
        """Restrictions, one of which holds for each sequence that satisfies the rule."""
        children = []
        for branch in self.rules.branches(rule, ids):
            child = mask.copy()
            item, tokens = branch.excluded
            child[tokens, begun[:, item]] = 0
            if branch.required is not None:
                item, token = branch.required
                child[token, ~begun[:, item]] = 0
            children.append(child)
        return children

    # ---- probabilities -------------------------------------------------------------------------

    def marginals(
        self, encoded: Encoded, allowed: Mask | None = None, threads: int = 1
    ) -> NDArray[np.float32]:
        """The probability of every label at every token, ``[T, Z]``."""
        mask = self._fix(allowed, encoded.sentences)
        try:
            engine = self._engine(self._all)
            table, _ = engine.decoder.marginals(
                self._chain.data(encoded), engine.copies.legal, engine.mask(mask), threads
            )
        except core.NoPathError:
            raise self._contradiction(encoded, allowed) from None
        labels = np.arange(len(self._chain.scheme.labels))
        sums: NDArray[np.float32] = table @ (engine.copies.output_of[:, None] == labels).astype(
            np.float32
        )
        return sums

    def n_best(
        self, encoded: Encoded, n: int, allowed: Mask | None = None, threads: int = 1
    ) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """The ``n`` best labellings of each sentence, ``[k, T]``, and their log-probabilities."""
        mask = self._fix(allowed, encoded.sentences)
        try:
            engine = self._engine(self._all)
            found = engine.decoder.n_best(
                self._chain.data(encoded), n, engine.copies.legal, engine.mask(mask), threads
            )
        except core.NoPathError:
            raise self._contradiction(encoded, allowed) from None
        return [(engine.copies.output_of[paths], scores) for paths, scores in found]

    def segment_probabilities(
        self, encoded: Encoded, rows: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Of possible chunks given as (sentence, first token, last token, type), ``[S, 4]``."""
        self._chain.check_chunks()
        if not len(rows):
            return np.empty(0)
        engine = self._engine(self._all, shown=True)
        some, tokens = _select(encoded, rows[:, 0])
        mask = engine.mask(self._fix(None, some.sentences))
        if mask is None:
            mask = np.ones((len(tokens), len(engine.copies.output_of)), np.uint8)
        log_z = engine.decoder.marginals(self._chain.data(some), engine.copies.legal, mask)[1]
        type_of, starts = self._chain.scheme.type_of[engine.copies.output_of], engine.begun[:, -1]
        for row, begin, end in zip(rows, some.sentences, some.sentences[1:], strict=False):
            first, last, kind = (int(n) for n in row[1:])
            mask[begin + first, ~((type_of == kind) & starts)] = 0
            mask[begin + first + 1 : begin + last + 1, ~((type_of == kind) & ~starts)] = 0
            mask[begin + last + 1 : min(begin + last + 2, end), (type_of == kind) & ~starts] = 0
        with_chunk = engine.decoder.marginals(self._chain.data(some), engine.copies.legal, mask)[1]
        return np.exp(np.minimum(with_chunk - log_z, 0))

    # ---- what all share ------------------------------------------------------------------------

    def _engine(self, active: Active, *, shown: bool = False, limit: int | None = None) -> _Engine:
        """The decoder under some rules; see ``LabelRules.product``."""
        key = (active, shown)
        engine = self._engines.get(key)
        if engine is None:
            engine = self._make(active, shown, {} if limit is None else {"limit": limit})
            if len(self._engines) >= MAX_ENGINES:
                self._engines = {}
            self._engines[key] = engine
        return engine

    def _make(self, active: Active, shown: bool, limits: dict[str, int]) -> _Engine:
        parts = self.parts
        if not active and not shown:
            decoder = self._chain.copy_decoder(parts.label_of)
            return _Engine(decoder, parts, np.zeros((len(parts.label_of), 0), bool))
        product = self.rules.product(parts, active, shown=shown, **limits)
        if not len(product.begun):
            raise core.NoPathError
        copies = product.copies
        return _Engine(self._chain.copy_decoder(copies.label_of), copies, product.begun)

    @cached_property
    def _plain(self) -> core.Decoder:
        """The decoder of the states themselves."""
        return self._chain.copy_decoder(np.arange(len(self._chain.states), dtype=np.int32))

    def _fix(
        self, allowed: Mask | None, sentences: NDArray[np.int64], place: Place | None = None
    ) -> Mask | None:
        """What tokens may be, with the fixed ones."""
        if not self.rules.fixed:
            return allowed
        shape = (int(sentences[-1]), len(self._chain.scheme.labels))
        mask = np.ones(shape, np.uint8) if allowed is None else allowed.copy()
        lengths = np.diff(sentences)
        filled = lengths > 0
        for token, labels in self.rules.fixed:
            outside = filled & ((token >= lengths) | (token < -lengths))
            if outside.any():
                i = int(outside.argmax())
                raise ParameterError(
                    f"constraints, fixed: token {token}; {_where(i, place)} has "
                    f"{counted(lengths[i], 'token')}"
                )
            mask[(sentences[:-1] + token % np.maximum(lengths, 1))[filled]] &= labels
        return mask

    def _contradiction(
        self, encoded: Encoded, allowed: Mask | None, place: Place | None = None
    ) -> CorpusError:
        """The error that says for which sentence there are no labels, and why."""
        elements = elements_of(self._constraints)
        for i in range(len(encoded.sentences) - 1):
            one, tokens = _select(encoded, [i])
            part = None if allowed is None else allowed[tokens]
            if self._is_possible(elements, one, part):
                continue
            needed = elements
            for element in elements:
                fewer = [other for other in needed if other is not element]
                if not self._is_possible(fewer, one, part):
                    needed = fewer
            where = _where(i, place)
            why = (
                "; ".join(described_element(*element) for element in needed) or "legal and allowed"
            )
            return CorpusError(
                f"{where}, {counted(len(tokens), 'token')}: "
                f"no label sequence satisfies the constraints: {why}"
            )
        return CorpusError("no label sequence satisfies the constraints")

    def _is_possible(
        self, chosen: Sequence[tuple[str, Any]], encoded: Encoded, allowed: Mask | None
    ) -> bool:
        """Whether a sentence has labels under some of the constraints."""
        values: dict[str, tuple[Any, ...]] = defaultdict(tuple)
        for name, value in chosen:
            values[name] += (value,)
        decoder = ConstrainedDecoder(self._chain, self._legal, Constraints(**values))
        try:
            decoder._viterbi(encoded, decoder._fix(allowed, encoded.sentences), 1)
        except core.NoPathError:
            return False
        return True


def _select(
    encoded: Encoded, sentences: Sequence[int] | NDArray[np.int64]
) -> tuple[Encoded, NDArray[np.int64]]:
    """Some sentences, in this order, and their tokens."""
    tokens, starts = items_of(encoded.sentences, np.asarray(sentences, np.int64))
    features, positions = items_of(encoded.positions, tokens)
    values = None if encoded.values is None else encoded.values[features]
    return Encoded(starts, positions, encoded.predicates[features], values), tokens


def _where(sentence: int, place: Place | None) -> str:
    """Name a sentence in a message."""
    return f"sentence {sentence + 1}" if place is None else place(sentence)
