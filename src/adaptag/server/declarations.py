"""What requests may hold: declarations that check them, and that describe them in OpenAPI."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from adaptag.errors import described, unknown
from adaptag.web.guards import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Anything", "Body", "Field", "Flag", "Form", "ListOf", "Text", "Token", "Whole"]


class Form(Protocol):
    """A form that a value can have."""

    @property
    def name(self) -> str:
        """What such a value is called in messages."""

    def check(self, value: Any, where: str) -> None:
        """Raise where a value does not have the form."""

    def schema(self) -> dict[str, Any]:
        """The form in JSON Schema."""


def _refuse(where: str, value: Any, form: Form) -> RequestError:
    return RequestError(f"{where} is {described(value)}; allowed: {form.name}")


@dataclass(frozen=True)
class Text:
    """A string."""

    name: str = "a string"

    def check(self, value: Any, where: str) -> None:
        """Raise where a value is no string."""
        if not isinstance(value, str):
            raise _refuse(where, value, self)

    def schema(self) -> dict[str, Any]:
        """The form in JSON Schema."""
        return {"type": "string"}


@dataclass(frozen=True)
class Flag:
    """True or false."""

    name: str = "true or false"

    def check(self, value: Any, where: str) -> None:
        """Raise where a value is neither true nor false."""
        if not isinstance(value, bool):
            raise _refuse(where, value, self)

    def schema(self) -> dict[str, Any]:
        """The form in JSON Schema."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class Whole:
    """A whole number from ``min`` to ``max``."""

    min: int
    max: int

    @property
    def name(self) -> str:
        """What such a value is called in messages."""
        return f"{self.min} to {self.max}"

    def check(self, value: Any, where: str) -> None:
        """Raise where a value is no such number."""
        if not isinstance(value, int) or isinstance(value, bool):
            raise _refuse(where, value, self)
        if not self.min <= value <= self.max:
            raise RequestError(f"{where} is {described(value)}; allowed: {self.name}")

    def schema(self) -> dict[str, Any]:
        """The form in JSON Schema."""
        return {"type": "integer", "minimum": self.min, "maximum": self.max}


@dataclass(frozen=True)
class Token:
    """A token: a string, or one string for each column."""

    name: str = "a string, or a list with one string for each column"

    def check(self, value: Any, where: str) -> None:
        """Raise where a value is no token."""
        if isinstance(value, str):
            return
        if not isinstance(value, list) or not value or not _strings(value):
            raise _refuse(where, value, self)

    def schema(self) -> dict[str, Any]:
        """The form in JSON Schema."""
        columns = {"type": "array", "items": {"type": "string"}, "minItems": 1}
        return {"title": "token", "oneOf": [{"type": "string"}, columns]}


@dataclass(frozen=True)
class Anything:
    """A value that is looked at elsewhere, or not at all."""

    name: str = "anything"
    type: type[Any] = object
    json_type: str | None = None

    def check(self, value: Any, where: str) -> None:
        """Raise where a value is not of the type."""
        if not isinstance(value, self.type):
            raise _refuse(where, value, self)

    def schema(self) -> dict[str, Any]:
        """The form in JSON Schema."""
        return {} if self.json_type is None else {"type": self.json_type}


@dataclass(frozen=True)
class ListOf:
    """A list of values of one form."""

    items: Form
    name: str

    def check(self, value: Any, where: str) -> None:
        """Raise where a value is no such list."""
        if not isinstance(value, list):
            raise _refuse(where, value, self)
        if isinstance(self.items, (Text, Token)) and _strings(value):
            return
        if isinstance(self.items, Token) and _columns(value):
            return
        for k, item in enumerate(value):
            self.items.check(item, f"{where}[{k}]")

    def schema(self) -> dict[str, Any]:
        """The form in JSON Schema."""
        return {"type": "array", "items": self.items.schema()}


def _strings(values: list[Any]) -> bool:
    return set(map(type, values)) <= {str}


def _columns(values: list[Any]) -> bool:
    """Whether all values are lists with one string or more, found without a loop in Python."""
    return (
        set(map(type, values)) <= {list}
        and all(values)
        and set(map(type, itertools.chain.from_iterable(values))) <= {str}
    )


@dataclass(frozen=True)
class Field:
    """A field of a request.

    Attributes:
        form: The form of its value.
        help: What it means.
        default: The value if it is not given.
    """

    form: Form
    help: str
    default: Any = None


@dataclass(frozen=True)
class Body:
    """The body of a request: an object with some fields.

    Attributes:
        fields: The fields by name.
        inputs: The fields of which a request has exactly one; empty if there are none.
        lenient: Whether other fields are ignored.
        example: An example of such a body.
    """

    fields: Mapping[str, Field]
    inputs: tuple[str, ...] = ()
    lenient: bool = False
    example: Mapping[str, Any] = field(default_factory=dict)

    def read(self, data: bytes) -> dict[str, Any]:
        """Read and check a body: the fields that are given."""
        try:
            value = _decode(data.decode(json.detect_encoding(data), "surrogatepass"))
        except (ValueError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise RequestError(f"the body is not JSON: {reason}") from None
        if not isinstance(value, dict):
            raise RequestError(f"the body is {described(value)}; allowed: a JSON object")
        for name, item in value.items():
            declared = self.fields.get(name)
            if declared is not None:
                declared.form.check(item, name)
            elif not self.lenient:
                raise RequestError(unknown("field", name, self.fields))
        if self.inputs:
            self.input_of(value)
        return value

    def input_of(self, value: Mapping[str, Any]) -> str:
        """The name of the input that a request has."""
        given = [name for name in self.inputs if name in value]
        if len(given) == 1:
            return given[0]
        names = ", ".join(map(repr, self.inputs))
        found = " and ".join(map(repr, given)) or "nothing"
        raise RequestError(f"{found} given; allowed: exactly one of {names}")

    def schema(self) -> dict[str, Any]:
        """The body in JSON Schema."""
        properties = {}
        for name, item in self.fields.items():
            properties[name] = {**item.form.schema(), "description": item.help}
            if item.default is not None:
                properties[name]["default"] = item.default
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if not self.lenient:
            schema["additionalProperties"] = False
        if self.inputs:
            schema["oneOf"] = [{"required": [name]} for name in self.inputs]
        return schema


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode
