"""Features as strings, as CRF++ and Wapiti keep them: to the predicates of an index, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adaptag.errors import ModelError
from adaptag.features.index import NO_TOKEN
from adaptag.features.template import KINDS
from adaptag.foreign.chains import build_index, check_memory, check_size
from adaptag.foreign.matching import HOLE, FeatureMatcher

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from adaptag.features.index import FeatureIndex
    from adaptag.features.template import Template
    from adaptag.foreign.binary import BinaryFile
    from adaptag.model.linear_chain import LinearChain

__all__ = [
    "StringFeature",
    "check_macros",
    "index_of_strings",
    "string_features",
    "weights_per_kind",
]

MOST_MACROS = 64  # in a line of the template
STEPS = 64  # to find the tokens of the features, per byte of the file


def weights_per_kind(n_labels: int) -> tuple[int, int, int]:
    """The number of weights of a feature with node, with node and edge, and with edge weights."""
    return n_labels, n_labels + n_labels**2, n_labels**2


def check_macros(file: BinaryFile, template: Template, letters: str, macros: str) -> None:
    """Raise where a template has what the program of a file does not have, or too many macros."""
    for line in template.lines:
        named = {macro.name for macro in line.macros}
        if not named <= set(macros) or line.skeleton[0] not in letters:
            raise file.fail(f"line {line.number} of the template is not of {file.format}")
        if len(line.macros) > MOST_MACROS:
            raise file.fail(
                f"line {line.number} of the template has {len(line.macros)} macros; "
                f"allowed: {MOST_MACROS}"
            )


def index_of_strings(
    file: BinaryFile,
    template: Template,
    features: Sequence[tuple[int, str]],
    size: tuple[int, int],
    n_columns: int,
) -> tuple[FeatureIndex, NDArray[np.int64]]:
    """The index of features, and the number of the first weight of each of its predicates.

    Predicates are in the order of these numbers, by kind.

    Args:
        file: The file.
        template: Its template.
        features: The number of the first weight of each feature, and its string. Bytes that are
            not UTF-8 are surrogates.
        size: The number of labels, and of all weights.
        n_columns: The feature columns of the data.
    """
    n_labels, n_weights = size
    matcher = FeatureMatcher(template, STEPS * len(file.data) + 100_000, file.name)
    if len({feature for _, feature in features}) != len(features):
        raise file.fail("a feature stands twice in the file")
    sizes = weights_per_kind(n_labels)
    vocabulary: dict[str, int] = {}
    found: tuple[list[tuple[int, ...]], ...] = ([], [], [])  # by kind
    numbers: tuple[list[int], ...] = ([], [], [])
    for first, feature in sorted(features):
        kind = KINDS.get(feature[:1], 0)
        if first + sizes[kind] > n_weights:
            raise file.fail(f"the weights of the feature {_shown(feature)} are not in the file")
        n_before = len(found[kind])
        for skeleton, tokens in matcher.matches(feature):
            token_numbers = (vocabulary.setdefault(token, len(vocabulary)) for token in tokens)
            found[kind].append((skeleton, *token_numbers))
            numbers[kind].append(first)
        if len(found[kind]) == n_before:
            raise file.fail(f"no line of the template makes the feature {_shown(feature)}")
    node, both, edge = map(len, found)
    check_size(file.name, len(file.data), n_labels, node + both, both + edge)
    width = 1 + template.program().arity
    n = node + both + edge
    check_memory(file.name, len(file.data), 4 * width * n, "keys of features")
    keys = np.full((n, width), NO_TOKEN, np.uint32)
    for row, key in enumerate(found[0] + found[1] + found[2]):
        keys[row, : len(key)] = key
    strings = [token.encode(errors="surrogateescape") for token in vocabulary]
    index = build_index(file.name, template, strings, keys, (node, both, edge), n_columns)
    return index, np.array(numbers[0] + numbers[1] + numbers[2], np.int64)


def _shown(feature: str) -> str:
    return repr(feature[:40].encode(errors="surrogateescape").decode(errors="replace"))


class StringFeature(NamedTuple):
    """A feature as its string, the number of its first weight, and its weights, float64."""

    name: bytes
    number: int
    weights: NDArray[np.float64]


def string_features(
    chain: LinearChain[Any], form: str, letters: Mapping[str, str], cells: Mapping[bytes, bytes]
) -> list[StringFeature]:
    """The features of a chain, by the numbers of their first weights.

    A chain that was read from a file has the numbers of that file. Two predicates may have the same
    string, if their weights are the same: then they are one feature.

    Args:
        chain: The chain.
        form: The program that the strings are for, for messages.
        letters: The first characters of strings there, by those here, where they differ.
        cells: The cells outside of sentences there, by those here, where they differ.
    """
    index = chain.index
    weights = chain.weights if chain.original is None else chain.original.weights
    y, width = len(chain.labels), chain.layout.width
    numbers = None if chain.original is None else chain.original.numbers
    given = None if numbers is None else numbers.tolist()
    found: dict[bytes, StringFeature] = {}
    begin = number = 0
    kinds = np.repeat(range(3), index.n_of_kind).tolist()
    rows_of = (1, 1 + y, y)
    names = _names(index, letters, cells)
    for predicate, (kind, name) in enumerate(zip(kinds, names, strict=True)):
        end = begin + rows_of[kind] * width
        own = weights[begin:end].reshape(-1, width)[:, :y].ravel().astype(np.float64)
        if kind == 0 and name.startswith(b"*"):  # too rare for edge weights
            own = np.concatenate([own, np.zeros(y * y)])
        first = number if given is None else given[predicate]
        feature = found.setdefault(name, StringFeature(name, first, own))
        if feature.number == first:
            number += len(own)
        elif not np.array_equal(feature.weights, own):
            raise ModelError(
                f"the model cannot be written as a {form} model: it has two features "
                f"{name[:40].decode(errors='replace')!r} with different weights, which are one "
                f"in {form}"
            )
        begin = end
    return sorted(found.values(), key=lambda feature: feature.number)


def _names(
    index: FeatureIndex, letters: Mapping[str, str], cells: Mapping[bytes, bytes]
) -> Iterator[bytes]:
    """The strings of all predicates."""
    offsets = index.tensors["vocabulary_offsets"].tolist()
    text = index.tensors["vocabulary_bytes"].tobytes()
    skeletons = [
        [part.encode() for part in HOLE.split(letters.get(skeleton[0], skeleton[0]) + skeleton[1:])]
        for skeleton in index.template.skeletons
    ]
    for key in index.tensors["keys"].tolist():
        first, *others = skeletons[key[0]]
        tokens = [text[offsets[t] : offsets[t + 1]] for t in key[1:] if t != NO_TOKEN]
        yield first + b"".join(
            cells.get(token, token) + part for token, part in zip(tokens, others, strict=True)
        )
