"""The errors a user can cause; every message says where, what was found, what is allowed."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "AdaptagError",
    "AdaptagWarning",
    "CorpusError",
    "CorpusWarning",
    "DivergenceError",
    "DivergenceWarning",
    "FileError",
    "FileWarning",
    "MemoryLimitError",
    "MissingFileError",
    "ModelError",
    "NotTrainedError",
    "ParameterError",
    "TemplateError",
    "UnusedArgumentWarning",
    "WrongKindError",
    "counted",
    "described",
    "unknown",
]


class AdaptagError(ValueError):
    """Base of all errors that bad input can cause."""


class FileError(AdaptagError):
    """A file cannot be opened, read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """A file does not exist."""


class CorpusError(AdaptagError):
    """A data file cannot be read: the message starts with ``file:line``."""


class AdaptagWarning(UserWarning):
    """Base of all warnings."""


class CorpusWarning(AdaptagWarning):
    """Data can be used, but probably not as it was meant, or only slowly."""


class FileWarning(AdaptagWarning):
    """A file could not be written, and work went on without it."""


class DivergenceWarning(AdaptagWarning):
    """Training diverged, and ended with the last weights that are finite."""


class TemplateError(AdaptagError):
    """A feature template is wrong: the message starts with ``template:line:column``."""


class ParameterError(AdaptagError):
    """A parameter is unknown or outside its bounds."""


class UnusedArgumentWarning(UserWarning):
    """An argument of another program has no meaning here, and is ignored."""


class DivergenceError(AdaptagError):
    """Training diverged: a loss or a weight is not finite."""


class MemoryLimitError(AdaptagError, MemoryError):
    """Work needs more memory than the machine, its cgroup or ``ulimit`` has."""


class ModelError(AdaptagError):
    """A model or dataset file is damaged, truncated or of another version."""


class WrongKindError(ModelError):
    """A file holds something else than what it was opened as.

    Attributes:
        name: The file.
        found: The kind of file that it is.
        expected: The kind of file that was expected.
    """

    def __init__(self, name: str, found: str, expected: str) -> None:
        super().__init__(name, found, expected)
        self.name, self.found, self.expected = name, found, expected

    def __str__(self) -> str:
        return f"{self.name}: holds an adaptag {self.found}; expected an adaptag {self.expected}"


class NotTrainedError(ModelError, AttributeError):
    """A model is used before it is trained."""


def counted(n: int, noun: str, plural: str = "") -> str:
    """A number with its noun: 1 column, 2 columns; the plural where it is not that with an s."""
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"


def described(value: object) -> str:
    """Say what was found where something else is allowed, as the core does."""
    if value is None:
        return "None"
    text = reprlib.repr(value)
    shown = f"{text[:40]}…" if len(text) > 40 else text
    return f"the {'string' if isinstance(value, str) else type(value).__name__} {shown}"


def unknown(kind: str, name: object, allowed: Iterable[str]) -> str:
    """Return the message that ``name`` is not a ``kind``, with what was probably meant."""
    names = sorted(allowed)
    if not isinstance(name, str):
        return f"the {kind} is {described(name)}; allowed: {', '.join(names)}"
    import difflib

    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"allowed: {', '.join(names)}"
    return f"unknown {kind} {name!r}; {hint}"
