"""The temperature of a model: probabilities of the core, the search, files, training."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import adaptag
from adaptag.classification.documents import DocumentClassifier
from adaptag.corpus.chunks import ChunkScheme
from adaptag.corpus.ingredients import ingredients
from adaptag.decoding.calibration import best_temperature
from adaptag.decoding.model import Model
from adaptag.decoding.temperature import HIGHEST, LOWEST, fit_temperature
from adaptag.errors import CorpusError, ModelError, ParameterError
from tests.reference import crf
from tests.reference.calibration import cooled, label_log_likelihood
from tests.reference.crf import BruteForce
from tests.reference.data import KINDS, random_problem
from tests.unit import hostile
from tests.unit.test_lattice import LABEL_SETS, LEGAL, open_mask

TEMPERATURES = [0.2, 1.0, 3.0, 50.0, 4000.0]
every_temperature = pytest.mark.parametrize("temperature", TEMPERATURES)


@pytest.fixture(scope="module")
def parts():
    corpus = ingredients(train=150, dev=80, test=80)
    return [
        ([line.tokens for line in part], [line.labels for line in part])
        for part in (corpus.train, corpus.dev, corpus.test)
    ]


@pytest.fixture(scope="module")
def model(parts):
    return adaptag.train(*parts[0], algorithm="averaged-perceptron", passes=5)


# ---- the core ---------------------------------------------------------------------------------


@every_temperature
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("masked", [False, True])
def test_all_probabilities_are_those_of_divided_scores(temperature, kind, masked):
    n = 4
    problem = random_problem(7, n, KINDS[kind], n_sentences=5, max_length=4, edges_at_start=True)
    weights = problem.random_weights(7, 2.0)
    decoder, plain = problem.decoder(weights, temperature), problem.decoder(weights)
    legal = None
    if masked:
        legal = open_mask(np.random.default_rng(1), (n + 1, n + 1), 0.5)
        legal[0, -1] = 1
    scores = [crf.constrained(crf.scores(s, weights), legal) for s in problem.sentences]
    brute = [BruteForce(cooled(s, temperature)) for s in scores]
    offsets = problem.dataset.encoded.sentences

    table, log_z = decoder.marginals(problem.native, legal, None)
    np.testing.assert_allclose(log_z, [b.log_z for b in brute], rtol=1e-5, atol=1e-5)
    for found, b in zip(np.split(table, offsets[1:-1]), brute, strict=True):
        np.testing.assert_allclose(found, b.marginals().node, atol=5e-6)

    best = decoder.viterbi(problem.native, legal, None)
    assert best.tolist() == plain.viterbi(problem.native, legal, None).tolist()
    labels = problem.dataset.native(problem.dataset.layout)
    if not masked:
        expected = [
            b.scores[b.number(y)] - b.log_z for b, y in zip(brute, problem.labels, strict=True)
        ]
        found = decoder.log_probabilities(labels, None)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    for (paths, log_p), (plain_paths, _), b in zip(
        decoder.n_best(problem.native, 6, legal, None),
        plain.n_best(problem.native, 6, legal, None),
        brute,
        strict=True,
    ):
        assert paths.tolist() == plain_paths.tolist()
        expected = [b.scores[b.number(path)] - b.log_z for path in paths]
        np.testing.assert_allclose(log_p, expected, rtol=1e-5, atol=1e-5)


@every_temperature
@pytest.mark.parametrize("name", LEGAL)
def test_probabilities_of_segments(temperature, name):
    labels = LABEL_SETS[name]
    scheme = ChunkScheme(labels)
    mask = scheme.legal(LEGAL[name]).astype(np.uint8)
    problem = random_problem(3, len(labels), max_length=4)
    weights = problem.random_weights(3, 2.0)
    rows, expected = [], []
    for i, sentence in enumerate(problem.sentences):
        scores = cooled(crf.constrained(crf.scores(sentence, weights), mask), temperature)
        known = BruteForce(scores).segments(labels)
        places = itertools.combinations_with_replacement(range(len(sentence)), 2)
        for (first, last), (k, kind) in itertools.product(places, enumerate(scheme.types)):
            rows.append((i, first, last, k))
            expected.append(known.get((first, last, kind), 0.0))
    found = problem.decoder(weights, temperature).segment_probabilities(
        problem.native,
        np.array(rows, np.int64),
        scheme.type_of,
        scheme.starts.astype(np.uint8),
        scheme.ends.astype(np.uint8),
        mask,
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf])
def test_the_core_refuses_what_is_no_temperature(temperature):
    problem = random_problem(1, 3)
    with pytest.raises(ValueError, match="temperature"):
        problem.decoder(problem.zeros(), temperature)


# ---- the search -------------------------------------------------------------------------------


@pytest.mark.parametrize("best", [LOWEST * 1.5, 0.3, 0.9, 1.0, 1.7, 20.0, HIGHEST / 3])
def test_the_search_finds_the_maximum(best):
    found = fit_temperature(lambda t: -(math.log(t / best) ** 2))
    assert found == pytest.approx(best, rel=2e-4)


def test_the_search_stays_within_its_bounds():
    assert fit_temperature(lambda t: -t) == pytest.approx(LOWEST, rel=1e-3)
    assert fit_temperature(lambda t: t) == pytest.approx(HIGHEST, rel=1e-3)
    with pytest.raises(CorpusError, match="no sentence whose labels are known"):
        fit_temperature(lambda _: 0.0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("partial", [False, True])
def test_the_likelihood_is_that_of_all_paths(seed, partial):
    """Labels are drawn from the model at a temperature of 2, so that there is a maximum."""
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, 3, n_sentences=40, max_length=4)
    weights = problem.random_weights(seed, 1.5)
    scores = [crf.scores(s, weights) for s in problem.sentences]
    labels = []
    for s in scores:
        b = BruteForce(cooled(s, 2.0))
        labels.append(list(b.paths[rng.choice(len(b.paths), p=b.probabilities)]))
    if partial:
        labels = [[y if rng.random() < 0.7 else -1 for y in gold] for gold in labels]
    data = replace(problem.dataset, labels=np.concatenate(labels).astype(np.int32))
    model = Model(data.label_names, data.index, problem.pack(weights))

    def with_temperature(temperature):
        copy = Model(data.label_names, data.index, problem.pack(weights))
        decoder = problem.decoder(weights, temperature)
        vars(copy._core).update(label_decoder=decoder, part_decoder=decoder)
        return copy

    object.__setattr__(model, "with_temperature", with_temperature)
    found = best_temperature(model, data)
    grid = found * np.exp(np.linspace(-0.3, 0.3, 61))
    values = [label_log_likelihood(scores, labels, t) for t in grid]
    assert label_log_likelihood(scores, labels, found) >= max(values) - 1e-5
    assert grid[int(np.argmax(values))] == pytest.approx(found, rel=0.011)


# ---- models -----------------------------------------------------------------------------------


def test_calibration_changes_probabilities_and_no_labels(model, parts):
    sentences, labels = parts[2]
    calibrated = model.calibrated(*parts[1])
    assert calibrated.temperature > 2
    assert calibrated.provenance["temperature"] == calibrated.temperature
    assert model.temperature == 1
    assert calibrated.tag_all(sentences) == model.tag_all(sentences)
    assert [calibrated.tag(s) for s in sentences] == model.tag_all(sentences)
    before, after = (each.calibration(sentences, labels) for each in (model, calibrated))
    assert list(after.parts) == ["tokens", "segments", "sequences"]
    for name, part in after.parts.items():
        assert part.ece < before[name].ece
    again = calibrated.calibrated(*parts[1])  # from the scores, not from the temperature
    assert again.temperature == calibrated.temperature


def test_every_method_has_the_temperature(model, parts):
    sentence = parts[2][0][0]
    warm = model.with_temperature(3.0)
    best = warm.tag(sentence)
    (path, p), *_ = warm.nbest(sentence, 3)
    assert path == best
    assert p == pytest.approx(warm.probability(sentence, best), rel=1e-5)
    assert p < model.probability(sentence, best)
    cold = model.with_temperature(1e-6)
    assert cold.probability(sentence, best) == pytest.approx(1.0)
    hot = model.with_temperature(1e12)
    n = len(model.labels)
    np.testing.assert_allclose(
        [list(row.values()) for row in hot.marginals(sentence)], 1 / n, rtol=1e-4
    )
    segments = {s: p.probability for s, p in enumerate(warm.segments(sentence))}
    assert all(
        p < q.probability for p, q in zip(segments.values(), model.segments(sentence), strict=True)
    )
    assert hot.tag(sentence) == cold.tag(sentence) == best


def test_one_is_no_temperature(model, parts):
    sentence = parts[2][0][0]
    assert model.with_temperature(1.0).marginals(sentence) == model.marginals(sentence)


def test_the_file_keeps_the_temperature(model, parts, tmp_path):
    warm = model.with_temperature(3.25)
    warm.save(tmp_path / "m")
    loaded = Model.load(tmp_path / "m")
    assert loaded.temperature == 3.25
    sentence = parts[2][0][0]
    assert loaded.marginals(sentence) == warm.marginals(sentence)


@pytest.mark.parametrize(
    "section",
    [{}, None, 3.0, [1], {"temperature": 0}, {"temperature": -1}, {"temperature": "2"},
     {"temperature": None}, {"temperature": True}, {"temperature": 1e300},
     {"temperature": float("nan")}, {"temperature": float("inf")}],
)  # fmt: skip
def test_damaged_temperatures_are_refused(section):
    configuration = {**hostile.BASE.configuration, "calibration": section}
    with pytest.raises(ModelError, match="malformed model"):
        Model.from_bytes(hostile.craft(configuration=configuration))


@pytest.mark.parametrize("temperature", [0, -1.0, math.nan, math.inf, "2", True, None])
def test_with_temperature_refuses_what_is_none(model, temperature):
    with pytest.raises(ParameterError, match="temperature is"):
        model.with_temperature(temperature)


def test_compact_models_keep_the_temperature(model, parts, tmp_path):
    small = model.calibrated(*parts[1]).compact(prune=0, weights="float32")
    small.save(tmp_path / "m")
    loaded = Model.load(tmp_path / "m")
    assert loaded.is_compact
    assert loaded.temperature == model.calibrated(*parts[1]).temperature
    sentence = parts[2][0][0]
    full = model.calibrated(*parts[1]).marginals(sentence)
    for found, expected in zip(loaded.marginals(sentence), full, strict=True):
        assert found == pytest.approx(expected, abs=1e-3)
    plain = model.compact(prune=0, weights="float32").calibrated(*parts[1])
    assert plain.temperature == pytest.approx(loaded.temperature, rel=1e-2)


def test_training_continues_from_the_weights(model, parts):
    calibrated = model.calibrated(*parts[1])
    one, other = (adaptag.train(*parts[2], start=start, passes=2) for start in (model, calibrated))
    assert one.weights.tobytes() == other.weights.tobytes()
    assert other.temperature == 1  # the other one belonged to other weights


def test_a_stream_drops_the_temperature(parts):
    streamed = adaptag.StreamTrainer()
    streamed.learn(*parts[0])
    calibrated = streamed.model().calibrated(*parts[1])
    assert calibrated.temperature != 1
    going_on = adaptag.StreamTrainer(calibrated)
    going_on.learn(*parts[2])
    assert going_on.model().temperature == 1


# ---- training ---------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["adf", "pa", "lbfgs"])
def test_calibrate_is_a_setting_of_training(parts, algorithm):
    options = {"algorithm": algorithm, "passes": 3, "dev": parts[1]}
    plain = adaptag.train(*parts[0], **options)
    calibrated = adaptag.train(*parts[0], **options, calibrate=True)
    assert calibrated.weights.tobytes() == plain.weights.tobytes()
    assert calibrated.temperature == plain.calibrated(*parts[1]).temperature != 1
    assert calibrated.provenance["training_settings"]["calibrate"] is True


def test_calibrate_needs_development_data(parts):
    with pytest.raises(ParameterError, match="calibrate needs development data"):
        adaptag.train(*parts[0], calibrate=True)


def test_labels_that_the_model_lacks_are_left_out(model, parts):
    sentences, labels = parts[1]
    odd = [["B-NEW", *gold[1:]] if k % 2 else gold for k, gold in enumerate(labels)]
    unknown = [[None, *gold[1:]] if k % 2 else gold for k, gold in enumerate(labels)]
    assert (
        model.calibrated(sentences, odd).temperature
        == model.calibrated(sentences, unknown).temperature
    )
    measured = model.calibration(sentences, odd)
    assert measured["sequences"].count == len(sentences)
    assert model.calibration(sentences, unknown)["sequences"].count == -(-len(sentences) // 2)


def test_the_estimators_have_the_setting(parts):
    (X, y), dev, _ = parts
    crf_model = adaptag.CRF("pa", template="general", passes=2, calibrate=True, random_state=1)
    crf_model.fit(X, y, *dev)
    assert crf_model.model_.temperature != 1
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 5))
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    options = {"early_stopping": True, "random_state": 1, "sigma": 0.05}
    plain = adaptag.MaxEntClassifier(**options).fit(X, y)
    calibrated = adaptag.MaxEntClassifier(**options, calibrate=True).fit(X, y)
    assert plain.temperature_ == 1
    assert calibrated.temperature_ < 1  # so strong a prior makes it too careful
    odds = [np.log(p[:, 1] / p[:, 0]) for p in (c.predict_proba(X) for c in (plain, calibrated))]
    np.testing.assert_allclose(odds[1], odds[0] / calibrated.temperature_, rtol=1e-6)
    assert calibrated.predict(X).tolist() == plain.predict(X).tolist()
    with pytest.raises(ParameterError, match="early_stopping"):
        adaptag.MaxEntClassifier(calibrate=True).fit(X, y)
    calibrated = adaptag.MaxEntClassifier("adf", **options, calibrate=True).fit(X, y)
    assert calibrated.partial_fit(X, y).temperature_ == 1


def test_classifiers_of_documents(tmp_path):
    rng = np.random.default_rng(2)
    words = [[f"w{k}" for k in rng.integers(0, 30, 6)] for _ in range(300)]
    texts = [" ".join(each) for each in words]
    labels = ["ab"[int(each[0]) % 2] if rng.random() < 0.7 else "a" for each in
              rng.integers(0, 2, (300, 1))]  # fmt: skip
    train, dev = (texts[:200], labels[:200]), (texts[200:], labels[200:])
    options = {"algorithm": "averaged-perceptron", "passes": 5}
    plain = DocumentClassifier.train(*train, **options)
    calibrated = plain.calibrated(*dev)
    assert calibrated.model.temperature > 1.5
    assert calibrated.predict(texts) == plain.predict(texts)
    before, after = (each.calibration(*dev) for each in (plain, calibrated))
    assert list(after.parts) == ["documents"]
    assert after["documents"].count == 100
    assert after["documents"].ece < before["documents"].ece
    calibrated.save(tmp_path / "m")
    assert DocumentClassifier.load(tmp_path / "m").model.temperature == calibrated.model.temperature


# ---- label schemes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schemes", [{"scheme": "bioes"}, {"scheme": "bioes", "output_scheme": "iob1"}]
)
def test_models_that_are_trained_with_another_label_scheme(parts, schemes):
    model = adaptag.train(*parts[0], algorithm="averaged-perceptron", passes=5, **schemes)
    assert model.training_scheme == "bioes"
    calibrated = model.calibrated(*parts[1])
    assert calibrated.temperature > 1.5
    sentences, labels = parts[2]
    assert calibrated.tag_all(sentences) == model.tag_all(sentences)
    before, after = (each.calibration(sentences, labels) for each in (model, calibrated))
    for name, part in after.parts.items():
        assert part.ece < before[name].ece
        assert part.accuracy == before[name].accuracy
    assert after["tokens"].accuracy == pytest.approx(
        model.evaluate(sentences, labels).accuracy / 100
    )
    sentence = sentences[0]
    best = calibrated.tag(sentence)
    (path, p), *_ = calibrated.nbest(sentence, 2)
    assert path == best
    assert p == pytest.approx(calibrated.probability(sentence, best), rel=1e-5)
