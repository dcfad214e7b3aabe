"""Compiled predictors: against their tables read slowly, in files, and pruned."""

from __future__ import annotations

import io
import itertools
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptag.errors import ModelError, ParameterError
from adaptag.segmentation.dictionary import FORCE
from adaptag.segmentation.predictor import Patterns
from adaptag.segmentation.segmenter import Segmenter
from adaptag.segmentation.settings import SegmenterSettings
from adaptag.storage.tensors import tensors_from_buffer, write_tensors
from tests.reference import crf
from tests.reference import segmentation as oracle
from tests.unit.making import Edges
from tests.unit.test_segmenter import (
    LETTERS,
    TAGS,
    TRAIN,
    random_segmenter,
    random_text,
    scores_of,
)

tag_sets = pytest.mark.parametrize("tags", TAGS)
value_types = pytest.mark.parametrize("values", ["int8", "int16"])
ALPHABET = LETTERS + "新😀𠀀ß"


def predictor_of(segmenter, **options):
    return Patterns(segmenter.model_, SegmenterSettings.taken_from(segmenter)).predictor(**options)


def oracle_of(predictor):
    return oracle.Predictor(
        predictor.tensors, predictor.numbers["outside"], predictor.settings.tags
    )


def spans(words):
    return list(itertools.pairwise([0, *itertools.accumulate(map(len, words))]))


def assert_best(segmenter, slow, text):
    """No other way to cut has a higher score; with probabilities the words are the same."""
    words = segmenter.cut(text)
    scores = slow.scores(text, segmenter.model_.index.features.fold)
    assert slow.path_score(scores, spans(words)) == slow.best_score(scores)
    assert [word.text for word in segmenter.words(text)] == words


# ---- scores -------------------------------------------------------------------------------------


@tag_sets
@value_types
@pytest.mark.parametrize("fold", ["none", "types"])
def test_words_have_the_best_score(tags, values, fold):
    full = random_segmenter(1, tags, fold=fold, edges=Edges(1, 0.5))
    small = full.compact(prune=0.5, weights=values)
    for segmenter, predictor in ((full, predictor_of(full)), (small, small.model_)):
        slow = oracle_of(predictor)
        for k in range(30):
            assert_best(segmenter, slow, random_text([1, k], 1 + k % 12, ALPHABET + "１bＡ"))


@tag_sets
@pytest.mark.parametrize("length", [254, 255, 256, 257, 258, 259, 512, 513, 700])
def test_sentences_are_scored_in_blocks(tags, length):
    segmenter = random_segmenter(2, tags, rare=[6, 300])
    slow = oracle_of(predictor_of(segmenter))
    assert_best(segmenter, slow, random_text([2, length], length))
    assert_best(segmenter, slow, "天" * length)


@tag_sets
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_the_weights(tags, seed):
    """Two ways to cut differ by the same score, but for the rounding of scores."""
    segmenter = random_segmenter(seed, tags, edges=[None, Edges(), Edges(2, 0.4)][seed])
    predictor = predictor_of(segmenter)
    slow = oracle_of(predictor)
    unit = 2.0 ** -predictor.numbers["exponent"]
    for length in range(1, 8):
        text = random_text([seed, length], length, LETTERS + "新")
        exact, rounded = scores_of(segmenter, text), slow.scores(text, "none")
        every = list(oracle.segmentations(length))
        wanted = np.array([crf.path_score(exact, oracle.labels(w, tags)) for w in every])
        found = unit * np.array([slow.path_score(rounded, w) for w in every])
        np.testing.assert_allclose(found - found[0], wanted - wanted[0], atol=2 * unit * length)


@settings(deadline=None, max_examples=60)
@given(st.text(st.sampled_from(ALPHABET + "天人大"), min_size=1, max_size=40))
def test_any_text_has_the_best_words(text):
    assert_best(SEGMENTER, SLOW, text)


SEGMENTER = random_segmenter(5, "bmes", fold="width")
SLOW = oracle_of(predictor_of(SEGMENTER))


def test_a_long_pattern_needs_all_its_characters():
    word = "甲乙丙丁戊己庚辛壬癸子丑寅卯"
    segmenter = Segmenter.train([*TRAIN, [word]], passes=3, rare_weight=9.0)
    assert word in segmenter.cut(f"我们{word}在")
    assert segmenter.cut(word) == [word]
    assert word[:-1] not in segmenter.cut(word[:-1] + "在")


def test_one_text_may_be_cut_by_many_threads_at_once():
    segmenter = random_segmenter(3)
    texts = [random_text(k, 200, ALPHABET) for k in range(64)]
    wanted = [segmenter.cut(text) for text in texts]
    assert segmenter.cut_all(texts * 5, threads=4) == wanted * 5


