from __future__ import annotations

import itertools
import json
import lzma
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adaptag
from adaptag._native import core
from adaptag.classification.documents import DocumentClassifier
from adaptag.corpus.columns import ColumnCorpus
from adaptag.corpus.data import CLASSIFICATION, corpus_of
from adaptag.errors import AdaptagError, ModelError, ParameterError
from adaptag.features.template import Template
from adaptag.model import compact, sparse
from tests.reference.compact import scores

TEMPLATE = (
    "U0:%x[0,0]\nU1:%x[-1,0]/%lower[1,0]\nU2:%suffix2[0,0]\n*3:%shape[0,0]\n"
    "Ualways\nB\nB4:%x[0,0]\n"
)
WORDS = ["The", "cat", "sat", "on", "a", "mat", "1990", "Überraschung", "x"]
SENTENCES = [WORDS[a:b] for a, b in itertools.combinations(range(10), 2)]


def model_of(n_labels=3, template=TEMPLATE, seed=0, share=0.6, scale=1.0):
    """A model with random weights, some of them 0."""
    rng = np.random.default_rng(seed)
    labels = [[f"L{(k + t) % n_labels}" for t in range(len(s))] for k, s in enumerate(SENTENCES)]
    labels[0] = [f"L{k}" for k in range(n_labels)]
    sentences = [["x"] * n_labels, *SENTENCES[1:]]
    model = adaptag.train(sentences, labels, template=template, passes=1)
    n = len(model.weights)
    weights = scale * rng.standard_normal(n) * rng.choice([0.01, 1, 5], n)
    weights[rng.random(n) > share] = 0
    return replace(model, weights=weights.astype(np.float32))


MODEL = model_of()


def path_scores(model, sentence):
    """The scores of all paths minus that of the best one, in units, by the n-best search."""
    n = len(model.labels) ** len(sentence)
    paths, values = model.nbest_corpus(ColumnCorpus.from_sentences([sentence]), n)[0]
    steps = (values - values[0]) * 2.0**model.index.exponent
    assert np.abs(steps - np.round(steps)).max() < 1e-3
    return {tuple(p): round(s) for p, s in zip(paths.tolist(), steps.tolist(), strict=True)}


def oracle_scores(model, sentence):
    """The same by brute force."""
    node, edge = scores(model.index, [(token,) for token in sentence])
    totals = {}
    for path in itertools.product(range(len(model.labels)), repeat=len(sentence)):
        total = sum(node[t, y] for t, y in enumerate(path))
        total += sum(edge[t, path[t - 1], path[t]] for t in range(1, len(path)))
        totals[path] = int(total)
    best = max(totals.values())
    return {path: total - best for path, total in totals.items()}


@pytest.mark.parametrize("weights", ["int8", "float16", "float32"])
@pytest.mark.parametrize("n_labels", [2, 3, 5])
def test_scores_are_those_of_the_table(weights, n_labels):
    model = model_of(n_labels, seed=n_labels).compact(prune=0.02, weights=weights)
    for sentence in (["The"], ["cat", "sat"], ["The", "new", "mat"], ["1990", "on", "x"]):
        assert path_scores(model, sentence) == oracle_scores(model, sentence)


@given(st.integers(0, 1000), st.sampled_from(["int8", "float16", "float32"]), st.floats(0, 3))
@settings(max_examples=25, deadline=None)
def test_any_weights(seed, weights, prune):
    model = model_of(2, seed=seed, share=0.3, scale=3.0 ** (seed % 7 - 3))
    small = model.compact(prune=prune, weights=weights)
    assert path_scores(small, ["The", "mat", "x"]) == oracle_scores(small, ["The", "mat", "x"])
    again = adaptag.Model.from_bytes(small.to_bytes())
    assert again.to_bytes() == small.to_bytes()
    assert again.tag_all(SENTENCES) == small.tag_all(SENTENCES)


def test_many_labels_take_two_bytes():
    model = model_of(300, template="U:%x[0,0]\nB\n")
    small = model.compact(prune=0, weights="float32")
    assert small.index.n_labels == 300
    node, _ = scores(small.index, [("x",)])
    table = small.marginals_corpus(ColumnCorpus.from_sentences([["x"]]))[0]
    assert table.argmax() == node[0].argmax()
    assert small.tag_all(SENTENCES) == model.tag_all(SENTENCES)


