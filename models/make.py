"""Make the ready models, and their cards: ``python -m models.make``.

Corpora are looked for in the folder that ``ADAPTAG_DATA`` names. The same data and the same
processor give the same files.
"""

from __future__ import annotations

import sys
from pathlib import Path

from adaptag.errors import AdaptagError
from models.chinese import make_chinese
from models.english import make_english
from reproduction.data import data_folder

__all__ = ["OUTPUT", "make"]

OUTPUT = Path(__file__).parent / "adaptag_models"
MODELS = {"english": make_english, "chinese": make_chinese}


def make(names: list[str]) -> None:
    """Make the models of some languages, or all."""
    data = data_folder()
    for name in names or MODELS:
        MODELS[name](data, OUTPUT)


if __name__ == "__main__":
    try:
        make(sys.argv[1:])
    except AdaptagError as error:
        sys.exit(f"models.make: {error}")
