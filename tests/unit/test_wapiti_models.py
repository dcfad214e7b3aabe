from __future__ import annotations

import itertools
import random
import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import adaptag
from adaptag.corpus.columns import ColumnCorpus
from adaptag.decoding.model import Model
from adaptag.decoding.tagged import TagOptions, tagged_columns
from adaptag.errors import CorpusError, ModelError
from adaptag.features.index import FeatureIndex
from adaptag.features.settings import FeatureSettings
from adaptag.foreign.files import write_foreign
from adaptag.foreign.wapiti import read_wapiti, wapiti_bytes
from reproduction.data import default_folder
from tests.reference.wapiti_patterns import observation, value

DATA = default_folder() / "foreign_models" / "wapiti"
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"no Wapiti models in {DATA}; set ADAPTAG_DATA"
)

LABELS = ["X", "größe", "O"]
PATTERNS = [
    "u:w=%x[0,0]",
    "u:w=%x[-1,0]",  # shares its observations with the first
    "u:p=%x[-1,0]/%X[1,1]",
    'u:m=%m[0,0,".?.?.$"]',
    'u:M=%M[-2,0,"^.?.?"]',
    '*:t=%t[1,0,"^\\u"]',
    'b:T=%T[-1,1,"x"]',
    "u:far=%x[7,0]",
    "u",
    "b",
]
WORDS = ["a", "Ab", "a/b", "ÜB", "abcd", "_x-1", "x"]


def sentences(seed, n, longest=4):
    rng = random.Random(seed)
    return [
        [(rng.choice(WORDS), rng.choice(WORDS)) for _ in range(rng.randrange(1, longest + 1))]
        for _ in range(n)
    ]


def weights_of(name):
    y = len(LABELS)
    return {"u": y, "b": y * y, "*": y + y * y}[name[:1].decode()]


def netstring(text):
    data = text if isinstance(text, bytes) else text.encode()
    return b"%d:%s,\n" % (len(data), data)


def hexadecimal(number):
    return re.sub(r"\.?0*p", "p", float(number).hex())


def model_file(weights, patterns=PATTERNS, kind=2, labels=LABELS):
    """A file, of the weights of observations, some of which are zero."""
    values = np.concatenate(list(weights.values()))
    active = np.flatnonzero(values)
    columns = [int(c) for p in patterns for c in re.findall(r"%[a-zA-Z]\[[^,]*,(\d+)", p)]
    parts = [b"#mdl#%d#%d\n" % (kind, len(active))]
    parts.append(b"#rdr#%d/%d/0\n" % (len(patterns), max(columns, default=0)))
    parts += map(netstring, patterns)
    for strings in (labels, list(weights)):
        parts += [b"#qrk#%d\n" % len(strings), *map(netstring, strings)]
    parts += [f"{k}={hexadecimal(values[k])}\n".encode() for k in active]
    return b"".join(parts)


@pytest.fixture(scope="module")
def weights():
    """Random weights of the observations of some sentences."""
    seen = dict.fromkeys(
        observation(pattern, sentence, t)
        for sentence in sentences(1, 30)
        for t in range(len(sentence))
        for pattern in PATTERNS
    )
    rng = np.random.default_rng(2)
    return {
        name: rng.normal(size=weights_of(name)) * (rng.random(weights_of(name)) < 0.8)
        for name in seen
    }


@pytest.fixture(scope="module")
def data(weights):
    return model_file(weights)


