from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from adaptag.corpus.chunks import ChunkScheme
from tests.reference import crf
from tests.reference.crf import BruteForce, Weights
from tests.reference.data import KINDS, Problem, random_problem

MAX_LENGTH = {1: 6, 2: 6, 3: 6, 4: 5, 5: 5, 9: 3, 17: 3, 30: 2}  # so that all paths can be listed
LABEL_SETS = {
    "IOB1": ["O", "I-X", "B-X", "I-Y"],
    "IOB2": ["O", "B-X", "I-X", "B-Y", "I-Y"],
    "BIOES": ["O", "B-X", "I-X", "E-X", "S-X"],
    "BMES": ["B", "M", "E", "S"],
}
LEGAL = {"IOB2": "iob2", "BIOES": "bioes", "BMES": "bioes"}
IMPOSSIBLE = "no label sequence satisfies the constraints"


@dataclass
class Case:
    problem: Problem
    weights: Weights

    def __post_init__(self):
        self.data = self.problem.native
        self.decoder = self.problem.decoder(self.weights)
        self.scores = [crf.scores(s, self.weights) for s in self.problem.sentences]
        self.offsets = self.problem.dataset.encoded.sentences

    def split(self, flat):
        """One part for each sentence of what the core gives for all positions."""
        return np.split(flat, self.offsets[1:-1])


def random_case(seed, n_labels, kind="all", *, scale=1.5, n_sentences=4, values=False, length=None):
    problem = random_problem(
        seed,
        n_labels,
        KINDS[kind],
        n_sentences=n_sentences,
        max_length=length or MAX_LENGTH[n_labels],
        values=values,
        edges_at_start=True,
    )
    return Case(problem, problem.random_weights(seed, scale))


@pytest.fixture(
    scope="module",
    params=itertools.product(MAX_LENGTH, KINDS, (False, True)),
    ids=lambda p: f"Y{p[0]}-{p[1]}{'-values' if p[2] else ''}",
)
def case(request):
    n_labels, kind, values = request.param
    found = random_case(n_labels, n_labels, kind, values=values)
    found.brute = [BruteForce(s) for s in found.scores]
    return found


def check_marginals(case, brute, legal=None, allowed=None, *, rtol=1e-6, atol=2e-6):
    table, log_z = case.decoder.marginals(case.data, legal, allowed)
    np.testing.assert_allclose(log_z, [b.log_z for b in brute], rtol=rtol, atol=atol)
    for found, b in zip(case.split(table), brute, strict=True):
        np.testing.assert_allclose(found, b.marginals().node, atol=atol)


def check_viterbi(case, brute, legal=None, allowed=None):
    found = case.split(case.decoder.viterbi(case.data, legal, allowed))
    for path, b in zip(found, brute, strict=True):
        assert b.scores[b.number(path)] == b.scores.max()


def check_n_best(case, brute, n, legal=None, allowed=None):
    for (paths, log_p), b in zip(
        case.decoder.n_best(case.data, n, legal, allowed), brute, strict=True
    ):
        numbers = [b.number(path) for path in paths]
        expected = b.best(n)
        assert len(set(numbers)) == len(numbers) == len(expected)
        assert b.scores[numbers].tolist() == b.scores[expected].tolist()
        np.testing.assert_allclose(log_p, b.scores[expected] - b.log_z, rtol=1e-6, atol=2e-6)


def test_the_oracles_agree():
    case = random_case(1, 4, scale=20)
    for scores in case.scores:
        for one, other in zip(
            BruteForce(scores).marginals(), crf.forward_backward(scores), strict=True
        ):
            np.testing.assert_allclose(one, other, atol=1e-12)


def test_log_z_and_marginals(case):
    check_marginals(case, case.brute)


