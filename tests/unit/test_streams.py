"""Learning from a stream: growing features and labels, limits, snapshots, test then train."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import adaptag
from adaptag import StreamTrainer
from adaptag.corpus.columns import ColumnCorpus
from adaptag.errors import ModelError, ParameterError
from adaptag.features.growing import GrowingIndex
from adaptag.features.template import Template
from adaptag.training.algorithms import algorithms
from adaptag.training.online import Trainer
from tests.unit.making import grow, index_of
from tests.unit.test_growth import CASES, by_kind, values

STREAMED = [name for name, a in algorithms().items() if a.online and not a.looks_ahead]
LABELS = ["QTY", "UNIT", "NAME"]


def sentences(n, seed=1, labels=LABELS):
    """Pairs of sentence and labels: the label of a token is told by its first letter."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        kinds = rng.integers(0, len(labels), rng.integers(1, 7))
        yield [f"{labels[k][0]}{rng.integers(50)}" for k in kinds], [labels[k] for k in kinds]


def learned(trainer, stream, part=10):
    trainer.run(stream, part)
    return trainer.model()


# ---- the index ----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=100)
@given(CASES)
def test_a_growing_index_finds_what_a_built_one_finds(case):
    template, first, second = case
    growing = GrowingIndex(template)
    encoded = [(growing.encode(corpus), growing.n_of_kind) for corpus in (first, second)]
    index = growing.snapshot()
    assert index.n_of_kind == growing.used
    small = np.cumsum([0, *index.n_of_kind])
    for corpus, (found, sizes) in zip((first, second), encoded, strict=True):
        expected = index.encode(corpus)
        room = np.cumsum([0, *sizes])
        kind = np.searchsorted(room, found.predicates, side="right") - 1
        numbers = found.predicates - room[kind] + small[kind]
        assert (found.positions == expected.positions).all()
        assert numbers.tolist() == expected.predicates.tolist()
        assert values(found).tolist() == values(expected).tolist()
    built = grow(index_of(first, template)[0], second)[0]
    assert [set(names) for names in by_kind(index)] == [set(names) for names in by_kind(built)]


def test_the_limit():
    corpus = ColumnCorpus.from_sentences([["a", "b", "c", "d"]])
    growing = GrowingIndex(Template("U:%x[0,0]\nB"), limit=3)
    encoded = growing.encode(corpus)
    assert growing.used == (2, 0, 1)  # a, label bigrams and b
    assert np.diff(encoded.positions).tolist() == [1, 2, 1, 1]
    again = growing.encode(ColumnCorpus.from_sentences([["x", "b", "a"]]))
    assert np.diff(again.positions).tolist() == [0, 2, 2]
    index = growing.snapshot()
    assert index.n_predicates == 3
    assert b"x" not in index.tensors["vocabulary_bytes"].tobytes()


def test_suffixes_of_unknown_words_when_it_is_full():
    growing = GrowingIndex(Template("U:%suffix2[0,0]"), limit=1)
    growing.encode(ColumnCorpus.from_sentences([["walking"]]))
    found = growing.encode(ColumnCorpus.from_sentences([["running", "ran"]]))
    assert np.diff(found.positions).tolist() == [1, 0]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_that_is_none(limit):
    with pytest.raises(ParameterError, match=f"max_features is {limit}; allowed: 1 or more"):
        GrowingIndex(Template("B"), limit)


# ---- the trainer --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STREAMED)
def test_a_stream_is_a_pass_in_order(name):
    """Sentences in parts of any size give the weights of one pass over them all."""
    stream = list(sentences(60))
    trainer = StreamTrainer("general", algorithm=name, pass_size=60)
    model = learned(trainer, iter(stream), part=7)
    dataset = adaptag.encode(*zip(*stream, strict=True), template="general")
    whole = Trainer(dataset, algorithms()[name], {})
    whole.run(np.arange(60, dtype=np.uint32))
    expected = adaptag.Model(dataset.label_names, dataset.index, whole.current_weights())
    assert model.labels == expected.labels
    assert weights_by_name(model) == pytest.approx(weights_by_name(expected), rel=1e-4, abs=1e-5)


def weights_by_name(model):
    found = {}
    for p in range(model.index.n_predicates):
        for part, table in zip("ne", model.weights_of(p), strict=True):
            for place, weight in np.ndenumerate(np.zeros(0) if table is None else table):
                names = "/".join(model.labels[k] for k in place)
                found[f"{model.index.name(p)} {part} {names}"] = float(weight)
    return found


@pytest.mark.parametrize("name", STREAMED)
def test_going_on_from_a_saved_model_changes_no_bit(name, tmp_path):
    stream = list(sentences(60))
    at_once = learned(StreamTrainer(algorithm=name), iter(stream))
    first = learned(StreamTrainer(algorithm=name), iter(stream[:30]))
    first.save(tmp_path / "m")
    second = learned(StreamTrainer(adaptag.Model.load(tmp_path / "m")), iter(stream[30:]))
    assert second.labels == at_once.labels
    assert (second.weights == at_once.weights).all()
    assert second.provenance["algorithm"] == name


