"""Options and arguments of commands: declared here, parsed here where that is simple, or by typer.

Importing typer takes longer than tagging a small file. So commands declare what they take with
``option`` and ``argument``, and a plain command line, without mistakes and without ``--help``, is
parsed from these declarations. Everything else is left to typer, which gets the same declarations.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from adaptag.errors import ParameterError

__all__ = ["Declared", "argument", "for_typer", "option", "parse_plain"]

NUMBERS = {int: re.compile(r"\d+"), float: re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?")}
TYPES = (str, int, float, bool, Path)


@dataclass(frozen=True)
class Declared:
    """The declaration of an option or an argument of a command.

    Attributes:
        names: The names of an option, such as ``--model`` and ``-m``; by default that of the
            parameter. ``--x/--no-x`` names both forms of a flag.
        positional: Whether it is an argument, which has no name on the command line.
        help: What it does.
        metavar: What stands for its value in the help; by default its type.
        min: The smallest number that is allowed.
        max: The largest number that is allowed.
        show_default: Whether the help shows the default, or what it shows in its place.
        panel: The panel of the help that lists it.
    """

    names: tuple[str, ...] = ()
    positional: bool = False
    help: str = ""
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    show_default: bool | str = True
    panel: str | None = None

    def for_typer(self, kind: Any) -> Any:
        """The declaration as typer's, of a parameter of this type; flags show no value."""
        import typer

        return (typer.Argument if self.positional else typer.Option)(
            *self.names,
            help=self.help,
            metavar="" if bool in _alternatives(kind) else self.metavar,
            min=self.min,
            max=self.max,
            show_default=self.show_default,
            rich_help_panel=self.panel,
        )


def option(*names: str, **details: Any) -> Declared:
    """Declare an option, in the annotation of a parameter; the details are those of ``Declared``.

    A list of values is an option that can be repeated.
    """
    return Declared(names, **details)


def argument(**details: Any) -> Declared:
    """Declare an argument, in the annotation of a parameter."""
    return Declared(positional=True, **details)


def for_typer(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the declarations of typer in place of ours."""
    signature = inspect.signature(command, eval_str=True)
    parameters = [
        parameter.replace(annotation=Annotated[kind, declared.for_typer(kind)])
        for parameter, kind, declared in _declarations(signature)
    ]

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        command(*args, **kwargs)

    wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapped


def _declarations(
    signature: inspect.Signature,
) -> Iterator[tuple[inspect.Parameter, Any, Declared]]:
    """The parameters of a command, each with the type of its value and its declaration."""
    for parameter in signature.parameters.values():
        assert get_origin(parameter.annotation) is Annotated, f"{parameter} is not declared"
        kind, declared = get_args(parameter.annotation)
        yield parameter, kind, declared


@dataclass(frozen=True)
class _Taken:
    """How a parameter is written on the command line.

    Attributes:
        name: The name of the parameter.
        type: The type of a value.
        repeatable: Whether the parameter is a list: of values with the option before each, or of
            all arguments that are left.
        declared: Its declaration.
    """

    name: str
    type: type
    repeatable: bool
    declared: Declared


def parse_plain(command: Callable[..., None], words: Sequence[str]) -> dict[str, Any] | None:
    """Parse a plain command line: the arguments of the command, or None where typer must parse it.

    Plain are options with their values as ``--name value`` or ``--name=value``, each at most once
    unless it is a list, flags, and arguments, all of simple types and within their bounds.
    """
    positional: list[_Taken] = []
    options: dict[str, _Taken] = {}
    flags: dict[str, tuple[_Taken, bool]] = {}
    required = set()
    for parameter, kind, declared in _declarations(inspect.signature(command, eval_str=True)):
        taken = _taken(parameter.name, kind, declared)
        if parameter.default is inspect.Parameter.empty:
            required.add(parameter.name)
        if declared.positional:
            assert not (positional and positional[-1].repeatable), "a list is the last argument"
            positional.append(taken)
        elif taken.type is bool:
            for name in declared.names or _flag_names(parameter.name):
                yes, _, no = name.partition("/")
                flags |= {yes: (taken, True)} | ({no: (taken, False)} if no else {})
        else:
            options |= dict.fromkeys(declared.names or [_option_name(parameter.name)], taken)
    found: dict[str, Any] = {}
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        name, equals, text = word.partition("=")
        if word in flags:
            taken, value = flags[word]
        elif name in options and name.startswith("--" if equals else "-"):
            if not equals and not rest:
                return None
            taken = options[name]
            value = _value(taken, text if equals else rest.pop())
        elif positional and (_is_value(word) or not word):
            taken = positional[0] if positional[0].repeatable else positional.pop(0)
            value = _value(taken, word)
        else:
            return None
        if value is None or (taken.name in found and not taken.repeatable):
            return None
        found[taken.name] = [*found.get(taken.name, []), value] if taken.repeatable else value
    return found if required <= found.keys() else None


def _taken(name: str, kind: Any, declared: Declared) -> _Taken:
    """How a parameter is written: ``T``, ``list[T]``, or one of them or None."""
    (single,) = [item for item in _alternatives(kind) if item is not NoneType]
    repeatable = get_origin(single) is list
    if repeatable:
        (single,) = get_args(single)
    assert single in TYPES, f"{name} is of type {kind}"
    return _Taken(name, single, repeatable, declared)


def _alternatives(kind: Any) -> tuple[Any, ...]:
    """The types that a union consists of, or the type itself."""
    return (kind,) if kind in TYPES or get_origin(kind) is list else get_args(kind)


def _value(taken: _Taken, word: str) -> Any:
    """The value that a word stands for; None where it is not a plain one."""
    if word == "" and taken.type is Path:  # which would be the current folder
        name = taken.declared.metavar or taken.name.upper()
        if not taken.declared.positional:
            name = (taken.declared.names or (_option_name(taken.name),))[0]
        raise ParameterError(f"{name} is ''; allowed: the name of a file")
    if not _is_value(word):
        return None
    if taken.type in NUMBERS:
        if not NUMBERS[taken.type].fullmatch(word):
            return None
        number = taken.type(word)
        low, high = taken.declared.min, taken.declared.max
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