@pytest.fixture(scope="module")
def model(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("wapiti") / "model"
    path.write_bytes(data)
    return adaptag.load(path)


def score(weights, sentence, path):
    """The score of a path by strings."""
    y = len(LABELS)
    total = 0.0
    for t, label in enumerate(path):
        for pattern in PATTERNS:
            row = weights.get(observation(pattern, sentence, t))
            if row is None:
                continue
            if pattern[0] in "u*":
                total += row[label]
            if pattern[0] in "b*" and t:
                total += row[len(row) - y * y + path[t - 1] * y + label]
    return total


def brute_force(weights, sentence):
    paths = list(itertools.product(range(len(LABELS)), repeat=len(sentence)))
    scores = np.array([score(weights, sentence, path) for path in paths])
    return paths, np.exp(scores - np.logaddexp.reduce(scores))


def test_brute_force(model, weights):
    for sentence in sentences(3, 40):
        paths, p = brute_force(weights, sentence)
        order = np.argsort(-p)[:3]
        best = model.nbest(sentence, 3)
        assert [path for path, _ in best] == [[LABELS[y] for y in paths[k]] for k in order]
        assert [chance for _, chance in best] == pytest.approx(p[order].tolist(), abs=1e-6)
        assert model.tag(sentence) == best[0][0]
        for t, row in enumerate(model.marginals(sentence)):
            for y, label in enumerate(LABELS):
                expected = sum(p[k] for k, path in enumerate(paths) if path[t] == y)
                assert row[label] == pytest.approx(expected, abs=1e-6)


def corpus_of(listed):
    text = "\n\n".join("\n".join(" ".join(row) for row in sentence) for sentence in listed)
    return ColumnCorpus.from_bytes(text.encode() + b"\n")


def blocks(output):
    return [block.splitlines() for block in output.decode().split("\n\n") if block]


@pytest.mark.parametrize("n", [1, 3])
def test_printed_as_crf_test_does(model, weights, n):
    listed = sentences(4, 10)
    output = tagged_columns(model, TagOptions(nbest=n, output_format="crf++-v2"), corpus_of(listed))
    found = iter(blocks(output))
    for sentence in listed:
        paths, p = brute_force(weights, sentence)
        order = np.argsort(-p)[:n]
        marginals = np.zeros((len(sentence), len(LABELS)))
        for path, chance in zip(paths, p, strict=True):
            marginals[np.arange(len(sentence)), path] += chance
        for rank, k in enumerate(order):
            head = f"# {rank} {p[k]:.6f}" if n > 1 else f"# {p[k]:.6f}"
            rows = [
                "\t".join(
                    [*row, f"{LABELS[y]}/{chances[y]:.6f}"]
                    + [f"{label}/{c:.6f}" for label, c in zip(LABELS, chances, strict=True)]
                )
                for row, y, chances in zip(sentence, paths[k], marginals, strict=True)
            ]
            assert next(found) == [head, *rows]
    assert next(found, None) is None


def test_printed_as_wapiti_does(model, weights):
    listed = sentences(5, 10)
    output = tagged_columns(
        model, TagOptions(nbest=4, output_format="wapiti-scores"), corpus_of(listed)
    )
    found = iter(blocks(output))
    for sentence in listed:
        paths, p = brute_force(weights, sentence)
        marginals = np.zeros((len(sentence), len(LABELS)))
        for path, chance in zip(paths, p, strict=True):
            marginals[np.arange(len(sentence)), path] += chance
        products = np.array([marginals[np.arange(len(path)), path].prod() for path in paths])
        for rank, k in enumerate(np.argsort(-products)[:4]):
            rows = [
                f"{' '.join(row)}\t{LABELS[y]}\t{LABELS[y]}/{chances[y]:.6f}"
                for row, y, chances in zip(sentence, paths[k], marginals, strict=True)
            ]
            assert next(found) == [f"# {rank} {products[k]:.6f}", *rows]
    plain = tagged_columns(model, TagOptions(output_format="wapiti"), corpus_of(listed))
    lines = [line.split("\t")[-1] for block in blocks(plain) for line in block]
    assert lines == [label for labels in model.tag_all(listed) for label in labels]


# ---- regular expressions ---------------------------------------------------------------------

ITEMS = st.tuples(
    st.sampled_from(["a", "b", "A", "1", ".", "_", "é", "\\.", "\\\\", "$", "^", "["])
    | st.sampled_from([f"\\{name}" for name in "dawlupsDAWLUPS"]),
    st.sampled_from(["", "", "?", "*"]),
).map("".join)
EXPRESSIONS = (
    st.tuples(
        st.sampled_from(["", "^"]),
        st.lists(ITEMS, max_size=6).map("".join),
        st.sampled_from(["", "$"]),
    )
    .map("".join)
    .filter(lambda text: text[:2] not in ("^?", "^*"))
)


@given(EXPRESSIONS, st.text("abA1._é[$^\\", min_size=1, max_size=9))
@settings(deadline=None, max_examples=300)
@example(".?.?b", "bA1.")  # a failed attempt counts
@example("a?.*b", "aAAb1")
@example("^.?.?.$", "a")
@example("", "a")
@example("^$", "a")
def test_expressions(expression, token):
    corpus = ColumnCorpus.from_sentences([[token]])
    for macro in "tTmM":
        template = f'u:%{macro}[0,0,"{expression}"]'
        index, _ = FeatureIndex.build(
            corpus, FeatureSettings(template=adaptag.Template(template)), labelled=False
        )
        key = index.tensors["keys"][0]
        begin, end = index.tensors["vocabulary_offsets"][key[1] : key[1] + 2]
        found = index.tensors["vocabulary_bytes"][begin:end].tobytes()
        assert found == value(macro.encode(), expression.encode(), token.encode())


def test_a_long_expression_takes_no_long_time():
    template = 'u:%m[0,0,"' + ".?" * 30 + ".*" * 20 + 'b$"]'
    corpus = ColumnCorpus.from_sentences([["a" * 2000]])
    settings = FeatureSettings(template=adaptag.Template(template))
    assert FeatureIndex.build(corpus, settings, labelled=False)[0].name(0) == "u:"


# ---- there and back --------------------------------------------------------------------------


def test_written_as_it_was_read(data, model):
    assert wapiti_bytes(model) == data
    assert wapiti_bytes(read_wapiti(data)) == data


def test_all_that_other_models_do(model, tmp_path):
    listed = sentences(6, 20)
    model.save(tmp_path / "own")
    own = adaptag.load(tmp_path / "own")
    assert own.index.template == model.index.template
    assert [own.marginals(s) for s in listed] == [model.marginals(s) for s in listed]
    small = own.compact(prune=0.0, weights="float32")
    assert small.tag_all(listed) == model.tag_all(listed)
    small.save(tmp_path / "small")
    assert adaptag.load(tmp_path / "small").tag_all(listed) == model.tag_all(listed)
    assert "u:w=" in str(model.explain(listed[0]))
    assert model.provenance["source"] == "Wapiti"


def test_trained_further_and_written(model, tmp_path):
    listed = [[("new", "t"), ("Abc", "a")]] * 5
    more = adaptag.train(listed, [["O", "X"]] * 5, start=model, passes=5)
    assert more.tag(listed[0]) == ["O", "X"]
    write_foreign(more, tmp_path / "more", "wapiti")
    again = adaptag.load(tmp_path / "more")
    for sentence in [*sentences(7, 20), listed[0]]:
        assert again.tag(sentence) == more.tag(sentence)
        assert again.nbest(sentence, 1)[0][1] == pytest.approx(more.nbest(sentence, 1)[0][1])


def test_the_general_template_of_crfpp(tmp_path):
    listed = [[pair for pair in s if "_x-1" not in pair] for s in sentences(8, 60)]
    listed = [sentence for sentence in listed if sentence]
    rng = random.Random(9)
    labels = [rng.choices(LABELS, k=len(sentence)) for sentence in listed]
    template = "# words\nU1:%x[-1,0]/%x[1,1]\n*2:%x[0,0]\nU3:%x[-4,0]\nB\n"
    own = adaptag.train(listed, labels, template=template, passes=3, scheme="as-is")
    write_foreign(own, tmp_path / "model", "wapiti")
    read = adaptag.load(tmp_path / "model")
    assert [line.text for line in read.index.template.lines] == [
        "u1:%x[-1,0]/%x[1,1]",
        "*2:%x[0,0]",
        "u3:%x[-4,0]",
        "b",
    ]
    for sentence in listed:
        assert read.nbest(sentence, 2) == own.nbest(sentence, 2)


def test_columns_that_no_pattern_uses(model):
    sentence = [("a", "b"), ("Ab", "x")]
    corpus = corpus_of([[(*row, "lemma", "X") for row in sentence]])
    assert [model.labels[y] for y in model.tag_corpus(corpus)] == model.tag(sentence)
    more = adaptag.train(
        [[(*row, "lemma") for row in sentence]], [["X", "O"]], start=model, passes=1
    )
    assert more.index.n_columns == 2
    with pytest.raises(CorpusError, match="1 column; the model was trained with 2"):
        model.tag_corpus(corpus_of([[("a",)]]))


def test_maxent():
    weights = {b"u:w=a": np.array([1.0, 0, 0]), b"u:w=b": np.array([0, 2.0, 0]), b"b": np.zeros(9)}
    patterns = ["u:w=%x[0,0]", "b"]
    chain = read_wapiti(model_file(weights, patterns, kind=0))
    model = Model(chain.labels, chain.index, chain.weights)
    assert model.tag(["a", "b", "a"]) == ["X", "größe", "X"]
    weights[b"b"] = np.ones(9)
    with pytest.raises(ModelError, match="a maxent model with weights of pairs"):
        read_wapiti(model_file(weights, patterns, kind=0))


# ---- the program itself ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_libwapiti_makes_the_same_observations(seed, tmp_path):
    wapiti = pytest.importorskip("wapiti", reason="libwapiti is not installed")
    rng = random.Random(seed)
    atoms = [*"abA1._Z", "é", "\\.", *(f"\\{name}" for name in "dawlupsDAWLUPS")]
    expressions = [
        rng.choice(["", "^"])
        + rng.choice(atoms)
        + "".join(rng.choice(atoms) + rng.choice(["", "?", "*"]) for _ in range(rng.randrange(5)))
        + rng.choice(["", "$"])
        for _ in range(100)
    ]
    patterns = [
        f'u:{k}=%x[0,0]=%{rng.choice("tT")}[{rng.randrange(-6, 7)},0,"{expression}"]='
        f'%{rng.choice("mM")}[{rng.randrange(-6, 7)},0,"{expression}"]'
        for k, expression in enumerate(expressions)
    ]
    words = ["".join(rng.choices([*"abA1._Z", "é"], k=rng.randrange(1, 12))) for _ in range(40)]
    program = wapiti.Model(patterns="\n".join(patterns), maxiter=1, nthread=1)
    program.add_training_sequence("\n".join(f"{word} {rng.choice('XY')}" for word in words))
    program.train()
    program.save(str(tmp_path / "model"))
    data = (tmp_path / "model").read_bytes()
    found = set(re.findall(rb"\n[0-9]+:(u:[0-9]+=[^%].*),(?=\n)", data))
    sentence = [(word,) for word in words]
    expected = {observation(p, sentence, t) for p in patterns for t in range(len(words))}
    assert found == expected


@pytest.mark.parametrize("name", ["random", "shared", "shared, trained further"])
def test_libwapiti_gives_the_same_tags(name, model, tmp_path):
    wapiti = pytest.importorskip("wapiti", reason="libwapiti is not installed")
    listed = sentences(10, 200, longest=12)
    if name != "random":
        if not DATA.is_dir():
            pytest.skip("no shared models")
        model = adaptag.load(DATA / "chunking.model")
        rows = (DATA.parent / "input.txt").read_text(encoding="utf-8").strip().split("\n\n")
        listed = [[tuple(line.split()[:2]) for line in block.splitlines()] for block in rows]
        if name == "shared, trained further":
            gold = [[line.split()[2] for line in block.splitlines()] for block in rows[:50]]
            model = adaptag.train(listed[:50], gold, start=model, passes=2)
    write_foreign(model, tmp_path / "model", "wapiti")
    program = wapiti.Model(model=str(tmp_path / "model"), nthread=1)
    for sentence, tags in zip(listed, model.tag_all(listed), strict=True):
        lines = "\n".join(" ".join(row) for row in sentence)
        found = program.label_sequence(lines).decode().split()
        if found != tags:  # there are sequences with the same sum of weights
            (_, first), (second, p) = model.nbest(sentence, 2)
            assert found == second
            assert p == pytest.approx(first, rel=1e-6)
            assert name == "random"


# ---- what cannot be read or written ----------------------------------------------------------

SMALL = {b"u:w=a": np.arange(1.0, 4), b"b": np.arange(9.0)}


def small(**changes):
    return model_file(SMALL, **{"patterns": ["u:w=%x[0,0]", "b"], **changes})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (small(kind=1), "a maximum entropy Markov model; allowed: CRF, maxent"),
        (small(kind=7), "of type 7"),
        (b"#mdl#6237\n", "expected #mdl#type#weights"),
        (small().replace(b"#rdr#2/0/0", b"#rdr#0/0/0"), "without patterns is not supported"),
        (small().replace(b"#rdr#2/0/0", b"#rdr#2/0/1"), "without patterns is not supported"),
        (small().replace(b"#rdr#2", b"#rdr#3"), "expected length:string, of the patterns"),
        (small().replace(b"5:u:w=a,", b"4:u:w=a,"), "the end of one of the observations"),
        (small(patterns=["u:w=%x[@1,0]", "b"]), "rows with @ are not supported"),
        (small(patterns=["u:w=%lower[0,0]", "b"]), "line 1 of the template is not of Wapiti"),
        (small(patterns=['u:w=%m[0,0,"a**"]', "b"]), "repeats no character"),
        (small(patterns=["u:w=%x[0,0] # a", "b"]), "a comment, or white space at its end"),
        (small(patterns=['u:w=%m[0,0,".?.$"]/', "b"]), "Wapiti may cut off what follows %m"),
        (small(patterns=["u:v=%x[0,0]", "b"]), "no line of the template makes .* 'u:w=a'"),
        (model_file({**SMALL, b"u:w=": np.ones(3)}, ["u:w=%x[0,0]", "b"]), "makes .* 'u:w='"),
        (small().replace(b"5:u:w=a,", b"5:x:w=a,"), "begins with 'x'; allowed: u, b, "),
        (small().replace(b"5:u:w=a,", b"0:,"), "begins with ''; allowed: u, b, "),
        (small(labels=["X", "X", "O"]), "a label stands twice"),
        (small().replace(b"\n2=", b"\n1="), "a weight 1; allowed: 2 to 11"),
        (small().replace(b"0x1p+0", b"0x1p+1100"), "a weight is too large"),
        (small().replace(b"0x1p+0", b"0x1p+100"), "larger than 1e"),
        (small().replace(b"0x1p+0", b"nan"), "no weight; expected number=value"),
        (small() + b"12=0x1p+0\n", "more than 11 weights"),
        (small()[:-3], "no weight"),
        (small(labels=["X", b"gr\xf6", "O"]), "not UTF-8"),
    ],
)
def test_messages(data, message):
    with pytest.raises(ModelError, match=f"^f: .*{message}"):
        read_wapiti(data, "f")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("U:%lower[0,0]\nB", "line 1 of its template has %lower, which Wapiti has not"),
        ("B\nU#:%x[0,0]", "line 2 of its template has a #"),
        ("U1%x[0,0]%x[-1,0]\nB", "two features 'u1aaa' with different weights"),
        ("U1:%x[-6,0]\nB", "two features 'u1:_x-#' with different weights"),
    ],
)
def test_not_written(template, message, tmp_path):
    listed = [["a", "aa"], ["aa", "a"]] * 3
    model = adaptag.train(
        listed, [["X", "Y"], ["Y", "Y"]] * 3, template=template, passes=2, scheme="as-is"
    )
    with pytest.raises(ModelError, match=f"cannot be written as a Wapiti model: .*{message}"):
        write_foreign(model, tmp_path / "no", "wapiti")
    assert not (tmp_path / "no").exists()