def test_the_probability_of_a_sequence(case):
    found = case.decoder.log_probabilities(case.data, None)
    gold = case.problem.labels
    expected = [b.scores[b.number(y)] - b.log_z for b, y in zip(case.brute, gold, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=2e-6)


def test_viterbi_finds_a_best_path(case):
    check_viterbi(case, case.brute)


@pytest.mark.parametrize("n", [1, 7])
def test_n_best_are_in_exact_order(case, n):
    check_n_best(case, case.brute, n)


def test_n_best_ends_with_the_last_path(case):
    check_n_best(case, case.brute, max(len(b.paths) for b in case.brute) + 1)


def test_n_best_of_equal_paths_are_all_different():
    problem = random_problem(1, 3)
    case = Case(problem, problem.zeros())
    check_n_best(case, [BruteForce(s) for s in case.scores], 1000)


def test_n_best_of_a_long_sentence_without_known_features():
    problem = Problem(3, (1, 0, 0), [[[]] * 200], [[0] * 200])
    ((paths, log_p),) = problem.decoder(problem.zeros()).n_best(problem.native, 2, None, None)
    assert paths.shape == (2, 200)
    np.testing.assert_allclose(log_p, -200 * np.log(3), rtol=1e-6)


# ---- segments -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "legal"), [*((name, None) for name in LABEL_SETS), *LEGAL.items()]
)
@pytest.mark.parametrize("seed", range(3))
def test_segment_probabilities(name, legal, seed):
    labels = LABEL_SETS[name]
    scheme = ChunkScheme(labels)
    mask = None if legal is None else scheme.legal(legal).astype(np.uint8)
    case = random_case(seed, len(labels), values=seed == 2)
    rows, expected = [], []
    for i, scores in enumerate(case.scores):
        known = BruteForce(crf.constrained(scores, mask)).segments(labels)
        places = itertools.combinations_with_replacement(range(len(scores.node)), 2)
        for (first, last), (k, kind) in itertools.product(places, enumerate(scheme.types)):
            rows.append((i, first, last, k))
            expected.append(known.pop((first, last, kind), 0.0))
        assert not known
    found = case.decoder.segment_probabilities(
        case.data,
        np.array(rows, np.int64),
        scheme.type_of,
        scheme.starts.astype(np.uint8),
        scheme.ends.astype(np.uint8),
        mask,
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-12)


# ---- constraints ----------------------------------------------------------------------------


def open_mask(rng, shape, density):
    """A random mask that leaves label 0 open, so that one path always remains."""
    mask = (rng.random(shape) < density).astype(np.uint8)
    mask[..., 0] = 1
    return mask


@pytest.mark.parametrize("n_labels", MAX_LENGTH)
@pytest.mark.parametrize("which", ["legal", "allowed", "legal and allowed"])
@pytest.mark.parametrize("density", [0.2, 0.7])
def test_constraints(n_labels, which, density):
    case = random_case(n_labels, n_labels, values=density < 0.5)
    rng = np.random.default_rng(n_labels)
    legal = open_mask(rng, (n_labels + 1, n_labels + 1), density) if "legal" in which else None
    if legal is not None:
        legal[0, -1] = 1
    allowed = None
    if "allowed" in which:
        allowed = open_mask(rng, (case.problem.dataset.n_tokens, n_labels), density)
    brute = [
        BruteForce(crf.constrained(s, legal, mask))
        for s, mask in zip(
            case.scores,
            [None] * len(case.scores) if allowed is None else case.split(allowed),
            strict=True,
        )
    ]
    check_marginals(case, brute, legal, allowed)
    check_viterbi(case, brute, legal, allowed)
    check_n_best(case, brute, 10, legal, allowed)
    check_n_best(case, brute, 10**6, legal, allowed)
    if which == "legal":
        gold = [b.paths[b.best(1)[0]] for b in brute]
        labelled = Problem(n_labels, case.problem.n_of_kind, case.problem.sentences, gold)
        np.testing.assert_allclose(
            case.decoder.log_probabilities(labelled.native, legal),
            [b.scores.max() - b.log_z for b in brute],
            atol=2e-6,
        )


