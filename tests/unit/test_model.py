from __future__ import annotations

import itertools
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import adaptag
from adaptag.errors import AdaptagError, CorpusError, ParameterError

SENTENCES = [
    [("The", "D"), ("old", "J"), ("cat", "N"), ("sat", "V")],
    [("dogs", "N"), ("chase", "V"), ("cats", "N")],
    [("he", "P"), ("sat", "V"), ("in", "I"), ("Rome", "R")],
]
LABELS = [["B-NP", "I-NP", "I-NP", "O"], ["B-NP", "O", "B-NP"], ["B-NP", "O", "O", "B-LOC"]]
NEW = [("old", "J"), ("dogs", "N"), ("in", "I"), ("Paris", "R")]


@pytest.fixture(scope="module")
def model():
    return adaptag.train(SENTENCES, LABELS, passes=4, scheme="as-is")


@pytest.fixture(scope="module")
def words():
    """A model of one column."""
    return adaptag.train([[w for w, _ in s] for s in SENTENCES], LABELS, passes=4)


@pytest.fixture(scope="module")
def paths(model):
    """Every label sequence of the new sentence, with its probability."""
    return {y: model.probability(NEW, y) for y in itertools.product(model.labels, repeat=4)}


def chunks(labels):
    """Chunks as (first, last, type), by the rule of B and I."""
    found = []
    for k, label in enumerate(labels):
        kind = label[2:]
        if label[0] == "B" or (label[0] == "I" and (k == 0 or labels[k - 1][2:] != kind)):
            found.append([k, k, kind])
        elif label[0] == "I":
            found[-1][1] = k
    return {tuple(chunk) for chunk in found}


# ---- the methods agree with one another -----------------------------------------------------


def test_training_data_is_learned(model, words):
    assert model.tag_all(SENTENCES) == LABELS
    assert words.tag(["dogs", "chase", "cats"]) == LABELS[1]


def test_probabilities_sum_to_one_and_the_best_is_tagged(model, paths):
    assert sum(paths.values()) == pytest.approx(1, abs=1e-5)
    best = list(max(paths, key=paths.get))
    everything = [model.labels] * len(NEW)
    assert model.tag(NEW) == model.tag(NEW, allowed=everything) == best
    assert model.tag_all([NEW])[0] == best


def test_marginals_are_sums_over_paths(model, paths):
    found = model.marginals(NEW)
    assert [list(row) for row in found] == [list(model.labels)] * 4
    for t, label in itertools.product(range(4), model.labels):
        expected = sum(p for y, p in paths.items() if y[t] == label)
        assert found[t][label] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("n", [1, 2, 10, 256, 1000])
def test_the_n_best_are_the_most_probable_paths(model, paths, n):
    found = model.nbest(NEW, n)
    assert len(found) == min(n, 4**4)
    assert len({tuple(y) for y, _ in found}) == len(found)
    expected = sorted(paths.values(), reverse=True)[:n]
    assert [p for _, p in found] == pytest.approx(expected, rel=1e-4, abs=1e-9)
    assert all(p == pytest.approx(paths[tuple(y)], rel=1e-4, abs=1e-9) for y, p in found)


def test_segments_are_chunks_with_the_probability_of_paths_that_have_them(model, paths):
    found = model.segments(NEW)
    assert {(s.first, s.last, s.type) for s in found} == chunks(model.tag(NEW))
    assert found
    for segment in found:
        chunk = (segment.first, segment.last, segment.type)
        expected = sum(p for y, p in paths.items() if chunk in chunks(y))
        assert segment.probability == pytest.approx(expected, abs=1e-5)
        assert model.segment_probability(NEW, *chunk) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("kind", ["NP", "LOC"])
def test_any_segment_has_a_probability(model, paths, first, kind):
    for last in range(first, 4):
        expected = sum(p for y, p in paths.items() if (first, last, kind) in chunks(y))
        assert model.segment_probability(NEW, first, last, kind) == pytest.approx(
            expected, abs=1e-5
        )


