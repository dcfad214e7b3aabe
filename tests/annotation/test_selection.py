"""Which sentences are chosen: against brute force, and against the formula in plain Python."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import adaptag
from adaptag.annotation import selection
from adaptag.annotation.pool import Pool
from adaptag.annotation.selection import choose, sentence_values, token_entropies
from adaptag.errors import ParameterError

TRAIN = [["the", "cat", "sees"], ["a", "dog"], ["the", "dog", "sees", "a", "cat"]]
LABELS = [["D", "N", "V"], ["D", "N"], ["D", "N", "V", "D", "N"]]


@pytest.fixture(scope="module")
def model():
    return adaptag.train(TRAIN, LABELS, passes=2)


def random_pool(seed, n=60):
    rng = np.random.default_rng(seed)
    words = [*"abcdefgh", "the", "cat", "dog", "sees", "a"]
    return [[words[k] for k in rng.integers(0, len(words), rng.integers(1, 5))] for _ in range(n)]


def entropy_of(model, sentence):
    """The entropy of each token's label, by the probabilities of all label sequences."""
    marginals = [dict.fromkeys(model.labels, 0.0) for _ in sentence]
    for path in itertools.product(model.labels, repeat=len(sentence)):
        p = model.probability(sentence, path)
        for t, label in enumerate(path):
            marginals[t][label] += p
    return [-sum(p * math.log(p) for p in row.values() if p > 0) for row in marginals]


def chosen_slowly(model, sentences, candidates, n):
    """The greedy choice, as the formula at the head of the module says."""
    counts = {}
    for word in itertools.chain(*sentences):
        counts[word] = counts.get(word, 0) + 1
    entropies = {s: entropy_of(model, sentences[s]) for s in candidates}
    chosen, seen = [], {}
    for _ in range(n):
        values = {
            s: sum(
                h * math.log(1 + counts[w]) / 2 ** seen.get(w, 0)
                for h, w in zip(entropies[s], sentences[s], strict=True)
            )
            / (selection.OVERHEAD + len(sentences[s]))
            for s in candidates
            if s not in chosen
        }
        best = max(values, key=lambda s: values[s])
        chosen.append(best)
        for word in set(sentences[best]):
            seen[word] = seen.get(word, 0) + 1
    return chosen


def test_entropies_equal_brute_force(model):
    sentences = random_pool(1, n=20)
    expected = [h for sentence in sentences for h in entropy_of(model, sentence)]
    assert token_entropies(model, Pool.of(sentences).corpus) == pytest.approx(expected, abs=1e-5)


def test_entropy_of_a_certain_label_is_zero():
    model = adaptag.train([["a", "b"]] * 50, [["X", "Y"]] * 50, passes=50)
    sure = adaptag.train([["a"], ["b"]], [["X"], ["Y"]]).with_temperature(0.001)
    assert token_entropies(sure, Pool.of([["a"]]).corpus) == pytest.approx([0])
    assert (token_entropies(model, Pool.of([["a", "b"]]).corpus) >= 0).all()


def test_values_of_sentences():
    gains = np.array([1.0, 2.0, 4.0])
    values = sentence_values(gains, np.array([0, 2, 2, 3]))  # the second sentence has no token
    c = selection.OVERHEAD
    assert values == pytest.approx([3 / (c + 2), 0, 4 / (c + 1)])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_choice_equals_the_formula(model, seed):
    sentences = random_pool(seed)
    candidates = np.random.default_rng(seed).permutation(60)[:40]
    found = choose(model, Pool.of(sentences), candidates, 12, seed=seed)
    assert found == chosen_slowly(model, sentences, sorted(candidates.tolist()), 12)


def test_a_batch_does_not_repeat_itself(model):
    sentences = [["zip", "zap"]] * 5 + [["cat", "qux"]] * 5
    first, second = choose(model, Pool.of(sentences), np.arange(10), 2, seed=1)
    assert (first < 5) != (second < 5)


def test_many_candidates_are_sampled(model, monkeypatch):
    monkeypatch.setattr(selection, "SAMPLE", 8)
    pool = Pool.of(random_pool(4, n=200))
    scored = []

    def count(model, corpus):
        scored.append(len(corpus))
        return token_entropies(model, corpus)

    monkeypatch.setattr(selection, "token_entropies", count)
    batches = [choose(model, pool, np.arange(200), 5, seed=seed) for seed in range(4)]
    assert scored == [8] * 4
    assert len({tuple(batch) for batch in batches}) > 1
    assert len(choose(model, pool, np.arange(200), 20, seed=1)) == 20  # more than the sample


@pytest.mark.parametrize("strategy", selection.STRATEGIES)
@pytest.mark.parametrize("trained", [True, False])
def test_choices_are_candidates_and_differ(model, strategy, trained):
    pool = Pool.of(random_pool(5))
    candidates = np.arange(10, 50, 3)
    for n in (0, 1, 5, 14, 100):
        found = choose(model if trained else None, pool, candidates, n, strategy=strategy, seed=3)
        assert len(found) == min(n, len(candidates)) == len(set(found))
        assert set(found) <= set(candidates.tolist())
        assert all(type(sentence) is int for sentence in found)


def test_in_order(model):
    pool = Pool.of(random_pool(6))
    found = choose(model, pool, np.array([7, 3, 5]), 2, strategy="in-order", seed=1)
    assert found == [3, 5]


@pytest.mark.parametrize(("strategy", "trained"), [("random", True), ("uncertain", False)])
def test_random_depends_on_the_seed_alone(model, strategy, trained):
    pool, some = Pool.of(random_pool(7)), model if trained else None
    one, same, other = (
        choose(some, pool, np.arange(60), 10, strategy=strategy, seed=seed) for seed in (1, 1, 2)
    )
    assert one == same != other


def test_sentences_without_tokens(model):
    pool = Pool.of([[], ["cat"], []])
    assert choose(model, pool, np.arange(3), 3, seed=1)[0] == 1
    nothing = Pool.of([])
    assert choose(model, nothing, np.arange(0), 3, seed=1) == []


def test_mistakes_are_refused(model):
    pool = Pool.of(random_pool(8))
    with pytest.raises(ParameterError, match=r"unknown strategy 'unsure'.*uncertain"):
        choose(model, pool, np.arange(3), 1, strategy="unsure", seed=1)
    with pytest.raises(ParameterError, match=r"sentence 60; the pool has 60, from 0"):
        choose(model, pool, np.array([60]), 1, seed=1)
    with pytest.raises(ParameterError, match=r"n is -1; allowed: 0 or more"):
        choose(model, pool, np.arange(3), -1, seed=1)
