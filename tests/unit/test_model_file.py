from __future__ import annotations

import copy
import itertools
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import adaptag
from adaptag.errors import AdaptagError, FileError, ModelError
from tests.unit import hostile

ROOT = Path(__file__).parents[2]
MODEL = hostile.BASE
SENTENCES = [*hostile.SENTENCES, *hostile.TRIED]


def assert_same(found, expected=MODEL):
    assert found.labels == expected.labels
    assert found.weights.tobytes() == expected.weights.tobytes()
    assert found.index.template.text == expected.index.template.text
    assert found.index.n_of_kind == expected.index.n_of_kind
    assert found.provenance == expected.provenance
    assert found.to_bytes() == expected.to_bytes()
    assert found.tag_all(SENTENCES) == expected.tag_all(SENTENCES)
    assert found.marginals(SENTENCES[0]) == expected.marginals(SENTENCES[0])
    names = [[m.index.name(p) for p in range(m.index.n_predicates)] for m in (found, expected)]
    assert names[0] == names[1]


@pytest.mark.parametrize(
    "copied",
    [
        lambda m, _: adaptag.Model.from_bytes(m.to_bytes()),
        lambda m, p: m.save(p) or adaptag.Model.load(p),
        lambda m, p: m.save(str(p)) or adaptag.Model.load(str(p), verify=True),
        lambda m, _: pickle.loads(pickle.dumps(m)),
        lambda m, _: copy.deepcopy(m),
    ],
    ids=["bytes", "file", "verified", "pickle", "deepcopy"],
)
def test_a_model_comes_back_bit_by_bit(tmp_path, copied):
    found = copied(MODEL, tmp_path / "m")
    assert type(found) is adaptag.Model
    assert_same(found)


@pytest.mark.parametrize(
    "model",
    [
        lambda: adaptag.train([["a", "b"]], [["x", "y"]], template="B", passes=1),
        lambda: adaptag.train([["a", "b"]], [["x", "y"]], template="Ualways", passes=1),
        lambda: adaptag.train([["a", "b"]], [["x", "y"]], cutoff=99, passes=1),
        lambda: adaptag.train([["a", "b"]], [["x", "x"]], passes=1),
        lambda: adaptag.train([["é", "😀"]], [["ü\n", ""]], passes=1),
        lambda: adaptag.train(
            [[f"w{k}"] for k in range(40)], [[f"L{k}"] for k in range(40)], passes=1
        ),
    ],
    ids=["edges only", "no macro", "no feature", "one label", "Unicode", "many labels"],
)
def test_small_and_odd_models_come_back(model):
    assert_same(adaptag.Model.from_bytes(model().to_bytes()), model())


def test_the_file_holds_where_the_model_comes_from():
    origin = adaptag.Model.from_bytes(MODEL.to_bytes()).provenance
    assert origin["algorithm"] == "adf"
    assert (origin["seed"], origin["sentences"], origin["tokens"]) == (1, 3, 8)
    assert [p["pass"] for p in origin["passes"]] == [1, 2, 3]
    assert origin["parameters"]["rate"] > 0


def test_the_safetensors_package_reads_the_weights(tmp_path):
    loader = pytest.importorskip("safetensors.numpy")
    MODEL.save(tmp_path / "m")
    assert loader.load_file(tmp_path / "m")["weights"].tobytes() == MODEL.weights.tobytes()


def test_a_loaded_model_survives_its_file(tmp_path):
    MODEL.save(tmp_path / "m")
    loaded = adaptag.Model.load(tmp_path / "m")
    adaptag.train([["a"]], [["b"]], passes=1).save(tmp_path / "m")
    assert_same(loaded)
    (tmp_path / "m").unlink()
    assert_same(loaded)


def test_files_that_are_no_model(tmp_path):
    with pytest.raises(FileError, match="cannot read: No such file"):
        adaptag.Model.load(tmp_path / "no")
    (tmp_path / "text").write_text("The DT B-NP\n" * 99)
    with pytest.raises(ModelError, match=f"^{tmp_path / 'text'}: not an adaptag model"):
        adaptag.Model.load(tmp_path / "text")
    adaptag.encode([["a"]], [["b"]]).save(tmp_path / "data")
    with pytest.raises(ModelError, match="holds an adaptag dataset; expected an adaptag model"):
        adaptag.Model.load(tmp_path / "data")
    with pytest.raises(ModelError, match="holds an adaptag model; expected an adaptag dataset"):
        MODEL.save(tmp_path / "m") or adaptag.Dataset.load(tmp_path / "m")


