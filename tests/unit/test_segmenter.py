"""The segmenter against brute force, its dictionary, its files."""

from __future__ import annotations

import contextlib
import copy
import io
import itertools
import json
import math
import pickle
import zlib

import numpy as np
import pytest

import adaptag
from adaptag.corpus.segmented import SegmentedCorpus, tag_names
from adaptag.corpus.settings import TAG_SETS
from adaptag.errors import CorpusError, FileError, ModelError, NotTrainedError, ParameterError
from adaptag.features.characters import CharacterIndex
from adaptag.model.linear_chain import LinearChain
from adaptag.segmentation.cutter import Word
from adaptag.segmentation.dictionary import FORCE, WEIGHTS, UserDictionary
from adaptag.segmentation.new_words import WEIGHT, may_be_new
from adaptag.segmentation.segmenter import Segmenter
from adaptag.storage.tensors import tensors_from_buffer, write_tensors
from tests.reference import crf
from tests.reference import segmentation as oracle
from tests.reference.data import Problem
from tests.unit.making import Edges, characters
from tests.unit.test_character_features import random_sentences, without_empty

TEXT = """我们 在 北京 学习 汉语
他们 在 上海 学习 英语
我们 喜欢 北京 大学
他们 喜欢 上海 大学
学生 们 在 大学 学习
我 喜欢 学生
他 在 北京
我们 去 大学 看 学生
"""
TRAIN = [line.split() for line in TEXT.splitlines()]
TAGS = sorted(TAG_SETS)
tag_sets = pytest.mark.parametrize("tags", TAGS)
LETTERS = "天人大中国aＡ1"


@pytest.fixture(scope="module")
def trained():
    return Segmenter.train(TRAIN, passes=20)


@pytest.fixture
def segmenter(trained):
    """The trained segmenter with a dictionary of its own."""
    return Segmenter.from_model(trained.model_, tags=trained.tags)


def random_segmenter(seed, tags="bie", *, scale=1.0, rare=(), **features):
    """A segmenter with random weights; ``rare`` holds the lengths of words without features."""
    train = without_empty(random_sentences(seed, LETTERS, n=20, longest=4))
    train += [[random_text([seed, length], length)] for length in rare]
    given = {"fold": "none", "word_cutoff": 1} | features
    index = CharacterIndex.build(SegmentedCorpus.from_sentences(train), characters(**given))
    layout = LinearChain(tag_names(tags), index, np.zeros(0, np.float32)).layout
    rng = np.random.default_rng(seed)
    weights = rng.normal(0, scale, layout.n_weights).astype(np.float32)
    return Segmenter.from_model(LinearChain(tag_names(tags), index, weights), tags=tags)


def scores_of(segmenter, text):
    """The scores of all labels of a text without white space, summed in float64."""
    encoded = segmenter.model_.index.encode(SegmentedCorpus.from_sentences([[text]]))
    n_labels = len(tag_names(segmenter.tags))
    problem = Problem(n_labels, segmenter.model_.index.n_of_kind, [], [])
    weights = problem.unpack(segmenter.model_.weights)
    at = np.repeat(np.arange(len(text)), np.diff(encoded.positions))
    node, edge = np.zeros((len(text), n_labels)), np.zeros((len(text), n_labels, n_labels))
    np.add.at(node, at, weights.node[encoded.predicates])
    np.add.at(edge, at, weights.edge[encoded.predicates])
    return crf.Scores(node, edge)


def random_text(seed, length, alphabet=LETTERS):
    return "".join(np.random.default_rng(seed).choice(list(alphabet), length))


def pieces(text, spans):
    return [text[a:b] for a, b in spans]


def rounded_scores_of(segmenter, text):
    """The same scores as the compiled segmenter has them: rounded to integers."""
    predictor = segmenter._predictor()
    tables = oracle.Predictor(predictor.tensors, predictor.numbers["outside"], segmenter.tags)
    return tables.crf_scores(text, predictor.features.fold, predictor.numbers["exponent"])


def assert_agrees(segmenter, text, weights=None):
    """The words are the best ones of brute force, with their probabilities.

    The words are those of the weights. Their probabilities are those of the scores as they are
    compiled: rounding changes the probability of a word of these texts by up to a thousandth.
    """
    forced = oracle.forced_words(text, weights or {})

    def cuts_of(scores):
        scores = oracle.with_dictionary(scores, text, weights or {}, segmenter.tags)
        return oracle.Cuts(scores, segmenter.tags, forced)

    best = cuts_of(scores_of(segmenter, text)).best()
    assert segmenter.cut(text) == pieces(text, best)
    words = segmenter.words(text)
    assert [(word.text, word.start) for word in words] == [(text[a:b], a) for a, b in best]
    rounded = cuts_of(rounded_scores_of(segmenter, text))
    wanted = [rounded.probability(span) for span in best]
    np.testing.assert_allclose([word.probability for word in words], wanted, rtol=1e-5, atol=1e-6)


# ---- training -------------------------------------------------------------------------------


@tag_sets
@pytest.mark.parametrize("edges", [None, Edges(), Edges(2, 0.5)])
def test_training_data_is_learnt(tags, edges):
    found = Segmenter.train(TRAIN, tags=tags, passes=20, **characters(edges=edges).record())
    assert found.cut_all("".join(words) for words in TRAIN) == TRAIN
    assert found.evaluate(TRAIN).f1 == 100
    assert all(w.probability > 0.5 for words in TRAIN for w in found.words("".join(words)))
    assert (found.tags, found.model_.index.features) == (tags, characters(edges=edges))


