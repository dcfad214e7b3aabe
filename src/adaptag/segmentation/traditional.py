"""Traditional Chinese, cut by a segmenter of Simplified Chinese.

Each Traditional character is compared as its Simplified form, by the table of characters of OpenCC
(extra ``adaptag[traditional]``). One character stands for one, so all places stay, and words are
those of the text.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from adaptag.corpus.lists import as_list
from adaptag.corpus.text import TextPart
from adaptag.errors import CorpusError, ParameterError
from adaptag.segmentation.cutter import TEXTS, Cutter
from adaptag.segmentation.dictionary import UserDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from adaptag._native import core
    from adaptag.segmentation.new_words import Detection
    from adaptag.segmentation.segmenter import Segmenter

__all__ = ["TraditionalCutter", "simplified"]

IDEOGRAPHS = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00), (0x20000, 0x32000))


def simplified(text: str) -> str:
    """A text with each Traditional character in its Simplified form; it is as long as the text."""
    return text.translate(_table())


@cache
def _table() -> dict[int, int]:
    """The Simplified form of each character that has another one."""
    try:
        from opencc import OpenCC
    except ImportError:
        raise ParameterError(
            'Traditional Chinese needs OpenCC: pip install "adaptag[traditional]"'
        ) from None
    characters = "".join(chr(c) for first, last in IDEOGRAPHS for c in range(first, last))
    # On lines of their own: phrases, which are converted as wholes, cannot occur.
    converted = OpenCC("t2s").convert("\n".join(characters)).split("\n")
    return {
        ord(old): ord(new)
        for old, new in zip(characters, converted, strict=True)
        if old != new and len(new) == 1
    }


class TraditionalCutter(Cutter):
    """A segmenter of Traditional Chinese; ``Segmenter.for_traditional`` makes it.

    It has the methods of a segmenter that cut, find and score words. Simplified text is cut as
    before. New words are given in Simplified characters.

    Attributes:
        segmenter: The segmenter of Simplified Chinese.
    """

    kind: ClassVar[str] = "segmenter"

    def __init__(self, segmenter: Segmenter) -> None:
        simplified("")  # raises where OpenCC is not installed
        self.segmenter = segmenter

    def __repr__(self) -> str:
        return f"<TraditionalCutter of {self.segmenter!r}>"

    @property
    def _native(self) -> core.Segmenter:
        return self.segmenter._native

    @property
    def lexicon_(self) -> core.Lexicon:
        """All words of the training data, in Simplified characters."""
        return self.segmenter.lexicon_

    @property
    def dictionary(self) -> UserDictionary:
        """The dictionary of the segmenter, which takes Traditional words too."""
        return _Simplifying(self.segmenter.dictionary)

    @property
    def _knows(self) -> Callable[[str], bool]:
        knows = self.segmenter._knows
        return lambda word: knows(simplified(word))

    def compared(self, text: str) -> str:
        """A text in Simplified characters."""
        return simplified(text)

    def is_word(self, text: str) -> bool:
        """Whether a text is a word of the training data or of the dictionary."""
        return self.segmenter.is_word(simplified(text))

    def cut(self, text: str) -> list[str]:
        """Cut a text into words."""
        return self.cut_all([text], 1)[0]

    def cut_all(self, texts: Iterable[str], threads: int | None = None) -> list[list[str]]:
        """Cut many texts, on all cores unless ``threads`` says otherwise."""
        listed = as_list(texts, "texts", TEXTS)
        cut = self.segmenter.cut_all(_simplified_all(listed), threads)
        return [_pieces(text, words) for text, words in zip(listed, cut, strict=True)]

    def spaced(self, text: bytes, separator: str = " ", *, continues: bool = False) -> bytes | None:
        """Cut UTF-8 text; the arguments are those of ``Cutter.spaced``."""
        part = TextPart("", text, 1, continues)
        try:
            cut = self.cut_all(part.lines(), 1)
        except CorpusError:
            return None
        return part.joined(
            [[word for word in words if not word.isspace()] for words in cut], separator
        )

    def marks(
        self, texts: Sequence[str], threads: int | None = None, extra: core.Lexicon | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.float32]]:
        """Find where words begin; the arguments and the result are those of ``Cutter.marks``."""
        return self.segmenter.marks(_simplified_all(texts), threads, extra)

    def new_words(self, texts: Iterable[str], **options: Any) -> Detection:
        """Find words that the training data does not have, in Simplified characters."""
        listed = as_list(texts, "texts", TEXTS)
        found = self.segmenter.new_words(_simplified_all(listed), **options)
        cut = [_pieces(text, words) for text, words in zip(listed, found.segmentation, strict=True)]
        return replace(found, segmentation=cut)


class _Simplifying(UserDictionary):
    """A dictionary whose words may be given in Traditional characters."""

    def __init__(self, dictionary: UserDictionary) -> None:
        self.__dict__ = dictionary.__dict__  # it is the same dictionary

    def __contains__(self, word: str) -> bool:
        return simplified(word) in self.native

    def _folded(self, words: Iterable[str]) -> list[str]:
        return super()._folded(map(simplified, words))


def _simplified_all(texts: Sequence[str]) -> list[str]:
    """Simplify texts; what is no text is left to whoever checks them."""
    return [simplified(text) if isinstance(text, str) else text for text in texts]


def _pieces(text: str, words: Sequence[str]) -> list[str]:
    """A text cut where other words of the same lengths end."""
    ends = list(itertools.accumulate(map(len, words), initial=0))
    return [text[a:b] for a, b in itertools.pairwise(ends)]
