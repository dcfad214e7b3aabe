"""Constraints on label sequences, as users declare them: in Python or in a JSON file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

from adaptag.errors import ParameterError, described, unknown
from adaptag.storage.files import read_bytes

if TYPE_CHECKING:
    from pathlib import Path

    Name = str | None

Key = TypeVar("Key")
Names = TypeVar("Names")

__all__ = ["EVERY", "Constraints", "constraints_of", "described_element", "elements_of"]

EVERY = "*"
TABLES = ("at_most_once_between", "followed_by", "preceded_by", "fixed")  # dictionaries for users


@dataclass(frozen=True)
class Constraints:
    """What the label sequence of a sentence must satisfy.

    A name is a span type, such as ``STREET``, or a label. The spans of a type are its chunks. A
    chunk label, such as ``B-STREET``, stands for single tokens. Any other label, such as ``O`` or a
    part of speech, stands for runs of tokens that all have this label.

    Attributes:
        at_most_once: Names that may occur once. ``*`` stands for all span types or, where labels
            mark no chunks, for all labels but ``O``.
        at_least_once: Names that must occur.
        at_most_once_between: For a separator the names that may occur once before its first
            occurrence, once between each two and once after the last.
        order: Names that must occur in this order, as far as they occur; or several such lists.
        forbidden_pairs: Pairs of names of which the second must not directly follow the first. Two
            labels are those of neighbouring tokens, two types those of adjacent spans. None is the
            outside of the sentence.
        followed_by: For a name those one of which must directly follow; None is the end.
        preceded_by: For a name those one of which must come directly before; None is the start.
        fixed: For the number of a token its label, or the labels that it may have. A type stands
            for all of its labels. Numbers count from 0; −1 is the last token.

    All fields can be given as lists and dictionaries, and a single name without a list.

    Examples:
        >>> Constraints(at_most_once="STREET", order=["NUMBER", "STREET"]).to_dict()
        {'at_most_once': ['STREET'], 'order': [['NUMBER', 'STREET']]}
    """

    at_most_once: Any = ()
    at_least_once: Any = ()
    at_most_once_between: Any = ()
    order: Any = ()
    forbidden_pairs: Any = ()
    followed_by: Any = ()
    preceded_by: Any = ()
    fixed: Any = ()

    def __post_init__(self) -> None:
        """Check what is given, and turn it into tuples."""
        given = self.order
        if _is_list(given) and given and not any(map(_is_list, given)):
            given = [given]  # one order
        given = _listed(given, "order", "lists of names")
        for names in given:
            if not _is_list(names):
                raise ParameterError(
                    f"order: {described(names)} beside a list; allowed: names, or lists of names"
                )
        orders = [_names(names, "order") for names in given]
        for names in orders:
            if len(set(names)) < len(names):
                raise ParameterError(f"order: {list(names)}; allowed: each name once")
        pairs = _listed(self.forbidden_pairs, "forbidden_pairs", "pairs of names")
        values = {
            "at_most_once": _names(self.at_most_once, "at_most_once"),
            "at_least_once": _names(self.at_least_once, "at_least_once"),
            "at_most_once_between": _between(self.at_most_once_between),
            "order": tuple(orders),
            "forbidden_pairs": tuple(_pair(pair) for pair in pairs),
            "followed_by": _table(self.followed_by, "followed_by"),
            "preceded_by": _table(self.preceded_by, "preceded_by"),
            "fixed": _fixed(self.fixed),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __bool__(self) -> bool:
        """Whether anything is constrained."""
        return any(vars(self).values())

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Constraints:
        """Make constraints of a dictionary whose keys are the attributes."""
        if not isinstance(values, Mapping):
            raise ParameterError(f"constraints are {described(values)}; allowed: an object")
        names = [field.name for field in fields(cls)]
        for key in values:
            if key not in names:
                raise ParameterError(unknown("constraint", str(key), names))
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """The constraints as a dictionary of lists and dictionaries, which JSON can hold."""
        result: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if not value:
                continue
            if field.name in TABLES:
                result[field.name] = {str(key): list(names) for key, names in value}
            else:
                result[field.name] = [list(v) if isinstance(v, tuple) else v for v in value]
        return result

    @classmethod
    def read(cls, path: Path) -> Constraints:
        """Read constraints from a JSON file."""
        data = read_bytes(path)
        try:
            values = json.loads(data, object_pairs_hook=_unique)
        except json.JSONDecodeError as error:
            place = f"{path}:{error.lineno}, character {error.colno}"
            raise ParameterError(f"{place}: not JSON: {error.msg}") from None
        except (ValueError, RecursionError) as error:
            raise ParameterError(f"{path}: not JSON: {error}") from None
        try:
            return cls.from_dict(values)
        except ParameterError as error:
            raise ParameterError(f"{path}: {error}") from None


def constraints_of(value: Constraints | Mapping[str, Any] | None) -> Constraints | None:
    """Make constraints of what a user gives; None where nothing is constrained."""
    if value is None:
        return None
    found = value if isinstance(value, Constraints) else Constraints.from_dict(value)
    return found or None


def elements_of(constraints: Constraints) -> list[tuple[str, Any]]:
    """The single constraints, by the field that they belong to."""
    return [
        (field.name, value)
        for field in fields(constraints)
        for value in getattr(constraints, field.name)
    ]


def described_element(name: str, value: Any) -> str:
    """A single constraint, for messages."""
    if name == "fixed":
        return f"token {value[0]} is {' or '.join(value[1]) or 'nothing'}"
    if name == "at_most_once_between":
        return f"{name} {value[0]}: {', '.join(value[1])}"
    if name in ("followed_by", "preceded_by"):
        return f"{value[0]} {name} {' or '.join(map(str, value[1])) or 'nothing'}"
    return f"{name} {value if isinstance(value, str) else ', '.join(map(str, value))}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, none of whose keys occurs twice."""
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} occurs twice")
    return values


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def _listed(value: Any, where: str, allowed: str) -> list[Any]:
    if not _is_list(value):
        raise ParameterError(f"{where}: {described(value)}; allowed: {allowed}")
    return list(value)