# ---- constraints ----------------------------------------------------------------------------


def well_formed(labels):
    return all(
        y[0] != "I" or (k > 0 and labels[k - 1][0] in "BI" and labels[k - 1][2:] == y[2:])
        for k, y in enumerate(labels)
    )


def test_legal_rules_out_ill_formed_paths(model, paths):
    allowed = {y: p for y, p in paths.items() if well_formed(y)}
    total = sum(allowed.values())
    assert 0 < total < 1
    best = max(allowed, key=allowed.get)
    assert model.tag(NEW, legal="iob2") == list(best)
    assert model.probability(NEW, best, legal="iob2") == pytest.approx(
        allowed[best] / total, abs=1e-5
    )
    assert model.probability(NEW, ["I-NP"] * 4, legal="iob2") == 0
    found = model.nbest(NEW, 1000, legal="iob2")
    assert {tuple(y) for y, _ in found} == set(allowed)
    assert sum(p for _, p in found) == pytest.approx(1, abs=1e-5)
    for t, row in enumerate(model.marginals(NEW, legal="iob2")):
        for label, p in row.items():
            expected = sum(q for y, q in allowed.items() if y[t] == label) / total
            assert p == pytest.approx(expected, abs=1e-5)
    for segment in model.segments(NEW, legal="iob2"):
        chunk = (segment.first, segment.last, segment.type)
        expected = sum(q for y, q in allowed.items() if chunk in chunks(y)) / total
        assert segment.probability == pytest.approx(expected, abs=1e-5)


def test_allowed_restricts_single_tokens(model, paths):
    allowed = [None, ["O", "I-NP"], ("B-LOC",), {"O"}]
    kept = {
        y: p for y, p in paths.items() if y[1] in ("O", "I-NP") and y[2] == "B-LOC" and y[3] == "O"
    }
    assert model.tag(NEW, allowed=allowed) == list(max(kept, key=kept.get))
    assert {tuple(y) for y, _ in model.nbest(NEW, 99, allowed=allowed)} == set(kept)
    rows = model.marginals(NEW, allowed=allowed)
    assert rows[2]["B-LOC"] == pytest.approx(1)
    assert rows[3] == pytest.approx({y: float(y == "O") for y in model.labels}, abs=1e-6)


IMPOSSIBLE = [
    {"allowed": [None, [], None, None]},
    {"allowed": [["B-NP"], ["B-LOC"], ["I-NP"], None], "legal": "iob2"},
]


@pytest.mark.parametrize("constraints", IMPOSSIBLE)
@pytest.mark.parametrize("method", ["tag", "marginals", "nbest"])
def test_constraints_that_nothing_satisfies_are_an_error(model, method, constraints):
    arguments = [NEW, 2] if method == "nbest" else [NEW]
    with pytest.raises(AdaptagError, match="no label sequence"):
        getattr(model, method)(*arguments, **constraints)


@pytest.mark.parametrize("method", ["tag", "marginals", "segments"])
def test_a_scheme_that_a_sentence_cannot_meet_is_an_error(method):
    model = adaptag.train([["a", "b"]], [["B-X", "E-X"]], passes=1, scheme="as-is")
    with pytest.raises(AdaptagError, match="no label sequence"):
        getattr(model, method)(["a"], legal="bioes")


# ---- what is no sentence --------------------------------------------------------------------


def test_empty_sentences(model):
    assert model.tag([]) == model.marginals([]) == model.segments([]) == []
    assert model.tag([], legal="iob2") == []
    assert model.nbest([], 3) in ([], [([], 1.0)])
    assert model.probability([], []) == 1
    assert model.tag_all([]) == []
    assert model.tag_all([[], NEW, []]) == [[], model.tag(NEW), []]


METHODS = ["tag", "marginals", "segments", "tag_all", "nbest", "probability"]


