"""Any text can be cut, and its words are the text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adaptag.corpus.segmented import SegmentedCorpus, tag_names
from adaptag.corpus.settings import TAG_SETS
from adaptag.features.characters import CharacterIndex
from adaptag.features.settings import FOLDS
from adaptag.model.linear_chain import LinearChain
from adaptag.segmentation.segmenter import Segmenter
from tests.unit.making import characters

FAST = settings(deadline=None, max_examples=60)
WORDS = ["我们", "在", "北京", "大学", "学习", "AB12", "，", "我", "看一看", "２０"]
ANYTHING = st.text(st.characters(exclude_categories=()))  # surrogates included
FAMILIAR = st.text(st.sampled_from("我们在北京大学习A1２，看一 \n\u3000"), max_size=40)
TEXTS = ANYTHING | FAMILIAR
DICTIONARIES = st.dictionaries(
    st.text(st.sampled_from("我们在北京AＢ1"), min_size=1, max_size=4),
    st.sampled_from([-3.0, 1.0, 8.0, float("inf")]),
    max_size=4,
)


def segmenter_of(tags, fold):
    rng = np.random.default_rng(1)
    sentences = [[str(w) for w in rng.choice(WORDS, 8)] for _ in range(12)]
    corpus = SegmentedCorpus.from_sentences(sentences)
    index = CharacterIndex.build(corpus, characters(fold=fold))
    layout = LinearChain(tag_names(tags), index, np.zeros(0, np.float32)).layout
    weights = rng.normal(0, 1, layout.n_weights).astype(np.float32)
    return Segmenter.from_model(LinearChain(tag_names(tags), index, weights), tags=tags)


@pytest.fixture(scope="module", params=zip(TAG_SETS, FOLDS, strict=True), ids=list(TAG_SETS))
def segmenter(request):
    return segmenter_of(*request.param)


@FAST
@given(text=TEXTS)
@example(text="")
@example(text="\0")
@example(text="\ud800\udc00")
@example(text=" \u2028我\u0085")
def test_words_are_the_text(segmenter, text):
    words = segmenter.cut(text)
    assert "".join(words) == text
    assert all(words)
    assert all(word.isspace() or not any(map(str.isspace, word)) for word in words)
    assert segmenter.cut_all([text]) == [words]
    assert segmenter.cut_all([text, "我", text], 2) == [words, segmenter.cut("我"), words]


@FAST
@given(text=TEXTS.filter(bool))
def test_words_with_probabilities_are_the_same_words(segmenter, text):
    words = segmenter.words(text)
    assert [word.text for word in words] == segmenter.cut(text)
    assert all(text[word.start :].startswith(word.text) for word in words)
    assert all(0 <= word.probability <= 1 for word in words)


@FAST
@given(text=FAMILIAR, weights=DICTIONARIES)
def test_words_of_the_user_change_no_text(segmenter, text, weights):
    other = Segmenter.from_model(segmenter.model_, tags=segmenter.tags)
    other.dictionary.add(weights)
    words = other.cut(text)
    assert "".join(words) == text
    for word in list(other.dictionary):
        other.dictionary.remove(word)
    assert other.cut(text) == segmenter.cut(text)


@FAST
@given(texts=st.lists(TEXTS, max_size=5))
def test_new_words_leave_the_texts(segmenter, texts):
    found = segmenter.new_words(texts, threshold=0.3, rounds=3)
    assert ["".join(words) for words in found.segmentation] == texts
    every = [word for words in found.segmentation for word in words]
    for new in found.new_words:
        assert every.count(new.text) == new.count > 0
        assert new.text not in segmenter.lexicon_


@FAST
@given(st.lists(st.lists(st.text(st.characters(exclude_categories=("Z", "C")), min_size=1))))
def test_corpora_come_back(sentences):
    corpus = SegmentedCorpus.from_sentences(sentences)
    assert corpus.texts() == ["".join(words) for words in sentences]
    if corpus.n_words:
        assert corpus.words() == sentences
    text = "\n".join(" ".join(words) for words in sentences)
    read = SegmentedCorpus.from_bytes(text.encode())
    assert read.texts() == [text for text in corpus.texts() if text]
