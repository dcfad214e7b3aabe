"""Files of a user's own words: with weights, or in the format of jieba's dictionaries."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from adaptag.corpus.text import decoded, unix_line_ends
from adaptag.errors import CorpusError, ParameterError, unknown
from adaptag.storage.files import check_path, read_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adaptag.storage.files import PathLike

__all__ = ["FORMATS", "Entry", "jieba_advice", "read_dictionary"]

AUTO, OWN, JIEBA = "auto", "weights", "jieba"
FORMATS = (AUTO, OWN, JIEBA)
JIEBA_WEIGHT = 20.0
FREQUENCY, TAG = re.compile(r"\d+"), re.compile("[A-Za-z]+")


class Entry(NamedTuple):
    """A word of a file.

    Attributes:
        word: The word.
        weight: Its weight; None where the file has none. Words of jieba's dictionaries have one
            that makes them words nearly everywhere, as jieba does.
        tag: Its part of speech, where it has one.
        where: The file and the line.
        cell: The weight, as the file writes it.
    """

    word: str
    weight: float | None
    tag: str
    where: str
    cell: str = ""


def read_dictionary(path: PathLike, format: str = AUTO) -> list[Entry]:  # noqa: A002
    """Read the words of a file, one per line.

    Args:
        path: The file.
        format: ``weights``: a word, then its weight or ``force``; ``jieba``: a word, then its
            frequency and its tag, both of which may be missing; ``auto``: that of jieba where any
            line has a frequency and a tag, else ``weights``.
    """
    if format not in FORMATS:
        raise ParameterError(unknown("format", format, FORMATS))
    check_path(path)
    name = shown(path)
    data = unix_line_ends(read_bytes(path))
    text = decoded(data, name, allowed="a dictionary in UTF-8").removeprefix("\ufeff")
    lines = [
        (f"{name}:{number}", line.split())
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip() and not line.startswith("#")
    ]
    if format == AUTO:
        format = JIEBA if any(_has_tag(cells) for _, cells in lines) else OWN  # noqa: A001
    read = _jieba if format == JIEBA else _own
    return [read(cells, where) for where, cells in lines]


def _has_tag(cells: Sequence[str]) -> bool:
    return len(cells) == 3 and bool(FREQUENCY.fullmatch(cells[1]) and TAG.fullmatch(cells[2]))


def _own(cells: Sequence[str], where: str) -> Entry:
    if len(cells) > 2:
        raise CorpusError(
            f"{where}: {len(cells)} cells; allowed: a word, and its weight or 'force'"
        )
    if len(cells) == 1:
        return Entry(cells[0], None, "", where)
    return Entry(cells[0], _number(cells[1]), "", where, cells[1])


def _number(cell: str) -> float:
    """The weight that a cell says; one that is no number is not allowed later."""
    if cell == "force":
        return math.inf
    try:
        number = float(cell)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def jieba_advice(cell: str) -> str:
    """What to say of a cell that is no weight, where jieba would take it."""
    if FREQUENCY.fullmatch(cell) or TAG.fullmatch(cell):
        return f"; format {JIEBA!r} (--dictionary-format {JIEBA}) takes frequencies and tags"
    return ""


def _jieba(cells: Sequence[str], where: str) -> Entry:
    word, *rest = cells
    if rest and FREQUENCY.fullmatch(rest[0]):
        rest.pop(0)
    tag = rest.pop(0) if rest and TAG.fullmatch(rest[0]) else ""
    if rest:
        raise CorpusError(
            f"{where}: {' '.join(cells[1:])!r} behind the word; allowed: its frequency, a whole "
            "number, and its tag, of letters"
        )
    return Entry(word, JIEBA_WEIGHT, tag, where)
