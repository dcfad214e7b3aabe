"""``adaptag tag`` for raw text: lines of text or JSON lines in, JSON lines with spans out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from adaptag.corpus.text import TextPart, text_parts
from adaptag.errors import CorpusError, ParameterError, described

if TYPE_CHECKING:
    from typing import IO

    from adaptag.corpus.spans import TaggedText
    from adaptag.decoding.model import Model
    from adaptag.decoding.tagged import TagOptions
    from adaptag.storage.files import PathLike

__all__ = ["TextTagger"]

DIGITS = 6  # of a probability


class TextTagger:
    """Tags raw text, part by part.

    Args:
        model: The model.
        options: How sentences are tagged.
        tokenizer: The tokenizer; None means that of the model.
        json_lines: Whether the input is JSON lines, with the text in the field ``text``; all other
            fields stay.
    """

    def __init__(
        self, model: Model, options: TagOptions, tokenizer: Any, *, json_lines: bool
    ) -> None:
        from adaptag.corpus.tokenizers import tokenizer_of
        from adaptag.decoding.texts import check_takes_text

        if options.marginals or options.nbest > 1:
            raise ParameterError("--marginals and --nbest are for column files")
        check_takes_text(model)
        self.model = model
        self.legal, self.constraints = options.legal, options.constraints
        self.json_lines = json_lines
        self.tokenizer = tokenizer_of(model.tokenizer if tokenizer is None else tokenizer)

    def write(self, path: PathLike, out: IO[bytes], threads: int | None, size: int | None) -> None:
        """Tag a file of any size, or what comes in from a pipe, line by line.

        Args:
            path: The file.
            out: Where the lines are written.
            threads: The number of threads; None means one per core.
            size: The size of the file, for its progress; None where it is not known.
        """
        from adaptag.cli.progress import byte_bar
        from adaptag.parallel import part_size, write_ordered

        parts = _whole_lines(text_parts(path, part_size(size, threads)))
        with byte_bar("tagging") as bar:
            task = bar.add_task("", total=size)
            write_ordered(out, self.tag_part, parts, threads, lambda n: bar.advance(task, n))

    def tag_part(self, part: TextPart) -> tuple[bytes, int]:
        """The output for some lines, and their size."""
        return b"".join(map(_written, *self._tagged(part))), len(part.data)

    def texts(self, path: PathLike) -> Iterator[TaggedText]:
        """Tag a file, or what comes in from a pipe as soon as it is there."""
        for part in _whole_lines(text_parts(path)):
            if part is not None:
                yield from self._tagged(part)[1]

    def _tagged(self, part: TextPart) -> tuple[list[dict[str, Any]], list[TaggedText]]:
        """The objects of some lines, and their tagged texts."""
        lines = [line.rstrip("\r\n") for line in part.lines()]
        objects: list[dict[str, Any]] = [{"text": line} for line in lines]
        if self.json_lines:
            numbered = ((n, line) for n, line in enumerate(lines, part.line) if line.strip())
            objects = [self._object(line, part.name, n) for n, line in numbered]
        texts = [item["text"] for item in objects]
        tagged = self.model.tag_texts(
            texts,
            tokenizer=self.tokenizer,
            legal=self.legal,
            threads=1,
            constraints=self.constraints,
        )
        return objects, tagged

    def _object(self, line: str, name: str, number: int) -> dict[str, Any]:
        from adaptag.corpus.span_files import json_object

        item = json_object(line, name, number)
        if not isinstance(item, dict) or not isinstance(item.get("text"), str):
            raise CorpusError(
                f"{name}:{number}: {described(item)}; allowed: an object with a string 'text'"
            )
        return item


def _written(item: dict[str, Any], tagged: TaggedText) -> bytes:
    """A line of output: the fields of the input, the spans and their probabilities."""
    result = tagged.to_dict()
    chances = [round(p, DIGITS) for p in result.get("probabilities", [])]
    line = {**item, "spans": result["spans"], "probabilities": chances}
    try:
        return (json.dumps(line, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # a lone surrogate
        return (json.dumps(line) + "\n").encode()


def _whole_lines(parts: Iterator[TextPart | None]) -> Iterator[TextPart | None]:
    """Join the pieces of lines that are too long for a part."""
    pieces: list[TextPart] = []
    for part in parts:
        if part is not None:
            pieces.append(part)
            if not part.data.endswith(b"\n"):
                continue
            yield _joined(pieces)
            pieces = []
        else:
            yield None
    if pieces:
        yield _joined(pieces)


def _joined(pieces: list[TextPart]) -> TextPart:
    first = pieces[0]
    data = first.data if len(pieces) == 1 else b"".join(piece.data for piece in pieces)
    return TextPart(first.name, data, first.line, False)
