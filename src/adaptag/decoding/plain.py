"""Best labels, probabilities and n-best lists without constraints."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from adaptag.corpus.chunks import ChunkScheme

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from adaptag._native import core
    from adaptag.decoding.chain_core import ChainCore
    from adaptag.features.index import Encoded

    Mask = NDArray[np.uint8]

__all__ = ["PlainDecoder"]


class PlainDecoder:
    """Decodes encoded sentences, with the same methods as ``ConstrainedDecoder``.

    In all methods ``allowed`` are the labels that tokens may have, ``[T, Z]``, or None for any.
    """

    def __init__(self, chain: ChainCore, legal: str | None) -> None:
        """Look up the transitions that are legal in a label scheme."""
        self._chain = chain
        self.transitions = chain.transitions(legal)

    @cached_property
    def token_decoder(self) -> core.Decoder:
        """Finds the labels of lists of tokens, which need not be encoded."""
        return self._chain.token_decoder(self.transitions)

    def viterbi(
        self,
        encoded: Encoded,
        allowed: Mask | None = None,
        threads: int = 1,
        place: Callable[[int], str] | None = None,  # noqa: ARG002
    ) -> NDArray[np.int32]:
        """The best label of every token, by number, ``[T]``."""
        chain, data = self._chain, self._chain.data(encoded)
        if chain.output is None or allowed is None:
            return chain.label_decoder.viterbi(data, self.transitions, allowed, threads)
        parts, mask = chain.output.parts, self._part_mask(allowed)
        return parts.output_of[chain.part_decoder.viterbi(data, parts.legal, mask, threads)]

    def marginals(
        self, encoded: Encoded, allowed: Mask | None = None, threads: int = 1
    ) -> NDArray[np.float32]:
        """The probability of every label at every token, ``[T, Z]``."""
        table = self.part_marginals(encoded, allowed, threads)
        return table if self._chain.output is None else self._chain.output.sum(table)

    def part_marginals(
        self, encoded: Encoded, allowed: Mask | None = None, threads: int = 1
    ) -> NDArray[np.float32]:
        """The probability of every part of a label, or of every label, at every token."""
        chain, data = self._chain, self._chain.data(encoded)
        if chain.output is None:
            return chain.label_decoder.marginals(data, self.transitions, allowed, threads)[0]
        mask = None if allowed is None else self._part_mask(allowed)
        return chain.part_decoder.marginals(data, chain.output.parts.legal, mask, threads)[0]

    def n_best(
        self, encoded: Encoded, n: int, allowed: Mask | None = None, threads: int = 1
    ) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """The ``n`` best labellings of each sentence, ``[k, T]``, and their log-probabilities."""
        chain, data = self._chain, self._chain.data(encoded)
        if chain.output is None or allowed is None:
            return chain.label_decoder.n_best(data, n, self.transitions, allowed, threads)
        parts, mask = chain.output.parts, self._part_mask(allowed)
        found = chain.part_decoder.n_best(data, n, parts.legal, mask, threads)
        return [(parts.output_of[paths], scores) for paths, scores in found]

    def segment_probabilities(
        self, encoded: Encoded, rows: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Of chunks given as (sentence, first token, last token, type), ``[S, 4]``."""
        chain, scheme = self._chain, self._chain.scheme
        chain.check_chunks()
        if chain.output is not None:
            scheme = ChunkScheme(chain.states, chunked=True)
            types = np.array([scheme.types.index(name) for name in chain.scheme.types], np.int64)
            rows = np.column_stack([rows[:, :3], types[rows[:, 3]]])
        return chain.label_decoder.segment_probabilities(
            chain.data(encoded),
            np.ascontiguousarray(rows),
            scheme.type_of,
            scheme.starts.astype(np.uint8),
            scheme.ends.astype(np.uint8),
            self.transitions,
        )

    def _part_mask(self, allowed: Mask) -> Mask:
        """The parts that tokens may have, of the labels that they may have."""
        assert self._chain.output is not None
        return np.ascontiguousarray(allowed[:, self._chain.output.parts.output_of])
