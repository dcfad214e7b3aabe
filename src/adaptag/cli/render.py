"""``adaptag render``: tagged texts in, a page with coloured spans out."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated

from adaptag.cli.arguments import argument, option
from adaptag.cli.options import (
    PANEL,
    CommentOption,
    DocstartOption,
    EncodingOption,
    SeparatorOption,
)
from adaptag.cli.output import output_stream, say
from adaptag.errors import counted
from adaptag.rendering import THRESHOLD

__all__ = ["render"]

STANDARD = "-"  # standard input or output
LIMIT = 1000


def render(
    data: Annotated[
        Path,
        argument(
            metavar="INPUT",
            help="Tagged texts (.gz, .xz; - for stdin): JSON lines of texts with spans, or of "
            "tokens with tags, a column file with the label last, an export of an annotation "
            "tool, or a DocBin of spaCy.",
        ),
    ],
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            help="The HTML file to write; - for standard output.",
            show_default="INPUT.html in the current folder; of stdin, standard output",
        ),
    ] = None,
    title: Annotated[
        str | None, option(help="Title of the page.", show_default="the name of INPUT")
    ] = None,
    limit: Annotated[
        int, option(min=1, max=1_000_000, help="Number of texts to draw, the first ones.")
    ] = LIMIT,
    threshold: Annotated[
        float,
        option(min=0, max=1, help="Below this probability, spans are drawn as uncertain."),
    ] = THRESHOLD,
    probabilities: Annotated[
        bool, option("--probabilities", help="Show probabilities beside labels, too.")
    ] = False,
    format: Annotated[  # noqa: A002
        str,
        option(
            help="columns, jsonl, json, doccano, label-studio, brat, docbin, or auto: as the "
            "ending of the file says, or else its first line.",
            panel=PANEL,
        ),
    ] = "auto",
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
    encoding: EncodingOption = None,
) -> None:
    """Draw tagged texts: one HTML page with coloured spans and a legend.

    The page needs nothing else: no script, no other files, no network. Probabilities are shown
    when the mouse is over a span.
    """
    from adaptag.cli.output import check_files
    from adaptag.corpus.columns import ColumnFormat
    from adaptag.corpus.tagged_texts import read_tagged_texts
    from adaptag.rendering.html import html_page
    from adaptag.storage.encodings import with_encoding

    target = _target(data, output)
    check_files({"--output": target}, {"INPUT": data})
    columns = ColumnFormat(separator, comment, skip_docstart)
    texts = read_tagged_texts(with_encoding(data, encoding), format, columns)
    drawn = list(itertools.islice(texts, limit))
    left_out = sum(1 for _ in texts)
    note = f"{len(drawn):,} of {len(drawn) + left_out:,} texts." if left_out else ""
    name = "Tagged text" if str(data) == STANDARD else data.name
    page = html_page(
        drawn, title=title or name, note=note, threshold=threshold, probabilities=probabilities
    )
    with output_stream(target) as file:
        file.write(page.encode())
    if left_out:
        say(
            f"note: {counted(left_out, 'further text')} {'is' if left_out == 1 else 'are'} left "
            "out; --limit draws more"
        )
    if target is not None:
        say(f"wrote {target}")


def _target(data: Path, output: Path | None) -> Path | None:
    """The file to write; None is standard output."""
    if output is not None:
        return None if str(output) == STANDARD else output
    if str(data) == STANDARD:
        return None
    name = data.name
    for ending in (".gz", ".xz"):
        name = name.removesuffix(ending)
    return Path(name).with_suffix(".html")
