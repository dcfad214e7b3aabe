"""The labels of a project: their names, colours and keys, and what they are on tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from adaptag.corpus.chunks import ChunkScheme
from adaptag.corpus.label_files import convert_sequences
from adaptag.errors import ParameterError, counted, described

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "KINDS",
    "SPANS",
    "TAGS",
    "Label",
    "check_labels",
    "check_name",
    "free_key",
    "token_labels",
    "types_of",
]

SPANS, TAGS = "spans", "tags"
KINDS = (SPANS, TAGS)
COLOURS = 12  # of the palette in static/annotation.css
KEYS = "123456789abcdefghijklmnopqrtvwyz"  # s, u and x are commands of the page
LONGEST_NAME = 60
NAME = re.compile(r"[^\s\x00-\x1f,]+( [^\s\x00-\x1f,]+)*")


@dataclass(frozen=True)
class Label:
    """A label that annotators choose: the type of a span, or the tag of a token.

    Attributes:
        name: The name, such as ``PER``.
        colour: The number of its colour in the palette of the page.
        key: The key that chooses it; empty where none is left.
    """

    name: str
    colour: int
    key: str


def check_name(name: object, kind: str) -> str:
    """Return the name of a label, or raise where it cannot be one."""
    if (
        not isinstance(name, str)
        or not NAME.fullmatch(name)
        or len(name) > LONGEST_NAME
        or (kind == TAGS and " " in name)
    ):
        raise ParameterError(
            f"a label is {described(name)}; allowed: 1 to {LONGEST_NAME} characters without "
            "commas and tabs"
        )
    return name


def free_key(labels: Sequence[Label]) -> str:
    """The first key that no label has; empty where none is left."""
    taken = {label.key for label in labels}
    return next((key for key in KEYS if key not in taken), "")


def token_labels(names: Sequence[str], kind: str) -> list[str]:
    """The labels that tokens can have: ``O``, ``B-`` and ``I-`` with each type, or the tags."""
    if kind == TAGS:
        return list(names)
    return ["O", *chain.from_iterable((f"B-{name}", f"I-{name}") for name in names)]


def check_labels(
    labels: object, n_tokens: int, names: Sequence[str], kind: str
) -> tuple[str | None, ...]:
    """Return the labels of a sentence, or raise where they are not labels of this project."""
    if not isinstance(labels, (list, tuple)):
        raise ParameterError(f"labels is {described(labels)}; allowed: a list of labels and nulls")
    if len(labels) != n_tokens:
        raise ParameterError(f"{counted(len(labels), 'label')} for {counted(n_tokens, 'token')}")
    allowed = {None, *token_labels(names, kind)}
    before = "O"
    for number, given in enumerate(labels, 1):
        if not isinstance(given, (str, type(None))) or given not in allowed:
            raise ParameterError(
                f"token {number}: the label is {described(given)}; allowed: "
                f"{', '.join(token_labels(names, kind))}, or null"
            )
        label = given or ""
        inside = kind == SPANS and label.startswith("I-")
        if inside and before and (before == "O" or before[2:] != label[2:]):
            raise ParameterError(
                f"token {number}: {label} does not continue a span; allowed after "
                f"{before}: B-{label[2:]}"
            )
        before = label
    return tuple(labels)


def types_of(
    sequences: Sequence[Sequence[str | None]],
) -> tuple[list[list[str | None]], list[str], str]:
    """Read labels as they stand in a file: as IOB2 labels or tags, with names, and their kind."""
    given = list(dict.fromkeys(x for x in chain.from_iterable(sequences) if x is not None))
    scheme = ChunkScheme(given)
    if not scheme.chunked:
        kind = SPANS if set(given) <= {"O"} else TAGS
        return [list(sequence) for sequence in sequences], [*given] if kind == TAGS else [], kind
    complete = [[x for x in s if x is not None] for s in sequences if None not in s]
    converted = iter(convert_sequences(complete, "iob2") if complete else [])
    result = [list(s) if None in s else list[str | None](next(converted)) for s in sequences]
    return result, list(scheme.types), SPANS
