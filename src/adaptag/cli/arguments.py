"""Options and arguments of commands: declared here, parsed by typer, or here where that is simple.

Importing typer takes longer than reading a training file. So commands declare what they take with
``option`` and ``argument``, and a plain command line, without mistakes and without ``--help``, is
parsed from these declarations. Everything else is left to typer, which gets the same declarations.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

__all__ = ["Declared", "argument", "for_typer", "option", "parse_plain"]

NUMBERS = {int: re.compile(r"\d+"), float: re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?")}
PLAIN_DETAILS = {"help", "metavar", "min", "max", "show_default", "rich_help_panel"}


@dataclass(frozen=True)
class Declared:
    """The declaration of an option or an argument of a command.

    Attributes:
        positional: Whether it is an argument, which has no name on the command line.
        names: The names of an option, such as ``--model`` and ``-m``; by default that of the
            parameter. ``--x/--no-x`` names both forms of a flag.
        details: What else typer is told: ``help``, ``metavar``, ``min``, ``max`` and others.
    """

    positional: bool
    names: tuple[str, ...]
    details: dict[str, Any] = field(hash=False)

    def for_typer(self) -> Any:
        """The declaration as typer's."""
        import typer

        return (typer.Argument if self.positional else typer.Option)(*self.names, **self.details)


def option(*names: str, **details: Any) -> Declared:
    """Declare an option, in the annotation of a parameter."""
    return Declared(False, names, details)


def argument(**details: Any) -> Declared:
    """Declare an argument, in the annotation of a parameter."""
    return Declared(True, (), details)


def for_typer(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the declarations of typer in place of ours."""
    signature = inspect.signature(command, eval_str=True)
    parameters = [_for_typer(parameter) for parameter in signature.parameters.values()]

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        command(*args, **kwargs)

    wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapped


def _for_typer(parameter: inspect.Parameter) -> inspect.Parameter:
    if get_origin(parameter.annotation) is not Annotated:
        return parameter
    kind, declared, *_ = get_args(parameter.annotation)
    if not isinstance(declared, Declared):
        return parameter
    return parameter.replace(annotation=Annotated[kind, declared.for_typer()])


@dataclass
class _Taken:
    """How a parameter is written on the command line."""

    name: str
    type: type
    details: dict[str, Any]


def parse_plain(command: Callable[..., None], words: Sequence[str]) -> dict[str, Any] | None:
    """Parse a plain command line: the arguments of the command, or None where typer must parse it.

    Plain are options with their values as ``--name value`` or ``--name=value``, each at most once,
    flags, and arguments, all of simple types and within their bounds.
    """
    positional: list[_Taken] = []
    options: dict[str, _Taken] = {}
    flags: dict[str, tuple[str, bool]] = {}
    required = set()
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        taken, declared = _taken(parameter)
        if taken is None:
            return None
        if parameter.default is inspect.Parameter.empty:
            required.add(parameter.name)
        if declared.positional:
            positional.append(taken)
        elif taken.type is bool:
            for name in declared.names or _flag_names(parameter.name):
                yes, _, no = name.partition("/")
                flags |= {yes: (taken.name, True)} | ({no: (taken.name, False)} if no else {})
        else:
            options |= dict.fromkeys(declared.names or [_option_name(parameter.name)], taken)
    found: dict[str, Any] = {}
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        name, equals, value = word.partition("=")
        if word in flags:
            key, given = flags[word]
        elif name in options and name.startswith("--" if equals else "-"):
            if not equals and not rest:
                return None
            key, given = options[name].name, _value(options[name], value if equals else rest.pop())
        elif positional and _is_value(word):
            key, given = positional[0].name, _value(positional.pop(0), word)
        else:
            return None
        if given is None or key in found:
            return None
        found[key] = given
    return found if required <= found.keys() else None


def _taken(parameter: inspect.Parameter) -> tuple[_Taken | None, Declared]:
    """How a parameter is written, None where it is not simple; and its declaration."""
    nothing = Declared(False, (), {})
    if get_origin(parameter.annotation) is not Annotated:
        return None, nothing
    kind, declared, *others = get_args(parameter.annotation)
    kinds = [item for item in get_args(kind) or (kind,) if item is not NoneType]
    simple = len(kinds) == 1 and kinds[0] in (str, int, float, bool, Path) and not others
    if not simple or not isinstance(declared, Declared) or declared.details.keys() - PLAIN_DETAILS:
        return None, nothing
    return _Taken(parameter.name, kinds[0], declared.details), declared


def _value(taken: _Taken, word: str) -> Any:
    """The value that a word stands for; None where it is not a plain one."""
    if not _is_value(word):
        return None
    if taken.type in NUMBERS:
        if not NUMBERS[taken.type].fullmatch(word):
            return None
        number = taken.type(word)
        low, high = taken.details.get("min"), taken.details.get("max")
        inside = (low is None or number >= low) and (high is None or number <= high)
        return number if inside else None
    return taken.type(word)


def _is_value(word: str) -> bool:
    return word == "-" or (word != "" and not word.startswith("-"))


def _option_name(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


def _flag_names(parameter: str) -> list[str]:
    name = parameter.replace("_", "-")
    return [f"--{name}/--no-{name}"]