def test_words_are_shared_but_equal():
    segmenter = random_segmenter(3)
    for text in ("ab", "a\0", "\0a", "\0", "\0\0\0", "aé😀", "é", "😀", "天\0"):
        for _ in range(2):
            assert "".join(segmenter.cut(text)) == text
            assert "".join(segmenter.cut(f"{text} {text}天")) == f"{text} {text}天"


# ---- compact segmenters -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def full():
    train = [*TRAIN, ["在", "东海学院"]]
    segmenter = Segmenter.train(train, passes=20, tags="bies", rare_weight=2.0)
    segmenter.dictionary.add({"大上海": FORCE, "我们": -0.5})
    return segmenter


@pytest.fixture(scope="module")
def small(full):
    return full.compact(prune=0.3)


TEXTS = ["".join(words) for words in TRAIN] + ["他们在大上海看北京的大学生", "新词 和ＡＢＣ"]


@value_types
def test_without_pruning_the_words_are_the_same(full, values):
    assert full.compact(prune=0, weights=values).cut_all(TEXTS) == full.cut_all(TEXTS)


@pytest.mark.parametrize(
    "copied",
    [
        lambda s, _: Segmenter.from_bytes(s.to_bytes()),
        lambda s, p: s.save(p) or Segmenter.load(p),
        lambda s, _: pickle.loads(pickle.dumps(s)),
    ],
    ids=["bytes", "file", "pickle"],
)
@pytest.mark.parametrize("names", [True, False])
def test_a_compact_segmenter_comes_back(full, tmp_path, copied, names):
    wanted = full.compact(prune=0.05, names=names)
    found = copied(wanted, tmp_path / "m")
    assert found.is_compact
    assert found.to_bytes() == wanted.to_bytes()
    assert (found.tags, found.rare_weight) == ("bies", 2.0)
    assert found.dictionary.to_dict() == full.dictionary.to_dict()
    assert found.words_all(TEXTS) == wanted.words_all(TEXTS)
    assert found.model_.provenance["compact"] == {"prune": 0.05, "weights": "int8"}
    assert repr(found) == repr(wanted)


def test_it_is_small_and_cuts_alike(full, small):
    assert not full.is_compact
    unpruned = full.compact(prune=0, weights="int16")
    assert len(small.to_bytes()) < len(unpruned.to_bytes())
    assert small.model_.n_predicates < unpruned.model_.n_predicates
    assert small.model_.n_weights < unpruned.model_.n_weights
    assert small.evaluate(TRAIN).f1 == 100


def test_words_of_training_are_kept_or_not(full, small):
    assert ("北京" in small.lexicon_, "北大" in small.lexicon_) == (True, False)
    assert small.evaluate(TRAIN).oov == 0
    assert small.new_words(TEXTS).rounds >= 1
    without = full.compact(prune=0.3, names=False)
    assert len(without.to_bytes()) < len(small.to_bytes())
    assert without.evaluate(TRAIN).f1 == 100
    for use in (lambda: without.lexicon_, lambda: without.new_words(TEXTS)):
        with pytest.raises(ModelError, match="without the words of its training data"):
            use()


def test_development_data_choose_the_threshold():
    full = random_segmenter(6, scale=0.3)
    dev = full.cut_all(random_text([6, k], 30) for k in range(30))
    exact, loose = (full.compact(within=w, dev=dev, weights="int16") for w in (0.0, 40.0))
    assert exact.evaluate(dev).f1 == 100
    assert 60 <= loose.evaluate(dev).f1 < 100
    thresholds = [s.model_.provenance["compact"]["prune"] for s in (exact, loose)]
    assert thresholds[0] < thresholds[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": "float16"}, "weights is 'float16'; allowed for a segmenter, whose scores are"),
        ({"prune": -1}, "prune is -1; allowed: numbers from 0"),
        ({"prune": float("nan")}, "prune is nan; allowed: numbers from 0"),
        ({"within": 0.1}, "within needs development data to score on: give dev"),
        ({"within": 0.1, "prune": 1, "dev": TRAIN}, "within and prune cannot be combined"),
    ],
)
def test_what_compact_refuses(full, options, message):
    with pytest.raises(ParameterError) as caught:
        full.compact(**options)
    assert str(caught.value).startswith(message)


def test_a_compact_segmenter_cannot_be_changed(small):
    with pytest.raises(ParameterError, match="is compact already"):
        small.compact()
    with pytest.raises(ModelError, match="has no weights to train"):
        small.partial_fit(TRAIN)
    other = Segmenter.from_bytes(small.to_bytes()).set_params(rare_weight=3.0)
    with pytest.raises(ParameterError, match=r"are fixed: tags='bies', rare_weight=2\.0"):
        other.cut("我")


