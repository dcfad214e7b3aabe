"""The pictures of README.md, as SVG for light and for dark pages: tagged lines, and the race.

Text is text, in the reader's fixed-width font and stretched to the width that was reckoned with, so
that the same figures give the same bytes everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

from page import peer, value

from adaptag.rendering.colours import DARK, LIGHT, PALETTE, Theme, assign_colours

if TYPE_CHECKING:
    from collections.abc import Callable

    from page import Figures

WIDTH = 620  # narrow, so that type is not too small on a telephone
MARGIN = 22.0
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
CHARACTER = 0.6  # the width of a character, of its size
TEXT, SMALL = 15, 11  # sizes of type
TARGET = "conll2000/seconds to F 93.6"
OURS = {"light": "#0b7a75", "dark": "#4fd1c5"}  # the bars of adaptag
THEIRS = {"light": "#b8bfc7", "dark": "#5b636d"}

# What the model of `adaptag demo` finds in lines that it has never seen.
TAGGED: list[list[tuple[str, str]]] = [
    [
        ("2", "QTY"),
        ("(", ""),
        ("540 mL", "SIZE"),
        (")", ""),
        ("tins", "UNIT"),
        ("diced heirloom tomatoes", "NAME"),
        (",", ""),
        ("juices reserved", "NOTE"),
    ],
    [
        ("about", ""),
        ("750g", "QTY"),
        ("bone-in", "STATE"),
        ("goat shoulder", "NAME"),
        (",", ""),
        ("cut into bite-size strips", "PREP"),
    ],
    [
        ("1", "QTY"),
        ("knob", "UNIT"),
        ("of", ""),
        ("fresh", "STATE"),
        ("galangal", "NAME"),
        ("or", ""),
        ("ginger", "NAME"),
        (",", ""),
        ("peeled and smashed", "PREP"),
    ],
]


class Bar(NamedTuple):
    """A bar of the race: who, how many seconds, and whether it is adaptag."""

    name: str
    seconds: float
    ours: bool


def pictures(figures: Figures) -> dict[str, str]:
    """All pictures, by the names of their files."""
    drawn: dict[str, Callable[[str, Theme], str]] = {
        "tagged": tagged,
        "race": lambda shade, theme: race(figures, shade, theme),
    }
    return {
        f"readme-{name}-{shade}.svg": draw(shade, theme)
        for name, draw in drawn.items()
        for shade, theme in (("light", LIGHT), ("dark", DARK))
    }


def text(x: float, y: float, content: str, size: int, colour: str, weight: str = "normal") -> str:
    """A run of text of exactly the width that its characters have."""
    length = len(content) * size * CHARACTER
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" fill="{colour}" '
        f'textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs" xml:space="preserve">'
        f"{escape(content)}</text>"
    )


def svg(height: int, title: str, parts: list[str], theme: Theme) -> str:
    """A picture with a frame."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" font-family="{FONT}">'
    )
    frame = (
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8" '
        f'fill="{theme.page}" stroke="{theme.line}"/>'
    )
    return "\n".join([head, f"<title>{escape(title)}</title>", frame, *parts, "</svg>"]) + "\n"


def tagged(shade: str, theme: Theme) -> str:
    """Lines of recipes with coloured spans."""
    colours = assign_colours(label for line in TAGGED for _, label in line if label)
    parts, y = [], MARGIN
    for line in TAGGED:
        x = MARGIN
        for content, label in line:
            width = len(content) * TEXT * CHARACTER
            marked = width + 24 + len(label) * SMALL * CHARACTER
            if x + (marked if label else width) > WIDTH - MARGIN:
                x, y = 3 * MARGIN, y + 36
            if not label:
                x -= 5 if content in ",)" else 0
                parts.append(text(x, y + 19, content, TEXT, theme.text))
                x += width + 8
                continue
            colour = getattr(PALETTE[colours[label]], shade)
            parts += [
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{marked:.1f}" height="28" rx="5" '
                f'fill="{colour.fill}"/>',
                text(x + 8, y + 19, content, TEXT, theme.text),
                text(x + 16 + width, y + 18.5, label, SMALL, colour.ink, "bold"),
            ]
            x += marked + 8
        y += 46
    return svg(round(y + 4), "Recipe lines with their quantities, units and names", parts, theme)


def bars(figures: Figures) -> list[Bar]:
    """Seconds to F 93.6, the quickest first."""
    found = [
        ("adaptag, 2 cores", value(figures, f"{TARGET}/2 cores"), True),
        ("adaptag, 1 core", value(figures, f"{TARGET}/1 core"), True),
        ("CRFsuite, PA", peer(figures, f"{TARGET}/1 core"), False),
        (
            "CRFsuite, SGD",
            peer(figures, "conll2000/beside CRFsuite l2sgd/seconds to F 93.6"),
            False,
        ),
        (
            "Wapiti, SGD-L1",
            peer(figures, "conll2000/beside Wapiti sgd-l1/seconds to F 93.6"),
            False,
        ),
    ]
    return sorted(
        (Bar(name, seconds, ours) for name, seconds, ours in found if seconds is not None),
        key=lambda bar: bar.seconds,
    )


def race(figures: Figures, shade: str, theme: Theme) -> str:
    """Seconds of training to F 93.6, as bars."""
    found = bars(figures)
    left, right = 180.0, 80.0
    scale = (WIDTH - left - right) / max(bar.seconds for bar in found)
    title = "Seconds of training to F 93.6, CoNLL-2000 chunking"
    parts, y = [text(MARGIN, 36, title, TEXT, theme.text, "bold")], 56.0
    for bar in found:
        width = max(2.0, bar.seconds * scale)
        weight = "bold" if bar.ours else "normal"
        fill = (OURS if bar.ours else THEIRS)[shade]
        parts += [
            text(MARGIN, y + 16, bar.name, TEXT, theme.text, weight),
            f'<rect x="{left:.1f}" y="{y:.1f}" width="{width:.1f}" height="22" rx="3" '
            f'fill="{fill}"/>',
            text(left + width + 8, y + 16, f"{bar.seconds:.2f}", TEXT, theme.text, weight),
        ]
        y += 34
    return svg(round(y + 10), title, parts, theme)
