from __future__ import annotations

import itertools
import random
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adaptag
from adaptag.corpus.columns import ColumnCorpus
from adaptag.decoding.model import Model
from adaptag.decoding.tagged import TagOptions, tagged_columns
from adaptag.errors import ModelError
from adaptag.features.template import Template
from adaptag.foreign.binary import BinaryFile
from adaptag.foreign.crfpp import crfpp_text, read_crfpp, read_crfpp_text
from adaptag.foreign.double_array import UNIT, strings_of
from adaptag.foreign.files import write_foreign
from adaptag.foreign.matching import FeatureMatcher
from reproduction.data import default_folder

DATA = default_folder() / "foreign_models" / "crfpp"
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"no CRF++ models in {DATA}; set ADAPTAG_DATA"
)

LABELS = ["X", "Y", "größe"]
TEMPLATE = ["U0:%x[0,0]", "U1:%x[-1,0]/%x[0,1]", "U2", "B", "B1:%x[0,0]"]
TOKENS = ["a", "b", "a/b", "ü"]
FEATURES = [
    "B",
    *(f"B1:{token}" for token in TOKENS),
    *(f"U0:{token}" for token in TOKENS),
    *(f"U1:{left}/{token}" for left in ["_B-1", "a", "b/a"] for token in TOKENS),
    "U2",
]
FEATURES = sorted(set(FEATURES))


def numbered(features):
    """The first weight of each feature, and the number of weights."""
    sizes = [len(LABELS) ** (2 if feature[0] == "B" else 1) for feature in features]
    ends = list(itertools.accumulate(sizes, initial=0))
    return dict(zip(features, ends, strict=False)), ends[-1]


NUMBERS, N_WEIGHTS = numbered(FEATURES)
WEIGHTS = np.random.default_rng(1).normal(size=N_WEIGHTS).astype(np.float32).astype(float)


def text_model(features=NUMBERS, weights=WEIGHTS, factor=1.0, template=TEMPLATE, columns=2):
    sections = [
        ["version: 100", f"cost-factor: {factor:g}", f"maxid: {len(weights)}", f"xsize: {columns}"],
        LABELS,
        template,
        [f"{number} {feature}" for feature, number in features.items()],
        [f"{weight:.16f}" for weight in weights],
    ]
    return ("\n\n".join("\n".join(lines) for lines in sections) + "\n").encode()


def trie_of(strings):
    """A double array of strings and their values, each base where there is room for all units."""
    units = {0: [1, 0]}
    taken_bases = set()

    def place(node, members, depth):
        codes = sorted({0 if len(s) == depth else s[depth] + 1 for s in members})
        base = next(
            b
            for b in itertools.count(1)
            if b not in taken_bases and not any(b + code in units for code in codes)
        )
        taken_bases.add(base)
        units[node][0] = base
        for code in codes:
            units[base + code] = [0, base]
        for code in codes:
            if code:
                rest = [s for s in members if len(s) > depth and s[depth] + 1 == code]
                place(base + code, rest, depth + 1)
            else:
                end = next(s for s in members if len(s) == depth)
                units[base][0] = -1 - strings[end]

    place(0, list(strings), 0)
    array = np.zeros(max(units) + 1, UNIT)
    for number, unit in units.items():
        array[number] = tuple(unit)
    return array


def binary_model():
    trie = trie_of({feature.encode(): number for feature, number in NUMBERS.items()}).tobytes()
    labels, template = (
        b"".join(line.encode() + b"\0" for line in lines) for lines in (LABELS, TEMPLATE)
    )
    template += b"\0" * (-len(template) % 4)
    return b"".join(
        [
            struct.pack("<2Id3I", 100, 0, 1.0, N_WEIGHTS, 2, len(trie)),
            *(struct.pack("<I", len(block)) + block for block in (labels, template)),
            trie,
            WEIGHTS.astype("<f4").tobytes(),
        ]
    )


def loaded(chain):
    return Model(chain.labels, chain.index, chain.weights)


