"""The feature index against an oracle that makes every feature string."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adaptag.corpus.columns import ColumnCorpus
from adaptag.features.template import Template
from tests.reference import template as oracle
from tests.unit.making import index_of

FAST = settings(deadline=None, max_examples=150)

N_COLUMNS = 2
# Text that is in no token stands between macros and names them, so that two features have the same
# string exactly where their lines differ in rows and columns only.
MACROS = st.builds(
    "{0}=%{0}[{1},{2}]".format,
    st.sampled_from(["x", "x", "lower", "shape", "prefix1", "prefix2", "suffix1", "suffix3"]),
    st.integers(-3, 3),
    st.integers(0, N_COLUMNS - 1),
)
LINES = st.builds(
    lambda kind, name, macros: f"{kind}{name}:{'|'.join(macros)}",
    st.sampled_from("UUU*B"),
    st.sampled_from(["", "1", "2"]),
    st.lists(MACROS, max_size=3),
)
TEMPLATES = st.lists(LINES | st.just("B"), min_size=1, max_size=6).map("\n".join)
TOKENS = st.sampled_from(["a", "b", "A", "Ab", "ab1", "été", "É", "12", "_B-1", "日本", "x.Y-z"])
SENTENCES = st.lists(
    st.lists(st.tuples(*[TOKENS] * N_COLUMNS), min_size=1, max_size=6), min_size=1, max_size=4
)


def build(template, sentences, cutoff=1):
    return index_of(ColumnCorpus.from_sentences(sentences), Template(template), cutoff)


def named(index, encoded):
    """The feature strings of each token, as a multiset."""
    names = [index.name(p) for p in range(index.n_predicates)]
    bounds = encoded.positions.tolist()
    found = [names[p] for p in encoded.predicates.tolist()]
    return [Counter(found[b:e]) for b, e in itertools.pairwise(bounds)]


def expected(template, sentences, known=None):
    positions = [p for sentence in sentences for p in oracle.features(template, sentence)]
    if known is None:
        return positions
    return [Counter({f: n for f, n in p.items() if f in known}) for p in positions]


@FAST
@given(TEMPLATES, SENTENCES)
def test_training_data_has_the_features_of_the_oracle(template, sentences):
    index, encoded = build(template, sentences)
    assert named(index, encoded) == expected(template, sentences)
    assert named(index, index.encode(ColumnCorpus.from_sentences(sentences))) == expected(
        template, sentences
    )


@FAST
@given(TEMPLATES, SENTENCES, SENTENCES)
def test_new_data_has_those_that_training_knew(template, sentences, new):
    index, _ = build(template, sentences)
    encoded = index.encode(ColumnCorpus.from_sentences(new))
    known = oracle.counts(template, sentences)
    assert named(index, encoded) == expected(template, new, known)


@FAST
@given(TEMPLATES, SENTENCES, st.integers(1, 4))
def test_the_cutoff_drops_exactly_the_rarer_ones(template, sentences, cutoff):
    index, encoded = build(template, sentences, cutoff)
    counts = oracle.counts(template, sentences)
    kept = {feature for feature, n in counts.items() if n >= cutoff}
    names = [index.name(p) for p in range(index.n_predicates)]
    assert sorted(names) == sorted(kept)
    assert named(index, encoded) == expected(template, sentences, kept)
    again = index.encode(ColumnCorpus.from_sentences(sentences))
    assert named(index, again) == expected(template, sentences, kept)


@FAST
@given(TEMPLATES, SENTENCES)
def test_predicates_are_numbered_by_kind_and_falling_frequency(template, sentences):
    index, encoded = build(template, sentences)
    counts = oracle.counts(template, sentences)
    names = [index.name(p) for p in range(index.n_predicates)]
    kinds = ["U*B".index(name[0]) for name in names]
    assert kinds == sorted(kinds)
    assert index.n_of_kind == tuple(kinds.count(kind) for kind in range(3))
    frequency = [(kind, -counts[name]) for kind, name in zip(kinds, names, strict=True)]
    assert frequency == sorted(frequency)
    for begin, end in itertools.pairwise(encoded.positions.tolist()):
        fired = [kinds[p] for p in encoded.predicates[begin:end]]
        assert fired == sorted(fired)


# ---- what macros make of text ---------------------------------------------------------------

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
CASED = st.text(st.characters(categories=["Lu", "Ll", "Lt", "Nd", "Nl"]), min_size=1, max_size=8)


@pytest.mark.parametrize("macro", ["lower", "shape", "prefix1", "prefix3", "suffix1", "suffix3"])
@settings(deadline=None, max_examples=100)
@given(token=WORDS | CASED | st.text("aAzZ1.", min_size=1, max_size=12))
@example("ΑΣ")
@example("İstanbul")
@example("\0")
@example("ẞǅⅧ²")
@example("😀😀😀a\u0301\U0010ffff")
@example("K\u212a\u2126")
def test_macros_treat_text_as_python_does(macro, token):
    template = f"U=%{macro}[0,0]"
    index, _ = build(template, [[(token,)]])
    assert index.name(0) == oracle.expand(template, [(token,)], 0)
    assert index.encode(ColumnCorpus.from_sentences([[token]])).predicates.tolist() == [0]
