"""Mutants of all kinds of files with valid checksums: refused or usable, never a raw exception."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import adaptag
from adaptag.errors import ModelError
from adaptag.storage.tensors import tensors_from_buffer
from adaptag.training.checkpoint import Checkpoint
from tests.unit import hostile, mutants

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", mutants.KINDS)
def test_mutants_do_no_harm(kind):
    command = [sys.executable, "-m", "tests.unit.mutants", "40", kind]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_mutant_has_valid_checksums():
    data = mutants.KINDS["dataset"]()
    changed = mutants.mutant(data, random.Random(3))
    assert changed != data
    tensors_from_buffer(mutants.sealed(*hostile.parts(data)), "dataset")


def craft(data, path, value):
    """A file with one entry of its header changed, and checksums to match."""
    entries, payload = hostile.parts(data)
    header = json.loads(entries["__metadata__"]["header"])
    place = header
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    entries["__metadata__"]["header"] = json.dumps(header)
    return hostile.sealed(entries, payload)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("provenance", "parameters"), 1, "provenance: parameters is the int 1; allowed: an obj"),
        (("provenance", "feature_settings"), 0.5, "feature_settings is the float 0.5"),
        (("provenance", "sentences"), float("inf"), "sentences is the float inf; allowed: an int"),
        (("provenance", "passes"), [3], "a pass is the int 3; allowed: an object"),
        (("provenance", "passes", 0, "accuracy"), [], "accuracy is the list .*; allowed: an int"),
        (("provenance", "passes", 0, "dev_metric"), 1, "dev_metric is the int 1; allowed: a str"),
        (("configuration", "text"), [], "configuration: text is the list"),
        (("configuration", "training"), {"parameters": [1]}, "parameters is the list"),
    ],
)
def test_a_record_of_other_types_is_refused(path, value, message):
    model = adaptag.train(hostile.SENTENCES, hostile.LABELS, passes=1)
    data = craft(model.to_bytes(), path, value)
    with pytest.raises(ModelError, match=f"malformed model: .*{message}"):
        adaptag.Model.from_bytes(data)


def test_a_dataset_with_an_infinite_number_is_refused(tmp_path):
    data = craft(mutants.KINDS["dataset"](), ("index", "n_of_kind", 0), float("inf"))
    (tmp_path / "d").write_bytes(data)
    with pytest.raises(ModelError, match="malformed dataset: cannot convert float infinity"):
        adaptag.Dataset.load(tmp_path / "d")


def test_a_dataset_with_a_lone_surrogate_is_refused(tmp_path):
    data = craft(mutants.KINDS["dataset"](), ("labels", 0), "\ud800")
    (tmp_path / "d").write_bytes(data)
    with pytest.raises(ModelError, match="malformed dataset"):
        adaptag.Dataset.load(tmp_path / "d")


def test_a_segmenter_with_a_character_out_of_range_is_refused():
    data = mutants.segmenter().to_bytes()
    entries, payload = hostile.parts(data)
    begin, end = entries["index.characters"]["data_offsets"]
    changed = np.frombuffer(payload, np.uint8).copy()
    changed[begin:end] = 255
    with pytest.raises(ModelError, match=r"index\.characters: a character is out of range"):
        adaptag.Segmenter.from_bytes(hostile.sealed(entries, changed.tobytes()))


def test_a_checkpoint_beyond_the_counter_is_refused(tmp_path):
    path = tmp_path / "c"
    path.write_bytes(mutants.checkpoint())
    state = Checkpoint.load(path)
    run_state = np.array(state.arrays["run_state"])
    run_state[:] = 255
    arrays = {**state.arrays, "run_state": run_state}
    object.__setattr__(state, "arrays", arrays)
    state.save(path)
    options = {"template": mutants.TEMPLATE, "passes": 3, "resume": path}
    with pytest.raises(ModelError, match=r"the state of training is damaged: 2\^32 updates"):
        adaptag.train(mutants.SENTENCES, mutants.LABELS, **options)


def test_weights_that_are_not_finite_are_not_made_compact():
    model = adaptag.Model.from_bytes(hostile.craft(hostile.weights(np.inf, 3)))
    with pytest.raises(ModelError, match="a weight of the model is not finite"):
        model.compact(prune=0.0)
