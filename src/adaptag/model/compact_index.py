"""The features and weights of a compact model, in one table that is tagged with directly."""

from __future__ import annotations

import itertools
import lzma
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from adaptag._native import core
from adaptag.errors import ModelError, ParameterError
from adaptag.features.index import FeatureIndex, template_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["VALUE_SIZES", "CompactIndex", "pack_names"]

KIND = "compact"
VALUE_SIZES = {"int8": 1, "float16": 2, "float32": 4}  # bytes of a weight
NO_TOKEN = 0xFFFFFFFF
NO_FEATURE = 0xFFFFFFFF
TENSORS = {"buckets": np.uint32, "rows": np.uint8}
NAMES = "names"


@dataclass(frozen=True, eq=False, repr=False)
class CompactIndex(FeatureIndex):
    """Features that are found by their hashes, each with its weights; see ``compact_table.hpp``.

    Attributes:
        tensors: The table: ``buckets`` and ``rows``; and ``names``, compressed, unless they were
            left out.
        n_labels: The number of labels.
        weights: How weights are stored: ``int8``, ``float16`` or ``float32``.
        exponent: Scores are multiples of 2 to the power of minus this.
    """

    n_labels: int = field(kw_only=True)
    weights: str = field(kw_only=True)
    exponent: int = field(kw_only=True)

    @classmethod
    def of_tables(
        cls, index: FeatureIndex, tensors: Mapping[str, NDArray[Any]], **form: Any
    ) -> CompactIndex:
        """Make an index of built tables; the numbers of features follow from them."""
        made = cls(index.template, (0, 0, 0), tensors, index.n_columns, **form)
        object.__setattr__(made, "n_of_kind", tuple(made.native.n_of_kind))
        return made

    @property
    def is_hashed(self) -> bool:
        """Whether predicates are hashes without names: here they are found by hashes only."""
        return False

    @property
    def has_names(self) -> bool:
        """Whether the names of the features were kept."""
        return NAMES in self.tensors

    @cached_property
    def native(self) -> core.CompactModel:  # type: ignore[override]
        """The core's view of the table, which checks it."""
        return core.CompactModel(
            self.template.program(),
            self.tensors["buckets"],
            self.tensors["rows"],
            self.n_labels,
            VALUE_SIZES[self.weights],
            self.exponent,
        )

    @cached_property
    def entries(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """All weights: features, previous labels (−1 for node weights), labels and values."""
        return self.native.weights(0, self.n_predicates)

    def builder(self) -> NoReturn:
        """Refuse: features that were pruned cannot be counted again."""
        raise ParameterError(
            "a compact model cannot be trained further; continue from the full model"
        )

    def grow(self, *args: Any, **options: Any) -> NoReturn:  # noqa: ARG002
        """Refuse, as ``builder`` does."""
        self.builder()

    def extends(self, other: FeatureIndex) -> bool:  # noqa: ARG002
        """Whether it has grown from another one: never."""
        return False

    def to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Header entries and tensors that hold the index in a file."""
        header, tensors = super().to_file()
        form = {"n_labels": self.n_labels, "weights": self.weights, "exponent": self.exponent}
        return header | {"kind": KIND} | form, tensors

    @classmethod
    def from_file(
        cls, header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]
    ) -> CompactIndex:
        """Rebuild an index from what ``to_file`` gave; raise where it is damaged."""
        template, columns = template_of(header)
        tables = dict(tensors)
        for name, dtype in TENSORS.items():
            if tables[name].dtype != dtype or tables[name].ndim != 1:
                raise ValueError(f"index.{name} has the wrong type or shape")
        if header["weights"] not in VALUE_SIZES:
            raise ValueError(f"weights are {header['weights']!r}")
        index = cls(
            template,
            tuple(int(n) for n in header["n_of_kind"]),  # type: ignore[arg-type]
            tables,
            columns,
            n_labels=int(header["n_labels"]),
            weights=str(header["weights"]),
            exponent=int(header["exponent"]),
        )
        if tuple(index.native.n_of_kind) != index.n_of_kind:
            raise ValueError("the number of features is not that of the table")
        return index

    def plain_edges(self) -> list[int]:
        """The predicates of label bigrams alone, without tokens, as a template's ``B`` has them."""
        skeletons = self._skeletons
        lines = [line for line in self.template.lines if line.kind == 2 and not line.macros]
        keys = np.array([[skeletons.index(line.skeleton)] for line in lines], np.uint32)
        nothing = np.zeros(0, np.uint8), np.zeros(1, np.uint32)
        found = self.native.find(core.compact_fingerprints(*nothing, keys.reshape(-1, 1)))
        return sorted({int(number) for number in found if number != NO_FEATURE})

    def name(self, predicate: int) -> str:
        """Name a predicate as CRF++ would: ``U05:New/York``; ``#17`` where names were left out."""
        if not self.has_names:
            return f"#{predicate}"
        row = self._key_of[predicate]
        if row < 0:
            return f"#{predicate}"
        tokens, keys = self._names
        skeleton, *numbers = keys[row].tolist()
        names = [tokens[number] for number in numbers if number != NO_TOKEN]
        return self.template.fill(self._skeletons[skeleton], names)

    @cached_property
    def _names(self) -> tuple[list[str], NDArray[np.uint32]]:
        """The tokens, and the key of each feature in the order of the names."""
        text, offsets, keys = unpack_names(self.tensors[NAMES])
        data = text.tobytes()
        bounds = offsets.tolist()
        tokens = [data[a:b].decode(errors="replace") for a, b in itertools.pairwise(bounds)]
        return tokens, keys

    @cached_property
    def _key_of(self) -> NDArray[np.int64]:
        """Of each predicate the row of its key, −1 where there is none."""
        rows = np.full(self.n_predicates, -1, np.int64)
        text, offsets, keys = unpack_names(self.tensors[NAMES])
        skeletons = keys[:, 0] if len(keys) else np.zeros(0, np.uint32)
        if (skeletons >= len(self._skeletons)).any():
            raise ModelError("the names of the features are damaged")
        try:
            found = self.native.find(core.compact_fingerprints(text, offsets, keys))
        except ValueError:
            raise ModelError("the names of the features are damaged") from None
        known = found != NO_FEATURE
        rows[found[known]] = np.flatnonzero(known)
        return rows


def pack_names(index: FeatureIndex, kept: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Compress the names of some predicates: their tokens, sorted, and their keys, sorted."""
    keys = index.tensors["keys"][kept]
    used = np.unique(keys[:, 1:])
    used = used[used != NO_TOKEN]
    offsets = index.tensors["vocabulary_offsets"].astype(np.int64)
    text = index.tensors["vocabulary_bytes"].tobytes()
    tokens = [text[offsets[number] : offsets[number + 1]] for number in used.tolist()]
    order = sorted(range(len(tokens)), key=tokens.__getitem__)
    numbers = np.full(len(offsets), NO_TOKEN, np.uint32)
    numbers[used[order]] = np.arange(len(order))
    tokens = [tokens[number] for number in order]
    renumbered = keys.copy()
    present = keys[:, 1:] != NO_TOKEN
    renumbered[:, 1:][present] = numbers[keys[:, 1:][present]]
    renumbered = renumbered[np.lexsort(renumbered.T[::-1])]
    lengths = np.array([len(token) for token in tokens], np.uint32)
    changes = np.diff(renumbered, axis=0, prepend=np.zeros((1, keys.shape[1]), np.uint32))
    parts = [
        np.array([len(tokens), *renumbered.shape], "<u4").tobytes(),
        _planes(lengths),
        _planes(changes.T.ravel()),
        b"".join(tokens),
    ]
    return np.frombuffer(lzma.compress(b"".join(parts), preset=9), np.uint8)


def unpack_names(
    packed: NDArray[np.uint8],
) -> tuple[NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint32]]:
    """Read what ``pack_names`` wrote: the bytes of the tokens, their offsets, and the keys."""
    try:
        data = lzma.decompress(packed.tobytes())
        n_tokens, n_keys, width = np.frombuffer(data, "<u4", 3).tolist()
        if 12 + 4 * (n_tokens + n_keys * width) > len(data):
            raise ValueError
        lengths = _from_planes(data[12:], n_tokens)
        keys = _from_planes(data[12 + 4 * n_tokens :], n_keys * width)
        text = np.frombuffer(data, np.uint8)[12 + 4 * (n_tokens + n_keys * width) :]
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        if offsets[-1] != len(text):
            raise ValueError
    except (lzma.LZMAError, ValueError, EOFError):
        raise ModelError("the names of the features are damaged") from None
    table = np.cumsum(keys.reshape(width, n_keys), axis=1, dtype=np.uint32).T
    return text, offsets.astype(np.uint32), np.ascontiguousarray(table)


def _planes(numbers: NDArray[np.uint32]) -> bytes:
    """The bytes of numbers, all lowest ones first: they compress better that way."""
    planes: NDArray[np.uint8] = numbers.astype("<u4").view(np.uint8).reshape(-1, 4).T
    return planes.tobytes()


def _from_planes(data: bytes, n: int) -> NDArray[np.uint32]:
    planes = np.frombuffer(data, np.uint8, 4 * n).reshape(4, n)
    return np.ascontiguousarray(planes.T).view("<u4").reshape(n)
