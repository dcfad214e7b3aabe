from __future__ import annotations

import random
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adaptag
from adaptag.decoding.model import Model
from adaptag.errors import ModelError, ParameterError
from adaptag.foreign.binary import BinaryFile
from adaptag.foreign.cqdb import hash_strings, read_quarks, write_quarks
from adaptag.foreign.crfsuite import crfsuite_bytes, read_crfsuite, read_sparse
from adaptag.foreign.files import write_foreign

LABELS = ["B-x", "I-x", "O", "größe"]
NAMES = [f"attribute:{k}" * (1 + k % 4) for k in range(40)] + ["ü東😀", "a b"]


def random_sequences(seed, n, *, values=False):
    rng = random.Random(seed)

    def item():
        names = rng.sample(NAMES, rng.randrange(6)) + ["unseen"] * (rng.random() < 0.2)
        return {name: rng.uniform(-2, 2) if values else 1.0 for name in names}

    return [[item() for _ in range(rng.randrange(1, 12))] for _ in range(n)]


@pytest.fixture(scope="module", params=["plain", "values", "l1"])
def pair(request, tmp_path_factory):
    """A model of CRFsuite and the same model here."""
    pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is not installed")
    path = tmp_path_factory.mktemp("crfsuite") / "model"
    sequences = random_sequences(1, 60, values=request.param == "values")
    rng = random.Random(2)
    parameters = {"c1": 0.3 if request.param == "l1" else 0.0, "max_iterations": 30}
    trainer = pycrfsuite.Trainer("lbfgs", parameters, verbose=False)
    for sequence in sequences:
        trainer.append(sequence, rng.choices(LABELS, k=len(sequence)))
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    yield tagger, path
    tagger.close()


def check_same(tagger, model, sequences):
    assert sorted(model.labels) == sorted(tagger.labels())
    for sequence in sequences:
        tags = tagger.tag(sequence)
        assert model.tag(sequence) == tags
        marginals = model.marginals(sequence)
        for t, row in enumerate(marginals):
            expected = [tagger.marginal(label, t) for label in model.labels]
            np.testing.assert_allclose([row[y] for y in model.labels], expected, atol=1e-6)
        best, probability = model.nbest(sequence, 1)[0]
        assert best == tags
        assert probability == pytest.approx(tagger.probability(tags), abs=1e-6)


@pytest.mark.parametrize("values", [False, True])
def test_same_tags_and_probabilities(pair, values):
    tagger, path = pair
    check_same(tagger, Model.load(path), random_sequences(3, 100, values=values))


def test_written_models_are_read_by_crfsuite(pair, tmp_path):
    import pycrfsuite

    model = adaptag.load(pair[1])
    path = tmp_path / "again"
    write_foreign(model, path, "crfsuite")
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    check_same(tagger, model, random_sequences(4, 50, values=True))
    assert tagger.info().transitions.keys() == pair[0].info().transitions.keys()
    tagger.close()
    assert crfsuite_bytes(Model.load(path)) == path.read_bytes()
    assert exact_weights(path) == exact_weights(pair[1])


def exact_weights(path):
    """All weights that are not 0, in float64."""
    chain = read_sparse(path.read_bytes())
    names = [chain.attributes[a] for a in chain.sources.tolist()]
    labels = [chain.labels[y] for y in chain.targets.tolist()]
    states = zip(zip(names, labels, strict=True), chain.weights.tolist(), strict=True)
    return {pair: weight for pair, weight in states if weight}, chain.transitions.tolist()


def test_a_model_trained_here_is_read_by_crfsuite(tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is not installed")
    sequences = random_sequences(5, 50)
    rng = random.Random(6)
    model = adaptag.train(sequences, [rng.choices(LABELS, k=len(s)) for s in sequences], passes=3)
    write_foreign(model, tmp_path / "model", "crfsuite")
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    check_same(tagger, model, random_sequences(7, 50, values=True))
    tagger.close()


@pytest.fixture(scope="module")
def trained():
    sequences = [[{"a": 1, "b": 1}, {"b": 1, "c": 0.5}], [{"c": 1}]] * 3
    return adaptag.train(sequences, [["X", "Y"], ["Z"]] * 3, passes=3)


def test_saved_and_trained_further(trained, tmp_path):
    write_foreign(trained, tmp_path / "foreign", "crfsuite")
    model = Model.load(tmp_path / "foreign")
    items = [{"a": 1}, {"c": 1}]
    assert model.tag(items) == trained.tag(items)
    model.save(tmp_path / "own")
    own = Model.load(tmp_path / "own")
    assert np.array_equal(own.weights, model.weights)
    more = adaptag.train([[{"new": 1}]] * 5, [["Z"]] * 5, start=own, passes=3)
    assert more.tag([{"new": 1}]) == ["Z"]
    assert "Z" in str(model)


# ---- strings and their hashes ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"", 0xDEADBEEF),
        (b"Four score and seven years ago", 0x17770551),
        (b"X\0", 0xA5D829B7),
        (b"Y\0", 0x2825F1EE),
        (b"Z\0", 0x4C269380),
    ],
)
def test_hashes(text, value):
    assert hash_strings([text]).tolist() == [value]