@tag_sets
def test_labels(tags):
    sentences = [["甲", "乙丙", "丁戊己"], ["庚辛壬癸"], ["子"]]
    corpus = SegmentedCorpus.from_sentences(sentences)
    spans = [
        list(itertools.pairwise([0, *itertools.accumulate(map(len, words))])) for words in sentences
    ]
    assert corpus.labels(tags).tolist() == [y for s in spans for y in oracle.labels(s, tags)]
    assert list(tag_names(tags)) == oracle.label_names(tags)
    assert len(SegmentedCorpus.from_sentences([]).labels(tags)) == 0


def test_data_of_any_form(tmp_path):
    path = tmp_path / "train"
    path.write_text("\n\n".join("  ".join(words) for words in TRAIN))
    corpus = SegmentedCorpus.read(path)
    files = [
        Segmenter.train(data, passes=2).to_bytes()
        for data in (path, str(path), corpus, TRAIN, iter(map(iter, TRAIN)))
    ]
    assert len(set(files)) == 1


def test_the_same_seed_gives_the_same_bytes():
    first, second, other = (Segmenter.train(TRAIN, passes=3, seed=s).to_bytes() for s in (1, 1, 2))
    assert first == second != other


def test_dev_data_chooses_the_pass():
    found = Segmenter.train(TRAIN, dev=TRAIN[:2], patience=2)
    origin = found.model_.provenance
    scores = [p["dev_score"] for p in origin["passes"]]
    assert origin["best_pass"] == 1 + scores.index(max(scores))
    assert len(scores) == origin["best_pass"] + 2
    assert found.evaluate(TRAIN[:2]).f1 == max(scores)


def test_provenance(trained):
    origin = trained.model_.provenance
    assert (origin["sentences"], origin["words"], origin["characters"]) == (8, 34, 59)
    assert (origin["algorithm"], origin["seed"], len(origin["passes"])) == ("adf", 1, 20)
    assert json.loads(json.dumps(origin)) == origin
    assert repr(trained).startswith("<Segmenter of 16 words, ")


@pytest.mark.parametrize("name", ["sgd", "averaged-perceptron"])
def test_other_algorithms(name):
    found = Segmenter.train(TRAIN, algorithm=name, passes=20)
    assert found.evaluate(TRAIN).f1 == 100


@pytest.mark.parametrize(
    ("data", "given", "error", "message"),
    [
        ([], {}, CorpusError, "the data holds no sentence; allowed: 1 or more"),
        (["我们"], {}, CorpusError, "<sentences>: a sentence must be a list of words"),
        ([["我们", ""]], {}, CorpusError, "<sentences>: sentence 1: a word is empty or holds"),
        ([["我"], ["我 们"]], {}, CorpusError, "<sentences>: sentence 2: a word is empty or"),
        ([["我", 1]], {}, CorpusError, "<sentences>: expected a string"),
        (TRAIN, {"tags": "bios"}, ParameterError, "tags is 'bios'; allowed: bie, bies, bmes"),
        (TRAIN, {"algorithm": "x"}, ParameterError, "unknown algorithm 'x'"),
        (TRAIN, {"nonsense": 1}, ParameterError, ""),
        ("/no/such/file", {}, FileError, "/no/such/file: cannot read: No such file"),
    ],
)
def test_what_training_refuses(data, given, error, message):
    with pytest.raises(error) as caught:
        Segmenter.train(data, passes=1, **given)
    assert str(caught.value).startswith(message)


def test_sentences_without_words_are_harmless():
    found = Segmenter.train([[], *TRAIN, []], passes=20)
    assert found.cut("我们在北京") == ["我们", "在", "北京"]


# ---- reading segmented text -----------------------------------------------------------------


def test_segmented_text():
    text = "\n我们 \t在　北京\u2028大\r\n\n \nＡ\u00a0b\n"
    corpus = SegmentedCorpus.from_bytes(text.encode(), "f")
    assert corpus.words() == [["我们", "在", "北京", "大"], ["Ａ", "b"]]
    assert corpus.texts() == ["我们在北京大", "Ａb"]
    assert (len(corpus), corpus.n_words, corpus.n_characters) == (2, 6, 8)
    chosen = corpus.select([1, 0, 1])
    assert chosen.words() == [corpus.words()[k] for k in (1, 0, 1)]
    assert SegmentedCorpus.from_sentences(corpus.words()).words() == corpus.words()


def test_nothing_has_no_words(trained):
    assert SegmentedCorpus.from_sentences([]).words() == []
    assert SegmentedCorpus.from_sentences([[]]).words() == [[]]
    assert trained.words("") == []


def test_bad_segmented_text(tmp_path):
    with pytest.raises(CorpusError, match=r"^f:2: "):
        SegmentedCorpus.from_bytes("我们\n".encode() + b"\xff\n", "f")
    path = tmp_path / "empty"
    path.write_text(" \n\n")
    with pytest.raises(CorpusError, match=f"^{path}:1: no sentence found"):
        SegmentedCorpus.read(path)


# ---- cutting --------------------------------------------------------------------------------


@tag_sets
@pytest.mark.parametrize("seed", range(4))
def test_words_are_those_of_brute_force(tags, seed):
    edges = [Edges(), None, Edges(4), Edges(1, 0.3)][seed]
    segmenter = random_segmenter(seed, tags, edges=edges)
    for length in range(1, 8):
        text = random_text([seed, length], length, LETTERS + "新")
        assert_agrees(segmenter, text)


@tag_sets
def test_large_weights_are_summed_in_log_space(tags):
    segmenter = random_segmenter(7, tags, scale=40.0)
    for length in range(1, 8):
        text = random_text([9, length], length)
        assert_agrees(segmenter, text)


