"""Templates whose lines have edge weights, where their features are frequent enough."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adaptag
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.columns import ColumnCorpus
from adaptag.dataset.encoded import Dataset
from adaptag.errors import ModelError, ParameterError
from adaptag.features.index import FeatureIndex
from adaptag.features.settings import EdgeSettings
from adaptag.features.template import Template
from tests.property.test_features import SENTENCES, TEMPLATES, expected, named
from tests.reference import crf
from tests.reference import template as oracle
from tests.reference.data import Problem, random_problem
from tests.unit.making import Edges, grow, index_of
from tests.unit.test_growth import attributes, by_kind, columns, names, places
from tests.unit.trainer_cases import ONLINE, batched, check, orders

FAST = settings(deadline=None, max_examples=50)
PLAIN = "U0:%x[0,0]\n\n# Uncommented\nU1:%x[-1,0]/%x[0,0]\nB\nB:%lower[0,0]\n"
RICH = "*0:%x[0,0]\n\n# Uncommented\n*1:%x[-1,0]/%x[0,0]\nB\nB:%lower[0,0]\n"
DATA = [["The", "cat", "sat"], ["the", "cat", "the", "dog"], ["A", "dog", "sat"], ["sat"]]
LABELS = [["D", "N", "V"], ["D", "N", "D", "N"], ["D", "N", "V"], ["V"]]
LIMITS = st.builds(Edges, st.integers(1, 4), st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]))


def limited(template, sentences, cutoff=1, edges=Edges()):  # noqa: B008
    return index_of(columns(sentences), Template(template), cutoff, edges)


def kinds(index, encoded):
    node, both, _ = index.n_of_kind
    return (encoded.predicates >= node).astype(int) + (encoded.predicates >= node + both)


def assert_kinds_ascend(index, encoded):
    found = kinds(index, encoded)
    for a, b in itertools.pairwise(encoded.positions.tolist()):
        assert (np.diff(found[a:b]) >= 0).all()


def pairs(encoded):
    """(predicate, value) of each token."""
    values = np.ones(len(encoded.predicates)) if encoded.values is None else encoded.values
    every = list(zip(encoded.predicates.tolist(), values.tolist(), strict=True))
    return [every[a:b] for a, b in itertools.pairwise(encoded.positions.tolist())]


# ---- templates ------------------------------------------------------------------------------


def test_a_rich_template():
    template = Template(PLAIN, name="t").rich()
    assert template.text == RICH
    assert template == Template(RICH, name="t")
    assert template.rich() == template
    assert not template.rich_attributes
    assert (template.name, len(template.lines)) == ("t", 4)


def test_rich_attributes():
    template = Template.for_attributes().rich()
    assert (template.attributes, template.rich_attributes, template.text) == (True, True, "B")
    assert template != Template.for_attributes()
    assert not Template.for_attributes().rich_attributes


# ---- which features -------------------------------------------------------------------------


def wanted_rich(template, sentences, cutoff, limit, known=()):
    """The features of * lines that get edge weights, by their counts."""
    counts = oracle.counts(template, sentences)
    may = {f: n for f, n in counts.items() if f[0] == "*" and n >= cutoff and f not in known}
    chosen = sorted(may.values(), reverse=True)[: int(limit.share * len(may))]
    least = max(limit.cutoff, chosen[-1]) if chosen else math.inf
    return {f for f, n in may.items() if n >= least}


@FAST
@given(TEMPLATES, SENTENCES, st.integers(1, 3), LIMITS)
def test_frequent_features_have_edge_weights(template, sentences, cutoff, limit):
    index, encoded = limited(template, sentences, cutoff, limit)
    node, both, edge = by_kind(index)
    assert set(both) == wanted_rich(template, sentences, cutoff, limit)
    assert all(name[0] == "B" for name in edge)
    assert all(name[0] in "U*" for name in node)
    counts = oracle.counts(template, sentences)
    assert sorted(names(index)) == sorted(f for f, n in counts.items() if n >= cutoff)
    for kind in (node, both, edge):
        frequency = [counts[name] for name in kind]
        assert frequency == sorted(frequency, reverse=True)
    assert_kinds_ascend(index, encoded)


@FAST
@given(TEMPLATES, SENTENCES, SENTENCES, st.integers(1, 3), LIMITS)
def test_new_data_is_encoded_like_training_data(template, sentences, others, cutoff, limit):
    index, encoded = limited(template, sentences, cutoff, limit)
    again = index.encode(columns(sentences))
    assert np.array_equal(again.positions, encoded.positions)
    assert np.array_equal(again.predicates, encoded.predicates)
    new = index.encode(columns(others))
    assert_kinds_ascend(index, new)
    assert named(index, new) == expected(template, others, set(names(index)))


def test_limits_by_hand():
    sentences = [["a", "a", "a", "a", "b", "b", "b", "c", "c", "d"]]
    for edges, rich in [
        (Edges(), "abcd"),
        (Edges(2), "abc"),
        (Edges(3), "ab"),
        (Edges(9), ""),
        (Edges(share=0.5), "ab"),
        (Edges(share=0.3), "a"),
        (Edges(share=0), ""),
        (Edges(4, 0.75), "a"),
    ]:
        index, _ = limited("*:%x[0,0]", sentences, 1, edges)
        assert by_kind(index)[1] == [f"*:{x}" for x in rich]
        assert by_kind(index)[0] == [f"*:{x}" for x in "abcd" if x not in rich]


def test_features_as_frequent_as_the_last_of_the_share_have_edge_weights_too():
    index, _ = limited("*:%x[0,0]", [["a", "a", "b", "c"]], 1, Edges(share=0.67))
    assert by_kind(index)[1] == ["*:a", "*:b", "*:c"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"edge_cutoff": 0}, r"edge_cutoff is 0; allowed: integer \[1, 2147483647\]"),
        ({"edge_share": -0.1}, r"edge_share is -0\.1; allowed: \[0, 1\]"),
        ({"edge_share": 1.1}, r"edge_share is 1\.1; allowed: \[0, 1\]"),
        ({"edge_share": math.nan}, r"edge_share is nan; allowed: \[0, 1\]"),
    ],
)
def test_wrong_limits(given, message):
    with pytest.raises(ParameterError, match=f"^{message}$"):
        adaptag.train(DATA, LABELS, rich_edges=True, passes=1, **given)
    with pytest.raises(ParameterError, match=f"^{message}$"):
        EdgeSettings(**given).check()


# ---- training -------------------------------------------------------------------------------


def test_rich_edges_equal_lines_with_stars():
    rich = adaptag.train(DATA, LABELS, template=Template(PLAIN), rich_edges=True, passes=3)
    stars = adaptag.train(DATA, LABELS, template=Template(RICH), passes=3)
    assert rich.weights.tobytes() == stars.weights.tobytes()
    files = [replace(model, provenance={}).to_bytes() for model in (rich, stars)]
    assert files[0] == files[1]
    others = [{**model.provenance, "feature_settings": None} for model in (rich, stars)]
    assert others[0] == others[1]
    plain = adaptag.train(DATA, LABELS, template=Template(PLAIN), passes=3)
    assert plain.index.n_of_kind[1] == 0 < rich.index.n_of_kind[1]


def test_limits_reach_training():
    found = adaptag.train(
        DATA, LABELS, template=Template(PLAIN), rich_edges=True, edge_cutoff=3, passes=1
    )
    assert by_kind(found.index)[1] == ["*0:sat"]
    found = adaptag.train(DATA, LABELS, template=Template(RICH), edge_share=0.3, cutoff=2, passes=1)
    limit = Edges(share=0.3)
    assert set(by_kind(found.index)[1]) == wanted_rich(
        RICH, [[(w,) for w in s] for s in DATA], 2, limit
    )


@pytest.mark.parametrize("edge_cutoff", [1, 2, 3, 99])
def test_limited_edges_learn_the_data(edge_cutoff):
    found = adaptag.train(DATA, LABELS, rich_edges=True, edge_cutoff=edge_cutoff, passes=20)
    assert found.tag_all(DATA) == LABELS


def test_no_edge_weights_at_all_is_the_plain_model():
    limit = {"rich_edges": True, "edge_share": 0.0}
    none = adaptag.train(DATA, LABELS, template=Template(PLAIN), passes=3, **limit)
    plain = adaptag.train(DATA, LABELS, template=Template(PLAIN), passes=3)
    assert none.index.n_of_kind == plain.index.n_of_kind
    assert none.weights.tobytes() == plain.weights.tobytes()


@pytest.mark.parametrize("limit", [{"rich_edges": True}, {"edge_cutoff": 2}, {"edge_share": 0.5}])
def test_a_dataset_has_its_edges_already(limit):
    dataset = adaptag.encode(DATA, LABELS)
    with pytest.raises(ParameterError, match="has its labels and features already"):
        adaptag.train(dataset, passes=1, **limit)


def test_a_model_to_start_from_has_its_template():
    model = adaptag.train(DATA, LABELS, passes=1)
    with pytest.raises(ParameterError, match="has its template and features already"):
        adaptag.train(DATA, LABELS, start=model, rich_edges=True, passes=1)


# ---- the core -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_decoding_equals_the_oracle(seed):
    limits = {"edge_cutoff": 2 + seed % 2} if seed % 4 < 2 else {"edge_share": 0.4}
    model = adaptag.train(DATA, LABELS, rich_edges=True, passes=1, **limits)
    assert min(model.index.n_of_kind) > 0
    rng = np.random.default_rng(seed)
    problem = Problem(len(model.labels), model.index.n_of_kind, [], [])
    weights = problem.random_weights(seed)
    model = adaptag.Model(model.labels, model.index, problem.pack(weights), {})
    words = [word for sentence in DATA for word in sentence] + ["new"]
    for length in range(1, 7):
        sentence = [str(word) for word in rng.choice(words, length)]
        scores = crf.scores(pairs(model.index.encode(columns([sentence]))), weights)
        best = [model.labels[y] for y in crf.best_path(scores)]
        if crf.lead(scores) > 1e-3:
            assert model.tag(sentence) == best
        marginals = crf.forward_backward(scores).node
        for found, wanted in zip(model.marginals(sentence), marginals, strict=True):
            for label, p in zip(model.labels, wanted, strict=True):
                assert found[label] == pytest.approx(p, rel=1e-4, abs=1e-6)


def without_shared_edges(seed, n_labels, n_of_kind, *, n_sentences, values):
    """No two neighbours have the same predicates with edges: each position has its own matrix."""
    problem = random_problem(
        seed, n_labels, n_of_kind, n_sentences=n_sentences, max_length=5, values=values
    )
    rng = np.random.default_rng(seed)
    node, both, _ = n_of_kind
    sentences = []
    for sentence in problem.sentences:
        positions, first = [], int(rng.integers(both))
        for t, position in enumerate(sentence):
            own = (node + (first + t) % both, 1.0)
            others = [pair for pair in position if pair[0] < node]
            edges = [pair for pair in position if pair[0] >= node + both] if t else []
            positions.append([*others, own, *edges])
        sentences.append(positions)
    return Problem(n_labels, n_of_kind, sentences, problem.labels)


@pytest.mark.parametrize("name", [n for n in ("adf", "sgd", "sgd-l1") if n in ONLINE])
@pytest.mark.parametrize("n_labels", [3, 4, 7])
@pytest.mark.parametrize("kinds", [(4, 5, 2), (0, 6, 0)])
@pytest.mark.parametrize("batch", [1, 3])
def test_training_equals_the_oracle_where_no_matrix_is_shared(name, n_labels, kinds, batch):
    problem = without_shared_edges(3, n_labels, kinds, n_sentences=12, values=n_labels % 2 == 1)
    settings = batched({"rate": 0.3, "sigma": 1.0, "l1": 0.1}, batch)
    check(name, problem, orders(problem, 3), **settings)


@pytest.mark.parametrize("name", [n for n in ("perceptron", "averaged-perceptron") if n in ONLINE])
@pytest.mark.parametrize("n_labels", [3, 4, 9])
def test_sparse_updates_equal_the_oracle_where_no_matrix_is_shared(name, n_labels):
    problem = without_shared_edges(4, n_labels, (4, 6, 2), n_sentences=16, values=False)
    check(name, problem, orders(problem, 3))


@pytest.mark.parametrize("name", ["adf", "averaged-perceptron"])
@pytest.mark.parametrize("kinds", [(4, 5, 0), (3, 4, 2), (5, 1, 0)])
def test_training_equals_the_oracle_where_some_are_shared(name, kinds):
    problem = random_problem(6, 3, kinds, n_sentences=20, max_length=6)
    check(name, problem, orders(problem, 3))


# ---- growth ---------------------------------------------------------------------------------


@FAST
@given(TEMPLATES, SENTENCES, SENTENCES, LIMITS, LIMITS)
def test_old_predicates_keep_their_kind_and_place(template, old, new, before, limit):
    index, _ = limited(template, old, 1, before)
    grown, encoded = grow(index, columns(new), 1, limit)
    known = set(names(index))
    for was, now in zip(by_kind(index), by_kind(grown), strict=True):
        assert now[: len(was)] == was
    added = set(by_kind(grown)[1]) - known
    assert added == wanted_rich(template, new, 1, limit, known)
    assert_kinds_ascend(grown, encoded)
    assert_kinds_ascend(grown, grown.encode(columns(old)))
    assert named(grown, encoded) == expected(template, new)
    assert grown.extends(index)


def test_the_limit_of_growth_is_that_of_new_features():
    index, _ = limited("*:%x[0,0]", [["a", "d", "d"]], 1, Edges(2))
    assert by_kind(index) == [["*:a"], ["*:d"], []]
    grown, _ = grow(index, columns([["b", "b", "b", "c", "a", "a", "a"]]), 1, Edges(3))
    assert by_kind(grown) == [["*:a", "*:c"], ["*:d", "*:b"], []]


def test_a_model_with_limited_edges_grows():
    first = adaptag.train(DATA, LABELS, rich_edges=True, edge_cutoff=3, passes=5)
    more, labels = [["the", "owl", "sat", "owl"]], [["D", "N", "V", "X"]]
    grown = adaptag.train(more, labels, start=first, edge_cutoff=2, passes=1)
    assert grown.labels == (*first.labels, "X")
    assert grown.index.extends(first.index)
    node, both, _ = by_kind(grown.index)
    old_node, old_both, _ = by_kind(first.index)
    assert both[: len(old_both)] == old_both
    assert node[: len(old_node)] == old_node
    added, rare = both[len(old_both) :], node[len(old_node) :]
    assert any("owl" in name for name in added)
    counts = oracle.counts(first.index.template.text, [[(word,) for word in more[0]]])
    assert all(counts[name] >= 2 for name in added)
    assert all(counts[name] == 1 for name in rare)
    assert rare
    again = adaptag.train(DATA, LABELS, start=first, edge_cutoff=3, passes=1)
    assert again.index.n_of_kind == first.index.n_of_kind
    assert places(first.index, grown.index)[-1] == grown.index.n_predicates - 1


def test_weights_stay_with_their_features_when_a_model_grows():
    first = adaptag.train(DATA, LABELS, rich_edges=True, edge_cutoff=2, passes=5)
    grown = adaptag.train([["owl"]], [["X"]], start=first, algorithm="sgd", rate=1e-12, passes=1)
    for sentence in DATA:
        marginals = grown.marginals(sentence)
        for found, wanted in zip(marginals, first.marginals(sentence), strict=True):
            ratio = found["D"] / found["N"]
            assert ratio > 0
            assert sum(found.values()) == pytest.approx(1, rel=1e-5)
            assert set(found) == {*wanted, "X"}
    unpacked = [
        Problem(len(m.labels), m.index.n_of_kind, [], []).unpack(m.weights) for m in (first, grown)
    ]
    place, y = places(first.index, grown.index), len(first.labels)
    np.testing.assert_allclose(unpacked[1].node[place, :y], unpacked[0].node, atol=1e-6)
    np.testing.assert_allclose(unpacked[1].edge[place, :y, :y], unpacked[0].edge, atol=1e-6)


# ---- attributes -----------------------------------------------------------------------------

FILE = b"X\ta\tb:2\nY\ta\tc:0.5\n\nX\ta\tb:3\nY\td\n"


def test_attributes_have_edge_weights():
    corpus = AttributeCorpus.from_bytes(FILE, "f")
    index, encoded = index_of(corpus, Template.for_attributes().rich())
    assert by_kind(index) == [[], ["a", "b", "c", "d"], ["B"]]
    index, encoded = index_of(corpus, Template.for_attributes().rich(), edges=Edges(2))
    assert by_kind(index) == [["c", "d"], ["a", "b"], ["B"]]
    assert_kinds_ascend(index, encoded)
    named_pairs = [[(index.name(p), v) for p, v in position] for position in pairs(encoded)]
    assert named_pairs == [
        [("a", 1), ("b", 2)],
        [("c", 0.5), ("a", 1), ("B", 1)],
        [("a", 1), ("b", 3)],
        [("d", 1), ("B", 1)],
    ]
    assert pairs(index.encode(corpus)) == pairs(encoded)


@FAST
@given(
    st.lists(
        st.lists(
            st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 9)), max_size=5),
            min_size=1,
            max_size=4,
        ),
        min_size=1,
        max_size=4,
    ),
    LIMITS,
)
def test_values_stay_with_their_attributes(sentences, limit):
    corpus = attributes(sentences)
    index, encoded = index_of(corpus, Template.for_attributes().rich(), 1, limit)
    assert_kinds_ascend(index, encoded)
    for found in (encoded, index.encode(corpus)):
        named_pairs = [
            sorted((index.name(p), v) for p, v in position if index.name(p) != "B")
            for position in pairs(found)
        ]
        assert named_pairs == [sorted(token) for sentence in sentences for token in sentence]


def test_attributes_are_trained_with_rich_edges(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(FILE)
    for limit in ({}, {"edge_cutoff": 2}):
        found = adaptag.train(path, format="attributes", rich_edges=True, passes=20, **limit)
        assert found.index.template.rich_attributes
        loaded = adaptag.Model.from_bytes(found.to_bytes())
        assert loaded.index.template.rich_attributes
        assert loaded.to_bytes() == found.to_bytes()
        grown = adaptag.train(path, format="attributes", start=loaded, passes=1, **limit)
        assert grown.index.n_of_kind == found.index.n_of_kind


# ---- files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [{}, {"edge_cutoff": 2}, {"edge_share": 0.3}])
def test_models_and_datasets_come_back(tmp_path, limit):
    model = adaptag.train(DATA, LABELS, rich_edges=True, passes=2, **limit)
    model.save(tmp_path / "m")
    loaded = adaptag.Model.load(tmp_path / "m")
    assert loaded.to_bytes() == model.to_bytes()
    assert by_kind(loaded.index) == by_kind(model.index)
    assert loaded.marginals(DATA[1]) == model.marginals(DATA[1])
    dataset = adaptag.encode(DATA, LABELS, rich_edges=True, **limit)
    dataset.save(tmp_path / "d")
    again = Dataset.load(tmp_path / "d")
    assert np.array_equal(again.encoded.predicates, dataset.encoded.predicates)
    assert adaptag.train(tmp_path / "d", passes=2).to_bytes() == model.to_bytes()


def test_a_star_line_may_stand_among_node_predicates_but_no_other():
    """A rare feature of a * line has node weights only: such an index can grow."""
    index, _ = limited("*:%x[0,0]\nU:%x[1,0]", [["a", "b", "b"]], 1, Edges(2))
    assert set(by_kind(index)[0]) == {"*:a", "U:b", "U:_B+1"}
    grown, _ = grow(index, columns([["a", "c"]]))
    assert "*:a" in by_kind(grown)[0]
    assert "*:c" in by_kind(grown)[1]
    node, both, edge = index.n_of_kind
    wrong = FeatureIndex(index.template, (0, both + node, edge), index.tensors)
    with pytest.raises(ModelError, match="template line is out of range"):
        grow(wrong, ColumnCorpus.from_sentences([["a"]]))
