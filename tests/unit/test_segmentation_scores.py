"""Scores of segmentation: the common words of two lists, and the figures of a bakeoff."""

from __future__ import annotations

import io
import itertools
import shutil
import subprocess

import numpy as np
import pytest
from rich.console import Console

from adaptag.errors import CorpusError
from adaptag.evaluation.segmentation import (
    SegmentationScore,
    common_words,
    evaluate_segmentation,
    segmentation_table,
)


def length_of_common(a, b):
    """Of a longest common subsequence, by the whole table."""
    best = np.zeros((len(a) + 1, len(b) + 1), int)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            best[i + 1, j + 1] = best[i, j] + 1 if x == y else max(best[i, j + 1], best[i + 1, j])
    return int(best[-1, -1])


def is_subsequence(part, whole):
    rest = iter(whole)
    return all(item in rest for item in part)


def random_pairs(n):
    """Lists of words; half of them are two ways to cut one text."""
    rng = np.random.default_rng(1)
    for k in range(n):
        text = "".join(rng.choice(list("ab" if k % 4 < 2 else "abcdef"), rng.integers(0, 25)))
        if k % 2:
            yield tuple(cut_somehow(text, rng) for _ in range(2))
        else:
            yield list(text), list(rng.permutation(list(text)))[: rng.integers(0, 25)]


def cut_somehow(text, rng):
    bounds = [0, *(t for t in range(1, len(text)) if rng.random() < 0.5), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(bounds) if a < b]


def test_marked_words_are_a_longest_common_subsequence():
    for gold, found in random_pairs(400):
        right = common_words(gold, found)
        assert len(right) == len(gold)
        marked = [word for word, mark in zip(gold, right, strict=True) if mark]
        assert is_subsequence(marked, found)
        assert len(marked) == length_of_common(gold, found)


@pytest.mark.skipif(not shutil.which("diff"), reason="needs GNU diff")
def test_as_many_words_are_common_as_diff_finds(tmp_path):
    for k, (gold, found) in enumerate(random_pairs(60)):
        files = []
        for name, words in (("gold", gold), ("found", found)):
            files.append(tmp_path / f"{k}.{name}")
            files[-1].write_text("".join(f"{word}\n" for word in words))
        done = subprocess.run(["diff", "--minimal", *files], capture_output=True, text=True)
        if done.returncode > 1:
            pytest.skip("this diff has no --minimal")
        removed = sum(line.startswith("<") for line in done.stdout.splitlines())
        assert sum(common_words(gold, found)) == len(gold) - removed


@pytest.mark.parametrize(
    ("gold", "found", "right"),
    [
        ("", "", ""),
        ("甲", "甲", "1"),
        ("甲乙 丙", "甲 乙丙", "00"),
        ("甲 乙 丙", "甲 乙丙", "100"),
        ("甲乙 丙", "甲 乙 丙", "01"),
        ("甲 乙丙 丁", "甲 乙 丙 丁", "101"),
        ("甲 甲 乙", "甲甲 乙", "001"),
        ("甲 乙 甲 乙", "甲乙 甲 乙", "0011"),
        ("甲 丙丁 乙 丙丁", "甲 丙 丁 乙 丙丁", "1011"),
    ],
)
def test_common_words_by_hand(gold, found, right):
    marks = common_words(gold.split(), found.split())
    assert "".join(str(int(mark)) for mark in marks) == right


def test_words_of_any_kind_of_sequence():
    assert common_words(("甲", "乙"), ["甲", "乙"]) == [True, True]
    assert common_words(["甲", "乙", "丙", "丁"], ("甲乙", "丙", "丁")) == [
        False,
        False,
        True,
        True,
    ]


def test_figures_by_hand():
    gold = [["我们", "在", "北京"], ["他", "去", "东海", "了"]]
    found = [["我们", "在", "北", "京"], ["他", "去", "东海", "了"]]
    known = {"我们", "在", "他", "去", "了"}.__contains__
    score = evaluate_segmentation(gold, found, known)
    assert score == SegmentationScore(6, 8, 7, oov=2, oov_correct=1)
    assert score.precision == 100 * 6 / 8
    assert score.recall == 100 * 6 / 7
    assert score.f1 == pytest.approx(200 * 6 / 15)
    assert score.oov_rate == 100 * 2 / 7
    assert score.oov_recall == 50
    assert score.iv_recall == 100
    assert score.to_dict() == {
        "correct": 6, "predicted": 8, "gold": 7, "oov": 2, "oov_correct": 1,
        "precision": score.precision, "recall": score.recall, "f1": score.f1,
        "oov_rate": score.oov_rate, "oov_recall": 50, "iv_recall": 100,
    }  # fmt: skip


def test_known_words_that_are_missed():
    score = evaluate_segmentation(
        [["甲乙", "丙", "丁戊"]], [["甲", "乙", "丙", "丁戊"]], "丙".__eq__
    )
    assert (score.oov, score.oov_correct, score.correct) == (2, 1, 2)
    assert (score.iv_recall, score.oov_recall) == (100, 50)
    score = evaluate_segmentation([["甲乙", "丙"]], [["甲", "乙", "丙"]], "甲乙".__eq__)
    assert (score.iv_recall, score.oov_recall) == (0, 100)


def test_without_a_word_list_all_words_are_known():
    score = evaluate_segmentation([["甲", "乙"]], [["甲", "乙"]])
    assert (score.oov, score.oov_rate, score.oov_recall, score.iv_recall) == (0, 0, 0, 100)


def test_nothing_scores_nothing():
    for gold in ([], [[]]):
        score = evaluate_segmentation(gold, gold)
        assert score == SegmentationScore(0, 0, 0)
        assert (score.f1, score.oov_rate, score.iv_recall) == (0, 0, 0)


@pytest.mark.parametrize(
    ("gold", "found", "message"),
    [
        ([["甲"], ["乙"]], [["甲"], ["丙"]], "sentence 2: gold and predicted words are of diff"),
        ([["甲"], ["乙"]], [["甲"]], "sentence 2: gold and predicted words are of different texts"),
        ([["甲乙"]], [["甲"]], "sentence 1: "),
        ([["甲"]], [["甲"], ["乙"]], "there are more predicted than gold sentences, of which 1"),
    ],
)
def test_different_texts(gold, found, message):
    with pytest.raises(CorpusError, match=f"^{message}"):
        evaluate_segmentation(iter(gold), iter(found))


def test_the_table_has_all_figures():
    out = io.StringIO()
    table = segmentation_table(SegmentationScore(1500, 2000, 1800, 200, 50))
    Console(file=out, width=100).print(table)
    text = out.getvalue()
    for figure in ("75.00", "83.33", "78.95", "11.11", "25.00", "90.62"):
        assert figure in text
    assert "1,800 gold words, 2,000 predicted, 1,500 right" in text


def test_long_lists_that_differ_little():
    rng = np.random.default_rng(2)
    gold = [f"w{k}." for k in rng.integers(0, 5000, 20_000)]
    merged = rng.random(10_000) < 0.02
    found = []
    for k, together in enumerate(merged):
        pair = gold[2 * k : 2 * k + 2]
        found += ["".join(pair)] if together else pair
    assert sum(common_words(gold, found)) == len(gold) - 2 * merged.sum()


def test_long_lists_that_differ_everywhere():
    gold = ["ab", "c"] * 5000
    found = ["a", "bc"] * 5000
    assert sum(common_words(gold, found)) == 0
