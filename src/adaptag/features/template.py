r"""Feature templates: the language of CRF++, with a few words more.

A line is a letter and a text with macros::

    # a comment
    U02:%x[0,0]            node weights for the current token
    U05:%x[-1,0]/%x[0,0]   the previous and the current token together
    U10:%suffix3[0,0]      the last three characters
    B                      label bigrams: edge weights for every pair of labels
    *07:%x[0,1]            node and edge weights, as in Wapiti

``%x[row,column]`` stands for the token ``row`` lines further on, in a column of the data; outside
the sentence it is ``_B-1``, ``_B-2``, … or ``_B+1``, ``_B+2``, …. Beyond CRF++ there are
``%lower``, ``%shape``, ``%prefixN`` and ``%suffixN``. Lines that differ in nothing but rows and
columns share their features, as in CRF++: ``U:%x[-1,0]`` and ``U:%x[1,0]`` are a bag of words.
Unlike CRF++, macros without text between them are not run together: ``a`` + ``bc`` is never
``ab`` + ``c``.

A template with lines in lower case (``u``, ``b``), or with a macro ``%X``, ``%t``, ``%T``,
``%m`` and ``%M``, consists of patterns of Wapiti::

    u:suf=%m[0,0,".?.?.$"]   what a regular expression finds in the token; see ``cell_pattern.hpp``
    u:num=%t[0,0,"^\d"]       whether it finds something: true or false
    b:%X[-1,0]               ASCII letters in lower case; %M likewise

There cells outside the sentence are ``_x-1``, …, to which macros apply too, ``#`` begins a comment
anywhere, and lines share their features whatever their macros are.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from adaptag._native import core
from adaptag.errors import TemplateError, described, unknown
from adaptag.storage.files import read_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from adaptag.storage.files import PathLike

__all__ = ["Template", "feature_range", "presets"]

PRESETS = Path(__file__).with_name("presets")

KINDS = {"U": 0, "*": 1, "B": 2, "u": 0, "b": 2}  # node, node and edge, edge
MACRO = re.compile(
    r"%(?P<name>[A-Za-z]+)(?P<length>[0-9]{0,4})\[(?P<row>[+-]?[0-9]{1,4}),(?P<column>[0-9]{1,4})"
    r'(?:,"(?P<pattern>(?:[^"\\]|\\.)*)")?\]'
)
ARGUMENTS: dict[str, str] = dict(core.macros())  # the macros that the core computes, what they take
PATTERN = re.compile(r"(?:\^(?![*?])|(?!\^))(?:(?:\\.|[^\\*?])[*?]?)*")  # a regular expression
LONGEST_PATTERN = 127  # bytes
WAPITI = re.compile(r"^[ub]|^[^#\n]*%[XtTmM]\[", re.MULTILINE)  # what only patterns of Wapiti have
WAPITI_HOLE = "%x[]"
FURTHER_COLUMN = "{c}"  # in a preset: the line is repeated for each column after the first
MAX_ROW = 1000


@dataclass(frozen=True)
class Macro:
    """``%name[row,column]``, with a length or a regular expression where the name takes one."""

    name: str
    length: int
    row: int
    column: int
    pattern: str = ""


@dataclass(frozen=True)
class Line:
    """One template line: where it stands, its kind, its text with holes, and what fills them."""

    number: int
    text: str
    kind: int
    skeleton: str
    macros: tuple[Macro, ...]


@dataclass(frozen=True, repr=False)
class Template:
    """A parsed template.

    Attributes:
        text: The text of the template.
        attributes: Whether the data consists of ready-made attributes, as in CRFsuite's files. Each
            attribute is then a node feature, and the lines of the template add further features.
        rich_attributes: Whether attributes have edge weights too.
        wapiti: Whether the lines are patterns of Wapiti. True where one of them is no other.
        name: The file or preset, for messages.
    """

    text: str
    attributes: bool = False
    rich_attributes: bool = field(default=False, kw_only=True)
    wapiti: bool = field(default=False, kw_only=True)
    name: str = field(default="<template>", compare=False)
    lines: tuple[Line, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TemplateError(
                f"{self.name}:1:1: the template is {described(self.text)}; allowed: its text"
            )
        object.__setattr__(self, "wapiti", self.wapiti or WAPITI.search(self.text) is not None)
        lines = tuple(
            self._parse(number, text)
            for number, line in enumerate(self.text.splitlines(), 1)
            if (text := self._without_comment(line))
        )
        if not lines and not self.attributes:
            raise TemplateError(f"{self.name}:1:1: no template line; allowed: U…, B…, *…")
        if self.attributes and any(line.macros for line in lines):
            raise TemplateError(
                f"{self.name}: attributes have no columns, so macros cannot be used"
            )
        object.__setattr__(self, "lines", lines)

    def __repr__(self) -> str:
        return f"<Template {self.name!r} of {len(self.lines)} lines>"

    def __str__(self) -> str:
        return self.text

    @classmethod
    def load(cls, source: str | PathLike | Template, n_columns: int = 1) -> Template:
        """Load a template: a preset by its name, a file, the text itself, or a parsed template.

        Args:
            source: A preset, a file, or the text: a string with a line break, or one that looks
                like a line of a template.
            n_columns: The number of feature columns of the data, for presets that use all of them.
        """
        if isinstance(source, Template):
            return source
        text = str(source)
        if text in presets():
            return cls(_expand(_preset_text(text), n_columns), name=text)
        exists = os.path.exists(text)  # noqa: PTH110  False for what no file can be named
        if "\n" in text or (text[:1] in ("U", "B", "*") and not exists):
            return cls(text)
        if not exists:
            raise TemplateError(
                f"no template file {text!r}, and {unknown('preset', text, presets())}"
            )
        try:
            return cls(read_bytes(source).decode("utf-8-sig"), name=text)
        except UnicodeDecodeError as error:
            raise TemplateError(f"{text}: invalid UTF-8 at byte {error.start + 1}") from None

    @classmethod
    def for_attributes(cls) -> Template:
        """Make the template of ready-made attributes: each a node feature, and label bigrams."""
        return cls("B", attributes=True, name="attributes")

    def rich(self) -> Template:
        """The template in which every line, and every attribute, has edge weights too."""
        text = re.sub(r"^[Uu]", "*", self.text, flags=re.MULTILINE)
        return replace(self, text=text, rich_attributes=self.attributes)

    def plain(self) -> Template:
        """The template in which lines and attributes with node weights have no edge weights."""
        letter = "u" if self.wapiti else "U"
        text = re.sub(r"^\*", letter, self.text, flags=re.MULTILINE)
        return replace(self, text=text, rich_attributes=False)

    def with_columns(self, columns: Collection[int]) -> Template:
        """The template without the lines that name other columns than these."""
        left_out = {
            line.number
            for line in self.lines
            if any(macro.column not in columns for macro in line.macros)
        }
        if all(line.number in left_out or not line.macros for line in self.lines):
            raise TemplateError(
                f"{self.name}: no line of the template has only the columns "
                f"{', '.join(map(str, sorted(columns)))}"
            )
        kept = [
            text for number, text in enumerate(self.text.splitlines(), 1) if number not in left_out
        ]
        return replace(self, text="\n".join(kept) + "\n")

    @property
    def used_columns(self) -> list[int]:
        """The numbers of the columns that macros name."""
        return sorted({macro.column for line in self.lines for macro in line.macros})

    @property
    def has_rich_edges(self) -> bool:
        """Whether features of tokens have edge weights."""
        return self.rich_attributes or any(
            line.macros and line.kind != KINDS["U"] for line in self.lines
        )

    @property
    def skeletons(self) -> list[str]:
        """Texts with holes, numbered; attributes are number 0 where there are any."""
        skeletons = {line.skeleton: None for line in self.lines}
        return ["%x[]"] * self.attributes + list(skeletons)

    @property
    def n_columns(self) -> int:
        """Feature columns the data must have."""
        return max(self.used_columns, default=-1) + 1

    def program(self) -> core.Program:
        """Compile for the core."""
        numbers = {skeleton: number for number, skeleton in enumerate(self.skeletons)}
        columns: dict[tuple[int, str, int, str], int] = {}
        lines = [
            (
                line.kind,
                numbers[line.skeleton],
                [
                    (m.row, columns.setdefault(source, len(columns)))
                    for m in line.macros
                    for source in [(m.column, m.name, m.length, m.pattern)]
                ],
            )
            for line in self.lines
        ]
        return core.Program(
            list(columns),
            lines,
            0 if self.attributes else -1,
            int(self.rich_attributes),
            self.wapiti,
        )

    def check_columns(self, n_columns: int, where: str) -> None:
        """Raise unless data with this many feature columns has every column that a macro names."""
        for line in self.lines:
            for macro in line.macros:
                if macro.column >= n_columns:
                    raise TemplateError(
                        f"{self.name}:{line.number}: column {macro.column} is asked for; "
                        f"{where} has {feature_range(n_columns)}"
                    )

    @staticmethod
    def fill(skeleton: str, tokens: Sequence[str]) -> str:
        """Name a feature: the skeleton with its holes filled."""
        remaining = iter(tokens)
        return re.sub(r"%[a-z]+\d*\[\]", lambda _: next(remaining), skeleton)

    def _parse(self, number: int, text: str) -> Line:
        def fail(column: int, message: str) -> TemplateError:
            return TemplateError(f"{self.name}:{number}:{column}: {message}")

        if text[0] not in KINDS:
            raise fail(
                1,
                f"{text[0]!r} does not start a template line; allowed: U, B, *, # (a comment), and "
                "u, b as in Wapiti",
            )
        macros = []
        position = 0
        while (position := text.find("%", position)) >= 0:
            match = MACRO.match(text, position)
            if match is None:
                raise fail(
                    position + 1,
                    f"{text[position : position + 12]!r} is not a macro; allowed: %x[row,column], "
                    f"{_other_macros()} likewise{_absolute(text[position:])}",
                )
            if mistake := _mistake(match):
                raise fail(position + 1, mistake)
            name, length, pattern = match["name"], int(match["length"] or 0), match["pattern"] or ""
            macros.append(Macro(name, length, int(match["row"]), int(match["column"]), pattern))
            position = match.end()
        if self.wapiti:
            skeleton = text[0].lower() + MACRO.sub(WAPITI_HOLE, text)[1:]
        else:
            skeleton = MACRO.sub(lambda m: f"%{m['name']}{m['length']}[]", text)
        return Line(number, text, KINDS[text[0]], skeleton, tuple(macros))

    def _without_comment(self, line: str) -> str:
        """What a line says, without the white space behind it; nothing if it is a comment."""
        text = line.partition("#")[0] if self.wapiti or line.startswith("#") else line
        return text.rstrip()


def _mistake(match: re.Match[str]) -> str:
    """What is wrong with a macro; nothing if it is right."""
    name, length, pattern = match["name"], int(match["length"] or 0), match["pattern"]
    if name not in ARGUMENTS:
        return unknown("macro", name, ARGUMENTS)
    takes = ARGUMENTS[name]
    if (takes == "length") != (length > 0):
        return f"%{name} takes {'a' if takes == 'length' else 'no'} length"
    if (takes == "pattern") != (pattern is not None):
        return f"%{name} takes {'a' if takes == 'pattern' else 'no'} regular expression"
    if abs(int(match["row"])) > MAX_ROW:
        return f"row {match['row']}; allowed: -{MAX_ROW} to {MAX_ROW}"
    if pattern and not PATTERN.fullmatch(pattern):
        return f'"{pattern}" has a ? or * that repeats no character'
    if pattern and len(pattern.encode()) > LONGEST_PATTERN:
        return f"a regular expression of {len(pattern.encode())} bytes; allowed: {LONGEST_PATTERN}"
    return ""


def _absolute(text: str) -> str:
    """A remark on rows that Wapiti counts from the start or the end of the sentence."""
    return "; rows with @ are not supported" if re.match(r"%[A-Za-z]+\[@", text) else ""


def _other_macros() -> str:
    """The macros other than ``%x``, for a message."""
    forms = {"": "%{}", "length": "%{}N", "pattern": '%{}[row,column,"pattern"]'}
    return ", ".join(forms[takes].format(name) for name, takes in ARGUMENTS.items() if name != "x")


def feature_range(n_columns: int) -> str:
    """Name the feature columns that data has, for a message."""
    return "feature column 0" if n_columns == 1 else f"feature columns 0 to {n_columns - 1}"


def presets() -> list[str]:
    """Name the templates that come with the package."""
    return sorted(entry.stem for entry in PRESETS.glob("*.txt"))


def _preset_text(name: str) -> str:
    return (PRESETS / f"{name}.txt").read_text(encoding="utf-8")


def _expand(text: str, n_columns: int) -> str:
    lines = []
    for line in text.splitlines():
        further = range(1, n_columns) if FURTHER_COLUMN in line else [0]
        lines += [line.replace(FURTHER_COLUMN, str(column)) for column in further]
    return "\n".join(lines) + "\n"
