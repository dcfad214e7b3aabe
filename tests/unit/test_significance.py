"""Significance tests: against brute force over all swaps, and against SciPy."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import adaptag
from adaptag.errors import ParameterError
from adaptag.evaluation.scores import evaluate_ids, sentence_counts
from adaptag.experiments.significance import (
    block_scores,
    f1,
    paired_t_test,
    randomisation_test,
    swapped,
)


def random_counts(rng, n):
    """Counts of two models on the same n sentences: the gold ones agree."""
    gold = rng.integers(0, 6, n)
    sides = []
    for _ in range(2):
        predicted = rng.integers(0, 6, n)
        correct = rng.integers(0, np.minimum(gold, predicted) + 1)
        sides.append(np.stack([correct, predicted, gold], axis=1))
    return sides


def exact_f1(rows):
    correct, predicted, gold = (sum(int(row[k]) for row in rows) for k in range(3))
    return Fraction(200 * correct, predicted + gold) if predicted + gold else Fraction(0)


def all_swaps(a, b):
    """The difference in F1 under each of the 2^n swaps, as exact fractions."""
    for mask in itertools.product([0, 1], repeat=len(a)):
        left = [b[i] if m else a[i] for i, m in enumerate(mask)]
        right = [a[i] if m else b[i] for i, m in enumerate(mask)]
        yield mask, exact_f1(left) - exact_f1(right)


def exact_p(a, b):
    real = abs(exact_f1(a) - exact_f1(b))
    values = [abs(difference) >= real for _, difference in all_swaps(a, b)]
    return sum(values) / len(values)


@pytest.mark.parametrize("seed", range(5))
def test_every_swap_has_the_difference_of_brute_force(seed):
    a, b = random_counts(np.random.default_rng(seed), 7)
    masks, expected = zip(*all_swaps(a, b), strict=True)
    found = swapped(a.sum(axis=0), b.sum(axis=0), a - b, np.array(masks, np.uint8))
    assert found == pytest.approx([float(x) for x in expected], abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_randomisation_comes_close_to_all_swaps(seed):
    a, b = random_counts(np.random.default_rng(seed), 9)
    exact, trials = exact_p(a, b), 20_000
    found = randomisation_test(a, b, trials=trials)
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / trials) + 2 / trials)


def test_randomisation_is_seeded_and_never_zero():
    rng = np.random.default_rng(1)
    gold = rng.integers(1, 5, 60)
    good = np.stack([gold, gold, gold], axis=1)
    bad = np.stack([0 * gold, gold, gold], axis=1)
    assert randomisation_test(good, bad, trials=99) == 1 / 100
    assert randomisation_test(good, good) == 1
    a, b = random_counts(rng, 40)
    assert randomisation_test(a, b, seed=3) == randomisation_test(a, b, seed=3)
    assert randomisation_test(a, b, seed=3) == randomisation_test(b, a, seed=3)


def test_parts_of_coins_give_the_same(monkeypatch):
    a, b = random_counts(np.random.default_rng(2), 30)
    whole = randomisation_test(a, b, trials=500)
    monkeypatch.setattr("adaptag.experiments.significance.CELLS", 1024)
    assert randomisation_test(a, b, trials=500) == pytest.approx(whole, abs=0.1)


@pytest.mark.parametrize("n", [2, 3, 20])
def test_t_test_is_scipys(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(93, 1, n), rng.normal(92.5, 1, n)
    found, expected = paired_t_test(a.tolist(), b.tolist()), stats.ttest_rel(a, b)
    assert found.t == pytest.approx(expected.statistic)
    assert found.p == pytest.approx(expected.pvalue)
    assert found.freedom == expected.df


@pytest.mark.parametrize(("a", "b"), [([1.0], [2.0]), ([], []), ([1, 2, 3], [2, 3, 4])])
def test_no_t_without_a_deviation(a, b):
    assert paired_t_test(a, b) is None


def test_blocks_are_neighbours():
    a, _ = random_counts(np.random.default_rng(1), 45)
    found = block_scores(a, 4)
    sizes = [12, 11, 11, 11]
    ends = np.cumsum([0, *sizes])
    expected = [float(exact_f1(a[i:j])) for i, j in itertools.pairwise(ends)]
    assert found == pytest.approx(expected)
    assert len(block_scores(a[:3])) == 3
    assert f1(np.zeros(3)) == 0


@pytest.mark.parametrize(
    "labels", [["O", "B-X", "I-X", "B-Y", "I-Y"], ["DET", "NOUN", "VERB", "O", "I-X"]]
)
def test_counts_of_sentences_add_up_to_the_evaluation(labels):
    rng = np.random.default_rng(4)
    offsets = np.cumsum([0, *rng.integers(1, 9, 50)])
    gold, predicted = rng.integers(0, 5, (2, offsets[-1]))
    predicted = np.where(rng.random(offsets[-1]) < 0.7, gold, predicted)
    counts = sentence_counts(gold, predicted, offsets, labels)
    assert counts.shape == (50, 3)
    assert f1(counts.sum(axis=0)) == pytest.approx(
        evaluate_ids(gold, predicted, offsets, labels).score
    )
    for n in range(50):
        part = slice(offsets[n], offsets[n + 1])
        one = [[labels[i] for i in side[part]] for side in (gold, predicted)]
        whole = adaptag.evaluate([one[0], labels], [one[1], labels])
        chunked = whole.chunks is not None
        spare = 2 if chunked else len(labels)
        got = whole.chunks.correct if chunked else whole.correct_tokens
        assert counts[n, 0] == got - spare


def test_what_cannot_be_paired():
    a, b = random_counts(np.random.default_rng(1), 4)
    with pytest.raises(ParameterError, match="4 sentences with 3"):
        randomisation_test(a, b[:3])
    with pytest.raises(ParameterError, match="trials is 0"):
        randomisation_test(a, b, trials=0)
    with pytest.raises(ParameterError, match="cannot pair 1 values with 2"):
        paired_t_test([1], [1, 2])
