r"""Fill in the tables of algorithms, of their parameters and of settings while the site is built.

They come from ``adaptag.algorithms()`` and from the declarations of the settings, so that a default
or a help text is written once, beside the code that uses it. A page asks for a table by a comment:

- ``<!-- algorithms -->``: all algorithms, what each optimises and when to use it.
- ``<!-- parameters: rate c; sigma \sigma; schedule -->``: the parameters of the algorithm that the
  page is named after, each with the letter that its equations use, if there is one.
- ``<!-- settings: SegmenterSettings, CharacterFeatures -->``: all settings of some groups.
- ``<!-- settings: TaggingSettings: metric legal -->``: some settings of a group.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from mkdocs.exceptions import PluginError

import adaptag
from adaptag.classification.settings import DocumentFeatures
from adaptag.corpus.settings import DocumentFormat
from adaptag.estimators.parameters import EstimatorSettings
from adaptag.features.settings import (
    EDGES,
    CharacterFeatures,
    ClusterSettings,
    FeatureSettings,
)
from adaptag.segmentation.settings import SegmenterSettings
from adaptag.streams.settings import StreamSettings
from adaptag.training.settings import TaggingSettings, TrainingSettings

if TYPE_CHECKING:
    from mkdocs.structure.pages import Page

    from adaptag.settings import Parameter

ALGORITHMS = re.compile(r"^<!-- algorithms -->$", re.MULTILINE)
PARAMETERS = re.compile(r"^<!-- parameters: (.*?) -->$", re.MULTILINE)
SETTINGS = re.compile(r"^<!-- settings: ([\w, ]+)(?:: ([\w ]+))? -->$", re.MULTILINE)
GROUPS = {
    group.__name__: group
    for group in (
        CharacterFeatures,
        ClusterSettings,
        DocumentFeatures,
        DocumentFormat,
        EstimatorSettings,
        FeatureSettings,
        SegmenterSettings,
        StreamSettings,
        TaggingSettings,
        TrainingSettings,
    )
}


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


def settings_table(groups: str, names: str | None) -> str:
    """Write the table of the settings of some groups.

    Args:
        groups: The names of the groups, with commas between them.
        names: The names of the settings, with spaces between them; None: all of the groups.
    """
    declared: dict[str, Parameter] = {}
    for group in groups.split(","):
        if group.strip() not in GROUPS:
            raise PluginError(f"unknown settings {group.strip()!r}; allowed: {', '.join(GROUPS)}")
        declared |= GROUPS[group.strip()].declared()
    by_panel = sorted(declared, key=lambda name: declared[name].panel == EDGES)  # as in the help
    listed = by_panel if names is None else names.split()
    if not set(listed) <= set(declared):
        raise PluginError(f"{groups} has no {', '.join(set(listed) - set(declared))}")
    rows = []
    for name in listed:
        p = declared[name]
        options = [] if "EstimatorSettings" in groups else _options(p)  # it has arguments only
        shown = "<br>".join(f'<code class="option">{text}</code>' for text in [name, *options])
        default = p.shown_default if p.default_text else f"`{_literal(p.default)}`"
        meaning = f'<span class="meaning">{html.escape(p.help, quote=False)}</span>'
        rows.append([shown, meaning, default, _allowed(p)])
    return table(["Name", "Meaning", "Default", "Allowed values"], rows)


def _literal(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _options(p: Parameter) -> list[str]:
    """The command-line option of a setting, with its short form or its opposite."""
    if not p.option:
        return []
    names = (p.flag or f"--{p.name.replace('_', '-')}").split("/")
    return [f"{names[0]}, {p.short}"] if p.short else names


def _allowed(p: Parameter) -> str:
    if p.is_flag:
        return "true or false"
    return ", ".join(f"`{name}`" for name in p.choices) or p.bounds


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Replace the comments of a page by their tables."""
    name = page.file.name
    markdown = ALGORITHMS.sub(lambda _: algorithm_table(), markdown)
    markdown = SETTINGS.sub(lambda match: settings_table(match[1], match[2]), markdown)
    return PARAMETERS.sub(lambda match: parameter_table(name, match[1]), markdown)
