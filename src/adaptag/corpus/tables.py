"""Tables with sentences in them, taken as they are: pandas, polars, PyArrow, Hugging Face datasets.

None of these is imported: a table is what has named columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Protocol, TypeGuard

from adaptag.errors import CorpusError, ParameterError, unknown

__all__ = ["Table", "is_table", "sentences_and_labels"]

TAGS = ("tags", "ner_tags", "labels")


class Frame(Protocol):
    """A data frame of pandas or polars."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""

    def __getitem__(self, key: Any, /) -> Any: ...


class NamedColumns(Protocol):
    """A dataset of Hugging Face, or a table of PyArrow."""

    @property
    def column_names(self) -> Any:
        """Names of the columns."""

    def __getitem__(self, key: Any, /) -> Any: ...


Table = Frame | NamedColumns


def is_table(data: object) -> TypeGuard[Table]:
    """Whether there are columns with names."""
    return hasattr(type(data), "column_names") or hasattr(type(data), "columns")


def sentences_and_labels(
    table: Table,
    tokens: str | Sequence[str] = "tokens",
    tags: str | None = None,
    *,
    sentence: str | None = None,
) -> tuple[list[list[Any]], list[list[str]] | None]:
    """Return the sentences and labels of a table.

    Args:
        table: A data frame of pandas or polars, a ``datasets.Dataset``, or a table of PyArrow. A
            row is a sentence whose columns are lists; with ``sentence``, a row is a token.
        tokens: The column of the tokens, or a list of columns, for tokens of several columns.
        tags: The column of the labels. By default it is whichever of ``tags``, ``ner_tags`` and
            ``labels`` the table has. Numbers become names if the table has these, as the
            ``ClassLabel`` of a dataset does.
        sentence: The column that identifies sentences, for tables with one token per row.
            Consecutive rows with the same value in this column are a sentence.

    Returns:
        Sentences of strings, or of tuples where ``tokens`` are several columns; and the labels,
        None where ``tags`` are neither given nor found. ``adaptag.train(*…)`` takes both.

    Examples:
        >>> import pandas
        >>> table = pandas.DataFrame({"tokens": [["a", "cat"]], "tags": [["DET", "NOUN"]]})
        >>> sentences_and_labels(table)
        ([['a', 'cat']], [['DET', 'NOUN']])
    """
    names = _column_names(table)
    token_columns = [tokens] if isinstance(tokens, str) else list(tokens)
    if not token_columns:
        raise ParameterError("no column of tokens was given")
    tags = _find_tags(names) if tags is None else tags
    used_columns = token_columns if tags is None else [*token_columns, tags]
    for name in used_columns if sentence is None else [*used_columns, sentence]:
        if name not in names:
            raise ParameterError(unknown("column", name, names))
    if sentence is None:
        columns = [_sentences(table, name, token_columns[0]) for name in used_columns]
        _check_lengths(used_columns, columns)
    else:
        flat = [
            _strings(_values(table[name]), name, 0, _class_names(table, name))
            for name in used_columns
        ]
        columns = _group(flat, _values(table[sentence]), sentence)
    labels = None if tags is None else columns.pop()
    if isinstance(tokens, str):
        return columns[0], labels
    return [list(zip(*cells, strict=True)) for cells in zip(*columns, strict=True)], labels


def _column_names(table: Table) -> list[str]:
    if hasattr(type(table), "collect"):
        raise ParameterError(f"{type(table).__name__}: a query, not yet a table; collect it first")
    names = getattr(table, "column_names" if hasattr(type(table), "column_names") else "columns")
    if isinstance(names, dict):
        some = next(iter(names), "train")
        raise ParameterError(
            f"{type(table).__name__}: several tables ({', '.join(names)}); choose one: [{some!r}]"
        )
    if names is None:
        raise ParameterError(f"{type(table).__name__}: the names of its columns are not known")
    return [str(name) for name in names]


def _find_tags(names: list[str]) -> str | None:
    candidates = [name for name in TAGS if name in names]
    if len(candidates) > 1:
        raise ParameterError(
            f"columns {', '.join(candidates)}: any may hold the labels; choose with "
            "sentences_and_labels(table, tags=…)"
        )
    return candidates[0] if candidates else None


def _class_names(table: Table, column: str) -> list[str] | None:
    """The names that a dataset has for the numbers in a column, or in its lists."""
    if not hasattr(type(table), "features"):  # a frame may have a column of this name
        return None
    features = table.features  # type: ignore[union-attr]
    feature: Any = features[column] if features else None
    while isinstance(feature, list) or hasattr(feature, "feature"):
        feature = feature[0] if isinstance(feature, list) else feature.feature
    names = getattr(feature, "names", None)
    return None if names is None else list(names)


def _values(column: Any) -> list[Any]:
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return getattr(column, method)()  # type: ignore[no-any-return]
    return list(column[:] if isinstance(column, Sequence) else column)  # a slice is read at once


def _sentences(table: Table, column: str, tokens: str) -> list[list[str]]:
    names = _class_names(table, column)
    sentences = []
    for row, cell in enumerate(_values(table[column])):
        if isinstance(cell, (str, bytes)) or not hasattr(cell, "__iter__"):
            hint = "; for one token per row, name the column of sentences: sentence=…"
            raise CorpusError(
                f"{_place(row)}: column {column!r} holds {cell!r}; expected a list"
                + hint * (column == tokens)
            )
        sentences.append(_strings(_values(cell), column, row, names, one_row=True))
    return sentences


def _strings(
    cells: list[Any], column: str, row: int, names: list[str] | None, *, one_row: bool = False
) -> list[str]:
    """Check that all are strings; numbers become names where these are known."""
    strings = []
    for number, cell in enumerate(cells):
        if isinstance(cell, str):
            strings.append(cell)
        elif names is not None and cell in range(len(names)):
            strings.append(names[int(cell)])
        else:
            place = _place(row if one_row else row + number)
            expected = "a string" if names is None else f"a string, or 0 to {len(names) - 1}"
            raise CorpusError(f"{place}: column {column!r} holds {cell!r}; expected {expected}")
    return strings


def _check_lengths(names: list[str], columns: list[list[list[str]]]) -> None:
    for row, cells in enumerate(zip(*columns, strict=True)):
        for name, cell in zip(names, cells, strict=True):
            if len(cell) != len(cells[0]):
                raise CorpusError(
                    f"{_place(row)}: {len(cell)} in column {name!r}; "
                    f"{names[0]!r} has {len(cells[0])}"
                )


def _group(flat: list[list[str]], keys: list[Any], column: str) -> list[list[list[str]]]:
    for row, key in enumerate(keys):
        if _is_missing(key):
            raise CorpusError(
                f"{_place(row)}: column {column!r} holds {key!r}; every token needs its sentence"
            )
    columns: list[list[list[str]]] = [[] for _ in flat]
    first = 0
    for _, rows in groupby(keys):
        end = first + sum(1 for _ in rows)
        for grouped, cells in zip(columns, flat, strict=True):
            grouped.append(cells[first:end])
        first = end
    return columns


def _is_missing(value: Any) -> bool:
    """Whether this is None, NaN, or one of pandas' own."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither true nor false
        return True


def _place(row: int) -> str:
    return f"row {row}, counted from 0"