@pytest.mark.parametrize("fold", ["none", "width", "types"])
def test_folding_changes_features_only(fold):
    segmenter = random_segmenter(3, fold=fold)
    for seed in range(20):
        text = random_text([3, seed], 7, "aＡ1９天b，,")
        same = oracle.fold(text, fold)
        assert list(map(len, segmenter.cut(text))) == list(map(len, segmenter.cut(same)))
        assert "".join(segmenter.cut(text)) == text
        assert_agrees(segmenter, text)


def test_white_space_is_a_piece_of_its_own(trained):
    text = " 我们　在\t\r\n北京\u2028\u00a0大学\x85"
    assert trained.cut(text) == [
        " ", "我们", "　", "在", "\t\r\n", "北京", "\u2028\u00a0", "大学", "\x85",
    ]  # fmt: skip
    assert [w.probability for w in trained.words(text) if w.text.isspace()] == [1.0] * 5
    assert trained.cut("\n") == ["\n"]
    assert trained.cut("") == []


def test_python_and_the_core_agree_on_white_space(trained):
    spaces = [chr(c) for c in range(0x110000) if chr(c).isspace()]
    assert trained.cut("".join(spaces)) == ["".join(spaces)]
    others = [chr(c) for c in (0, 0x1B, 0x200B, 0xFEFF, 0x180E, 0x2007 + 0x100, 0x2060, 0xD800)]
    for other in others:
        assert trained.cut(f" {other} ") == [" ", other, " "]


def test_parts_between_spaces_are_sentences_of_their_own():
    segmenter = random_segmenter(5)
    parts = [random_text([5, k], 7) for k in range(6)]
    text = " ".join(parts)
    assert [w for w in segmenter.cut(text) if w != " "] == [
        w for part in parts for w in segmenter.cut(part)
    ]


def test_words_say_where_they_are(trained):
    text = "我们 在北京"
    words = trained.words(text)
    assert [(w.text, w.start) for w in words] == [("我们", 0), (" ", 2), ("在", 3), ("北京", 4)]
    assert isinstance(words[0], Word)
    assert all(text[w.start :].startswith(w.text) for w in words)


def test_many_texts_on_threads():
    segmenter = random_segmenter(1)
    texts = [random_text(k, k % 40) for k in range(200)]
    wanted = [segmenter.cut(text) for text in texts]
    marks = segmenter.marks(texts, 1)
    for threads in (1, 2, 7, None):
        assert segmenter.cut_all(texts, threads) == wanted
        for found, expected in zip(segmenter.marks(texts, threads), marks, strict=True):
            assert found.tobytes() == expected.tobytes()
    assert segmenter.cut_all(iter(texts)) == wanted
    assert segmenter.cut_all([]) == []
    assert marks[0].tolist() == [0, *itertools.accumulate(map(len, texts))]


@pytest.mark.parametrize("threads", [0, -1])
def test_threads_must_be_there(trained, threads):
    with pytest.raises(ParameterError, match=f"^threads is {threads}; allowed: 1 to 4,096$"):
        trained.cut_all(["我"], threads)


@pytest.mark.parametrize("text", [None, 3, b"x", ["我"]])
def test_only_strings_can_be_cut(trained, text):
    for method in (trained.cut, trained.words):
        with pytest.raises(CorpusError, match=r"^texts: expected a string"):
            method(text)


# ---- long sentences -------------------------------------------------------------------------


@tag_sets
def test_a_long_sentence_is_cut_as_a_whole(tags):
    segmenter = random_segmenter(2, tags)
    text = random_text(2, 20_000 if tags == "bie" else 5000)
    s = crf.constrained(scores_of(segmenter, text), oracle.legal(tags))
    begins = [oracle.label_names(tags).index(name) for name in {TAG_SETS[tags][k] for k in (0, 3)}]
    starts = np.isin(crf.best_path(s), begins)
    _, found, probabilities = segmenter.marks([text])
    assert np.flatnonzero(found).tolist() == np.flatnonzero(starts).tolist()
    assert "".join(segmenter.cut(text)) == text
    if len(text) > 5000:
        return
    rounded = rounded_scores_of(segmenter, text)
    marginals = crf.forward_backward(crf.constrained(rounded, oracle.legal(tags)))
    node, edge = marginals.node, marginals.edge
    bounds = [*np.flatnonzero(starts).tolist(), len(text)]
    close = []
    for a, b in itertools.pairwise(bounds):
        path = [oracle.label_at(k, b - a, tags) for k in range(b - a)]
        p = node[a, path[0]]
        for t in range(a + 1, b):
            p *= edge[t, path[t - a - 1], path[t - a]] / node[t - 1, path[t - a - 1]]
        if b < len(text):
            p *= edge[b, path[-1], begins].sum() / node[b - 1, path[-1]]
        close.append(probabilities[a] == pytest.approx(p, rel=1e-4, abs=1e-6))
    # Where a window begins, its first words are given that a word begins there.
    assert np.mean(close) > 0.998


@pytest.mark.parametrize("length", [4096, 4224, 4225, 8321])
def test_lengths_about_a_window(length):
    segmenter = random_segmenter(4)
    text = random_text(4, length)
    s = crf.constrained(scores_of(segmenter, text), oracle.legal("bie"))
    wanted = np.flatnonzero(np.array(crf.best_path(s)) == 0)
    assert np.flatnonzero(segmenter.marks([text])[1]).tolist() == wanted.tolist()


@pytest.mark.parametrize("n", [4224, 10_000])
@tag_sets
def test_one_word_may_be_longer_than_a_window(tags, n):
    numbers = [["在", "1" * k, "年"] for k in (2, 3, 4, 5, 6)] * 3
    found = Segmenter.train([*TRAIN, *numbers], tags=tags, passes=30)
    digits = "".join(str(k % 10) for k in range(n))
    assert found.cut(f"在{digits}年") == ["在", digits, "年"]
    assert found.cut(digits) == [digits]
    probabilities = [word.probability for word in found.words(f"在{digits}年")]
    assert all(0 <= p <= 1 for p in probabilities)


