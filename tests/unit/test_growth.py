"""Indexes, datasets and weights that grow with new data: what is old keeps its place."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adaptag
from adaptag._native import core
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.columns import ColumnCorpus
from adaptag.dataset.encoded import Dataset
from adaptag.errors import CorpusError, ModelError, ParameterError
from adaptag.features.index import TENSORS
from adaptag.features.settings import FeatureSettings
from adaptag.features.template import Template, presets
from adaptag.model.remapping import remap_state, remap_weights
from tests.property.test_features import SENTENCES, TEMPLATES, build, expected, named
from tests.reference import template as oracle
from tests.reference.crf import Weights
from tests.reference.data import Problem
from tests.unit.making import features, grow, index_of

FAST = settings(deadline=None, max_examples=100)
CUTOFFS = st.integers(1, 3)
SEEDS = st.integers(0, 2**32)

columns = ColumnCorpus.from_sentences


def attributes(sentences):
    """A corpus from sentences of tokens, each a list of (name, value)."""
    lines = [
        "\n".join("\t".join(["L", *(f"{name}:{value}" for name, value in t)]) for t in s)
        for s in sentences
    ]
    return AttributeCorpus.from_bytes("\n\n".join(lines).encode(), "a")


ATTRIBUTES = st.lists(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from("abcdefg"), st.sampled_from([1, 1, 0, -0.5, 2.25])),
            max_size=4,
        ),
        min_size=1,
        max_size=5,
    ),
    min_size=1,
    max_size=4,
).map(attributes)
# A template with an old and a new corpus that fit it.
CASES = st.tuples(TEMPLATES.map(Template), SENTENCES.map(columns), SENTENCES.map(columns))
CASES |= st.tuples(st.just(Template.for_attributes()), ATTRIBUTES, ATTRIBUTES)


def names(index):
    return [index.name(p) for p in range(index.n_predicates)]


def by_kind(index):
    """The names of the predicates, a list for each kind."""
    ends = np.cumsum([0, *index.n_of_kind]).tolist()
    return [names(index)[b:e] for b, e in itertools.pairwise(ends)]


def places(old, new):
    """The new number of each old predicate, if the old ones are the first of their kind."""
    starts = np.cumsum([0, *new.n_of_kind])[:3]
    return np.concatenate([s + np.arange(n) for s, n in zip(starts, old.n_of_kind, strict=True)])


def values(encoded):
    n = len(encoded.predicates)
    return np.ones(n, np.float32) if encoded.values is None else encoded.values


def tokens(encoded):
    """The token at which each predicate fires."""
    return np.repeat(np.arange(len(encoded.positions) - 1), np.diff(encoded.positions))


def assert_same_index(found, wanted):
    assert found.n_of_kind == wanted.n_of_kind
    assert found.template == wanted.template
    for name in TENSORS:
        assert found.tensors[name].dtype == wanted.tensors[name].dtype
        assert np.array_equal(found.tensors[name], wanted.tensors[name]), name


def assert_same_encoding(found, wanted):
    assert np.array_equal(found.sentences, wanted.sentences)
    assert np.array_equal(found.positions, wanted.positions)
    assert np.array_equal(found.predicates, wanted.predicates)
    assert np.array_equal(values(found), values(wanted))


# ---- nothing new ----------------------------------------------------------------------------


@FAST
@given(CASES, CUTOFFS)
def test_growing_with_the_same_corpus_changes_nothing(case, cutoff):
    template, corpus, _ = case
    index, encoded = index_of(corpus, template, cutoff)
    grown, again = grow(index, corpus, cutoff)
    assert_same_index(grown, index)
    assert_same_encoding(again, encoded)
    assert (again.values is None) == (encoded.values is None)


@FAST
@given(CASES, CUTOFFS)
def test_the_core_finds_all_numbers_again(case, cutoff):
    template, corpus, _ = case
    index, _ = index_of(corpus, template, cutoff)
    tables = ["vocabulary_bytes", "vocabulary_offsets", "derived", "keys"]
    found = core.IndexBuilder(
        template.program(), *(index.tensors[name] for name in tables), index.n_of_kind
    ).freeze(99, 1, 1.0)
    assert found["n_of_kind"] == index.n_of_kind
    for name in TENSORS:
        wanted = index.tensors[name]
        if name == "slots":  # neighbours may lie the other way round
            assert sorted(found[name].tolist()) == sorted(wanted.tolist())
        else:
            assert np.array_equal(found[name], wanted), name


@pytest.mark.parametrize(
    ("new", "cutoff"),
    [
        ([["THE", "The", "thE"]], 1),  # new strings, old predicates
        ([["the", "cat"], ["dog"]], 3),  # new predicates, all too rare
        ([[], []], 1),
        ([], 1),
    ],
)
def test_without_new_predicates_the_index_stays(new, cutoff):
    index, _ = build("U:%lower[0,0]\n*:%suffix1[0,0]\nB", [["the", "The", "E"]])
    before = {name: tensor.copy() for name, tensor in index.tensors.items()}
    grown, encoded = grow(index, columns(new), cutoff)
    assert_same_index(grown, replace(index, tensors=before))
    assert_same_encoding(encoded, index.encode(columns(new)))


# ---- new predicates -------------------------------------------------------------------------


@FAST
@given(TEMPLATES, SENTENCES, SENTENCES, CUTOFFS, CUTOFFS)
def test_new_predicates_follow_the_old_ones_of_their_kind(template, old, new, before, cutoff):
    index, _ = build(template, old, before)
    grown, encoded = grow(index, columns(new), cutoff)
    counts = oracle.counts(template, new)
    added = []
    for was, now in zip(by_kind(index), by_kind(grown), strict=True):
        assert now[: len(was)] == was
        frequency = [counts[name] for name in now[len(was) :]]
        assert frequency == sorted(frequency, reverse=True)
        added += now[len(was) :]
    known = set(names(index))
    assert sorted(added) == sorted(f for f, n in counts.items() if n >= cutoff and f not in known)
    assert named(grown, encoded) == expected(template, new, {*known, *added})


def test_old_predicates_keep_their_order_however_often_they_now_occur():
    index, _ = build("U:%x[0,0]", [["a", "a", "a", "b", "b", "c"]])
    grown, encoded = grow(index, columns([["d", "e", "e", "c", "c", "c", "c"]]), 2)
    assert names(grown) == ["U:a", "U:b", "U:c", "U:e"]
    assert encoded.predicates.tolist() == [3, 3, 2, 2, 2, 2]


@FAST
@given(CASES, CUTOFFS, CUTOFFS)
def test_old_data_keeps_its_predicates_under_their_new_numbers(case, before, cutoff):
    template, old, new = case
    index, _ = index_of(old, template, before)
    grown, encoded = grow(index, new, cutoff)
    assert_same_encoding(grown.encode(new), encoded)
    was, now = index.encode(old), grown.encode(old)
    place = places(index, grown)
    known = np.isin(now.predicates, place)  # others were too rare before
    assert known.all() or before > 1
    assert np.array_equal(now.predicates[known], place[was.predicates])
    assert np.array_equal(values(now)[known], values(was))
    assert np.array_equal(tokens(now)[known], tokens(was))


@FAST
@given(TEMPLATES.map(Template), SENTENCES, SENTENCES, SENTENCES)
def test_growing_twice(template, first, second, third):
    index, _ = index_of(columns(first), template)
    once, _ = grow(index, columns(second))
    twice, encoded = grow(once, columns(third))
    assert np.array_equal(places(once, twice)[places(index, once)], places(index, twice))
    assert [now[: len(was)] for was, now in zip(by_kind(once), by_kind(twice), strict=True)] == (
        by_kind(once)
    )
    whole, _ = index_of(columns([*first, *second, *third]), template)
    assert sorted(names(twice)) == sorted(names(whole))
    assert named(twice, encoded) == named(whole, whole.encode(columns(third)))


def test_attributes_grow():
    index, _ = index_of(attributes([[[("a", 1), ("b", 2)]]]), Template.for_attributes())
    new = attributes([[[("c", 0.5), ("b", -1)], [("c", 1), ("d", 3)], [("d", 1), ("d", 2)]]])
    grown, encoded = grow(index, new, 2)
    assert by_kind(grown) == [["a", "b", "d", "c"], [], ["B"]]
    assert encoded.positions.tolist() == [0, 2, 5, 8]
    assert encoded.predicates.tolist() == [3, 1, 3, 2, 4, 2, 2, 4]
    assert encoded.values.tolist() == [0.5, -1, 1, 3, 1, 1, 2, 1]


@pytest.mark.parametrize("preset", presets())
def test_presets_grow(preset):
    template = Template.load(preset, 3)
    old = [[("The", "D", "x"), ("cat", "N", "y")]]
    new = [[("A", "D", "x"), ("dog", "N", "x"), ("Sat", "V", "z")]]
    index, _ = index_of(columns(old), template)
    grown, encoded = grow(index, columns(new))
    assert sorted(names(grown)) == sorted(oracle.counts(template.text, old + new))
    assert named(grown, encoded) == expected(template.text, new)


def test_many_predicates_are_told_apart():
    words = [f"w{k}" for k in range(200_000)]
    index, _ = build("U:%x[0,0]", [words[:150_000]])
    grown, encoded = grow(index, columns([words]))
    assert grown.n_of_kind == (200_000, 0, 0)
    assert [grown.name(p) for p in encoded.predicates[::9999]] == [f"U:{w}" for w in words[::9999]]
    assert np.array_equal(places(index, grown), np.arange(150_000))


# ---- datasets -------------------------------------------------------------------------------


def test_new_labels_follow_the_old_ones():
    old = Dataset.build(columns([[("a", "Y"), ("b", "X")]]), features(Template("U:%x[0,0]\nB")))
    new = columns([[("a", "Z"), ("c", "X"), ("c", "V"), ("d", "Z")]])
    grown = Dataset.grow(new, old.index, old.label_names, features(None, 2))
    assert grown.label_names == ("Y", "X", "Z", "V")
    assert grown.labels.tolist() == [2, 1, 3, 2]
    assert grown.features["cutoff"] == 2
    assert names(grown.index) == ["U:a", "U:b", "U:c", "B"]
    grown.native(grown.layout)
    same = Dataset.grow(columns([[("b", "X")]]), old.index, old.label_names)
    assert same.label_names == old.label_names
    assert (same.layout.n_weights, same.features["cutoff"]) == (old.layout.n_weights, 1)


def test_labels_of_attributes_grow():
    old = Dataset.build(AttributeCorpus.from_bytes(b"X\ta\nY\tb:2\n"), FeatureSettings())
    new = AttributeCorpus.from_bytes(b"Z\tb:3\nY\tc\n")
    grown = Dataset.grow(new, old.index, old.label_names)
    assert (grown.label_names, grown.labels.tolist()) == (("X", "Y", "Z"), [2, 1])
    assert by_kind(grown.index) == [["a", "b", "c"], [], ["B"]]
    assert grown.encoded.values.tolist() == [3, 1, 1]


NEEDED = "the model was trained with 2 feature columns and one for the label"
COLUMNS = ColumnCorpus.from_bytes(b"\na b X\n", "f")
WORDS = ColumnCorpus.from_bytes(b"\n\na X\n", "f")
ALONE = ColumnCorpus.from_bytes(b"\na\n", "f")
ATTRIBUTE_FILE = AttributeCorpus.from_bytes(b"X\ta\n", "f")


@pytest.mark.parametrize(
    ("trained", "given", "message"),
    [
        (COLUMNS, ATTRIBUTE_FILE, "f: holds attributes; the model needs columns"),
        (ATTRIBUTE_FILE, COLUMNS, "f: holds columns; the model was trained on attributes"),
        (COLUMNS, WORDS, f"f:3: 2 columns; {NEEDED}"),
        (COLUMNS, ALONE, f"f:2: 1 column; {NEEDED}"),
        (COLUMNS, columns([["a"]]), f"<data>: 1 column; {NEEDED}"),
    ],
)
def test_data_that_does_not_fit(trained, given, message):
    template = None if trained is ATTRIBUTE_FILE else Template("U:%x[0,1]\nB")
    old = Dataset.build(trained, features(template))
    with pytest.raises(CorpusError) as caught:
        Dataset.grow(given, old.index, old.label_names)
    assert str(caught.value) == message


def test_an_index_needs_no_label():
    index, _ = build("U:%x[0,1]", [[("a", "b")]])
    grown, _ = grow(index, columns([[("a", "c")]]))
    assert names(grown) == ["U:b", "U:c"]
    said = "f:2: 1 column; the model was trained with 2 feature columns, and maybe the label"
    with pytest.raises(CorpusError, match=f"^{said}$"):
        grow(index, ALONE)


@pytest.mark.parametrize("template", ["U:%x[0,0]\nB", "*:%lower[0,0]", "B"])
def test_an_index_can_start_empty(template):
    index, encoded = build(template, [])
    assert (index.n_predicates, len(encoded.positions)) == (0, 1)
    sentences = [["a", "b"]]
    grown, encoded = grow(index, columns(sentences))
    fresh, wanted = build(template, sentences)
    assert names(grown) == names(fresh)
    assert_same_encoding(encoded, wanted)


# ---- weights --------------------------------------------------------------------------------


@st.composite
def layouts(draw):
    """A problem of the reference without sentences, and a larger one."""
    small = st.integers(0, 4)
    labels, kinds = draw(st.integers(1, 12)), draw(st.tuples(small, small, small))
    more_labels, more = draw(st.integers(0, 12)), draw(st.tuples(small, small, small))
    larger = tuple(n + m for n, m in zip(kinds, more, strict=True))
    return Problem(labels, kinds, [], []), Problem(labels + more_labels, larger, [], [])


def moved(old, new, weights):
    """The oracle: every weight by its predicate and labels."""
    place, y = places(old, new), old.n_labels
    node, edge = new.zeros()
    node[place, :y] = weights.node
    edge[place, :y, :y] = weights.edge
    return Weights(node, edge)


@FAST
@given(layouts(), SEEDS)
def test_every_weight_finds_its_place(problems, seed):
    old, new = problems
    before, after = (problem.dataset.layout for problem in problems)
    array = np.random.default_rng(seed).normal(size=before.n_weights).astype(np.float32)
    kept = array.copy()
    found = remap_weights(array, before, after)
    assert (found.dtype, len(found)) == (np.float32, after.n_weights)
    for ours, wanted in zip(new.unpack(found), moved(old, new, old.unpack(array)), strict=True):
        assert np.array_equal(ours, wanted)
    if old.n_labels < new.n_labels:
        assert not new.padding(found).any()
    assert np.array_equal(array, kept)
    assert not np.shares_memory(found, array)


@FAST
@given(layouts(), SEEDS)
def test_the_same_layout_gives_an_equal_copy(problems, seed):
    layout = problems[0].dataset.layout
    rng = np.random.default_rng(seed)
    array = rng.normal(size=layout.n_weights).astype(np.float32)
    array.flags.writeable = False  # as in a mapped file
    found = remap_weights(array, layout, layout)
    assert found.tobytes() == array.tobytes()
    assert found.flags.writeable


@pytest.mark.parametrize("larger", [(3, 5, 5, 5), (4, 5, 5, 5), (9, 7, 6, 8), (3, 5, 9, 5)])
def test_what_was_moved_can_be_moved_back(larger):
    old, new = core.Layout(3, 5, 5, 5), core.Layout(*larger)
    array = np.arange(old.n_weights, dtype=np.float32)
    array[np.arange(old.n_weights) % old.width >= 3] = 0  # padding
    assert (remap_weights(remap_weights(array, old, new), new, old) == array).all()


def test_the_state_of_training_moves_with_the_weights():
    old, new = core.Layout(3, 2, 1, 1), core.Layout(5, 3, 1, 2)
    arrays = {
        "weights": np.ones(old.n_weights, np.float32),
        "row_state": np.repeat([1, 2, 3, 4], 8).astype(np.uint8),
        "run_state": np.array([7], np.uint8),
    }
    moved = remap_state(arrays, old, new)
    assert moved["row_state"].reshape(6, 8)[:, 0].tolist() == [1, 2, 0, 3, 4, 0]
    assert moved["run_state"].tolist() == [7]
    assert (moved["weights"] == remap_weights(arrays["weights"], old, new)).all()
    with pytest.raises(ParameterError, match="does not fit the number of features"):
        remap_state({"row_state": np.zeros(5, np.uint8)}, old, new)


def test_arrays_must_fit_their_layout():
    old = core.Layout(3, 5, 5, 5)
    with pytest.raises(ParameterError, match=r"^weights of shape \(5,\); the old layout needs "):
        remap_weights(np.zeros(5, np.float32), old, old)


# ---- models ---------------------------------------------------------------------------------


def random_model(index, n_labels, seed):
    problem = Problem(n_labels, index.n_of_kind, [], [])
    weights = problem.pack(problem.random_weights(seed))
    return adaptag.Model(problem.dataset.label_names, index, weights)


def grown_model(model, index, labels=()):
    names = (*model.labels, *labels)
    layout = core.Layout(len(names), *index.n_of_kind)
    return adaptag.Model(names, index, remap_weights(model.weights, model.layout, layout))


@FAST
@given(CASES, CUTOFFS, st.integers(1, 9), SEEDS)
def test_a_grown_model_judges_old_data_as_before(case, cutoff, n_labels, seed):
    template, old, new = case
    index, _ = index_of(old, template, cutoff)
    model = random_model(index, n_labels, seed)
    grown = grown_model(model, grow(index, new)[0])
    for corpus in (old, new):
        assert np.array_equal(grown.tag_corpus(corpus), model.tag_corpus(corpus))
        assert np.array_equal(grown.marginals_corpus(corpus), model.marginals_corpus(corpus))
        for ours, theirs in zip(
            grown.nbest_corpus(corpus, 3), model.nbest_corpus(corpus, 3), strict=True
        ):
            assert np.array_equal(ours[0], theirs[0])
            assert np.array_equal(ours[1], theirs[1])


@FAST
@given(TEMPLATES, SENTENCES, SENTENCES, st.integers(1, 9), st.integers(1, 9), SEEDS)
def test_among_the_old_labels_a_grown_model_chooses_as_before(
    template, old, new, n_labels, n_new, seed
):
    index, _ = build(template, old)
    model = random_model(index, n_labels, seed)
    grown = grown_model(model, grow(index, columns(new))[0], [f"N{k}" for k in range(n_new)])
    for sentence in old:
        allowed = [model.labels] * len(sentence)
        ours = grown.marginals(sentence, allowed=allowed)
        for row, wanted in zip(ours, model.marginals(sentence), strict=True):
            assert [row[y] for y in model.labels] == pytest.approx([*wanted.values()], abs=1e-5)
        p = model.probability(sentence, model.tag(sentence))
        assert grown.nbest(sentence, 1, allowed=allowed)[0][1] == pytest.approx(p, rel=1e-4)


def test_a_grown_model_is_a_model_like_any_other(tmp_path):
    sentences, labels = [["The", "cat"], ["A", "dog"]], [["D", "N"], ["D", "N"]]
    model = adaptag.train(sentences, labels, passes=2)
    model.save(tmp_path / "m")
    model = adaptag.Model.load(tmp_path / "m")  # mapped, read-only
    new = Dataset.grow(columns([[("it", "P"), ("sat", "V")]]), model.index, model.labels)
    grown = grown_model(model, new.index, new.label_names[2:])
    loaded = adaptag.Model.from_bytes(grown.to_bytes())
    assert loaded.labels == ("D", "N", "P", "V")
    assert loaded.tag_all(sentences) == model.tag_all(sentences) == labels
    assert_same_index(grow(loaded.index, columns(sentences))[0], loaded.index)


# ---- damage ---------------------------------------------------------------------------------

SOUND, _ = build(
    "U:%x[0,0]\nU:%lower[-1,0]/%x[0,0]\n*:%shape[0,0]\nB\nB:%x[0,0]",
    [["The", "cat", "sat"], ["A", "dog"]],
)
NEW = columns([["the", "Dog", "sat"], ["new"]])
KEYS, OFFSETS, DERIVED = (SOUND.tensors[k] for k in ("keys", "vocabulary_offsets", "derived"))
BYTES = SOUND.tensors["vocabulary_bytes"]
V = len(OFFSETS) - 1
NODE, BOTH, EDGE = SOUND.n_of_kind
NONE = 0xFFFFFFFF


def damaged(n_of_kind=SOUND.n_of_kind, **tensors):
    return replace(SOUND, n_of_kind=n_of_kind, tensors={**SOUND.tensors, **tensors})


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


LINE = "index: a predicate's template line is out of range"
TOKEN = "index: a predicate's token is out of range"
COVER = "vocabulary: the offsets do not cover the strings"
SIZES = "index: the tables differ in size"
FIT = "index: keys and numbers of predicates do not fit together"


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (damaged(keys=changed(KEYS, (0, 0), 99)), LINE),
        (damaged(keys=changed(KEYS, (0, 0), NONE)), LINE),
        (damaged(keys=changed(KEYS, (0, 0), KEYS[NODE + BOTH, 0])), LINE),
        (damaged((NODE - 1, BOTH + 1, EDGE)), LINE),
        (damaged((0, 0, NODE + BOTH + EDGE)), LINE),
        (damaged(keys=changed(KEYS, (0, 1), V)), TOKEN),
        (damaged(keys=changed(KEYS, (0, 1), NONE)), TOKEN),
        (damaged(keys=changed(KEYS, (-1, -1), 0)), TOKEN),
        (damaged(keys=changed(KEYS, 1, KEYS[0])), "index: a predicate is stored twice"),
        (damaged(keys=KEYS[:-1]), FIT),
        (damaged(keys=KEYS.reshape(-1, 1)[:-1]), FIT),
        (damaged((NODE, BOTH, EDGE + 1)), FIT),
        (damaged((NONE, NONE, NODE + BOTH + EDGE + 2)), FIT),
        (damaged(vocabulary_offsets=OFFSETS[:0]), COVER),
        (damaged(vocabulary_offsets=OFFSETS[:-1]), COVER),
        (damaged(vocabulary_offsets=changed(OFFSETS, 0, 1)), COVER),
        (damaged(vocabulary_offsets=changed(OFFSETS, 3, OFFSETS[5])), COVER),
        (damaged(vocabulary_offsets=changed(OFFSETS, 3, NONE)), COVER),
        (damaged(vocabulary_offsets=changed(OFFSETS, -1, NONE)), COVER),
        (damaged(vocabulary_bytes=BYTES[:-1]), COVER),
        (damaged(vocabulary_bytes=changed(BYTES, ..., 65)), "vocabulary: a string is there twice"),
        (damaged(derived=changed(DERIVED, (1, 2), V)), "index: a derived string is out of range"),
        (damaged(derived=DERIVED[:-1]), SIZES),
        (damaged(derived=DERIVED[:, :-1].copy()), SIZES),
    ],
)
def test_damaged_tables_are_refused(index, message):
    with pytest.raises(ModelError) as caught:
        grow(index, NEW)
    assert str(caught.value) == f"malformed feature index: {message}"


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(["keys", "vocabulary_offsets", "derived", "vocabulary_bytes"]),
    st.lists(st.tuples(SEEDS, st.integers(0, 40) | st.sampled_from([NONE, NONE - 1, 1 << 31]))),
)
def test_any_damage_is_refused_or_harmless(name, changes):
    tensor = SOUND.tensors[name].copy()
    for place, value in changes:
        tensor.flat[place % tensor.size] = value & np.iinfo(tensor.dtype).max
    try:
        grown, encoded = grow(damaged(**{name: tensor}), NEW)
    except ModelError:
        return
    layout = core.Layout(2, *grown.n_of_kind)
    core.Dataset(layout, encoded.sentences, encoded.positions, encoded.predicates, None, None)
    grown.encode(NEW)