def score(sentence, labels, factor=1.0):
    """The score of labels by CRF++'s rules: strings are looked up, not tokens."""
    total = 0.0
    cells = {-1: ("_B-1",) * 2, **dict(enumerate(sentence))}
    for t, label in enumerate(labels):
        word, tag = sentence[t]
        y = LABELS.index(label)
        for feature in (f"U0:{word}", f"U1:{cells[t - 1][0]}/{tag}", "U2"):
            if feature in NUMBERS:
                total += WEIGHTS[NUMBERS[feature] + y]
        if t:
            before = LABELS.index(labels[t - 1])
            for feature in ("B", f"B1:{word}"):
                if feature in NUMBERS:
                    total += WEIGHTS[NUMBERS[feature] + before * len(LABELS) + y]
    return total * factor


@pytest.mark.parametrize(("form", "factor"), [("text", 1.0), ("text", 0.25), ("binary", 1.0)])
def test_brute_force(form, factor):
    model = loaded(
        read_crfpp(binary_model())
        if form == "binary"
        else read_crfpp_text(text_model(factor=factor))
    )
    rng = random.Random(2)
    for _ in range(40):
        pairs = [
            (rng.choice([*TOKENS, "b/a", "new"]), rng.choice([*TOKENS, "b/a/b"])) for _ in range(4)
        ]
        sentence = pairs[: rng.randrange(1, 5)]
        paths = list(itertools.product(LABELS, repeat=len(sentence)))
        scores = np.array([score(sentence, path, factor) for path in paths])
        probabilities = np.exp(scores - np.logaddexp.reduce(scores))
        order = np.argsort(-probabilities)[:3]
        best = model.nbest(sentence, 3)
        assert [tuple(path) for path, _ in best] == [paths[k] for k in order]
        assert [p for _, p in best] == pytest.approx(probabilities[order].tolist(), abs=1e-6)
        assert model.tag(sentence) == best[0][0]


def test_loaded_saved_and_trained_further(tmp_path):
    for name, data in (("text", text_model()), ("binary", binary_model())):
        (tmp_path / name).write_bytes(data)
    text, binary = (adaptag.load(tmp_path / name) for name in ("text", "binary"))
    sentence = [("a", "b"), ("a/b", "a")]
    assert text.tag(sentence) == binary.tag(sentence)
    text.save(tmp_path / "own")
    own = adaptag.load(tmp_path / "own")
    assert own.marginals(sentence) == text.marginals(sentence)
    more = adaptag.train([[("new", "t")]] * 5, [["X"]] * 5, start=own, passes=5)
    assert more.tag([("new", "t")]) == ["X"]
    windows = text_model().replace(b"\n", b"\r\n")
    assert loaded(read_crfpp_text(windows)).marginals(sentence) == text.marginals(sentence)


def test_all_that_other_models_do():
    model = loaded(read_crfpp_text(text_model()))
    sentence = [("a", "b"), ("a/b", "a"), ("ü", "new")]
    small = model.compact(prune=0.0, weights="float32")
    assert small.tag(sentence) == model.tag(sentence)
    assert "U0:a" in str(model.explain(sentence))


def test_written_as_it_was_read():
    assert crfpp_text(read_crfpp_text(text_model())) == text_model()
    halved = crfpp_text(read_crfpp_text(text_model(factor=0.5)))
    assert halved == text_model(weights=[float(f"{weight:.16f}") * 0.5 for weight in WEIGHTS])
    binary = crfpp_text(read_crfpp(binary_model()))
    assert binary == text_model()