def test_words_of_the_user_across_the_edge_of_a_window(segmenter):
    segmenter.dictionary.add("新词语", FORCE)
    for shift in range(4090, 4100):
        text = "我" * shift + "新词语" + "我" * 300
        assert "新词语" in segmenter.cut(text)
        assert "".join(segmenter.cut(text)) == text


# ---- the user's dictionary ------------------------------------------------------------------


@tag_sets
@pytest.mark.parametrize("seed", range(6))
def test_weights_of_words_are_added_to_their_labels(tags, seed):
    segmenter = random_segmenter(seed, tags)
    rng = np.random.default_rng(seed)
    text = random_text([seed, 1], 8)
    spans = [tuple(sorted(rng.choice(9, 2, replace=False))) for _ in range(8)]
    choices = [5.0, 1.0, -3.0, FORCE, FORCE]
    weights = {text[a:b]: float(rng.choice(choices)) for a, b in spans} | {"新新": FORCE}
    segmenter.dictionary.add(weights)
    assert_agrees(segmenter, text, weights)


def test_words_too_rare_for_features_are_preferred_a_little():
    often = [["我们", "在", "北京"], ["他们", "在", "上海"]] * 3
    train = [*often, ["我们", "在", "大上海"], ["我", "在", "东海学院的大门口"]]
    with_words = Segmenter.train(train, passes=2)
    text = "他在大上海，我在东海学院的大门口，在北京"
    wanted = with_words.words(text)
    without = Segmenter.from_model(with_words.model_, rare_weight=0.0)
    assert without.words(text) != wanted
    weights = dict.fromkeys(["大上海", "东海学院的大门口"], 1.5)  # "我" has one character
    without.dictionary.add(weights)
    found = without.words(text)
    assert [word.text for word in found] == [word.text for word in wanted]
    for word, other in zip(found, wanted, strict=True):  # a weight of rare words is rounded too
        assert word.probability == pytest.approx(other.probability, rel=1e-3)


def test_without_word_features_rare_words_are_nothing():
    train = [["我们", "在", "大上海"], ["我", "在", "上海"]]
    segmenter = Segmenter.train(train, word_cutoff=0, passes=1)
    assert segmenter.model_.index.first_rare_word == segmenter.model_.index.n_words
    assert "大上海" in segmenter.lexicon_


def test_a_word_is_preferred_and_given_up(segmenter):
    text = "我们在大上海学习"
    assert "大上海" not in segmenter.cut(text)
    segmenter.dictionary.add("大上海", 20)
    assert "大上海" in segmenter.cut(text)
    segmenter.dictionary.add("大上海", -5)
    assert "大上海" not in segmenter.cut(text)
    assert segmenter.dictionary.weight("大上海") == -5
    segmenter.dictionary.add({"大上海": 0.001})
    assert "大上海" not in segmenter.cut(text)


def test_a_negative_weight_speaks_against_a_word(segmenter):
    assert "北京" in segmenter.cut("我们在北京")
    segmenter.dictionary.add("北京", -20)
    assert "北京" not in segmenter.cut("我们在北京")
    segmenter.dictionary.remove("北京")
    assert "北京" in segmenter.cut("我们在北京")


@tag_sets
@pytest.mark.parametrize(
    ("forced", "wanted"),
    [
        (["们在北"], ["我", "们在北", "京"]),
        (["我们在", "在北京"], ["我们在", "北京"]),  # the first
        (["我们", "我们在北"], ["我们在北", "京"]),  # then the longest
        (["我", "们", "在", "北", "京"], ["我", "们", "在", "北", "京"]),
        (["我们在北京"], ["我们在北京"]),
        (["京"], ["我们", "在", "北", "京"]),
    ],
)
def test_forced_words_are_words(tags, forced, wanted):
    segmenter = Segmenter.train(TRAIN, tags=tags, passes=20)
    segmenter.dictionary.add(forced, FORCE)
    assert segmenter.cut("我们在北京") == wanted
    found = {word.text: word.probability for word in segmenter.words("我们在北京")}
    for word in set(forced) & set(wanted):
        assert found[word] == pytest.approx(1)


def test_a_forced_word_stands_against_any_weight(segmenter):
    segmenter.dictionary.add({"们在": FORCE, "我们": 1000, "在北": 1000})
    assert segmenter.cut("我们在北京") == ["我", "们在", "北京"]


def test_words_of_characters_never_seen(segmenter):
    segmenter.dictionary.add(["氪金", "😀😀😀", "𠀀𠀁"], FORCE)
    text = "我们氪金在😀😀😀𠀀𠀁"
    assert segmenter.cut(text) == ["我们", "氪金", "在", "😀😀😀", "𠀀𠀁"]


@pytest.mark.parametrize(
    ("fold", "found"), [("none", ["ＡＢ1"]), ("width", ["ＡＢ1", "AB１"]), ("types", ...)]
)
def test_words_are_found_folded(fold, found):
    segmenter = Segmenter.train(TRAIN, fold=fold, passes=3)
    segmenter.dictionary.add("ＡＢ1", FORCE)
    for word in ("ＡＢ1", "AB１", "xy9"):
        is_there = found is ... or word in found
        assert (word in segmenter.cut(f"在{word}在")) == is_there
    segmenter.dictionary.remove("ＡＢ1")
    assert len(segmenter.dictionary.native) == 0


def test_words_that_are_the_same_when_folded(segmenter):
    words = segmenter.dictionary
    words.add(["CDE", "XYZ"], FORCE)
    words.remove("CDE")
    assert ("XYZ" in words) == ("XYZ" in words.native)


