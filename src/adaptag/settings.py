"""Settings: values that are declared once, each with its default, its bounds and its help.

A group of settings is a plain dataclass whose fields are made by ``setting``. Checks, command-line
options, the arguments of estimators, the record of a model and the tables of the documentation are
derived from these declarations, as they are from the parameters that a training algorithm declares.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import os
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from adaptag.errors import ParameterError, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from typing_extensions import Self

    Value = float | str

__all__ = [
    "AUTO",
    "Parameter",
    "Settings",
    "redeclared",
    "setting",
    "split_options",
    "with_options",
]

AUTO = "auto"
BOUNDS = re.compile(r"(auto or )?(integer )?([\[(])(\S+), (\S+)([\])])")
DECLARATION = "declaration"  # the key in the metadata of a dataclass field

F = TypeVar("F", bound="Callable[..., Any]")


@dataclass(frozen=True)
class Parameter:
    """The declaration of one value.

    Attributes:
        name: Its name in Python and, with ``--`` and dashes, on the command line.
        default: Its value unless another one is given.
        bounds: What is allowed, as text: an interval such as ``(0, 1]``, with ``integer`` before it
            for whole numbers and ``auto or`` where ``auto`` is allowed too; names such as
            ``a | b``; or nothing where any text is allowed.
        help: What it does, in whole sentences.
        default_text: What stands for the default in tables and help, where it is None.
        short: A short form of the command-line option, such as ``-t``.
        panel: The panel of the command-line help that lists it.
        search: The values that ``adaptag tune`` tries when this one is searched.
        flag: The command-line form of a value that is true or false, such as ``--x/--no-x``.
        option: Whether the command line has an option for it.
        start: Where ``auto`` is allowed: the number that the search starts from, and that is used
            where the data cannot be sampled.
    """

    name: str
    default: Any
    bounds: str
    help: str
    default_text: str = ""
    short: str = ""
    panel: str = ""
    search: tuple[Value, ...] = ()
    flag: str = ""
    option: bool = True
    start: float = math.nan

    @property
    def choices(self) -> tuple[str, ...]:
        """The names that are allowed, where it is not a number."""
        return tuple(self.bounds.split(" | ")) if " | " in self.bounds else ()

    @property
    def integer(self) -> bool:
        """Whether only whole numbers are allowed."""
        return "integer" in self.bounds

    @property
    def automatic(self) -> bool:
        """Whether ``auto`` is allowed: the value is then found on a part of the data."""
        return self.bounds.startswith(f"{AUTO} or ")

    @property
    def is_flag(self) -> bool:
        """Whether it is true or false."""
        return isinstance(self.default, bool) or bool(self.flag)

    @property
    def type(self) -> type:
        """The type of a value on the command line."""
        if self.is_flag:
            return bool
        if not self.bounds or self.choices or self.automatic:
            return str
        return int if self.integer else float

    @property
    def shown_default(self) -> str:
        """The default as text."""
        if self.default is None or self.default_text:
            return self.default_text or "none"
        if isinstance(self.default, bool):
            return "yes" if self.default else "no"
        return self.default if isinstance(self.default, str) else f"{self.default:g}"

    def check(self, value: Any) -> Any:
        """Return the value, a number as float, or raise where it is outside the bounds."""
        if value is None and self.default is None:
            return None
        if self.is_flag:
            if not isinstance(value, bool):
                raise ParameterError(f"{self.name} is {value!r}; allowed: True, False")
            return value
        if self.choices:
            if not isinstance(value, str) or value not in self.choices:
                allowed = ", ".join(self.choices)
                raise ParameterError(f"{self.name} is {value!r}; allowed: {allowed}")
            return value
        if not self.bounds or (self.automatic and isinstance(value, str) and value == AUTO):
            return value
        return self._check_number(value)

    def _check_number(self, value: Any) -> float:
        match = BOUNDS.fullmatch(self.bounds)
        assert match is not None, self.bounds
        _, integer, left, low, high, right = match.groups()
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        above = number > float(low) or (left == "[" and number == float(low))
        below = number < float(high) or (right == "]" and number == float(high))
        if not (above and below) or (integer and not number.is_integer()):
            raise ParameterError(f"{self.name} is {value!r}; allowed: {self.bounds}")
        return number

    def number(self, value: Value) -> float:
        """The value as the core takes it: a name by its place among the choices."""
        return float(self.choices.index(str(value)) if self.choices else value)


def setting(default: Any, help: str, bounds: str = "", **details: Any) -> Any:  # noqa: A002
    """Declare a field of a ``Settings`` dataclass; the details are those of ``Parameter``."""
    declaration = Parameter("", default, bounds, help, **details)
    return field(default=default, metadata={DECLARATION: declaration})


def redeclared(
    group: type[Settings], name: str, *, positional: bool = False, **changes: Any
) -> Any:
    """Declare a field of a group again, with changes to its declaration.

    Args:
        group: The group that declares it.
        name: Its name.
        positional: Whether it may be a positional argument.
        **changes: What differs, by the names of ``Parameter``.
    """
    declaration = dataclasses.replace(group.declared()[name], name="", **changes)
    return field(
        default=declaration.default, metadata={DECLARATION: declaration}, kw_only=not positional
    )


@dataclass(kw_only=True)
class Settings:
    """A group of settings: a dataclass whose fields are made by ``setting``.

    Values are checked by ``check``, not when they are stored, as scikit-learn requires of
    estimators, which are dataclasses of the same fields.
    """

    @classmethod
    @cache
    def declared(cls) -> dict[str, Parameter]:
        """The declarations of the fields, by name."""
        return {
            item.name: dataclasses.replace(item.metadata[DECLARATION], name=item.name)
            for item in dataclasses.fields(cls)
            if DECLARATION in item.metadata
        }

    @classmethod
    def taken_from(cls, source: Any, **changes: Any) -> Self:
        """Copy the settings from the attributes of an object that has them all, and check them."""
        names = [item.name for item in dataclasses.fields(cls) if item.name not in changes]
        return cls(**{name: getattr(source, name) for name in names}, **changes).check()

    def check(self) -> Self:
        """Raise where a value is outside its bounds; return the settings, with plain numbers."""
        for name, declaration in self.declared().items():
            value = getattr(self, name)
            checked = declaration.check(value)
            if isinstance(checked, float) and not isinstance(value, int):
                setattr(self, name, int(checked) if declaration.integer else checked)
        return self

    def given(self) -> dict[str, Any]:
        """Return the settings that differ from their defaults, by name."""
        return {
            name: getattr(self, name)
            for name, declaration in self.declared().items()
            if getattr(self, name) != declaration.default
        }

    def record(self) -> dict[str, Any]:
        """All values, ready for JSON: what a model records of its training."""
        return {name: _plain(getattr(self, name)) for name in self.declared()}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, os.PathLike):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return getattr(value, "name", None) or repr(value)


def split_options(
    options: Mapping[str, Any], *groups: type[Settings], also: Iterable[str] = ()
) -> tuple[dict[str, Any], ...]:
    """Sort keyword arguments by the group of settings that declares them.

    Args:
        options: The keyword arguments of a caller.
        groups: The groups, each a dataclass.
        also: Further names that are allowed, such as the parameters of the algorithms.

    Returns:
        The arguments of each group, and as the last one those of ``also``.

    Raises:
        ParameterError: A name is in none of them; the message suggests the closest of all names.
    """
    names = [list(group.declared()) for group in groups]
    further = list(also)
    allowed = {name for group in names for name in group} | set(further)
    for name in options:
        if name not in allowed:
            raise ParameterError(unknown("argument", name, allowed))
    parts = [{name: options[name] for name in group if name in options} for group in names]
    known = {name for group in names for name in group}
    return (*parts, {n: options[n] for n in further if n in options and n not in known})


def with_options(*groups: type[Settings], parameters: bool = False) -> Callable[[F], F]:
    """Give a function that takes ``**options`` the signature of its settings.

    ``inspect.signature``, ``help`` and notebooks then show each setting with its default, as if it
    had been written out.

    Args:
        groups: The groups whose settings the function takes.
        parameters: Whether it takes the parameters of the training algorithms as well.
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        own_names = {p.name for p in own}
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=declaration.default)
            for group in groups
            for name, declaration in group.declared().items()
            if name not in own_names
        ]
        if parameters:
            added.append(inspect.Parameter("algorithm_parameters", inspect.Parameter.VAR_KEYWORD))
        function.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*own, *added]
        )
        return function

    return decorate
