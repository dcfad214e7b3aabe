"""Show the signatures of classes that have settings as Python sees them, in the API pages.

The source declares an argument by ``passes: int | None = setting(None, "Maximum number of …", …)``.
Pages should say ``passes: int | None = None``. This is an extension of griffe, which mkdocstrings
reads the source with; it comes after griffe's own one for dataclasses.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from typing import TYPE_CHECKING, Any

import griffe

from adaptag.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = {
    inspect.Parameter.POSITIONAL_OR_KEYWORD: griffe.ParameterKind.positional_or_keyword,
    inspect.Parameter.KEYWORD_ONLY: griffe.ParameterKind.keyword_only,
}


class Signatures(griffe.Extension):
    """Replaces the signatures that griffe makes for dataclasses with settings."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Go through all classes of the package."""
        for found in _classes(pkg):
            if "dataclass" in found.labels:
                module, name = found.path.rsplit(".", 1)
                group = getattr(importlib.import_module(module), name, None)
                if isinstance(group, type) and issubclass(group, Settings):
                    _replace(found, group)


def _classes(module: griffe.Module) -> Iterator[griffe.Class]:
    for member in module.members.values():
        if isinstance(member, griffe.Class):
            yield member
        elif isinstance(member, griffe.Module):
            yield from _classes(member)


def _replace(found: griffe.Class, group: type[Settings]) -> None:
    """Take the parameters from the class itself, and their types from its fields."""
    types = {field.name: field.type for field in dataclasses.fields(group)}
    own = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
    parameters = [
        griffe.Parameter(
            p.name, annotation=str(types[p.name]), kind=KINDS[p.kind], default=repr(p.default)
        )
        for p in inspect.signature(group).parameters.values()
    ]
    found["__init__"].parameters = griffe.Parameters(own, *parameters)
