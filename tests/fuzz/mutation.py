"""Mutations that keep the form of an input: of JSON, and of model files with valid checksums."""

from __future__ import annotations

import contextlib
import copy
import json

import numpy as np

from adaptag.storage.tensors import CHECKSUM, DTYPES
from tests.unit.hostile import sealed
from tests.unit.mutants import mutate_tree

METADATA = "__metadata__"


def changed(tree, rng):
    """A copy of a JSON value with one part of it changed."""
    box = [copy.deepcopy(tree)]
    mutate_tree(box, rng)
    return box[0]


def mutate_json(data, rng, default):
    """Mutate the value that JSON holds, or one of its lines; or the text."""
    with contextlib.suppress(ValueError, RecursionError):
        if rng.random() < 0.7:
            lines = data.decode().split("\n")
            with contextlib.suppress(ValueError):
                return json.dumps(changed(json.loads(data), rng)).encode()
            place = rng.randrange(len(lines))
            lines[place] = json.dumps(changed(json.loads(lines[place]), rng))
            return "\n".join(lines).encode()
    return default(data)


def mutate_file(data, rng, default):
    """Mutate the header or an array of a safetensors file, whose other parts stay as they are."""
    with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
        entries, header, arrays = unpacked(data)
        action = rng.random()
        if action < 0.4:
            header = changed(header, rng)
        elif action < 0.9 and arrays:
            name = rng.choice(list(arrays))
            array = default(arrays[name])
            if rng.random() < 0.7:  # of the same length
                array = (array + arrays[name][len(array) :])[: len(arrays[name])]
            arrays[name] = array
        elif action < 0.95 and arrays:
            entry = entries[rng.choice(list(arrays))]
            entry["dtype"] = rng.choice(list(DTYPES))
            rng.shuffle(entry["shape"])
        elif arrays:
            del arrays[rng.choice(list(arrays))]
        return packed(entries, header, arrays)
    return default(data)


def unpacked(data):
    """The entries of a file, its inner header, and its arrays as bytes."""
    start = 8 + int.from_bytes(data[:8], "little")
    entries = json.loads(data[8:start])
    header = json.loads(entries[METADATA]["header"])
    arrays = {}
    for name, entry in entries.items():
        if name not in (METADATA, CHECKSUM):
            begin, end = entry["data_offsets"]
            arrays[name] = data[start + begin : start + end]
    return entries, header, arrays


def packed(entries, header, arrays):
    """A file of these arrays, whose entries say where they lie; a changed length is a shape."""
    entries = {METADATA: entries[METADATA], CHECKSUM: entries[CHECKSUM]} | {
        name: entries[name] for name in arrays
    }
    entries[METADATA] = entries[METADATA] | {"header": json.dumps(header)}
    payload = bytes(16)
    for name, array in arrays.items():
        entry = dict(entries[name])
        size = DTYPES[entry["dtype"]].itemsize
        array = array[: len(array) // size * size]
        if np.prod(entry["shape"]) * size != len(array):
            row = int(np.prod(entry["shape"][1:])) * size or 1
            array = array[: len(array) // row * row]
            entry["shape"] = [len(array) // row, *entry["shape"][1:]]
        entry["data_offsets"] = [len(payload), len(payload) + len(array)]
        entries[name] = entry
        payload += array
    return sealed(entries, payload)


def resealed(data):
    """The file with checksums that match, as far as it has a header."""
    with contextlib.suppress(ValueError, RecursionError):
        start = 8 + int.from_bytes(data[:8], "little")
        if 8 < start <= len(data) - 16:
            entries = json.loads(data[8:start])
            if isinstance(entries, dict):
                return sealed(entries, data[start:])
    return data