@pytest.mark.parametrize("n_labels", MAX_LENGTH)
def test_one_path_remains(n_labels):
    case = random_case(3, n_labels, scale=5)
    gold = case.problem.dataset.labels
    allowed = np.eye(n_labels, dtype=np.uint8)[gold]
    table, log_z = case.decoder.marginals(case.data, None, allowed)
    scores = [crf.path_score(*pair) for pair in zip(case.scores, case.problem.labels, strict=True)]
    np.testing.assert_allclose(log_z, scores, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(table, allowed, atol=1e-6)
    assert case.decoder.viterbi(case.data, None, allowed).tolist() == gold.tolist()
    for (paths, log_p), y in zip(
        case.decoder.n_best(case.data, 5, None, allowed), case.problem.labels, strict=True
    ):
        assert paths.tolist() == [y]
        np.testing.assert_allclose(log_p, [0], atol=1e-5)


def no_path(n_labels):
    """Constraints (legal, allowed) on two tokens that leave no path, by what they leave."""
    every = np.ones((n_labels + 1, n_labels + 1), np.uint8)
    start, end, steps, mixed = (every.copy() for _ in range(4))
    start[-1] = 0
    end[:, -1] = 0
    steps[:-1, :-1] = 0
    mixed[0, :-1] = 0
    first, anything = (np.ones((2, n_labels), np.uint8) for _ in range(2))
    first[0] = 0
    only_0 = anything.copy()
    only_0[0, 1:] = 0
    return {
        "no label": (None, first),
        "no start": (start, None),
        "no end": (end, None),
        "no transition": (steps, None),
        "no transition from what is allowed": (mixed, only_0),
    }


@pytest.mark.parametrize("n_labels", [3, 4, 9])
@pytest.mark.parametrize("method", ["viterbi", "n_best", "marginals"])
@pytest.mark.parametrize("what", no_path(2))
def test_no_path_remains(n_labels, method, what):
    problem = Problem(n_labels, (1, 0, 1), [[[(0, 1.0)], [(0, 1.0), (1, 1.0)]]], [[0, 0]])
    decoder = problem.decoder(problem.random_weights(1))
    n = (3,) if method == "n_best" else ()
    with pytest.raises(ValueError, match=IMPOSSIBLE):
        getattr(decoder, method)(problem.native, *n, *no_path(n_labels)[what])


@pytest.mark.parametrize(
    ("legal", "allowed", "message"),
    [((3, 3), None, r"legal: .* \[labels \+ 1"), (None, (1, 3), r"allowed: .* \[tokens, labels\]")],
)
def test_constraints_of_the_wrong_shape(legal, allowed, message):
    case = random_case(1, 3)
    masks = [None if shape is None else np.ones(shape, np.uint8) for shape in (legal, allowed)]
    with pytest.raises(ValueError, match=message):
        case.decoder.viterbi(case.data, *masks)


# ---- numerical range ------------------------------------------------------------------------


@pytest.mark.parametrize("n_labels", [2, 3, 5, 9, 17])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [20, 100, 500])
def test_extreme_weights(n_labels, kind, scale):
    case = random_case(scale, n_labels, kind, scale=scale)
    brute = [BruteForce(s) for s in case.scores]
    check_marginals(case, brute, atol=1e-5)
    check_viterbi(case, brute)
    check_n_best(case, brute, 5)


@pytest.mark.parametrize("n_labels", [2, 5, 9, 17, 30])
@pytest.mark.parametrize("shift", [-80, -88, -89, -150, -1000, 80, 89, 1000])
@pytest.mark.parametrize("part", ["node", "edge"])
def test_a_shift_of_all_scores_changes_log_z_only(n_labels, shift, part):
    case = random_case(1, n_labels, "chain", n_sentences=8)
    weights = case.weights._replace(**{part: getattr(case.weights, part) + shift})
    moved = Case(case.problem, case.problem.masked(weights))
    check_marginals(moved, [BruteForce(s) for s in moved.scores], rtol=3e-6, atol=1e-5)