@pytest.mark.parametrize("n_labels", [2, 4, 7, 22, 40])
def test_unpruned_float32_tags_like_the_full_model(n_labels):
    model = model_of(n_labels)
    small = model.compact(prune=0, weights="float32")
    assert small.tag_all(SENTENCES) == model.tag_all(SENTENCES)
    for sentence in SENTENCES[:5]:
        for mine, theirs in zip(small.marginals(sentence), model.marginals(sentence), strict=True):
            assert mine == pytest.approx(theirs, abs=1e-3)


def test_text_and_encoded_data_give_the_same_labels():
    small = MODEL.compact(prune=0.1)
    data = ColumnCorpus.from_sentences(SENTENCES)
    assert (small.tag_corpus(data) == small.tag_encoded(small.index.encode(data))).all()
    assert small.tag_all(SENTENCES) == [small.tag(sentence) for sentence in SENTENCES]


def test_constraints_and_chunks_work():
    labels = [["B-X", "I-X", "O"], ["B-X", "I-X"], ["O", "O", "B-X"]]
    tokens = [["The", "cat", "sat"], ["A", "dog"], ["it", "sat", "1"]]
    model = adaptag.train(tokens, labels, template=TEMPLATE, passes=5)
    small = model.compact(prune=0)
    assert small.tag(tokens[0], legal="iob2") == labels[0]
    assert small.tag(tokens[0], allowed=[["O"], None, None])[0] == "O"
    assert small.segments(tokens[0])
    assert small.probability(tokens[0], labels[0]) > 0.5
    assert small.evaluate(tokens, labels).score == 100
    assert small.explain(tokens[0])[0].arguments


def test_names_are_found_again():
    small = MODEL.compact(prune=0.05)
    names = {MODEL.index.name(p) for p in range(MODEL.index.n_predicates)}
    found = [small.index.name(p) for p in range(small.index.n_predicates)]
    assert len(set(found)) == len(found)
    assert set(found) <= names
    full = {MODEL.index.name(p): p for p in range(MODEL.index.n_predicates)}
    for p in range(small.index.n_predicates):
        node, edge = small.weights_of(p)
        old_node, old_edge = MODEL.weights_of(full[small.index.name(p)])
        for mine, theirs in ((node, old_node), (edge, old_edge)):
            if mine is not None:
                kept = mine != 0
                assert mine[kept] == pytest.approx(theirs[kept], abs=0.15)
    nameless = MODEL.compact(prune=0.05, names=False)
    assert nameless.index.name(3) == "#3"
    assert len(nameless.to_bytes()) < len(small.to_bytes())
    assert nameless.tag_all(SENTENCES) == small.tag_all(SENTENCES)
    assert small.index.plain_edges() == nameless.index.plain_edges() != []


def test_tables_of_weights_agree_with_rows():
    small = MODEL.compact(prune=0.1)
    node, both, edge = small.index.n_of_kind
    nodes, edges = small.node_weights(), small.edge_weights()
    for p in range(node + both + edge):
        row, matrix = small.weights_of(p)
        if row is not None:
            assert (row == nodes[p]).all()
        if matrix is not None:
            assert (matrix == edges[p - node]).all()
    assert small.n_weights == np.count_nonzero(nodes) + np.count_nonzero(edges)


def test_the_threshold_falls_with_the_frequency():
    kept = compact.kept_weights(MODEL, 0.5)
    layout = MODEL.layout
    node, both, _ = MODEL.index.n_of_kind
    expected = []
    for p in range(layout.n_predicates):
        rank = p - (0 if p < node else node if p < node + both else node + both) + 1
        limit = np.float32(0.5 * (rank / layout.n_predicates) ** 0.25)
        row, matrix = MODEL.weights_of(p)
        if row is not None:
            expected += [(p, -1, y) for y in range(3) if abs(row[y]) >= limit]
        if matrix is not None:
            found = zip(*np.nonzero(abs(matrix) >= limit), strict=True)
            expected += [(p, int(i), int(j)) for i, j in found]
    assert list(zip(*(part.tolist() for part in kept[:3]), strict=True)) == expected


