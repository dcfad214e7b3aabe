"""Words with their parts of speech: a segmenter, and a tagger of its words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from adaptag.corpus.lists import as_list
from adaptag.segmentation.cutter import TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from adaptag.corpus.spans import TaggedText
    from adaptag.corpus.text import TextPart
    from adaptag.decoding.model import Model
    from adaptag.segmentation.dictionary import UserDictionary
    from adaptag.segmentation.segmenter import Segmenter
    from adaptag.segmentation.traditional import TraditionalCutter

__all__ = ["TaggedWord", "WordTagger"]


class TaggedWord(NamedTuple):
    """A word and its part of speech."""

    word: str
    flag: str

    def __str__(self) -> str:
        return f"{self.word}/{self.flag}"


class WordTagger:
    """Cuts text into words, and gives each its part of speech.

    Words of the dictionary that have a tag there get that tag.

    Attributes:
        segmenter: What cuts the text.
        tagger: What tags the words.
    """

    def __init__(self, segmenter: Segmenter | TraditionalCutter, tagger: Model) -> None:
        from adaptag.decoding.texts import check_takes_text

        check_takes_text(tagger)
        self.segmenter, self.tagger = segmenter, tagger

    def __repr__(self) -> str:
        return f"<WordTagger of {self.segmenter!r} and {self.tagger!r}>"

    @property
    def dictionary(self) -> UserDictionary:
        """Words of the user's own: the dictionary of the segmenter."""
        return self.segmenter.dictionary

    def cut(self, text: str) -> list[str]:
        """Cut a text into words, as the segmenter does."""
        return self.segmenter.cut(text)

    def cut_pos(self, text: str) -> list[TaggedWord]:
        """Cut a text into words with their parts of speech, without white space."""
        return self.cut_pos_all([text], 1)[0]

    def cut_pos_all(
        self, texts: Iterable[str], threads: int | None = None
    ) -> list[list[TaggedWord]]:
        """Cut many texts into words with their parts of speech, on all cores by default.

        Every line of a text is a sentence of its own.

        Args:
            texts: The texts.
            threads: The number of threads.
        """
        all_words = self.segmenter.cut_all(as_list(texts, "texts", TEXTS), threads)
        lines = [line for words in all_words for line in _lines(words)]
        seen = [list(map(self.segmenter.compared, line)) for line in lines]
        tagged = self.tagger.tag_all(seen, threads=threads)
        own_tag = self.dictionary.tag
        pairs = iter(
            [
                TaggedWord(word, own_tag(word) or label)
                for word, label in zip(line, labels, strict=True)
            ]
            for line, labels in zip(lines, tagged, strict=True)
        )
        return [[pair for _ in _lines(words) for pair in next(pairs)] for words in all_words]

    def tag_text(self, text: str) -> TaggedText:
        """Tag a text: each word a span with its place and the probability of its label."""
        seen = self.tagger.tag_text(self.segmenter.compared(text), tokenizer=self.segmenter)
        spans = (replace(span, text=text[span.start : span.end]) for span in seen.spans)
        return replace(seen, text=text, spans=tuple(spans))

    def cut_part(self, part: TextPart, separator: str = " ") -> bytes:
        """Cut a part of a file in this thread: ``word/TAG``, separated, line by line."""
        tagged = self.cut_pos_all(part.lines(), 1)
        return part.joined([map(str, pairs) for pairs in tagged], separator)


def _lines(words: list[str]) -> list[list[str]]:
    """The words of each line that has any, without white space."""
    lines: list[list[str]] = [[]]
    for word in words:
        if not word.isspace():
            lines[-1].append(word)
        elif word.splitlines() != [word]:  # it has the end of a line
            lines.append([])
    return [line for line in lines if line]
