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
    threads: int = 1,
) -> tuple[_Cells, _Offsets, NDArray[np.uint32], str, int]: ...
def read_attributes(
    text: _Bytes, name: str
) -> tuple[_Bytes, _Cells, NDArray[np.float32], _Offsets, _Cells, _Offsets, NDArray[np.uint32]]: ...
def pack_columns(sentences: Iterable[Iterable[_Token]]) -> tuple[_Bytes, _Cells, _Offsets]: ...
def pack_items(
    sequences: Iterable[Iterable[Any]], keep_zeros: bool = False
) -> tuple[_Bytes, _Cells, NDArray[np.float32], _Offsets, _Offsets]: ...

class ItemPacker:
    def __init__(self, keep_zeros: bool = False) -> None: ...
    def add(self, sequence: Iterable[Any] | ItemSequence) -> None: ...
    def arrays(self) -> tuple[_Bytes, _Cells, NDArray[np.float32], _Offsets, _Offsets]: ...
    def __len__(self) -> int: ...

class ItemSequence:
    def __init__(self, items: Iterable[Any]) -> None: ...
    def items(self) -> list[dict[str, float]]: ...
    def __len__(self) -> int: ...

class ItemTagger:
    def __init__(
        self,
        names: _Bytes,
        ends: NDArray[np.uint32],
        rows: _Offsets,
        targets: NDArray[np.uint32],
        weights: NDArray[np.float64],
        transitions: NDArray[np.float64],
        labels: list[str],
    ) -> None: ...
    def set(self, sequence: Iterable[Any]) -> None: ...
    def tag(self) -> list[str]: ...
    def tag_items(self, sequence: Iterable[Any]) -> list[str]: ...
    def log_probability(self, path: list[int]) -> float: ...
    def marginal(self, label: int, position: int) -> float: ...
    def __len__(self) -> int: ...

def number_labels(
    text: _Bytes, cells: _Cells, column: int, known: list[str], threads: int = 1
) -> tuple[NDArray[np.int32], list[str]]: ...
def holds_only(text: _Bytes, cells: _Cells, column: int, names: list[str]) -> bool: ...
def write_columns(
    text: _Bytes,
    cells: _Cells,
    sentences: _Offsets,
    labels: NDArray[np.int32],
    names: list[str],
    numbers: NDArray[np.float32] | None,
) -> bytes: ...
def checksum(data: _Bytes, seed: int) -> int: ...
def macros() -> list[tuple[str, str]]: ...