def call(model, method, sentence):
    if method == "tag_all":
        return model.tag_all([NEW, sentence])
    if method == "nbest":
        return model.nbest(sentence, 2)
    if method == "probability":
        return model.probability(sentence, ["O"])
    return getattr(model, method)(sentence)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "sentence",
    [
        ["word"],
        [("word",)],
        [("a", "b"), ("c",)],
        [("a", "b"), "c"],
        [("a", "b"), ("c", "d", "e")],
        [()],
        [1],
        [None],
        [("a", 1)],
        [("a", None)],
        [b"ab"],
        [("a", "\ud800")],
        5,
        None,
    ],
    ids=repr,
)
def test_what_is_no_sentence_is_an_error_of_one_line(model, method, sentence):
    with pytest.raises(CorpusError) as caught:
        call(model, method, sentence)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", [m for m in METHODS if m != "tag_all"])
def test_too_few_columns_are_counted(model, method):
    with pytest.raises(CorpusError, match="1 column; the model was trained with 2"):
        call(model, method, ["word"])


def test_more_columns_than_needed_are_no_harm(model, words):
    assert model.tag([(*token, "x") for token in NEW]) == model.tag(NEW)
    assert words.tag([("dogs", "x"), ("sat", "y")]) == words.tag(["dogs", "sat"])


def test_strings_tuples_lists_and_generators_are_alike(model, words):
    plain = ["old", "dogs", "in", "Paris"]
    assert words.tag([(w,) for w in plain]) == words.tag([[w] for w in plain]) == words.tag(plain)
    assert words.tag(w for w in plain) == words.tag(tuple(plain)) == words.tag(plain)
    assert words.tag_all((w for w in s) for s in [plain, plain]) == [words.tag(plain)] * 2
    assert words.marginals(iter(plain)) == words.marginals(plain)
    assert words.nbest(iter(plain), 3) == words.nbest(plain, 3)
    assert words.segments(iter(plain)) == words.segments(plain)
    assert model.tag(map(list, NEW)) == model.tag(NEW)


def test_an_error_of_the_generator_is_its_own(model):
    def tokens():
        yield NEW[0]
        raise RuntimeError("mine")

    for method in METHODS:
        with pytest.raises(RuntimeError, match="mine"):
            call(model, method, tokens())


def test_odd_tokens_are_tokens(words):
    for token in ["", " ", "\0", "\n", "a" * 100_000, "😀", "\ufeff"]:
        assert len(words.tag([token, "sat"])) == 2


# ---- wrong parameters -----------------------------------------------------------------------


def test_unknown_labels_and_types_are_named(model):
    with pytest.raises(ParameterError, match="unknown label 'B-NX'; did you mean 'B-NP'"):
        model.probability(NEW, ["B-NX"] * 4)
    with pytest.raises(ParameterError, match="3 labels for 4 tokens"):
        model.probability(NEW, ["O"] * 3)
    with pytest.raises(ParameterError, match="allowed, token 1: unknown label 'Q'; allowed: "):
        model.tag(NEW, allowed=[None, ["Q"], None, None])
    with pytest.raises(ParameterError, match="allowed: 1 entry for 4 tokens"):
        model.marginals(NEW, allowed=[None])
    with pytest.raises(ParameterError, match="unknown type 'LOK'; did you mean 'LOC'"):
        model.segment_probability(NEW, 0, 0, "LOK")
    with pytest.raises(ParameterError, match="unknown type ''"):
        model.segment_probability(NEW, 0, 0)
    with pytest.raises(ParameterError, match="unknown label scheme 'bie'; did you mean"):
        model.tag(NEW, legal="bie")


@pytest.mark.parametrize(("first", "last"), [(-1, 0), (0, 4), (2, 1), (4, 4)])
def test_segments_outside_the_sentence(model, first, last):
    with pytest.raises(ParameterError, match=f"tokens {first} to {last}; the sentence has 0 to 3"):
        model.segment_probability(NEW, first, last, "NP")


