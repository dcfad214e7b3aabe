"""What the commands of ``adaptag segment`` share: dictionaries, and segmenters that know them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adaptag.cli.arguments import option

if TYPE_CHECKING:
    from adaptag.segmentation.cutter import Cutter
    from adaptag.segmentation.segmenter import Segmenter

__all__ = [
    "DictionaryFormatOption",
    "DictionaryOption",
    "add_words",
    "inputs_of",
    "load_segmenter",
]

DictionaryOption = Annotated[
    list[Path] | None,
    option(
        "--dictionary",
        "-d",
        help="Your own words: one per line, followed by its weight or 'force'; or a dictionary of "
        "jieba. Repeatable.",
    ),
]
DictionaryFormatOption = Annotated[
    str,
    option(
        metavar="auto|weights|jieba",
        help="What follows a word of a dictionary: its weight, or jieba's frequency and tag.",
    ),
]


def inputs_of(data: Path, model: Path, dictionaries: list[Path] | None) -> dict[str, Path]:
    """The files that a command reads, by the options that name them."""
    words = {f"--dictionary ({path})": path for path in dictionaries or []}
    return {"TEXT": data, "--model": model, **words}


def load_segmenter(
    model: Path, dictionaries: list[Path] | None, dictionary_format: str
) -> Segmenter:
    """Load a segmenter, and add the words of dictionaries."""
    from adaptag.segmentation.segmenter import Segmenter

    segmenter = Segmenter.load(model)
    add_words(segmenter, dictionaries, dictionary_format)
    return segmenter


def add_words(segmenter: Cutter, dictionaries: list[Path] | None, dictionary_format: str) -> None:
    """Add the words of dictionaries."""
    for path in dictionaries or []:
        segmenter.dictionary.load(path, format=dictionary_format)