@given(st.lists(st.binary(min_size=1, max_size=40).filter(lambda s: b"\0" not in s), unique=True))
@settings(deadline=None)
def test_strings_survive(names):
    file = BinaryFile(b"head" + write_quarks(names), "f", "test")
    assert read_quarks(file, 4, len(names), "names") == names
    assert hash_strings(names).tolist() == [int(hash_strings([name])[0]) for name in names]


# ---- what cannot be read or written ----------------------------------------------------------


def test_messages(trained, tmp_path):
    data = crfsuite_bytes(trained)
    (tmp_path / "short").write_bytes(data[:-1])
    with pytest.raises(ModelError, match=f"short: damaged CRFsuite .* says {len(data)} bytes"):
        adaptag.load(tmp_path / "short")
    with pytest.raises(ModelError, match="version 101; allowed"):
        read_crfsuite(data[:12] + struct.pack("<I", 101) + data[16:])
    with pytest.raises(ModelError, match="40000 labels; allowed: 1 to 32767"):
        read_crfsuite(data[:20] + struct.pack("<I", 40_000) + data[24:])
    with pytest.raises(ModelError, match=r"take [0-9,]+ bytes; allowed for a file of"):
        read_crfsuite(data[:20] + struct.pack("<II", 30_000, 30_000) + data[28:])
    with pytest.raises(ParameterError, match="unknown format 'crfsuit'; did you mean 'crfsuite'"):
        write_foreign(trained, tmp_path / "no", "crfsuit")
    columns = adaptag.train([["a"]], [["x"]], passes=1)
    with pytest.raises(ModelError, match="cannot be written as a CRFsuite model: its features"):
        write_foreign(columns, tmp_path / "no", "crfsuite")
    with pytest.raises(ModelError, match="it is calibrated"):
        crfsuite_bytes(trained.with_temperature(2.0))
    bioes = adaptag.train([[{"a": 1}, {"b": 1}]] * 3, [["B-x", "I-x"]] * 3, passes=1)
    with pytest.raises(ModelError, match="trained with another label scheme"):
        crfsuite_bytes(bioes)
    assert not (tmp_path / "no").exists()


def mutations(data, n, seed):
    """Copies with changed, removed, inserted or extreme bytes; most have the size of their header.

    Most places are chosen where there are no zeros: empty hash tables are not read.
    """
    rng = random.Random(seed)
    filled = [place for place, byte in enumerate(data) if byte]
    for _ in range(n):
        copy = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            place = min(
                rng.choice(filled) if rng.random() < 0.8 else rng.randrange(len(data)),
                len(copy) - 1,
            )
            kind = rng.randrange(5)
            if kind == 0:
                copy[place] = rng.randrange(256)
            elif kind == 1:
                copy[place // 4 * 4 : place // 4 * 4 + 4] = struct.pack(
                    "<I", rng.choice([0, 1, 2, 47, 0x7FFFFFFF, 0xFFFFFFFF, len(data) - 4])
                )
            elif kind == 2:
                del copy[place : place + rng.randrange(1, 30)]
            elif kind == 3:
                copy[place:place] = rng.randbytes(rng.randrange(1, 8))
            else:
                copy[place] ^= 1 << rng.randrange(8)
            copy = copy or bytearray(1)
        if rng.random() < 0.8:
            copy[4:8] = struct.pack("<I", len(copy))
        yield bytes(copy)


def test_a_damaged_file_is_a_model_or_a_model_error(trained):
    n_models = 0
    data = crfsuite_bytes(trained)
    for copy in mutations(data, 2000, seed=8):
        try:
            chain = read_crfsuite(copy)
        except ModelError:
            continue
        n_models += 1
        model = Model(chain.labels, chain.index, chain.weights)
        assert len(model.tag([{"a": 1.0}, {"b": 2.0}, {"c": 1.0}])) == 3
    assert 0 < n_models < 2000
