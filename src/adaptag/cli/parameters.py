"""Command-line options for what the training algorithms declare."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from adaptag.training.algorithms import Parameter, algorithms
from adaptag.training.algorithms import algorithm as find_algorithm

__all__ = ["given_parameters", "given_values", "with_parameters", "with_values"]


def _type(parameter: Parameter) -> type:
    if parameter.choices or parameter.automatic:
        return str
    return int if parameter.integer else float


def _help(declared: list[tuple[str, Parameter]]) -> str:
    """What a parameter does, for each group of algorithms that say the same of it."""
    groups: dict[str, list[str]] = {}
    for user, p in declared:
        groups.setdefault(f"{p.help}; {p.bounds}, default {p.shown_default}", []).append(user)
    return ". ".join(f"{', '.join(users)}: {text}" for text, users in groups.items())


def with_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command one option for each parameter that an algorithm declares."""
    return _with_options(
        command,
        lambda p: (_type(p), "CHOICE" if p.choices else None),
        "Parameters of the algorithm",
    )


def with_values(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command one option for each such parameter, which takes several values."""
    return _with_options(command, lambda _: (str, "A,B,…"), "Values to try, or one to fix")


def _with_options(
    command: Callable[..., None],
    form: Callable[[Parameter], tuple[type, str | None]],
    panel: str,
) -> Callable[..., None]:
    users: dict[str, list[tuple[str, Parameter]]] = {}
    for algorithm in algorithms().values():
        for parameter in algorithm.parameters:
            users.setdefault(parameter.name, []).append((algorithm.name, parameter))
    signature = inspect.signature(command, eval_str=True)
    kept = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    added = []
    for name, declared in users.items():
        kind, metavar = form(declared[0][1])
        option = typer.Option(
            help=_help(declared), metavar=metavar, show_default=False, rich_help_panel=panel
        )
        annotation = Annotated[kind | None, option]  # type: ignore[valid-type]
        added.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
            )
        )

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        command(**given)

    wrapped.__signature__ = signature.replace(parameters=kept + added)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in kept + added}
    return wrapped


def given_parameters(
    algorithm: str | None, options: Mapping[str, float | str | None]
) -> dict[str, Any]:
    """Take the options that were given, and check that the algorithm has them."""
    given: dict[str, Any] = {name: _number(v) for name, v in options.items() if v is not None}
    find_algorithm(algorithm or "adf").values(given)
    return given


def given_values(options: Mapping[str, str | None]) -> dict[str, list[float | str]]:
    """Take the options that were given, as lists of values."""
    return {
        name: [_number(word.strip()) for word in text.split(",") if word.strip()]
        for name, text in options.items()
        if text is not None
    }


def _number(value: float | str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value
