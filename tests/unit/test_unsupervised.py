"""Accessor variety and mutual information: against plain counting, and what is refused."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adaptag.errors import CorpusError, ParameterError
from adaptag.features.extractors import add_columns
from adaptag.features.unsupervised import AccessorVariety, MutualInformation
from tests.reference import unsupervised as oracle

FAST = settings(deadline=None, max_examples=150)
TEXT = st.text("ab京😀 \n", max_size=12)
RAW = st.lists(TEXT, max_size=6).filter(oracle.sentences)
TOKENS = st.text("ab京😀c ", max_size=8)  # c is never seen, and white space is in no sentence
SIDES = ("left", "right")
LEARNERS = [AccessorVariety.learn, MutualInformation.learn]


def zipf_text(n_sentences, seed=3):
    """Sentences over many characters with frequencies as in language."""
    rng = np.random.default_rng(seed)
    codes = 0x4E00 + np.minimum(rng.zipf(1.3, (n_sentences, 30)), 20000)
    return ["".join(map(chr, row[: rng.integers(1, 31)])) for row in codes]


# ---- accessor variety ---------------------------------------------------------------------------


@FAST
@given(RAW, TOKENS, st.integers(1, 5), st.integers(1, 3))
@example(["a"], "aa", 5, 1)
@example(["\ud800a"], "\ud800a", 2, 1)
def test_varieties_are_those_of_plain_counting(texts, tokens, longest, cutoff):
    for column in AccessorVariety.learn(texts, longest, cutoff=cutoff).columns(shortest=1):
        wanted = oracle.variety_column(texts, tokens, column.length, column.side, cutoff)
        assert column(list(tokens)) == wanted


def test_varieties_of_a_larger_text():
    texts = zipf_text(150)
    columns = AccessorVariety.learn(texts, 3).columns(shortest=1)
    strings = {s[i : i + n] for s in texts for n in (1, 2, 3) for i in range(len(s) - n + 1)}
    chosen = sorted(strings)[:: len(strings) // 120]
    for column, string in itertools.product(columns[:2], chosen):
        assert column.of(string) == oracle.variety(texts, string, column.side)
    assert {column.of("\u4e01") > 64 for column in columns} == {True}


def test_ends_of_sentences_are_accessors_each():
    left, right = AccessorVariety.learn(["ab", "ab xab", "ab"]).columns()[:2]
    assert (left.of("ab"), right.of("ab")) == (4, 4)  # three beginnings and x; four ends
    assert left.of("xa") == 1
    assert left.of("bx") == 0


def test_buckets_are_named_by_their_least():
    lead = [chr(0x4E00 + i) for i in range(40)]
    for n, name in [(1, "1"), (2, "2"), (3, "2"), (4, "4"), (7, "4"), (8, "8"), (33, "32")]:
        column = AccessorVariety.learn([c + "ab" for c in lead[:n]], cutoff=1)
        assert column("ab") == [name, "_"]
        assert replace(column, cutoff=4)("ab") == [name if n >= 4 else "0", "_"]


def test_columns_share_one_table():
    column = AccessorVariety.learn(["我们", "他们"], longest=3, cutoff=1)
    assert (column.length, column.side) == (2, "left")
    columns = column.columns()
    assert [(c.length, c.side) for c in columns] == list(itertools.product((2, 3), SIDES))
    assert {id(c.table) for c in columns} == {id(column.table)}
    rows = add_columns([[("我", "B"), ("们", "E")]], columns, before=1)
    assert rows == [[("我", "1", "_", "_", "_", "B"), ("们", "_", "1", "_", "_", "E")]]
    assert AccessorVariety.learn(["我"], 1).length == 1
    assert AccessorVariety.learn(["我"], length=3, side="right").length == 3


def test_columns_are_not_confused_by_the_sentence_before():
    column = AccessorVariety.learn(["abc", "xbc", "ab"], cutoff=1)
    first = column("abc")
    assert column("xbc") == ["1", "2", "_"]
    assert column("abc") == first == ["2", "2", "_"]


def test_tables_can_be_pickled():
    for learn in LEARNERS:
        column = learn(["abc", "xbc", "ab"])
        assert pickle.loads(pickle.dumps(column))("abc") == column("abc")
        assert len(repr(column)) < 100


# ---- mutual information -------------------------------------------------------------------------


@FAST
@given(
    RAW, TOKENS, st.tuples(st.integers(-4, 1), st.integers(1, 4), st.booleans(), st.integers(1, 3))
)
@example(["a"], "aa", (-4, 4, False, 1))
def test_information_is_that_of_plain_counting(texts, tokens, options):
    names = ("lowest", "highest", "behind", "cutoff")
    column = MutualInformation.learn(texts, **dict(zip(names, options, strict=True)))
    assert column(list(tokens)) == oracle.information_column(texts, tokens, *options)


def test_information_of_a_larger_text():
    texts = zipf_text(60)
    column = MutualInformation.learn(texts)
    found = [column(text) for text in texts[:3]]
    assert found == [oracle.information_column(texts, t, -5, 15, False, 2) for t in texts[:3]]
    assert len(set(itertools.chain.from_iterable(found))) > 4


def test_information_behind_is_that_before_of_the_next():
    before = MutualInformation.learn(["abcab", "ba"], cutoff=1)
    behind = replace(before, behind=True)
    assert behind("abca")[:-1] == before("abca")[1:]
    assert behind.bits is before.bits


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("learn", LEARNERS)
def test_texts_that_are_none(learn):
    with pytest.raises(ParameterError, match="texts is one str; allowed: a list of strings"):
        learn("我们")
    with pytest.raises(CorpusError, match="text 1 is bytes; allowed: strings"):
        learn(["我们", b"a"])
    for nothing in ([], ["", " \n"]):
        with pytest.raises(CorpusError, match="the raw text is empty; allowed: at least one"):
            learn(nothing)


@pytest.mark.parametrize("learn", LEARNERS)
@pytest.mark.parametrize("token", ["们们", "", 3, None])
def test_tokens_that_are_no_characters(learn, token):
    with pytest.raises(CorpusError, match=f"token 1 is {token!r}; allowed: one character per"):
        learn(["我们"])(["我", token])


@pytest.mark.parametrize("learn", LEARNERS)
def test_tokens_of_other_kinds(learn):
    assert learn(["我们"])(np.array(["我", "们"])) == learn(["我们"])("我们")
    assert learn(["我们"])([]) == []


@pytest.mark.parametrize("longest", [0, 17, -1])
def test_lengths_out_of_bounds(longest):
    with pytest.raises(ParameterError, match=f"longest is {longest}; allowed: 1 to 16"):
        AccessorVariety.learn(["a"], longest)


def test_parameters_out_of_bounds():
    column = AccessorVariety.learn(["abc"], longest=3)
    with pytest.raises(ParameterError, match=r"longest is 2\.5; allowed: whole numbers, 1 to 16"):
        AccessorVariety.learn(["a"], 2.5)
    with pytest.raises(ParameterError, match="length is 4; allowed: 1 to 3"):
        replace(column, length=4)
    with pytest.raises(ParameterError, match="shortest is 4; allowed: 1 to 3"):
        column.columns(shortest=4)
    with pytest.raises(ParameterError, match="the length of the string is 0; allowed: 1 to 3"):
        column.of("")
    with pytest.raises(ParameterError, match="unknown side 'lefty'; did you mean 'left'"):
        replace(column, side="lefty")
    with pytest.raises(ParameterError, match="lowest is 3, highest is 2; allowed: lowest <= high"):
        MutualInformation.learn(["ab"], lowest=3, highest=2)
    with pytest.raises(ParameterError, match="highest is 65; allowed: -64 to 64"):
        MutualInformation.learn(["ab"], highest=65)


@pytest.mark.parametrize("learn", LEARNERS)
def test_cutoffs_out_of_bounds(learn):
    with pytest.raises(ParameterError, match="cutoff is 0; allowed: 1 to"):
        learn(["ab"], cutoff=0)


@pytest.mark.parametrize("learn", LEARNERS)
def test_what_occurs_once_counts_as_what_does_not(learn):
    column = learn(["我们在", "他们在"])
    assert column("我们") == column("我想")  # of these raw text has only the first
