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
from typing import TYPE_CHECKING

import numpy as np

from adaptag.errors import AdaptagError, ModelError
from adaptag.features.index import NO_TOKEN, FeatureIndex
from adaptag.features.template import Template
from adaptag.foreign.binary import BinaryFile
from adaptag.foreign.chains import build_chain, build_index, check_memory, check_size
from adaptag.foreign.double_array import UNIT, strings_of
from adaptag.foreign.matching import FeatureMatcher

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from adaptag.model.linear_chain import LinearChain

__all__ = ["read_crfpp", "read_crfpp_text"]

NAME = "CRF++"
VERSION = 100
MAGIC = struct.pack("<2I", VERSION, 0)  # the version, and the type of the model
HEADER = struct.Struct("<2Id3I")
FIELDS = ("version", "cost-factor", "maxid", "xsize")
MOST_COLUMNS = 10_000
MOST_MACROS = 64  # in a line of the template
STEPS = 64  # to find the tokens of the features, per byte of the file


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
    _check_template(file, template, content)
    if len(set(features)) != len(features):
        raise file.fail("a feature stands twice in the file")
    with np.errstate(over="ignore", invalid="ignore"):
        weights = (content.weights * content.cost_factor).astype(np.float32)
    index, firsts = _build(file, template, features, content, y)
    n_node = index.n_of_kind[0]
    node = weights[firsts[:n_node, None] + np.arange(y)]
    edge = weights[firsts[n_node:, None, None] + np.arange(y * y).reshape(1, y, y)]
    return build_chain(file.name, NAME, labels, index, node, edge)


def _check_template(file: BinaryFile, template: Template, content: Content) -> None:
    """Raise where a template has what CRF++ does not have, or too much of something."""
    for line in template.lines:
        if any(macro.name != "x" for macro in line.macros) or line.skeleton[0] not in "UB":
            raise file.fail(f"line {line.number} of the template is not of CRF++")
        if len(line.macros) > MOST_MACROS:
            raise file.fail(
                f"line {line.number} of the template has {len(line.macros)} macros; "
                f"allowed: {MOST_MACROS}"
            )
    if not template.n_columns <= content.n_columns <= MOST_COLUMNS:
        raise file.fail(
            f"xsize is {content.n_columns}; allowed: {template.n_columns}, as the template needs, "
            f"to {MOST_COLUMNS}"
        )


def _build(
    file: BinaryFile, template: Template, features: Sequence[str], content: Content, y: int
) -> tuple[FeatureIndex, NDArray[np.int64]]:
    """The index, and the number of the first weight of each of its predicates."""
    matcher = FeatureMatcher(template, STEPS * len(file.data) + 100_000, file.name)
    vocabulary: dict[str, int] = {}
    found: tuple[list[tuple[int, ...]], list[tuple[int, ...]]] = ([], [])  # node, edge
    firsts: tuple[list[int], list[int]] = ([], [])
    for (first, _), feature in zip(content.features, features, strict=True):
        is_edge = feature.startswith("B")
        if first + (y * y if is_edge else y) > len(content.weights):
            raise file.fail(f"the weights of the feature {feature[:40]!r} are not in the file")
        n_before = len(found[is_edge])
        for skeleton, tokens in matcher.matches(feature):
            numbers = (vocabulary.setdefault(token, len(vocabulary)) for token in tokens)
            found[is_edge].append((skeleton, *numbers))
            firsts[is_edge].append(first)
        if len(found[is_edge]) == n_before:
            raise file.fail(f"no line of the template makes the feature {feature[:40]!r}")
    n_node, n_edge = map(len, found)
    check_size(file.name, len(file.data), y, n_node, n_edge)
    width = 1 + template.program().arity
    check_memory(file.name, len(file.data), 4 * width * (n_node + n_edge), "keys of features")
    keys = np.full((n_node + n_edge, width), NO_TOKEN, np.uint32)
    for row, key in enumerate(found[0] + found[1]):
        keys[row, : len(key)] = key
    strings = [token.encode() for token in vocabulary]
    index = build_index(file.name, template, strings, keys, (n_node, 0, n_edge), content.n_columns)
    return index, np.array(firsts[0] + firsts[1], np.int64)
