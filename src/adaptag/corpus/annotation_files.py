"""The formats of files with labelled texts, and the exports of annotation tools.

To add a format, write a reader that gives records, and enter it in ``READERS``; where its files can
be told by their names, enter the ending in ``ENDINGS`` of ``corpus/data.py``.
"""

from __future__ import annotations

import io
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptag.corpus.docbin import DOCBIN_FORMATS
from adaptag.corpus.span_files import Record, checked_text, objects_of_lines, record_of
from adaptag.corpus.text import decoded
from adaptag.errors import CorpusError, CorpusWarning, FileError, ParameterError, described, unknown
from adaptag.storage.encodings import with_encoding
from adaptag.storage.files import read_bytes, shown

if TYPE_CHECKING:
    from adaptag.storage.files import Source

__all__ = ["READERS", "brat_files", "read_records"]

BRAT_TEXT = ".txt"
BRAT_SPANS = ".ann"


def read_records(source: Source, name: str) -> Iterator[Record]:
    """Read the labelled texts of a file in a format of ``READERS``."""
    if name in DOCBIN_FORMATS:
        raise ParameterError(f"{shown(source)}: documents of spaCy; allowed: {', '.join(READERS)}")
    if name not in READERS:
        formats = ("columns", "attributes", *READERS, *DOCBIN_FORMATS)
        raise ParameterError(unknown("format", name, formats))
    return READERS[name](source)


def _decoded(source: Source) -> str:
    return decoded(read_bytes(source), shown(source))


# ---- JSON ----------------------------------------------------------------------------------------


def _json_lines(source: Source) -> Iterator[Record]:
    name = shown(source)
    for line, value in objects_of_lines(source):
        yield record_of(value, name, line)


def _json(source: Source) -> Iterator[Record]:
    """A list of objects or of tasks of Label Studio, or else JSON lines."""
    text = _decoded(source).removeprefix("\ufeff")
    if not text.lstrip().startswith("["):
        file = io.BytesIO(text.encode())
        file.name = shown(source)
        yield from _json_lines(file)
        return
    yield from _items(_json_list(text, source), shown(source))


def _label_studio(source: Source) -> Iterator[Record]:
    yield from _items(_json_list(_decoded(source), source), shown(source))


def _json_list(text: str, source: Source) -> list[Any]:
    try:
        items = json.loads(text)
    except json.JSONDecodeError as error:
        raise CorpusError(
            f"{shown(source)}:{error.lineno}, character {error.colno}: not JSON: {error.msg}"
        ) from None
    except RecursionError:
        raise CorpusError(f"{shown(source)}: not JSON that can be read: nested too deep") from None
    if not isinstance(items, list):
        raise CorpusError(f"{shown(source)}: {described(items)}; allowed: a list of tasks")
    return items


def _items(items: list[Any], name: str) -> Iterator[Record]:
    several = 0
    for number, item in enumerate(items, 1):
        place = f"{name}, task {number}"
        if isinstance(item, Mapping) and "data" in item:
            annotations = [
                annotation
                for annotation in _list(item.get("annotations", []), "annotations", place)
                if isinstance(annotation, Mapping) and not annotation.get("was_cancelled")
            ]
            several += len(annotations) > 1
            if annotations:
                yield _task(item["data"], annotations[0], place)
        elif isinstance(item, Mapping) and (results := _minimal_results(item)) is not None:
            yield _studio_text(item.get("text"), results, place)
        else:
            yield record_of(item, place, 0)
    if several:
        warnings.warn(
            f"{name}: {several:,} tasks have several annotations; the first of each is used",
            CorpusWarning,
            stacklevel=2,
        )


