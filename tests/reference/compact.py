"""The scores of a compact model by the definition of its table, in whole numbers of units."""

from __future__ import annotations

import math
import struct

import numpy as np

from tests.reference.template import transformed

MASK = (1 << 64) - 1
EDGES = 32


def mix(h, x):
    h ^= x * 0x9E3779B97F4A7C15 & MASK
    for _ in range(2):
        h = (h ^ h >> 32) * 0xD6E8FEB86659FD93 & MASK
    return h ^ h >> 32


def hash_of(text):
    data = text.encode()
    h = len(data)
    for begin in range(0, len(data), 8):
        h = mix(h, int.from_bytes(data[begin : begin + 8], "little"))
    return h


def fingerprint(skeleton, cells):
    h = mix(0x5EED, skeleton)
    for cell in cells:
        h = ((h << 29 | h >> 35) & MASK ^ hash_of(cell)) * 0x9FB21C651E98DF25 & MASK
    return h ^ h >> 32


def units(stored, weights, scale):
    """A stored value as a whole number."""
    if weights == "int8":
        return stored << scale
    exact = math.ldexp(stored, scale)
    if weights == "float32":
        return round(exact)  # to the nearest, to the even one between two
    return int(math.copysign(math.floor(abs(exact) + 0.5), exact))


class CompactTable:
    """Rows by fingerprint: {(previous label or −1, label): whole number}."""

    def __init__(self, index):
        self.index = index
        self.buckets = index.tensors["buckets"].tolist()
        self.data = index.tensors["rows"].tobytes()
        self.label = "H" if index.n_labels > 255 else "B"
        self.value = {"int8": "b", "float16": "e", "float32": "f"}[index.weights]

    def row(self, h):
        n_buckets = len(self.buckets) - 1
        begin = self.buckets[(h >> 32) * n_buckets >> 32]
        n, size = self.data[begin : begin + 2]
        tags = struct.unpack_from(f"<{n}H", self.data, begin + 2)
        if h & 0xFFFF not in tags:
            return {}
        i = tags.index(h & 0xFFFF)
        first = begin + 2 + 2 * n
        ends = struct.unpack_from(f"<{n + 1}{'I' if size == 4 else 'B'}", self.data, first)
        first += (n + 1) * size
        return self._read(first + ends[i], first + ends[i + 1])

    def _read(self, begin, end):
        flags = self.data[begin]
        begin += 1
        y, weights, scale = self.index.n_labels, self.index.weights, flags & 31
        label, value = struct.calcsize(self.label), struct.calcsize(self.value)
        middle = end
        if flags & EDGES:
            (n,) = struct.unpack_from(f"<{self.label}", self.data, begin)
            begin += label
            middle = begin + (y * value if n == y else n * (label + value))
        row = {}
        if middle - begin == y * value:
            stored = struct.unpack_from(f"<{y}{self.value}", self.data, begin)
            row = {(-1, j): units(v, weights, scale) for j, v in enumerate(stored)}
        else:
            for j, v in struct.iter_unpack(f"<{self.label}{self.value}", self.data[begin:middle]):
                row[-1, j] = units(v, weights, scale)
        entry = f"<2{self.label}{self.value}"
        for i, j, v in struct.iter_unpack(entry, self.data[middle:end]):
            row[i, j] = units(v, weights, scale)
        return row


def cell_of(macro, sentence, t):
    """What a macro stands for at position t."""
    i = t + macro.row
    if i < 0:
        return f"_B{i}"
    if i >= len(sentence):
        return f"_B+{i - len(sentence) + 1}"
    return transformed(macro.name, macro.length, sentence[i][macro.column])


def scores(index, sentence):
    """Node scores ``[T, Y]`` and edge scores ``[T, Y, Y]`` of a sentence, in units."""
    table, y = CompactTable(index), index.n_labels
    skeletons = index.template.skeletons
    node, edge = np.zeros((len(sentence), y), int), np.zeros((len(sentence), y, y), int)
    for t in range(len(sentence)):
        for line in index.template.lines:
            if line.kind == 2 and t == 0:
                continue
            cells = [cell_of(macro, sentence, t) for macro in line.macros]
            row = table.row(fingerprint(skeletons.index(line.skeleton), cells))
            for (i, j), value in row.items():
                if i < 0:
                    node[t, j] += value
                elif t > 0:
                    edge[t, i, j] += value
    return node, edge
