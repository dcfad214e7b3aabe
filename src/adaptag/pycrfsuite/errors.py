"""The errors of the API of python-crfsuite."""

from __future__ import annotations

from adaptag.errors import AdaptagError

__all__ = ["CRFSuiteError", "LabelError", "TaggerClosedError", "WrongTypeError"]


class CRFSuiteError(AdaptagError):
    """Training failed; python-crfsuite raises it with a number, adaptag with a message.

    Attributes:
        code: The number or the message.
    """

    def __init__(self, code: int | str) -> None:
        super().__init__(f"CRFsuite error {code}" if isinstance(code, int) else code)
        self.code = code


class TaggerClosedError(CRFSuiteError, RuntimeError):
    """A tagger is used that has no model."""

    def __init__(self) -> None:
        super().__init__("the tagger has no model; call open or open_inmemory first")


class LabelError(CRFSuiteError, RuntimeError):
    """A label is not one of the model's."""


class WrongTypeError(CRFSuiteError, TypeError):
    """A label is not a string, or a group not a number."""