def test_another_spelling_of_a_dictionary_word_is_not_new(segmenter):
    segmenter.dictionary.add("东海QQ", FORCE)
    texts = ["在东海ＱＱ在"]
    found = segmenter.new_words(texts)
    assert found.segmentation == segmenter.cut_all(texts) == [["在", "东海ＱＱ", "在"]]
    assert found.rounds == 1


def test_a_dictionary_holds_words():
    words = UserDictionary("none")
    words.add("一二")
    words.add(["三四", "五"], 2)
    words.add({"六": FORCE, "一二": 1})
    assert (len(words), list(words)) == (4, ["一二", "三四", "五", "六"])
    assert [words.weight(w) for w in words] == [1, 2, 2, FORCE]
    other = words.copy()
    words.remove(["三四", "没有"])
    words.remove("五")
    assert (len(words), "三四" in words, "六" in words) == (2, False, True)
    assert len(words.native) == 2
    assert (len(other), len(other.native), "三四" in other.native) == (4, 4, True)
    words.add("三四")
    assert "三四" in words.native


@pytest.mark.parametrize(
    ("words", "weight", "message"),
    [
        ("", 1, "'' is not a word: it is empty or contains white space"),
        ("我 们", 1, "'我 们' is not a word"),
        (["我", "\t"], 1, r"'\\t' is not a word"),
        ([3], 1, "the int 3 is not a word; allowed: a string"),
        ("我", math.nan, "the weight of '我' is nan; allowed: -1000 to 1000, or force"),
        ({"我": -math.inf}, 1, "the weight of '我' is -inf; allowed: -1000 to 1000, or force"),
    ],
)
def test_what_is_no_word(words, weight, message):
    dictionary = UserDictionary("none")
    with pytest.raises(ParameterError, match=f"^{message}"):
        dictionary.add(words, weight)
    assert (len(dictionary), len(dictionary.native)) == (0, 0)


def test_dictionary_files(tmp_path, segmenter):
    path = tmp_path / "words.txt"
    path.write_text("\ufeff# comment\n大上海\n\n小上海\t2.5\r\n京大  force\n坏词 -1e1\n")
    words = segmenter.dictionary
    words.load(path)
    assert {w: words.weight(w) for w in words} == {
        "大上海": 5.0, "小上海": 2.5, "京大": FORCE, "坏词": -10.0,
    }  # fmt: skip
    words.load(path, weight=1)
    assert words.weight("大上海") == 1
    assert "京大" in segmenter.cut("北京大学")


JIEBA = "; format 'jieba' (--dictionary-format jieba) takes frequencies and tags"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("我\n你 1 2\n", ":2: 3 cells; allowed: a word, and its weight or 'force'"),
        ("我\n\n你 x\n", f":3: weight 'x'; allowed: {WEIGHTS}{JIEBA}"),
        ("云计算公司 2000\n", f":1: weight '2000'; allowed: {WEIGHTS}{JIEBA}"),
        ("你 1e30\n", f":1: weight '1e30'; allowed: {WEIGHTS}"),
        ("你 1e400\n", f":1: weight '1e400'; allowed: {WEIGHTS}"),
        ("你 nan\n", f":1: weight 'nan'; allowed: {WEIGHTS}{JIEBA}"),
        ("你 -inf\n", f":1: weight '-inf'; allowed: {WEIGHTS}"),
    ],
)
def test_errors_in_dictionary_files(tmp_path, text, message):
    path = tmp_path / "words"
    path.write_text(text)
    words = UserDictionary("none")
    with pytest.raises(CorpusError) as caught:
        words.load(path)
    assert str(caught.value) == f"{path}{message}"
    assert len(words) == 0


def test_dictionary_files_that_cannot_be_read(tmp_path):
    words = UserDictionary("none")
    with pytest.raises(FileError, match="cannot read"):
        words.load(tmp_path / "no")
    (tmp_path / "bad").write_bytes("我\n".encode() + b"\xff")
    with pytest.raises(CorpusError, match=f"^{tmp_path / 'bad'}"):
        words.load(tmp_path / "bad")


# ---- new words ------------------------------------------------------------------------------

NEW = ["我们在东京学习", "他们喜欢东京大学", "我在东京"]


@pytest.fixture(scope="module")
def finder():
    """Knows words of two characters between words of one."""
    pairs = ["北京", "上海", "南宁", "西安", "天津", "重庆", "长沙", "武汉"]
    sentences = [[a, b, c] for b in pairs for a, c in itertools.product("我他", "去来")]
    return Segmenter.train(sentences, word_cutoff=1, passes=10)


def test_new_words_are_found(finder):
    texts = ["我东海去", "他东海来", "我北京去"]
    found = finder.new_words(texts)
    assert [word.text for word in found.new_words] == ["东海"]
    new = found.new_words[0]
    assert (new.count, 0.5 < new.probability <= 1) == (2, True)
    assert "[东海]" in new.example
    assert found.segmentation == [["我", "东海", "去"], ["他", "东海", "来"], ["我", "北京", "去"]]
    assert found.rounds == 2
    assert finder.cut_all(texts) == found.segmentation
    assert found.to_dict()["new_words"][0]["text"] == "东海"
    assert json.loads(json.dumps(found.to_dict()))["rounds"] == 2


def test_new_words_need_a_probability_above_the_threshold(finder):
    texts = ["我东海去"]
    p = finder.words(texts[0])[1].probability
    assert finder.new_words(texts, threshold=p * 0.999).new_words
    assert p < 1
    above = finder.new_words(texts, threshold=p)
    assert (above.new_words, above.rounds) == ([], 1)
    assert above.segmentation == [finder.cut(texts[0])]


