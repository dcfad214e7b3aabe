"""The tagger of python-crfsuite."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from typing import TYPE_CHECKING, Any

from adaptag._native import core
from adaptag.decoding.model import Model
from adaptag.errors import CorpusError, ModelError, ParameterError, counted, unknown
from adaptag.foreign.crfsuite import MAGIC, crfsuite_header, read_sparse
from adaptag.foreign.sparse_chain import SparseChain
from adaptag.pycrfsuite._dumpparser import ParsedDump, dump_lines, parsed_dump
from adaptag.pycrfsuite.errors import LabelError, TaggerClosedError
from adaptag.storage.files import read_bytes, replace_file, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from adaptag.storage.files import PathLike

__all__ = ["Tagger"]


class Tagger:
    """Tags sequences of items with a model of CRFsuite, or one of adaptag that was trained alike.

    Scores and probabilities are computed in float64 from the weights of the file, so that labels
    are those of CRFsuite, ties included. The same tagger may be used by several threads, as long
    as each passes its sequence to ``tag``.

    Examples:
        >>> from adaptag.pycrfsuite import Tagger
        >>> tagger = Tagger()
        >>> tagger.open("model.crfsuite")  # doctest: +SKIP
        >>> tagger.tag([{"word": "The"}, {"word": "cat"}])  # doctest: +SKIP
        ['B-NP', 'I-NP']
    """

    def __init__(self) -> None:
        self.close()

    @classmethod
    def of(cls, model: Model) -> Tagger:
        """The tagger of a model in memory; it must be one of attributes."""
        tagger = cls()
        chain = SparseChain.of(model)
        tagger._set(chain, _own_header(chain, len(model.to_bytes())))
        return tagger

    def open(self, name: PathLike) -> contextlib.closing[Tagger]:
        """Open a model file; ``with tagger.open(name):`` closes it in the end.

        Args:
            name: The file: a model of CRFsuite, or one of adaptag whose features are attributes.
        """
        path = os.fsdecode(name)
        return self._open(read_bytes(path), shown(path))

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Open a model whose file was read.

        Args:
            value: The content of the file.
        """
        if not isinstance(value, bytes):
            raise ParameterError(f"the model is a {type(value).__name__}; allowed: bytes")
        return self._open(value, "<bytes>")

    def close(self) -> None:
        """Forget the model."""
        self._tagger: Any = _Closed()
        self._chain: SparseChain | None = None
        self._header: dict[str, str] = {}
        self._numbers: dict[str, int] = {}

    def labels(self) -> list[str]:
        """The labels of the model."""
        return list(self._opened().labels)

    def set(self, xseq: Iterable[Any]) -> None:
        """Set the sequence that ``tag``, ``probability`` and ``marginal`` are about.

        Args:
            xseq: A list of items, or an ``ItemSequence``.
        """
        try:
            self._tagger.set(xseq)
        except core.InputError as error:
            raise CorpusError(str(error)) from None

    def tag(self, xseq: Iterable[Any] | None = None) -> list[str]:
        """Find the best labels.

        Args:
            xseq: A list of items, or an ``ItemSequence``; by default the sequence that was set or
                tagged last.
        """
        if xseq is None:
            labels: list[str] = self._tagger.tag()
            return labels
        try:
            labels = self._tagger.tag_items(xseq)
        except core.InputError as error:
            raise CorpusError(str(error)) from None
        return labels

    def probability(self, yseq: Sequence[str]) -> float:
        """The probability of labels for the sequence that was set or tagged last.

        Args:
            yseq: A label for each item.
        """
        self._opened()
        if len(yseq) != len(self._tagger):
            raise ParameterError(
                f"{counted(len(yseq), 'label')} for {counted(len(self._tagger), 'item')}"
            )
        if not yseq:
            return 0.0
        return math.exp(self._tagger.log_probability([self._number(label) for label in yseq]))

    def marginal(self, y: str, pos: int) -> float:
        """The probability of a label at a position of the sequence that was set or tagged last.

        Args:
            y: The label.
            pos: The position, from 0.
        """
        number = self._numbers.get(y)
        if number is None:
            self._opened()
            number = self._number(y)
        try:
            probability: float = self._tagger.marginal(number, pos)
        except ValueError:
            raise ParameterError(f"position {pos}; allowed: 0 to {len(self._tagger) - 1}") from None
        return probability

    def dump(self, filename: PathLike | None = None) -> None:
        """Write the weights as text, in the form of ``crfsuite dump``.

        Args:
            filename: The file; by default the text is printed.
        """
        text = "".join(f"{line}\n" for line in dump_lines(self.info()))
        if filename is None:
            sys.stdout.write(text)
        else:
            with replace_file(os.fsdecode(filename)) as file:
                file.write(text.encode())

    def info(self) -> ParsedDump:
        """The weights by the names of attributes and labels."""
        return parsed_dump(self._opened(), self._header)

    def _open(self, data: bytes, name: str) -> contextlib.closing[Tagger]:
        if data.startswith(MAGIC):
            self._set(read_sparse(data, name), crfsuite_header(data))
        else:
            try:
                chain = SparseChain.of(Model.from_bytes(data))
            except ModelError as error:
                raise ModelError(f"{name}: {str(error).removeprefix('<bytes>: ')}") from None
            self._set(chain, _own_header(chain, len(data)))
        return contextlib.closing(self)

    def _set(self, chain: SparseChain, header: dict[str, str]) -> None:
        self._tagger = chain.tagger()
        self._chain, self._header = chain, header
        self._numbers = {label: number for number, label in enumerate(chain.labels)}

    def _opened(self) -> SparseChain:
        if self._chain is None:
            raise TaggerClosedError
        return self._chain

    def _number(self, label: str) -> int:
        if label not in self._numbers:
            raise LabelError(unknown("label", str(label), self._numbers))
        return self._numbers[label]


class _Closed:
    """In place of the core's tagger where there is no model."""

    def __getattr__(self, name: str) -> Any:
        raise TaggerClosedError


def _own_header(chain: SparseChain, size: int) -> dict[str, str]:
    """What CRFsuite's header says, for a model of adaptag."""
    numbers = {
        "size": size,
        "num_features": len(chain.weights) + int((chain.transitions != 0).sum()),
        "num_labels": len(chain.labels),
        "num_attrs": len(chain.attributes),
    }
    return {"magic": "adaptag", **{name: str(number) for name, number in numbers.items()}}
