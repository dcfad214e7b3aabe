"""CRF++'s models, as text (``crf_learn -t``) and binary: read as a chain with a template.

The text has five sections with empty lines between them: ``version``, ``cost-factor``, ``maxid``
and ``xsize`` (the feature columns); the labels; the template; lines ``id feature``; ``maxid``
weights. The weight of a unigram feature for label y is number id + y, that of a bigram feature for
the labels y′ and y is number id + y′ · Y + y. All are multiplied by the cost factor.

The binary form has the same content, with the features in a double-array trie and the weights as
float32.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.errors import AdaptagError, ModelError
from adaptag.features.template import Template
from adaptag.foreign.binary import BinaryFile
from adaptag.foreign.chains import check_size, numbered_chain, why_not_writable
from adaptag.foreign.double_array import UNIT, strings_of
from adaptag.foreign.features import (
    check_macros,
    index_of_strings,
    string_features,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from adaptag.features.index import FeatureIndex
    from adaptag.model.linear_chain import LinearChain

__all__ = ["crfpp_text", "read_crfpp", "read_crfpp_text"]

NAME = "CRF++"
VERSION = 100
MAGIC = struct.pack("<2I", VERSION, 0)  # the version, and the type of the model
HEADER = struct.Struct("<2Id3I")
FIELDS = ("version", "cost-factor", "maxid", "xsize")
MOST_COLUMNS = 10_000
MOST_ROWS = 4  # farther outside of a sentence, all cells are the same in Wapiti


@dataclass(frozen=True, eq=False)
class Content:
    """What both forms of a file have.

    Attributes:
        cost_factor: The factor of all weights.
        n_columns: The feature columns of the data.
        labels: The labels.
        template: The lines of the template.
        features: The number of the first weight of each feature, and its string.
        weights: The weights, float64 or float32.
    """

    cost_factor: float
    n_columns: int
    labels: Sequence[bytes]
    template: Sequence[bytes]
    features: Sequence[tuple[int, bytes]]
    weights: NDArray[np.float64] | NDArray[np.float32]


def read_crfpp_text(data: bytes, name: str = "<bytes>") -> LinearChain[FeatureIndex]:
    """Read the text of a CRF++ model; a damaged one raises a ModelError."""
    file = BinaryFile(data, name, NAME)
    lines = (data.replace(b"\r\n", b"\n") if b"\r\n" in data[:100] else data).split(b"\n")
    empty = [number for number, line in enumerate(lines) if not line][:4]
    if len(empty) < 4:
        raise file.fail(f"{len(empty) + 1} sections; expected 5")
    head, labels, template, features, weights = (
        lines[begin:end]
        for begin, end in zip([0, *(place + 1 for place in empty)], [*empty, None], strict=True)
    )
    if weights and not weights[-1]:
        del weights[-1]
    fields = dict(line.decode("ascii", "replace").partition(": ")[::2] for line in head)
    if tuple(fields) != FIELDS:
        raise file.fail(f"the first section has {', '.join(fields)}; expected {', '.join(FIELDS)}")
    try:
        version, maxid, n_columns = (_number(fields[key]) for key in ("version", "maxid", "xsize"))
        cost_factor = float(fields["cost-factor"])
        pairs = [
            (_number(number.decode()), feature)
            for number, _, feature in (line.partition(b" ") for line in features)
        ]
        values = np.array([float(value) for value in weights])
    except ValueError as error:
        raise file.fail(f"no number: {error}") from None
    if version != VERSION:
        raise ModelError(f"{name}: a CRF++ model of version {version}; allowed: {VERSION}")
    if maxid != len(values):
        raise file.fail(f"maxid is {maxid}; the file has {len(values)} weights")
    return _chain_of(file, Content(cost_factor, n_columns, labels, template, pairs, values))


def _number(text: str) -> int:
    """A number of up to ten digits; ``int`` takes more than that."""
    if not (text.isascii() and text.isdigit() and len(text) <= 10):
        raise ValueError(repr(text[:40]))
    return int(text)


def read_crfpp(data: bytes, name: str = "<bytes>") -> LinearChain[FeatureIndex]:
    """Read the bytes of a binary CRF++ model; a damaged one raises a ModelError."""
    file = BinaryFile(data, name, NAME)
    file.magic(0, MAGIC, "the file")
    header = file.part(0, HEADER.size, "the header").data
    _, _, cost_factor, maxid, n_columns, trie_size = HEADER.unpack(header)
    end = HEADER.size
    blocks = []
    for what in ("labels", "template"):
        (size,) = file.words(end, 1, f"the size of the {what}")
        block = file.part(end + 4, size, f"the {what}").data
        blocks.append([text for text in block.split(b"\0") if text])  # padded with NUL bytes
        end += 4 + size
    if trie_size % UNIT.itemsize or end + trie_size + 4 * maxid != len(data):
        raise file.fail(f"{len(data)} bytes; the header says {end + trie_size + 4 * maxid}")
    units = file.array(UNIT, end, trie_size // UNIT.itemsize, "the features")
    weights = file.array(np.dtype("<f4"), end + trie_size, maxid, "the weights")
    labels, template = blocks
    features = strings_of(units, file)
    return _chain_of(file, Content(cost_factor, n_columns, labels, template, features, weights))


def _chain_of(file: BinaryFile, content: Content) -> LinearChain[FeatureIndex]:
    y = len(content.labels)
    check_size(file.name, len(file.data), y, 0, 0)
    try:
        labels = [label.decode() for label in content.labels]
        template = Template(b"\n".join(content.template).decode())
        features = [feature.decode() for _, feature in content.features]
    except UnicodeDecodeError:
        raise ModelError(f"{file.name}: not UTF-8; convert the text of the model first") from None
    except AdaptagError as error:
        raise file.fail(str(error)) from None
    check_macros(file, template, "UB", "x")
    if not template.n_columns <= content.n_columns <= MOST_COLUMNS:
        raise file.fail(
            f"xsize is {content.n_columns}; allowed: {template.n_columns}, as the template needs, "
            f"to {MOST_COLUMNS}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        weights = content.weights * np.float64(content.cost_factor)
    numbered = [
        (first, feature) for (first, _), feature in zip(content.features, features, strict=True)
    ]
    size = y, len(weights)
    index, numbers = index_of_strings(file, template, numbered, size, content.n_columns)
    return numbered_chain(file.name, NAME, labels, index, weights, numbers, sums_in_single=True)


def crfpp_text(chain: LinearChain[Any]) -> bytes:
    """The text of the CRF++ model that gives the same labels; raise where there is none."""
    reason = why_not_writable(chain) or _why_not_crfpp(chain)
    if reason:
        raise ModelError(f"the model cannot be written as a CRF++ model: {reason}")
    index, template = chain.index, chain.index.template
    letters = {"u": "U", "b": "B"}
    cells = (
        {b"_x%+d" % k: b"_B%+d" % k for k in range(-MOST_ROWS, MOST_ROWS + 1)}
        if template.wapiti
        else {}
    )
    features = string_features(chain, NAME, letters, cells)
    n_weights = max((f.number + len(f.weights) for f in features), default=0)
    weights = np.zeros(n_weights)
    for feature in features:
        weights[feature.number : feature.number + len(feature.weights)] = feature.weights
    lines = [letters.get(line.text[0], line.text[0]) + line.text[1:] for line in template.lines]
    sections = [
        [
            f"version: {VERSION}",
            "cost-factor: 1",
            f"maxid: {n_weights}",
            f"xsize: {index.n_columns}",
        ],
        list(chain.labels),
        lines,
    ]
    text = "".join("\n".join(section) + "\n\n" for section in sections).encode()
    by_name = sorted(features, key=lambda feature: feature.name)
    names = b"".join(b"%d %s\n" % (feature.number, feature.name) for feature in by_name)
    return b"".join([text, names, b"\n", *(b"%.16f\n" % weight for weight in weights.tolist())])


def _why_not_crfpp(chain: LinearChain[Any]) -> str:
    """Why CRF++ has no form for the features or labels; empty where it has one."""
    template = chain.index.template
    if template.attributes:
        return "its features are attributes, not those of a template"
    for line in template.lines:
        others = sorted({f"%{macro.name}" for macro in line.macros} - {"%x"})
        if others:
            return f"line {line.number} of its template has {', '.join(others)}; CRF++ has %x only"
        if line.skeleton[0] == "*":
            return f"line {line.number} of its template begins with *; CRF++ has U and B only"
        if template.wapiti and any(abs(macro.row) > MOST_ROWS for macro in line.macros):
            return f"line {line.number} of its template has a row beyond {MOST_ROWS}"
    if any(not label or len(label.split()) != 1 for label in chain.labels):
        return "a label is empty or has white space"
    if chain.index.tensors["vocabulary_bytes"].tobytes().find(b"\n") >= 0:
        return "a token of its features has a line break"
    return ""