def test_within_finds_the_highest_threshold():
    labels = [["A" if word[0].isupper() else "B" for word in s] for s in SENTENCES]
    model = adaptag.train(SENTENCES, labels, template=TEMPLATE, passes=5)
    small = model.compact(within=0.0, dev=(SENTENCES, labels))
    assert small.evaluate(SENTENCES, labels).score == 100
    chosen = small.provenance["compact"]["prune"]
    assert chosen > 0
    smaller = model.compact(prune=compact.THRESHOLDS[compact.THRESHOLDS.index(chosen) + 1])
    assert smaller.evaluate(SENTENCES, labels).score < 100
    for wrong in ({"within": 0.1}, {"within": 1, "prune": 1, "dev": (SENTENCES, labels)}):
        with pytest.raises(ParameterError, match="within"):
            model.compact(**wrong)


@pytest.mark.parametrize(
    "wrong", [{"prune": -1}, {"weights": "int4"}, {"within": -1.0, "dev": ([["a"]], [["L0"]])}]
)
def test_arguments_are_checked(wrong):
    with pytest.raises(ParameterError):
        MODEL.compact(**wrong)


def test_a_compact_model_is_not_trained_further():
    small = MODEL.compact()
    data = ([["a"]], [["L0"]])
    with pytest.raises(ParameterError, match="continue from the full model"):
        adaptag.train(*data, start=small)
    with pytest.raises(ParameterError, match="continue from the full model"):
        adaptag.StreamTrainer(small)
    with pytest.raises(ParameterError):
        adaptag.train(adaptag.encode(*data, template=TEMPLATE), start=small)
    with pytest.raises(ParameterError, match="compact already"):
        small.compact()
    hashed = adaptag.train(*data, hash_bits=8, passes=1)
    with pytest.raises(ParameterError, match="hashed"):
        hashed.compact()


def test_files_and_pickles(tmp_path):
    small = MODEL.compact(prune=0.1)
    small.save(tmp_path / "small")
    for found in (adaptag.Model.load(tmp_path / "small"), pickle.loads(pickle.dumps(small))):
        assert found.is_compact
        assert found.to_bytes() == small.to_bytes()
        assert found.tag_all(SENTENCES) == small.tag_all(SENTENCES)
        assert found.index.name(0) == small.index.name(0)


def test_nothing_may_be_left():
    small = MODEL.compact(prune=1e9)
    assert small.index.n_predicates == 0
    assert small.tag(["The", "cat"]) == ["L0", "L0"]


def test_attributes_and_documents(tmp_path):
    texts = ["good film", "bad film", "good good", "bad plot", "a fine film", "a poor film"] * 3
    classes = ["pos", "neg", "pos", "neg", "pos", "neg"] * 3
    classifier = DocumentClassifier.train(texts, classes, passes=10)
    small = classifier.compact()
    assert small.predict(texts) == classifier.predict(texts)
    documents = corpus_of(texts, classes, task=CLASSIFICATION, format=classifier.format)
    mine, theirs = (c.probabilities(documents.corpus) for c in (small, classifier))
    assert np.abs(mine - theirs).max() < 0.05
    small.save(tmp_path / "small")
    again = DocumentClassifier.load(tmp_path / "small")
    assert again.predict(texts) == classes
    assert again.evaluate(texts, classes).accuracy == 100
    chosen = classifier.compact(within=0.0, dev=documents)
    assert chosen.evaluate(documents).accuracy == 100


def test_attributes_of_a_tagger():
    rows = [[{"w": 0.5, f"word={w}": 1.0} for w in s] for s in SENTENCES]
    labels = [["A" if w[0].isupper() else "B" for w in s] for s in SENTENCES]
    model = adaptag.train(rows, labels, rich_edges=True, passes=3)
    small = model.compact(prune=0, weights="float32")
    assert small.tag_all(rows) == model.tag_all(rows)
    for mine, theirs in zip(small.marginals(rows[9]), model.marginals(rows[9]), strict=True):
        assert mine == pytest.approx(theirs, abs=1e-4)


# ---- damaged tables ---------------------------------------------------------------------------


