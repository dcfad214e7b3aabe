"""Bytes of a foreign file, of which nothing is read before its place is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BinaryFile"]

WORD = np.dtype("<u4")


@dataclass(frozen=True, eq=False)
class BinaryFile:
    """The bytes of a file, or of a part of it.

    Attributes:
        data: The bytes.
        name: The file, for messages.
        format: The format that it should have, for messages.
    """

    data: bytes
    name: str
    format: str

    def fail(self, message: str) -> ModelError:
        """The error of a damaged file."""
        return ModelError(f"{self.name}: damaged {self.format} model: {message}")

    def array(self, dtype: np.dtype[Any], offset: int, count: int, what: str) -> NDArray[Any]:
        """A view of ``count`` numbers or records; raise where they are not all in the file."""
        end = offset + count * dtype.itemsize
        if not 0 <= offset <= end <= len(self.data):
            raise self.fail(
                f"{what} at bytes {offset} to {end}; the file has {len(self.data)} bytes"
            )
        return np.frombuffer(self.data, dtype, count, offset)

    def words(self, offset: int, count: int, what: str) -> list[int]:
        """Some numbers of 32 bits, of which there are few."""
        words: list[int] = self.array(WORD, offset, count, what).tolist()
        return words

    def magic(self, offset: int, expected: bytes, what: str) -> None:
        """Raise unless these bytes stand here."""
        found = self.data[offset : offset + len(expected)]
        if found != expected:
            raise self.fail(f"{what} begins with {found!r}; expected {expected!r}")

    def part(self, offset: int, size: int, what: str) -> BinaryFile:
        """A copy of a part of the file."""
        part = self.array(np.dtype(np.uint8), offset, size, what).tobytes()
        return BinaryFile(part, self.name, self.format)
