"""Extractors: columns made of the tokens of a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptag.errors import CorpusError, ParameterError
from adaptag.features.extractors import (
    Clusters,
    Gazetteer,
    MaximumMatching,
    add_columns,
    orthography,
    substrings,
)


@pytest.mark.parametrize(
    ("token", "mode"),
    [
        ("IL-2", "capitals+digit+dash"),
        ("gene", "lower"),
        ("Alpha", "greek"),
        ("NF-kappa", "Mixed+dash+greek"),
        ("mRNA", "mixed"),
        ("T", "capital"),
        ("p", "letter"),
        ("Human", "Title"),
        ("7", "digit"),
        ("42", "two-digits"),
        ("1998", "digits"),
        ("3.5%", "number"),
        ("IV", "roman"),
        ("GATTACA", "sequence"),
        (",", ","),
        ("--", "symbols"),
        ("and/or", "lower+slash"),
    ],
)
def test_orthography(token, mode):
    assert orthography([token]) == [mode]


@given(st.lists(st.text()))
def test_orthography_takes_any_text(tokens):
    assert len(orthography(tokens)) == len(tokens)
    assert all(orthography(tokens))


def test_clusters(tmp_path):
    path = tmp_path / "paths"
    path.write_text("0010\tcat\t5\n0011\tdog\n\n1\tThe\n")
    assert Clusters.read(path)(["Cat", "dog", "The", "the", "x"]) == ["0010", "0011", "1", "O", "O"]
    assert Clusters.read(path, prefix=3)(["cat", "dog"]) == ["001", "001"]
    path.write_text("0010 cat\n")
    with pytest.raises(CorpusError, match="paths:1: '0010 cat'; allowed: cluster<TAB>word"):
        Clusters.read(path)


def test_gazetteer(tmp_path):
    path = tmp_path / "names"
    path.write_text("New York\tplace\nNew York Times\tpaper\nYork\tplace\n")
    names = Gazetteer.read(path)
    assert names(["I", "read", "the", "New", "York", "Times", "in", "New", "York"]) == [
        "O", "O", "O", "B-paper", "I-paper", "I-paper", "O", "B-place", "I-place",
    ]  # fmt: skip
    assert names(["new", "york"]) == ["O", "O"]
    assert Gazetteer.read(path, lower=True)(["new", "YORK"]) == ["B-place", "I-place"]
    assert names([]) == []
    path.write_text("York\n")
    with pytest.raises(CorpusError, match="names:1: 'York'; allowed: name<TAB>type"):
        Gazetteer.read(path)


def test_maximum_matching(tmp_path):
    path = tmp_path / "words"
    path.write_text("研究\t3\n研究生\n生命\n起源\n")
    text = list("研究生命起源")
    assert "".join(MaximumMatching.read(path)(text)) == "BMESBE"
    assert "".join(MaximumMatching.read(path, backward=True)(text)) == "BEBEBE"
    assert MaximumMatching(frozenset())(["a", "b"]) == ["S", "S"]


@given(st.text("abc", max_size=12), st.sets(st.text("abc", min_size=1, max_size=4)), st.booleans())
def test_maximum_matching_gives_words(text, words, backward):
    places = MaximumMatching(frozenset(words), backward)(list(text))
    found, start = [], 0
    for end, place in enumerate(places, 1):
        if place in "ES":
            found.append(text[start:end])
            start = end
    assert "".join(found) == text
    assert all(word in words or len(word) == 1 for word in found)


def test_substrings():
    assert substrings("gene") == ["g", "ge", "gen", "gene", "e", "en", "ene", "n", "ne"]
    assert substrings("gaga", longest=3, shortest=2) == ["ga", "gag", "ag", "aga"]
    assert max(map(len, substrings("abcdefghijklm"))) == 9
    assert substrings("") == []
    assert substrings("a", shortest=2) == []


@given(st.text("ab京", max_size=14), st.integers(1, 5), st.integers(0, 10))
def test_substrings_are_all_that_the_token_has(token, shortest, more):
    found = substrings(token, longest=shortest + more, shortest=shortest)
    places = [(i, n) for i in range(len(token)) for n in range(1, len(token) - i + 1)]
    wanted = {token[i : i + n] for i, n in places if shortest <= n <= shortest + more}
    assert set(found) == wanted
    assert found == sorted(wanted, key=lambda string: (token.find(string), len(string)))


def test_substrings_that_cannot_be():
    with pytest.raises(ParameterError, match="shortest is 0; allowed: 1 or more"):
        substrings("gene", shortest=0)
    with pytest.raises(ParameterError, match=r"longest is 1; allowed: 2 \(the shortest\) or more"):
        substrings("gene", longest=1, shortest=2)
    with pytest.raises(CorpusError, match="the token is 3; allowed: a string"):
        substrings(3)


def test_adding_columns():
    sentences = [[("IL-2", "NN", "B"), ("gene", "NN", "I")], []]
    assert add_columns(sentences, [orthography, len_of], before=1) == [
        [("IL-2", "NN", "capitals+digit+dash", "4", "B"), ("gene", "NN", "lower", "4", "I")],
        [],
    ]
    assert add_columns([["a"]], []) == [[("a",)]]
    assert add_columns([["a"]], [orthography]) == [[("a", "letter")]]


def len_of(tokens):
    return [str(len(token)) for token in tokens]


def test_files_that_are_no_text(tmp_path):
    path = tmp_path / "names"
    path.write_bytes(b"\xff\n")
    with pytest.raises(CorpusError, match="invalid UTF-8 at byte 1"):
        Gazetteer.read(path)