def diagonal_chain(length, first, last):
    """Label 0 costs 60 a step, label 1 costs 100 at the start or at the end; no other paths.

    Path 0…0 scores −60 (T − 1), path 1…1 −100 (first + last).
    """
    bias, step = (0, 1.0), (1, 1.0)
    positions = [[bias] if first else [], *([step] for _ in range(length - 1))]
    if last:
        positions[-1] = [bias, step]
    problem = Problem(2, (1, 0, 1), [positions], [[0] * length])
    node, edge = problem.zeros()
    node[0] = 0, -100
    edge[1] = [[-60, -1000], [-1000, 0]]
    return Case(problem, Weights(node, edge))


@pytest.mark.parametrize(
    ("length", "first", "last"),
    [
        (3, True, False),
        (3, False, True),
        (5, True, False),
        (6, True, True),
    ],
)
def test_a_path_lost_to_underflow_that_wins_in_the_end(length, first, last):
    case = diagonal_chain(length, first, last)
    check_marginals(case, [BruteForce(s) for s in case.scores])


@pytest.mark.parametrize("n_labels", [2, 5, 9, 30])
@pytest.mark.parametrize("scale", [1, 30])
def test_a_very_long_sentence(n_labels, scale):
    rng = np.random.default_rng(n_labels)
    nodes, values = rng.integers(0, 4, 2000).tolist(), rng.normal(size=2000).tolist()
    edges = np.repeat(rng.integers(4, 6, 200), 10).tolist()
    positions = [[(p, v), (q, 1.0)] for p, v, q in zip(nodes, values, edges, strict=True)]
    problem = Problem(n_labels, (4, 1, 1), [positions], [[0] * len(positions)])
    weights = problem.masked(
        Weights(*(rng.normal(0, scale, w.shape).astype(np.float32) for w in problem.zeros()))
    )
    case = Case(problem, weights)
    expected = crf.forward_backward(case.scores[0])
    table, log_z = case.decoder.marginals(case.data, None, None)
    np.testing.assert_allclose(log_z, [expected.log_z], rtol=1e-6)
    np.testing.assert_allclose(table, expected.node, atol=1e-4)
    ((paths, log_p),) = case.decoder.n_best(case.data, 5, None, None)
    scores = np.array([crf.path_score(case.scores[0], path) for path in paths])
    best = crf.path_score(case.scores[0], crf.best_path(case.scores[0]))
    assert scores[0] == pytest.approx(best, rel=1e-6)
    assert (np.diff(scores) < best * 1e-7).all()
    np.testing.assert_allclose(log_p, scores - expected.log_z, atol=expected.log_z * 1e-6)


# ---- sentences without tokens or features ---------------------------------------------------


def test_empty_sentences():
    problem = Problem(3, (1, 0, 1), [[], [[(0, 1.0)], [(1, 1.0)]], []], [[], [1, 2], []])
    case = Case(problem, problem.random_weights(1))
    table, log_z = case.decoder.marginals(case.data, None, None)
    brute = BruteForce(case.scores[1])
    np.testing.assert_allclose(log_z, [0, brute.log_z, 0], rtol=1e-6)
    np.testing.assert_allclose(table, brute.marginals().node, atol=1e-6)
    assert [len(paths) for paths, _ in case.decoder.n_best(case.data, 100, None, None)] == [0, 9, 0]


def test_without_features_all_paths_are_equal():
    problem = Problem(3, (0, 0, 0), [[[], [], []]], [[0, 0, 0]])
    case = Case(problem, problem.zeros())
    table, log_z = case.decoder.marginals(case.data, None, None)
    np.testing.assert_allclose(table, np.full((3, 3), 1 / 3), rtol=1e-6)
    np.testing.assert_allclose(log_z, [3 * np.log(3)], rtol=1e-6)