class Program:
    arity: int
    def __init__(
        self,
        columns: list[tuple[int, str, int, str]],
        lines: list[tuple[int, int, list[tuple[int, int]]]],
        attribute_skeleton: int,
        attribute_kind: int,
        wapiti: bool = False,
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
    def add_columns(
        self, text: _Bytes, cells: _Cells, sentences: _Offsets, threads: int = 1
    ) -> None: ...
    def add_attributes(
        self,
        text: _Bytes,
        cells: _Cells,
        values: NDArray[np.float32],
        positions: _Offsets,
        sentences: _Offsets,
        threads: int = 1,
    ) -> None: ...
    counts: tuple[int, int, int]
    def limit(self, n: int) -> None: ...
    def take(
        self, capacity: tuple[int, int, int]
    ) -> tuple[_Offsets, NDArray[np.uint32], NDArray[np.float32]]: ...
    def snapshot(self) -> dict[str, Any]: ...
    def take_counts(self) -> dict[str, Any]: ...
    def add_strings(
        self,
        vocabulary_bytes: _Bytes,
        vocabulary_offsets: NDArray[np.uint32],
        derived: NDArray[np.uint32],
    ) -> NDArray[np.uint32]: ...
    def add_counted(
        self,
        keys: NDArray[np.uint32],
        kinds: _Bytes,
        counts: NDArray[np.uint32],
        n_old: int = 0,
    ) -> None: ...
    def freeze(self, cutoff: int, edge_cutoff: int, edge_share: float) -> dict[str, Any]: ...

def renumber_keys(
    program: Program, keys: NDArray[np.uint32], numbers: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]: ...
def find_keys(
    program: Program,
    keys: NDArray[np.uint32],
    slots: NDArray[np.uint64],
    stored: NDArray[np.uint32],
) -> NDArray[np.uint32]: ...
def renumber_data(
    positions: _Offsets,
    predicates: NDArray[np.uint32],
    values: NDArray[np.float32],
    numbers: NDArray[np.uint32],
    n_of_kind: tuple[int, int, int],
) -> tuple[_Offsets, NDArray[np.uint32], NDArray[np.float32]]: ...

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
        self, text: _Bytes, cells: _Cells, sentences: _Offsets, threads: int = 1
    ) -> tuple[_Offsets, NDArray[np.uint32]]: ...
    def encode_attributes(
        self,
        text: _Bytes,
        cells: _Cells,
        values: NDArray[np.float32],
        positions: _Offsets,
        sentences: _Offsets,
        threads: int = 1,
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
    batch: int
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

class Objective:
    def __init__(self, layout: Layout, dataset: Dataset) -> None: ...
    def __call__(
        self, weights: NDArray[np.float32], gradient: NDArray[np.float32] | None, threads: int
    ) -> tuple[float, float, int, int]: ...

class QuasiNewton:
    next: int
    def __init__(self, layout: Layout, pairs: NDArray[np.float32], threads: int) -> None: ...
    def add_pair(
        self,
        x: NDArray[np.float32],
        x_new: NDArray[np.float32],
        gradient: NDArray[np.float32],
        l1: float,
    ) -> NDArray[np.float64]: ...
    def aim(
        self,
        x: NDArray[np.float32],
        gradient: NDArray[np.float32],
        l1: float,
        coefficients: NDArray[np.float64],
    ) -> float: ...
    def walk(
        self,
        x: NDArray[np.float32],
        length: float,
        l1: float,
        decay: float,
        x_new: NDArray[np.float32],
        gradient: NDArray[np.float32],
    ) -> tuple[float, float]: ...
    def slope(self, gradient: NDArray[np.float32]) -> float: ...

def compact_fingerprints(
    vocabulary_bytes: _Bytes, vocabulary_offsets: NDArray[np.uint32], keys: NDArray[np.uint32]
) -> NDArray[np.uint64]: ...
def build_compact(
    fingerprints: NDArray[np.uint64],
    offsets: _Offsets,
    previous: NDArray[np.int32],
    labels: NDArray[np.int32],
    values: NDArray[np.float32],
    n_labels: int,
    value_size: int,
    exponent: int,
) -> tuple[NDArray[np.uint32], _Bytes]: ...

class CompactModel:
    n_of_kind: tuple[int, int, int]
    def __init__(
        self,
        program: Program,
        buckets: NDArray[np.uint32],
        rows: _Bytes,
        n_labels: int,
        value_size: int,
        exponent: int,
    ) -> None: ...
    def find(self, fingerprints: NDArray[np.uint64]) -> NDArray[np.uint32]: ...
    def weights(
        self, first: int, last: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]: ...
    def encode_columns(
        self, text: _Bytes, cells: _Cells, sentences: _Offsets, threads: int = 1
    ) -> tuple[_Offsets, NDArray[np.uint32]]: ...
    def encode_attributes(
        self,
        text: _Bytes,
        cells: _Cells,
        values: NDArray[np.float32],
        positions: _Offsets,
        sentences: _Offsets,
        threads: int = 1,
    ) -> tuple[_Offsets, NDArray[np.uint32], NDArray[np.float32]]: ...

class Decoder:
    @overload
    def __init__(
        self,
        layout: Layout,
        weights: NDArray[np.float32],
        index: FeatureIndex,
        labels: list[str],
        legal: NDArray[np.uint8] | None = None,
        temperature: float = 1.0,
    ) -> None: ...
    @overload
    def __init__(
        self,
        layout: Layout,
        compact: CompactModel,
        labels: list[str],
        legal: NDArray[np.uint8] | None = None,
        temperature: float = 1.0,
    ) -> None: ...
    def write_as(
        self,
        labels: list[str],
        before: NDArray[np.uint8],
        after: NDArray[np.uint8],
        table: NDArray[np.int32],
    ) -> None: ...
    def split(self, label_of: NDArray[np.int32]) -> None: ...
    def tag(self, sentence: Iterable[_Token]) -> list[str]: ...
    def tag_all(self, sentences: list[Iterable[_Token]], threads: int = 1) -> list[list[str]]: ...
    def viterbi_columns(
        self,
        text: _Bytes,
        cells: _Cells,
        sentences: _Offsets,
        legal: _Bytes | None,
        threads: int = 1,
    ) -> NDArray[np.int32]: ...
    def viterbi(
        self,
        dataset: Dataset,
        legal: _Bytes | None,
        allowed: _Bytes | None,
        threads: int = 1,
        written: bool = True,
    ) -> NDArray[np.int32]: ...
    def marginals(
        self, dataset: Dataset, legal: _Bytes | None, allowed: _Bytes | None, threads: int = 1
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]: ...
    def log_probabilities(self, dataset: Dataset, legal: _Bytes | None) -> NDArray[np.float64]: ...
    def n_best(
        self,
        dataset: Dataset,
        n: int,
        legal: _Bytes | None,
        allowed: _Bytes | None,
        threads: int = 1,
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
    def add_symbols(self, symbols: NDArray[np.uint32], offsets: NDArray[np.uint32]) -> None: ...
    def remove(self, words: Iterable[str]) -> int: ...
    def unknown(self, texts: Iterable[str], starts: _Bytes) -> NDArray[np.int64]: ...
    def __contains__(self, word: str) -> bool: ...
    def __len__(self) -> int: ...

class SegmentPatterns:
    def __init__(
        self,
        index: SegmentIndex,
        layout: Layout,
        weights: NDArray[np.float32],
        tags: tuple[int, int, int, int],
        rare_first: int,
        rare_weight: float,
        threads: int,
    ) -> None: ...
    def pack(
        self, fold: str, threshold: float, value_bits: int, load: float, threads: int
    ) -> dict[str, Any]: ...

class Segmenter:
    def __init__(
        self,
        pages: NDArray[np.uint32],
        entries: NDArray[np.uint32],
        character_rows: NDArray[np.int16],
        constant_rows: NDArray[np.int32],
        slots: NDArray[np.uint32],
        rows: _Bytes,
        outside: int,
        exponent: int,
        value_bits: int,
        n_tags: int,
        fold: str,
        temperature: float = 1.0,
    ) -> None: ...
    def cut_text(self, text: str, extra: Lexicon | None) -> list[str]: ...
    def cut(self, texts: Sequence[str], extra: Lexicon | None, threads: int) -> list[list[str]]: ...
    def spaced(
        self, text: bytes, separator: bytes, continues: bool, extra: Lexicon | None
    ) -> bytes: ...
    def marks(
        self, texts: Sequence[str], extra: Lexicon | None, threads: int
    ) -> tuple[_Offsets, _Bytes, NDArray[np.float32]]: ...
