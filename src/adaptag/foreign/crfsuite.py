"""CRFsuite's binary models: read as a chain of attributes, and written.

All numbers are little-endian. A model consists of a header and five chunks, whose offsets it has::

    48 bytes   "lCRF", size of the file, "FOMC", version, numbers of features, labels, attributes,
               offsets of the chunks
    FEAT       records: type (0 state, 1 transition), source, target label, weight (float64)
    CQDB       the labels; then another one, the attributes
    LFRF       for each label, and for the begin and end of sequences, the list of its features
    AFRF       for each attribute likewise

A state feature is a node weight of an attribute. A transition is an edge weight of the predicate
that always fires, ``B`` in a template.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core
from adaptag.errors import ModelError
from adaptag.features.index import NO_TOKEN, FeatureIndex
from adaptag.features.template import Template
from adaptag.foreign.binary import WORD, BinaryFile
from adaptag.foreign.chains import (
    LARGEST,
    build_index,
    check_labels,
    check_memory,
    check_size,
    rounded_chain,
)
from adaptag.foreign.cqdb import read_quarks, write_quarks
from adaptag.foreign.sparse_chain import SparseChain
from adaptag.model.original import OriginalWeights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from adaptag.model.linear_chain import LinearChain

__all__ = ["MAGIC", "crfsuite_bytes", "crfsuite_header", "read_crfsuite", "read_sparse"]

MAGIC = b"lCRF"
NAME = "CRFsuite"
HEADER = struct.Struct("<4sI4s9I")
FIELDS = (
    *("magic", "size", "type", "version", "num_features", "num_labels", "num_attrs"),
    *("off_features", "off_labels", "off_attrs", "off_labelrefs", "off_attrrefs"),
)
VERSION = 100
FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
STATE, TRANSITION = 0, 1
N_BOUNDARIES = 2  # lists of the begin and the end of sequences, after those of the labels
MAX_SIZE = 0xFFFFFFFF


def read_crfsuite(data: bytes, name: str = "<bytes>") -> LinearChain[FeatureIndex]:
    """Read the bytes of a CRFsuite model; a damaged one raises a ModelError."""
    chain = read_sparse(data, name)
    y, n = len(chain.labels), len(chain.attributes)
    check_size(name, len(data), y, n, 1)
    layout = core.Layout(y, n, 0, 1)
    weights = np.zeros(layout.n_weights)
    split = n * layout.width
    weights[:split].reshape(n, layout.width)[chain.sources, chain.targets] = chain.weights
    weights[split:].reshape(y, layout.width)[:, :y] = chain.transitions
    index = _index_of(name, chain.attributes)
    return rounded_chain(name, NAME, chain.labels, index, OriginalWeights(weights))


def read_sparse(data: bytes, name: str = "<bytes>") -> SparseChain:
    """Read the weights as CRFsuite has them; a damaged model raises a ModelError."""
    file = BinaryFile(data, name, NAME)
    size, kind, version, _, n_labels, n_attributes, *offsets = _read_header(file)
    if size != len(data):
        raise file.fail(f"the header says {size} bytes; the file has {len(data)}")
    if kind != b"FOMC" or version != VERSION:
        raise ModelError(
            f"{name}: a CRFsuite model of type {kind!r}, version {version}; "
            f"allowed: {b'FOMC'!r}, version {VERSION}"
        )
    if n_labels:  # a model that was trained without data has none
        check_labels(name, n_labels)
    check_memory(name, len(data), 32 * n_labels**2, f"transitions of {n_labels:,} labels")
    labels = read_quarks(file, offsets[1], n_labels, "labels")
    attributes = read_quarks(file, offsets[2], n_attributes, "attributes")
    features = _read_features(file, offsets[0], n_labels, n_attributes)
    lists = ((offsets[3], n_labels, TRANSITION, "labels"), (offsets[4], n_attributes, STATE, ""))
    for offset, n, type_, what in lists:
        _check_references(file, offset, n, features, type_, what or "attributes")
    try:
        names = tuple(label.decode() for label in labels)
    except UnicodeDecodeError:
        raise ModelError(f"{name}: a label is not valid UTF-8") from None
    states = features[features["type"] == STATE]
    states = states[np.argsort(states["source"], kind="stable")]
    pairs = features[features["type"] == TRANSITION]
    transitions = np.zeros((n_labels, n_labels))
    transitions[pairs["source"], pairs["target"]] = pairs["weight"]
    return SparseChain(
        names,
        attributes,
        np.searchsorted(states["source"], np.arange(n_attributes + 1)).astype(np.int64),
        states["target"].astype(np.uint32),
        states["weight"].astype(np.float64),
        transitions,
    )


def crfsuite_header(data: bytes) -> dict[str, str]:
    """The fields of the header of a model that was read, as ``crfsuite dump`` shows them."""
    values = HEADER.unpack(data[: HEADER.size])
    shown = [value.decode() if isinstance(value, bytes) else str(value) for value in values[:7]]
    places = [f"0x{offset:X}" for offset in values[7:]]
    return dict(zip(FIELDS, [*shown, *places], strict=True))


def _read_header(file: BinaryFile) -> tuple[Any, ...]:
    """All fields of the header but the magic."""
    file.magic(0, MAGIC, "the file")
    return HEADER.unpack(file.part(0, HEADER.size, "the header").data)[1:]


def _read_features(
    file: BinaryFile, offset: int, n_labels: int, n_attributes: int
) -> NDArray[np.void]:
    """The records of all features, whose numbers are all in range."""
    file.magic(offset, b"FEAT", "the chunk of features")
    _, n = file.words(offset + 4, 2, "the header of features")
    features: NDArray[np.void] = file.array(FEATURE, offset + 12, n, "features")
    limits = np.where(features["type"] == STATE, n_attributes, n_labels)
    if (features["type"] > TRANSITION).any():
        raise file.fail("a feature is neither of a state nor of a transition")
    if (features["source"] >= limits).any() or (features["target"] >= n_labels).any():
        raise file.fail("a feature names a label or an attribute that does not exist")
    if not (np.abs(features["weight"]) <= LARGEST).all():
        raise file.fail(f"a weight is not finite, or larger than {LARGEST:g}")
    rows = features["type"] * np.int64(n_attributes) + features["source"]
    if len(np.unique(rows * n_labels + features["target"])) != n:
        raise file.fail("two features have the same place")
    return features


def _check_references(
    file: BinaryFile, offset: int, n: int, features: NDArray[np.void], type_: int, what: str
) -> None:
    """Raise unless the lists name each feature of a type once, at its source.

    CRFsuite tags by these lists, so a file in which they differ from the features is ambiguous.
    """
    magic = b"LFRF" if type_ == TRANSITION else b"AFRF"
    file.magic(offset, magic, f"the chunk of features of {what}")
    _, n_lists = file.words(offset + 4, 2, f"the header of features of {what}")
    if not n <= n_lists <= n + N_BOUNDARIES:
        raise file.fail(f"{n_lists} lists of features for {n} {what}")
    places = file.array(WORD, offset + 12, n_lists, f"the lists of {what}").astype(np.int64)
    if places[n:].any():
        raise ModelError(
            f"{file.name}: weights of the begin or end of sequences, which are not supported"
        )
    if (places % 4).any() or (places + 4 > len(file.data)).any():
        raise file.fail(f"the offset of a list of features of {what} is out of range")
    words = file.array(WORD, 0, len(file.data) // 4, "the file")
    begins = places[:n] // 4
    counts = np.where(begins > 0, words[begins], 0).astype(np.int64)
    expected = features["type"] == type_
    if int(counts.sum()) != int(expected.sum()) or (begins + 1 + counts > len(words)).any():
        raise file.fail(f"the lists of features of {what} have the wrong lengths")
    firsts = begins + 1 - np.concatenate([[0], np.cumsum(counts)[:-1]])[:n]
    numbers = words[np.arange(int(counts.sum())) + np.repeat(firsts, counts)]
    if (numbers >= len(features)).any():
        raise file.fail(f"a list of features of {what} names one that does not exist")
    found = features[numbers]
    if (
        (found["type"] != type_).any()
        or (found["source"] != np.repeat(np.arange(n), counts)).any()
        or (np.bincount(numbers) > 1).any()
    ):
        raise file.fail(f"the lists of features of {what} do not fit the features")


def _index_of(name: str, attributes: Sequence[bytes]) -> FeatureIndex:
    """The index of attributes and label bigrams."""
    n = len(attributes)
    keys = np.zeros((n + 1, 2), np.uint32)
    keys[:n, 1] = np.arange(n)
    keys[n] = 1, NO_TOKEN
    return build_index(name, Template.for_attributes(), attributes, keys, (n, 0, 1))


def crfsuite_bytes(model: LinearChain[Any] | SparseChain) -> bytes:
    """The bytes of the CRFsuite model that gives the same labels; raise where there is none."""
    chain = model if isinstance(model, SparseChain) else SparseChain.of(model)
    names = [*(label.encode() for label in chain.labels), *chain.attributes]
    if any(b"\0" in text for text in names):
        raise ModelError(
            "the model cannot be written as a CRFsuite model: a label or an attribute contains a "
            "NUL character"
        )
    n_labels, n = len(chain.labels), len(chain.attributes)
    states = _records(STATE, chain.sources, chain.targets, chain.weights)
    source, target = np.nonzero(chain.transitions)
    pairs = _records(TRANSITION, source, target, chain.transitions[source, target])
    features = np.concatenate([states, pairs])
    chunks = [
        struct.pack("<4s2I", b"FEAT", 12 + features.nbytes, len(features)) + features.tobytes(),
        write_quarks(names[:n_labels]),
        write_quarks(names[n_labels:]),
    ]
    places, end = [], HEADER.size
    for chunk in chunks:
        places.append(end)
        end += len(chunk)
    chunks.append(b"\0" * (-end % 4))
    end += -end % 4
    for magic, sources, first, n_lists, n_empty in (
        (b"LFRF", pairs["source"], len(states), n_labels, N_BOUNDARIES),
        (b"AFRF", states["source"], 0, n, 0),
    ):
        chunks.append(_references(magic, sources, first, n_lists, n_empty, end))
        places.append(end)
        end += len(chunks[-1])
    if end > MAX_SIZE:
        raise ModelError(f"the model takes {end:,} bytes; a CRFsuite file has at most {MAX_SIZE:,}")
    header = HEADER.pack(MAGIC, end, b"FOMC", VERSION, 0, n_labels, n, *places)
    return b"".join([header, *chunks])


def _records(
    type_: int, source: NDArray[Any], target: NDArray[Any], weight: NDArray[np.float64]
) -> NDArray[np.void]:
    """The records of features of a type."""
    records = np.zeros(len(source), FEATURE)
    records["type"], records["source"], records["target"] = type_, source, target
    records["weight"] = weight
    return records


def _references(
    magic: bytes, sources: NDArray[np.uint32], first: int, n: int, n_empty: int, offset: int
) -> bytes:
    """The chunk of the lists of features of ``n`` sources; the features are sorted by source."""
    counts = np.bincount(sources.astype(np.int64), minlength=n)
    begins = np.concatenate([[0], np.cumsum(counts + 1)])  # of the lists, in words
    lists = np.zeros(int(begins[-1]), WORD)
    lists[begins[:-1]] = counts
    is_number = np.ones(len(lists), bool)
    is_number[begins[:-1]] = False
    lists[is_number] = np.arange(first, first + len(sources))
    head = 12 + 4 * (n + n_empty)
    places = np.zeros(n + n_empty, WORD)
    places[:n] = offset + head + 4 * begins[:-1]
    return (
        struct.pack("<4s2I", magic, head + lists.nbytes, n + n_empty)
        + places.tobytes()
        + lists.tobytes()
    )
