"""What a model holds, as a structure and as text in the form of ``crfsuite dump``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from adaptag.foreign.sparse_chain import SparseChain

__all__ = ["ParsedDump", "dump_lines", "parsed_dump"]


@dataclass
class ParsedDump:
    """The weights of a model, which ``Tagger.info`` returns.

    Attributes:
        header: The fields of the header of the file, as text.
        labels: The number of each label, as text.
        attributes: The number of each attribute, as text.
        transitions: The weights of label bigrams, by (previous, current).
        state_features: The weights of attributes and labels, by (attribute, label).
    """

    header: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    transitions: dict[tuple[str, str], float] = field(default_factory=dict)
    state_features: dict[tuple[str, str], float] = field(default_factory=dict)


def parsed_dump(chain: SparseChain, header: Mapping[str, str]) -> ParsedDump:
    """The weights of a chain by the names of attributes and labels."""
    labels = chain.labels
    attributes = [name.decode("utf-8", "replace") for name in chain.attributes]
    sources, targets = np.nonzero(chain.transitions)
    pairs = zip(sources.tolist(), targets.tolist(), strict=True)
    states = zip(
        chain.sources.tolist(), chain.targets.tolist(), chain.weights.tolist(), strict=True
    )
    return ParsedDump(
        dict(header),
        {name: str(number) for number, name in enumerate(labels)},
        {name: str(number) for number, name in enumerate(attributes)},
        {(labels[i], labels[j]): float(chain.transitions[i, j]) for i, j in pairs},
        {(attributes[a], labels[y]): weight for a, y, weight in states},
    )


def dump_lines(dump: ParsedDump) -> Iterator[str]:
    """The lines of the text, in the form of ``crfsuite dump``."""
    sections = {
        "FILEHEADER": [f"  {name}: {value}" for name, value in dump.header.items()],
        "LABELS": [f"  {number:>5}: {name}" for name, number in dump.labels.items()],
        "ATTRIBUTES": [f"  {number:>5}: {name}" for name, number in dump.attributes.items()],
        "TRANSITIONS": _weights(1, dump.transitions),
        "STATE_FEATURES": _weights(0, dump.state_features),
    }
    for title, lines in sections.items():
        yield f"{title} = {{"
        yield from lines
        yield "}"
        yield ""


def _weights(type_: int, weights: Mapping[tuple[str, str], float]) -> list[str]:
    return [f"  ({type_}) {a} --> {b}: {weight:.6f}" for (a, b), weight in weights.items()]
