"""CoNLL-2000 as the peers read it: sentences, and the CRF++ chunking template."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("ADAPTAG_DATA", ROOT.parent / "shared" / "data")) / "conll2000"

Sentence = list[tuple[str, ...]]

WORD, POS = 0, 1
# (column, offsets): the 19 unigram templates; the label bigram `B` comes on top.
TEMPLATE = [
    *((WORD, (i,)) for i in range(-2, 3)),
    *((WORD, (i, i + 1)) for i in (-1, 0)),
    *((POS, (i,)) for i in range(-2, 3)),
    *((POS, (i, i + 1)) for i in range(-2, 2)),
    *((POS, (i, i + 1, i + 2)) for i in range(-2, 1)),
]


def read(path: str | Path) -> Iterator[Sentence]:
    """Sentences of token columns; a blank line ends a sentence."""
    for block in Path(path).read_text(encoding="utf-8").strip().split("\n\n"):
        yield [tuple(line.split()) for line in block.split("\n")]


def wapiti_pattern() -> str:
    """TEMPLATE as a Wapiti pattern file."""
    lines = [
        f"U{number:02}:" + "/".join(f"%x[{offset},{column}]" for offset in offsets)
        for number, (column, offsets) in enumerate(TEMPLATE)
    ]
    return "\n".join([*lines, "B"]) + "\n"


def attributes(sentence: Sentence) -> list[list[str]]:
    """TEMPLATE as attribute strings, written out as users of python-crfsuite do, for speed."""
    words = ["_B-2", "_B-1", *(token[WORD] for token in sentence), "_B+1", "_B+2"]
    tags = ["_B-2", "_B-1", *(token[POS] for token in sentence), "_B+1", "_B+2"]
    windows = zip(
        *(words[i:] for i in range(5)), *(tags[i:] for i in range(5)), strict=False
    )  # the shifted lists end at different places; the shortest ends at the last token
    return [
        [
            f"w[-2]={a}",
            f"w[-1]={b}",
            f"w[0]={c}",
            f"w[1]={d}",
            f"w[2]={e}",
            f"w[-1]|w[0]={b}|{c}",
            f"w[0]|w[1]={c}|{d}",
            f"p[-2]={p}",
            f"p[-1]={q}",
            f"p[0]={r}",
            f"p[1]={s}",
            f"p[2]={t}",
            f"p[-2]|p[-1]={p}|{q}",
            f"p[-1]|p[0]={q}|{r}",
            f"p[0]|p[1]={r}|{s}",
            f"p[1]|p[2]={s}|{t}",
            f"p[-2]|p[-1]|p[0]={p}|{q}|{r}",
            f"p[-1]|p[0]|p[1]={q}|{r}|{s}",
            f"p[0]|p[1]|p[2]={r}|{s}|{t}",
        ]
        for a, b, c, d, e, p, q, r, s, t in windows
    ]
