"""A segmenter that was copied, pickled or saved cuts as the one it comes from."""

from __future__ import annotations

import copy
import pickle
import random
import zlib

import numpy as np
import pytest

from adaptag import Segmenter
from adaptag.errors import ModelError, ParameterError

WORDS = ["天", "天空", "中国", "中国人", "人民", "民主", "很长的词", "主人"]


def corpus(seed, n=60):
    rng = random.Random(seed)
    return [rng.choices(WORDS, k=rng.randint(1, 7)) for _ in range(n)]


TEXTS = ["".join(words) for words in corpus(9, 200)]


@pytest.fixture(scope="module")
def trained():
    return Segmenter.train(corpus(1), passes=3, word_cutoff=30, rare_weight=8.0)


def through_a_file(segmenter, tmp_path):
    segmenter.save(tmp_path / "m")
    return Segmenter.load(tmp_path / "m")


WAYS = {
    "pickled": lambda s, _: pickle.loads(pickle.dumps(s)),
    "copied": lambda s, _: copy.copy(s),
    "deeply copied": lambda s, _: copy.deepcopy(s),
    "saved": through_a_file,
    "bytes": lambda s, _: Segmenter.from_bytes(s.to_bytes()),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_dictionary_and_the_weight_of_rare_words_come_along(trained, way, tmp_path):
    other = pickle.loads(pickle.dumps(trained))
    other.dictionary.add({"空中": 50.0, "人天": float("inf"), "国人": -3.0})
    found = WAYS[way](other, tmp_path)
    assert found.rare_weight == 8.0
    assert found.dictionary.to_dict() == other.dictionary.to_dict()
    cut = other.cut_all(TEXTS)
    assert found.cut_all(TEXTS) == cut
    assert cut != trained.cut_all(TEXTS)  # else the dictionary shows nothing
    assert cut != pickle.loads(pickle.dumps(other)).set_params(rare_weight=0).cut_all(TEXTS)
    found.dictionary.add("空天")
    assert "空天" not in other.dictionary  # it has its own


def test_words_of_one_weight_come_along(trained):
    other = pickle.loads(pickle.dumps(trained))
    other.dictionary.add(["空中", "人天"], 2.5)
    found = Segmenter.from_bytes(other.to_bytes())
    assert found.dictionary.to_dict() == {"空中": 2.5, "人天": 2.5}
    assert other.dictionary.to_arrays()["word_weights"].tolist() == [2.5]  # once for all


def test_an_untrained_segmenter_keeps_its_dictionary():
    segmenter = Segmenter(passes=2)
    segmenter.dictionary.add("中国")
    assert "中国" in pickle.loads(pickle.dumps(segmenter)).dictionary


def test_a_weight_set_after_a_cut_counts(trained):
    segmenter = pickle.loads(pickle.dumps(trained))
    before = segmenter.cut_all(TEXTS)
    after = segmenter.set_params(rare_weight=-8.0).cut_all(TEXTS)
    assert after != before
    assert segmenter.set_params(rare_weight=8.0).cut_all(TEXTS) == before
    with pytest.raises(ParameterError, match="rare_weight is 'x'"):
        segmenter.set_params(rare_weight="x").cut("天")


def test_a_tag_set_that_is_not_that_of_training(trained):
    segmenter = pickle.loads(pickle.dumps(trained))
    with pytest.raises(ModelError, match="tags is 'bmes'; the segmenter has B, I, E"):
        segmenter.set_params(tags="bmes").cut("天")


def test_a_damaged_dictionary_is_refused(trained):
    segmenter = pickle.loads(pickle.dumps(trained))
    arrays = {"packed_words": np.frombuffer(zlib.compress("天\n空\n中".encode()), np.uint8)}
    for weights in (np.ones(2, np.float32), np.full(3, np.nan, np.float32)):
        with pytest.raises(ValueError, match="weight"):
            segmenter.dictionary.add_arrays({**arrays, "word_weights": weights})
