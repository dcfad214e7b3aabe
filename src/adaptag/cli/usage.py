"""How the data of a model is written, and the commands that use it, with an example."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptag.cli.commands import TAKES

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["usage", "used_columns"]

SENTENCES = "a blank line between sentences"
DOCUMENTS = {
    "text": "A good film, and a short one.",
    "svmlight": "3:1 17:0.5 204:2",
    "counts": "good:1 film:1 short_film:1",
}
MOST_COLUMNS = 20  # of an example
CHARACTERS = "我们在电影院看电影"


def usage(model: Any, path: Path) -> RenderableType:
    """The commands for a model, what they read, and an example of it."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    lines = [Text("How to use it", style="italic")]
    for command, reads, example in _ways(model, path):
        lines.append(Text(command, style="bold"))
        lines.append(Text(f"reads {reads}, such as"))
        lines += [Padding(Text(line), (0, 0, 0, 4)) for line in example]  # type: ignore[misc]
    return Group("", *lines)


def used_columns(template: Any, n_columns: int | None) -> str:
    """The feature columns of the training data, and those that features are made of."""
    if n_columns is None:
        return "none: attributes"
    used = ", ".join(map(str, template.used_columns))
    return f"{n_columns}, used: {used}"


def _ways(model: Any, path: Path) -> list[tuple[str, str, list[str]]]:
    """Each command, what it reads, and the lines of an example."""
    command = f"adaptag {TAKES[model.kind]}{{}} FILE -m {shlex.quote(str(path))}"
    if model.kind == "segmenter":
        return [(command.format(""), "text, a sentence or more per line", [CHARACTERS])]
    if model.kind == "classifier":
        form = model.format.format
        reads = f"documents, one per line, in the format {form}"
        return [(command.format(""), reads, [DOCUMENTS[form]])]
    template, n_columns = model.index.template, model.index.n_columns
    if template.attributes:
        reads = f"a token per line, ?, a tab, then its attributes between tabs, {SENTENCES}"
        return [(command.format(""), reads, ["?<TAB>word=The<TAB>capital", "?<TAB>word=film"])]
    columns = [f"column{number}" for number in range(1, min(n_columns, MOST_COLUMNS))]
    columns += ["…"] * (n_columns > MOST_COLUMNS)
    between = f"{n_columns} columns between spaces or tabs" if columns else "one column"
    reads = f"a token per line, {between}, {SENTENCES}"
    words = [" ".join([word, *columns]) for word in ("The", "film")]
    ways = [(command.format(""), reads, words)]
    if template.n_columns == 1:
        ways.append(
            (command.format(" --text"), "raw text, a text per line", ["The film is short."])
        )
    return ways
