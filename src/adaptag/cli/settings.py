"""Command-line options for declared settings, and for the parameters of the algorithms."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

from adaptag.cli.arguments import Declared, option
from adaptag.settings import Parameter, Settings
from adaptag.training.algorithms import algorithm as find_algorithm
from adaptag.training.algorithms import algorithms

__all__ = [
    "given_parameters",
    "given_values",
    "number_or_name",
    "with_parameters_of",
    "with_settings",
    "with_values",
]

PARAMETERS = "Parameters of the algorithm"
TO_TRY = "Values to try, or one to fix"
VALUES = "A,B,…"
MOST_SHOWN = 4  # choices in place of the type of an option

Form = Callable[[Parameter], tuple[type, str | None]]


def with_settings(
    *groups: type[Settings], parameters: bool = False, without: Iterable[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command one option for each setting of some groups.

    The command gets those that were given on the command line as keyword arguments.

    Args:
        groups: The groups, each a dataclass.
        parameters: Whether there is an option for each parameter that an algorithm declares, too.
        without: Names of settings that the command has no option for.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        declared = {
            name: declaration
            for group in groups
            for name, declaration in group.declared().items()
            if declaration.option and name not in without
        }
        added = [_setting_option(declaration) for declaration in declared.values()]
        if parameters:
            added += _parameter_options(
                lambda p: (p.type, "CHOICE" if p.choices else None), PARAMETERS, declared
            )
        return _with_options(command, added)

    return decorate


def with_values(
    searchable: Mapping[str, Parameter],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options that take several values each.

    There is one for each parameter that an algorithm declares, and one for each of some settings.

    Args:
        searchable: The declarations of the settings, by name.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        added = _parameter_options(lambda _: (str, VALUES), TO_TRY, searchable)
        for declaration in searchable.values():
            declared = option(
                help=_setting_help(declaration),
                metavar=VALUES,
                show_default=False,
                panel=TO_TRY,
            )
            added.append(_keyword(declaration.name, str, declared))
        return _with_options(command, added)

    return decorate


def with_parameters_of(
    function: Callable[..., Any],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of another function; it gets them as keyword arguments."""
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    added = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    return lambda command: _with_options(command, added)


def _setting_option(declaration: Parameter) -> inspect.Parameter:
    names = [f"--{declaration.name.replace('_', '-')}"]
    if declaration.is_flag:
        names = [declaration.flag or names[0]]
    if declaration.short:
        names.append(declaration.short)
    declared = option(
        *names,
        help=_setting_help(declaration),
        metavar="NAME" if len(declaration.choices) > MOST_SHOWN else _choices(declaration),
        show_default=False,
        panel=declaration.panel or None,
    )
    return _keyword(declaration.name, declaration.type, declared)


def _setting_help(declaration: Parameter) -> str:
    text = declaration.help
    if len(declaration.choices) > MOST_SHOWN:
        text = f"{text} One of: {', '.join(declaration.choices)}."
    if declaration.default is not False:
        text = f"{text} [dim]\\[default: {declaration.shown_default}][/]"
    return text


def _choices(declaration: Parameter) -> str | None:
    return "|".join(declaration.choices) or None


def _parameter_options(
    form: Form, panel: str, other_options: Mapping[str, Any]
) -> list[inspect.Parameter]:
    users: dict[str, list[tuple[str, Parameter]]] = {}
    for algorithm in algorithms().values():
        for parameter in algorithm.parameters:
            users.setdefault(parameter.name, []).append((algorithm.name, parameter))
    options = []
    for name, declarations in users.items():
        if name in other_options:
            continue
        kind, metavar = form(declarations[0][1])
        declared = option(
            help=_help(declarations), metavar=metavar, show_default=False, panel=panel
        )
        options.append(_keyword(name, kind, declared))
    return options


def _keyword(name: str, kind: type, declared: Declared) -> inspect.Parameter:
    annotation = Annotated[kind | None, declared]  # type: ignore[valid-type]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )


def _help(declared: list[tuple[str, Parameter]]) -> str:
    """What a parameter does, for each group of algorithms that say the same of it."""
    groups: dict[str, list[str]] = {}
    for user, p in declared:
        groups.setdefault(f"{p.help}; {p.bounds}, default {p.shown_default}", []).append(user)
    return ". ".join(f"{', '.join(users)}: {text}" for text, users in groups.items())


def _with_options(
    command: Callable[..., None], added: list[inspect.Parameter]
) -> Callable[..., None]:
    signature = inspect.signature(command, eval_str=True)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    earlier = {p.name for p in own}
    added = [p for p in added if p.name not in earlier]
    defaults = {p.name: p.default for p in added}

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> None:
        options = {name: arguments.pop(name, default) for name, default in defaults.items()}
        command(**arguments, **{name: v for name, v in options.items() if v is not None})

    wrapped.__signature__ = signature.replace(parameters=own + added)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in own + added}
    return wrapped


def given_parameters(algorithm: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the given parameters to numbers, and check that the algorithm has them."""
    parameters: dict[str, Any] = {name: number_or_name(value) for name, value in options.items()}
    find_algorithm(algorithm or "adf").values(parameters)
    return parameters


def given_values(options: Mapping[str, str]) -> dict[str, list[float | str]]:
    """Convert the given options to lists of values."""
    return {
        name: [number_or_name(word.strip()) for word in text.split(",") if word.strip()]
        for name, text in options.items()
    }


def number_or_name(value: float | str) -> float | str:
    """Return the number that a text stands for, or else the text, which is a name."""
    try:
        return float(value)
    except ValueError:
        return value
