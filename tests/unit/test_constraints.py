"""Constraints on label sequences, against brute force over all label sequences."""

from __future__ import annotations

import functools
import gc
import itertools
import json
import pickle
import weakref
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adaptag
from adaptag import Constraints
from adaptag.decoding import constrained
from adaptag.errors import CorpusError, ParameterError
from tests.reference.constraints import satisfies
from tests.reference.crf import chunks

SENTENCE = ["a", "b", "a", "c"]
PLAIN = ["A", "B", "C", "O"]
CHUNKED = ["O", "B-X", "I-X", "B-Y"]
TRAINING = {
    "plain": ([["a", "b", "c", "a"]], [PLAIN], {}),
    "chunked": ([["a", "b", "c", "a"]], [CHUNKED], {"scheme": "as-is"}),
    "bioes": ([["a", "b", "c"]], [["B-X", "I-X", "B-X"]], {"scheme": "bioes"}),
    "to iob1": (
        [["a", "b", "c"]],
        [["B-X", "I-X", "B-X"]],
        {"scheme": "iob2", "output_scheme": "iob1"},
    ),
}


@functools.cache
def model(kind, seed=0):
    """A model with random weights."""
    sentences, labels, options = TRAINING[kind]
    trained = adaptag.train(sentences, labels, passes=1, **options)
    values = np.random.default_rng(seed).normal(0, 1.5, len(trained.weights))
    return replace(trained, weights=np.where(trained.weights != 0, values, 0).astype(np.float32))


@functools.cache
def paths(kind, seed, length):
    """All label sequences that the model can give, with their probabilities."""
    m = model(kind, seed)
    every = itertools.product(m.labels, repeat=length)
    found = {path: m.probability(SENTENCE[:length], path) for path in every}
    return {path: p for path, p in found.items() if p > 0}


def names_of(m):
    return [*m.labels, *m.scheme.types]


@st.composite
def declarations(draw, kind):
    known = names_of(model(kind))
    names = st.sampled_from(known)
    shuffled = st.permutations(known)
    some = st.builds(lambda found, n: found[:n], shuffled, st.integers(1, 2))
    orders = st.builds(lambda found, n: found[:n], shuffled, st.integers(2, 3))
    side = st.one_of(names, st.none())
    pairs = st.tuples(side, side).filter(lambda pair: pair != (None, None)).map(list)
    table = st.dictionaries(names, st.lists(side, min_size=1, max_size=3), max_size=1)
    fixed = st.dictionaries(st.integers(-2, 1), some, max_size=1)
    between = st.builds(lambda found, n: {found[0]: found[1 : 1 + n]}, shuffled, st.integers(1, 2))
    fields = {
        "at_most_once": some,
        "at_least_once": some,
        "at_most_once_between": between,
        "order": st.lists(orders, min_size=1, max_size=2),
        "forbidden_pairs": st.lists(pairs, min_size=1, max_size=2),
        "followed_by": table,
        "preceded_by": table,
        "fixed": fixed,
    }
    chosen = draw(st.lists(st.sampled_from(sorted(fields)), min_size=1, max_size=4, unique=True))
    return {name: draw(fields[name]) for name in chosen}


@st.composite
def cases(draw):
    kind = draw(st.sampled_from(sorted(TRAINING)))
    return kind, draw(st.integers(0, 2)), draw(st.integers(2, 4)), draw(declarations(kind))


def remaining(kind, seed, length, declared):
    m = model(kind, seed)
    every = paths(kind, seed, length)
    left = {y: p for y, p in every.items() if satisfies(y, declared, m.labels, m.scheme.chunked)}
    total = sum(left.values())
    return {y: p / total for y, p in left.items()}