def _list(value: Any, key: str, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise CorpusError(f"{place}: {key!r} is {described(value)}; allowed: a list")
    return value


def _minimal_results(item: Mapping[str, Any]) -> list[Any] | None:
    """The results of a task in Label Studio's JSON-MIN: a list of values with labels."""
    for value in item.values():
        spans = value if isinstance(value, list) else []
        if spans and all(isinstance(span, Mapping) and "labels" in span for span in spans):
            return spans
    minimal = "annotation_id" in item or "lead_time" in item  # a task without a span
    return [] if minimal and isinstance(item.get("text"), str) else None


def _task(data: Any, annotation: Mapping[str, Any], place: str) -> Record:
    """A task of Label Studio's JSON: its data, and one annotation of it."""
    if not isinstance(data, Mapping):
        raise CorpusError(f"{place}: 'data' is {described(data)}; allowed: an object with a text")
    texts = {key: value for key, value in data.items() if isinstance(value, str)}
    if "text" not in texts and len(texts) != 1:
        raise CorpusError(
            f"{place}: the data has {', '.join(map(repr, data)) or 'nothing'}; allowed: a string "
            "'text', or one string"
        )
    text = texts.get("text", next(iter(texts.values())))
    results = _list(annotation.get("result", []), "result", place)
    values = [
        result["value"]
        for result in results
        if isinstance(result, Mapping)
        and isinstance(result.get("value"), Mapping)
        and "labels" in result["value"]
    ]
    return _studio_text(text, values, place)


def _studio_text(text: Any, values: list[Any], place: str) -> Record:
    spans = []
    for value in values:
        labels = value.get("labels")
        if not isinstance(labels, list) or not labels:
            raise CorpusError(f"{place}: 'labels' is {described(labels)}; allowed: a list")
        start, end = value.get("start"), value.get("end")
        # A browser counts UTF-16 units: characters such as 😀 are two of them.
        if (
            isinstance(text, str)
            and isinstance(start, int)
            and isinstance(end, int)
            and text[start:end] != value.get("text", text[start:end])
            and 0 <= start <= end
        ):
            start, end = (_from_utf16(text, at) for at in (start, end))
        spans.append((start, end, labels[0] if len(labels) == 1 else None))
    return checked_text(text, spans, place, 0)


def _from_utf16(text: str, place: Any) -> Any:
    """The character that begins at a place counted in UTF-16 units."""
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * place]
    return len(units.decode("utf-16-le", "replace"))


# ---- BRAT ----------------------------------------------------------------------------------------


def _brat(source: Source) -> Iterator[Record]:
    """The documents of a folder, or one of them: ``x.ann`` beside ``x.txt``."""
    if not isinstance(source, (str, os.PathLike)):
        raise CorpusError(f"{shown(source)}: an open file; allowed: a path, as BRAT has two files")
    path = Path(source)
    encoding = getattr(source, "encoding", None)
    for file in brat_files(path):
        try:
            text, spans = (
                _decoded(with_encoding(part, encoding))
                for part in (file.with_suffix(BRAT_TEXT), file)
            )
            record = checked_brat(text, spans, shown(file))
        except (CorpusError, FileError) as error:
            if not path.is_dir():
                raise
            raise type(error)(
                f"{error}; {shown(path)} is a folder, in which all {BRAT_SPANS} files are taken "
                "for documents of BRAT"
            ) from None
        yield record


def brat_files(path: Path) -> list[Path]:
    """The files of annotations in a folder and those below it, or the one of a document."""
    if not path.is_dir():
        return [path.with_suffix(BRAT_SPANS)]
    files = sorted(path.rglob(f"*{BRAT_SPANS}"))
    if not files:
        raise FileError(
            f"{shown(path)}: cannot read: Is a directory, without {BRAT_SPANS} files of BRAT"
        )
    return files


def checked_brat(text: str, annotations: str, name: str) -> Record:
    """A document of BRAT: the text-bound annotations ``T``; all others are left out.

    The label of one that consists of several parts cannot be told: its tokens, and those between
    its parts, get none.
    """
    spans: list[tuple[int, int, str | None]] = []
    for number, line in enumerate(annotations.split("\n"), 1):
        if not line.startswith("T"):
            continue
        try:
            _, body, *_ = line.split("\t")
            label, places = body.split(" ", 1)
            parts = [tuple(map(int, part.split())) for part in places.split(";")]
            start, end = parts[0][0], parts[-1][1]
        except (ValueError, IndexError):
            raise CorpusError(
                f"{name}:{number}: {described(line)}; allowed: T1<TAB>Label start end<TAB>text"
            ) from None
        span = (start, end, label if len(parts) == 1 else None)
        checked_text(text, [span], name, number)  # says which line is wrong
        spans.append(span)
    return checked_text(text, spans, name, 0)


READERS: dict[str, Callable[[Source], Iterator[Record]]] = {
    "jsonl": _json_lines,
    "json": _json,
    "doccano": _json_lines,
    "label-studio": _label_studio,
    "brat": _brat,
}
"""The readers of files with labelled texts, by the name of the format."""
