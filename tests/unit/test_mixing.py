"""Training on shards whose weights are mixed: against the oracle, and what must always hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adaptag.corpus.data import corpus_of
from adaptag.corpus.ingredients import ingredients
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.scorer import TagScorer
from adaptag.decoding.tagging_job import encode_dev, tagging_job
from adaptag.errors import ParameterError
from adaptag.training.algorithms import DATA_PARAMETERS, algorithm
from adaptag.training.mixing import (
    Mixture,
    ShardTraining,
    blocks_of,
    check_parameters,
    combined,
    mix,
    new_state,
    rounds_for,
)
from adaptag.training.online import Trainer
from adaptag.training.settings import TaggingSettings
from tests.reference.data import KINDS, Problem
from tests.reference.mixing import Shards, factor
from tests.reference.trainers import shaped
from tests.unit.trainer_cases import ONLINE, TOLERANCE, accepted, problem_for

LOOSE = {"rtol": 2e-4, "atol": 2e-5}  # where rounds multiply differences
SMALL = {
    "adf": {"rate": 0.2, "sigma": 2.0, "window": 5, "alpha": 0.95, "beta": 0.6},
    "madf": {"rate": 0.2, "sigma": 2.0, "lower": 0.1, "period": 3},
    "sgd": {"rate": 0.2, "sigma": 2.0},
    "sgd-l1": {"rate": 0.2, "l1": 1.0},
    "pa": {"aggressiveness": 0.1},
    "dca": {"aggressiveness": 0.1},
    "arow": {"gamma": 1.5},
    "cw": {"variance": 0.3, "confidence": 0.6},
}


def values_of(name, given):
    return algorithm(name).values_without_sample(accepted(name, given)) | {
        p.name: p.default for p in DATA_PARAMETERS
    }


def parts_of(problem, shards):
    """Problems of all sentences in order, about as many in each."""
    places = np.array_split(np.arange(len(problem)), shards)
    return [
        Problem(
            problem.n_labels,
            problem.n_of_kind,
            [problem.sentences[i] for i in part],
            [problem.labels[i] for i in part],
            legal=problem.legal,
        )
        for part in places
    ]


def trainings(name, examples, values, *, rounds=1, seed=1):
    """The workers of a training."""
    n = sum(int(np.count_nonzero(np.diff(e.encoded.sentences))) for e in examples)
    return [
        ShardTraining(
            one,
            algorithm(name),
            values,
            shard=k,
            n_shards=len(examples),
            n_sentences=n,
            seed=seed,
            rounds_per_pass=rounds,
        )
        for k, one in enumerate(examples)
    ]


def run_round(workers, number, most=1 << 40):
    """Train for a round, and mix its blocks."""
    parts = [worker.run(number) for worker in workers]
    for block in blocks_of(workers[0].layout, most):
        mixed = mix([worker.change(block) for worker in workers], block.row_size)
        for worker in workers:
            worker.apply(block, mixed)
    for worker in workers:
        worker.end_round()
    return combined(parts)


def weights_of(worker):
    out = np.zeros(worker.layout.n_weights, np.float32)
    for block in blocks_of(worker.layout, 100):
        out[slice(*block.weights)] = worker.weights(block)
    return out


def compare(name, problems, given, *, rounds=1, passes=2, seed=1):
    """Train, and compare the mixed state with that of the oracle after each round."""
    values = values_of(name, given)
    plain = {n: v for n, v in values.items() if n not in [p.name for p in DATA_PARAMETERS]}
    oracle = Shards(name, problems, plain, seed, rounds)
    workers = trainings(name, [p.dataset for p in problems], values, rounds=rounds, seed=seed)
    problem = problems[0]
    for number in range(passes * rounds):
        oracle.run(number)
        run_round(workers, number)
        for worker in workers:
            assert_state(problem, worker.state, oracle.state)
            for found, want in zip(problem.unpack(weights_of(worker)), oracle.weights, strict=True):
                np.testing.assert_allclose(found, want, **LOOSE)
            assert not problem.padding(worker.state["weights"]).any()


def assert_state(problem, state, expected):
    for found, want in zip(
        problem.unpack(state["weights"]), shaped(problem, expected.w), strict=True
    ):
        np.testing.assert_allclose(found, want, **LOOSE)
    if "rate" in state:
        np.testing.assert_allclose(state["rate"], expected.rates, rtol=1e-5)
    if "precision" in state:  # the core's is that beyond the initial one
        more = shaped(problem, expected.precision - expected.precision.min())
        for found, want in zip(problem.unpack(state["precision"]), more, strict=True):
            np.testing.assert_allclose(found, want, **LOOSE)


# ---- against the oracle -------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("name", ONLINE)
def test_rounds_equal_the_oracle(name, shards, rounds):
    given = SMALL.get(name, {})
    problem = problem_for(name, given, 1, n_sentences=36)
    compare(name, parts_of(problem, shards), given, rounds=rounds)


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("batch", [2, 5])
@pytest.mark.parametrize("name", ["adf", "sgd", "dca", "arow"])
def test_mini_batches_equal_the_oracle(name, batch, rounds):
    given = SMALL[name] | {"batch": batch}
    problem = problem_for(name, given, 2, n_sentences=41)
    compare(name, parts_of(problem, 2), given, rounds=rounds)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["adf", "pa"])
def test_all_kinds_of_rows_equal_the_oracle(name, kind):
    problem = problem_for(name, SMALL[name], 3, n_of_kind=KINDS[kind], n_sentences=24)
    compare(name, parts_of(problem, 2), SMALL[name], rounds=2)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("sgd", {"schedule": "harmonic", "rate": 0.3, "sigma": 1.0}),
        ("sgd", {"schedule": "bordes", "rate": 0.3, "sigma": 1.0, "period": 3}),
        ("sgd-l1", {"penalty": "clipping", "rate": 0.3, "l1": 2.0}),
        ("sgd-l1", {"penalty": "naive", "rate": 0.3, "l1": 0.5}),
    ],
)
def test_schedules_and_penalties_go_on(name, given):
    problem = problem_for(name, given, 4, n_sentences=30)
    compare(name, parts_of(problem, 2), given, rounds=2, passes=3)


@pytest.mark.parametrize("name", ["adf", "sgd"])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_sentences_of_one_token_equal_the_oracle(name, n_labels):
    """The core has a special form of these algorithms for them, with rows of its own."""
    problem = problem_for(
        name, SMALL[name], 5, n_labels, KINDS["node"], n_sentences=40, max_length=1
    )
    compare(name, parts_of(problem, 2), SMALL[name], rounds=2)


def test_sentences_without_tokens_count_nowhere():
    problem = problem_for("adf", SMALL["adf"], 6, n_sentences=20)
    sentences, labels = list(problem.sentences), list(problem.labels)
    for place in (0, 5, 11, 22):
        sentences.insert(place, [])
        labels.insert(place, [])
    problem = Problem(problem.n_labels, problem.n_of_kind, sentences, labels)
    parts = parts_of(problem, 2)
    values = values_of("adf", SMALL["adf"])
    workers = trainings("adf", [part.dataset for part in parts], values, rounds=2)
    dense = [
        Problem(p.n_labels, p.n_of_kind, *zip(*kept, strict=True))
        for p in parts
        for kept in [[pair for pair in zip(p.sentences, p.labels, strict=True) if pair[0]]]
    ]
    assert [len(worker.sentences) for worker in workers] == [len(one) for one in dense]
    part = run_round(workers, 0)
    assert part.sentences == sum(-(-len(one) // 2) for one in dense)
    assert (part.last, run_round(workers, 1).last) == (False, True)


@pytest.mark.parametrize("name", ONLINE)
def test_a_shard_may_have_no_sentence(name):
    """Its worker changes nothing: without a prior, the weights are those of the others."""
    problem = problem_for(name, SMALL.get(name, {}), 1, n_sentences=12)
    parts = [part.dataset for part in parts_of(problem, 2)]
    empty = problem.dataset.select(np.empty(0, np.int64))
    values = values_of(name, {**SMALL.get(name, {}), "sigma": math.inf, "l1": 0.0})
    with_it = trainings(name, [*parts, empty], values, rounds=2)
    without = trainings(name, parts, values, rounds=2)
    first = run_round(with_it, 0)
    assert first.sentences == run_round(without, 0).sentences == 6
    if name != "adf":  # whose windows depend on the number of shards
        run_round(with_it, 1)
        run_round(without, 1)
        np.testing.assert_allclose(weights_of(with_it[2]), weights_of(without[0]), **TOLERANCE)
    assert np.isfinite(weights_of(with_it[2])).all()


# ---- the windows of ADF -------------------------------------------------------------------------


def simulated_rates(sentences, n_predicates, before, q, b, alpha, beta):
    """The rates after a round whose windows are all closed, by going through its sentences.

    Sentences are sets of predicates.
    """
    rates, counts, n_open = list(before), [0] * n_predicates, 0

    def close():
        for p in range(n_predicates):
            u = min(1, counts[p] / (q * b))
            rates[p] *= alpha - u * (alpha - beta)
            counts[p] = 0

    for t, first in enumerate(range(0, len(sentences), b)):
        for sentence in sentences[first : first + b]:
            for p in sentence:
                counts[p] += 1
        n_open += 1
        if t > 0 and t % q == 0:
            close()
            n_open = 0
    if n_open:
        close()
    return rates


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 5, 6, 7, 8, 11, 12, 13, 16])
@pytest.mark.parametrize("window", [1, 3, 6])
def test_all_windows_are_closed(n, window, batch):
    """Predicate 0 fires always, 1 never, 2 in the last sentence, 3 in the first, others at times.

    So rows were last touched before, at and after the update that closes a window.
    """
    fired = [{0, *([3] * (i == 0)), *([2] * (i == n - 1)), 4 + i % 5, 9 + i} for i in range(n)]
    p = 9 + n
    problem = Problem(
        2, (p, 0, 0), [[[(k, 1.0) for k in s], [(0, 1.0)]] for s in fired], [[0, 1]] * n
    )
    given = {"rate": 0.3, "alpha": 0.9, "beta": 0.5, "batch": batch, "window": window}
    (worker,) = trainings("adf", [problem.dataset], values_of("adf", given))
    values = worker.trainer.parameters
    order = np.arange(n, dtype=np.uint32)
    before = np.linspace(0.1, 0.9, p).astype(np.float32)
    worker.state["rate"][:] = before
    worker._begin(0)
    worker.trainer.run(order)
    worker._finish(n)
    q = max(1, int(values["window"]) // batch)
    expected = simulated_rates(fired, p, before, q, batch, values["alpha"], values["beta"])
    np.testing.assert_allclose(worker._change["rate"], expected, rtol=2e-6)


def test_windows_decay_as_much_in_a_pass_whatever_the_rounds():
    """A feature of all sentences, with many and with few sentences in a window."""
    problem = Problem(2, (1, 0, 0), [[[(0, 1.0)]] * 2] * 240, [[0, 1]] * 240)
    for window, batch in ((0, 1), (24, 1), (24, 7), (1, 1), (1, 4)):
        given = {"rate": 0.1, "alpha": 0.99, "beta": 0.98, "window": window, "batch": batch}
        q = window or 100
        for shards, rounds in ((1, 1), (2, 2), (4, 3), (4, 1)):
            parts = [part.dataset for part in parts_of(problem, shards)]
            workers = trainings("adf", parts, values_of("adf", given), rounds=rounds)
            for number in range(rounds):
                run_round(workers, number)
            decay = math.log(workers[0].state["rate"][0] / 0.1)
            assert decay == pytest.approx(240 / q / shards * math.log(0.98), rel=0.15), (
                window,
                batch,
                shards,
                rounds,
            )


def test_rates_never_become_those_of_the_start():
    """A rate of 0 stands for the initial one, so that none may get there."""
    problem = problem_for("adf", {}, 1, n_sentences=10)
    given = {"rate": 0.3, "alpha": 1e-4, "beta": 1e-5, "window": 1}
    workers = trainings(
        "adf", [part.dataset for part in parts_of(problem, 2)], values_of("adf", given)
    )
    for number in range(5):
        run_round(workers, number)
    assert 0 < workers[0].state["rate"].max() < 1e-36
    assert (workers[0].state["rate"] > 0).all()


# ---- what must hold -----------------------------------------------------------------------------


def apart(shards):
    """Shards whose sentences share no feature: those of shard k have predicates of their own."""
    rng = np.random.default_rng(1)
    parts = []
    for k in range(shards):
        sentences = [[[(int(rng.integers(4)) + 4 * k, 1.0)] for _ in range(3)] for _ in range(10)]
        labels = [rng.integers(0, 2, 3).tolist() for _ in sentences]
        parts.append(Problem(2, (4 * shards, 0, 0), sentences, labels))
    return parts


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("name", ["sgd", "averaged-perceptron", "pa", "dca", "arow", "cw"])
def test_a_feature_of_one_worker_is_not_diluted(name, rounds):
    """Its weights, and their average, are those of this worker alone."""
    parts = apart(3)
    values = values_of(name, SMALL.get(name, {}) | {"sigma": math.inf})
    together = trainings(name, [part.dataset for part in parts], values, rounds=rounds)
    for number in range(3 * rounds):
        run_round(together, number)
    for k, part in enumerate(parts):
        (alone,) = trainings(name, [part.dataset], values, rounds=rounds)
        alone.shard = k
        for number in range(3 * rounds):
            run_round([alone], number)
        own = alone.layout.width * np.array([4 * k, 4 * k + 4])
        assert weights_of(alone)[slice(*own)].any()
        for found, want in (
            (weights_of(together[0]), weights_of(alone)),
            (together[0].state["weights"], alone.state["weights"]),
        ):
            np.testing.assert_allclose(found[slice(*own)], want[slice(*own)], **TOLERANCE)


@pytest.mark.parametrize("name", ["averaged-perceptron", "pa", "dca"])
def test_the_average_is_the_mean_over_rounds(name):
    """In a round in which no weight moves, it goes the way to the weights that is due."""
    parts = apart(4)
    workers = trainings(name, [part.dataset for part in parts], values_of(name, {}))
    run_round(workers, 0)
    first, weights = weights_of(workers[0]), workers[0].state["weights"].copy()
    for worker in workers:  # what a worker hands in that has learned nothing
        worker.run(1)
        still = {name: np.zeros_like(array) for name, array in worker._change.items()}
        worker._change = still
    for block in blocks_of(workers[0].layout, 1000):
        workers[0].apply(block, mix([worker.change(block) for worker in workers], block.row_size))
    workers[0].end_round()
    np.testing.assert_allclose(weights_of(workers[0]), (first + weights) / 2, **TOLERANCE)


def test_factors_go_from_a_sum_to_a_mean():
    shape = (4, 3)
    for steps in ([1e-6, 1e-6], [0.3, 0.1], [0, 2.0], [0, 0], [400.0] * 64, [1e9] * 4):
        mixture = Mixture(3)
        for s in steps:
            mixture.add({
                "weights": np.ones(12, np.float32), "steps": np.full(4, s, np.float32),
            })  # fmt: skip
        want = factor(steps)
        np.testing.assert_allclose(mixture.factor(), np.full(4, want), rtol=1e-6)
        moved = mixture.mixed()["weights"].reshape(shape)
        np.testing.assert_allclose(moved, np.full(shape, want * len(steps)), rtol=1e-6)
    assert factor([1e-6, 1e-6]) == pytest.approx(1, abs=1e-5)
    assert factor([0, 2.0]) == 1
    assert factor([400.0] * 64) < 1.5 / 64  # many workers that moved alike do not go too far
    assert factor([1e9] * 4) == pytest.approx(1 / 4, rel=1e-3)


@pytest.mark.parametrize("name", ["adf", "pa", "arow"])
def test_blocks_change_no_bit(name):
    """Neither their size nor their order."""
    problem = problem_for(name, SMALL[name], 7, n_sentences=30)
    parts = [part.dataset for part in parts_of(problem, 3)]
    values = values_of(name, SMALL[name])
    states = []
    for most in (1, 30, 100, 1 << 40):
        workers = trainings(name, parts, values, rounds=2)
        for number in range(4):
            for worker in workers:
                worker.run(number)
            blocks = blocks_of(workers[0].layout, most)
            mixed = {
                block: mix([worker.change(block) for worker in workers], block.row_size)
                for block in blocks[::-1]
            }
            for worker in workers:
                for block in reversed(blocks) if worker.shard == 1 else blocks:
                    worker.apply(block, mixed[block])
            for worker in workers:
                worker.end_round()
        states += [{n: a.tobytes() for n, a in worker.state.items()} for worker in workers]
    assert all(state == states[0] for state in states)


@pytest.mark.parametrize("most", [1, 13, 64, 1000])
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_cover_all_rows_once(kind, most):
    layout = problem_for("sgd", {}, 1, n_of_kind=KINDS[kind], n_sentences=3).dataset.layout
    blocks = blocks_of(layout, most)
    rows = [row for block in blocks for row in range(*block.rows)]
    weights = [weight for block in blocks for weight in range(*block.weights)]
    assert rows == list(range(layout.n_predicates))
    assert weights == list(range(layout.n_weights))
    for block in blocks:
        n_rows, n_weights = (end - begin for begin, end in (block.rows, block.weights))
        assert n_weights == n_rows * block.row_size
        assert n_weights <= most or n_rows == 1


@pytest.mark.parametrize("name", ["adf", "sgd", "pa", "arow"])
def test_a_round_depends_on_the_mixed_state_alone(name):
    """A new worker that gets it does as the old one, also after the old one was run in vain."""
    problem = problem_for(name, SMALL[name], 8, n_sentences=30)
    parts = [part.dataset for part in parts_of(problem, 2)]
    values = values_of(name, SMALL[name])
    workers = trainings(name, parts, values, rounds=2)
    for number in range(3):
        run_round(workers, number)
    new = trainings(name, parts, values, rounds=2)[1]
    for state, array in workers[1].state.items():
        new.state[state][:] = array
    new.rounds = 3
    workers[1].run(7)
    for worker in (workers[0], workers[1], new):
        worker.run(3)
    block = blocks_of(new.layout, 1 << 40)[0]
    for state, array in workers[1].change(block).items():
        assert new.change(block)[state].tobytes() == array.tobytes()
    mixed = mix([workers[0].change(block), new.change(block)], block.row_size)
    for _ in range(2):  # taking over twice is as once
        new.apply(block, mixed)
    workers[1].apply(block, mixed)
    workers[1].end_round()
    new.end_round()
    for state, array in workers[1].state.items():
        assert new.state[state].tobytes() == array.tobytes()


def test_dropout_draws_anew_for_each_shard_and_pass():
    problem = problem_for("sgd", {}, 9, n_sentences=20)
    parts = [problem.dataset, problem.dataset]
    values = values_of("sgd", SMALL["sgd"]) | {"dropout": 0.5}

    def changes(number, **given):
        workers = trainings("sgd", parts, values | given, rounds=1)
        for worker in workers:
            worker.run(number)
        return [worker._change["weights"].tobytes() for worker in workers]

    first, second = changes(0), changes(1)
    assert len({*first, *second}) == 4
    assert changes(0) == first
    assert not set(changes(0, dropout=0.0)) & set(first)


def test_what_workers_cannot_do():
    values = {name: values_of(name, {}) for name in ("adf", "sgd")}
    with pytest.raises(ParameterError, match="orders is more than 1; allowed: 1, with several"):
        check_parameters(algorithm("adf"), values["adf"] | {"orders": 2})
    with pytest.raises(ParameterError, match="average is not 0; allowed: 0, with several workers"):
        check_parameters(algorithm("sgd"), values["sgd"] | {"average": 1})
    with pytest.raises(ParameterError, match="lbfgs is no online algorithm"):
        check_parameters(algorithm("lbfgs"), {})
    assert [rounds_for(k) for k in (1, 2, 4, 5, 64)] == [1, 1, 2, 3, 8]
    layout = problem_for("pa", {}, 1, n_sentences=3).dataset.layout
    assert new_state(layout, algorithm("pa")).keys() == {"weights", "average"}
    assert new_state(layout, algorithm("adf")).keys() == {"weights", "rate"}
    assert new_state(layout, algorithm("cw")).keys() == {"weights", "precision"}


# ---- beside one machine -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["adf", "sgd", "averaged-perceptron", "pa", "arow"])
def test_one_shard_is_as_good_as_plain_training(name):
    """With one round in a pass, and the same orders; only ADF's windows end elsewhere."""
    lines = ingredients(train=500, dev=0, test=300)
    train, test = (
        [list(zip(line.tokens, line.labels, strict=True)) for line in part]
        for part in (lines.train, lines.test)
    )
    dataset = Dataset.build(corpus_of(train))
    job = tagging_job(dataset, TaggingSettings(scheme="as-is"))
    values = values_of(name, {"rate": 0.1})
    (worker,) = trainings(name, [dataset], values)
    plain = Trainer(dataset, algorithm(name), values)
    for number in range(6):
        run_round([worker], number)
        order = np.random.default_rng([1, 0, number]).permutation(worker.sentences)
        plain.run(order)
    model = job.build(plain.current_weights(), {})
    scorer = TagScorer(encode_dev(test, model.index, model.labels, None), model.metric)
    expected, found = scorer(model), scorer(job.build(weights_of(worker), {}))
    assert expected > 85
    assert found == pytest.approx(expected, abs=0.1)
