"""Words for users of jieba: parts of speech, search, its dictionaries, Traditional Chinese."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import adaptag
from adaptag import Segmenter, WordTagger
from adaptag.cli.main import app
from adaptag.errors import CorpusError, ModelError, ParameterError
from adaptag.segmentation import traditional
from adaptag.segmentation.dictionary import FORCE, UserDictionary
from adaptag.segmentation.traditional import simplified

SENTENCES = [
    [("我们", "r"), ("在", "p"), ("北京", "ns"), ("学习", "v")],
    [("他", "r"), ("来到", "v"), ("南京", "ns")],
    [("中华", "n"), ("人民", "n"), ("喜欢", "v"), ("电影", "n")],
    [("中华人民共和国", "ns"), ("很", "d"), ("大", "a")],
    [("共和国", "n"), ("在", "p"), ("学习", "v"), ("电影", "n")],
] * 6
TEXT = "我们来到中华人民共和国"


@pytest.fixture(scope="module")
def parts():
    words = [[word for word, _ in sentence] for sentence in SENTENCES]
    tagger = adaptag.train(SENTENCES, template="U:%x[0,0]\nU1:%suffix1[0,0]\nB", passes=10)
    return Segmenter.train(words, passes=15), tagger


@pytest.fixture
def segmenter(parts):
    return pickle.loads(pickle.dumps(parts[0]))


@pytest.fixture
def tagger(segmenter, parts):
    return WordTagger(segmenter, parts[1])


@pytest.fixture
def saved(tmp_path, monkeypatch, parts):
    monkeypatch.chdir(tmp_path)
    parts[0].save("words")
    parts[1].save("pos")
    Path("text").write_text(f"{TEXT}\n他 喜欢电影", encoding="utf-8")

    def run(*arguments):
        result = CliRunner().invoke(app, ["segment", "cut", "text", "-m", "words", *arguments])
        if result.exception:
            raise result.exception
        return result.stdout

    return run


# ---- words with parts of speech -------------------------------------------------------------


def test_pairs(tagger, parts):
    pairs = tagger.cut_pos(TEXT)
    assert pairs == [("我们", "r"), ("来到", "v"), ("中华人民共和国", "ns")]
    assert [(pair.word, pair.flag) for pair in pairs] == pairs
    assert " ".join(map(str, pairs)) == "我们/r 来到/v 中华人民共和国/ns"
    assert [w for w, _ in pairs] == tagger.cut(TEXT)
    assert [t for _, t in pairs] == parts[1].tag(tagger.cut(TEXT))


def test_every_line_is_a_sentence(tagger):
    lines = ["我们 在北京", "", "他来到南京\r", " "]
    both = tagger.cut_pos_all(["\n".join(lines), *lines])
    assert both[0] == [pair for line in both[1:] for pair in line]
    assert both[1] == [("我们", "r"), ("在", "p"), ("北京", "ns")]
    assert both[2] == both[4] == []
    assert tagger.cut_pos_all([]) == []
    assert tagger.cut_pos_all(lines, threads=2) == both[1:]


def test_a_line_knows_nothing_of_the_line_before(segmenter):
    data = [[("他", "first"), ("他", "later"), ("他", "later")], [("他", "first")]] * 10
    model = adaptag.train(data, template="U:%x[-1,0]", passes=10)
    pairs = WordTagger(segmenter, model).cut_pos("他 他\n他")
    assert [flag for _, flag in pairs] == ["first", "later", "first"]


def test_spans(tagger):
    tagged = tagger.tag_text(TEXT)
    assert tagged.text == TEXT
    assert [(s.text, s.label, s.start) for s in tagged.spans] == [
        ("我们", "r", 0), ("来到", "v", 2), ("中华人民共和国", "ns", 4),
    ]  # fmt: skip
    assert all(0 < span.probability <= 1 for span in tagged.spans)


def test_a_tagger_of_columns_cannot_tag_words(segmenter):
    model = adaptag.train([[("a", "b", "X")]], template="U:%x[0,1]", passes=1)
    with pytest.raises(ParameterError, match="needs 2 columns"):
        WordTagger(segmenter, model)


def test_tags_of_the_dictionary_win(tagger, segmenter):
    tagger.dictionary.add(["来到", "大电影"], FORCE)
    tagger.dictionary.set_tags({"大电影": "nz"})
    assert tagger.cut_pos("他来到大电影") == [("他", "r"), ("来到", "v"), ("大电影", "nz")]
    again = Segmenter.from_bytes(segmenter.to_bytes())
    assert (again.dictionary.tag("大电影"), again.dictionary.tag("来到")) == ("nz", None)
    assert segmenter.compact().dictionary.tag("大电影") == "nz"
    assert tagger.dictionary.copy().tag("大电影") == "nz"
    tagger.dictionary.remove("大电影")
    assert tagger.dictionary.tag("大电影") is None


@pytest.mark.parametrize(
    ("tags", "message"),
    [({"没有": "n"}, "'没有' is not in the dictionary"), ({"有": ""}, "the tag of '有' is")],
)
def test_tags_that_are_refused(tags, message):
    words = UserDictionary("none")
    words.add("有")
    with pytest.raises(ParameterError, match=message):
        words.set_tags(tags)


def test_parts_of_speech_on_the_command_line(saved):
    assert saved("--tagger", "pos") == "我们/r 来到/v 中华人民共和国/ns\n他/r 喜欢/v 电影/n"
    assert saved("--tagger", "pos", "--separator", "|").endswith("他/r|喜欢/v|电影/n")
    with pytest.raises(ParameterError, match="choose one of"):
        saved("--tagger", "pos", "--search")


# ---- search ---------------------------------------------------------------------------------


def brute_force(segmenter, text):
    """What jieba does: in words of three characters known pairs, of four known triples too."""
    known = {word for sentence in SENTENCES for word, _ in sentence} | set(segmenter.dictionary)
    found = []
    for word in segmenter.cut(text):
        if len(word) > 2:
            found += [word[i : i + 2] for i in range(len(word) - 1) if word[i : i + 2] in known]
        if len(word) > 3:
            found += [word[i : i + 3] for i in range(len(word) - 2) if word[i : i + 3] in known]
        found += [] if word.isspace() else [word]
    return found


def test_words_for_search(segmenter):
    found = segmenter.cut_for_search(TEXT)
    assert found == ["我们", "来到", "中华", "人民", "共和国", "中华人民共和国"]
    segmenter.dictionary.add("华人")
    assert segmenter.cut_for_search(TEXT)[2:5] == ["中华", "华人", "人民"]


@settings(max_examples=50, deadline=None)
@given(text=st.text("我们在北京学习中华人民共和国 \n大电影"))
def test_words_for_search_are_those_of_brute_force(parts, text):
    assert parts[0].cut_for_search(text) == brute_force(parts[0], text)


def test_letters_have_no_parts(segmenter):
    segmenter.dictionary.add({"iPhone": FORCE, "ab": 1.0})  # folded, all pairs of letters are "ab"
    assert segmenter.cut_for_search("他iPhone在") == ["他", "iPhone", "在"]


def test_a_segmenter_without_words_cannot_search(segmenter):
    with pytest.raises(ModelError, match="without the words"):
        segmenter.compact(names=False).cut_for_search(TEXT)


def test_search_on_the_command_line(saved):
    assert saved("--search") == "我们 来到 中华 人民 共和国 中华人民共和国\n他 喜欢 电影"


# ---- dictionaries of jieba ------------------------------------------------------------------


def test_a_dictionary_of_jieba(tmp_path):
    path = tmp_path / "userdict.txt"
    path.write_text(
        "# mine\n云计算 5\n李小福 2 nr\n创新办 3 i\neasy_install 3 eng\n台中\n凱特琳 nz\n"
    )
    words = UserDictionary("none")
    words.load(path)
    assert set(words.to_dict().values()) == {20.0}
    assert [words.tag(word) for word in words] == [None, "nr", "i", "eng", None, "nz"]


def test_frequencies_without_tags_need_the_format(tmp_path):
    path = tmp_path / "words"
    path.write_text("云计算 50000\n创新办 3\n")
    words = UserDictionary("none")
    with pytest.raises(CorpusError, match=r"words:1: weight '50000'; allowed"):
        words.load(path)
    words.load(path, format="jieba")
    assert words.to_dict() == {"云计算": 20.0, "创新办": 20.0}
    path.write_text("创新办 3\n")
    words.load(path)
    assert words.weight("创新办") == 3


@pytest.mark.parametrize("line", ["云 计 算 5", "云 5 5", "云 n 5", "云 5 n n"])
def test_lines_that_are_not_jiebas(tmp_path, line):
    path = tmp_path / "words"
    path.write_text(f"天\n{line}\n")
    with pytest.raises(CorpusError, match=r"words:2: .* behind the word; allowed: its frequency"):
        UserDictionary("none").load(path, format="jieba")


def test_an_unknown_format(tmp_path):
    with pytest.raises(ParameterError, match="unknown format 'jeiba'; did you mean 'jieba'"):
        UserDictionary("none").load(tmp_path / "no", format="jeiba")


def test_dictionaries_of_jieba_on_the_command_line(saved):
    Path("dict").write_text("他喜欢 3 nz\n来到中华 9", encoding="utf-8")
    pairs = saved("--tagger", "pos", "--dictionary", "dict").split()
    assert pairs[1].startswith("来到中华/")
    assert "他/r" in pairs  # white space ends a word
    Path("dict").write_text("来到中华 50000", encoding="utf-8")
    given = ("--dictionary", "dict", "--dictionary-format", "jieba")
    assert saved(*given).split()[1] == "来到中华"


# ---- Traditional Chinese --------------------------------------------------------------------

SIMPLE, OTHER = "我们来到中华人民共和国学习电影", "我們來到中華人民共和國學習電影"


def test_traditional_characters_are_compared_as_simplified(segmenter, parts):
    cutter = segmenter.for_traditional()
    words = cutter.cut(OTHER)
    assert "".join(words) == OTHER
    assert [simplified(word) for word in words] == segmenter.cut(SIMPLE)
    assert cutter.cut(SIMPLE) == segmenter.cut(SIMPLE)
    assert cutter.cut_for_search("中華人民共和國") == ["中華", "人民", "共和國", "中華人民共和國"]
    assert [w.text for w in cutter.words(OTHER)] == words
    assert [w.probability for w in cutter.words(OTHER)] == [
        w.probability for w in segmenter.words(SIMPLE)
    ]
    tagger = WordTagger(cutter, parts[1])
    simple = WordTagger(segmenter, parts[1])
    assert [t for _, t in tagger.cut_pos(OTHER)] == [t for _, t in simple.cut_pos(SIMPLE)]
    assert [w for w, _ in tagger.cut_pos(OTHER)] == words
    assert [span.text for span in tagger.tag_text(OTHER).spans] == words
    assert cutter.evaluate([words]).f1 == 100
    assert cutter.evaluate([words]).oov_rate == 0
    assert pickle.loads(pickle.dumps(cutter)).cut(OTHER) == words


@settings(max_examples=100, deadline=None)
@given(text=st.text("我们在北京学习中华人民 \t\r\n\u3000\x85\u2028ab"), continues=st.booleans())
def test_simplified_text_is_cut_as_before(parts, text, continues):
    segmenter, data = parts[0], text.encode()
    cutter = segmenter.for_traditional()
    assert cutter.cut(text) == segmenter.cut(text)
    spaced = segmenter.spaced(data, "|", continues=continues)
    assert cutter.spaced(data, "|", continues=continues) == spaced


def test_one_character_stays_one_character():
    characters = "".join(map(chr, range(0x3400, 0xA000)))
    assert len(simplified(characters)) == len(characters)
    assert simplified("漢語，電腦「a」\ud800") == "汉语，电脑「a」\ud800"


def test_traditional_words_of_the_dictionary(segmenter):
    cutter = segmenter.for_traditional()
    cutter.dictionary.add("國學", FORCE)
    assert "國學" in cutter.dictionary
    assert "国学" in segmenter.dictionary
    assert "國學" in cutter.cut(OTHER)
    assert "国学" in segmenter.cut(SIMPLE)
    cutter.dictionary.remove("國學")
    assert len(segmenter.dictionary) == 0


def test_new_words_of_traditional_text(segmenter):
    cutter, texts = segmenter.for_traditional(), ["他來到東京學習", "他在東京"]
    found = cutter.new_words(texts)
    assert ["".join(words) for words in found.segmentation] == texts
    assert found.new_words == segmenter.new_words(list(map(simplified, texts))).new_words


def test_traditional_on_the_command_line(saved):
    Path("text").write_text("我們 來到北京\n\n他喜歡電影\n", encoding="utf-8")
    assert saved("--traditional") == "我們 來到 北京\n\n他 喜歡 電影\n"
    assert saved("--traditional", "--tagger", "pos").endswith("他/r 喜歡/v 電影/n\n")
    assert saved("--traditional", "--probabilities").split()[::2][:3] == ["我們", "來到", "北京"]
    Path("text").write_bytes(b"\xff")
    with pytest.raises(CorpusError, match="text:1: invalid UTF-8"):
        saved("--traditional")


def test_without_opencc(segmenter, monkeypatch):
    traditional._table.cache_clear()
    monkeypatch.setitem(sys.modules, "opencc", None)
    with pytest.raises(ParameterError, match=r'OpenCC: pip install "adaptag\[traditional\]"'):
        segmenter.for_traditional()