def test_parameters_come_from_the_model():
    first = learned(StreamTrainer(parameters={"rate": 0.5}, pass_size=77), sentences(20))
    second = StreamTrainer(first)
    model = learned(second, sentences(5))
    assert model.provenance["parameters"]["rate"] == 0.5
    assert model.provenance["stream"]["pass_size"] == 77


def test_a_model_without_state_starts_with_fresh_rates():
    model = adaptag.train(*zip(*sentences(30), strict=True))
    trained = learned(StreamTrainer(model), sentences(30, seed=2))
    assert trained.labels == model.labels
    assert (trained.weights[: len(model.weights)] != model.weights).any()


def test_labels_and_features_are_added():
    trainer = StreamTrainer()
    learned(trainer, sentences(20))
    before = trainer.progress.features
    model = learned(trainer, sentences(200, labels=[*LABELS, "XTRA"]))
    assert model.labels[-1] == "XTRA"
    assert trainer.progress.features > before
    assert model.tag(["X7", "Q3"]) == ["XTRA", "QTY"]


def test_every_sentence_is_tagged_before_it_is_learned():
    stream = list(sentences(40))
    trainer = StreamTrainer()
    right = 0
    for sentence, labels in stream:
        before = trainer.model().tag(sentence) if trainer.progress.sentences else None
        evaluation = trainer.learn([sentence], [labels])
        if before is not None:
            now = sum(a == b for a, b in zip(before, labels, strict=True))
            assert evaluation.correct_tokens == now
            right += now
    assert trainer.progress.sentences == 40
    assert right <= trainer.progress.score.correct_tokens <= right + len(stream[0][0])
    assert trainer.progress.recent.tokens < trainer.progress.score.tokens


def test_a_limit_bounds_features_and_memory():
    trainer = StreamTrainer("U:%x[0,0]\nB", max_features=100)
    sizes = []
    for n in range(30):
        learned(trainer, sentences(20, seed=n))
        sizes.append((trainer.progress.features, len(trainer.model().to_bytes()) // 2000))
    assert sizes[-1][0] == 100
    assert sizes[-1] == sizes[-10]


def test_hashed_features():
    trainer = StreamTrainer(hash_bits=10)
    model = learned(trainer, sentences(300))
    assert trainer.progress.features == 2**10 + 1
    assert model.index.is_hashed
    assert trainer.progress.recent.accuracy > 90
    again = learned(StreamTrainer(model), sentences(10))
    assert again.index.n_of_kind == model.index.n_of_kind


def test_dictionaries():
    stream = (([{"w": token} for token in s], y) for s, y in sentences(200))
    model = learned(StreamTrainer(), stream)
    assert model.index.template.attributes


def test_labels_that_are_not_known():
    stream = (
        (s, [None if k % 3 == 0 else label for k, label in enumerate(y)]) for s, y in sentences(300)
    )
    trainer = StreamTrainer()
    model = learned(trainer, stream)
    assert set(model.labels) == set(LABELS)
    assert trainer.progress.score.tokens == 0  # no sentence is known as a whole
    assert model.tag(["Q1", "U2", "N3"]) == LABELS


def test_an_endless_stream():
    endless = itertools.cycle(list(sentences(50)))
    trainer = StreamTrainer()
    seen = []

    def stop(progress):
        seen.append(progress.sentences)
        return progress.sentences >= 500

    assert trainer.run(endless, part=25, on_progress=stop).sentences == 500
    assert seen == list(range(25, 501, 25))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"algorithm": "lbfgs"}, "lbfgs needs all data at once"),
        ({"algorithm": "madf"}, "madf needs all data at once"),
        ({"parameters": {"rate": "auto"}}, "rate is auto"),
        ({"parameters": {"speed": 1}}, "unknown parameter 'speed'"),
        ({"pass_size": -1}, r"pass_size is -1; allowed: integer \[1, inf\)"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        StreamTrainer(**given)


def test_a_stream_that_has_not_begun():
    with pytest.raises(ModelError, match="the stream has not begun"):
        StreamTrainer().model()


def test_columns_that_are_missing():
    trainer = StreamTrainer("U:%x[0,1]")
    with pytest.raises(adaptag.AdaptagError, match="column 1 is asked for"):
        trainer.learn([["a"]], [["X"]])


def test_damaged_state():
    model = learned(StreamTrainer(), sentences(10))
    broken = replace(model, state={**model.state, "run_state": np.zeros(3, np.uint8)})
    with pytest.raises(ModelError, match="does not fit"):
        StreamTrainer(broken).learn([["Q1"]], [["QTY"]])
