"""What a segmenter learns from, in the forms that users have it in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from adaptag.corpus.segmented import SegmentedCorpus
from adaptag.errors import CorpusError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from adaptag.storage.files import PathLike

    Segmented = PathLike | SegmentedCorpus | Iterable[Iterable[str]]

__all__ = ["corpus_of"]


def corpus_of(data: Segmented, words: Iterable[Sequence[str]] | None = None) -> SegmentedCorpus:
    """Take segmented text.

    Args:
        data: a file of spaced text, a corpus that was read, or sentences of words; or plain texts,
            where their words are given.
        words: those of each text.
    """
    if words is not None:
        data = _checked(data, words)
    if isinstance(data, SegmentedCorpus):
        return data
    if isinstance(data, (str, os.PathLike)):
        return SegmentedCorpus.read(data)
    corpus = SegmentedCorpus.from_sentences(data)
    if len(corpus) == 0:
        raise ParameterError("the data holds no sentence")
    return corpus


def _checked(data: Segmented, words: Iterable[Sequence[str]]) -> list[list[str]]:
    """The words, which must give the texts."""
    if isinstance(data, (str, os.PathLike, SegmentedCorpus)):
        raise ParameterError("y goes with texts given as Python data")
    texts, all_words = list(data), [list(one) for one in words]
    if len(texts) != len(all_words):
        raise ParameterError(f"{len(all_words)} segmentations for {len(texts)} texts")
    for number, (text, one) in enumerate(zip(texts, all_words, strict=True), 1):
        if not isinstance(text, str):
            raise CorpusError(f"text {number} is a {type(text).__name__}; allowed: a string")
        if "".join("".join(one).split()) != "".join(text.split()):
            raise CorpusError(f"text {number}: its words do not give the text: {text[:20]!r}")
    return all_words
