"""Ready models: names that stand for files of the package ``adaptag-models``."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptag.errors import MissingFileError, ParameterError, unknown

if TYPE_CHECKING:
    from adaptag.storage.files import PathLike

__all__ = ["INSTALL", "READY", "WORDS", "card_of", "is_ready", "model_file"]

READY = ("en-pos", "zh-words", "zh-pos")
WORDS = "zh-words"  # what cuts text where no model is given
PACKAGE = "adaptag_models"
INSTALL = 'pip install "adaptag[models]"'


def is_ready(path: object) -> bool:
    """Whether a path is the name of a ready model, and not that of a file or a folder."""
    return isinstance(path, (str, os.PathLike)) and str(path) in READY and not Path(path).exists()


def model_file(path: PathLike) -> PathLike:
    """The file of a ready model; any other path stays as it is."""
    return folder(str(path)) / f"{path}.adaptag" if is_ready(path) else path


def card_of(name: str) -> dict[str, Any]:
    """The model card of a ready model: its data, licence, scores and size."""
    if name not in READY:
        raise ParameterError(unknown("ready model", name, READY))
    path = folder(name) / f"{name}.json"
    card: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return card


def folder(name: str) -> Path:
    """The folder of the package; raise where it is not installed."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or package.origin is None:
        raise MissingFileError(
            f"{name}: there is no such file, and the package of the ready models is not "
            f"installed: {INSTALL}"
        )
    return Path(package.origin).parent
