"""Wapiti's models: read as a chain with a template, and written.

A file is text. Strings are netstrings, ``length:bytes,``, each on a line::

    #mdl#2#6237      the type (0 maxent, 1 MEMM, 2 CRF), and the number of weights that are not zero
    #rdr#8/1/0       the number of patterns, the last column that they use, and whether tokens are
    16:u:w=%x[-1,0],     features by themselves; then the patterns
    #qrk#19          the number of labels, and the labels
    4:B-NP,
    #qrk#11872       the number of observations, and the observations
    8:u:w=_x-1,
    24=-0x1.8p-2     the number of each weight that is not zero, and its value

Weights are numbered through all observations. One that begins with ``u`` has a weight for each
label; one with ``b`` a weight for each pair of labels, number y′ · Y + y; one with ``*`` both.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.errors import AdaptagError, ModelError
from adaptag.features.template import KINDS, Template
from adaptag.foreign.binary import BinaryFile
from adaptag.foreign.chains import (
    BYTES_PER_WEIGHT,
    check_memory,
    check_size,
    numbered_chain,
    why_not_writable,
)
from adaptag.foreign.features import (
    check_macros,
    index_of_strings,
    string_features,
    weights_per_kind,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from adaptag.features.index import FeatureIndex
    from adaptag.features.template import Line
    from adaptag.model.linear_chain import LinearChain

__all__ = ["read_wapiti", "wapiti_bytes"]

NAME = "Wapiti"
MAXENT, MEMM, CRF = range(3)
NUMBER = rb"(0|[1-9][0-9]{0,9})"
MODEL_LINE = re.compile(rb"#mdl#%s#%s\n" % (NUMBER, NUMBER))
READER_LINE = re.compile(rb"#rdr#%s/%s/%s\n" % (NUMBER, NUMBER, NUMBER))
STRINGS_LINE = re.compile(rb"#qrk#%s\n" % NUMBER)
LENGTH = re.compile(rb"%s:" % NUMBER)
WEIGHT = re.compile(rb"%s=(-?0x[01](?:\.[0-9a-f]{1,13})?p[+-][0-9]{1,4})\n" % NUMBER)
LETTERS, MACROS = "ub*", "xXtTmM"
FARTHEST = 4  # cells outside of sentences that are numbered; all others are the same


def read_wapiti(data: bytes, name: str = "<bytes>") -> LinearChain[FeatureIndex]:
    """Read the bytes of a Wapiti model; a damaged one raises a ModelError."""
    return _Reader(BinaryFile(data, name, NAME)).read()


class _Reader:
    """Reads a file from its begin to its end."""

    def __init__(self, file: BinaryFile) -> None:
        self.file = file
        self.place = 0

    def read(self) -> LinearChain[FeatureIndex]:
        """Read the model."""
        file = self.file
        kind, n_active = self._numbers(MODEL_LINE, "#mdl#type#weights")
        if kind not in (MAXENT, CRF):
            what = "a maximum entropy Markov model" if kind == MEMM else f"of type {kind}"
            raise ModelError(f"{file.name}: a Wapiti model that is {what}; allowed: CRF, maxent")
        n_patterns, _, takes_tokens = self._numbers(READER_LINE, "#rdr#patterns/column/tokens")
        if takes_tokens or not n_patterns:
            raise ModelError(f"{file.name}: a Wapiti model without patterns is not supported")
        patterns = self._strings(n_patterns, "patterns")
        (n_labels,) = self._numbers(STRINGS_LINE, "#qrk#labels")
        labels = self._strings(n_labels, "labels")
        (n_observations,) = self._numbers(STRINGS_LINE, "#qrk#observations")
        observations = self._strings(n_observations, "observations")
        try:
            names = [label.decode() for label in labels]
            template = _template([pattern.decode() for pattern in patterns], file)
        except UnicodeDecodeError:
            raise ModelError(f"{file.name}: not UTF-8; convert the model first") from None
        features = [text.decode(errors="surrogateescape") for text in observations]
        if others := {text[:1] for text in features} - set(LETTERS):
            raise file.fail(f"an observation begins with {others.pop()!r}; allowed: u, b, *")
        numbers, n_weights = self._number(features, len(names))
        weights = self._weights(n_active, n_weights)
        numbered = list(zip(numbers.tolist(), features, strict=True))
        size = len(names), n_weights
        columns = max(template.n_columns, 1)
        index, firsts = index_of_strings(file, template, numbered, size, columns)
        chain = numbered_chain(file.name, NAME, names, index, weights, firsts)
        if kind == MAXENT and chain.edge_weights().any():
            raise ModelError(f"{file.name}: a maxent model with weights of pairs of labels")
        return chain

    def _number(self, features: Sequence[str], n_labels: int) -> tuple[NDArray[np.int64], int]:
        """The number of the first weight of each feature, and of all weights."""
        check_size(self.file.name, len(self.file.data), n_labels, 0, 0)
        sizes = weights_per_kind(n_labels)
        ends = np.cumsum([0] + [sizes[KINDS[feature[0]]] for feature in features])
        n_weights = int(ends[-1])
        needed = BYTES_PER_WEIGHT * n_weights
        check_memory(self.file.name, len(self.file.data), needed, f"{n_weights:,} weights")
        return ends[:-1], n_weights

    def _numbers(self, line: re.Pattern[bytes], form: str) -> list[int]:
        """The numbers of a line."""
        match = line.match(self.file.data, self.place)
        if match is None:
            found = self.file.data[self.place : self.place + 40].split(b"\n")[0]
            raise self.file.fail(f"byte {self.place}: {found!r}; expected {form}")
        self.place = match.end()
        return [int(number) for number in match.groups()]

    def _strings(self, n: int, what: str) -> list[bytes]:
        """Read ``n`` netstrings, each on a line."""
        data, strings = self.file.data, []
        for _ in range(n):
            (length,) = self._numbers(LENGTH, f"length:string, of the {what}")
            end = self.place + length
            if data[end : end + 2] != b",\n":
                raise self.file.fail(f"byte {end}: the end of one of the {what} is missing")
            strings.append(data[self.place : end])
            self.place = end + 2
        return strings

    def _weights(self, n_active: int, n_weights: int) -> NDArray[np.float64]:
        """The weights, most of which are zero and not in the file."""
        weights = np.zeros(n_weights)
        last = -1
        for _ in range(n_active):
            match = WEIGHT.match(self.file.data, self.place)
            if match is None:
                raise self.file.fail(f"byte {self.place}: no weight; expected number=value")
            number = int(match[1])
            if not last < number < n_weights:
                raise self.file.fail(
                    f"byte {self.place}: a weight {number}; allowed: {last + 1} to {n_weights - 1}"
                )
            try:
                weights[number] = float.fromhex(match[2].decode())
            except OverflowError:
                raise self.file.fail(f"byte {self.place}: a weight is too large") from None
            last, self.place = number, match.end()
        if self.file.data[self.place :].strip(b"\n"):
            raise self.file.fail(f"byte {self.place}: more than {n_active} weights")
        return weights


def _template(patterns: Sequence[str], file: BinaryFile) -> Template:
    """The template of patterns; raise where Wapiti has no such pattern, or is not followed here."""
    try:
        template = Template("\n".join(patterns), wapiti=True)
    except AdaptagError as error:
        raise ModelError(f"{file.name}: a pattern is not supported: {error}") from None
    if [line.text for line in template.lines] != list(patterns):
        raise file.fail("a pattern has a line break, a comment, or white space at its end")
    check_macros(file, template, LETTERS, MACROS)
    for line in template.lines:
        if reason := _why_cut(line):
            raise ModelError(f"{file.name}: pattern {line.number}: {reason}")
    return template


def _why_cut(line: Line) -> str:
    """Why Wapiti may cut off the end of the observations of a line; empty where it does not.

    What ``%m`` gives may go beyond the end of the token, where the string ends for Wapiti; see
    ``cell_pattern.hpp``. That matters where something follows in the pattern.
    """
    end_of_line = line.skeleton.endswith("%x[]")
    macros = line.macros[:-1] if end_of_line else line.macros
    for macro in macros:
        if macro.name in "mM" and _may_overrun(macro.pattern):
            return (
                f'Wapiti may cut off what follows %{macro.name}[…,"{macro.pattern}"]; such a '
                "pattern is not supported"
            )
    return ""


def _may_overrun(pattern: str) -> bool:
    """Whether something that may fail to match follows an optional character."""
    repeats = re.findall(r"(?:\\.|[^\\])([*?]?)", pattern.removeprefix("^"))
    return "?" in repeats and "" in repeats[repeats.index("?") :]


def wapiti_bytes(chain: LinearChain[Any]) -> bytes:
    """The bytes of the Wapiti model that gives the same labels; raise where there is none."""
    reason = why_not_writable(chain) or _why_not_wapiti(chain)
    if reason:
        raise ModelError(f"the model cannot be written as a Wapiti model: {reason}")
    template = chain.index.template
    letters = {"U": "u", "B": "b"}
    features = string_features(chain, NAME, letters, {} if template.wapiti else _outside(template))
    patterns = [letters.get(line.text[0], line.text[0]) + line.text[1:] for line in template.lines]
    weights = np.concatenate([np.zeros(0), *(feature.weights for feature in features)])
    active = np.flatnonzero(weights)
    lines = [b"#mdl#%d#%d\n" % (CRF, len(active))]
    lines.append(b"#rdr#%d/%d/0\n" % (len(patterns), max(template.n_columns - 1, 0)))
    lines += _netstrings([pattern.encode() for pattern in patterns])
    for strings in ([label.encode() for label in chain.labels], [f.name for f in features]):
        lines.append(b"#qrk#%d\n" % len(strings))
        lines += _netstrings(strings)
    pairs = zip(active.tolist(), weights[active].tolist(), strict=True)
    lines += [f"{number}={_hexadecimal(weight)}\n".encode() for number, weight in pairs]
    return b"".join(lines)


def _netstrings(strings: Sequence[bytes]) -> list[bytes]:
    return [b"%d:%s,\n" % (len(string), string) for string in strings]


def _hexadecimal(weight: float) -> str:
    """A weight as C's ``%a`` writes it."""
    digits, _, exponent = weight.hex().partition("p")
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}p{exponent}"


def _outside(template: Template) -> dict[bytes, bytes]:
    """Wapiti's cells outside of sentences, by those of CRF++."""
    reach = max((abs(macro.row) for line in template.lines for macro in line.macros), default=0)
    return {
        f"_B{sign}{k}".encode(): f"_x{sign}{k if k <= FARTHEST else '#'}".encode()
        for k in range(1, reach + 1)
        for sign in "-+"
    }


def _why_not_wapiti(chain: LinearChain[Any]) -> str:
    """Why Wapiti has no form for the features; empty where it has one."""
    template = chain.index.template
    if template.attributes:
        return "its features are attributes, not those of a template"
    for line in template.lines:
        named = {macro.name for macro in line.macros} - set(MACROS)
        if named:
            others = ", ".join(f"%{macro}" for macro in sorted(named))
            return f"line {line.number} of its template has {others}, which Wapiti has not"
        if "#" in line.skeleton:
            return f"line {line.number} of its template has a #, which begins a comment in Wapiti"
        if reason := _why_cut(line):
            return reason
    return ""
