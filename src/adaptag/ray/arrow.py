"""Arrow tables in and out: sentences of tokens without Python objects, and columns of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from adaptag.corpus.columns import ColumnCorpus
from adaptag.errors import CorpusError, ParameterError, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["column_of", "corpus_of_lists", "lists", "strings_of", "with_columns"]


def column_of(table: Any, name: str) -> Any:
    """A column as one array."""
    if name not in table.column_names:
        raise ParameterError(unknown("column", name, table.column_names))
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def with_columns(table: Any, columns: dict[str, Any]) -> Any:
    """Add columns; those that have the name of another one replace it."""
    for name, column in columns.items():
        if name in table.column_names:
            table = table.set_column(table.column_names.index(name), name, column)
        else:
            table = table.append_column(name, column)
    return table


def strings_of(table: Any, name: str) -> list[str]:
    """The texts of a column."""
    column = column_of(table, name)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise CorpusError(f"column {name!r} is of type {column.type}; expected strings")
    _refuse_missing(column, name)
    texts: list[str] = column.to_pylist()
    return texts


def corpus_of_lists(table: Any, names: Sequence[str], where: str = "<data>") -> ColumnCorpus:
    """Make a corpus of columns of lists of strings: a row is a sentence, a list one of its columns.

    The text of the tokens is not copied where there is one column.
    """
    texts: list[NDArray[np.uint8]] = []
    cells: list[NDArray[np.int64]] = []
    sentences = np.zeros(1, np.int64)
    size = 0
    for name in names:
        text, offsets, starts = _tokens(column_of(table, name), name)
        if cells and not np.array_equal(starts, sentences):
            row = int(np.flatnonzero(np.diff(starts) != np.diff(sentences))[0])
            n, first = np.diff(starts)[row], np.diff(sentences)[row]
            raise CorpusError(
                f"row {row}, counted from 0: {n} in column {name!r}; {names[0]!r} has {first}"
            )
        sentences = starts
        texts.append(text)
        cells.append(np.stack([offsets[:-1], offsets[1:]], axis=1) + size)
        size += len(text)
    if size >= 2**32:
        raise CorpusError("more than 4 GiB of tokens in one batch; use smaller batches")
    return ColumnCorpus(
        where,
        texts[0] if len(texts) == 1 else np.concatenate(texts),
        np.ascontiguousarray(np.stack(cells, axis=1), np.uint32),
        sentences,
        np.empty(0, np.uint32),
    )


def _tokens(
    column: Any, name: str
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """The text of all tokens, where each begins, then its size, and where each sentence begins."""
    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise CorpusError(f"column {name!r} is of type {kind}; expected lists of strings")
    _refuse_missing(column, name)
    starts = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    tokens = column.values.slice(int(starts[0]), int(starts[-1] - starts[0]))
    if pa.types.is_null(kind.value_type):  # of empty lists
        tokens = tokens.cast(pa.string())
    elif not (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)):
        raise CorpusError(f"column {name!r} is of type {kind}; expected lists of strings")
    if tokens.null_count:
        token = int(np.flatnonzero(tokens.is_null().to_numpy(zero_copy_only=False))[0])
        row = int(np.searchsorted(starts - starts[0], token, side="right")) - 1
        raise CorpusError(
            f"row {row}, counted from 0: column {name!r} holds None; expected a string"
        )
    _, places, data = tokens.buffers()
    width = np.int64 if pa.types.is_large_string(tokens.type) else np.int32
    if places is None or len(tokens) == 0:
        offsets = np.zeros(1, np.int64)
    else:
        every = np.frombuffer(places, width)
        offsets = every[tokens.offset : tokens.offset + len(tokens) + 1].astype(np.int64)
    text = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    first, end = int(offsets[0]), int(offsets[-1])
    return text[first:end], offsets - first, starts - starts[0]


def _refuse_missing(column: Any, name: str) -> None:
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise CorpusError(f"row {row}, counted from 0: column {name!r} holds None")


def lists(
    sentences: NDArray[np.int64], values: NDArray[Any], names: Sequence[str] | None = None
) -> Any:
    """An array of lists: one for each sentence, of its values, or of the names they number."""
    items = pa.array(values)
    if names is not None:
        items = pa.DictionaryArray.from_arrays(items, pa.array(names, pa.string())).cast(
            pa.string()
        )
    if len(items) >= 2**31:
        return pa.LargeListArray.from_arrays(pa.array(sentences, pa.int64()), items)
    return pa.ListArray.from_arrays(pa.array(sentences.astype(np.int32), pa.int32()), items)
