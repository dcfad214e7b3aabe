"""The palette: a colour for each label, in light and dark pages and in a terminal."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "DARK",
    "LIGHT",
    "PALETTE",
    "Colour",
    "Shade",
    "Theme",
    "assign_colours",
    "contrast",
]


class Shade(NamedTuple):
    """A colour in a light or in a dark page.

    Attributes:
        fill: The background of a span.
        ink: The label's text, and the border, on the background of the span or of the page.
    """

    fill: str
    ink: str


class Colour(NamedTuple):
    """One colour of the palette.

    Attributes:
        name: What it looks like.
        light: The shade in a light page.
        dark: The shade in a dark page.
        terminal: The name of the colour in a terminal.
    """

    name: str
    light: Shade
    dark: Shade
    terminal: str


class Theme(NamedTuple):
    """The colours of a page.

    Attributes:
        page: The background.
        text: The text, on the background and on every span.
        faint: Less important text on the background.
        line: Lines between rows and around texts.
    """

    page: str
    text: str
    faint: str
    line: str


LIGHT = Theme("#ffffff", "#1c1e21", "#5a6068", "#d5d9de")
DARK = Theme("#16181b", "#eceef0", "#a3abb4", "#3a3f45")

# All inks and texts have a contrast of 4.5:1 or more to what they stand on (WCAG 2.1, AA).
PALETTE = (
    Colour("brown", Shade("#eadfd3", "#6a4423"), Shade("#4b382a", "#dfc3a6"), "bright_red"),
    Colour("orange", Shade("#ffe2c2", "#8a3f00"), Shade("#5c3410", "#ffc58a"), "yellow"),
    Colour("green", Shade("#d3f2d6", "#17602a"), Shade("#1c4a28", "#9ee6ac"), "green"),
    Colour("sky", Shade("#cdedfd", "#0a5578"), Shade("#134660", "#93d9fa"), "bright_cyan"),
    Colour("red", Shade("#ffd9d6", "#9c1c1c"), Shade("#642322", "#ffb3ad"), "red"),
    Colour("teal", Shade("#c9f1ef", "#0b5c5c"), Shade("#0f4a4a", "#8be3df"), "cyan"),
    Colour("yellow", Shade("#fbeea6", "#6a4f00"), Shade("#4f4208", "#f2d96b"), "bright_yellow"),
    Colour("pink", Shade("#ffd6ec", "#95165f"), Shade("#5e1f46", "#ffaeda"), "bright_magenta"),
    Colour("lime", Shade("#e4f5b8", "#44590a"), Shade("#374a0c", "#c8e67a"), "bright_green"),
    Colour("grey", Shade("#e1e5ea", "#3f4a58"), Shade("#3b434d", "#c4ced9"), "blue"),
    Colour("purple", Shade("#ebdcff", "#5f2aa8"), Shade("#43296b", "#d6b8ff"), "magenta"),
    Colour("blue", Shade("#d6e6ff", "#124a9c"), Shade("#1d3a66", "#a9cbff"), "bright_blue"),
)


def assign_colours(labels: Iterable[str]) -> dict[str, int]:
    """Give each label a colour of the palette, by number.

    The order of the labels does not matter. A label has the same colour in most renderings: the one
    that a checksum of it says, or the next one that the fewest others have.

    Examples:
        >>> from adaptag.rendering.colours import assign_colours
        >>> assign_colours(["LOC", "PER"]) == assign_colours(["PER", "LOC", "PER"])
        True
    """
    used = [0] * len(PALETTE)
    colours = {}
    for label in sorted(set(labels)):
        first = zlib.crc32(label.encode("utf-8", "surrogatepass")) % len(PALETTE)
        order = [(first + k) % len(PALETTE) for k in range(len(PALETTE))]
        colours[label] = min(order, key=used.__getitem__)
        used[colours[label]] += 1
    return colours


def contrast(first: str, second: str) -> float:
    """The contrast of two colours, such as ``#ffffff``, from 1 to 21, as WCAG 2.1 defines it."""
    low, high = sorted(map(_luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    """The relative luminance of a colour, 0 to 1."""
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
