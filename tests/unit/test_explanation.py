"""Explanations: the arguments at a token add up to what the rival lacks."""

from __future__ import annotations

import json
import math

import pytest

import adaptag
from adaptag.corpus.ingredients import ingredients
from adaptag.errors import AdaptagError, ParameterError

SPLITS = ingredients(60, 0, 20)
TRAIN = [s.tokens for s in SPLITS.train], [s.labels for s in SPLITS.train]
TEST = [s.tokens for s in SPLITS.test]
TEMPLATE = "U:%x[0,0]\n*1:%x[-1,0]\n*2:%suffix2[0,0]\nB\nB3:%x[0,0]\n"


@pytest.fixture(scope="module")
def plain():
    return adaptag.train(*TRAIN, passes=3)


@pytest.fixture(scope="module")
def rich():
    return adaptag.train(*TRAIN, template=TEMPLATE, edge_cutoff=3, passes=3)


@pytest.mark.parametrize("kind", ["plain", "rich"])
def test_arguments_add_up_to_the_log_odds(kind, request):
    model = request.getfixturevalue(kind)
    for sentence in TEST:
        labels = model.tag(sentence)
        best = model.probability(sentence, labels)
        for t, one in enumerate(model.explain(sentence)):
            changed = [*labels[:t], one.rival, *labels[t + 1 :]]
            odds = math.log(best / model.probability(sentence, changed))
            assert one.margin == pytest.approx(odds, abs=2e-3)


def test_labels_and_probabilities_are_those_of_the_model(plain):
    sentence = TEST[0]
    found = plain.explain(sentence)
    marginals = plain.marginals(sentence)
    assert [one.label for one in found] == plain.tag(sentence)
    assert len(found) == len(sentence)
    for one, row in zip(found, marginals, strict=True):
        assert one.probability == pytest.approx(row[one.label])
        rest = {label: p for label, p in row.items() if label != one.label}
        assert one.rival == max(rest, key=rest.get)
        weights = [abs(a.weight) for a in one.arguments]
        assert weights == sorted(weights, reverse=True)
        assert 0 not in weights
    names = {a.name for a in found[1].arguments}
    assert f"{found[0].label} → {found[1].label}" in names


def test_a_single_label_has_no_rival():
    model = adaptag.train([["a"], ["b"]], [["X"], ["X"]], passes=1)
    (one,) = model.explain(["a"])
    assert (one.rival, one.rival_probability, one.arguments, one.margin) == ("", 0.0, (), 0)


def test_weights_of_every_kind(rich):
    node, both, edge = rich.index.n_of_kind
    assert min(node, both, edge) > 0
    nodes, edges = rich.node_weights(), rich.edge_weights()
    for p in (0, node - 1, node, node + both - 1):
        assert (rich.weights_of(p)[0] == nodes[p]).all()
    for p in (node, node + both - 1, node + both, node + both + edge - 1):
        assert (rich.weights_of(p)[1] == edges[p - node]).all()
    assert rich.weights_of(0)[1] is None
    assert rich.weights_of(node + both)[0] is None
    n = node + both + edge
    for model in (rich, rich.compact(prune=0.0)):
        for predicate in ("x", 1.5, -1, n):
            with pytest.raises(ParameterError, match=r"the predicate is .*; allowed: 0 to "):
                model.weights_of(predicate)


def test_the_table_and_json(plain, program):
    plain.save("m")
    command = ["inspect", "m", "--explain", "2 cups flour"]
    told = json.loads(program(*command, "--json").out)
    assert [one["token"] for one in told["tokens"]] == [["2"], ["cups"], ["flour"]]
    assert told == json.loads(json.dumps(plain.explain(["2", "cups", "flour"]).to_dict()))
    shown = program(*command, "--top", "1").out
    assert "cups" in shown
    assert "against" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--explain", " "], "the sentence is empty"),
        (["--json"], "--json requires --explain"),
    ],
)
def test_bad_questions(plain, program, arguments, message):
    plain.save("m")
    done = program("inspect", "m", *arguments)
    assert done.code == 2
    assert message in done.err


def test_columns_are_parted_by_the_last_slashes(program):
    model = adaptag.train(
        [[("1/2", "CD"), ("cup", "NN")]], [["Q", "U"]], template="U:%x[0,0]/%x[0,1]\nB\n", passes=1
    )
    model.save("m")
    command = ["inspect", "m", "--json", "--explain"]
    told = json.loads(program(*command, "1/2/CD cup/NN").out)
    assert [one["token"] for one in told["tokens"]] == [["1/2", "CD"], ["cup", "NN"]]
    done = program(*command, "cup")
    assert done.code == 2
    assert "token 'cup' has 1 column; the model needs 2" in done.err


def test_attributes_have_no_tokens(tmp_path):
    (tmp_path / "a").write_text("X\tf\nY\tg\n")
    model = adaptag.train(tmp_path / "a", format="attributes", passes=1)
    with pytest.raises(AdaptagError, match="attributes"):
        model.explain(["f"])


@pytest.mark.parametrize("sentence", [None, True, "a b", [1], [None]])
def test_what_is_no_sentence_is_refused(plain, sentence):
    with pytest.raises(AdaptagError, match="sentence"):
        plain.explain(sentence)