def test_a_model_trained_here_is_written(tmp_path):
    rng = random.Random(5)
    listed = [
        [(rng.choice(TOKENS), rng.choice(TOKENS)) for _ in range(rng.randrange(1, 7))]
        for _ in range(40)
    ]
    labels = [rng.choices(LABELS, k=len(sentence)) for sentence in listed]
    template = "# comment\n\n" + "\n".join(["U0:%x[0,0]", "U1:%x[-2,1]", "B1:%x[0,0]", "B"])
    own = adaptag.train(listed, labels, template=template, passes=3, scheme="as-is")
    write_foreign(own, tmp_path / "text", "crf++")
    assert b"\n\nU0:%x[0,0]\nU1:%x[-2,1]\nB1:%x[0,0]\nB\n\n" in (tmp_path / "text").read_bytes()
    read = adaptag.load(tmp_path / "text")
    for sentence in listed:
        assert read.nbest(sentence, 2) == own.nbest(sentence, 2)
    patterns = adaptag.train(listed, labels, template="u:%x[-1,0]\nb", passes=3, scheme="as-is")
    write_foreign(patterns, tmp_path / "text", "crf++")
    read = adaptag.load(tmp_path / "text")
    assert [line.text for line in read.index.template.lines] == ["U:%x[-1,0]", "B"]
    for sentence in listed:
        assert read.nbest(sentence, 2) == patterns.nbest(sentence, 2)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("U:%lower[0,0]\nB", "line 1 of its template has %lower; CRF.. has %x only"),
        ("B\n*:%x[0,0]", "line 2 of its template begins with"),
        ("u:%x[-5,0]\nb", "line 1 of its template has a row beyond 4"),
        ("U1%x[0,0]%x[-1,0]\nB", "two features 'U1aaa' with different weights"),
    ],
)
def test_not_written(template, message, tmp_path):
    listed, labels = [["a", "aa"], ["aa", "a"]] * 3, [["X", "Y"], ["Y", "Y"]] * 3
    model = adaptag.train(listed, labels, template=template, passes=2, scheme="as-is")
    with pytest.raises(ModelError, match=f"cannot be written as a CRF.. model: .*{message}"):
        write_foreign(model, tmp_path / "no", "crf++")
    assert not (tmp_path / "no").exists()


# ---- parts -----------------------------------------------------------------------------------


def test_all_ways_to_make_a_feature():
    matcher = FeatureMatcher(Template("U1:%x[0,0]/%x[1,0]\nU:%x[0,0]\nU%x[0,0]%x[0,1]]\nB"), 1000)
    assert sorted(matcher.matches("U1:a/b//c")) == [
        (0, ("a", "b//c")),
        (0, ("a/b", "/c")),
        (0, ("a/b/", "c")),
    ]
    assert list(matcher.matches("U:x")) == [(1, ("x",))]
    assert list(matcher.matches("Uabc]")) == [(2, ("a", "bc")), (2, ("ab", "c"))]
    assert list(matcher.matches("B")) == [(3, ())]
    assert list(matcher.matches("Bx")) == list(matcher.matches("U1:a/")) == []
    with pytest.raises(ModelError, match="too many ways"):
        list(FeatureMatcher(Template("U:%x[0,0]%x[0,0]%x[0,0]"), 50).matches("U:" + "a" * 40))


@given(
    st.dictionaries(
        st.binary(min_size=1, max_size=6) | st.text("ab", min_size=1, max_size=5).map(str.encode),
        st.integers(0, 2**31 - 1),
        min_size=1,
        max_size=20,
    )
)
@settings(deadline=None, max_examples=50)
def test_tries(strings):
    trie = trie_of(strings)
    found = strings_of(trie, BinaryFile(trie.tobytes(), "f", "test"))
    assert {string: value for value, string in found} == strings


# ---- what cannot be read ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (text_model().replace(b"version: 100", b"version: 99"), "version 99; allowed: 100"),
        (text_model()[:40], "sections; expected 5"),
        (text_model().replace(b"maxid: ", b"maxid: 1"), "the file has [0-9]+ weights"),
        (text_model().replace(b"maxid", b"maximum"), "has version, cost-factor, maximum, xsize"),
        (text_model(columns=1), "xsize is 1; allowed: 2"),
        (text_model({**NUMBERS, "U9:x": 0}), "no line of the template makes .* 'U9:x'"),
        (text_model({**NUMBERS, "U0:x": N_WEIGHTS - 2}), "weights of .* 'U0:x' are not in"),
        (text_model(template=["U0:%lower[0,0]"]), "line 1 of the template is not of"),
        (text_model(template=["U0:%y[0,0]"]), "unknown macro 'y'"),
        (text_model().replace("ü".encode(), b"\xfc"), "not UTF-8"),
        (text_model(factor=1e300), "not finite"),
        (text_model().replace(b"X\nY", b"X\nX"), "a label stands twice"),
        (binary_model()[:-1], "the header says"),
    ],
)
def test_messages(data, message):
    reader = read_crfpp if data.startswith(b"d") else read_crfpp_text
    with pytest.raises(ModelError, match=f"f: .*{message}"):
        reader(data, "f")


