"""The oracles themselves, against what is more obvious still."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference.crf import BruteForce, best_path, features, lead, path_score, scores
from tests.reference.data import Problem, random_problem
from tests.reference.trainers import Update, averaged, groups, likelihood, mistake, sgd_l1, vector


@pytest.mark.parametrize("seed", range(20))
def test_best_path_and_its_lead_equal_brute_force(seed):
    """Whole numbers give many ties: among the best, labels are compared from the last one on."""
    problem = random_problem(seed, 3, n_sentences=3, max_length=5)
    w = problem.random_weights(seed)
    for sentence in problem.sentences:
        s = scores(sentence, type(w)(*(np.round(part) for part in w)))
        brute = BruteForce(s)
        top = np.sort(brute.scores)[::-1]
        tied = [tuple(path) for path in brute.paths[brute.scores == top[0]].tolist()]
        assert tuple(best_path(s)) == min(tied, key=lambda path: path[::-1])
        assert lead(s) == top[0] - top[1]


@pytest.mark.parametrize("seed", range(5))
def test_features_of_a_path_times_weights_are_its_score(seed):
    problem = random_problem(seed, 3, values=True)
    w = problem.random_weights(seed)
    for sentence, gold in zip(problem.sentences, problem.labels, strict=True):
        counts = vector(problem, features(sentence, gold, problem.zeros()))
        assert counts @ vector(problem, w) == pytest.approx(path_score(scores(sentence, w), gold))


@pytest.mark.parametrize("cost", [0, 1])
def test_mistakes_are_the_best_paths_with_their_costs(cost):
    problem = random_problem(1, 3, n_sentences=10, max_length=4, values=True)
    w = problem.random_weights(2, scale=0.3)
    for i, (sentence, gold) in enumerate(zip(problem.sentences, problem.labels, strict=True)):
        brute = BruteForce(scores(sentence, w))
        wrong = (brute.paths != gold).sum(axis=1)
        own = brute.scores[brute.number(gold)]
        found = mistake(problem, i, vector(problem, w), cost)
        best = (brute.scores + cost * wrong).max()
        assert cost * found.hamming - found.margin == pytest.approx(best - own)


def test_likelihood_steps_equal_finite_differences():
    problem = random_problem(1, 3, n_sentences=1, values=True)
    w = vector(problem, problem.random_weights(1))
    step, h = likelihood(problem, 0, w).step, 1e-5
    for k in np.flatnonzero(step):
        up, down = (likelihood(problem, 0, w + sign * h * np.eye(len(w))[k]) for sign in (1, -1))
        assert step[k] == pytest.approx((down.loss - up.loss) / (2 * h), abs=1e-8)


def test_groups_are_cut_pass_by_pass_without_empty_sentences():
    problem = Problem(2, (1, 0, 0), [[[]], [], [[]], [[]]], [[0], [], [0], [0]])
    cut = groups(problem, [[0, 1, 2, 3], [3, 2, 1, 0]], 2)
    assert list(cut) == [(0, [0, 2]), (1, [3]), (2, [3, 2]), (3, [0])]


def test_averages_begin_where_they_should():
    problem = random_problem(1, 2)
    zeros = problem.zeros()
    plain = [Update(type(zeros)(zeros.node + x, zeros.edge - x), 0, 0, 0) for x in (1, 5, 2, 6)]
    for first, means in [(0, (1, 3, 8 / 3, 3.5)), (2, (1, 5, 2, 4)), (9, (1, 5, 2, 6))]:
        given = [one.weights for one in averaged(iter(plain), first)]
        assert [w.node[0, 0] for w in given] == pytest.approx(means)
        assert [-w.edge[0, 0, 0] for w in given] == pytest.approx(means)


@pytest.mark.parametrize(
    ("penalty", "first", "second"),
    [
        ("naive", 0.5, 0.5 + 0.268941 - 0.4),
        ("clipping", 0.5 - 0.4, 0.1 + 0.450166 - 0.4),
        ("cumulative", 0.5 - 0.4, 0.1 + 0.450166 - 0.4),
    ],
)
def test_penalties_by_hand(penalty, first, second):
    """Two updates with δ = 0.4: the gradient is 1/2, then 1 / (1 + exp(2w))."""
    problem = Problem(2, (1, 0, 0), [[[(0, 1.0)]]] * 2, [[0], [0]])
    given = {"rate": 1.0, "l1": 0.8, "schedule": "exponential", "decay": 1.0, "batch": 1}
    node = [one.weights.node[0] for one in sgd_l1(problem, [[0, 1]], penalty=penalty, **given)]
    np.testing.assert_allclose(node, [[first, -first], [second, -second]], atol=1e-6)


def test_the_cumulative_penalty_collects_what_was_not_paid():
    """A weight that was 0 while others paid owes it all when it moves."""
    problem = Problem(2, (2, 0, 0), [[[(0, 1.0)]], [[(1, 1.0)]]], [[0], [0]])
    given = {"rate": 1.0, "l1": 0.2, "schedule": "exponential", "decay": 1.0, "batch": 1}
    order = [[0, 0, 0, 1]]
    paid = {
        penalty: [*sgd_l1(problem, order, penalty=penalty, **given)][-1].weights.node[1, 0]
        for penalty in ("clipping", "cumulative")
    }
    assert paid == pytest.approx({"clipping": 0.5 - 0.1, "cumulative": 0.5 - 4 * 0.1})
