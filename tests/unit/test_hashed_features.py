"""Feature indexes without tables: a predicate's number is its hash."""

from __future__ import annotations

import numpy as np
import pytest

import adaptag
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.columns import ColumnCorpus
from adaptag.dataset.encoded import Dataset
from adaptag.errors import ParameterError
from adaptag.features.index import FeatureIndex
from adaptag.features.settings import FeatureSettings
from adaptag.features.template import Template
from tests.unit.making import fit, grow, index_of

SENTENCES = [["the", "cat", "sat"], ["a", "dog", "sat", "down"]]
TEMPLATE = Template("U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nU2:%suffix2[0,0]\n*3:%lower[0,0]\nB")


def corpus(sentences=SENTENCES):
    return ColumnCorpus.from_sentences(sentences)


def test_sizes():
    index = FeatureIndex.hashed(TEMPLATE, 6)
    assert index.n_of_kind == (64, 64, 1)
    assert FeatureIndex.hashed(Template.for_attributes(), 5).n_of_kind == (32, 0, 1)
    assert index.is_hashed
    assert index.name(3) == "#3"


@pytest.mark.parametrize("bits", [0, 31])
def test_bits_out_of_range(bits):
    with pytest.raises(ParameterError, match=rf"hash_bits is {bits}; allowed: integer \[1, 30\]"):
        index_of(corpus(), TEMPLATE, hash_bits=bits)


def test_with_many_bits_it_is_the_index_under_other_numbers():
    """As many predicates at each token, equal where those of an index are equal."""
    built, with_tables = index_of(corpus(), TEMPLATE)
    hashed = FeatureIndex.hashed(TEMPLATE, 20)
    encoded = hashed.encode(corpus())
    assert (encoded.positions == with_tables.positions).all()
    pairs = set(zip(with_tables.predicates.tolist(), encoded.predicates.tolist(), strict=True))
    assert len(pairs) == built.n_predicates
    assert len({b for _, b in pairs}) == built.n_predicates


def test_unknown_tokens_have_features_too():
    hashed = FeatureIndex.hashed(TEMPLATE, 20)
    assert len(hashed.encode(corpus([["unseen"]])).predicates) == 4


def test_attributes():
    hashed = FeatureIndex.hashed(Template.for_attributes(), 12)
    encoded = hashed.encode(AttributeCorpus.from_items([[{"a": 2}, {"b": "c"}], [["a"]]]))
    a, bc, transition, again = encoded.predicates.tolist()
    assert a == again != bc
    assert transition == 1 << 12
    assert encoded.values.tolist() == [2, 1, 1, 1]


def test_numbers_do_not_depend_on_what_came_before():
    hashed = FeatureIndex.hashed(TEMPLATE, 16)
    alone = hashed.encode(corpus(SENTENCES[1:])).predicates
    assert hashed.encode(corpus()).predicates[-len(alone) :].tolist() == alone.tolist()


def test_a_model_is_saved_and_loaded(tmp_path):
    data = [[(word, word.upper()) for word in s] for s in SENTENCES]
    dataset = Dataset.build(
        ColumnCorpus.from_sentences(data), FeatureSettings(template=TEMPLATE, hash_bits=8)
    )
    weights = fit(dataset, passes=5).weights
    model = adaptag.Model(dataset.label_names, dataset.index, weights)
    model.save(tmp_path / "m")
    loaded = adaptag.Model.load(tmp_path / "m")
    assert loaded.index.is_hashed
    assert loaded.tag(SENTENCES[0]) == model.tag(SENTENCES[0]) == ["THE", "CAT", "SAT"]
    dataset.save(tmp_path / "d")
    assert Dataset.load(tmp_path / "d").index.n_of_kind == dataset.index.n_of_kind


def test_growing_changes_nothing():
    hashed = FeatureIndex.hashed(TEMPLATE, 8)
    grown, encoded = grow(hashed, corpus())
    assert grown is hashed
    assert grown.extends(hashed)
    assert not grown.extends(FeatureIndex.hashed(TEMPLATE, 9))
    assert not grown.extends(index_of(corpus(), TEMPLATE)[0])
    np.testing.assert_array_equal(encoded.predicates, hashed.encode(corpus()).predicates)