@pytest.mark.parametrize("n", [0, -1])
def test_n_best_needs_a_positive_n(model, n):
    with pytest.raises(ParameterError, match=f"n is {n}; allowed: whole numbers from 1 to 1000000"):
        model.nbest(NEW, n)


@pytest.mark.parametrize("n", [2**31 - 1, 2**31, 2**70])
def test_a_huge_n_gives_all_paths_or_an_error(model, n):
    try:
        found = model.nbest(NEW, n)
    except AdaptagError:
        return
    assert len(found) == 4**4


def test_labels_that_are_no_chunks_have_no_segments():
    model = adaptag.train([["a", "b"]], [["DT", "NN"]], passes=1)
    with pytest.raises(AdaptagError, match="do not mark chunks"):
        model.segments(["a"])
    with pytest.raises(ParameterError, match="legal is 'iob2', but the labels mark no chunks"):
        model.tag(["a"], legal="iob2")


@pytest.mark.parametrize(
    ("data", "labels", "options", "message"),
    [
        ([["a"]], [["x"]], {"cutoff": 0}, "cutoff is 0; allowed: integer"),
        ([["a"]], [["x"]], {"cutoff": 2**40}, "cutoff is "),
        ([["a"]], [["x"]], {"seed": -1}, "seed is -1; allowed: "),
        ([["a"]], [["x"]], {"passes": 0}, "passes is 0; allowed: integer"),
        ([["a"]], [["x"]], {"rat": 1}, "unknown argument 'rat'; did you mean 'rate'"),
        ([["a"]], [["x"]], {"rate": "fast"}, "rate is 'fast'; allowed: "),
        ([["a"]], [["x"], ["y"]], {}, "labels of 2 sentences for 1 sentence"),
        ([["a"], ["b", "c"]], [["x"], ["y"]], {}, "sentence 2: 1 label for 2 tokens"),
        ([], [], {}, "the data holds no sentence"),
        ([[]], [[]], {}, "the data holds no token"),
        ("file", [["x"]], {}, "labels can only be given with Python data"),
        ([["a"]], None, {}, "1 column; a labelled file needs at least 2"),
        ([[("a", "x")]], None, {"dev": [["a"]]}, "1 column"),
    ],
)
def test_wrong_arguments_of_training(data, labels, options, message):
    with pytest.raises(AdaptagError, match=message):
        adaptag.train(data, labels, **options)


# ---- n best where many paths tie ------------------------------------------------------------

TIES = """
import os, resource, adaptag
if "ADAPTAG_SANITIZED" not in os.environ:  # such a build reserves terabytes
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
model = adaptag.train([["a", "b", "c"]], [["x", "y", "z"]], template="U:%x[0,0]", passes=1)
found = model.nbest(["unknown"] * 60, 20)
assert len({tuple(labels) for labels, _ in found}) == 20
assert all(abs(p * 3.0**60 - 1) < 1e-3 for _, p in found), found
"""


def test_n_best_takes_no_longer_where_all_paths_tie():
    subprocess.run([sys.executable, "-c", TIES], check=True, timeout=60)


# ---- threads --------------------------------------------------------------------------------


def test_threads_share_a_model(model):
    sentences = [(SENTENCES[k % 3] * (1 + k % 5))[k % 4 :] for k in range(200)]

    def work(sentence):
        return (
            model.tag(sentence),
            model.marginals(sentence),
            model.nbest(sentence, 2),
            model.segments(sentence),
        )

    fresh = adaptag.Model.from_bytes(model.to_bytes())  # its caches are filled by the threads
    expected = [work(s) for s in sentences]
    model = fresh
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, sentences)) == expected
        assert set(pool.map(lambda _: str(model.tag_all(sentences)), range(16))) == {
            str([tags for tags, *_ in expected])
        }
