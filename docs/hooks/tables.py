r"""Fill in the tables of algorithms and of their parameters while the site is built.

They come from ``adaptag.algorithms()``, so that a default or a help text is written once, beside
the code that uses it. A page asks for a table by a comment:

- ``<!-- algorithms -->``: all algorithms, what each optimises and when to use it.
- ``<!-- parameters: rate c; sigma \sigma; schedule -->``: the parameters of the algorithm that the
  page is named after, each with the letter that its equations use, if there is one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mkdocs.exceptions import PluginError

import adaptag

if TYPE_CHECKING:
    from mkdocs.structure.pages import Page

ALGORITHMS = re.compile(r"^<!-- algorithms -->$", re.MULTILINE)
PARAMETERS = re.compile(r"^<!-- parameters: (.*?) -->$", re.MULTILINE)


def table(heading: list[str], rows: list[list[str]]) -> str:
    """Write a Markdown table."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def algorithm_table() -> str:
    """Write the table of all algorithms, with links to their pages."""
    return table(
        ["Name", "What it optimises", "When to use it"],
        [
            [f"[`{a.name}`]({a.name}.md)", a.objective, a.advice]
            for a in adaptag.algorithms().values()
        ],
    )


def parameter_table(algorithm: str, listed: str) -> str:
    """Write the table of an algorithm's parameters.

    Args:
        algorithm: The name of the algorithm.
        listed: The names of its parameters, each with its letter, as the page gives them.
    """
    letters = dict((*item.split(maxsplit=1), "")[:2] for item in listed.split(";"))
    declared = adaptag.algorithms()[algorithm].parameters
    if list(letters) != [p.name for p in declared]:
        names = "; ".join(p.name for p in declared)
        raise PluginError(f"{algorithm}.md lists the parameters {listed}; declared are {names}")
    rows = []
    for p in declared:
        letter = f"${letters[p.name]}$" if letters[p.name] else ""
        allowed = ", ".join(f"`{name}`" for name in p.choices) or p.bounds
        allowed = allowed.replace("auto", "[`auto`](index.md#rate-auto)")
        rows.append([f"`{p.name}`", letter, f"`{p.shown_default}`", allowed, p.help])
    return table(["Name", "Letter", "Default", "Allowed values", "Meaning"], rows)


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Replace the comments of a page by their tables."""
    name = page.file.name
    markdown = ALGORITHMS.sub(lambda _: algorithm_table(), markdown)
    return PARAMETERS.sub(lambda match: parameter_table(name, match[1]), markdown)
