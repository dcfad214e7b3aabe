"""The labels of a column file, or of lists, written in another scheme."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from adaptag.corpus.chunks import ChunkScheme
from adaptag.corpus.labels import number_sequences
from adaptag.corpus.lists import label_lists
from adaptag.corpus.schemes import LabelConversion
from adaptag.errors import CorpusError, ParameterError, counted
from adaptag.settings import AUTO

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.columns import ColumnCorpus

__all__ = ["convert_column", "convert_sequences"]


def convert_column(
    corpus: ColumnCorpus, to: str, source: str = AUTO, column: int | None = None
) -> bytes:
    """The text of a column file with the labels of one column written in another scheme.

    All else stays as it is: other columns, separators, comments and blank lines.

    Args:
        corpus: The file.
        to: The scheme to write.
        source: The scheme that the labels must follow; ``auto`` reads any labels as conlleval does.
        column: The column of the labels, from 1; None means the last one.

    Raises:
        CorpusError: The labels mark no chunks, or break the rules of ``source``; it says where.
    """
    n = corpus.n_columns if column is None else column
    if not 1 <= n <= corpus.n_columns:
        first = f"{corpus.name}:{corpus.lines[0]}" if len(corpus.lines) else corpus.name
        raise CorpusError(f"{first}: {counted(corpus.n_columns, 'column')}; there is no column {n}")
    text = corpus.text.tobytes()
    cells = corpus.cells[:, n - 1].tolist()
    numbers: dict[str, int] = {}
    ids = np.array(
        [numbers.setdefault(text[a:b].decode(), len(numbers)) for a, b in cells], np.int32
    )
    lines = corpus.lines.tolist()
    written, names = _convert(
        list(numbers), ids, corpus.sentences, to, source, lambda t: f"{corpus.name}:{lines[t]}"
    )
    outputs = [name.encode() for name in names]
    parts, place = [], 0
    for (begin, end), label in zip(cells, written.tolist(), strict=True):
        parts += [text[place:begin], outputs[label]]
        place = end
    return b"".join([*parts, text[place:]])


def convert_sequences(
    sequences: Sequence[Sequence[str]], to: str, source: str = AUTO
) -> list[list[str]]:
    """The labels of sentences in another scheme; see ``convert_column``."""
    sequences = label_lists(sequences, "labels")
    offsets = np.cumsum([0, *map(len, sequences)]).astype(np.int64)
    ids, known = number_sequences(sequences, offsets)
    if (ids < 0).any():
        raise CorpusError("a label is None; allowed: labels that are all known")

    def place(token: int) -> str:
        sentence = int(np.searchsorted(offsets, token, side="right"))
        return f"sentence {sentence}, token {token - int(offsets[sentence - 1]) + 1}"

    written, names = _convert(known, ids, offsets, to, source, place)
    labels = [names[number] for number in written.tolist()]
    return [labels[a:b] for a, b in itertools.pairwise(offsets)]


def _convert(
    names: list[str],
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    to: str,
    source: str,
    place: Callable[[int], str],
) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    chunks = ChunkScheme(names)
    if not chunks.chunked and set(names) - {"O"}:
        first = next(t for t, number in enumerate(ids.tolist()) if names[number] != "O")
        raise CorpusError(
            f"{place(first)}: the labels mark no chunks (B-X, I-X, …, O), such as "
            f"{names[ids[first]]!r}: they have no scheme"
        )
    if source != AUTO:
        _check_rules(chunks, ids, offsets, source, place)
    conversion = LabelConversion.of(names, to)
    return conversion.apply(ids, offsets), conversion.outputs


def _check_rules(
    chunks: ChunkScheme,
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    scheme: str,
    place: Callable[[int], str],
) -> None:
    """Raise at the first label that breaks the rules of a scheme."""
    try:
        legal = chunks.legal(scheme)
    except ParameterError as error:
        for number, name in enumerate(chunks.labels):  # the one that the message is about
            if repr(name) in str(error):
                raise CorpusError(f"{place(int((ids == number).argmax()))}: {error}") from None
        raise
    outside = len(chunks.labels)
    starts, ends = offsets[:-1][np.diff(offsets) > 0], offsets[1:][np.diff(offsets) > 0] - 1
    left, right = np.append(outside, ids)[:-1], np.append(ids, outside)[1:]
    left[starts], right[ends] = outside, outside
    wrong = np.flatnonzero(~legal[left, ids] | ((right == outside) & ~legal[ids, right]))
    if len(wrong):
        t = int(wrong[0])
        where = "at the end of a sentence"
        if not legal[left[t], ids[t]]:
            before = None if left[t] == outside else chunks.labels[left[t]]
            where = "at the beginning of a sentence" if before is None else f"after {before!r}"
        label = chunks.labels[ids[t]]
        raise CorpusError(f"{place(t)}: {label!r} {where} breaks the rules of {scheme!r}")
