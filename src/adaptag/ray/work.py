"""What a cluster does with sentences, texts and documents: tagging, cutting, classifying.

Each kind of work has a model, and three forms of data: files in their own format, whose output is
that of the command line to the byte; records of JSON lines; and Arrow tables.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any, ClassVar

import numpy as np

from adaptag.classification.documents import DocumentClassifier
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.columns import (
    ColumnCorpus,
    ColumnFormat,
    ColumnStart,
    column_parts,
    column_start,
)
from adaptag.corpus.data import corpus_of
from adaptag.corpus.text import text_parts
from adaptag.decoding.model import Model
from adaptag.decoding.tagged import TagOptions, tagged_attributes, tagged_columns
from adaptag.errors import CorpusError, ParameterError
from adaptag.parallel import PART, write_ordered
from adaptag.ray.arrow import corpus_of_lists, lists, strings_of
from adaptag.ray.inputs import LINES, SENTENCES, Block, open_block
from adaptag.segmentation.segmenter import Segmenter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from adaptag.ray.inputs import Boundary
    from adaptag.storage.stored import Stored

    Record = dict[str, Any]

__all__ = ["Classifying", "Cutting", "Tagging", "Work"]

SOMEWHERE = 2  # stands for the number of a line that is not the first of its file


class Work(ABC):
    """One kind of work.

    Attributes:
        command: The words of the command line.
        title: What the progress bar says.
        boundary: Where files in their own format may be cut.
        model_type: The class of the model.
    """

    command: ClassVar[str]
    title: ClassVar[str]
    boundary: ClassVar[Boundary]
    model_type: ClassVar[type[Stored]]

    def record(self) -> dict[str, Any]:
        """All that the output depends on, but for the model and the input."""
        return {"command": self.command, **asdict(self)}  # type: ignore[call-overload]

    def check(self, model: Any) -> None:  # noqa: B027
        """Raise where a model cannot do this work."""

    def check_tables(self) -> None:  # noqa: B027
        """Raise where there is no such output for tables and records."""

    @abstractmethod
    def write(
        self, model: Any, block: Block, out: IO[bytes], threads: int = 1, line: int | None = None
    ) -> Counter[str]:
        """Work on a block of a file in its own format, and count.

        Args:
            model: The model.
            block: The block.
            out: The file to write.
            threads: The number of threads.
            line: The number of its first line, if it is known.
        """

    @abstractmethod
    def records(self, model: Any, records: Sequence[Record]) -> tuple[list[Record], Counter[str]]:
        """The fields to add to each record, and counts."""

    @abstractmethod
    def columns(
        self, model: Any, table: Any, threads: int = 1
    ) -> tuple[dict[str, Any], Counter[str]]:
        """The columns to add to an Arrow table, and counts."""


def _first_line(block: Block, line: int | None) -> int:
    return line or (1 if block.begin == 0 else SOMEWHERE)


def _field(record: Mapping[str, Any], name: str, kind: type[str] | type[list[Any]]) -> Any:
    """A field of a record; raise where it is missing or of another type."""
    if name not in record:
        raise CorpusError(f"no field {name!r}; there are: {', '.join(record) or 'none'}")
    if not isinstance(record[name], kind):
        expected = "a string" if kind is str else "a list"
        raise CorpusError(f"{name!r} is {record[name]!r:.60}; expected {expected}")
    return record[name]


@dataclass(frozen=True)
class Tagging(Work):
    """Labels for tokens: column files, or a field or column ``tokens`` of lists.

    Attributes:
        options: How sentences are tagged, and what is written.
        format: The format of column files.
        tokens: The field or column of the tokens, or several of them.
        tags: The field or column to add.
    """

    command = "tag"
    title = "tagging"
    boundary = SENTENCES
    model_type = Model

    options: TagOptions = field(default_factory=TagOptions)
    format: ColumnFormat = field(default_factory=ColumnFormat)
    tokens: str | tuple[str, ...] = "tokens"
    tags: str = "tags"

    def check(self, model: Model) -> None:
        """Raise where a model cannot give what is asked for."""
        self.options.check(model)

    def check_tables(self) -> None:
        """Raise where several label sequences are asked for."""
        if self.options.nbest > 1:
            raise ParameterError("--nbest is for column files, not for JSON lines or Parquet")

    def write(
        self, model: Model, block: Block, out: IO[bytes], threads: int = 1, line: int | None = None
    ) -> Counter[str]:
        """Tag sentences of columns, or of attributes where the model was trained on these."""
        counts: Counter[str] = Counter(sentences=0, tokens=0)
        if model.index.template.attributes:
            with open_block(block, SENTENCES) as file:
                data = b"\n" * ((line or 1) - 1) + file.read()
            corpus = AttributeCorpus.from_bytes(data, block.name)
            out.write(tagged_attributes(model, self.options, corpus, threads))
            counts.update(sentences=len(corpus), tokens=corpus.n_tokens)
            return counts
        start = replace(_column_start(block, self.format), line=_first_line(block, line))

        def tag(part: Any) -> tuple[bytes, dict[str, int]]:
            corpus = part.parse()
            output = tagged_columns(model, self.options, corpus)
            return output, {"sentences": len(corpus), "tokens": corpus.n_tokens}

        with open_block(block, SENTENCES) as file:
            parts = column_parts(file, self.format, PART, start=start)
            write_ordered(out, tag, parts, threads, counts.update)
        return counts

    def records(self, model: Model, records: Sequence[Record]) -> tuple[list[Record], Counter[str]]:
        """Tag the field of tokens."""
        names = [self.tokens] if isinstance(self.tokens, str) else self.tokens
        columns = [[_field(record, name, list) for record in records] for name in names]
        sentences: list[Any] = columns[0]
        if len(names) > 1:
            for cells in zip(*columns, strict=True):
                if len({len(cell) for cell in cells}) > 1:
                    raise CorpusError(f"{', '.join(names)} are lists of different lengths")
            sentences = [list(zip(*cells, strict=True)) for cells in zip(*columns, strict=True)]
        tokens = not model.index.template.attributes
        corpus = corpus_of(sentences, labelled=False, tokens=tokens)
        ids, probabilities = self._labels(model, corpus)
        labels = [model.labels[y] for y in ids.tolist()]
        bounds = list(itertools.pairwise(corpus.sentences.tolist()))
        added: list[Record] = [{self.tags: labels[a:b]} for a, b in bounds]
        if probabilities is not None:
            rounded = [round(p, 6) for p in probabilities.tolist()]
            for new, (a, b) in zip(added, bounds, strict=True):
                new["probabilities"] = rounded[a:b]
        return added, Counter(sentences=len(corpus), tokens=corpus.n_tokens)

    def columns(
        self, model: Model, table: Any, threads: int = 1
    ) -> tuple[dict[str, Any], Counter[str]]:
        """Tag the column of tokens."""
        corpus: AttributeCorpus | ColumnCorpus
        if model.index.template.attributes:
            name = self.tokens if isinstance(self.tokens, str) else self.tokens[0]
            corpus = corpus_of(table.column(name).to_pylist(), labelled=False, tokens=False)
        else:
            names = [self.tokens] if isinstance(self.tokens, str) else self.tokens
            corpus = corpus_of_lists(table, names)
        ids, probabilities = self._labels(model, corpus, threads)
        columns = {self.tags: lists(corpus.sentences, ids, model.labels)}
        if probabilities is not None:
            columns["probabilities"] = lists(corpus.sentences, probabilities)
        return columns, Counter(sentences=len(corpus), tokens=corpus.n_tokens)

    def _labels(
        self, model: Model, corpus: AttributeCorpus | ColumnCorpus, threads: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.float32] | None]:
        """The label of each token by its number, and its probability if it is asked for."""
        if corpus.n_tokens == 0:
            none = np.empty(0, np.float32) if self.options.marginals else None
            return np.empty(0, np.int32), none
        ids = model.tag_corpus(corpus, self.options.decoding(threads))
        if not self.options.marginals:
            return ids, None
        table = model.marginals_corpus(corpus, self.options.decoding(threads))
        return ids, table[range(len(ids)), ids]


def _column_start(block: Block, column_format: ColumnFormat) -> ColumnStart:
    """What the first line of data of a block's file is like."""
    if block.begin == 0:
        return ColumnStart()
    try:
        with open_block(replace(block, begin=0), LINES) as file:
            return column_start(file, column_format)
    except CorpusError:  # which is that of the first block; others are read by themselves
        return ColumnStart()