def test_training_anew_makes_it_full_again(small):
    other = Segmenter.from_bytes(small.to_bytes()).set_params(passes=2)
    assert not other.fit(TRAIN).is_compact


# ---- damaged files ------------------------------------------------------------------------------


def replaced(segmenter, header=None, tensors=None):
    """The bytes of a file with other content and right checksums."""
    old_header, old_tensors = tensors_from_buffer(segmenter.to_bytes(), "segmenter")
    changed = json.loads(json.dumps({**old_header, **(header or {})}))
    file = io.BytesIO()
    write_tensors(file, "segmenter", changed, {**old_tensors, **(tensors or {})})
    return file.getvalue()


@pytest.mark.parametrize(
    "header",
    [
        {"version": 0},
        {"settings": {}},
        {"settings": {"tags": "x", "rare_weight": 1.0}},
        {"settings": {"tags": "bie", "rare_weight": 1e9}},
        {"features": {}},
        {"numbers": {}},
        {"numbers": {"outside": 1 << 23, "exponent": 11}},
        {"numbers": {"outside": 1, "exponent": 999}},
        {"numbers": {"outside": -1, "exponent": 11}},
        {"n_words": None},
        {"provenance": None},
    ],
)
def test_a_damaged_header_is_refused(small, header):
    with pytest.raises(ModelError, match=r"^<bytes>: malformed segmenter: "):
        Segmenter.from_bytes(replaced(small, header))


def wrong_tensors(tensors):
    slots = tensors["slots"]
    used = np.flatnonzero(slots[:, 0] != oracle.NONE)
    first, long = used[0], used[slots[used, 0] >= len(tensors["character_rows"])][0]

    def with_slot(k, column, value):
        changed = slots.copy()
        changed[k, column] = value
        return {"slots": changed}

    n = len(tensors["character_rows"])
    yield with_slot(first, 1, n)
    yield with_slot(first, 2, (1 << 31) + 1)
    yield with_slot(first, 2, len(tensors["rows"]) << 4)
    yield with_slot(long, 0, n + long)  # begins with itself
    yield with_slot(long, 0, n + len(slots))
    yield {"slots": slots[used]}  # no slot is empty: a search would not end
    yield {"slots": slots[:0]}
    yield {"slots": slots[:, :3]}
    yield {"rows": tensors["rows"][:-1]}
    yield {"rows": tensors["rows"].astype(np.int32)}
    yield {"pages": tensors["pages"][:-1]}
    yield {"pages": tensors["pages"] + 100}
    yield {"entries": tensors["entries"] | 0x7FFFFF}
    yield {"entries": tensors["entries"][:, :9]}
    yield {"character_rows": tensors["character_rows"][:1]}
    yield {"character_rows": tensors["character_rows"][:0]}
    yield {"constant_rows": tensors["constant_rows"][:9]}
    yield {"words": tensors["words"].astype(np.int8)}


def test_damaged_tables_are_refused(small):
    _, tensors = tensors_from_buffer(small.to_bytes(), "segmenter")
    for changed in wrong_tensors(tensors):
        with pytest.raises(ModelError, match=r"^<bytes>: malformed segmenter: "):
            Segmenter.from_bytes(replaced(small, tensors=changed))


def test_tables_of_any_numbers_are_refused_or_harmless(small):
    _, tensors = tensors_from_buffer(small.to_bytes(), "segmenter")
    rng = np.random.default_rng(1)
    n_harmless = 0
    for _ in range(300):
        name = ["slots", "pages", "entries"][rng.integers(3)]
        changed = tensors[name].copy()
        at = tuple(rng.integers(size) for size in changed.shape)
        changed[at] = rng.choice([rng.integers(2**32), rng.integers(200), changed[at] ^ 1])
        try:
            found = Segmenter.from_bytes(replaced(small, tensors={name: changed}))
        except ModelError:
            continue
        n_harmless += 1
        for text in (*TEXTS, "我们" * 200):
            assert "".join(found.cut(text)) == text
    assert n_harmless > 20


def test_any_weight_that_is_not_a_number_is_refused():
    chain = Segmenter.train(TRAIN, passes=1).model_
    assert chain.layout.n_node == 0
    size = len(chain.weights) // chain.layout.n_both
    for place in range(0, len(chain.weights), 5 * size):  # the first weight of every fifth row
        weights = chain.weights.copy()
        weights[place] = np.nan
        with pytest.raises(ModelError, match="not finite"):
            predictor_of(Segmenter.from_model(replace(chain, weights=weights)))