def check(kind, seed, length, declared):
    """Compare all methods with brute force."""
    m, tokens = model(kind, seed), SENTENCE[:length]
    left = remaining(kind, seed, length, declared)
    if not left:
        with pytest.raises(CorpusError, match="no label sequence satisfies the constraints"):
            m.tag(tokens, constraints=declared)
        with pytest.raises(CorpusError, match="no label sequence satisfies the constraints"):
            m.marginals(tokens, constraints=declared)
        return
    best = max(left.values())
    tagged = tuple(m.tag(tokens, constraints=declared))
    assert left[tagged] == pytest.approx(best, rel=1e-3)
    (in_batch,) = m.tag_all([tokens], constraints=declared)
    assert left[tuple(in_batch)] == pytest.approx(best, rel=1e-3)
    table = m.marginals(tokens, constraints=declared)
    for t, label in itertools.product(range(length), m.labels):
        expected = sum(p for y, p in left.items() if y[t] == label)
        assert table[t][label] == pytest.approx(expected, abs=1e-4)
    found = m.nbest(tokens, 5, constraints=declared)
    assert len(found) == min(5, len(left))
    ranked = sorted(left.values(), reverse=True)
    for (path, p), expected in zip(found, ranked, strict=False):
        assert p == pytest.approx(expected, rel=1e-3, abs=1e-6)
        assert left[tuple(path)] == pytest.approx(p, rel=1e-3, abs=1e-6)
    if m.scheme.chunked:
        for s in m.segments(tokens, constraints=declared):
            span = (s.first, s.last, s.type)
            expected = sum(p for y, p in left.items() if span in chunks(y))
            assert s.probability == pytest.approx(expected, abs=1e-4)


@settings(max_examples=120, deadline=None)
@given(cases())
def test_all_methods_agree_with_brute_force(case):
    check(*case)


@pytest.mark.parametrize("kind", sorted(TRAINING))
def test_pairs_in_lists_of_tokens(kind):
    """Which are not encoded, where nothing but transitions is constrained."""
    m = model(kind)
    a, b, *_ = m.labels
    for declared in ({"forbidden_pairs": [[a, b], [b, b]]}, {"followed_by": {b: [a, None]}}):
        for length, seed in itertools.product((2, 3, 4), range(3)):
            check(kind, seed, length, declared)
            tokens = SENTENCE[:length]
            assert m.tag(tokens, constraints=declared) == m.tag(tuple(tokens), constraints=declared)
    every = [[x, y] for x in m.labels for y in m.labels]
    with pytest.raises(CorpusError, match=r"sentence 1, 2 tokens: .*: forbidden_pairs"):
        m.tag(SENTENCE[:2], constraints={"forbidden_pairs": every})
    if m.scheme.chunked:
        assert m.tag(SENTENCE, legal="auto") == m.tag(tuple(SENTENCE), legal="auto")


def check_search(case):
    """Compare branch and bound with brute force."""
    kind, seed, length, declared = case
    left = remaining(*case)
    m = replace(model(kind, seed))  # without the decoders that were made before
    limit, constrained.SEARCH_FROM = constrained.SEARCH_FROM, 1
    try:
        if left:
            tagged = m.tag(SENTENCE[:length], constraints=declared)
            assert left[tuple(tagged)] == pytest.approx(max(left.values()), rel=1e-3)
        else:
            with pytest.raises(CorpusError, match="no label sequence"):
                m.tag(SENTENCE[:length], constraints=declared)
    finally:
        constrained.SEARCH_FROM = limit


@settings(max_examples=60, deadline=None)
@given(cases())
def test_branch_and_bound_agrees_with_brute_force(case):
    check_search(case)


def test_a_separator_may_begin_where_the_name_begins():
    for seed, fixed in itertools.product(range(8), ({1: ["O"]}, {1: ["O"], 3: ["B-X", "I-X"]})):
        declared = {"at_most_once_between": {"B-X": ["X"]}, "at_least_once": ["X"], "fixed": fixed}
        check("chunked", seed, 4, declared)
        check_search(("chunked", seed, 4, declared))


# ---- what is declared ----------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(declarations("chunked"))
def test_declarations_survive_json(declared):
    constraints = Constraints.from_dict(declared)
    text = json.dumps(constraints.to_dict())
    assert Constraints.from_dict(json.loads(text)) == constraints
    assert pickle.loads(pickle.dumps(constraints)) == constraints
    assert hash(constraints) == hash(Constraints(**declared))


