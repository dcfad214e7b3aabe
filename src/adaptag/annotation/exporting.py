"""Writes what was labelled: column files, JSON lines, Label Studio's JSON, DocBin, the model."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from adaptag.annotation.answers import Answer
from adaptag.annotation.labels import SPANS, token_labels
from adaptag.annotation.learner import Learner
from adaptag.corpus.spans import Span, TaggedText
from adaptag.errors import CorpusError, ParameterError, unknown
from adaptag.storage.files import replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from adaptag.annotation.records import Sentence, StoredAnswer
    from adaptag.annotation.store import Store
    from adaptag.storage.files import PathLike

    Row = tuple[Sentence, StoredAnswer]

__all__ = [
    "EXPORT_FORMATS",
    "available_formats",
    "export",
    "export_bytes",
    "format_of",
    "tagged_text",
]

ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "label-studio",
    ".spacy": "docbin",
    ".adaptag": "model",
}


def available_formats() -> list[str]:
    """The formats that can be written with the packages that are installed."""
    has_spacy = find_spec("spacy") is not None
    return [name for name in EXPORT_FORMATS if name != "docbin" or has_spacy]


def format_of(path: PathLike) -> str:
    """The format that the ending of a file means; ``columns`` for any other one."""
    return ENDINGS.get(PurePath(path).suffix.lower(), "columns")


def export(store: Store, path: PathLike, format: str | None = None) -> int:  # noqa: A002
    """Write the answers of a project to a file, and return how many sentences they are."""
    data, n = export_bytes(store, format or format_of(path))
    with replace_file(path) as file:
        file.write(data)
    return n


def export_bytes(store: Store, format: str) -> tuple[bytes, int]:  # noqa: A002
    """The answers of a project in a format, and how many sentences they are."""
    if format not in EXPORT_FORMATS:
        raise ParameterError(unknown("format", format, EXPORT_FORMATS))
    sentences = store.sentences()
    latest: dict[int, StoredAnswer] = {}
    for answer in store.answers():
        if answer.labels is not None:
            latest[answer.sentence] = answer
    rows = [(sentences[n], answer) for n, answer in sorted(latest.items())]
    if not rows:
        raise CorpusError(f"{store.folder}: no sentence is labelled: there is nothing to export")
    return EXPORT_FORMATS[format](store, rows), len(rows)


def tagged_text(sentence: Sentence, labels: Sequence[str | None]) -> TaggedText:
    """A sentence with its spans; in a project of tags, each token with a tag is one."""
    spans: list[list[Any]] = []
    open_type = None
    for (start, end), label in zip(sentence.tokens, labels, strict=True):
        if label is not None and label.startswith("I-") and open_type == label[2:]:
            spans[-1][1] = end
            continue
        open_type = None
        if label is not None and label != "O":
            prefix, _, kind = label.partition("-")
            is_span = prefix in ("B", "I") and kind != ""
            open_type = kind if is_span else None
            spans.append([start, end, kind if is_span else label])
    text = sentence.text
    return TaggedText(text, tuple(Span(a, b, y, text[a:b]) for a, b, y in spans), sentence.tokens)


def _complete(store: Store, rows: Sequence[Row]) -> list[Row]:
    """The rows whose tokens all have a label, for formats that know no others."""
    kept = [row for row in rows if None not in (row[1].labels or ())]
    if not kept:
        raise CorpusError(f"{store.folder}: no sentence is labelled completely")
    return kept


def _columns(store: Store, rows: Sequence[Row]) -> bytes:
    blocks = [
        "".join(
            f"{word}\t{label}\n"
            for word, label in zip(sentence.words, answer.labels or (), strict=True)
        )
        for sentence, answer in _complete(store, rows)
    ]
    return "\n".join(blocks).encode()


def _jsonl(store: Store, rows: Sequence[Row]) -> bytes:
    """A text and its spans, or tokens and tags where some tokens have no label or all have tags."""
    lines = []
    for sentence, answer in rows:
        labels = answer.labels or ()
        if store.kind == SPANS and None not in labels:
            item = tagged_text(sentence, labels).to_dict()
        else:
            item = {"tokens": sentence.words, "tags": list(labels)}
        lines.append(json.dumps(item, ensure_ascii=False) + "\n")
    return "".join(lines).encode()


def _label_studio(store: Store, rows: Sequence[Row]) -> bytes:  # noqa: ARG001
    """Tasks with one annotation each, as Label Studio imports them."""
    tasks = []
    for sentence, answer in rows:
        result = [
            {
                "id": f"{sentence.number}-{number}",
                "from_name": "label",
                "to_name": "text",
                "type": "labels",
                "value": {
                    "start": span.start,
                    "end": span.end,
                    "text": span.text,
                    "labels": [span.label],
                },
            }
            for number, span in enumerate(tagged_text(sentence, answer.labels or ()))
        ]
        annotation = {"result": result, "lead_time": answer.seconds}
        data = {"text": sentence.text, "annotator": answer.annotator}
        tasks.append({"id": sentence.number, "data": data, "annotations": [annotation]})
    return (json.dumps(tasks, ensure_ascii=False, indent=1) + "\n").encode()


def _docbin(store: Store, rows: Sequence[Row]) -> bytes:
    """Documents with entities, or with tags of tokens."""
    from adaptag.spacy import to_docbin

    if store.kind == SPANS:
        texts = [tagged_text(s, a.labels or ()) for s, a in _complete(store, rows)]
        data: bytes = to_docbin(texts).to_bytes()
    else:
        data = to_docbin([s.words for s, _ in rows], [a.labels or () for _, a in rows]).to_bytes()
    return data


def _model(store: Store, rows: Sequence[Row]) -> bytes:
    """The file of a model that is trained on all answers, as the page trains it."""
    words = [sentence.words for sentence in store.sentences()]
    labels = token_labels([label.name for label in store.labels()], store.kind)
    answers = [Answer(sentence.number, answer.labels or ()) for sentence, answer in rows]
    trained = Learner(words, labels=labels).train(answers)
    if trained is None:
        raise CorpusError(f"{store.folder}: {len(rows)} answers are too few to train a model")
    text = {"tokenizer": store.tokenizer}
    model = replace(trained.model, configuration={**trained.model.configuration, "text": text})
    return model.to_bytes()


EXPORT_FORMATS: dict[str, Callable[[Store, Sequence[Row]], bytes]] = {
    "columns": _columns,
    "jsonl": _jsonl,
    "label-studio": _label_studio,
    "docbin": _docbin,
    "model": _model,
}
