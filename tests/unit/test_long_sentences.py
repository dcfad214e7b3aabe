"""Sentences of 100,000 tokens and more: rounding must not grow with the position."""

import numpy as np
import pytest

from tests.reference.crf import Scores, Weights, best_path, path_score
from tests.reference.data import Problem
from tests.unit.trainer_cases import trainer_of

LENGTH = 100_000
N_NODE = 6


class LongSentence:
    """One sentence: at each token one node predicate with a value, and the transitions.

    Weights and values are multiples of 1/1024, so float32 multiplies them exactly.
    """

    def __init__(self, n_labels, seed=1):
        rng = np.random.default_rng(seed)
        predicates = rng.integers(0, N_NODE, LENGTH)
        values = rng.integers(512, 2048, LENGTH) / 1024
        positions = [
            [(int(p), float(v))] + ([(N_NODE, 1.0)] if t else [])
            for t, (p, v) in enumerate(zip(predicates, values, strict=True))
        ]
        gold = rng.integers(0, n_labels, LENGTH).tolist()
        self.problem = Problem(n_labels, (N_NODE, 0, 1), [positions], [gold])
        self.weights = Weights(
            *(np.round(w * 1024) / 1024 for w in self.problem.random_weights(seed))
        )
        node = values[:, None] * self.weights.node[predicates]
        edge = np.broadcast_to(self.weights.edge[N_NODE], (LENGTH, n_labels, n_labels))
        self.scores = Scores(node, edge)
        self.best = best_path(self.scores)
        self.gold = np.array(gold)
        self.predicates, self.values = predicates, values

    def features(self, path):
        """How often each feature fires on a path, times its values."""
        counts = self.problem.zeros()
        np.add.at(counts.node, (self.predicates, path), self.values)
        np.add.at(counts.edge[N_NODE], (path[:-1], path[1:]), 1.0)
        return counts


@pytest.fixture(scope="module", params=[3, 20], ids=lambda y: f"Y{y}")
def sentence(request):
    return LongSentence(request.param)


def test_the_best_path_is_that_of_float64(sentence):
    decoder = sentence.problem.decoder(sentence.weights)
    found = decoder.viterbi(sentence.problem.native, None, None)
    assert found.tolist() == sentence.best


def test_the_n_best_paths_begin_with_it():
    sentence = LongSentence(3)
    decoder = sentence.problem.decoder(sentence.weights)
    ((paths, scores),) = decoder.n_best(sentence.problem.native, 2, None, None)
    best = sentence.best
    assert paths[0].tolist() == best
    expected = path_score(sentence.scores, paths[1].tolist()) - path_score(sentence.scores, best)
    assert scores[1] - scores[0] == pytest.approx(expected, abs=1e-6)


def test_labels_found_in_training_are_the_best(sentence):
    trainer = trainer_of("perceptron", sentence.problem)
    trainer.weights[:] = sentence.problem.pack(sentence.weights)
    *_, best = trainer.run_on(sentence.problem.dataset)
    assert best.tolist() == sentence.best


@pytest.mark.parametrize("name", ["perceptron", "pa"])
def test_an_update_goes_away_from_the_best_wrong_path(sentence, name):
    """PA-I decodes with a cost of 1 for each wrong label, taken from the score of the right one."""
    best = np.array(sentence.best)
    if name == "pa":
        node = sentence.scores.node.copy()
        node[np.arange(LENGTH), sentence.gold] -= 1
        best = np.array(best_path(Scores(node, sentence.scores.edge)))
    trainer = trainer_of(name, sentence.problem)
    before = sentence.problem.pack(sentence.weights)
    trainer.weights[:] = before
    trainer.run(np.array([0], np.uint32))
    change = sentence.problem.unpack(trainer.weights - before)
    right, wrong = sentence.features(sentence.gold), sentence.features(best)
    direction = np.concatenate([(r - w).ravel() for r, w in zip(right, wrong, strict=True)])
    change = np.concatenate([c.ravel() for c in change])
    size = 1.0 if name == "perceptron" else change @ direction / (direction @ direction)
    assert change == pytest.approx(size * direction, rel=1e-5, abs=1e-5 * np.abs(change).max())


def test_impossible_constraints_are_refused_in_the_middle():
    sentence = LongSentence(3)
    decoder = sentence.problem.decoder(sentence.weights)
    allowed = np.ones((LENGTH, 3), np.uint8)
    allowed[LENGTH // 2] = 0
    with pytest.raises(ValueError, match="no label sequence satisfies the constraints"):
        decoder.viterbi(sentence.problem.native, None, allowed)