def test_rounds_are_limited(finder):
    once = finder.new_words(["我东海去"], rounds=1)
    assert (once.rounds, [word.text for word in once.new_words]) == (1, ["东海"])
    assert finder.new_words(["我北京去"], rounds=9).rounds == 1


def test_a_new_word_is_preferred_from_then_on(finder):
    texts = ["我东海去", "山东海"]
    found = finder.new_words(texts)
    weight = WEIGHT * 2 * (finder.words(texts[0])[1].probability - 0.5)
    other = Segmenter.from_model(finder.model_, tags=finder.tags)
    other.dictionary.add({"东海": weight})
    assert found.segmentation == other.cut_all(texts)
    new = next(word for word in found.new_words if word.text == "东海")
    assert new.probability == pytest.approx(other.words(texts[0])[1].probability, rel=1e-5)


def test_words_of_the_dictionary_are_not_new(finder):
    other = Segmenter.from_model(finder.model_, tags=finder.tags)
    other.dictionary.add("东海")
    found = other.new_words(["我东海去"])
    assert (found.new_words, found.rounds) == ([], 1)
    assert found.segmentation == [["我", "东海", "去"]]
    assert list(other.dictionary) == ["东海"]  # a search leaves it as it is


@pytest.mark.parametrize("word", ["东", "2024", "２０", "东，", "，东", "——", "3.5"])
def test_what_cannot_be_a_new_word(word):
    assert not may_be_new(word)


def test_numbers_and_single_characters_are_not_new(finder):
    found = finder.new_words(["我 2024 去", "他 东 来", "， 。"], threshold=0)
    assert found.new_words == []


@pytest.mark.parametrize("word", ["东海", "T恤", "A4", "No", "二〇二四"])
def test_what_can_be_a_new_word(word):
    assert may_be_new(word)


def test_new_words_are_sorted_by_count_then_probability(finder):
    found = finder.new_words(["我南海去", "他东海来", "我东海去", "他西海来"], threshold=0.1)
    counts = [(-new.count, -new.probability, new.text) for new in found.new_words]
    assert counts == sorted(counts)
    assert found.new_words[0].text == "东海"


def test_new_words_make_a_dictionary_file(tmp_path, finder):
    found = finder.new_words(["我东海去他西安来", "我西海来"], threshold=0.3)
    path = tmp_path / "new"
    path.write_text(found.dictionary())
    words = UserDictionary("none")
    words.load(path)
    assert list(words) == [new.text for new in found.new_words] != []


def test_no_texts_have_no_new_words(finder):
    for texts in ([], [""], ["", " \n"]):
        found = finder.new_words(texts)
        assert (found.new_words, found.rounds) == ([], 1)
        assert found.segmentation == [finder.cut(text) for text in texts]


@pytest.mark.parametrize("end", ["", "\n"])
def test_examples_stay_in_their_text(finder, end):
    (new,) = finder.new_words([f"我北京去{end}", f"他东海来{end}", f"我北京去{end}"]).new_words
    assert (new.text, new.example) == ("东海", "他[东海]来")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"threshold": 1}, "threshold is 1; allowed: 0 to 1, without 1"),
        ({"threshold": -0.1}, "threshold is -0.1; "),
        ({"rounds": 0}, "rounds is 0; allowed: 1 or more"),
    ],
)
def test_wrong_searches(trained, given, message):
    with pytest.raises(ParameterError, match=f"^{message}"):
        trained.new_words(NEW, **given)


# ---- files ----------------------------------------------------------------------------------


def assert_same(found, wanted):
    assert found.to_bytes() == wanted.to_bytes()
    assert (found.tags, found.model_.index.features) == (wanted.tags, wanted.model_.index.features)
    assert found.model_.provenance == wanted.model_.provenance
    for text in (*NEW, "ＡＢ1 ，新"):
        assert found.words(text) == wanted.words(text)
    assert "北京" in found.lexicon_


@pytest.mark.parametrize(
    "copied",
    [
        lambda s, _: Segmenter.from_bytes(s.to_bytes()),
        lambda s, p: s.save(p) or Segmenter.load(p),
        lambda s, p: s.save(str(p)) or Segmenter.load(str(p), verify=True),
        lambda s, _: pickle.loads(pickle.dumps(s)),
        lambda s, _: copy.deepcopy(s),
        lambda s, p: s.save(p) or adaptag.Segmenter.from_bytes(p.read_bytes()),
    ],
    ids=["bytes", "file", "verified", "pickle", "deepcopy", "bytes of a file"],
)
@pytest.mark.parametrize("edges", [None, Edges(2, 0.5)])
def test_a_segmenter_comes_back_bit_by_bit(tmp_path, copied, edges):
    features = characters("width", 1, 2, edges).record()
    wanted = Segmenter.train(TRAIN, tags="bmes", rare_weight=0.5, passes=2, **features)
    wanted.dictionary.add({"学习英": FORCE, "我们": -2.5})
    assert_same(copied(wanted, tmp_path / "m"), wanted)


def loads(data):
    try:
        Segmenter.from_bytes(data)
    except ModelError:
        return False
    return True


def test_damage_is_seen():
    data = Segmenter.train(TRAIN[:1], passes=1).to_bytes()
    assert loads(data)
    assert [n for n in range(0, len(data), 7) if loads(data[:n])] == []
    assert not loads(data + b"\0")
    rng = np.random.default_rng(1)
    for k in rng.choice(len(data), 300, replace=False):
        flipped = bytearray(data)
        flipped[k] ^= 1 << rng.integers(8)
        assert not loads(bytes(flipped)), k


