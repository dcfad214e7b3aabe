"""Which sentences to label next: those that the model can learn most from.

A token is worth labelling where the model is in doubt about it, and more so where its word is
frequent, since what is learned of it applies to more text. With H the entropy of the marginal
distribution of a token's label and c(w) the number of times that its word w occurs in the pool,

    gain(t)     = H(t) · log(1 + c(w))
    value(s)    = Σ gain(t) · 2^−n(w)  /  (OVERHEAD + number of tokens),  t in s

is the value of a sentence for the work that it makes. A batch is chosen greedily; n(w) is the
number of its sentences that have the word already, so that one batch does not ask the same thing
again and again. Settles and Craven (2008, An analysis of active learning strategies for sequence
labeling tasks) compare measures of doubt, token entropy among them, and weight them by density.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adaptag.corpus.offsets import items_of
from adaptag.errors import ParameterError, unknown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from adaptag.annotation.pool import Pool
    from adaptag.corpus.columns import ColumnCorpus
    from adaptag.decoding.model import Model

__all__ = ["STRATEGIES", "choose", "sentence_values", "token_entropies"]

UNCERTAIN, RANDOM, IN_ORDER = "uncertain", "random", "in-order"
STRATEGIES = (UNCERTAIN, RANDOM, IN_ORDER)
SAMPLE = 2_000  # sentences that are scored; of more candidates, a random sample is
OVERHEAD = 5  # the work that a sentence makes apart from its tokens, in tokens
REPEATED = 0.5  # the share of a word's gain that is left for each sentence of a batch that has it
SHORTLIST = 20  # sentences that are compared for each one of a batch


def choose(
    model: Model | None,
    pool: Pool,
    candidates: NDArray[np.int64],
    n: int,
    *,
    strategy: str = UNCERTAIN,
    seed: int,
) -> list[int]:
    """Choose the sentences to label next.

    Args:
        model: The model so far. None means that there is none yet: then ``uncertain`` is random.
        pool: All sentences.
        candidates: The numbers of the sentences that may be chosen, each once.
        n: The number of sentences to choose; where there are fewer candidates, all are chosen.
        strategy: ``uncertain`` (where the model is in doubt, with some diversity), ``random`` or
            ``in-order``.
        seed: The seed of what is random. It should differ from call to call.

    Returns:
        The numbers of the sentences, the best one first.
    """
    if strategy not in STRATEGIES:
        raise ParameterError(unknown("strategy", strategy, STRATEGIES))
    if n < 0:
        raise ParameterError(f"n is {n}; allowed: 0 or more")
    candidates = np.sort(np.asarray(candidates, np.int64))
    pool.check(candidates)
    n = min(n, len(candidates))
    if strategy == IN_ORDER or n == 0:
        return [int(sentence) for sentence in candidates[:n]]
    shuffled = np.random.default_rng(seed).permutation(candidates)
    if strategy == RANDOM or model is None:
        return [int(sentence) for sentence in shuffled[:n]]
    sample = np.sort(shuffled[: max(n, SAMPLE)])
    return [int(sentence) for sentence in sample[_best(model, pool, sample, n)]]


def token_entropies(model: Model, corpus: ColumnCorpus) -> NDArray[np.float64]:
    """The entropy of the label of every token, in nats, ``[T]``."""
    p = model.marginals_corpus(corpus)
    logs = np.log(p, where=p > 0, out=np.zeros_like(p))
    entropies: NDArray[np.float64] = -np.einsum("ty,ty->t", p, logs, dtype=np.float64)
    return entropies


def sentence_values(gains: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """The value of each sentence for the work that it makes, ``[N]``.

    Args:
        gains: The gain of every token, ``[T]``.
        offsets: The first token of every sentence, then T, ``[N + 1]``.
    """
    sums = np.diff(np.append(0, np.cumsum(gains))[offsets])
    values: NDArray[np.float64] = sums / (OVERHEAD + np.diff(offsets))
    return values


def _best(model: Model, pool: Pool, candidates: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """The places of the ``n`` best ones among the candidates, chosen greedily."""
    corpus = pool.corpus.select(candidates)
    tokens, offsets = items_of(pool.corpus.sentences, candidates)
    words = pool.words[tokens]
    gains = token_entropies(model, corpus) * np.log1p(pool.counts[words])
    values = sentence_values(gains, offsets)
    shortlist = np.argsort(-values, kind="stable")[: SHORTLIST * n]
    tokens, offsets = items_of(offsets, shortlist)
    gains = gains[tokens]
    kinds, places = np.unique(words[tokens], return_inverse=True)
    left = np.ones(len(kinds))  # of the gain of each word
    free = np.ones(len(shortlist), bool)
    chosen = np.empty(n, np.int64)
    for k in range(n):
        values = sentence_values(gains * left[places], offsets)
        best = int(np.where(free, values, -1.0).argmax())
        chosen[k], free[best] = best, False
        left[np.unique(places[offsets[best] : offsets[best + 1]])] *= REPEATED
    return shortlist[chosen]
