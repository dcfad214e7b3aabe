"""Word clusters from raw text: Brown's bigram classes, each with a binary code.

A class bigram model has the probability p(w | v) = p(w | class of w) · p(class of w | class of v).
With N(g, h) the number of times that a word of class h follows one of class g, and N(g) the number
of words of class g, the log-likelihood of the text is, but for a constant (Brown et al. 1992,
Class-based n-gram models of natural language; Martin, Liermann and Ney 1998, Algorithms for bigram
and trigram word clustering)::

    F = Σ N(g, h) log N(g, h) - 2 Σ N(g) log N(g)

Two steps make F large. The *exchange algorithm* moves one word at a time to the class where F is
largest, in passes over the words by decreasing frequency. Then classes are *merged* in pairs, each
time the two whose merger lowers F least, until one is left: the mergers are a binary tree, and the
path from its root to a class is the code of its words. Words whose codes begin alike have similar
neighbours.

Nothing is random: the same text gives the same clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adaptag.errors import CorpusError
from adaptag.features.cluster_tree import entropy_term, merge
from adaptag.features.settings import ClusterSettings
from adaptag.storage.files import replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from adaptag.storage.files import PathLike

    Counts = NDArray[np.float64]
    Numbers = NDArray[np.int64]
    Report = Callable[[float], None]

__all__ = ["ClusteredWord", "cluster_words", "write_paths"]

STEPS = np.arange(3.0)[1:, None]  # counts for which changes of N log N are kept: most are 1 or 2
SETTLED = 1000  # a pass that moves less than one word in a thousand is the last
REPORTED = 200  # words between two reports of progress
MERGING_SHARE = 0.2  # the share of merging in the progress that is reported


@dataclass(frozen=True)
class ClusteredWord:
    """A word, the code of its cluster as a string of 0 and 1, and its count in the text."""

    code: str
    word: str
    count: int


def cluster_words(
    sentences: Iterable[Sequence[str]],
    settings: ClusterSettings | None = None,
    report: Report | None = None,
) -> list[ClusteredWord]:
    """Put the words of raw text into clusters with hierarchical codes.

    Args:
        sentences: Lists of tokens. Each is read once.
        settings: How to cluster; the defaults if None.
        report: Called with the share of the work that is done, now and then.

    Returns:
        The words that occur often enough, by code, then by decreasing count.

    Raises:
        CorpusError: No word occurs often enough.
    """
    settings = (settings or ClusterSettings()).check()
    report = report or (lambda _: None)
    text = Bigrams.count(sentences, settings.cutoff)
    if not text.words:
        raise CorpusError(f"no word occurs {settings.cutoff} times or more: nothing to cluster")
    classes = Classes(text, min(settings.clusters, len(text.words)))
    classes.exchange(settings.passes, lambda share: report(share * (1 - MERGING_SHARE)))
    codes = merge(
        classes.counts, classes.n_classes, lambda share: report(1 + (share - 1) * MERGING_SHARE)
    )
    clustered = (
        ClusteredWord(codes[g], word, int(count))
        for word, count, g in zip(text.words, text.totals, classes.class_of, strict=False)
    )
    return sorted(clustered, key=lambda entry: (entry.code, -entry.count, entry.word))


def write_paths(path: PathLike, words: Iterable[ClusteredWord]) -> None:
    """Write lines ``code<TAB>word<TAB>count``, the common format of Brown clusters."""
    with replace_file(path) as file:
        file.writelines(f"{w.code}\t{w.word}\t{w.count}\n".encode() for w in words)


@dataclass(frozen=True, eq=False)
class Bigrams:
    """The words of a text and how often each follows each.

    Words are numbered by decreasing count, equal ones by their spelling. After them come two that
    are never clustered: all rare words as if they were one, and the limit of a sentence.

    Attributes:
        words: The words that are frequent enough, ``V`` of them.
        totals: Their counts, then those of the rare words and of limits, ``[V+2]``.
        after: The words after each word.
        before: The words before each word.
    """

    words: list[str]
    totals: Counts
    after: Neighbours
    before: Neighbours

    @classmethod
    def count(cls, sentences: Iterable[Sequence[str]], cutoff: int) -> Bigrams:
        """Count the words and bigrams of sentences."""
        number: dict[str, int] = {}
        parts = [np.zeros(1, np.int64)]
        for sentence in sentences:
            numbers = [number.setdefault(word, len(number) + 1) for word in sentence]
            parts.append(np.array([*numbers, 0]))
        tokens = np.concatenate(parts)  # 0 is the limit of a sentence
        counts = np.bincount(tokens, minlength=len(number) + 1)
        spelled = ["", *number]
        order = sorted(range(1, len(spelled)), key=lambda k: (-counts[k], spelled[k]))
        frequent = [k for k in order if counts[k] >= cutoff]
        n = len(frequent)
        rank = np.full(len(spelled), n)
        rank[frequent] = np.arange(n)
        rank[0] = n + 1
        ranks = rank[tokens]
        keys, times = np.unique(ranks[:-1] * (n + 2) + ranks[1:], return_counts=True)
        first, second = np.divmod(keys, n + 2)
        return cls(
            [spelled[k] for k in frequent],
            np.bincount(ranks[1:], minlength=n + 2).astype(np.float64),
            Neighbours.of(first, second, times, n + 2),
            Neighbours.of(second, first, times, n + 2),
        )


class Neighbours(NamedTuple):
    """For each word, its neighbours on one side and how often they are: a sparse matrix by rows."""

    offsets: Numbers  # [V+3]
    words: Numbers  # [B]
    counts: Counts  # [B]

    @classmethod
    def of(cls, words: Numbers, others: Numbers, counts: Numbers, n: int) -> Neighbours:
        """Sort bigrams by the first of the two."""
        order = np.lexsort((others, words))
        offsets = np.searchsorted(words[order], np.arange(n + 1))
        return cls(offsets, others[order], counts[order].astype(np.float64))

    def row(self, word: int) -> tuple[Numbers, Counts]:
        """The neighbours of a word and their counts."""
        part = slice(self.offsets[word], self.offsets[word + 1])
        return self.words[part], self.counts[part]


class Classes:
    """Classes of words and the counts of their bigrams, while words are exchanged.

    Of the ``C + 2`` classes the last two are fixed: rare words, with those that have no class
    yet, and the limit of a sentence.

    Attributes:
        n_classes: The number of classes, ``C``.
        class_of: The class of each word, ``[V+2]``.
        counts: N(g, h), how often class h follows class g, ``[C+2, C+2]``.
    """

    def __init__(self, text: Bigrams, n_classes: int) -> None:
        """Put each of the most frequent words into a class of its own; the others have none yet."""
        n, rare = len(text.words), n_classes
        self.text = text
        self.n_classes = n_classes
        self.class_of = np.full(n + 2, rare)
        self.class_of[:n_classes] = np.arange(n_classes)
        self.class_of[n + 1] = n_classes + 1
        firsts = np.repeat(np.arange(n + 2), np.diff(text.after.offsets))
        shape = (n_classes + 2, n_classes + 2)
        self.counts = np.zeros(shape)
        cells = (self.class_of[firsts], self.class_of[text.after.words])
        np.add.at(self.counts, cells, text.after.counts)
        self.transposed = self.counts.T.copy()  # so that both sides are read by rows
        self.totals: Counts = np.zeros(n_classes + 2)
        np.add.at(self.totals, self.class_of, text.totals)
        self._diagonal = self.counts.diagonal().copy()
        # f(N + k) - f(N) for each k of STEPS, and likewise transposed: [K, C+2, C+2].
        self._changes = entropy_term(self.counts + STEPS[:, None]) - entropy_term(self.counts)
        self._transposed_changes = self._changes.transpose(0, 2, 1).copy()

    def exchange(self, passes: int, report: Report) -> None:
        """Move words to their best classes, until few move or for some passes."""
        n = len(self.text.words)
        for number in range(passes):
            moved = 0
            for word in range(n):
                moved += self.move(word)
                if word % REPORTED == 0:
                    report((number + word / n) / passes)
            if moved * SETTLED < n:
                break
        report(1.0)

    def move(self, word: int) -> bool:
        """Move a word to the class where the likelihood is largest; whether it is a new one."""
        old = int(self.class_of[word])
        if old < self.n_classes and self.totals[old] == self.text.totals[word]:
            return False  # the only word of its class: no class may be empty
        before, after = self._beside(self.text.before, word), self._beside(self.text.after, word)
        own = self._own(word)
        self._add(old, word, before, after, own, -1.0)
        gains = self.gains(word, before, after, own)
        new = int(gains.argmax())
        if old < self.n_classes and gains[old] >= gains[new]:
            new = old
        self._add(new, word, before, after, own, 1.0)
        self.class_of[word] = new
        return new != old

    def gains(self, word: int, before: Counts, after: Counts, own: float) -> Counts:
        """What F gains in each class that a word without one may be put into, ``[C]``.

        Args:
            word: The word, which is in no class.
            before: How often each class is before it, ``[C+2]``, the word itself not counted.
            after: How often each class is after it, ``[C+2]``.
            own: How often the word follows itself.
        """
        n = self.n_classes
        gains = np.zeros(n)
        sides = (
            (before, self.counts, self._changes),
            (after, self.transposed, self._transposed_changes),
        )
        for beside, counts, changes in sides:
            for step, change in zip(STEPS, changes, strict=True):
                gains += change[beside == step, :n].sum(axis=0)
            (rows,) = (beside > STEPS[-1]).nonzero()
            cells = counts[rows, :n]
            gains -= entropy_term(cells).sum(axis=0)
            cells += beside[rows, None]
            gains += entropy_term(cells).sum(axis=0)
        # N(c, c) gets both counts, and the word's own bigrams.
        f, both = entropy_term, before[:n] + after[:n] + own
        (c,) = both.nonzero()
        same = self._diagonal[c]
        gains[c] += f(same + both[c]) + f(same) - f(same + before[c]) - f(same + after[c])
        totals = self.totals[:n]
        gains -= 2.0 * (f(totals + self.text.totals[word]) - f(totals))
        return gains

    def _beside(self, neighbours: Neighbours, word: int) -> Counts:
        """How often each class is beside a word, without the word itself, ``[C+2]``."""
        words, counts = neighbours.row(word)
        times: Counts = np.bincount(self.class_of[words], counts, self.n_classes + 2).astype(float)
        times[self.class_of[word]] -= self._own(word)
        return times

    def _own(self, word: int) -> float:
        """How often a word follows itself."""
        words, counts = self.text.after.row(word)
        at = np.searchsorted(words, word)
        return float(counts[at]) if at < len(words) and words[at] == word else 0.0

    def _add(
        self, g: int, word: int, before: Counts, after: Counts, own: float, sign: float
    ) -> None:
        """Add a word to a class, or take it away."""
        self.totals[g] += sign * self.text.totals[word]
        self._diagonal[g] += sign * (before[g] + after[g] + own)
        self.counts[g] += sign * after
        self.transposed[g] += sign * before
        self.counts[g, g] = self.transposed[g, g] = self._diagonal[g]
        touched = before + after
        touched[g] = 1
        (h,) = touched.nonzero()
        self.counts[h, g] = self.transposed[g, h]
        self.transposed[h, g] = self.counts[g, h]
        for line, changes, transposed in (
            (self.counts[g, h], self._changes, self._transposed_changes),
            (self.transposed[g, h], self._transposed_changes, self._changes),
        ):
            change = entropy_term(line + STEPS) - entropy_term(line)
            for k in range(len(STEPS)):
                changes[k, g, h] = transposed[k, h, g] = change[k]