@dataclass(frozen=True)
class Cutting(Work):
    """Words of texts: plain text, or a field or column ``text``.

    Attributes:
        separator: What plain text has between words.
        probabilities: Whether the probability of each word is given too.
        text: The field or column of the texts.
        words: The field or column to add.
    """

    command = "segment cut"
    title = "cutting"
    boundary = LINES
    model_type = Segmenter

    separator: str = " "
    probabilities: bool = False
    text: str = "text"
    words: str = "words"

    def write(
        self,
        model: Segmenter,
        block: Block,
        out: IO[bytes],
        threads: int = 1,
        line: int | None = None,
    ) -> Counter[str]:
        """Cut the lines of a text."""
        counts: Counter[str] = Counter(lines=0)

        def cut(part: Any) -> tuple[bytes, dict[str, int]]:
            output = model.cut_part(part, self.separator, probabilities=self.probabilities)
            return output, {"lines": part.data.count(b"\n")}

        with open_block(block, LINES) as file:
            parts = text_parts(file, PART, line=_first_line(block, line))
            write_ordered(out, cut, parts, threads, counts.update)
        return counts

    def records(
        self, model: Segmenter, records: Sequence[Record]
    ) -> tuple[list[Record], Counter[str]]:
        """Cut the field of the text."""
        texts = [_field(record, self.text, str) for record in records]
        return self._words(model, texts), Counter(texts=len(texts))

    def columns(
        self, model: Segmenter, table: Any, threads: int = 1
    ) -> tuple[dict[str, Any], Counter[str]]:
        """Cut the column of texts."""
        import pyarrow as pa

        texts = strings_of(table, self.text)
        added = self._words(model, texts, threads)
        kinds = {self.words: pa.string(), "probabilities": pa.float32()}
        names = [self.words] + ["probabilities"] * self.probabilities
        columns = {
            name: pa.array([new[name] for new in added], pa.list_(kinds[name])) for name in names
        }
        return columns, Counter(texts=len(texts))

    def _words(self, model: Segmenter, texts: list[str], threads: int = 1) -> list[Record]:
        if not self.probabilities:
            cut = model.cut_all(texts, threads)
            return [{self.words: [word for word in words if not word.isspace()]} for words in cut]
        added = []
        for words in model.words_all(texts, threads):
            kept = [word for word in words if not word.text.isspace()]
            added.append(
                {
                    self.words: [word.text for word in kept],
                    "probabilities": [round(word.probability, 6) for word in kept],
                }
            )
        return added