def test_a_truncated_file_is_named(tmp_path, trained):
    path = tmp_path / "m"
    path.write_bytes(trained.to_bytes()[:-1])
    with pytest.raises(ModelError, match=f"^{path}: "):
        Segmenter.load(path)


def test_other_files_are_no_segmenters(tmp_path, trained):
    path = tmp_path / "m"
    adaptag.train([["a"]], [["b"]], passes=1).save(path)
    with pytest.raises(ModelError, match="holds an adaptag model; expected an adaptag segmenter"):
        Segmenter.load(path)
    trained.save(path)
    with pytest.raises(ModelError, match="holds an adaptag segmenter; expected an adaptag model"):
        adaptag.Model.load(path)
    path.write_text("我们 在 北京\n" * 9)
    with pytest.raises(ModelError, match=f"^{path}: not an adaptag segmenter"):
        Segmenter.load(path)
    with pytest.raises(FileError, match="cannot read"):
        Segmenter.load(tmp_path / "no")


def replaced(segmenter, header=None, tensors=None):
    """The bytes of a file with other content and right checksums."""
    old_header, old_tensors = tensors_from_buffer(segmenter.to_bytes(), "segmenter")
    file = io.BytesIO()
    changed = json.loads(json.dumps(old_header))
    for path, value in (header or {}).items():
        *sections, name = path.split(".")
        section = changed
        for step in sections:
            section = section[step]
        assert name in section, path
        section[name] = value
    assert set(tensors or {}) <= {*old_tensors, "extra.packed_words", "extra.word_weights"}
    write_tensors(file, "segmenter", changed, {**old_tensors, **(tensors or {})})
    return file.getvalue()


U32 = np.uint32


def packed(words):
    """Words of a dictionary as they are stored."""
    return np.frombuffer(zlib.compress(words), np.uint8)


ONE = np.ones(1, np.float32)


@pytest.mark.parametrize(
    ("header", "tensors"),
    [
        ({"version": 2}, {}),
        ({"labels": ["B", "I"]}, {}),
        ({"labels": ["B", "E", "I"]}, {}),
        ({"labels": ["B", "B", "B"]}, {}),
        ({"labels": None}, {}),
        ({"configuration": {}}, {}),
        ({"configuration": None}, {}),
        ({"configuration.segmentation": {}}, {}),
        ({"configuration.segmentation.tags": "bios"}, {}),
        ({"configuration.segmentation.tags": "bmes"}, {}),
        ({"configuration.segmentation.tags": None}, {}),
        ({"configuration.segmentation.rare_weight": None}, {}),
        ({"configuration.segmentation.rare_weight": "nan"}, {}),
        ({"configuration.segmentation.rare_weight": 1e9}, {}),
        ({"index": None}, {}),
        ({"index.kind": "template"}, {}),
        ({"index.kind": "x"}, {}),
        ({"index.features": None}, {}),
        ({"index.features": {}}, {}),
        ({"index.features.fold": "x"}, {}),
        ({"index.features.cutoff": 0}, {}),
        ({"index.features.edge_cutoff": {"x": 1}}, {}),
        ({"index.features.plain_edges": None}, {}),
        ({"index.counts": {}}, {}),
        ({"index.counts": {"n_unigrams": -1, "n_parts": 1, "n_rich": [0] * 5}}, {}),
        ({"index.counts": {"n_unigrams": 2**40, "n_parts": 2**40, "n_rich": [0] * 5}}, {}),
        ({"index.counts": {"n_unigrams": 0, "n_parts": 0, "n_rich": [0] * 4}}, {}),
        ({"provenance": None}, {}),
        ({}, {"weights": np.zeros(3, np.float32)}),
        ({}, {"weights": np.zeros((3, 3), np.float32)}),
        ({}, {"weights": np.zeros(3, np.int32)}),
        ({}, {"index.characters": np.zeros(3, np.int32)}),
        ({}, {"index.characters": np.zeros((3, 1), U32)}),
        ({}, {"index.bigrams": np.zeros(3, U32)}),
        ({}, {"index.bigrams": np.zeros((1, 2), U32)}),
        ({}, {"index.word_counts": np.zeros(1, U32)}),
        ({}, {"index.word_offsets": np.zeros(0, U32), "index.word_counts": np.zeros(0, U32)}),
        ({}, {"index.word_symbols": np.zeros(1, U32)}),
        ({}, {"extra.packed_words": np.zeros(1, np.uint8), "extra.word_weights": ONE}),
        ({}, {"extra.packed_words": packed(b"a")}),
        ({}, {"extra.packed_words": packed(b""), "extra.word_weights": ONE}),
        ({}, {"extra.packed_words": packed(b"a\nb\nc"), "extra.word_weights": np.tile(ONE, 2)}),
        ({}, {"extra.packed_words": packed(b"\xff"), "extra.word_weights": ONE}),
        ({}, {"extra.packed_words": packed(b"a")[:-1], "extra.word_weights": ONE}),
        ({}, {"extra.packed_words": packed(b"a"), "extra.word_weights": ONE * 1e9}),
        ({}, {"extra.packed_words": packed(b"a"), "extra.word_weights": ONE[:, None]}),
    ],
)
def test_a_hostile_file_is_refused(trained, header, tensors):
    with pytest.raises(ModelError, match=r"^<bytes>: malformed (segmenter|model): "):
        Segmenter.from_bytes(replaced(trained, header, tensors))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e38, -1e38])
