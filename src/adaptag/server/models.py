"""The models that are served, and their files, which are loaded again when they are replaced."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptag.errors import AdaptagError, ParameterError, WrongKindError, unknown
from adaptag.loading import load_file
from adaptag.storage.files import unreadable
from adaptag.storage.ready import model_file
from adaptag.web.guards import RequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from adaptag.loading import AnyModel

__all__ = ["Models", "ServedModel", "Signature"]

logger = logging.getLogger("adaptag.server")

KINDS = ("model", "segmenter", "classifier")
PURPOSES = {"model": "tags", "segmenter": "segments", "classifier": "classifies"}


@dataclass(frozen=True)
class Signature:
    """What changes when a file is replaced or overwritten."""

    modified: int
    inode: int
    size: int

    @classmethod
    def of(cls, path: Path) -> Signature:
        """That of a file."""
        try:
            status = path.stat()
        except OSError as error:
            raise unreadable(path, error) from None
        return cls(status.st_mtime_ns, status.st_ino, status.st_size)


@dataclass
class ServedModel:
    """A model, its name, and the file that it was loaded from.

    Attributes:
        name: The name that requests choose it by.
        path: Its file.
        model: The model.
        signature: The state of the file when it was loaded.
        seconds: How long loading took.
        loads: How often it was loaded.
        error: Why the file that is there now was not loaded; None if it was.
    """

    name: str
    path: Path
    model: AnyModel
    signature: Signature
    seconds: float
    loads: int = 1
    error: str | None = None
    _seen: Signature | None = field(default=None, repr=False)
    _tried: Signature | None = field(default=None, repr=False)

    @classmethod
    def load(cls, name: str, path: Path) -> ServedModel:
        """Load a model; its file is copied into memory, so that it may be overwritten."""
        signature = Signature.of(path)
        begin = time.perf_counter()
        model = load_file(path, copy=True)
        _prepare(model)
        return cls(name, path, model, signature, time.perf_counter() - begin)

    @property
    def kind(self) -> str:
        """The kind of model: ``model``, ``segmenter`` or ``classifier``."""
        return self.model.kind

    @property
    def version(self) -> str:
        """When the file was written."""
        seconds = self.signature.modified / 1e9
        return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")

    def has_changed(self) -> bool:
        """Whether there is a new file, which is the same since the last call, and not tried yet."""
        try:
            now = Signature.of(self.path)
        except AdaptagError as error:
            if self.error is None:
                self._fail(str(error))
            return False
        settled, self._seen = now == self._seen, now
        if now == self.signature:
            self.error = None
            return False
        return settled and now != self._tried

    async def reload(self) -> None:
        """Load the new file in another thread; the old model serves until the new one is ready."""
        self._tried = self._seen
        try:
            new = await asyncio.to_thread(ServedModel.load, self.name, self.path)
            if new.kind != self.kind:
                raise WrongKindError(str(self.path), new.kind, self.kind)
        except (AdaptagError, MemoryError) as error:
            self._fail(str(error) or type(error).__name__)
            return
        self.model, self.signature, self.seconds = new.model, new.signature, new.seconds
        self.loads += 1
        self.error = None
        logger.info("%s: loaded %s again in %.2f s", self.name, self.path, self.seconds)

    def _fail(self, message: str) -> None:
        self.error = message
        logger.warning("%s: the old model stays: %s", self.name, message)

    def to_dict(self) -> dict[str, Any]:
        """What there is to know about it, ready for JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "file": self.path.name,
            "version": self.version,
            "load_seconds": round(self.seconds, 4),
            "loads": self.loads,
            "error": self.error,
        }


class Models:
    """The models that are served, by name."""

    def __init__(self, models: Iterable[ServedModel]) -> None:
        self._models = {served.name: served for served in models}

    @classmethod
    def load(cls, paths: Iterable[str | Path]) -> Models:
        """Load models from files; ``NAME=FILE`` gives one another name than that of its file."""
        named: dict[str, Path] = {}
        for given in paths:
            name, path = _named(given)
            if name in named:
                raise ParameterError(
                    f"two models have the name {name!r}: {named[name]} and {path}; name them: "
                    "NAME=FILE"
                )
            named[name] = path
        return cls(ServedModel.load(name, path) for name, path in named.items())

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._models.values())

    def __len__(self) -> int:
        return len(self._models)

    def find(self, name: str | None, kinds: tuple[str, ...] = KINDS) -> ServedModel:
        """The model that a request asks for, or the only one of these kinds if it names none."""
        if name is not None:
            served = self._models.get(name)
            if served is None:
                raise RequestError(unknown("model", name, self._models), 404)
            if served.kind not in kinds:
                purpose = PURPOSES[served.kind]
                raise RequestError(f"the model {name!r} {purpose}; it cannot do this", 409)
            return served
        able = [served for served in self if served.kind in kinds]
        if len(able) == 1:
            return able[0]
        if not able:
            raise RequestError(f"no model is served that {PURPOSES[kinds[0]]}", 404)
        names = ", ".join(repr(served.name) for served in able)
        raise RequestError(f"several models are served; name one of them as 'model': {names}")

    async def watch(self, seconds: float = 1.0) -> None:
        """Look for new files, for ever."""
        while True:
            await asyncio.sleep(seconds)
            for served in self:
                if served.has_changed():
                    await served.reload()


def _named(given: str | Path) -> tuple[str, Path]:
    if isinstance(given, str) and "=" in given and not Path(given).exists():
        name, _, path = given.partition("=")
        if not name or not path:
            raise ParameterError(f"{given!r} is no model; allowed: FILE or NAME=FILE")
        return name, Path(model_file(path))
    return Path(given).stem, Path(model_file(given))


def _prepare(model: AnyModel) -> None:
    """Build what is built when a model is first used, so that no request waits for it."""
    if model.kind == "segmenter":
        model.cut("")  # type: ignore[union-attr]
    elif model.kind == "classifier":
        model.predict([])  # type: ignore[union-attr]
    else:
        model.tag_all([])  # type: ignore[union-attr]
