"""Foreign models by the first bytes of their files.

Readers and writers are imported when a file needs them, for most files are those of adaptag.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from adaptag.errors import ParameterError, unknown
from adaptag.storage.files import first_bytes, read_bytes, replace_file, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from adaptag.features.index import FeatureIndex
    from adaptag.model.linear_chain import LinearChain
    from adaptag.storage.files import PathLike

__all__ = ["FORMATS", "read_foreign", "write_foreign"]

READERS = {  # module and function by the first bytes
    b"lCRF": "crfsuite.read_crfsuite",
    b"d\0\0\0\0\0\0\0": "crfpp.read_crfpp",
    b"version: ": "crfpp.read_crfpp_text",
    b"#mdl#": "wapiti.read_wapiti",
}
FORMATS = {  # that are written
    "crfsuite": "crfsuite.crfsuite_bytes",
    "crf++": "crfpp.crfpp_text",
    "wapiti": "wapiti.wapiti_bytes",
}


def read_foreign(path: PathLike) -> LinearChain[FeatureIndex] | None:
    """Read the model file of another program; None where the first bytes are of none."""
    head = first_bytes(path, max(map(len, READERS)))
    for magic, name in READERS.items():
        if head.startswith(magic):
            reader: Callable[[bytes, str], LinearChain[FeatureIndex]] = _function(name)
            return reader(read_bytes(path), shown(path))
    return None


def write_foreign(chain: LinearChain[Any], path: PathLike, format: str) -> None:  # noqa: A002
    """Write a model atomically, as another program reads it.

    Args:
        chain: The model.
        path: The file.
        format: The format of the file: ``crfsuite``, ``crf++`` (the text form) or ``wapiti``.
    """
    if format not in FORMATS:
        raise ParameterError(unknown("format", format, FORMATS))
    data: bytes = _function(FORMATS[format])(chain)
    with replace_file(path) as file:
        file.write(data)


def _function(name: str) -> Any:
    module, function = name.split(".")
    return getattr(importlib.import_module(f"adaptag.foreign.{module}"), function)
