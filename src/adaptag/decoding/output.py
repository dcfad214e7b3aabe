"""What a model gives where it was trained with another label scheme than that of its output."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from adaptag.corpus.schemes import Expansion, LabelConversion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from adaptag._native import core

__all__ = ["SchemeOutput"]


@dataclass(frozen=True, eq=False)
class SchemeOutput:
    """Writes the states of a chain, labels of one scheme, as labels of another.

    Only sequences that follow the rules of the scheme of the states are possible. Each of them has
    one labelling in the other scheme, with the same chunks and so with the same probability.

    Attributes:
        conversion: The conversion from states to labels.
        scheme: The scheme of the states.
        legal: The transitions between states that are possible, ``[S + 1, S + 1]``.
    """

    conversion: LabelConversion
    scheme: str
    legal: NDArray[np.uint8]

    @classmethod
    def of(
        cls,
        states: Sequence[str],
        scheme: str,
        legal: NDArray[np.uint8],
        output_scheme: str,
        labels: Sequence[str],
    ) -> SchemeOutput:
        """Make the output of states in a scheme; ``labels`` are those known, which come first."""
        conversion = LabelConversion.of(states, output_scheme, labels, legal=legal)
        return cls(conversion, scheme, legal)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that are written, Z of them."""
        return self.conversion.outputs

    @cached_property
    def parts(self) -> Expansion:
        """The states, or parts of them, each of which is written as one label."""
        return self.conversion.expand(self.legal)

    @property
    def splits_states(self) -> bool:
        """Whether parts are not states."""
        return not np.array_equal(self.parts.label_of, np.arange(len(self.conversion.labels)))

    def prepare(self, decoder: core.Decoder) -> core.Decoder:
        """Have a decoder of states write labels."""
        c = self.conversion
        # Contexts that are ruled out are never written; what stands there must only be a label.
        highest = c.table.max(axis=(1, 2), keepdims=True).clip(min=0)
        table = np.where(c.table < 0, highest, c.table).astype(np.int32)
        decoder.write_as(list(c.outputs), c.before, c.after, table)
        return decoder

    def split(self, decoder: core.Decoder) -> core.Decoder:
        """Have a decoder of states work on parts of them."""
        if self.splits_states:
            decoder.split(self.parts.label_of)
        return decoder

    def sum(self, table: NDArray[np.float32]) -> NDArray[np.float32]:
        """Add up the probabilities of parts, ``[T, R]``, to those of labels, ``[T, Z]``."""
        written = np.zeros((len(self.parts.output_of), len(self.labels)), np.float32)
        written[np.arange(len(written)), self.parts.output_of] = 1
        sums: NDArray[np.float32] = table @ written
        return sums

    def states_of(self, ids: NDArray[np.int32]) -> NDArray[np.int32] | None:
        """The states of a sentence that are written as these labels; None if there are none."""
        states = self.conversion.labels
        back = LabelConversion.of(self.labels, self.scheme, states)
        offsets = np.array([0, len(ids)], np.int64)
        found = back.apply(ids, offsets)
        if (found >= len(states)).any() or not len(ids):
            return found if not len(ids) else None
        return found if np.array_equal(self.conversion.apply(found, offsets), ids) else None