def test_a_single_name_or_order_needs_no_list():
    given = Constraints(at_most_once="A", order=["A", "B"], fixed={0: "A"}, followed_by={"A": None})
    assert given == Constraints(
        at_most_once=["A"], order=[["A", "B"]], fixed={"0": ["A"]}, followed_by={"A": [None]}
    )
    assert given
    assert not Constraints()
    assert not Constraints(order=[])


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"at_most": ["A"]}, "unknown constraint 'at_most'; did you mean 'at_most_once'"),
        ({"at_most_once": 3}, "at_most_once: the int 3"),
        ({"at_most_once": [3]}, "at_most_once: the int 3; allowed: names"),
        ({"order": [["A", "A"]]}, "order: .*each name once"),
        ({"order": 1}, "order: the int 1"),
        ({"at_most_once_between": "A"}, "at_most_once_between: .*a dictionary"),
        ({"at_most_once_between": {1: "A"}}, "at_most_once_between: the int 1"),
        ({"at_most_once_between": {"A": 1}}, "at_most_once_between, 'A': the int 1"),
        ({"at_most_once_between": {"A": ["A"]}}, "'A'; allowed: other names than the separator"),
        ({"at_most_once_between": {"D": "A"}}, "at_most_once_between: unknown label or type 'D'"),
        ({"forbidden_pairs": [["A"]]}, "forbidden_pairs: .*pairs of names"),
        ({"forbidden_pairs": ["AB"]}, "forbidden_pairs: .*pairs of names"),
        ({"forbidden_pairs": [[None, None]]}, "forbidden_pairs: .*pairs of names"),
        ({"followed_by": ["A"]}, "followed_by: .*a dictionary"),
        ({"followed_by": []}, r"followed_by: the list \[\]; allowed: a dictionary"),
        ({"order": ["A", ["B"]]}, "order: the string 'A' beside a list; allowed: names, or lists"),
        ({"followed_by": {"A": [1]}}, "followed_by, 'A': the int 1"),
        ({"preceded_by": {1: ["A"]}}, "preceded_by: the int 1"),
        ({"fixed": {"x": "A"}}, "fixed: the string 'x'; allowed: numbers of tokens"),
        ({"fixed": {True: "A"}}, "fixed: the bool True"),
        (["A"], "constraints are the list"),
        ({"at_most_once": ["D"]}, "at_most_once: unknown label or type 'D'; allowed: A, B, C, O"),
        ({"followed_by": {"A": "Bb"}}, "followed_by: unknown label or type 'Bb'; did you mean 'B'"),
        ({"fixed": {0: "Aa"}}, "fixed, token 0: unknown label or type 'Aa'; did you mean 'A'"),
        ({"fixed": {4: "A"}}, "fixed: token 4; sentence 1 has 4 tokens"),
        ({"fixed": {-5: "A"}}, "fixed: token -5; sentence 1 has 4 tokens"),
    ],
)
def test_what_is_wrong_is_said(declared, message):
    with pytest.raises(ParameterError, match=message):
        model("plain").tag(SENTENCE, constraints=declared)


def test_a_contradiction_names_only_the_constraints_that_it_needs():
    declared = {
        "at_most_once": ["A", "B"],
        "at_least_once": ["C"],
        "fixed": {0: "A", 1: "C", 2: "A"},
    }
    with pytest.raises(CorpusError) as caught:
        model("plain").tag_all([["a", "b", "c"], SENTENCE], constraints=declared)
    assert str(caught.value) == (
        "sentence 1, 3 tokens: no label sequence satisfies the constraints: "
        "at_most_once A; token 0 is A; token 1 is C; token 2 is A"
    )


def test_the_sentence_of_a_contradiction():
    sentences = [SENTENCE, SENTENCE[:1], SENTENCE]
    with pytest.raises(CorpusError, match=r"sentence 2, 1 token: .*: at_least_once A; .* B$"):
        model("plain").tag_all(sentences, constraints={"at_least_once": ["A", "B"]})


def test_empty_sentences_have_no_labels():
    assert model("plain").tag_all([[], []], constraints={"at_least_once": "A"}) == [[], []]


