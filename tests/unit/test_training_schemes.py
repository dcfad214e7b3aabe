"""A model that was trained with another label scheme gives labels like those of its data."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest

import adaptag
from adaptag.corpus.settings import SCHEMES
from adaptag.errors import CorpusError, ModelError, ParameterError
from adaptag.estimators.crf import CRF
from adaptag.storage.tensors import read_tensors, write_tensors
from adaptag.training.callbacks import Callback
from tests.reference.crf import chunks
from tests.reference.schemes import convert, write

SENTENCES = [
    ["in", "New", "York", "or", "Paris"],
    ["Paris", "Rome", "and", "the", "United", "Nations"],
    ["New", "York", "City", "Hall", "today"],
    ["Ann", "saw", "Rome"],
]
CHUNKS = [
    [(1, 2, "LOC"), (4, 4, "LOC")],
    [(0, 0, "LOC"), (1, 1, "LOC"), (4, 5, "ORG")],
    [(0, 2, "LOC"), (3, 3, "LOC")],
    [(0, 0, "ORG"), (2, 2, "LOC")],
]
NEW = ["Rome", "New", "Hall"]
PAIRS = list(itertools.product(SCHEMES, SCHEMES))


def labels_in(scheme):
    return [write(c, len(s), scheme) for c, s in zip(CHUNKS, SENTENCES, strict=True)]


def model(scheme, own="iob2", **options):
    return adaptag.train(SENTENCES, labels_in(own), scheme=scheme, **{"passes": 3, **options})


def states_model(trained):
    """The same weights as a model whose labels are the states."""
    return replace(trained, labels=trained.states, configuration={})


def expected_paths(trained, sentence):
    """Every labelling that the model can give, with its probability, by way of the states."""
    plain, paths = states_model(trained), {}
    for states in itertools.product(trained.states, repeat=len(sentence)):
        p = plain.probability(sentence, states)
        labels = tuple(convert(states, trained.label_scheme))
        if p > 0:
            assert labels not in paths  # one sequence of states for each labelling
            paths[labels] = p
    return paths


# ---- decoding ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scheme", "own"), PAIRS)
def test_training_data_is_learned_and_comes_back_in_its_own_scheme(scheme, own):
    trained = model(scheme, own, passes=20)
    assert (trained.training_scheme, trained.label_scheme) == (scheme, own)
    assert trained.tag_all(SENTENCES) == labels_in(own)
    assert [trained.tag(s) for s in SENTENCES] == labels_in(own)
    assert trained.tag_all(SENTENCES, legal="auto") == labels_in(own)
    assert set(itertools.chain(*labels_in(own))) <= set(trained.labels)
    result = trained.evaluate(SENTENCES, labels_in(own))
    assert (result.chunks.f1, result.accuracy) == (100, 100)


@pytest.mark.parametrize(("scheme", "own"), PAIRS)
def test_all_methods_agree_with_brute_force_over_the_states(scheme, own):
    trained = model(scheme, own)
    paths = expected_paths(trained, NEW)
    assert sum(paths.values()) == pytest.approx(1, abs=1e-4)
    for labels in itertools.product(trained.labels, repeat=3):
        expected = paths.get(labels, 0)
        assert trained.probability(NEW, labels) == pytest.approx(expected, abs=1e-5)
    best = max(paths, key=paths.get)
    assert tuple(trained.tag(NEW)) == best
    found = trained.nbest(NEW, 7)
    assert [p for _, p in found] == pytest.approx(sorted(paths.values())[::-1][:7], abs=1e-5)
    assert all(p == pytest.approx(paths[tuple(y)], abs=1e-5) for y, p in found)
    for t, row in enumerate(trained.marginals(NEW)):
        assert list(row) == list(trained.labels)
        for label, p in row.items():
            expected = sum(q for y, q in paths.items() if y[t] == label)
            assert p == pytest.approx(expected, abs=1e-5)
    for segment in trained.segments(NEW):
        chunk = segment.first, segment.last, segment.type
        assert chunk in chunks(best)
        expected = sum(q for y, q in paths.items() if chunk in chunks(y))
        assert segment.probability == pytest.approx(expected, abs=1e-5)
        assert trained.segment_probability(NEW, *chunk) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("scheme", "own"), PAIRS)
def test_tokens_can_be_restricted_to_labels(scheme, own):
    trained = model(scheme, own)
    paths = expected_paths(trained, NEW)
    rng = np.random.default_rng(1)
    for _ in range(12):
        allowed = [
            None if rng.random() < 0.3 else [x for x in trained.labels if rng.random() < 0.5]
            for _ in NEW
        ]
        left = {
            y: p
            for y, p in paths.items()
            if all(a is None or x in a for x, a in zip(y, allowed, strict=True))
        }
        if not left:
            with pytest.raises(CorpusError):
                trained.tag(NEW, allowed=allowed)
            continue
        total = sum(left.values())
        assert left[tuple(trained.tag(NEW, allowed=allowed))] == pytest.approx(max(left.values()))
        (first, p), *_ = trained.nbest(NEW, 2, allowed=allowed)
        assert p == pytest.approx(left[tuple(first)] / total, abs=1e-4)
        for t, row in enumerate(trained.marginals(NEW, allowed=allowed)):
            for label, p in row.items():
                expected = sum(q for y, q in left.items() if y[t] == label) / total
                assert p == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("own", ["iob1", "iob2"])
def test_an_explanation_speaks_of_the_labels(own):
    trained = model("bioes", own)
    explanation = trained.explain(NEW)
    assert [token.label for token in explanation] == trained.tag(NEW)
    for token, row in zip(explanation, trained.marginals(NEW), strict=True):
        assert token.probability == pytest.approx(row[token.label], abs=1e-5)
        assert token.rival in trained.labels
        assert row[token.rival] == max(p for label, p in row.items() if label != token.label)
        for argument in token.arguments:
            if "→" in argument.name:
                assert set(argument.name.split(" → ")) <= set(trained.labels)


def test_the_letters_of_the_data_are_kept():
    names = str.maketrans("ES", "LU")
    bilou = [[f"{x[0].translate(names)}{x[1:]}" for x in s] for s in labels_in("bioes")]
    trained = adaptag.train(SENTENCES, bilou, scheme="iob2", passes=20)
    assert trained.tag_all(SENTENCES) == bilou


@pytest.mark.parametrize(("scheme", "output"), PAIRS)
def test_another_scheme_can_be_asked_for(scheme, output):
    trained = model(scheme, "iob2", output_scheme=output, passes=20)
    assert trained.label_scheme == output
    assert trained.tag_all(SENTENCES) == labels_in(output)
    for gold in (labels_in("iob2"), labels_in("bioes"))[: 1 + (output != "iob2")]:
        result = trained.evaluate(SENTENCES, gold)
        assert (result.chunks.f1, result.accuracy) == (100, 100)


# ---- training ------------------------------------------------------------------------------------


def test_training_is_that_of_converted_labels():
    trained = model("bioes")
    labels = labels_in("bioes")
    converted = adaptag.train(SENTENCES, labels, scheme="as-is", legal="bioes", passes=3)
    losses = [[p["loss"] for p in m.provenance["passes"]] for m in (trained, converted)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    # The order of labels differs, and the B-ORG of no chunk is not trained.
    for label in converted.labels:
        column = trained.states.index(label)
        expected = converted.node_weights()[:, converted.labels.index(label)]
        assert trained.node_weights()[:, column] == pytest.approx(expected, abs=1e-5)


def test_slips_are_read_as_conlleval_reads_them():
    sentences, labels = SENTENCES * 30, labels_in("iob2") * 30
    labels[0] = ["I-LOC" if x == "B-LOC" else x for x in labels[0]]
    with pytest.raises(CorpusError, match="sentence 1"):
        adaptag.train(sentences, labels, scheme="as-is", legal="auto", passes=1)
    trained = adaptag.train(sentences, labels, scheme="iob2", passes=5)
    assert trained.tag_all(SENTENCES) == labels_in("iob2")


@pytest.mark.parametrize(
    ("options", "scheme"),
    [
        ({}, "bioes"),
        ({"scheme": "as-is"}, None),
        ({"rich_edges": True}, None),
        ({"template": "U:%x[0,0]\nB:%x[0,0]"}, None),
        ({"template": "U:%x[0,0]\nB"}, "bioes"),
        ({"hash_bits": 8}, "bioes"),
        ({"legal": [("O", "O"), (None, "O"), ("O", None)]}, None),
    ],
)
def test_by_default_chunks_are_trained_with_bioes_where_that_costs_little(options, scheme):
    labels = [["O"] * len(s) for s in SENTENCES] if "legal" in options else labels_in("iob2")
    trained = adaptag.train(SENTENCES, labels, passes=1, **options)
    assert trained.training_scheme == scheme
    assert set(trained.labels) <= {"O", "B-LOC", "I-LOC", "B-ORG", "I-ORG"}


def test_by_default_many_types_labels_of_no_scheme_and_unknown_ones_stay_as_they_are():
    def scheme(labels):
        return adaptag.train([["a", "b"]] * len(labels), labels, passes=1).training_scheme

    types = [["B-" + kind, "I-" + kind] for kind in "UVWXYZ"]
    assert scheme(types[:5]) == "bioes"
    assert scheme(types) is None
    assert scheme([["B-X", None], ["O", "O"]]) is None
    assert scheme([["B-X", "E-X"], ["B-X", "O"]]) is None  # a chunk of one token that is no S


def test_labels_that_mark_no_chunks_stay_as_they_are():
    for scheme in ("bioes", "auto"):
        trained = adaptag.train([["a", "b"]] * 9, [["DT", "NN"]] * 9, passes=2, scheme=scheme)
        assert trained.labels == trained.states == ("DT", "NN")
        assert trained.training_scheme is None
    mixed = [[*s, "XYZ"] for s in labels_in("iob2")]
    trained = adaptag.train([[*s, "x"] for s in SENTENCES], mixed, scheme="bioes", passes=20)
    assert trained.tag_all([[*s, "x"] for s in SENTENCES]) == mixed


def test_labels_of_no_scheme_need_an_output_scheme():
    """B, I and E, where a chunk of one token is B: to write S for it would be another scheme."""
    bie = [[x.replace("S-", "B-") for x in s] for s in labels_in("bioes")]
    with pytest.raises(
        ParameterError, match=r"follow no scheme .*'bioes' comes closest.*: give output_scheme"
    ):
        adaptag.train(SENTENCES, bie, scheme="iob2")
    assert adaptag.train(SENTENCES, bie, scheme="auto", passes=1).training_scheme is None
    trained = adaptag.train(SENTENCES, bie, scheme="bioes", output_scheme="iob2", passes=20)
    assert trained.tag_all(SENTENCES) == labels_in("iob2")


def test_labels_that_are_not_known():
    labels = [list(s) for s in labels_in("iob2")]
    labels[0][3] = labels[1][0] = labels[2][1] = None
    trained = adaptag.train(SENTENCES, labels, scheme="bioes", passes=20)
    assert trained.training_scheme == "bioes"
    assert trained.tag(SENTENCES[3]) == labels[3]
    assert adaptag.train(SENTENCES, labels, scheme="auto", passes=2).training_scheme is None


@pytest.mark.parametrize("legal", [None, "auto", "iob2", "bioes", "seen"])
def test_transitions(legal):
    trained = model("bioes", legal=legal, passes=20)
    assert trained.tag_all(SENTENCES) == labels_in("iob2")
    number = trained.states.index
    assert trained.legal[number("O"), number("B-LOC")]
    assert not trained.legal[number("O"), number("I-LOC")]
    assert trained.legal[number("S-ORG"), number("S-LOC")] == (legal != "seen")
    with pytest.raises(ParameterError, match="unknown legal 'ioe2'"):
        model("bioes", legal="ioe2")
    with pytest.raises(ParameterError, match="pairs of labels"):
        model("bioes", legal=[("B-LOC", "I-LOC")])
    assert model("auto", legal=[(a, b) for a in trained.labels for b in trained.labels])
    with pytest.raises(ParameterError, match=r"'bioes', but .* 'iob2'"):
        trained.tag(NEW, legal="bioes")


# ---- the choice of a scheme ----------------------------------------------------------------------


class Notes(Callback):
    def __init__(self):
        self.notes = []

    def on_note(self, text):
        self.notes.append(text)


def test_auto_chooses_on_held_out_sentences():
    notes = Notes()
    sentences, labels = SENTENCES * 10, labels_in("iob2") * 10
    trained = adaptag.train(sentences, labels, scheme="auto", passes=5, callbacks=[notes])
    scores = trained.provenance["scheme_scores"]
    assert set(scores) == {"iob2", "bioes"}
    assert trained.training_scheme == max(scores, key=scores.get)
    assert "32 sentences" in notes.notes[0]
    assert notes.notes[1].startswith(f"label scheme: {trained.training_scheme} (iob2 ")
    given = adaptag.train(sentences, labels, scheme=trained.training_scheme, passes=5)
    assert given.weights.tobytes() == trained.weights.tobytes()
    for scheme in ("iob2", "bioes"):  # on the part that was held out, by three passes
        short = adaptag.train(sentences[:32], labels[:32], scheme=scheme, passes=3)
        found = short.evaluate(sentences[32:], labels[32:]).score
        assert found == pytest.approx(scores[scheme], abs=1e-9)


def test_auto_calibrates_only_what_it_chooses():
    sentences, labels = SENTENCES * 10, labels_in("iob2") * 10
    options = {"dev": (SENTENCES, labels_in("iob2")), "passes": 2, "calibrate": True}
    chosen = adaptag.train(sentences, labels, scheme="auto", **options)
    given = adaptag.train(sentences, labels, scheme=chosen.training_scheme, **options)
    assert chosen.temperature == given.temperature != 1


def test_auto_is_bioes_where_the_data_is():
    trained = adaptag.train(SENTENCES * 2, labels_in("bioes") * 2, scheme="auto", passes=2)
    assert (trained.training_scheme, trained.label_scheme) == ("bioes", "bioes")


def test_auto_with_a_batch_algorithm():
    trained = adaptag.train(
        SENTENCES * 3, labels_in("iob2") * 3, scheme="auto", algorithm="lbfgs", passes=5
    )
    assert set(trained.provenance["scheme_scores"]) == {"iob2", "bioes"}
    assert trained.provenance["algorithm"] == "lbfgs"


# ---- continuing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["bioes", "auto"])
def test_a_checkpoint_keeps_its_scheme(tmp_path, scheme):
    data = SENTENCES * 3, labels_in("iob1") * 3
    dev = [list(zip(*pair, strict=True)) for pair in zip(SENTENCES, labels_in("iob1"), strict=True)]
    whole = adaptag.train(*data, scheme=scheme, passes=5, dev=dev)
    adaptag.train(*data, scheme=scheme, passes=2, dev=dev, checkpoint=tmp_path / "c")
    resumed = adaptag.train(*data, scheme=scheme, passes=5, dev=dev, resume=tmp_path / "c")
    assert resumed.to_bytes() == whole.to_bytes()
    assert resumed.training_scheme == whole.training_scheme
    with pytest.raises(ParameterError, match="was trained with the label scheme"):
        adaptag.train(*data, passes=3, resume=tmp_path / "c", scheme="ioe2")


@pytest.mark.parametrize("scheme", ["as-is", "bioes"])
def test_transitions_that_the_model_to_start_from_rules_out_are_refused(scheme):
    """Training used to diverge on them."""
    start = adaptag.train(
        [["a", "b"], ["c"]], [["B-X", "I-X"], ["O"]], legal="seen", scheme=scheme, passes=1
    )
    with pytest.raises(CorpusError, match="sentence 2: 'O' and then 'O'; the transitions rule"):
        adaptag.train([["c"], ["a", "b"]], [["O"], ["O", "O"]], start=start, passes=1)


@pytest.mark.parametrize("own", SCHEMES)
def test_training_continues_from_a_model_with_new_labels(own):
    start = model("bioes", own)
    more = [["Bob", "Smith", "in", "Oslo"]] * 4
    found = [[(0, 1, "PER"), (3, 3, "LOC")]] * 4
    for scheme in (own, "iob2"):  # any scheme is read
        labels = [write(c, 4, scheme) for c in found]
        grown = adaptag.train(
            [*more, *SENTENCES], [*labels, *labels_in(scheme)], start=start, passes=20
        )
        assert grown.states[: len(start.states)] == start.states
        assert grown.labels[: len(start.labels)] == start.labels
        assert (grown.training_scheme, grown.label_scheme) == ("bioes", own)
        assert grown.tag(more[0]) == write(found[0], 4, own)
        assert grown.tag_all(SENTENCES) == labels_in(own)
    with pytest.raises(ParameterError, match="was trained with the label scheme 'bioes'"):
        adaptag.train(SENTENCES, labels_in(own), start=start, scheme="ioe2")


def test_a_model_that_was_trained_as_it_is_continues_so():
    start = model("as-is")
    grown = adaptag.train(SENTENCES, labels_in("iob2"), start=start, scheme="auto", passes=1)
    assert grown.training_scheme is None
    with pytest.raises(ParameterError, match=r"'bioes', but .* 'iob2'"):
        adaptag.train(SENTENCES, labels_in("iob2"), start=start, scheme="bioes")


@pytest.mark.parametrize("own", SCHEMES)
def test_streams(own):
    stream = list(zip(SENTENCES, labels_in(own), strict=True)) * 20
    trainer = adaptag.StreamTrainer("general", scheme="bioes", pass_size=40)
    trainer.run(iter(stream[:40]), part=3)
    first = adaptag.Model.from_bytes(trainer.model().to_bytes())
    assert (first.training_scheme, first.label_scheme) == ("bioes", own)
    trainer.run(iter(stream[40:]), part=3)
    trained = trainer.model()
    assert trained.tag_all(SENTENCES) == labels_in(own)
    assert trainer.progress.recent.score == 100
    assert trainer.progress.recent.accuracy == 100
    continued = adaptag.StreamTrainer(first)
    continued.run(iter(stream[40:]), part=3)
    assert continued.model().weights.tobytes() == trained.weights.tobytes()
    assert continued.model().labels == trained.labels
    with pytest.raises(ParameterError, match="cannot be sampled"):
        adaptag.StreamTrainer(scheme="auto")
    with pytest.raises(ParameterError, match="trained with the label scheme 'bioes'"):
        adaptag.StreamTrainer(first, scheme="ioe2")


def test_a_stream_with_another_output_scheme():
    stream = list(zip(SENTENCES, labels_in("iob2"), strict=True)) * 20
    trainer = adaptag.StreamTrainer("general", scheme="bioes", output_scheme="ioe2", pass_size=40)
    trainer.run(iter(stream), part=3)
    assert trainer.progress.recent.accuracy == 100
    trained = trainer.model()
    assert trained.tag_all(SENTENCES) == labels_in("ioe2")
    continued = adaptag.StreamTrainer(trained)  # on any scheme
    continued.run(iter(zip(SENTENCES, labels_in("bioes"), strict=True)), part=3)
    assert continued.progress.score.accuracy == 100
    assert continued.model().labels == trained.labels
    assert trained.evaluate(SENTENCES, labels_in("iob2")).accuracy == 100
    with pytest.raises(ParameterError, match="output_scheme needs a scheme"):
        adaptag.StreamTrainer(output_scheme="ioe2")


# ---- estimators ----------------------------------------------------------------------------------


def test_the_estimator():
    X = [[{"word": word} for word in sentence] for sentence in SENTENCES]
    y = labels_in("iob2")
    crf = CRF(scheme="bioes", passes=20).fit(X, y)
    assert crf.predict(X) == y
    assert crf.score(X, y) == 1
    assert set(crf.classes_) == {x for s in y for x in s}
    assert crf.get_params()["scheme"] == "bioes"
    assert any(label.startswith("S-") for _, label in crf.state_features_)
    assert pickle.loads(pickle.dumps(crf)).predict(X) == y
    other = CRF(scheme="bioes", output_scheme="ioe2", passes=20).fit(X, y)
    assert other.predict(X) == labels_in("ioe2")
    assert other.score(X, y) == 1
    for row in other.predict_marginals(X)[0]:
        assert set(row) == set(other.classes_)
    part = CRF(scheme="bioes")
    for _ in range(20):
        part.partial_fit(X, y)
    assert part.predict(X) == y
    with pytest.raises(ParameterError, match="scheme is 'bois'"):
        CRF(scheme="bois").fit(X, y)


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", SCHEMES)
def test_files_and_compact_models(tmp_path, own):
    trained = model("bioes", own, passes=20)
    trained.save(tmp_path / "m")
    for copy in (
        adaptag.Model.load(tmp_path / "m"),
        adaptag.Model.from_bytes(trained.compact(prune=0, weights="float32").to_bytes()),
    ):
        assert (copy.labels, copy.states) == (trained.labels, trained.states)
        assert copy.training_scheme == "bioes"
        assert copy.tag_all(SENTENCES) == labels_in(own)
        for a, b in zip(copy.marginals(NEW), trained.marginals(NEW), strict=True):
            assert a == pytest.approx(b, abs=1e-4)


@pytest.mark.parametrize(
    ("names", "change"),
    [
        (["states"], lambda h: h["labels"]),
        (["states"], lambda h: [*h["states"][:-1], "Q"]),
        (["labels"], lambda h: h["labels"][:-1]),
        (["labels"], lambda h: [*h["labels"], h["labels"][0]]),
        (["configuration", "labels", "training_scheme"], lambda _: None),
        (["configuration", "labels", "training_scheme"], lambda _: "ioe2"),
        (["configuration", "labels", "training_scheme"], lambda _: 7),
        (["configuration", "labels", "scheme"], lambda _: "ioe2"),
        (["configuration", "labels", "scheme"], lambda _: None),
        (["configuration", "labels", "rewritten"], lambda _: "yes"),
        (["legal"], lambda _: None),
        (["legal"], np.ones_like),
        (["legal"], np.zeros_like),
        (["legal"], lambda legal: legal[:-1]),
    ],
)
def test_damaged_files_are_refused(tmp_path, names, change):
    model("bioes").save(tmp_path / "m")
    header, tensors = read_tensors(tmp_path / "m", "model")
    if names == ["legal"]:
        changed = change(tensors["legal"])
        tensors = {**tensors, "legal": changed}
        tensors = {name: array for name, array in tensors.items() if array is not None}
    else:
        *sections, last = names
        section = header
        for name in sections:
            section = section[name]
        section[last] = change(header)
    with (tmp_path / "d").open("wb") as file:
        write_tensors(file, "model", header, tensors)
    with pytest.raises(ModelError, match="malformed model"):
        adaptag.Model.load(tmp_path / "d")
