"""What the labels of a label set mean as chunks, under the rules of conlleval."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.corpus.settings import SCHEMES
from adaptag.errors import ParameterError, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.label_windows import LabelWindows

__all__ = ["ChunkScheme", "LabelScheme", "role_of"]

_ROLES = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S", "M": "I"}
"""What a prefix means: L and U are the E and S of BILOU, M is the I of BMES."""


def role_of(label: str) -> str:
    """B, I, E, S or O, or ``?`` if ``label`` is no chunk label."""
    return "O" if label == "O" else _ROLES.get(label.partition("-")[0], "?")


class ChunkScheme:
    """The chunks that sequences over ``labels`` spell.

    A label is a prefix and, after the first ``-``, a type; without ``-`` the type is empty. All
    rules follow from one: a chunk **continues** from one label to the next if the first leaves it
    open (B, I), the second continues it (I, E) and the types agree. So any sequence, well-formed
    or not, has its chunks, and IOB1, IOB2, IOE1, IOE2 and BIOES need not be distinguished.

    Attributes:
        labels: The label set; ``Y`` is its size, and index ``Y`` is the outside of a sentence.
        chunked: Whether the labels mark chunks: most of them, without ``O``, are chunk labels.
            The others count as ``O`` then. If false (part-of-speech tags, say), no label is part
            of a chunk.
        types: The chunk types, sorted.
        other_labels: The labels that are no chunk labels.
        type_of: ``int32 [Y]``, the type of each label, -1 for none.
    """

    def __init__(self, labels: Sequence[str], *, chunked: bool | None = None) -> None:
        """Read the labels; ``chunked`` says whether they mark chunks; None means most do."""
        self.labels = tuple(labels)
        roles = [role_of(label) for label in self.labels]
        n_chunk_labels = sum(role not in "O?" for role in roles)
        most = 2 * n_chunk_labels > len(roles) - roles.count("O")
        self.chunked = most if chunked is None else chunked and n_chunk_labels > 0
        self.other_labels = tuple(
            label for label, role in zip(self.labels, roles, strict=True) if role == "?"
        )
        roles = [role if self.chunked and role != "?" else "O" for role in roles]
        self._roles = roles

        names = [
            None if role == "O" else label.partition("-")[2]
            for label, role in zip(self.labels, roles, strict=True)
        ]
        self.types = tuple(sorted({name for name in names if name is not None}))
        index = {name: i for i, name in enumerate(self.types)}
        self.type_of = np.array([-1 if n is None else index[n] for n in names], dtype=np.int32)

        self._of = np.append(self.type_of, -1)
        self._open = np.isin([*roles, "O"], ["B", "I"])
        self._continues = np.isin([*roles, "O"], ["I", "E"])

    # Tables of all pairs of labels are made when they are needed: there may be thousands of labels.

    @cached_property
    def _goes_on(self) -> NDArray[np.bool_]:
        table: NDArray[np.bool_] = (
            self._open[:, None] & self._continues & (self._of[:, None] == self._of)
        )
        return table

    @cached_property
    def starts(self) -> NDArray[np.bool_]:
        """Whether a chunk starts at the second label after the first, ``[Y + 1, Y + 1]``."""
        return (self._of >= 0) & ~self._goes_on

    @cached_property
    def ends(self) -> NDArray[np.bool_]:
        """Whether the chunk of the first label ends before the second, ``[Y + 1, Y + 1]``."""
        return (self._of >= 0)[:, None] & ~self._goes_on

    def spans(
        self, label_ids: NDArray[np.integer[Any]], sentence_offsets: NDArray[np.integer[Any]]
    ) -> NDArray[np.int64]:
        """Find the chunks of a corpus, in order.

        Args:
            label_ids: The labels of all tokens, sentence after sentence.
            sentence_offsets: ``[N+1]``, where each sentence starts, then the number of tokens.

        Returns:
            ``int64 [n, 3]``: first position, position after the last, type index.
        """
        if not self.types:
            return np.empty((0, 3), np.int64)
        outside = len(self.labels)
        left, right = np.append(outside, label_ids), np.append(label_ids, outside)
        border = np.zeros(left.shape, dtype=bool)
        border[sentence_offsets] = True
        (first,) = self.starts[np.where(border, outside, left), right].nonzero()
        (stop,) = self.ends[left, np.where(border, outside, right)].nonzero()
        # Every chunk that starts ends before the next starts, so the k-th start has the k-th end.
        return np.stack([first, stop, self.type_of[label_ids[first]]], axis=1, dtype=np.int64)

    def legal(self, scheme: str) -> NDArray[np.bool_]:
        """Find which label may follow which in a well-formed sequence.

        Args:
            scheme: One of ``SCHEMES``.

        Returns:
            ``bool [Y+1, Y+1]``; row ``Y`` is the start of a sentence, column ``Y`` its end.

        Raises:
            ParameterError: The scheme is unknown or cannot hold one of the labels.
        """
        if scheme not in SCHEMES:
            raise ParameterError(unknown("label scheme", scheme, SCHEMES))
        if not self.chunked:
            raise ParameterError("the labels mark no chunks (B-X, I-X, …): they have no scheme")
        prefixes = [prefix for prefix, role in _ROLES.items() if role in SCHEMES[scheme]]
        for label, role in zip(self.labels, self._roles, strict=True):
            if role not in SCHEMES[scheme]:
                raise ParameterError(
                    f"label {label!r} does not fit scheme {scheme!r}; "
                    f"allowed: O and labels with one of the prefixes {', '.join(prefixes)}"
                )
        if scheme == "bioes" and self._open.any() and not {"E", "S"} & set(self._roles):
            raise ParameterError(
                "no label has a prefix E or S, as in scheme 'bioes'; allowed: iob2"
            )
        bound = {
            "iob1": np.isin([*self._roles, "O"], ["B"]) & ~self._follows_same_type(),
            "iob2": self._continues & ~self._goes_on,
            "ioe2": self._open[:, None] & ~self._goes_on,
            "bioes": (self._open[:, None] | self._continues) & ~self._goes_on,
        }[scheme]
        legal: NDArray[np.bool_] = ~bound
        return legal

    def _follows_same_type(self) -> NDArray[np.bool_]:
        """Whether the first label leaves a chunk of the second one's type open, ``[Y+1, Y+1]``."""
        types = np.append(self.type_of, -1)
        same: NDArray[np.bool_] = self._open[:, None] & (types[:, None] == types) & (types >= 0)
        return same