def test_any_weights_cut_somehow_or_are_refused(trained, value):
    rng = np.random.default_rng(1)
    weights = trained.model_.weights.copy()
    weights[rng.choice(len(weights), len(weights) // 2)] = value
    found = Segmenter.from_bytes(replaced(trained, tensors={"weights": weights}))
    for text in (*NEW, "新" * 50):
        with contextlib.suppress(ValueError):
            assert "".join(found.cut(text)) == text
            assert "".join(word.text for word in found.words(text)) == text


@pytest.mark.parametrize("weight", [1e39, 1e30])
def test_weights_beyond_all_measure_are_refused(weight):
    words = UserDictionary("none")
    with pytest.raises(ParameterError):
        words.add("我们", weight)


def test_weights_must_fit(trained):
    index, weights = trained.model_.index, trained.model_.weights
    with pytest.raises(ValueError, match="the weights do not fit the tables of the segmenter"):
        Segmenter.from_model(LinearChain(tag_names("bmes"), index, weights), tags="bmes").cut("我")
    with pytest.raises(ModelError, match=r"^tags is 'bmes'; the segmenter has B, I, E$"):
        Segmenter.from_model(trained.model_, tags="bmes").cut("我")
    with pytest.raises(ParameterError, match=r"^tags is 'x'; allowed: "):
        Segmenter.from_model(trained.model_, tags="x").cut("我")


def test_copies_have_dictionaries_of_their_own(segmenter):
    segmenter.dictionary.add("大上海", FORCE)
    other = pickle.loads(pickle.dumps(segmenter))
    assert other.dictionary.to_dict() == {"大上海": FORCE}
    assert "大上海" in other.cut("在大上海")
    other.dictionary.remove("大上海")
    assert "大上海" not in other.cut("在大上海")
    assert "大上海" in segmenter.cut("在大上海")


def test_forced_words_hold_across_windows(segmenter):
    segmenter.dictionary.add(
        "我我我", FORCE
    )  # from the left: each window must begin where one does
    cut = segmenter.cut("我" * 12_001)
    assert cut[:-1] == ["我我我"] * 4000
    assert "".join(cut) == "我" * 12_001


# ---- the conventions of estimators --------------------------------------------------------------

WORDS = [["我们", "在", "北京"], ["他们", "在", "上海"], ["北京", "很", "大"]] * 4
TEXTS = ["".join(words) for words in WORDS]


def test_fit_predict_and_score():
    found = Segmenter(passes=5).fit(TEXTS, WORDS)
    assert found.predict(TEXTS) == WORDS
    assert found.score(TEXTS, WORDS) == found.score(WORDS) == 1.0
    assert found.predict(["我们 在\n北京"]) == [["我们", "在", "北京"]]
    same = Segmenter.train(WORDS, passes=5)
    assert (found.model_.weights == same.model_.weights).all()


def test_words_that_do_not_give_the_text():
    with pytest.raises(CorpusError, match="text 2: its words do not give the text"):
        Segmenter().fit(TEXTS[:2], [WORDS[0], WORDS[0]])
    with pytest.raises(CorpusError, match="the words of 1 text for 2 texts"):
        Segmenter().fit(TEXTS[:2], WORDS[:1])
    with pytest.raises(CorpusError, match=r"text 1 is the list \['我们'\]; allowed: a string"):
        Segmenter().fit([["我们"]], [["我们"]])


def test_what_is_not_trained_cannot_cut():
    with pytest.raises(NotTrainedError, match="not trained yet"):
        Segmenter().cut("我们")
    for name in ("model_", "lexicon_"):
        with pytest.raises(NotTrainedError, match="not trained yet"):
            getattr(Segmenter(), name)
    with pytest.raises(AttributeError):
        Segmenter().nothing  # noqa: B018


def test_partial_fit():
    found = Segmenter()
    for _ in range(6):
        found.partial_fit(WORDS)
    assert found.predict(TEXTS) == WORDS
    assert found.model_.provenance["sentences"] == 6 * len(WORDS)
    before = found.model_.weights
    found.partial_fit([["北", "京"]] * 30)
    assert (found.model_.weights != before).any()
    assert found.predict(["北京"]) == [["北", "京"]]
    with pytest.raises(ParameterError, match="lbfgs needs all data at once"):
        Segmenter(algorithm="lbfgs").partial_fit(WORDS)


def test_partial_fit_in_parts_is_that_of_all():
    whole, parts = (Segmenter(passes=1).fit(WORDS) for _ in range(2))
    whole.partial_fit(WORDS)
    for first in range(0, len(WORDS), 3):
        parts.partial_fit(WORDS[first : first + 3])
    assert (whole.model_.weights == parts.model_.weights).all()


def test_partial_fit_after_fit_starts_from_its_weights():
    found = Segmenter(passes=3).fit(WORDS)
    before = found.model_.weights.copy()
    found.partial_fit(WORDS[:1])
    assert 0 < np.abs(found.model_.weights - before).max() < 1


def test_pickles_keep_arguments():
    found = Segmenter(passes=3, rare_weight=0.5, parameters={"rate": 0.2})
    assert pickle.loads(pickle.dumps(found)).get_params() == found.get_params()
    found.fit(WORDS)
    again = pickle.loads(pickle.dumps(found))
    assert again.get_params() == found.get_params()
    assert again.predict(TEXTS) == WORDS


def test_scikit_learn_takes_it():
    model_selection = pytest.importorskip("sklearn.model_selection")
    base = pytest.importorskip("sklearn.base")
    found = base.clone(Segmenter(tags="bies", passes=2).fit(WORDS))
    assert (found.tags, found.passes) == ("bies", 2)
    search = model_selection.GridSearchCV(found, {"passes": [1, 4]}, cv=2, n_jobs=2)
    assert search.fit(TEXTS, WORDS).best_score_ > 0.9
    assert search.best_estimator_.predict(TEXTS) == WORDS
    with pytest.raises(ParameterError, match="unknown parameter 'pass'"):
        found.set_params(**{"pass": 1})
