"""Arrays and a JSON header in one safetensors file, checked, and mapped where it is large.

The layout is that of safetensors: the length of the header (8 bytes), the header as JSON, then the
arrays without gaps, here ordered by item size so that all are aligned. Ours has a first tensor,
``checksum``: a checksum of everything before it, and one of the other arrays. The first is always
verified. The second is verified for files up to 64 MiB, which takes milliseconds, and on request
for larger ones, so that a model of any size is ready at once.

The safetensors package reads these files too; its NumPy loader copies, so reading is done here.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import re
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.errors import MissingFileError, ModelError, WrongKindError
from adaptag.storage.files import check_path, first_bytes, unreadable
from adaptag.storage.ready import model_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from adaptag.storage.files import PathLike, Source

    Tensors = Mapping[str, NDArray[Any]]
    Buffer = bytes | mmap.mmap | NDArray[np.uint8]

__all__ = ["kind_of", "read_tensors", "tensors_from_buffer", "write_tensors"]

DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U8": np.dtype("u1"),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
CHECKSUM = "checksum"
CHECKSUM_SIZE = 16
VERIFIED_SIZE = 64 << 20
READ_SIZE = 256 << 20  # up to which a file is read into memory; larger ones are mapped
MAX_HEADER = 100 << 20


def write_tensors(file: IO[bytes], kind: str, header: Mapping[str, Any], tensors: Tensors) -> None:
    """Write arrays and a JSON-ready header; ``kind`` names the kind of file."""
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    order = sorted(arrays, key=lambda name: -arrays[name].dtype.itemsize)
    entries: dict[str, Any] = {"__metadata__": {"kind": kind, "header": json.dumps(header)}}
    entries[CHECKSUM] = _entry(np.dtype("<u8"), (2,), 0)
    end = CHECKSUM_SIZE
    for name in order:
        entries[name] = _entry(arrays[name].dtype, arrays[name].shape, end)
        end = entries[name]["data_offsets"][1]
    text = json.dumps(entries, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    head = len(text).to_bytes(8, "little") + text
    views = [arrays[name].reshape(-1).view(np.uint8) for name in order]
    file.write(head)
    file.write(_checksums(np.frombuffer(head, np.uint8), views).tobytes())
    for view in views:
        file.write(view.data)


def read_tensors(
    path: PathLike, kind: str, *, verify: bool = False, copy: bool = False
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a file, or a ready model: its header, and its arrays as read-only views.

    A mapped file that another process truncates, as ``cp new old`` does, ends this process at the
    next access. So files up to 256 MiB are copied into memory, and larger ones with ``copy``.
    """
    check_path(path)
    try:
        with Path(model_file(path)).open("rb") as file:
            buffer: mmap.mmap | bytes
            if copy or os.fstat(file.fileno()).st_size <= READ_SIZE:
                buffer = file.read()
            else:
                buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except MissingFileError:  # of a ready model: it says what to install
        raise
    except OSError as error:
        raise unreadable(path, error) from None
    return tensors_from_buffer(buffer, kind, name=str(path), verify=verify)


def kind_of(path: Source) -> str | None:
    """Return the kind of an adaptag file, by its first bytes; None if it is not one."""
    if not isinstance(path, (str, os.PathLike)):
        return None
    check_path(path)
    head = first_bytes(model_file(path), 64)
    match = re.match(rb'.{8}\{"__metadata__": \{"kind": "(\w+)"', head, re.DOTALL)
    return match[1].decode() if match else None


def tensors_from_buffer(
    buffer: Buffer, kind: str, *, name: str = "<bytes>", verify: bool = False
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Split the content of a file: its header, and its arrays as views of the buffer."""
    data = np.frombuffer(buffer, np.uint8) if len(buffer) else np.empty(0, np.uint8)
    length = int.from_bytes(data[:8].tobytes(), "little") if len(data) >= 8 else MAX_HEADER
    start = 8 + length
    if length > min(MAX_HEADER, len(data) - 24):
        raise ModelError(f"{name}: not an adaptag {kind}: no header, or truncated")
    sums = data[start : start + CHECKSUM_SIZE].view("<u8")
    if sums[0] != _checksums(data[:start], [])[0]:
        raise ModelError(f"{name}: not an adaptag {kind}, or its header is damaged")
    try:
        entries = json.loads(data[8:start].tobytes())
        metadata = entries.pop("__metadata__")
        actual_kind = metadata["kind"]
        header: dict[str, Any] = json.loads(metadata["header"])
        if not isinstance(header, dict):
            raise TypeError("it is no object")
        views = {key: _view(data[start:], entry) for key, entry in entries.items()}
        del views[CHECKSUM]
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise ModelError(f"{name}: the header is malformed: {error}") from None
    if actual_kind != kind:
        raise WrongKindError(name, actual_kind, kind)
    if (
        max((entry["data_offsets"][1] for entry in entries.values()), default=0)
        != len(data) - start
    ):
        raise ModelError(f"{name}: truncated, or bytes were added")
    if verify or len(data) <= VERIFIED_SIZE:
        order = sorted(views, key=lambda key: int(entries[key]["data_offsets"][0]))
        parts = [views[key].reshape(-1).view(np.uint8) for key in order]
        if sums[1] != _checksums(data[:start], parts)[1]:
            raise ModelError(f"{name}: the arrays are damaged: the checksum does not match")
    return header, views


def _checksums(head: NDArray[np.uint8], parts: list[NDArray[np.uint8]]) -> NDArray[np.uint64]:
    total = 0
    for part in parts:
        total = core.checksum(part, total)
    return np.array([core.checksum(head, 0), total], "<u8")


def _entry(dtype: np.dtype[Any], shape: tuple[int, ...], begin: int) -> dict[str, Any]:
    size = dtype.itemsize * math.prod(shape)
    return {"dtype": NAMES[dtype], "shape": list(shape), "data_offsets": [begin, begin + size]}


def _view(data: NDArray[np.uint8], entry: dict[str, Any]) -> NDArray[Any]:
    begin, end = entry["data_offsets"]
    shape = tuple(int(n) for n in entry["shape"])
    dtype = DTYPES[entry["dtype"]]
    if not 0 <= begin <= end <= len(data) or end - begin != dtype.itemsize * math.prod(shape):
        raise ValueError("a tensor does not fit its place")
    view: NDArray[Any] = data[begin:end].view(dtype).reshape(shape)
    if not view.flags.aligned:
        raise ValueError("a tensor is not aligned")
    return view