def test_a_damaged_file_is_a_model_or_a_model_error(data):
    from tests.unit.test_crfpp_models import mutations

    words = [b"\n", b"#qrk#", b"99999999999", b"-1", b"%x[0,0]", b"nan", b"0x1p+999", b"?*", b","]
    n_models = 0
    for copy in mutations(data, 1500, 3, words):
        try:
            chain = read_wapiti(copy, "f")
        except ModelError:
            continue
        n_models += 1
        model = Model(chain.labels, chain.index, chain.weights)
        tokens = ("a", "b", *["c"] * model.index.n_columns)[: model.index.n_columns]
        assert len(model.tag([tokens] * 3)) == 3
        wapiti_bytes(chain)
    assert 0 < n_models < 1500


# ---- the model that Wapiti trained -----------------------------------------------------------


@needs_data
@pytest.mark.parametrize(
    ("printed", "n", "form"),
    [("tagged.txt", 1, "wapiti"), ("tagged-scores-n3.txt", 3, "wapiti-scores")],
)
def test_what_wapiti_printed(printed, n, form):
    model = adaptag.load(DATA / "chunking.model")
    corpus = ColumnCorpus.read(DATA.parent / "input.txt")
    output = tagged_columns(model, TagOptions(nbest=n, output_format=form), corpus)
    assert output == (DATA / printed).read_bytes()


@needs_data
def test_the_file_that_wapiti_wrote():
    data = (DATA / "chunking.model").read_bytes()
    assert wapiti_bytes(read_wapiti(data)) == data
