"""Writes the C++ header of character classes and lower-case letters from Python's Unicode data.

Two-stage tables: the high bits of a code point choose a block, equal blocks are stored once.
"""

import sys
import unicodedata
from pathlib import Path

BLOCK = 256
CLASSES = {"Lu": "X", "Lt": "X", "Ll": "x", "Nd": "d", "Nl": "d", "No": "d"}


def shape(character: str) -> int:
    """The character that stands for this one in a word shape; 0: it stands for itself."""
    category = unicodedata.category(character)
    if category in CLASSES:
        return ord(CLASSES[category])
    return ord("o") if category[0] in "LM" else 0


def lower(code: int) -> int:
    """How far the lower-case letter lies from this code point."""
    lowered = chr(code).lower()
    return ord(lowered) - code if len(lowered) == 1 else 0


def two_stage(values: list[int], kind: str, name: str) -> str:
    """Both tables as C++ text."""
    blocks: dict[tuple[int, ...], int] = {}
    index = [
        blocks.setdefault(tuple(values[i : i + BLOCK]), len(blocks))
        for i in range(0, len(values), BLOCK)
    ]
    rows = ",\n".join("{" + ",".join(map(str, block)) + "}" for block in blocks)
    return (
        f"inline constexpr uint16_t {name}_block[] = {{{','.join(map(str, index))}}};\n"
        f"inline constexpr {kind} {name}_values[][{BLOCK}] = {{\n{rows}}};\n"
    )


def main(path: str) -> None:
    """Write the header to ``path``."""
    codes = range(0x110000)
    text = (
        "// Made by unicode_tables.py.\n#pragma once\n#include <cstdint>\nnamespace adaptag {\n"
        + two_stage([shape(chr(c)) for c in codes], "uint8_t", "shape")
        + two_stage([lower(c) for c in codes], "int32_t", "lower")
        + "}\n"
    )
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
