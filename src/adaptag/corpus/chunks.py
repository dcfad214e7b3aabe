"""What the labels of a label set mean as chunks, under the rules of conlleval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.errors import ParameterError, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["SCHEMES", "ChunkScheme"]

SCHEMES = {"bio": "BIO", "bioes": "BIOES"}
"""The schemes that `ChunkScheme.legal` knows, each with the roles its labels may have."""

_ROLES = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S", "M": "I"}
"""What a prefix means: L and U are the E and S of BILOU, M is the I of BMES."""


def _role(label: str) -> str:
    """B, I, E, S or O, or ``?`` if ``label`` is no chunk label."""
    return "O" if label == "O" else _ROLES.get(label.partition("-")[0], "?")


class ChunkScheme:
    """The chunks that sequences over ``labels`` spell.

    A label is a prefix and, after the first ``-``, a type; without ``-`` the type is empty. All
    rules follow from one: a chunk **goes on** from one label to the next if the first leaves it
    open (B, I), the second continues it (I, E) and the types agree. So any sequence, well-formed
    or not, has its chunks, and IOB1, IOB2, IOE1, IOE2 and BIOES need no telling apart.

    Attributes:
        labels: The label set; ``Y`` is its size, and index ``Y`` is the outside of a sentence.
        chunked: Whether all labels are chunk labels and some are not ``O``; if false
            (part-of-speech tags, say) no label is part of a chunk.
        types: The chunk types, sorted.
        type_of: ``int32 [Y]``, the type of each label, -1 for none.
        starts: ``bool [Y+1, Y+1]``, whether a chunk starts at the second label after the first.
        ends: ``bool [Y+1, Y+1]``, whether the chunk of the first label ends before the second.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        roles = [_role(label) for label in self.labels]
        self.chunked = "?" not in roles and any(role != "O" for role in roles)
        if not self.chunked:
            roles = ["O"] * len(roles)

        names = [
            None if role == "O" else label.partition("-")[2]
            for label, role in zip(self.labels, roles, strict=True)
        ]
        self.types = tuple(sorted({name for name in names if name is not None}))
        index = {name: i for i, name in enumerate(self.types)}
        self.type_of = np.array([-1 if n is None else index[n] for n in names], dtype=np.int32)

        of = np.append(self.type_of, -1)
        inside = of >= 0
        self._open = np.isin([*roles, "O"], ["B", "I"])
        self._continues = np.isin([*roles, "O"], ["I", "E"])
        self._goes_on = self._open[:, None] & self._continues & (of[:, None] == of)
        self.starts: NDArray[np.bool_] = inside & ~self._goes_on
        self.ends: NDArray[np.bool_] = inside[:, None] & ~self._goes_on

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
        outside = len(self.labels)
        left, right = np.append(outside, label_ids), np.append(label_ids, outside)
        border = np.zeros(left.shape, dtype=bool)
        border[sentence_offsets] = True
        (first,) = self.starts[np.where(border, outside, left), right].nonzero()
        (stop,) = self.ends[left, np.where(border, outside, right)].nonzero()
        # Every chunk that starts ends before the next starts, so the k-th start has the k-th end.
        return np.stack([first, stop, self.type_of[label_ids[first]]], axis=1, dtype=np.int64)

    def legal(self, scheme: str) -> NDArray[np.bool_]:
        """Tell which label may follow which in a well-formed sequence.

        Args:
            scheme: ``bio`` (what continues a chunk needs one open) or ``bioes`` (and an open chunk
                must be continued).

        Returns:
            ``bool [Y+1, Y+1]``; row ``Y`` is the start of a sentence, column ``Y`` its end.

        Raises:
            ParameterError: The scheme is unknown or cannot hold one of the labels.
        """
        if scheme not in SCHEMES:
            raise ParameterError(unknown("label scheme", scheme, SCHEMES))
        prefixes = [prefix for prefix, role in _ROLES.items() if role in SCHEMES[scheme]]
        for label in self.labels:
            if _role(label) not in SCHEMES[scheme]:
                raise ParameterError(
                    f"label {label!r} does not fit scheme {scheme!r}; "
                    f"allowed: O and labels with a prefix out of {', '.join(prefixes)}"
                )
        if scheme == "bioes" and self._open.any() and not {"E", "S"} & set(map(_role, self.labels)):
            raise ParameterError("no label has a prefix E or S, as in scheme 'bioes'; allowed: bio")
        bound = self._continues if scheme == "bio" else self._open[:, None] | self._continues
        legal: NDArray[np.bool_] = self._goes_on | ~bound
        return legal
