"""Types of the core; all its variants have the same names. Bound in ``cpp/bindings``."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

_Bytes: TypeAlias = NDArray[np.uint8]
_Cells: TypeAlias = NDArray[np.uint32]
_Offsets: TypeAlias = NDArray[np.int64]
_Token: TypeAlias = str | Sequence[str]

class InputError(ValueError): ...
class NoPathError(ValueError): ...

def read_columns(
    text: _Bytes,
    name: str,
    separator: str,
    comment: str,
    skip_docstart: bool,
    part: tuple[int, int, int],
) -> tuple[_Cells, _Offsets, NDArray[np.uint32], str, int]: ...
def read_attributes(
    text: _Bytes, name: str
) -> tuple[_Bytes, _Cells, NDArray[np.float32], _Offsets, _Cells, _Offsets, NDArray[np.uint32]]: ...
def pack_columns(sentences: Iterable[Iterable[_Token]]) -> tuple[_Bytes, _Cells, _Offsets]: ...
def pack_items(
    sequences: Iterable[Iterable[Any]],
) -> tuple[_Bytes, _Cells, NDArray[np.float32], _Offsets, _Offsets]: ...
def number_labels(
    text: _Bytes, cells: _Cells, column: int, known: list[str]
) -> tuple[NDArray[np.int32], list[str]]: ...
def write_columns(
    text: _Bytes,
    cells: _Cells,
    sentences: _Offsets,
    labels: NDArray[np.int32],
    names: list[str],
    numbers: NDArray[np.float32] | None,
) -> bytes: ...
def checksum(data: _Bytes, seed: int) -> int: ...
def macros() -> list[tuple[str, bool]]: ...

class Program:
    arity: int
    def __init__(
        self,
        columns: list[tuple[int, str, int]],
        lines: list[tuple[int, int, list[tuple[int, int]]]],
        attribute_skeleton: int,
        attribute_kind: int,
    ) -> None: ...

class IndexBuilder:
    @overload
    def __init__(self, program: Program) -> None: ...
    @overload
    def __init__(
        self,
        program: Program,
        vocabulary_bytes: _Bytes,
        vocabulary_offsets: NDArray[np.uint32],
        derived: NDArray[np.uint32],
        keys: NDArray[np.uint32],
        n_of_kind: tuple[int, int, int],
    ) -> None: ...
    def add_columns(self, text: _Bytes, cells: _Cells, sentences: _Offsets) -> None: ...
    def add_attributes(
        self,
        text: _Bytes,
        cells: _Cells,
        values: NDArray[np.float32],
        positions: _Offsets,
        sentences: _Offsets,
    ) -> None: ...
    counts: tuple[int, int, int]
    def limit(self, n: int) -> None: ...
    def take(
        self, capacity: tuple[int, int, int]
    ) -> tuple[_Offsets, NDArray[np.uint32], NDArray[np.float32]]: ...
    def snapshot(self) -> dict[str, Any]: ...
    def freeze(self, cutoff: int, edge_cutoff: int, edge_share: float) -> dict[str, Any]: ...

class FeatureIndex:
    @overload
    def __init__(self, program: Program, n_of_kind: tuple[int, int, int]) -> None: ...
    @overload
    def __init__(
        self,
        program: Program,
        vocabulary_bytes: _Bytes,
        vocabulary_offsets: NDArray[np.uint32],
        vocabulary_slots: NDArray[np.uint64],
        derived: NDArray[np.uint32],
        slots: NDArray[np.uint64],
        n_of_kind: tuple[int, int, int],
    ) -> None: ...
    def encode_columns(
        self, text: _Bytes, cells: _Cells, sentences: _Offsets
    ) -> tuple[_Offsets, NDArray[np.uint32]]: ...
    def encode_attributes(
        self,
        text: _Bytes,
        cells: _Cells,
        values: NDArray[np.float32],
        positions: _Offsets,
        sentences: _Offsets,
    ) -> tuple[_Offsets, NDArray[np.uint32], NDArray[np.float32]]: ...

class Layout:
    n_labels: int
    width: int
    n_node: int
    n_both: int
    n_edge: int
    n_predicates: int
    n_weights: int
    def __init__(self, n_labels: int, n_node: int, n_both: int, n_edge: int) -> None: ...

class Dataset:
    def __init__(
        self,
        layout: Layout,
        sentences: _Offsets,
        positions: _Offsets,
        predicates: NDArray[np.uint32],
        values: NDArray[np.float32] | None,
        labels: NDArray[np.int32] | None,
        legal: NDArray[np.uint8] | None = None,
        weights: NDArray[np.float32] | None = None,
        always: int | None = None,
    ) -> None: ...

def algorithms() -> list[dict[str, Any]]: ...

class Training:
    def __init__(
        self,
        algorithm: str,
        layout: Layout,
        dataset: Dataset,
        values: list[float],
        weights: NDArray[np.float32],
        per_weight_state: NDArray[np.float32],
        row_state: _Bytes,
        run_state: _Bytes,
        n: int | None,
        threads: int,
        lock_free: bool,
    ) -> None: ...
    def run(
        self,
        dataset: Dataset,
        order: NDArray[np.uint32],
        best: NDArray[np.int32] | None = None,
    ) -> tuple[float, float, int]: ...
    def sync(self) -> None: ...
    def read(self, out: NDArray[np.float32]) -> None: ...

def objective(
    layout: Layout,
    dataset: Dataset,
    weights: NDArray[np.float32],
    gradient: NDArray[np.float64] | None,
    threads: int,
) -> tuple[float, float, int]: ...

class Decoder:
    def __init__(
        self,
        layout: Layout,
        weights: NDArray[np.float32],
        index: FeatureIndex,
        labels: list[str],
        legal: NDArray[np.uint8] | None = None,
    ) -> None: ...
    def tag(self, sentence: Iterable[_Token]) -> list[str]: ...
    def tag_all(self, sentences: Iterable[Iterable[_Token]]) -> list[list[str]]: ...
    def viterbi_columns(
        self, text: _Bytes, cells: _Cells, sentences: _Offsets, legal: _Bytes | None
    ) -> NDArray[np.int32]: ...
    def viterbi(
        self, dataset: Dataset, legal: _Bytes | None, allowed: _Bytes | None
    ) -> NDArray[np.int32]: ...
    def marginals(
        self, dataset: Dataset, legal: _Bytes | None, allowed: _Bytes | None
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]: ...
    def log_probabilities(self, dataset: Dataset, legal: _Bytes | None) -> NDArray[np.float64]: ...
    def n_best(
        self, dataset: Dataset, n: int, legal: _Bytes | None, allowed: _Bytes | None
    ) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]: ...
    def segment_probabilities(
        self,
        dataset: Dataset,
        segments: NDArray[np.int64],
        type_of: NDArray[np.int32],
        starts: _Bytes,
        ends: _Bytes,
        legal: _Bytes | None,
    ) -> NDArray[np.float64]: ...

def read_segmented(text: _Bytes, name: str) -> tuple[NDArray[np.uint32], _Offsets, _Bytes]: ...
def pack_words(
    sentences: Iterable[Iterable[str]],
) -> tuple[NDArray[np.uint32], _Offsets, _Bytes]: ...
def fold_codes(codes: NDArray[np.uint32], fold: str) -> NDArray[np.uint32]: ...
def build_segment_tables(
    symbols: NDArray[np.uint32],
    sentences: _Offsets,
    starts: _Bytes,
    cutoff: int,
    word_cutoff: int,
    edge_cutoff: int,
    edge_share: float,
) -> dict[str, Any]: ...

class SegmentIndex:
    n_of_kind: tuple[int, int, int]
    def __init__(
        self,
        characters: NDArray[np.uint32],
        bigrams: NDArray[np.uint32],
        word_symbols: NDArray[np.uint32],
        word_offsets: NDArray[np.uint32],
        word_bigrams: NDArray[np.uint32],
        n_unigrams: int,
        n_parts: int,
        n_rich: tuple[int, ...],
    ) -> None: ...
    def encode(
        self, symbols: NDArray[np.uint32], sentences: _Offsets
    ) -> tuple[_Offsets, NDArray[np.uint32]]: ...
    def name(self, predicate: int) -> tuple[int, int, int]: ...

class Lexicon:
    def __init__(self, fold: str) -> None: ...
    def add(self, words: Iterable[str], weights: NDArray[np.float32]) -> None: ...
    def add_symbols(
        self,
        symbols: NDArray[np.uint32],
        offsets: NDArray[np.uint32],
        first: int,
        shortest: int,
        weight: float,
    ) -> None: ...
    def remove(self, words: Iterable[str]) -> int: ...
    def unknown(self, texts: Iterable[str], starts: _Bytes) -> NDArray[np.int64]: ...
    def __contains__(self, word: str) -> bool: ...
    def __len__(self) -> int: ...

class Segmenter:
    def __init__(
        self,
        layout: Layout,
        weights: NDArray[np.float32],
        index: SegmentIndex,
        tags: tuple[int, int, int, int],
        fold: str,
        rare: Lexicon,
    ) -> None: ...
    def cut(self, texts: Sequence[str], extra: Lexicon | None, threads: int) -> list[list[str]]: ...
    def marks(
        self, texts: Sequence[str], extra: Lexicon | None, threads: int
    ) -> tuple[_Offsets, _Bytes, NDArray[np.float32]]: ...
