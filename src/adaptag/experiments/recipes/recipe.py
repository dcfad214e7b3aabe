"""What a recipe is."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from adaptag.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from adaptag.corpus.columns import ColumnCorpus
    from adaptag.training.declarations import Value

__all__ = ["Recipe", "data_folder", "files_of"]

VARIABLE = "ADAPTAG_DATA"


@dataclass(frozen=True)
class Recipe:
    """A task: its data, its features, and what is known of it.

    Attributes:
        name: what the command line calls it.
        title: what it is.
        source: the paper and its table.
        read: makes training and test data from the folder of corpora.
        template: a preset.
        settings: parameters of each algorithm, chosen on training data only.
        published: scores of the paper, by algorithm.
    """

    name: str
    title: str
    source: str
    read: Callable[[Path], tuple[ColumnCorpus, ColumnCorpus]]
    template: str
    settings: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    published: Mapping[str, float] = field(default_factory=dict)


def data_folder(given: Path | None = None) -> Path:
    """The folder of corpora: that given, or the one that ``ADAPTAG_DATA`` names."""
    folder = given or Path(os.environ.get(VARIABLE, ""))
    if str(folder) in ("", ".") or not folder.is_dir():
        raise FileError(f"{folder}: no folder of corpora; name one with --data or in {VARIABLE}")
    return folder


def files_of(folder: Path, *names: str) -> list[Path]:
    """Files of a corpus, which must be there."""
    paths = [folder / name for name in names]
    for path in paths:
        if not path.is_file():
            raise FileError(f"{path}: the corpus is not there")
    return paths
