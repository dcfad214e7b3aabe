"""Where the corpora are: they are not part of adaptag, since their terms do not allow it."""

from __future__ import annotations

import os
from pathlib import Path

from adaptag.errors import FileError

__all__ = ["VARIABLE", "data_folder", "default_folder"]

VARIABLE = "ADAPTAG_DATA"
BESIDE = Path(__file__).parents[2] / "shared" / "data"  # beside the checkout


def default_folder() -> Path:
    """The folder that ``ADAPTAG_DATA`` names, or else ``../shared/data`` beside the checkout."""
    return Path(os.environ.get(VARIABLE) or BESIDE)


def data_folder(given: Path | None = None) -> Path:
    """The folder of corpora: the one given, or else the default; an error where it is missing."""
    folder = given or default_folder()
    if not folder.is_dir():
        raise FileError(f"{folder}: no folder of corpora; name one with --data or in {VARIABLE}")
    return folder
