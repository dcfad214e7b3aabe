"""Mutations that keep the form of an input: of JSON, and of model files with valid checksums."""

from __future__ import annotations

import contextlib
import copy
import json

import numpy as np

from adaptag.storage.tensors import CHECKSUM, DTYPES
from tests.unit.hostile import sealed

VALUES = [
    None, True, False, -1, 0, 1, 2, 7, 0.5, -2.5, 1e38, 1e308, float("inf"), float("nan"), 2**31,
    2**32 - 1, 2**63, 10**30, "", "*", "x", "a", "B-X", "I-X", "O", "\ud800", "\0", "é\n", "auto",
    "iob2", "bioes", [], [[]], [None], ["B-X"], {}, {"a": 1}, {"0": "O"},
]  # fmt: skip
METADATA = "__metadata__"


def mutate_tree(tree, rng):
    """Return a JSON value with a part replaced, removed, repeated or taken from elsewhere."""
    tree = copy.deepcopy(tree)
    places = [((), tree)]
    for path, value in places:  # grows meanwhile
        if isinstance(value, (dict, list)) and len(places) < 5000:
            items = value.items() if isinstance(value, dict) else enumerate(value)
            places += [((*path, key), part) for key, part in items]
    path, value = rng.choice(places)
    replaced = copy.deepcopy(rng.choice([rng.choice(VALUES), rng.choice(places)[1]]))
    if isinstance(value, (int, float)) and rng.random() < 0.5:
        replaced = value + rng.choice([-1, 1, 2, 0.5, 255])
    if not path:
        return replaced
    parent = tree
    for key in path[:-1]:
        parent = parent[key]
    action = rng.random()
    if action < 0.15:
        del parent[path[-1]]
    elif action < 0.3 and isinstance(parent, list):
        parent.insert(path[-1], replaced)
    elif action < 0.3:
        parent[str(rng.choice(VALUES))] = replaced
    else:
        parent[path[-1]] = replaced
    return tree


def mutate_json(data, rng, default):
    """Mutate the value that JSON holds, or one of its lines; or the text."""
    with contextlib.suppress(ValueError, RecursionError):
        if rng.random() < 0.7:
            lines = data.decode().split("\n")
            with contextlib.suppress(ValueError):
                return json.dumps(mutate_tree(json.loads(data), rng)).encode()
            place = rng.randrange(len(lines))
            lines[place] = json.dumps(mutate_tree(json.loads(lines[place]), rng))
            return "\n".join(lines).encode()
    return default(data)


def mutate_file(data, rng, default):
    """Mutate the header or an array of a safetensors file, whose other parts stay as they are."""
    with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
        entries, header, arrays = unpacked(data)
        action = rng.random()
        if action < 0.4:
            header = mutate_tree(header, rng)
        elif action < 0.9 and arrays:
            name = rng.choice(list(arrays))
            changed = default(arrays[name])
            if rng.random() < 0.7:  # of the same length
                changed = (changed + arrays[name][len(changed) :])[: len(arrays[name])]
            arrays[name] = changed
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
