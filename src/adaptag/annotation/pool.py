"""The sentences of a labelling project, packed once for training and for scoring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from adaptag._native import core
from adaptag.corpus.columns import ColumnCorpus
from adaptag.errors import ParameterError
from adaptag.parallel import threads_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Token = str | Sequence[str]

__all__ = ["Pool"]


@dataclass(frozen=True, eq=False)
class Pool:
    """All sentences of a project, labelled or not.

    Attributes:
        corpus: The sentences.
        words: The number of every token's word, int32 ``[T]``: equal words have equal numbers.
        counts: How often each word occurs, int64 ``[W]``.
    """

    corpus: ColumnCorpus
    words: NDArray[np.int32]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, sentences: Sequence[Sequence[Token]]) -> Pool:
        """Pack sentences of tokens; a token is a string or a tuple of columns, the word first."""
        corpus = ColumnCorpus.from_sentences(sentences)
        words = np.empty(0, np.int32)
        if corpus.n_tokens:
            threads = threads_for(None, tokens=corpus.n_tokens)
            words, _ = core.number_labels(corpus.text, corpus.cells, 0, [], threads)
        return cls(corpus, words, np.bincount(words).astype(np.int64))

    def __len__(self) -> int:
        """Count the sentences."""
        return len(self.corpus)

    def check(self, sentences: NDArray[np.int64]) -> None:
        """Raise where a number is not that of a sentence."""
        wrong = sentences[(sentences < 0) | (sentences >= len(self))]
        if len(wrong):
            raise ParameterError(f"sentence {wrong[0]}; the pool has {len(self):,}, from 0")
