"""Write unicode_tables.hpp, the letter case and the character classes of template transforms.

The header is committed, so that every build computes the same features, whatever Unicode version
its Python has. To change the version: set ``VERSION``, and run this with a Python that has it.
"""

import unicodedata
from itertools import groupby
from pathlib import Path

VERSION = "14.0.0"
HEADER = Path(__file__).with_name("unicode_tables.hpp")
CLASSES = {"Lu": "X", "Lt": "X", "Ll": "x", "Nd": "d", "Nl": "d", "No": "d"}
ALTERNATING = "A"  # X and x in turn
ITSELF = "-"

TEMPLATE = """\
// Letter case and character classes of Unicode {version}, made by unicode_tables.py.
#pragma once

#include <cstdint>

namespace adaptag {{

// What stands for the characters from `first` to the next entry's in a word shape. '{itself}': they
// stand for themselves; '{alternating}': X and x in turn.
struct ShapeRange {{
  uint32_t first;
  char shape;
}};

// From `first` to `last`, every `stride`-th character has a lower-case letter `offset` behind it.
struct LowerRange {{
  uint32_t first, last, stride;
  int32_t offset;
}};

// clang-format off
inline constexpr ShapeRange shape_ranges[] = {{
{shapes}
}};

inline constexpr LowerRange lower_ranges[] = {{
{lowers}
}};
// clang-format on

}}  // namespace adaptag
"""


def shape(code: int) -> str:
    """The character that stands for this one in a word shape."""
    category = unicodedata.category(chr(code))
    return CLASSES.get(category, "o" if category[0] in "LM" else ITSELF)


def lower(code: int) -> int:
    """How far behind this code point its lower-case letter lies; 0 where there is no single one."""
    lowered = chr(code).lower()
    return ord(lowered) - code if len(lowered) == 1 else 0


def shape_ranges() -> list[tuple[int, str]]:
    """The first code point and the shape of each range."""
    runs, first = [], 0
    for value, run in groupby(map(shape, range(0x110000))):
        length = len(list(run))
        runs.append((first, length, value))
        first += length
    ranges: list[tuple[int, str]] = []
    for k, (first, length, value) in enumerate(runs):
        follows = ranges and ranges[-1][1] == ALTERNATING and length == 1 and value in "Xx"
        if follows:  # the run before has length 1 and is the other one of both
            continue
        pair = k + 1 < len(runs) and length == 1 == runs[k + 1][1] and runs[k + 1][2] == "x"
        ranges.append((first, ALTERNATING if value == "X" and pair else value))
    return ranges


def lower_ranges() -> list[tuple[int, int, int, int]]:
    """(first, last, stride, offset) of each range of upper-case letters."""
    ranges: list[tuple[int, int, int, int]] = []
    for code in range(0x110000):
        if not (offset := lower(code)):
            continue
        if ranges:
            first, last, stride, before = ranges[-1]
            step = code - last
            if before == offset and step <= 2 and (first == last or step == stride):
                ranges[-1] = (first, code, step, offset)
                continue
        ranges.append((code, code, 1, offset))
    return ranges


def lines(entries: list[str]) -> str:
    """The entries of an array, as many per line as fit."""
    rows = [""]
    for entry in entries:
        if len(rows[-1]) + len(entry) > 98:
            rows.append("")
        rows[-1] += " " + entry + ","
    return "\n".join(" " + row for row in rows)


def header() -> str:
    """The text of the header."""
    if unicodedata.unidata_version != VERSION:
        raise SystemExit(
            f"this Python has Unicode {unicodedata.unidata_version}; the tables are of {VERSION}"
        )
    return TEMPLATE.format(
        version=VERSION,
        itself=ITSELF,
        alternating=ALTERNATING,
        shapes=lines([f"{{{first}, '{value}'}}" for first, value in shape_ranges()]),
        lowers=lines([f"{{{a}, {b}, {s}, {d}}}" for a, b, s, d in lower_ranges()]),
    )


if __name__ == "__main__":
    HEADER.write_text(header(), encoding="utf-8")
