"""Recipes: what they make of their corpora."""

from __future__ import annotations

import pytest

import adaptag
from adaptag.errors import FileError
from adaptag.experiments.recipes.bio_ner import BIO_NER, pos_sentences
from adaptag.experiments.recipes.recipe import data_folder

GENIA = (
    "UI\tLS\n-\t:\n95\tCD\n\nTI\tLS\n-\t:\nIL-2\tNN\ngene\tNN\n\nIt\tPRP\nbinds\tVBZ\nDNA\tNN\n\n"
)
JNLPBA = "###MEDLINE:95\n\nIL-2\tB-DNA\ngene\tI-DNA\n\nIt\tO\nbinds\tO\n\n"


@pytest.fixture
def corpora(tmp_path):
    for name, text in {
        "genia_pos/train.tsv": GENIA * 5,
        "jnlpba2004/train.iob2": JNLPBA,
        "jnlpba2004/test.iob2": JNLPBA,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_markers_of_documents_are_left_out(corpora):
    found = pos_sentences(corpora / "genia_pos" / "train.tsv")
    assert found[0] == [("IL-2", "NN"), ("gene", "NN")]
    assert len(found) == 10


def test_bio_ner(corpora):
    train, test = BIO_NER.read(corpora)
    assert (len(train), len(test), train.n_columns) == (2, 2, 4)
    assert b"IL-2NNcapitals+digit+dashB-DNA" in train.text.tobytes()
    model = adaptag.train(train, template=BIO_NER.template, passes=20)
    assert adaptag.evaluate_model(model, test).score == 100


def test_a_corpus_that_is_not_there(tmp_path, monkeypatch):
    with pytest.raises(FileError, match=r"train\.iob2: the corpus is not there"):
        BIO_NER.read(tmp_path)
    monkeypatch.delenv("ADAPTAG_DATA", raising=False)
    with pytest.raises(FileError, match="name one with --data or in ADAPTAG_DATA"):
        data_folder()
    assert data_folder(tmp_path) == tmp_path
