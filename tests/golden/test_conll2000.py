from __future__ import annotations

import pytest

import adaptag
from reproduction.data import default_folder
from tests.reference.conlleval import conlleval

DATA = default_folder() / "conll2000"


@pytest.mark.skipif(
    not (DATA / "test.txt").is_file(), reason=f"no CoNLL-2000 data in {DATA}; set ADAPTAG_DATA"
)
def test_chunking_with_adf():
    model = adaptag.train(
        DATA / "train.txt", template="chunking", algorithm="adf", seed=1, passes=12
    )
    ours = model.evaluate(DATA / "test.txt")
    assert ours.chunks.f1 >= 93.8

    sentences = [
        [line.split() for line in block.splitlines()]
        for block in (DATA / "test.txt").read_text().split("\n\n")
        if block.strip()
    ]
    gold = [[label for *_, label in sentence] for sentence in sentences]
    tagged = model.tag_all([(word, pos) for word, pos, _ in sentence] for sentence in sentences)
    theirs = conlleval(gold, tagged)
    assert (ours.tokens, ours.correct_tokens) == (theirs["tokens"], theirs["correct_tokens"])
    assert (ours.chunks.correct, ours.chunks.predicted, ours.chunks.gold) == theirs["overall"]
    assert {
        kind: (score.correct, score.predicted, score.gold) for kind, score in ours.by_type.items()
    } == theirs["by_type"]