def mutations(data, n, seed, words):
    """Copies of which some bytes were changed, removed or doubled."""
    rng = random.Random(seed)
    for _ in range(n):
        copy = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            place = rng.randrange(len(copy))
            kind = rng.randrange(5)
            if kind == 0:
                copy[place] = rng.randrange(256)
            elif kind == 1:
                word = rng.choice(words)
                copy[place : place + len(word)] = word
            elif kind == 2:
                del copy[place : place + rng.randrange(1, 30)]
            elif kind == 3:
                copy[place:place] = copy[place : place + rng.randrange(1, 60)]
            else:
                copy[place] ^= 1 << rng.randrange(8)
            copy = copy or bytearray(1)
        yield bytes(copy)


WORDS = [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x01\0\0\0", b"\0\0\0\x80"]
TEXT_WORDS = [b"\n\n", b"\n", b"99999999999", b"-1", b"%x[0,0]", b"nan", b"1e999", b"/", b"\r\n"]


@pytest.mark.parametrize(
    ("reader", "data", "words"),
    [(read_crfpp, binary_model(), WORDS), (read_crfpp_text, text_model(), TEXT_WORDS)],
    ids=["binary", "text"],
)
def test_a_damaged_file_is_a_model_or_a_model_error(reader, data, words):
    n_models = 0
    for copy in mutations(data, 2000, 3, words):
        try:
            model = loaded(reader(copy, "f"))
        except ModelError:
            continue
        n_models += 1
        tokens = ("a", "b", *["c"] * model.index.n_columns)[: model.index.n_columns]
        assert len(model.tag([tokens] * 3)) == 3
    assert 0 < n_models < 2000


# ---- models that CRF++ trained ---------------------------------------------------------------


def printed(path):
    """The blocks of a file between empty lines, each line cut at its tabs."""
    blocks = path.read_text(encoding="utf-8").split("\n\n")
    return [[line.split("\t") for line in block.splitlines()] for block in blocks if block.strip()]


@needs_data
@pytest.mark.parametrize("name", ["chunking.model", "chunking.model.txt"])
def test_printed_to_the_byte(name):
    model = Model.load(DATA / name)
    corpus = ColumnCorpus.read(DATA.parent / "input.txt")
    for expected, n, form, n_sentences in (
        ("tagged.txt", 1, "crf++", len(corpus)),
        ("tagged-v2-n3-first20.txt", 3, "crf++-v2", 20),
    ):
        options = TagOptions(nbest=n, output_format=form)
        output = tagged_columns(model, options, corpus.select(np.arange(n_sentences)))
        assert output == (DATA / expected).read_bytes()


@needs_data
def test_the_text_that_crfpp_wrote():
    data = (DATA / "chunking.model.txt").read_bytes()
    assert crfpp_text(read_crfpp_text(data)) == data


@needs_data
@pytest.mark.parametrize("name", ["chunking.model", "chunking.model.txt"])
def test_what_crfpp_printed(name):
    model = Model.load(DATA / name)
    tagged = printed(DATA / "tagged.txt")
    sentences = [[tuple(row[:2]) for row in block] for block in tagged]
    assert model.tag_all(sentences) == [[row[-1] for row in block] for block in tagged]
    lists = printed(DATA / "tagged-v2-n3-first20.txt")
    for group in (lists[k : k + 3] for k in range(0, len(lists), 3)):
        sentence = [tuple(row[:2]) for row in group[0][1:]]
        marginals = model.marginals(sentence)
        for (head, *rows), (path, probability) in zip(group, model.nbest(sentence, 3), strict=True):
            assert path == [row[3].rsplit("/")[0] for row in rows]
            assert probability == pytest.approx(float(head[0].split()[2]), abs=1.5e-6)
            for row, marginal in zip(rows, marginals, strict=True):
                expected = dict(cell.rsplit("/", 1) for cell in row[4:])
                found = [marginal[label] for label in expected]
                assert found == pytest.approx([float(p) for p in expected.values()], abs=1.5e-6)
