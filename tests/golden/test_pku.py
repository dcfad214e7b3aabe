"""Scores of word segmentation on the PKU corpus, where it is at hand."""

from __future__ import annotations

import pytest

from adaptag import Segmenter
from adaptag.corpus.segmented import SegmentedCorpus
from adaptag.evaluation.segmentation import evaluate_segmentation
from reproduction.data import default_folder

DATA = default_folder() / "pku"


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no PKU corpus in {DATA}")
def test_words_and_new_words_of_pku():
    segmenter = Segmenter.train(DATA / "train.utf8", passes=3)
    test = SegmentedCorpus.read(DATA / "test_gold.utf8")
    plain = segmenter.evaluate(test)
    found = segmenter.new_words(test.texts())
    known = segmenter.lexicon_.__contains__
    with_new = evaluate_segmentation(test.words(), found.segmentation, known)
    assert plain.f1 > 95.1
    assert with_new.f1 > plain.f1
    assert with_new.oov_recall > plain.oov_recall + 1