def test_constraints_and_allowed_labels_hold_together():
    m, declared = model("plain"), {"at_most_once": "A", "at_least_once": "B"}
    allowed = [["A"], None, ["B", "C"], ["C", "A"]]
    every = remaining("plain", 0, 4, {"at_most_once": ["A"], "at_least_once": ["B"]})
    left = {
        y: p
        for y, p in every.items()
        if all(a is None or label in a for a, label in zip(allowed, y, strict=True))
    }
    best = max(left, key=left.get)
    assert tuple(m.tag(SENTENCE, allowed=allowed, constraints=declared)) == best
    (first, p), *_ = m.nbest(SENTENCE, 3, allowed=allowed, constraints=declared)
    assert tuple(first) == best
    assert p == pytest.approx(left[best] / sum(left.values()), rel=1e-3)
    table = m.marginals(SENTENCE, allowed=allowed, constraints=declared)
    assert table[0]["A"] == pytest.approx(1)


def test_few_parts_of_labels_fill_a_vector_of_the_core():
    """The core reads and writes eight numbers of split labels at a time."""
    m = model("to iob1")
    assert len(m.output.parts.label_of) == len(m.output.parts.legal) - 1 < 5
    table = m.marginals(SENTENCE)
    every = paths("to iob1", 0, 4)
    for t, label in itertools.product(range(4), m.labels):
        expected = sum(p for y, p in every.items() if y[t] == label)
        assert table[t][label] == pytest.approx(expected, abs=1e-4)


# ---- many names ----------------------------------------------------------------------------------


@functools.cache
def wide(n):
    """A model of many labels, with random weights."""
    rng = np.random.default_rng(n)
    labels = [f"L{i}" for i in range(n)]
    words = [[f"w{k}" for k in rng.integers(0, 40, n)] for _ in range(20)]
    trained = adaptag.train(words, [labels] * 20, passes=1)
    values = rng.normal(0, 1, len(trained.weights))
    return replace(trained, weights=np.where(trained.weights != 0, values, 0).astype(np.float32))


def random_sentences(n, seed=0):
    rng = np.random.default_rng(seed)
    return [[f"w{k}" for k in rng.integers(0, 40, rng.integers(1, 9))] for _ in range(n)]


def test_every_label_at_most_once_of_25():
    m, sentences = wide(25), random_sentences(100)
    plain, once = m.tag_all(sentences), m.tag_all(sentences, constraints={"at_most_once": "*"})
    known = m.labels
    declared = {"at_most_once": known}
    assert all(satisfies(labels, declared, known, False) for labels in once)
    assert 0 < sum(map(list.__ne__, plain, once)) < 100
    for a, b in zip(plain, once, strict=True):
        assert a == b or not satisfies(a, declared, known, False)


def test_probabilities_of_too_many_states_are_refused():
    for call in (wide(25).marginals, functools.partial(wide(25).nbest, n=2)):
        with pytest.raises(ParameterError, match=r"need at least .* states; allowed: 1,024"):
            call(["w1"], constraints={"at_most_once": "*"})


def test_an_order_of_many_names_needs_few_states():
    m = wide(25)
    declared = {"at_most_once": "*", "order": list(m.labels)}
    (best, p), (_, second) = m.nbest(["w1", "w2", "w3"], 2, constraints=declared)
    assert best == m.tag(["w1", "w2", "w3"], constraints=declared)
    assert best == sorted(best, key=m.labels.index)
    assert p > second


def test_a_model_is_freed_without_the_garbage_collector():
    m = replace(model("chunked"))
    m.tag(SENTENCE)
    m.segments(SENTENCE, constraints={"at_most_once": "X"})
    gc.disable()
    try:
        known = weakref.ref(m)
        del m
        assert known() is None
    finally:
        gc.enable()


# ---- the command line, and raw text --------------------------------------------------------------


def write_problem(tmp_path, declared):
    model("chunked").save(tmp_path / "m")
    (tmp_path / "in").write_text("a\nb\na\nc\n\nb\na\n\n")
    (tmp_path / "c.json").write_text(json.dumps(declared))


