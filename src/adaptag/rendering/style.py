"""The style sheet of all HTML, and the frame of pages."""

from __future__ import annotations

import re
from functools import cache

from adaptag.rendering.colours import DARK, LIGHT, PALETTE

__all__ = ["page_of", "style"]

# A page may load nothing and run nothing, whatever texts hold.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"

# What all rules are for: a fragment, with the specificity of an ID that does not exist. So the
# style of the page around, such as that of a notebook or of a documentation site, does not win.
SCOPE = ":is(.adaptag,#adaptag-scope)"
SELECTORS = re.compile(r"(?<=[{}])\s*([^{}@]+)(?=\{)")

RULES = """
.adaptag{color-scheme:light dark;background:var(--adaptag-page);color:var(--adaptag-text);
font:16px/1.5 system-ui,-apple-system,"Segoe UI","Noto Sans",sans-serif;padding:.75em 1em;
box-sizing:border-box;text-align:start;overflow-wrap:anywhere}
.adaptag h1{font-size:1.4em;line-height:1.25;margin:.4em 0 .6em}
.adaptag p{margin:0}
.adaptag .adaptag-note{color:var(--adaptag-faint);margin:-.3em 0 .8em}
.adaptag-legend{list-style:none;display:flex;flex-wrap:wrap;gap:.35em 1.1em;margin:0 0 .75em;
padding:0;font-size:.875em;color:var(--adaptag-faint)}
.adaptag-legend li{margin:0}
.adaptag-text{padding:.6em 0;line-height:2.1;border-top:1px solid var(--adaptag-line)}
.adaptag-text p{white-space:pre-wrap;tab-size:4}
.adaptag-span{background:var(--adaptag-fill);color:var(--adaptag-text);padding:.18em .35em;
border:1px solid transparent;border-radius:.35em;-webkit-box-decoration-break:clone;
box-decoration-break:clone;word-break:normal}
.adaptag-legend .adaptag-label{margin:0}
.adaptag-label{color:var(--adaptag-ink);font-size:.72em;font-weight:700;letter-spacing:.02em;
margin-left:.5em;line-height:1;-webkit-user-select:none;user-select:none}
.adaptag-span[dir=rtl]>.adaptag-label{margin:0 .5em 0 0}
.adaptag-span>.adaptag-label::before{content:"\\2060"}
.adaptag-figure{font-weight:400}
.adaptag-unsure{background:none;border:1px dashed var(--adaptag-ink,var(--adaptag-faint))}
mark.adaptag-span:hover{outline:2px solid var(--adaptag-ink)}
.adaptag-hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);
white-space:nowrap}
.adaptag-scroll{overflow-x:auto}
.adaptag table{display:table;border-collapse:collapse;border:0;margin:0 0 .5em;background:none;
font-size:.875em;color:inherit;font-variant-numeric:tabular-nums}
.adaptag caption{caption-side:bottom;text-align:start;color:var(--adaptag-faint);
padding:.4em .6em;white-space:pre-line}
.adaptag .adaptag-title{font-weight:700;margin:.2em 0 .4em}
.adaptag th,.adaptag td{padding:.22em .6em;text-align:start;vertical-align:top;border:0;
background:none;color:inherit;white-space:pre-wrap;min-width:0;max-width:44em;overflow-wrap:break-word}
.adaptag thead th{border-bottom:1px solid var(--adaptag-text);vertical-align:bottom}
.adaptag tr.adaptag-section>*{border-bottom:1px solid var(--adaptag-line)}
.adaptag .adaptag-number{text-align:end}
.adaptag td.adaptag-number{white-space:nowrap}
.adaptag td.adaptag-drawn{font-family:monospace;white-space:pre}
.adaptag .adaptag-strong{font-weight:700}
.adaptag tbody th{font-weight:400}
.adaptag table.adaptag-facts th{font-weight:700;white-space:nowrap}
@media print{.adaptag-span{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""


@cache
def style() -> str:
    """The style sheet: all colours in a light and in a dark version, as the reader prefers."""
    light, dark = (_colours(dark) for dark in (False, True))
    return f"\n{light}\n@media (prefers-color-scheme:dark){{{dark}}}{_scoped(RULES)}"


def _scoped(rules: str) -> str:
    """Rules whose every selector begins with the scope."""

    def scoped(match: re.Match[str]) -> str:
        selectors = (selector.strip() for selector in match[1].split(","))
        inner = (selector.removeprefix(".adaptag ").strip() for selector in selectors)
        return "\n" + ",".join(SCOPE if i == ".adaptag" else f"{SCOPE} {i}" for i in inner)

    return SELECTORS.sub(scoped, "}" + rules)[1:]


def _colours(dark: bool) -> str:
    theme = DARK if dark else LIGHT
    names = "".join(f"--adaptag-{k}:{value};" for k, value in theme._asdict().items())
    rules = [f".adaptag{{{names}}}"]
    for number, colour in enumerate(PALETTE):
        shade = colour.dark if dark else colour.light
        rules.append(f".adaptag-{number}{{--adaptag-fill:{shade.fill};--adaptag-ink:{shade.ink}}}")
    return "\n".join(rules)


def page_of(title: str, body: str) -> str:
    """A complete page; title and body are HTML."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{title}</title>
<style>{style()}html,body{{margin:0;min-height:100%}}
body{SCOPE}{{padding:1em max(1em,calc(50% - 29em))}}</style>
</head>
<body class="adaptag">
{body}</body>
</html>
"""