def _names(value: Any, where: str) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else _listed(value, where, "names")
    for name in names:
        if not isinstance(name, str):
            raise ParameterError(f"{where}: {described(name)}; allowed: names of labels or types")
    return tuple(dict.fromkeys(names)) if where != "order" else tuple(names)


def _neighbours(value: Any, where: str) -> tuple[Name, ...]:
    names = [value] if value is None or isinstance(value, str) else _listed(value, where, "names")
    for name in names:
        if name is not None and not isinstance(name, str):
            raise ParameterError(f"{where}: {described(name)}; allowed: names, or None")
    return tuple(names)


def _pair(value: Any) -> tuple[Name, Name]:
    pair = _neighbours(value, "forbidden_pairs") if _is_list(value) else ()
    if len(pair) != 2 or pair == (None, None):
        raise ParameterError(f"forbidden_pairs: {described(value)}; allowed: pairs of names")
    return pair[0], pair[1]


def _items(value: Any, where: str) -> list[tuple[Any, Any]]:
    """The entries of a dictionary, or of what was made of one."""
    items = tuple(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(items, tuple) or not all(isinstance(i, tuple) and len(i) == 2 for i in items):
        raise ParameterError(f"{where}: {described(value)}; allowed: a dictionary")
    return list(items)


def _table(value: Any, where: str) -> tuple[tuple[str, tuple[Name, ...]], ...]:
    table = []
    for name, others in _items(value, where):
        if not isinstance(name, str):
            raise ParameterError(f"{where}: {described(name)}; allowed: names of labels or types")
        table.append((name, _neighbours(others, f"{where}, {name!r}")))
    return _with_unique_keys(table, where)


def _between(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    table, where = [], "at_most_once_between"
    for separator, others in _items(value, where):
        if not isinstance(separator, str):
            raise ParameterError(f"{where}: {described(separator)}; allowed: names of separators")
        names = _names(others, f"{where}, {separator!r}")
        if separator in names:
            raise ParameterError(f"{where}: {separator!r}; allowed: other names than the separator")
        table.append((separator, names))
    return _with_unique_keys(table, where)


def _fixed(value: Any) -> tuple[tuple[int, tuple[str, ...]], ...]:
    table = []
    for key, names in _items(value, "fixed"):
        try:
            token = int(key)
        except (TypeError, ValueError):
            token = None
        if token is None or isinstance(key, (bool, float)):
            raise ParameterError(f"fixed: {described(key)}; allowed: numbers of tokens")
        table.append((token, _names(names, f"fixed, token {token}")))
    return _with_unique_keys(table, "fixed")


def _with_unique_keys(table: list[tuple[Key, Names]], where: str) -> tuple[tuple[Key, Names], ...]:
    """Entries as a tuple, after a check that no two have the same key, as "0" and "-0" do."""
    keys = [key for key, _ in table]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ParameterError(f"{where}: {twice!r} is given twice; allowed: once")
    return tuple(table)