@dataclass
class LabelScheme:
    """Finds out which scheme the labels of training data follow.

    Attributes:
        fresh_b: Chunks that begin with B though none of their type is open before.
        fresh_i: Chunks that begin with I.
    """

    fresh_b: int = 0
    fresh_i: int = 0

    def count(self, windows: LabelWindows) -> LabelScheme:
        """Count how the chunks of some sentences begin; labels that are not known are skipped."""
        scheme = ChunkScheme(windows.names)
        if not scheme.chunked:
            return self
        outside = len(scheme.labels)
        before, ids, _ = (np.where(side < 0, outside, side) for side in windows.contexts)
        roles = np.array([*scheme._roles, "O"])
        fresh = scheme.starts[before, ids] & ~scheme._follows_same_type()[before, ids]
        self.fresh_b += int(windows.counts[fresh & (roles[ids] == "B")].sum())
        self.fresh_i += int(windows.counts[fresh & (roles[ids] == "I")].sum())
        return self

    def name(self, labels: Sequence[str]) -> str | None:
        """The scheme; None where the labels mark no chunks."""
        scheme = ChunkScheme(labels)
        roles = set(scheme._roles)
        if not scheme.chunked:
            return None
        if roles & {"E", "S"}:
            return "bioes" if roles & {"B", "S"} else "ioe2"
        return "iob1" if self.fresh_i > self.fresh_b else "iob2"