@dataclass(frozen=True)
class Classifying(Work):
    """Classes of documents: files as those of the training data, or a field or column ``text``.

    Attributes:
        probabilities: Whether the probability of each class is given too.
        unlabelled: Whether no document of a file has a label.
        text: The field or column of the texts.
        label: The field or column to add.
    """

    command = "classify predict"
    title = "classifying"
    boundary = LINES
    model_type = DocumentClassifier

    probabilities: bool = False
    unlabelled: bool = False
    text: str = "text"
    label: str = "label"

    def write(
        self,
        model: DocumentClassifier,
        block: Block,
        out: IO[bytes],
        threads: int = 1,
        line: int | None = None,
    ) -> Counter[str]:
        """Classify documents, one per line."""
        counts: Counter[str] = Counter(documents=0)

        def classify(corpus: AttributeCorpus) -> tuple[bytes, dict[str, int]]:
            output = model.predicted_lines(corpus, probabilities=self.probabilities)
            return output, {"documents": len(corpus)}

        with open_block(block, LINES) as file:
            parts = model.read_parts(file, bare=self.unlabelled, line=_first_line(block, line))
            write_ordered(out, classify, parts, threads, counts.update)
        return counts

    def records(
        self, model: DocumentClassifier, records: Sequence[Record]
    ) -> tuple[list[Record], Counter[str]]:
        """Classify the field of the text."""
        texts = [_field(record, self.text, str) for record in records]
        labels, rows = self._classes(model, texts)
        added: list[Record] = [{self.label: label} for label in labels]
        if rows is not None:
            for new, row in zip(added, rows.tolist(), strict=True):
                chances = [round(p, 6) for p in row]
                new["probabilities"] = dict(zip(model.labels, chances, strict=True))
        return added, Counter(documents=len(texts))

    def columns(
        self, model: DocumentClassifier, table: Any, threads: int = 1
    ) -> tuple[dict[str, Any], Counter[str]]:
        """Classify the column of texts."""
        import pyarrow as pa

        texts = strings_of(table, self.text)
        labels, rows = self._classes(model, texts, threads)
        columns = {self.label: pa.array(labels, pa.string())}
        if rows is not None:
            chances = [pa.array(np.ascontiguousarray(rows[:, y])) for y in range(rows.shape[1])]
            columns["probabilities"] = pa.StructArray.from_arrays(chances, list(model.labels))
        return columns, Counter(documents=len(texts))

    def _classes(
        self, model: DocumentClassifier, texts: list[str], threads: int = 1
    ) -> tuple[list[str], NDArray[np.float32] | None]:
        if not texts:
            none = np.empty((0, len(model.labels)), np.float32) if self.probabilities else None
            return [], none
        if not self.probabilities:
            return model.predict(texts, threads), None
        rows = model.probabilities(texts, threads)
        return [model.labels[y] for y in rows.argmax(axis=1).tolist()], rows
