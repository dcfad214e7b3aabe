"""Tokenizers: places of tokens, by the rules of Unicode and by other ways."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import adaptag
from adaptag.corpus.tokenizers import TOKENIZERS, Tokenizer, tokenizer_name, tokenizer_of
from adaptag.errors import ParameterError

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=30)
POOL = "ab'’.,:;12_אב\"カア漢ひ\u0301\u200d\u00ad👩🇩🇫👍🏽- \u3000ßก\u0e49²½Ⅷ々한\u0640٣٬Ⅷ©\ufe0f"


def tokens(text, name="unicode"):
    return [[text[a:b] for a, b in sentence] for sentence in tokenizer_of(name)(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't know.", ["I", "don't", "know", "."]),
        ("U.S. GDP: 3.5%", ["U.S", ".", "GDP", ":", "3.5", "%"]),
        ("e-mail snake_case 1,000 x2", ["e", "-", "mail", "snake_case", "1,000", "x2"]),
        ("東京タワーに行く", ["東", "京", "タワー", "に", "行", "く"]),
        ("cafe\u0301 über", ["cafe\u0301", "über"]),
        ('한국어 מורה צה"ל', ["한국어", "מורה", 'צה"ל']),
        ("ภาษา", ["ภ", "า", "ษ", "า"]),
        ("👩\u200d👩\u200d👧🇩🇪🇫🇷👍🏽!", ["👩\u200d👩\u200d👧", "🇩🇪", "🇫🇷", "👍🏽", "!"]),
        ("\ufeff a\u200bb \x00mot\u202f!", ["a", "b", "mot", "!"]),
    ],
)
def test_words_follow_unicode(text, expected):
    assert tokens(text) == [expected]


def test_characters_keep_their_marks():
    text = "e\u0301a 日本👍🏽\u200b"
    assert tokens(text, "characters") == [["e\u0301", "a", "日", "本", "👍🏽"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't know, can't you?", "I do n't know , ca n't you ?"),
        ("It's Tom's; the boys' dog'll go.", "It 's Tom 's ; the boys ' dog 'll go ."),
        ("It\u2019s DON\u2019T", "It \u2019s DO N\u2019T"),
        ("We cannot; dont, im gonna", "We can not ; do nt , i m gon na"),
        ("Mr. Smith of the U.S. left at 5 p.m. on 3/4/2004.",
         "Mr. Smith of the U.S. left at 5 p.m. on 3/4/2004 ."),
        ("$5 (20%) 1,000.50 10:30am 3.5kg", "$ 5 ( 20 % ) 1,000.50 10:30 am 3.5 kg"),
        ("15-year so-called e-mail anti-war", "15 - year so - called e-mail anti-war"),
        ("http://a.b/c?d=1, x@y.org! www.z.com.", "http://a.b/c?d=1 , x@y.org ! www.z.com ."),
        ("Hi!!! Wait... what?! :-) --", "Hi !!! Wait ... what ?! :-) --"),
        ("\"Yes,\" he said -- and/or", '" Yes , " he said -- and / or'),
        ("the '60s and 1990s, 2nd", "the '60s and 1990s , 2nd"),
        ("AT&T etc. 日本\u200b", "AT&T etc. 日本"),
    ],
)  # fmt: skip
def test_english_is_cut_as_treebanks_do(text, expected):
    assert tokens(text, "english") == [expected.split(" ")]


@pytest.mark.parametrize(("piece", "n_tokens"), [("ab.", 2), ("a@", 2), ("x-1,", 4)])
def test_english_does_not_scan_to_the_end_for_every_token(piece, n_tokens):
    n = 200_000  # it would take an hour
    (found,) = tokenizer_of("english")(piece * n)
    assert len(found) == n * n_tokens


def test_whitespace():
    assert tokens(" don't  stop.\u3000now ", "whitespace") == [["don't", "stop.", "now"]]


def test_every_line_break_ends_a_sentence():
    text = "a b\nc\r\nd\x0be\x0cf\x1cg\x1dh\x1ei\x85j\u2028k\u2029l\n\n \nm"
    assert tokens(text) == [["a", "b"], *[[letter] for letter in "cdefghijklm"]]
    assert tokens("a\u2028") == [["a"]]
    assert tokens("") == tokens("\n \n") == []


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(deadline=None)
@given(text=ANY_TEXT)
@example(text="\ud800a\udfff")
def test_places_are_in_order_and_leave_out_only_what_is_invisible(name, text):
    places = [place for sentence in tokenizer_of(name)(text) for place in sentence]
    ends = [0, *(end for _, end in places)]
    assert all(before <= start < end for before, (start, end) in zip(ends, places, strict=False))
    covered = {i for start, end in places for i in range(start, end)}
    left_out = "".join(c for i, c in enumerate(text) if i not in covered)
    assert not any(c.isalnum() for c in left_out)
    assert all(text[start:end].strip() for start, end in places)
    for sentence in tokenizer_of(name)(text):
        assert len(text[sentence[0][0] : sentence[-1][1]].splitlines()) == 1


@settings(deadline=None, max_examples=300)
@given(text=st.text(st.sampled_from(POOL), max_size=9))
def test_words_are_those_of_another_implementation(text):
    wordbreak = pytest.importorskip("uniseg.wordbreak", reason="needs uniseg")
    # Marks without a character before them are tokens here, and belong to the blank there.
    text = re.sub("(^|[ \u3000])[\u0301\u200d\u00ad\u0e49🏽\ufe0f]+", " ", text)
    words = [word for word in wordbreak.words(text) if word.strip()]
    assert [word for sentence in tokens(text) for word in sentence] == words


def test_a_segmenter_cuts_words():
    segmenter = adaptag.Segmenter.train([["我们", "喜欢", "北京"], ["北京", "很", "大"]], passes=5)
    tokenizer = tokenizer_of(segmenter)
    assert tokenizer.name == tokenizer_name(segmenter) == "segmenter"
    text = "我们 喜欢\n北京"
    found = [[text[a:b] for a, b in sentence] for sentence in tokenizer(text)]
    assert ["".join(words) for words in found] == ["我们喜欢", "北京"]
    assert found == [[w for w in segmenter.cut(line) if w.strip()] for line in text.split("\n")]


def test_a_function_of_the_user_is_checked():
    tokenizer = tokenizer_of(lambda line: [(0, 1), (1, 2), (2, len(line))])
    assert tokenizer.name == "custom"
    assert tokenizer("a b\nabc") == [[(0, 1), (2, 3)], [(4, 5), (5, 6), (6, 7)]]
    for wrong in [[(0, 0)], [(0, 9)], [(1, 2), (0, 1)], [3], [("a", "b")]]:
        with pytest.raises(ParameterError, match=r"the tokenizer gave .* allowed: "):
            tokenizer_of(lambda _, wrong=wrong: wrong)("abc")


def test_what_is_no_tokenizer_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="unknown tokenizer 'unicod'; did you mean 'unicode'"):
        tokenizer_of("unicod")
    with pytest.raises(ParameterError, match="tokenizer is the int 3; allowed: unicode"):
        tokenizer_of(3)
    with pytest.raises(ParameterError, match="the tokenizer is a segmenter; give it"):
        tokenizer_of("segmenter")
    with pytest.raises(ParameterError, match="the tokenizer is a function of your own"):
        tokenizer_of("custom")
    path = tmp_path / "seg.adaptag"
    adaptag.Segmenter.train([["ab", "c"]], passes=1).save(path)
    with pytest.raises(ParameterError, match="the file of a segmenter; load it"):
        tokenizer_of(str(path))
    assert isinstance(tokenizer_of(None), Tokenizer)
    assert tokenizer_name(str(path)) == "segmenter"
