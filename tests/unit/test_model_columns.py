"""A model knows the columns it was trained with."""

from __future__ import annotations

import pytest

import adaptag
from adaptag.errors import CorpusError

TRAIN = "the DT D\ncat NN N\n\na DT D\ndog NN N\nsat VB V\n"
WORDS = "U:%x[0,0]\nB"
BOTH = "U:%x[0,0]\nU:%x[0,1]\nB"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").write_text(TRAIN)
    return tmp_path


def trained(template):
    return adaptag.train("train", template=template, passes=2)


@pytest.mark.parametrize("template", [WORDS, BOTH])
def test_the_columns_of_training_with_or_without_a_label(files, template):
    model = trained(template)
    assert model.index.n_columns == 2
    expected = model.tag([("the", "DT"), ("cat", "NN")])
    assert model.tag([("the", "DT", "?"), ("cat", "NN", "?")]) == expected
    (files / "plain").write_text("the DT\ncat NN\n")
    (files / "gold").write_text("the DT D\ncat NN N\n")
    for name in ("plain", "gold"):
        ids = model.tag_corpus(adaptag.read(files / name))
        assert [model.labels[y] for y in ids] == expected
    assert adaptag.Model.from_bytes(model.to_bytes()).index.n_columns == 2


@pytest.mark.parametrize(
    "text", ["the cat sat on the mat\n", "the\ncat\n", "the DT D D\ncat NN N N\n"]
)
def test_a_file_with_other_columns_is_refused(files, text, program):
    """A whole sentence on one line used to become one token."""
    trained(BOTH).save(files / "m")
    (files / "f").write_text(text)
    n = len(text.splitlines()[0].split())
    done = program("tag", files / "f", "-m", files / "m")
    assert (done.code, done.out) == (2, "")
    assert f"f:1: {n} column" in done.err
    assert "the model was trained with 2 feature columns" in done.err
    with pytest.raises(CorpusError, match=f"{n} column"):
        adaptag.Model.load(files / "m").evaluate(files / "f")


def test_a_label_in_place_of_a_feature_is_refused(files, program):
    """Words and labels used to be read as two features."""
    trained(BOTH).save(files / "m")
    (files / "f").write_text("the D\ncat N\n\na D\n")
    done = program("tag", files / "f", "-m", files / "m")
    assert (done.code, done.out) == (2, "")
    assert "f:1: the last of 2 columns holds only labels; the model was trained with 2" in done.err
    (files / "f").write_text("the D\ncat NN\n")  # a value that is no label: perhaps a feature
    assert program("tag", files / "f", "-m", files / "m").code == 0


def test_a_feature_column_may_hold_labels(files, program):
    (files / "again").write_text("the D D\ncat D N\n\na D D\n")
    adaptag.train("again", template=BOTH, passes=2).save(files / "m")
    (files / "f").write_text("the D\ncat N\n")
    assert program("tag", files / "f", "-m", files / "m").code == 0


@pytest.mark.usefixtures("files")
def test_columns_that_the_template_does_not_use_may_be_missing():
    model = trained(WORDS)
    expected = model.tag([("the", "DT"), ("cat", "NN")])
    assert model.tag(["the", "cat"]) == model.tag_all([["the", "cat"]])[0] == expected
    for token in (("the", "DT", "D", "x"), ("a",) * 9):
        with pytest.raises(CorpusError, match="columns; the model was trained with 2"):
            model.tag([token])


def test_development_data_has_the_columns_too(files):
    (files / "dev").write_text("the D\n")
    with pytest.raises(CorpusError, match=r"dev:1: 2 columns; .* 2 feature columns and one for"):
        adaptag.train("train", template=BOTH, dev="dev")


def test_a_stream_keeps_to_its_columns():
    trainer = adaptag.StreamTrainer(WORDS)
    trainer.learn([[("the", "DT", "D")]])
    with pytest.raises(CorpusError, match="4 columns; the model was trained with 2"):
        trainer.learn([[("the", "DT", "x", "D")]])
    assert trainer.model().index.n_columns == 2