HOSTILE = """
import json
import numpy as np
from adaptag._native import core
from adaptag.errors import AdaptagError
from tests.unit.test_compact import MODEL, SENTENCES

rng = np.random.default_rng(0)
fates = {"refused": 0, "usable": 0}
for weights in ("int8", "float16", "float32"):
    small = MODEL.compact(prune=0.05, weights=weights)
    index = small.index
    for trial in range(400):
        tables = {name: array.copy() for name, array in index.tensors.items()}
        name = ("rows", "rows", "buckets")[trial % 3]
        array = tables[name].view(np.uint8)
        for _ in range(rng.integers(1, 4)):
            array[rng.integers(len(array))] = rng.integers(256)
        n_labels = 1 + trial % 5 if trial % 7 == 0 else index.n_labels
        size = {"int8": 1, "float16": 2, "float32": 4}[weights]
        try:
            native = core.CompactModel(
                index.template.program(), tables["buckets"], tables["rows"], n_labels, size,
                index.exponent,
            )
        except ValueError:
            fates["refused"] += 1
            continue
        fates["usable"] += 1
        layout = core.Layout(n_labels, *native.n_of_kind)
        decoder = core.Decoder(layout, native, [f"L{k}" for k in range(n_labels)], None)
        labels = decoder.tag_all(SENTENCES)
        assert [len(each) for each in labels] == [len(each) for each in SENTENCES]
        native.weights(0, layout.n_predicates)
print(json.dumps(fates))
"""


