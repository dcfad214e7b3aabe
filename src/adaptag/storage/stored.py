"""What models, segmenters and indexes share: a file of their own, bytes, pickles."""

from __future__ import annotations

import io
from dataclasses import fields
from typing import IO, TYPE_CHECKING, Any, ClassVar

from adaptag.errors import ParameterError, described
from adaptag.storage.files import replace_file
from adaptag.storage.tensors import read_tensors, tensors_from_buffer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from typing_extensions import Self

    from adaptag.storage.files import PathLike
    from adaptag.storage.tensors import Buffer

__all__ = ["PickledFields", "Stored"]


class Stored:
    """Something with a safetensors file; a subclass says how it is written and read.

    Attributes:
        kind: The kind of file, as its header names it.
    """

    kind: ClassVar[str]

    def save(self, path: PathLike) -> None:
        """Write a safetensors file atomically."""
        with replace_file(path) as file:
            self._write(file)

    def to_bytes(self) -> bytes:
        """The content of the file that ``save`` writes."""
        file = io.BytesIO()
        self._write(file)
        return file.getvalue()

    @classmethod
    def load(cls, path: PathLike, *, verify: bool = False, copy: bool = False) -> Self:
        """Read a saved file; one larger than 256 MiB is mapped into memory, and ready at once.

        Args:
            path: The file.
            verify: Whether to check the checksum of the arrays even in a file larger than 64 MiB.
            copy: Whether to read even a file larger than 256 MiB into memory instead of mapping
                it, so that it may be overwritten while it is in use.
        """
        return cls._from_file(*read_tensors(path, cls.kind, verify=verify, copy=copy), str(path))

    @classmethod
    def from_bytes(cls, data: Buffer) -> Self:
        """Read the bytes of a file; its arrays are views of them where they are used as stored."""
        try:
            memoryview(data)  # type: ignore[arg-type]
        except TypeError:
            raise ParameterError(
                f"the {cls.kind} is {described(data)}; allowed: the bytes of its file"
            ) from None
        return cls._from_file(*tensors_from_buffer(data, cls.kind), "<bytes>")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the safe bytes of the file."""
        return type(self).from_bytes, (self.to_bytes(),)

    def _write(self, file: IO[bytes]) -> None:
        raise NotImplementedError

    @classmethod
    def _from_file(
        cls, header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], name: str
    ) -> Self:
        raise NotImplementedError


class PickledFields:
    """A dataclass whose pickles hold its fields, not what cached properties have added to it."""

    def __getstate__(self) -> dict[str, Any]:
        """The fields by name."""
        return {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]