def test_the_command_line(program, tmp_path):
    declared = {"at_most_once": ["X"], "at_least_once": ["Y"]}
    write_problem(tmp_path, declared)
    expected = model("chunked").tag_all([SENTENCE, ["b", "a"]], constraints=declared)
    done = program("tag", "in", "-m", "m", "--constraints", "c.json")
    assert done.code == 0
    assert [line.split()[-1] for line in done.out.split("\n") if line] == list(
        itertools.chain(*expected)
    )
    best = program("tag", "in", "-m", "m", "--constraints", "c.json", "--nbest", "2")
    assert best.out.count("# 1 ") == 2
    chances = program("tag", "in", "-m", "m", "--constraints", "c.json", "--marginals")
    assert chances.out.split()[1:3] != done.out.split()[1:3]
    (tmp_path / "text").write_text("a b a c\nb a\n")
    text = program("tag", "text", "--text", "-m", "m", "--constraints", "c.json")
    spans = [json.loads(line)["spans"] for line in text.out.splitlines()]
    assert [[kind for *_, kind in line].count("X") <= 1 for line in spans] == [True, True]
    assert all("Y" in [kind for *_, kind in line] for line in spans)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "c.json:1, character 2: not JSON"),
        ('{"order": [], "order": []}', "c.json: not JSON: the key 'order' occurs twice"),
        ("[]", "c.json: constraints are the list"),
        ('{"at_most_once": ["Z"]}', "unknown label or type 'Z'"),
        ('{"fixed": {"0": "X", "-0": "Y"}}', "fixed: 0 is given twice; allowed: once"),
        ('{"at_least_once": ["X", "Y", "O"]}', "in:6, 2 tokens: no label sequence"),
    ],
)
def test_errors_of_the_command_line(program, tmp_path, content, message):
    write_problem(tmp_path, {})
    (tmp_path / "c.json").write_text(content)
    done = program("tag", "in", "-m", "m", "--constraints", "c.json")
    assert done.code == 2
    assert message in " ".join(done.err.split())
    assert "Traceback" not in done.err


def test_a_missing_file_of_constraints(program, tmp_path):
    write_problem(tmp_path, {})
    done = program("tag", "in", "-m", "m", "--constraints", "none.json")
    assert done.code == 2
    assert "none.json" in done.err


def test_raw_text():
    m, declared = model("chunked"), Constraints(at_least_once="Y", at_most_once=["X", "Y"])
    text = m.tag_text("a b a c", tokenizer="whitespace", constraints=declared)
    segments = m.segments(SENTENCE, constraints=declared)
    assert [(s.label, s.probability) for s in text.spans] == [
        (s.type, pytest.approx(s.probability)) for s in segments
    ]
    (fast,) = m.tag_texts(
        ["a b a c"], tokenizer="whitespace", constraints=declared, probabilities=False
    )
    assert [s.label for s in fast.spans] == [s.type for s in segments]


# ---- scores, and scikit-learn's conventions ------------------------------------------------------


def scored(constraints=None):
    """The accuracy of a model of plain labels, on labels that satisfy some constraints."""
    sentences = random_sentences(60, seed=5)
    m, declared = wide(25), {"at_most_once": "*"}
    gold = m.tag_all(sentences, constraints=declared)
    return m.evaluate(sentences, gold, constraints=constraints).accuracy


def test_evaluation_shows_what_constraints_bring():
    assert scored() < scored({"at_most_once": "*"}) == 100


def test_calibration_under_constraints():
    m, declared = model("chunked"), {"at_least_once": ["Y"]}
    labels = m.tag(SENTENCE, constraints=declared)
    measured = m.calibration([SENTENCE], [labels], constraints=declared, bins=1)
    table = m.marginals(SENTENCE, constraints=declared)
    chances = [row[label] for row, label in zip(table, labels, strict=True)]
    assert measured["tokens"].probability == pytest.approx(np.mean(chances), abs=1e-5)
    (_, best), *_ = m.nbest(SENTENCE, 1, constraints=declared)
    assert measured["sequences"].probability == pytest.approx(best, abs=1e-5)