def test_damaged_tables_are_refused_or_do_no_harm():
    done = subprocess.run(
        [sys.executable, "-c", HOSTILE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert min(json.loads(done.stdout).values()) > 50


def crafted(**changes):
    """The bytes of a compact model whose index was altered, with checksums that match."""
    small = MODEL.compact(prune=0.05)
    tensors = dict(small.index.tensors) | {k: v for k, v in changes.items() if k in TABLES}
    form = {k: v for k, v in changes.items() if k not in TABLES}
    return replace(small, index=replace(small.index, tensors=tensors, **form)).to_bytes()


TABLES = ("buckets", "rows", "names")


@pytest.mark.parametrize(
    "changes",
    [
        {"buckets": np.zeros(0, np.uint32)},
        {"buckets": np.zeros(2, np.uint32)},
        {"buckets": np.zeros(5, np.float32)},
        {"rows": np.zeros(3, np.uint8)},
        {"rows": np.zeros(64, np.uint8)},
        {"n_labels": 2},
        {"n_labels": 0},
        {"n_labels": 10**9},
        {"exponent": -1},
        {"exponent": 31},
        {"n_of_kind": (1, 2, 3)},
        {"weights": "float16"},
        {"weights": "float32"},
    ],
    ids=str,
)
def test_a_table_that_does_not_fit_is_refused(changes):
    with pytest.raises(ModelError, match="malformed"):
        adaptag.Model.from_bytes(crafted(**changes))


@pytest.mark.parametrize("names", [b"", b"no lzma", "cut", "other"])
def test_damaged_names_are_noticed_when_they_are_needed(names):
    packed = MODEL.compact(prune=0.05).index.tensors["names"]
    if names == "cut":
        packed = packed[:-9]
    elif names == "other":
        packed = np.frombuffer(lzma.compress(b"\xff" * 64), np.uint8)
    else:
        packed = np.frombuffer(names, np.uint8)
    model = adaptag.Model.from_bytes(crafted(names=packed))
    assert model.tag(["The"])
    with pytest.raises(ModelError, match="names"):
        model.index.name(0)


def test_a_damaged_file_is_noticed():
    data = bytearray(MODEL.compact().to_bytes())
    for at in range(0, len(data), max(1, len(data) // 40)):
        damaged = data.copy()
        damaged[at] ^= 0x55
        with pytest.raises(AdaptagError):
            adaptag.Model.from_bytes(bytes(damaged))


# ---- zeros ------------------------------------------------------------------------------------


@pytest.mark.parametrize("template", [TEMPLATE, "U:%lower[0,0]\nB\n"])
def test_zeros_take_no_space(monkeypatch, template):
    monkeypatch.setattr(sparse, "SMALLEST", 1)
    model = model_of(4, template=template, share=0.1)
    dense = len(model.weights) * 4
    data = model.to_bytes()
    again = adaptag.Model.from_bytes(data)
    assert again.index.n_predicates < model.index.n_predicates
    assert len(again.weights) * 4 < dense
    sentences = [*SENTENCES, ["new", "THE", "Cat"]]
    assert again.tag_all(sentences) == model.tag_all(sentences)
    for sentence in sentences:
        assert again.marginals(sentence) == model.marginals(sentence)
    assert again.to_bytes() == adaptag.Model.from_bytes(again.to_bytes()).to_bytes()
    labels = [["L1"] * len(s) for s in SENTENCES]
    assert adaptag.train(SENTENCES, labels, start=again, passes=3).tag(["The"]) == ["L1"]


def test_a_model_of_zeros_and_a_hashed_one_come_back(monkeypatch):
    monkeypatch.setattr(sparse, "SMALLEST", 1)
    zeros = replace(MODEL, weights=np.zeros_like(MODEL.weights))
    again = adaptag.Model.from_bytes(zeros.to_bytes())
    assert not again.weights.any()
    assert len(again.weights) == len(zeros.weights)
    hashed = adaptag.train(SENTENCES, [["A"] * len(s) for s in SENTENCES], hash_bits=10, passes=1)
    again = adaptag.Model.from_bytes(hashed.to_bytes())
    assert (again.weights == hashed.weights).all()


@pytest.mark.parametrize(
    ("positions", "values"),
    [
        (np.array([1 << 31], np.uint32), np.ones(1, np.float32)),
        (np.array([1, 2], np.uint32), np.ones(1, np.float32)),
        (np.array([1], np.float32), np.ones(1, np.float32)),
        (np.array([1], np.uint32), np.ones(1, np.int32)),
    ],
)
def test_damaged_positions_are_refused(positions, values):
    with pytest.raises(ValueError, match="weight"):
        sparse.dense_weights({sparse.POSITIONS: positions, sparse.VALUES: values}, 100)


# ---- the command ------------------------------------------------------------------------------


def column_text():
    return "\n".join(
        "".join(f"{w} {'A' if w[0].isupper() else 'B'}\n" for w in s) for s in SENTENCES
    )


def test_the_command(tmp_path, program):
    (tmp_path / "train.txt").write_text(column_text())
    assert program("train", "train.txt", "-m", "full", "--passes", 3).code == 0
    done = program("compact", "full", "-o", "small", "--within", 0.5, "--dev", "train.txt")
    assert done.code == 0, done
    assert done.out.count("100.00") == 2
    assert (tmp_path / "small").stat().st_size < (tmp_path / "full").stat().st_size
    assert program("tag", "train.txt", "-m", "small", "-o", "out").code == 0
    assert program("evaluate", "out").code == 0
    assert "U" in program("inspect", "small").out
    assert program("train", "train.txt", "--start", "small", "-m", "more").code == 2
    assert program("compact", "small", "-o", "again").code == 2
    assert program("compact", "full", "-o", "small", "--weights", "int4").code == 2


def test_the_command_takes_classifiers(tmp_path, program):
    (tmp_path / "train.txt").write_text("pos\tgood film\nneg\tbad film\n" * 20)
    assert program("classify", "train", "train.txt", "-m", "full", "--passes", 3).code == 0
    done = program("compact", "full", "-o", "small", "--dev", "train.txt", "--no-names")
    assert done.code == 0, done
    assert done.out.count("100.00") == 2
    assert program("classify", "predict", "train.txt", "-m", "small").code == 0


def test_a_wrong_hit_leaves_predicates_by_kind():
    """A feature of no weights that is taken for one with edge weights only comes last."""
    template = Template("U0:%x[0,0]\nU1:%x[0,0]")
    vocabulary = np.frombuffer(b"a", np.uint8), np.array([0, 1], np.uint32)
    keys = np.array([[0, 0], [1, 0]], np.uint32)
    table = core.build_compact(
        core.compact_fingerprints(*vocabulary, keys),
        np.array([0, 1, 2]),
        np.array([1, -1], np.int32),  # the weight of U0:a is one of an edge
        np.array([0, 0], np.int32),
        np.ones(2, np.float32),
        n_labels=2,
        value_size=1,
        exponent=4,
    )
    index = core.CompactModel(template.program(), *table, n_labels=2, value_size=1, exponent=4)
    assert index.n_of_kind == [1, 0, 1]
    corpus = ColumnCorpus.from_sentences([["a"]])
    _, predicates = index.encode_columns(corpus.text, corpus.cells, corpus.sentences)
    assert predicates.tolist() == [0, 1]


@pytest.mark.parametrize("value", [0.0, -0.0, 1e-12, -1e-12])
def test_a_weight_of_zero_is_zero_in_16_bits(value):
    arrays = np.array([7], np.uint64), np.array([0, 1]), np.array([-1], np.int32)
    weights = np.zeros(1, np.int32), np.array([value], np.float32)
    table = core.build_compact(*arrays, *weights, n_labels=3, value_size=2, exponent=4)
    program = Template("U0:%x[0,0]").program()
    index = core.CompactModel(program, *table, n_labels=3, value_size=2, exponent=4)
    assert index.n_of_kind == [0, 0, 0]