# ---- damage ---------------------------------------------------------------------------------


def loads(data):
    """Whether the bytes are a model; if so, it must be the one that was saved."""
    try:
        found = adaptag.Model.from_bytes(data)
    except AdaptagError:
        return False
    assert_same(found)
    return True


@pytest.mark.parametrize("flips", [[0x01, 0x80], [0xFF]])
def test_every_changed_byte_is_seen_or_harmless(flips):
    data = bytearray(MODEL.to_bytes())
    seen = 0
    for k, flip in itertools.product(range(len(data)), flips):
        data[k] ^= flip
        seen += not loads(bytes(data))
        data[k] ^= flip
    assert loads(bytes(data))
    assert seen == len(data) * len(flips)


def test_every_truncation_is_seen():
    data = MODEL.to_bytes()
    assert [n for n in range(len(data)) if loads(data[:n])] == []


@pytest.mark.parametrize("n", [1, 7, 8, 16, 4096])
@pytest.mark.parametrize("byte", [b"\0", b"\xff"])
def test_appended_bytes_are_seen(n, byte):
    assert not loads(MODEL.to_bytes() + byte * n)


def test_swapped_words_are_seen():
    data = MODEL.to_bytes()
    weights = len(data) - len(MODEL.weights.tobytes())
    for a, b in [(0, 8), (0, 32), (8, 72)]:
        words = bytearray(data)
        a, b = a + weights, b + weights
        assert words[a : a + 8] != words[b : b + 8]
        words[a : a + 8], words[b : b + 8] = words[b : b + 8], words[a : a + 8]
        assert not loads(bytes(words))


def test_a_dataset_file_is_checked_too(tmp_path):
    path = tmp_path / "data"
    dataset = adaptag.encode([["a", "b"]], [["x", "y"]])
    dataset.save(path)
    found = adaptag.Dataset.load(path)
    assert np.array_equal(found.encoded.predicates, dataset.encoded.predicates)
    assert np.array_equal(found.labels, dataset.labels)
    assert (found.label_names, len(found), found.n_tokens) == (("x", "y"), 1, 2)
    data = path.read_bytes()
    for damaged in [data[:-1], data + b"\0", data[:-4] + b"\x09" + data[-3:], data[:100]]:
        path.write_bytes(damaged)
        with pytest.raises(ModelError, match=f"^{path}: "):
            adaptag.Dataset.load(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("predicates", np.full(47, 10**6, np.uint32)),
        ("predicates", np.zeros(2, np.uint32)),
        ("labels", np.array([0, 2], np.int32)),
        ("labels", np.array([0, -2], np.int32)),
        ("labels", np.array([0], np.int32)),
        ("labels", np.array([0, 1])),
        ("sentences", np.array([0, 3])),
        ("sentences", np.array([0, 5, 2])),
        ("sentences", np.zeros(0, np.int64)),
        ("positions", np.array([0, 1, 10**12])),
        ("positions", np.array([0, -5, 47])),
        ("positions", np.zeros(0, np.int64)),
        ("values", np.ones(3, np.float32)),
        ("values", np.ones(3)),
    ],
)
def test_a_hostile_dataset_is_refused(tmp_path, name, value):
    dataset = adaptag.encode([["a", "b"]], [["x", "y"]])
    fields = {"labels": dataset} if name == "labels" else {name: dataset.encoded}
    for part in fields.values():
        object.__setattr__(part, name, value)
    dataset.save(tmp_path / "d")
    with pytest.raises(ModelError, match="malformed dataset"):
        adaptag.Dataset.load(tmp_path / "d")


# ---- hostile files --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fates():
    """What became of each hostile file, tried in processes that may die."""
    command = [sys.executable, "-m", "tests.unit.hostile"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=300, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", hostile.REFUSED)
def test_a_malformed_file_is_refused(fates, case):
    assert re.fullmatch(r"refused: \S+: .+", fates[case])


@pytest.mark.parametrize("case", hostile.ODD)
def test_an_odd_file_does_no_harm(fates, case):
    assert re.fullmatch("usable|refused: .+", fates[case])