def test_evaluation_on_the_command_line(program, tmp_path):
    declared = {"at_most_once": ["X"], "at_least_once": ["Y"]}
    write_problem(tmp_path, declared)
    gold = model("chunked").tag(SENTENCE, constraints=declared)
    assert gold != model("chunked").tag(SENTENCE)
    rows = zip(SENTENCE, gold, strict=True)
    (tmp_path / "gold").write_text("".join(f"{token} {label}\n" for token, label in rows))
    evaluate = functools.partial(program, "evaluate", "gold", "--json")
    assert json.loads(evaluate("-m", "m").out)["score"] < 100
    assert json.loads(evaluate("-m", "m", "--constraints", "c.json").out)["score"] == 100
    calibrated = json.loads(evaluate("-m", "m", "--constraints", "c.json", "--calibration").out)
    assert calibrated["score"] == 100
    refused = evaluate("--constraints", "c.json")
    assert refused.code == 2
    assert "--constraints requires --model" in refused.err


def test_crf_predicts_under_constraints():
    pytest.importorskip("sklearn", reason="the extra 'sklearn' is not installed")
    sequences = [[{"w": word} for word in sentence] for sentence in random_sentences(40)]
    labels = [[f"L{int(token['w'][1:]) % 3}" for token in sequence] for sequence in sequences]
    crf = adaptag.CRF(passes=5).fit(sequences, labels)
    declared = {"at_most_once": "*"}
    found = crf.predict(sequences, constraints=declared)
    assert found == crf.model_.tag_all(sequences, constraints=declared) != crf.predict(sequences)
    known = crf.model_.labels
    assert all(satisfies(row, {"at_most_once": known}, known, False) for row in found)


# ---- addresses -----------------------------------------------------------------------------------

ADDRESSES = [
    ("12 Oak Street Springfield", "Number Street StreetType Place"),
    ("7 Mill Lane Leeds", "Number Street StreetType Place"),
    ("221 Baker Street London", "Number Street StreetType Place"),
    ("Oak Street & Mill Lane Leeds", "Street StreetType Separator Street StreetType Place"),
    ("Baker Street & Park Road York", "Street StreetType Separator Street StreetType Place"),
    ("Main Street East York", "Street StreetType Place Place"),
    ("East Lane & Oak Road York", "Street StreetType Separator Street StreetType Place"),
    ("9 East Street Bath", "Number Street StreetType Place"),
]


def test_an_address_parser_in_the_manner_of_usaddress():
    """Runs of a label count once; the street of an intersection once on each side of it."""
    tokens = [address.split() for address, _ in ADDRESSES]
    items = [[{"word": t.lower(), "digits": t.isdigit()} for t in row] for row in tokens]
    parser = adaptag.train(items, [labels.split() for _, labels in ADDRESSES], passes=20)
    streets = ["Street", "StreetType"]
    rules = adaptag.Constraints(
        at_most_once=[label for label in parser.labels if label not in streets],
        at_most_once_between={"Separator": streets},
    )

    def is_legal(labels):
        """What usaddress.tag accepts."""
        sides = list(itertools.accumulate(labels, lambda on, y: on or y == "Separator", initial=0))
        names = [(y, bool(on) and y in streets) for y, on in zip(labels, sides[1:], strict=True)]
        runs = [name for name, _ in itertools.groupby(names)]
        return len(runs) == len(set(runs))

    rng, words = np.random.default_rng(3), sorted({t for row in tokens for t in row})
    made = [[str(w) for w in rng.choice(words, rng.integers(3, 9))] for _ in range(300)]
    features = [[{"word": t.lower(), "digits": t.isdigit()} for t in row] for row in made]
    before, after = parser.tag_all(features), parser.tag_all(features, constraints=rules)
    assert all(map(is_legal, after))
    assert sum(map(is_legal, before)) < 200
    assert all(a == b for a, b in zip(before, after, strict=True) if is_legal(a))
    assert any(labels.count("Street") > 1 and "Separator" in labels for labels in after)
    assert parser.tag(items[3], constraints=rules) == ADDRESSES[3][1].split()
