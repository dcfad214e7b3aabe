"""CQDB, the constant quark database of CRFsuite: strings ↔ numbers, in one chunk of a file.

All numbers are 32 bits, little-endian. Offsets count from the beginning of the chunk::

    24 bytes        "CQDB", size of the chunk, flag, byte order, size and offset of the array below
    256 x 8 bytes   the offset of each hash table, and how many buckets it has
    records         id, length, bytes, NUL; the length counts the NUL
    hash tables     buckets (hash, offset of the record); the offset 0 marks an empty one
    array           id → offset of the record
"""

from __future__ import annotations

import itertools
import struct
from typing import TYPE_CHECKING

import numpy as np

from adaptag.foreign.binary import WORD, BinaryFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["hash_strings", "read_quarks", "write_quarks"]

HEADER = struct.Struct("<4s5I")
BYTE_ORDER = 0x62445371
N_TABLES = 256
RECORDS = HEADER.size + 8 * N_TABLES  # where the first record lies
SEED = 0xDEADBEEF
BLOCK = 12


def read_quarks(file: BinaryFile, offset: int, n: int, what: str) -> list[bytes]:
    """Read the ``n`` strings of the chunk at this offset, in the order of their numbers."""
    file.magic(offset, b"CQDB", f"the chunk of {what}")
    _, size, _, order, n_found, array_offset = HEADER.unpack(
        file.part(offset, HEADER.size, f"the header of {what}").data
    )
    if order != BYTE_ORDER:
        raise file.fail(f"the byte order of {what} is {order:#x}; expected {BYTE_ORDER:#x}")
    if n_found != n:
        raise file.fail(f"{n_found} {what} in their chunk, {n} in the header")
    chunk = file.part(offset, size, f"the chunk of {what}")
    records = chunk.array(WORD, array_offset, n, f"the offsets of {what}").astype(np.int64)
    if not n:
        return []
    if int(records.min()) < RECORDS or int(records.max()) + 8 > size:
        raise file.fail(f"the offset of a record of {what} is out of range")
    data = np.frombuffer(chunk.data, np.uint8)
    heads = data[records[:, None] + np.arange(8)].view(WORD)  # [n, 2] id, length
    lengths = heads[:, 1].astype(np.int64)
    if not np.array_equal(heads[:, 0], np.arange(n)):
        raise file.fail(f"the numbers and the records of {what} do not fit together")
    ends = records + 8 + lengths
    if int(lengths.min()) < 1 or int(ends.max()) > size or int(lengths.sum()) > size:
        raise file.fail(f"the length of a record of {what} is out of range")
    bounds = zip((records + 8).tolist(), ends.tolist(), strict=True)
    strings = [chunk.data[begin:end] for begin, end in bounds]
    if any(string.find(b"\0") != len(string) - 1 for string in strings):
        raise file.fail(f"a NUL byte is missing, or inside, in a record of {what}")
    names = [string[:-1] for string in strings]
    if len(set(names)) != n:
        raise file.fail(f"two records of {what} have the same name")
    return names


def write_quarks(names: Sequence[bytes]) -> bytes:
    """The chunk of these strings, numbered from 0 on."""
    keys = [name + b"\0" for name in names]
    records, offsets, end = [], [], RECORDS
    for number, key in enumerate(keys):
        records.append(struct.pack("<2I", number, len(key)) + key)
        offsets.append(end)
        end += len(records[-1])
    hashes: list[int] = hash_strings(keys).tolist()
    members: list[list[int]] = [[] for _ in range(N_TABLES)]
    for number, value in enumerate(hashes):
        members[value % N_TABLES].append(number)
    places, tables = [], []
    for numbers in members:
        n_buckets = 2 * len(numbers)
        places.append(struct.pack("<2I", end if numbers else 0, n_buckets))
        buckets = [(0, 0)] * n_buckets
        for number in numbers:
            slot = (hashes[number] >> 8) % n_buckets
            while buckets[slot][1]:
                slot = (slot + 1) % n_buckets
            buckets[slot] = (hashes[number], offsets[number])
        tables.append(np.array(buckets, WORD).tobytes())
        end += 8 * n_buckets
    array = np.array(offsets, WORD).tobytes()
    header = HEADER.pack(b"CQDB", end + len(array), 0, BYTE_ORDER, len(names), end)
    return b"".join([header, *places, *records, *tables, array])


def hash_strings(keys: Sequence[bytes]) -> NDArray[np.uint32]:
    """Bob Jenkins' ``hashlittle`` (lookup3, 2006) of each string, with the initial value 0.

    The state of three words starts as 0xdeadbeef + length. Each block of 12 bytes but the last is
    added to it and mixed in; the last one, padded with zeros, is added before the final mixing.
    """
    result = np.full(len(keys), SEED, np.uint32)  # that of an empty string
    n_blocks = np.array([-(-len(key) // BLOCK) for key in keys], np.int64)
    order = np.argsort(n_blocks, kind="stable")
    bounds = [*np.flatnonzero(np.diff(n_blocks[order], prepend=-1)).tolist(), len(keys)]
    for first, last in itertools.pairwise(bounds):
        numbers = order[first:last]
        n = int(n_blocks[numbers[0]])
        if not n:
            continue
        group = [keys[number] for number in numbers.tolist()]
        padded = b"".join(key.ljust(n * BLOCK, b"\0") for key in group)
        blocks = np.frombuffer(padded, WORD).reshape(len(group), n, 3)
        start = (np.array([len(key) for key in group], np.int64) + SEED) & 0xFFFFFFFF
        state = np.repeat(start.astype(np.uint32)[None], 3, axis=0)  # [3, group]
        for block in range(n):
            state += blocks[:, block].T
            _mix(state) if block < n - 1 else _finish(state)
        result[numbers] = state[2]
    return result


def _rotate(words: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    rotated: NDArray[np.uint32] = (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))
    return rotated


def _mix(state: NDArray[np.uint32]) -> None:
    """Mix three words reversibly: each step is x ← (x - z) ⊕ rotate(z), then z ← z + y."""
    for step, bits in enumerate((4, 6, 8, 16, 19, 4)):
        x, y, z = step % 3, (step + 1) % 3, (step + 2) % 3
        state[x] -= state[z]
        state[x] ^= _rotate(state[z], bits)
        state[z] += state[y]


def _finish(state: NDArray[np.uint32]) -> None:
    """Mix three words into the last one: each step is x ← (x ⊕ y) - rotate(y)."""
    for step, bits in enumerate((14, 11, 25, 16, 4, 14, 24)):
        x, y = (step + 2) % 3, (step + 1) % 3
        state[x] ^= state[y]
        state[x] -= _rotate(state[y], bits)
