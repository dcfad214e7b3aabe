"""The tokenizer of Chinese pipelines."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

spacy = pytest.importorskip("spacy", reason="needs spaCy")

from spacy.tokens import Doc  # noqa: E402
from spacy.training import Example  # noqa: E402

import adaptag  # noqa: E402
from adaptag.errors import NotTrainedError  # noqa: E402
from adaptag.spacy import to_docbin  # noqa: E402
from tests.spacy.making import WORDS, examples  # noqa: E402

TEXT = "小明在公园看书"


@functools.cache
def segmenter():
    return adaptag.Segmenter.train(WORDS, passes=5, seed=1)


def chinese(**config):
    tokenizer = {"@tokenizers": "adaptag_zh", **config}
    return spacy.blank("zh", config={"nlp": {"tokenizer": tokenizer}})


@pytest.fixture
def nlp(tmp_path):
    segmenter().save(tmp_path / "words.adaptag")
    return chinese(model=str(tmp_path / "words.adaptag"))


def words(doc):
    return [token.text for token in doc]


@functools.cache
def in_memory():
    nlp = chinese()
    nlp.tokenizer.adaptag_model = segmenter()
    return nlp


def test_words_are_those_of_the_segmenter(nlp):
    assert words(nlp(TEXT)) == segmenter().cut(TEXT)
    assert len(nlp(TEXT)) == 5
    docs = nlp.tokenizer.pipe([TEXT, "", TEXT], batch_size=2)
    assert [words(doc) for doc in docs] == [segmenter().cut(TEXT), [], segmenter().cut(TEXT)]


def test_spaces():
    doc = in_memory().make_doc("小明 在  公园\n")
    assert [(t.text, t.whitespace_) for t in doc] == [
        ("小明", " "),
        ("在", " "),
        (" ", ""),
        ("公园", ""),
        ("\n", ""),
    ]


@given(
    st.text(alphabet=st.one_of(st.sampled_from(" \n\t　小明在a1"), st.characters(codec="utf-8")))
)
def test_the_text_and_its_offsets_stay(text):
    doc = in_memory().make_doc(text)
    assert doc.text == text
    assert all(text[t.idx : t.idx + len(t)] == t.text for t in doc)


def test_saved_with_its_segmenter(nlp, tmp_path):
    nlp.to_disk(tmp_path / "p")
    data = nlp.to_bytes()
    (tmp_path / "words.adaptag").unlink()
    assert words(spacy.load(tmp_path / "p")(TEXT)) == segmenter().cut(TEXT)
    other = chinese()
    with pytest.raises(NotTrainedError, match="no segmenter yet"):
        other(TEXT)
    assert words(other.from_bytes(data)(TEXT)) == segmenter().cut(TEXT)


def test_several_processes(nlp):
    docs = list(nlp.pipe([TEXT] * 6, n_process=2, batch_size=2))
    assert [words(doc) for doc in docs] == [segmenter().cut(TEXT)] * 6


def test_initialize_trains_and_scores():
    nlp = chinese(training={"passes": 5, "seed": 1})
    gold = examples(nlp, to_docbin(WORDS, [["O"] * 4 + ["B-X"]] * len(WORDS)))
    nlp.initialize(lambda: gold)
    assert nlp.tokenizer.adaptag_model.to_bytes() == segmenter().to_bytes()
    docs = [Doc(nlp.vocab, words=row, spaces=[False] * len(row)) for row in WORDS]
    pairs = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    assert nlp.evaluate(pairs)["token_f"] == 1
    wrong = [Doc(nlp.vocab, words=list(doc.text), spaces=[False] * len(doc.text)) for doc in docs]
    assert nlp.tokenizer.score([Example(*p) for p in zip(wrong, docs, strict=True)])["token_f"] < 1


def test_initialize_keeps_a_segmenter_that_was_given(nlp):
    nlp.initialize()
    assert nlp.tokenizer.adaptag_model.to_bytes() == segmenter().to_bytes()
