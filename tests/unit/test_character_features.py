"""The features of the segmenter against an oracle that makes every feature string."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from adaptag._native import core
from adaptag.corpus.segmented import SegmentedCorpus
from adaptag.errors import ParameterError
from adaptag.features.characters import CharacterIndex, word_list
from tests.reference import segmentation as oracle
from tests.unit.making import ALL, Edges, characters

ALPHABET = {
    "two": "天人",
    "some": "天人大中国",
    "mixed": "天aＡbZ1９0！!",
    "odd": "天\U00020000😀\u0301\ud800\uffff\U0010ffff",
}
EDGES = {
    "none": None,
    "all": ALL,
    "frequent": Edges(cutoff=5),
    "share": Edges(share=0.3),
    "both": Edges(cutoff=3, share=0.7),
    "share of nothing": Edges(share=0.0),
}


def random_sentences(seed, alphabet, n=12, longest=8):
    """Sentences of words, most of them from a small list."""
    rng = np.random.default_rng(seed)

    def word():
        return "".join(rng.choice(list(alphabet), rng.integers(1, longest + 1)))

    common = [word() for _ in range(8)] + list(alphabet)
    return [
        [word() if rng.random() < 0.1 else str(rng.choice(common)) for _ in range(rng.integers(9))]
        for _ in range(n)
    ]


def corpus(sentences):
    return SegmentedCorpus.from_sentences(sentences)


def folded(sentences, how):
    return [[oracle.fold(word, how) for word in words] for words in sentences]


def named(index, encoded):
    names = [index.name(p) for p in range(index.n_predicates)]
    found = [names[p] for p in encoded.predicates.tolist()]
    return [sorted(found[a:b]) for a, b in itertools.pairwise(encoded.positions.tolist())]


def kinds(index, encoded):
    """0 where a predicate has node weights only."""
    return (encoded.predicates >= index.n_of_kind[0]).astype(int)


def assert_kinds_ascend(index, encoded):
    found = kinds(index, encoded)
    for a, b in itertools.pairwise(encoded.positions.tolist()):
        assert (np.diff(found[a:b]) >= 0).all()


def without_empty(sentences):
    return [words for words in sentences if words]


cases = pytest.mark.parametrize(
    ("alphabet", "fold", "cutoff", "word_cutoff", "edges"),
    [
        *itertools.product(["mixed"], ["none", "width", "types"], [1, 2], [0, 1, 3], ["all"]),
        *itertools.product(["two", "some", "odd"], ["types"], [1, 2], [1, 3], ["all"]),
        *itertools.product(["some"], ["none"], [1, 3], [1], EDGES),
    ],
)


@cases
def test_names_are_those_of_the_oracle(alphabet, fold, cutoff, word_cutoff, edges):
    train = without_empty(random_sentences(1, ALPHABET[alphabet]))
    new = random_sentences(2, ALPHABET[alphabet] + "新")
    features = characters(fold, cutoff, word_cutoff, EDGES[edges])
    index = CharacterIndex.build(corpus(train), features)
    items = oracle.items(folded(train, fold), cutoff, word_cutoff)
    for sentences in (train, new, train[:1], [["新"]], [[]], []):
        encoded = index.encode(corpus(sentences))
        texts = ["".join(words) for words in folded(sentences, fold)]
        assert named(index, encoded) == [f for text in texts for f in oracle.features(text, items)]
        assert_kinds_ascend(index, encoded)


@pytest.mark.parametrize("edges", EDGES)
@pytest.mark.parametrize(
    ("alphabet", "fold", "cutoff", "word_cutoff"),
    [("mixed", "none", 1, 0), ("mixed", "types", 2, 1), ("some", "width", 1, 3)],
)
def test_every_predicate_has_a_name_of_its_own(alphabet, fold, cutoff, word_cutoff, edges):
    train = without_empty(random_sentences(3, ALPHABET[alphabet]))
    features = characters(fold, cutoff, word_cutoff, EDGES[edges])
    index = CharacterIndex.build(corpus(train), features)
    names = [index.name(p) for p in range(index.n_predicates)]
    items = oracle.items(folded(train, fold), cutoff, word_cutoff)
    assert len(set(names)) == len(names) == sum(index.n_of_kind)
    assert len(names) == 1 + 9 + 5 * len(items.characters) + 4 * len(items.bigrams) + 2 * (
        len(items.words) + len(items.word_bigrams)
    )
    for p in (-1, len(names), 2**32 - 1):
        with pytest.raises((IndexError, TypeError)):
            index.name(p)


@pytest.mark.parametrize("edges", EDGES)
@pytest.mark.parametrize("seed", range(4))
def test_frequent_items_have_edge_weights(seed, edges):
    train = without_empty(random_sentences(seed, ALPHABET["some"], n=20))
    limit = EDGES[edges]
    index = CharacterIndex.build(corpus(train), characters("none", 1, 2, limit))
    node, both, edge = index.n_of_kind
    rich = {oracle.item_of(index.name(p)) for p in range(node, node + both)} - {"c="}
    plain = {oracle.item_of(index.name(p)) for p in range(node)}
    some = limit and limit.share > 0
    wanted = oracle.items(train, 1, 2).rich(limit.cutoff, limit.share) if some else set()
    assert index.name(node) == "always"
    assert (edge, rich & plain) == (0, set())
    assert rich - {oracle.item_of("always")} == wanted


def test_features_by_hand():
    train = corpus([["中国", "人"]] * 3 + [["人人", "人"]])
    index = CharacterIndex.build(train, characters())
    assert named(index, index.encode(corpus([["中国", "人"]]))) == [
        sorted([
            "always", "c-2=⌷", "c-1=⌷", "c0=中", "c1=国", "c2=人", "c-1c0=⌷中", "c0c1=中国",
            "c1c2=国人", "starts=中国",
        ]),
        sorted([
            "always", "c-2=⌷", "c-1=中", "c0=国", "c1=人", "c2=⌷", "c-2c-1=⌷中", "c-1c0=中国",
            "c0c1=国人", "c1c2=人⌷", "ends=中国", "behind=中国|人",
        ]),
        sorted([
            "always", "c-2=中", "c-1=国", "c0=人", "c1=⌷", "c2=⌷", "c-2c-1=中国", "c-1c0=国人",
            "c0c1=人⌷",
        ]),
    ]  # fmt: skip


def test_repetitions_by_hand():
    index = CharacterIndex.build(corpus([["一"]]), characters(word_cutoff=0))
    found = named(index, index.encode(corpus([["看一看看"]])))
    repeated = [{name for name in names if oracle.item_of(name) == "repetition"} for names in found]
    assert repeated == [
        {"c0=c2"},
        {"c1=c2", "c-1=c1"},
        {"c0=c1", "c-2=c0"},
        {"c-1=c0", "c-3=c-1"},
    ]


@pytest.mark.parametrize(
    ("lengths", "fires"),
    [((5, 6), "before"), ((6, 5), "behind"), ((6, 6), ""), ((1, 2), "before"), ((2, 1), "behind"),
     ((1, 6), "before"), ((6, 1), "behind"), ((1, 1), ""), ((2, 2), "before behind"),
     ((5, 5), "before behind"), ((1, 7), "")],
)  # fmt: skip
def test_lengths_of_word_bigrams(lengths, fires):
    a, b = "甲乙丙丁戊己"[: lengths[0]], "子丑寅卯辰巳午"[: lengths[1]]
    index = CharacterIndex.build(corpus([[a, b]] * 3), characters())
    found = named(index, index.encode(corpus([[a, b]])))
    assert {name.partition("=")[0] for names in found for name in names if "|" in name} == set(
        fires.split()
    )


@pytest.mark.parametrize(("times", "there"), [(2, False), (3, True)])
def test_words_need_a_frequency_larger_than_2(times, there):
    index = CharacterIndex.build(corpus([["中国", "人民"]] * times), characters())
    names = {index.name(p) for p in range(index.n_predicates)}
    assert ({"ends=中国", "starts=人民", "before=中国|人民", "behind=中国|人民"} <= names) == there


def test_the_tables_count_all_words():
    index = CharacterIndex.build(corpus([["天", "天", "人", "很长很长的词"]]), characters())
    assert index.n_words == 3
    assert sorted(index.tensors["word_counts"].tolist()) == [1, 1, 2]
    lexicon = index.lexicon()
    assert len(lexicon) == 3
    assert [word in lexicon for word in ("天", "很长很长的词", "很长", "", "新")] == [
        True, True, False, False, False,
    ]  # fmt: skip


def test_tables_are_by_falling_frequency():
    train = without_empty(random_sentences(5, ALPHABET["some"]))
    index = CharacterIndex.build(corpus(train), characters("none", 1, 2))
    items = oracle.items(train, 1, 2)
    single = [index._character(k) for k in range(len(index.tensors["characters"]))]
    bigrams = ["".join(map(index._character, pair)) for pair in index.tensors["bigrams"]]
    pairs = [tuple(map(index._word, pair)) for pair in index.tensors["word_bigrams"]]
    words = [index._word(k) for k in range(index.counts["n_unigrams"])]
    for found, counts in [
        (single, items.characters),
        (bigrams, items.bigrams),
        (pairs, items.word_bigrams),
        (words, items.words),
    ]:
        assert sorted(found) == sorted(counts)
        frequency = [counts[item] for item in found]
        assert frequency == sorted(frequency, reverse=True)


def test_word_lists_compare_folded_words():
    words = word_list(["ＡＢ", "国3"], "width")
    assert [word in words for word in ("AB", "ＡB", "国３", "ab", "国4")] == [True] * 3 + [
        False
    ] * 2
    words = word_list(iter(["ＡＢ", "国3"]), "types")
    assert [word in words for word in ("xy", "国４", "x", "国")] == [True, True, False, False]
    with pytest.raises(ParameterError, match=r"^unknown fold 'typs'; did you mean 'types'\?$"):
        word_list([], "typs")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"fold": "x"}, "fold is 'x'; allowed: none, width, types"),
        ({"cutoff": 0}, r"cutoff is 0; allowed: integer \[1, 2147483647\]"),
        ({"word_cutoff": -1}, r"word_cutoff is -1; allowed: integer \[0, 2147483647\]"),
        ({"cutoff": 2**31}, r"cutoff is 2147483648; allowed: integer \[1, 2147483647\]"),
    ],
)
def test_wrong_features(wrong, message):
    with pytest.raises(ParameterError, match=f"^{message}$"):
        characters(**wrong).check()


# ---- damaged tables -------------------------------------------------------------------------

TABLES = ("characters", "bigrams", "word_symbols", "word_offsets", "word_bigrams")
SYMBOLS = np.array([ord(c) for c in "天人天大中国国中天"], np.uint32)
WHOLE = np.array([0, len(SYMBOLS)])


def arguments(index):
    counts = [index.counts[name] for name in ("n_unigrams", "n_parts", "n_rich")]
    return [*(index.tensors[name].copy() for name in TABLES), *counts]


def works(tables):
    """Whether the core takes the tables; if so, they must do in every way."""
    try:
        native = core.SegmentIndex(*tables)
    except (ValueError, TypeError):
        return False
    n = sum(native.n_of_kind)
    _, predicates = native.encode(SYMBOLS, WHOLE)
    assert (predicates < n).all()
    for p in predicates.tolist():
        native.name(p)
    return True


def random_number(rng):
    return int(rng.choice([0, 1, 2, 5, 9, 0x4E00, 0x110000, 0x110001, 2**31, 2**32 - 1]))


def test_damaged_tables_are_refused_or_harmless():
    train = without_empty(random_sentences(1, ALPHABET["some"], n=30))
    index = CharacterIndex.build(corpus(train), characters("none", 1, 1, Edges(3)))
    rng = np.random.default_rng(1)
    assert works(arguments(index))
    fates = []
    for _ in range(600):
        tables = arguments(index)
        for _ in range(rng.integers(1, 4)):
            k = rng.integers(len(tables))
            if k < len(TABLES):
                table = tables[k]
                if rng.random() < 0.3:  # shorter
                    tables[k] = table[: rng.integers(len(table))].copy()
                elif len(table):
                    flat = table.reshape(-1)
                    flat[rng.integers(flat.size)] = (
                        random_number(rng) if rng.random() < 0.5 else rng.choice(flat)
                    )
            elif k < len(TABLES) + 2:
                tables[k] = max(0, tables[k] + int(rng.integers(-3, 4)))
            else:
                rich = list(tables[k])
                rich[rng.integers(5)] = random_number(rng)
                tables[k] = tuple(rich)
        fates.append(works(tables))
    assert 50 < sum(fates) < 550


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, np.array([19968, 19968], np.uint32)),
        (0, np.array([0x110001], np.uint32)),
        (1, np.array([[99999, 0]], np.uint32)),
        (1, np.array([[0, 1], [0, 1]], np.uint32)),
        (1, np.zeros((1, 3), np.uint32)),
        (2, np.zeros(0, np.uint32)),
        (3, np.zeros(0, np.uint32)),
        (3, np.array([0, 0, 2], np.uint32)),
        (3, np.array([1, 2], np.uint32)),
        (4, np.array([[0, 99999]], np.uint32)),
        (5, 99999),
        (6, 99999),
        (7, (2, 0, 0, 0, 0)),
        (7, (0, 0, 2**32 - 1, 0, 0)),
    ],
)
def test_tables_that_do_not_fit_together(place, value):
    index = CharacterIndex.build(corpus([["中国", "人"]] * 3), characters())
    tables = arguments(index)
    tables[place] = value
    with pytest.raises((ValueError, TypeError)):
        core.SegmentIndex(*tables)


def test_characters_out_of_range():
    native = CharacterIndex.build(corpus([["天"]]), characters()).native
    for symbol in (0x110000, 2**32 - 1):
        with pytest.raises(ValueError, match="a character is out of range"):
            native.encode(np.array([symbol], np.uint32), np.array([0, 1]))
    for sentences in ([0, 2], [1, 1], [0, 1, 0], []):
        with pytest.raises(ValueError, match="sentence"):
            native.encode(np.array([0], np.uint32), np.array(sentences, np.int64))


def test_the_features_that_fire_do_not_depend_on_edges():
    train = without_empty(random_sentences(4, ALPHABET["some"]))
    found = []
    for edges in EDGES.values():
        index = CharacterIndex.build(corpus(train), characters(edges=edges))
        found.append(named(index, index.encode(corpus(train))))
    assert all(names == found[0] for names in found)
    assert index.features == characters(edges=edges)


def test_words_of_rare_characters_are_no_features_but_known():
    train = [["东海", "人"]] + [["人", "大人", "人"]] * 3
    index = CharacterIndex.build(corpus(train * 2), characters("none", 4, 2))
    names = {index.name(p) for p in range(index.n_predicates)}
    assert "starts=大人" in names
    assert "starts=东海" not in names
    words = index.word_text().tobytes().decode().split("\n")
    assert "东海" in words[index.first_rare_word :]
    assert "大人" not in words[index.first_rare_word :]
