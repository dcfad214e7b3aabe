"""What the component and the tokenizer share: a model that is loaded late and travels with them."""

from __future__ import annotations

import copyreg
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from spacy import util

from adaptag.errors import ModelError, NotTrainedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Self

    from adaptag.storage.files import PathLike
    from adaptag.storage.stored import Stored

__all__ = ["CarriesModel"]

FILE = "model.adaptag"

M = TypeVar("M", bound="Stored")


class CarriesModel(Generic[M]):
    """Something with a model: loaded from its path when it is first used, and saved inside.

    A pipeline keeps the path in its configuration, and need not find the file there again once it
    was saved with the model inside: so the path is not looked at before the model is needed.
    """

    model_kind: ClassVar[str]

    def __init__(self, path: PathLike | None) -> None:
        self._path = None if path is None else Path(path).absolute()
        self._model: M | None = None

    @staticmethod
    def _model_class() -> type[M]:
        """The class of the model."""
        raise NotImplementedError

    @property
    def adaptag_model(self) -> M:
        """The model.

        Raises:
            NotTrainedError: There is none yet.
        """
        if self._model is None:
            if self._path is None:
                raise NotTrainedError(
                    f"there is no {self.model_kind} yet: give its file as the setting 'model', or "
                    "train it: nlp.initialize(lambda: examples)"
                )
            self._model = self._model_class().load(self._path)
        return self._model

    @adaptag_model.setter
    def adaptag_model(self, model: M) -> None:
        self._model = model

    @property
    def has_model(self) -> bool:
        """Whether there is a model, or a file to load it from."""
        return self._model is not None or self._path is not None

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Write the model to bytes, as spaCy does.

        Args:
            exclude: Names of what is left out: ``model``.
        """
        data: bytes = util.to_bytes(
            {"model": lambda: self.adaptag_model.to_bytes() if self.has_model else b""},
            tuple(exclude),
        )
        return data

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Read what ``to_bytes`` wrote.

        Args:
            data: The bytes.
            exclude: Names of what is left as it is: ``model``.
        """
        util.from_bytes(data, {"model": self._set_bytes}, tuple(exclude))
        return self

    def _set_bytes(self, data: bytes) -> None:
        if data:
            self._model = self._model_class().from_bytes(data)

    def to_disk(self, path: PathLike, *, exclude: Iterable[str] = ()) -> None:
        """Write the model into a folder, which is made where it does not exist.

        Args:
            path: The folder.
            exclude: Names of what is left out: ``model``.
        """
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        if "model" not in tuple(exclude) and self.has_model:
            self.adaptag_model.save(folder / FILE)

    def from_disk(self, path: PathLike, *, exclude: Iterable[str] = ()) -> Self:
        """Read what ``to_disk`` wrote.

        Args:
            path: The folder.
            exclude: Names of what is left as it is: ``model``.
        """
        file = Path(path) / FILE
        if "model" not in tuple(exclude) and file.exists():
            self._model = self._model_class().load(file)
        elif "model" not in tuple(exclude) and not self.has_model and not file.parent.is_dir():
            raise ModelError(f"{path}: no such folder; it is what to_disk writes")
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the model itself, which other processes need not find by its path."""
        if self.has_model:
            self._model = self.adaptag_model
        return copyreg.__newobj__, (type(self),), dict(self.__dict__)  # type: ignore[attr-defined]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
