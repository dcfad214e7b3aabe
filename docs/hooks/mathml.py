r"""Turn the LaTeX of the pages into MathML while the site is built.

Pages write mathematics as ``$w$`` in a sentence and ``$$w$$`` in a paragraph of its own. The
extension ``pymdownx.arithmatex`` finds both; this hook converts what it found. Browsers display
MathML themselves, so that a page needs no script and no network.

latex2mathml gives some symbols a type that browsers set with the wrong spacing. ``REPLACEMENTS``
corrects those that the pages use. A command that it does not know stops the build.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

if TYPE_CHECKING:
    from mkdocs.structure.pages import Page

INLINE = re.compile(r'(\(?)<span class="arithmatex">\\\((.*?)\\\)</span>([.,;:)]*)', re.DOTALL)
DISPLAY = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
FENCE = re.compile(r"\\([lr])(vert|Vert|ceil|floor)(?![A-Za-z])")
SIDES = {"l": r"\left", "r": r"\right"}
REPLACEMENTS = [
    (re.compile(r"<mo>(&#x0221E;|&#x022A4;|&#x02202;)</mo>"), r"<mi>\1</mi>"),  # ∞ ⊤ ∂
    (re.compile(r"<mo>&#x02207;</mo>"), '<mi mathvariant="normal">&#x02207;</mi>'),  # ∇
    (re.compile(r"<mo>&#x0002F;</mo>"), '<mo lspace="0.06em" rspace="0.06em">/</mo>'),
    (re.compile(r"<mo>(?!mod)([A-Za-z]{2,})</mo>"), r"<mi>\1</mi>"),  # names of functions
    # A function's name: a thin space before it and before its argument, but none before a bracket.
    (
        re.compile(r"(</mi>|</mn>|</msub>)(<mi>[A-Za-z]{2,}</mi>)"),
        r'\1<mspace width="0.167em"></mspace>\2',
    ),
    (
        re.compile(r"(<mi>(?:log|exp|sign)</mi>)(?!</|<mo stretchy|<mrow><mo stretchy)"),
        r'\1<mspace width="0.167em"></mspace>',
    ),
    (re.compile(r"<(m[a-z]+)([^<>]*?) ?/>"), r"<\1\2></\1>"),  # HTML closes no element by itself
]


def to_mathml(latex: str, display: str, where: str) -> str:
    """Convert one formula.

    Args:
        latex: The formula, with HTML's characters escaped.
        display: `inline` or `block`.
        where: The page, for messages.
    """
    source = html.unescape(latex).strip()
    try:
        mathml = convert(FENCE.sub(lambda m: f"{SIDES[m[1]]}{m[0]} ", source), display=display)
    except Exception as error:
        raise PluginError(f"{where}: the formula {source!r}: {type(error).__name__}") from error
    if "\\" in mathml or "<mi>&</mi>" in mathml:
        raise PluginError(f"{where}: the formula {source!r} has a command that is not known")
    for pattern, replacement in REPLACEMENTS:
        mathml = pattern.sub(replacement, mathml)
    return mathml


def on_page_content(content: str, page: Page, **_: object) -> str:
    """Convert all formulas of a page."""
    where = page.file.src_uri

    def paragraph(match: re.Match[str]) -> str:
        return f'<div class="equation">{to_mathml(match[1], "block", where)}</div>'

    def word(match: re.Match[str]) -> str:  # no line starts with the comma behind a formula
        before, latex, after = match.groups()
        mathml = to_mathml(latex, "inline", where)
        return (
            f'<span class="formula">{before}{mathml}{after}</span>' if before or after else mathml
        )

    content = DISPLAY.sub(paragraph, content)
    return INLINE.sub(word, content)
