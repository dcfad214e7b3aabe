"""A linear chain as the core decodes it: its labels, parts of them, or copies of its states."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from adaptag._native import core
from adaptag.corpus.schemes import Expansion
from adaptag.corpus.transitions import scheme_transitions
from adaptag.errors import AdaptagError
from adaptag.model.compact_index import CompactIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from adaptag.corpus.chunks import ChunkScheme
    from adaptag.decoding.output import SchemeOutput
    from adaptag.features.index import Encoded, FeatureIndex

__all__ = ["ChainCore"]


@dataclass(frozen=True, eq=False)
class ChainCore:
    """What decoders of a model share; the attributes are those of the model.

    It does not refer to the model, whose memory is so freed without the garbage collector.

    Attributes:
        layout: The layout of the weights.
        weights: The weights.
        index: The feature index.
        states: The labels that the model was trained with, Y of them.
        legal: The transitions that are possible between them, or None.
        temperature: What scores are divided by.
        scheme: The labels that are given, Z of them, and what they mean as chunks.
        label_scheme: The name of their scheme, or None.
        output: How labels are made of the states; None where they are the same.
    """

    layout: core.Layout
    weights: NDArray[np.float32]
    index: FeatureIndex
    states: tuple[str, ...]
    legal: NDArray[np.uint8] | None
    temperature: float
    scheme: ChunkScheme
    label_scheme: str | None
    output: SchemeOutput | None

    @cached_property
    def label_decoder(self) -> core.Decoder:
        """Finds labels."""
        decoder = self._state_decoder()
        return decoder if self.output is None else self.output.prepare(decoder)

    @cached_property
    def part_decoder(self) -> core.Decoder:
        """Finds states, or the parts of them that are written as one label each."""
        decoder = self._state_decoder()
        return decoder if self.output is None else self.output.split(decoder)

    def copy_decoder(self, state_of: NDArray[np.int32]) -> core.Decoder:
        """A decoder of copies of these states."""
        decoder = self._state_decoder()
        if not np.array_equal(state_of, np.arange(len(self.states))):
            decoder.split(state_of)
        return decoder

    def token_decoder(self, transitions: NDArray[np.uint8] | None) -> core.Decoder:
        """Finds the labels of lists of tokens, which need not be encoded, by these transitions."""
        if transitions is self.legal or self.output is not None:
            return self.label_decoder
        return self._state_decoder(transitions)

    def _state_decoder(self, transitions: NDArray[np.uint8] | None = None) -> core.Decoder:
        names, legal = list(self.states), self.legal if transitions is None else transitions
        if isinstance(self.index, CompactIndex):
            return core.Decoder(self.layout, self.index.native, names, legal, self.temperature)
        return core.Decoder(
            self.layout, self.weights, self.index.native, names, legal, self.temperature
        )

    def data(self, encoded: Encoded, states: NDArray[np.int32] | None = None) -> core.Dataset:
        """The core's view of encoded sentences, with the states of their tokens or None."""
        return core.Dataset(
            self.layout,
            encoded.sentences,
            encoded.positions,
            encoded.predicates,
            encoded.values,
            states,
        )

    def check_chunks(self) -> None:
        """Raise where labels mark no chunks."""
        if not self.scheme.chunked:
            raise AdaptagError(
                "the labels do not mark chunks (B-X, I-X, …), so there are no segments"
            )

    def transitions(self, legal: str | None) -> NDArray[np.uint8] | None:
        """The transitions between states under a label scheme; None means all."""
        if legal is None:
            return self.legal
        table = scheme_transitions(legal, self.scheme.labels, self.label_scheme)
        if self.output is not None:
            return self.legal  # which allows what the scheme does
        return table if self.legal is None else table & self.legal

    def parts(self, transitions: NDArray[np.uint8] | None) -> Expansion:
        """The parts of the labels, with the transitions between them."""
        if self.output is not None:
            return self.output.parts
        n = len(self.states)
        every = np.arange(n, dtype=np.int32)
        if transitions is None:
            transitions = np.ones((n + 1, n + 1), np.uint8)
        return Expansion(every, every, transitions)
