"""The page and the JSON API of a labelling project."""

from __future__ import annotations

import contextlib
import functools
import json
import math
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Mount, Route, Router

from adaptag.annotation.exporting import available_formats, export_bytes
from adaptag.annotation.importing import AUTO, IMPORT_FORMATS, read_texts
from adaptag.errors import described
from adaptag.web.guards import Limits, RequestError, json_bytes
from adaptag.web.static import PageFiles

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request

    from adaptag.annotation.session import Session

__all__ = ["LIMITS", "annotation_app"]

LIMITS = Limits(size=64 << 20, timeout=120.0, requests=64, connections=256)
LONGEST_NAME = 60
FILES = {  # the name and the media type of a file of each format
    "columns": ("labels.txt", "text/plain; charset=utf-8"),
    "jsonl": ("labels.jsonl", "application/x-ndjson"),
    "label-studio": ("label-studio.json", "application/json"),
    "docbin": ("labels.spacy", "application/octet-stream"),
    "model": ("model.adaptag", "application/octet-stream"),
}


def annotation_app(session: Session, annotator: str) -> Router:
    """Make the application.

    Args:
        session: The work on the project; it is started and stopped with the application.
        annotator: The name of whoever gives no other name.
    """
    files = PageFiles("adaptag.web", "adaptag.annotation")
    api = _Api(session, annotator)

    @contextlib.asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        session.start()
        try:
            yield
        finally:
            await run_in_threadpool(session.stop)

    calls = {
        ("GET", "/api/project"): api.project,
        ("GET", "/api/next"): api.next,
        ("GET", "/api/sentence"): api.sentence,
        ("GET", "/api/progress"): api.progress,
        ("GET", "/api/review"): api.review,
        ("GET", "/api/search"): api.search,
        ("POST", "/api/answer"): api.answer,
        ("POST", "/api/skip"): api.skip,
        ("POST", "/api/undo"): api.undo,
        ("POST", "/api/labels"): api.add_label,
        ("POST", "/api/labels/remove"): api.remove_label,
        ("POST", "/api/strategy"): api.strategy,
        ("POST", "/api/import"): api.import_texts,
    }
    routes = [
        Route(path, _endpoint(call, method), methods=[method])
        for (method, path), call in calls.items()
    ]
    return Router(  # which raises errors, so that the guard answers them
        routes=[
            Route("/", files["annotation.html"]),
            *routes,
            Route("/api/export", _export_endpoint(session), methods=["GET"]),
            Mount("/static", files),
        ],
        lifespan=lifespan,
    )


def _endpoint(call: Callable[[dict[str, Any]], Any], method: str) -> Callable[[Request], Any]:
    """Answer with what a method returns for the query, or for the JSON object in the body."""

    async def endpoint(request: Request) -> Response:
        if method == "GET":
            values: Any = dict(request.query_params)
        else:
            values = _object(await request.body())
        result = await run_in_threadpool(call, values)
        return Response(json_bytes(result), media_type="application/json", headers=NOT_KEPT)

    return endpoint


NOT_KEPT = {"Cache-Control": "no-store"}


def _export_endpoint(session: Session) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        name = request.query_params.get("format", "columns")
        data, _ = await run_in_threadpool(export_bytes, session.store, name)
        file, kind = FILES[name]
        headers = {**NOT_KEPT, "Content-Disposition": f'attachment; filename="{file}"'}
        return Response(data, media_type=kind, headers=headers)

    return endpoint


def _object(body: bytes) -> dict[str, Any]:
    try:
        values = json.loads(body)
    except (ValueError, RecursionError):
        raise RequestError("the body is not JSON") from None
    if not isinstance(values, dict):
        raise RequestError(f"the body is {described(values)}; expected an object")
    return values


def _text(values: dict[str, Any], name: str, default: str | None = None) -> str:
    value = values.get(name, default)
    if not isinstance(value, str):
        raise RequestError(f"{name} is {described(value)}; expected a string")
    return value


def _number(values: dict[str, Any], name: str) -> float | None:
    """A number that need not be there."""
    value = values.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise RequestError(f"{name} is {described(value)}; expected a number or null")
    return float(value)


class _Api:
    """The calls of the page: each takes the values of a request and returns what is answered."""

    def __init__(self, session: Session, annotator: str) -> None:
        self.session = session
        self.annotator = annotator

    def _annotator(self, values: dict[str, Any]) -> str:
        name = " ".join(_text(values, "annotator", self.annotator).split())
        if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
            raise RequestError(
                f"annotator is {described(name)}; expected 1 to {LONGEST_NAME} characters"
            )
        return name

    def _with_next(self, values: dict[str, Any]) -> dict[str, Any]:
        """The next sentence of an annotator, unless the page is in the middle of something else."""
        shown = self.session.next(self._annotator(values)) if values.get("next", True) else None
        return {"next": shown, "progress": self.session.progress()}

    def project(self, values: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        formats = {"imports": list(IMPORT_FORMATS), "exports": available_formats()}
        return self.session.describe() | formats | {"annotator": self.annotator}

    def next(self, values: dict[str, Any]) -> dict[str, Any]:
        return self._with_next(values)

    def sentence(self, values: dict[str, Any]) -> dict[str, Any]:
        number = _text(values, "number")
        return self.session.question(int(number) if number.isdecimal() else -1)

    def progress(self, values: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        return self.session.progress()

    def review(self, values: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        return self.session.review()

    def search(self, values: dict[str, Any]) -> dict[str, Any]:
        get = functools.partial(_text, values, default="")
        return self.session.search(get("text"), label=get("label"), status=get("status"))

    def answer(self, values: dict[str, Any]) -> dict[str, Any]:
        annotator = self._annotator(values)
        kept = self.session.answer(
            annotator,
            values.get("sentence"),  # type: ignore[arg-type]
            values.get("labels"),  # type: ignore[arg-type]
            suggested=values.get("suggested"),
            confidence=_number(values, "confidence"),
            seconds=_number(values, "seconds"),
        )
        return {"saved": kept.number, "kind": kept.kind} | self._with_next(values)

    def skip(self, values: dict[str, Any]) -> dict[str, Any]:
        seconds = _number(values, "seconds")
        number: Any = values.get("sentence")
        self.session.skip(self._annotator(values), number, seconds=seconds)
        return self._with_next(values)

    def undo(self, values: dict[str, Any]) -> dict[str, Any]:
        shown = self.session.undo(self._annotator(values))
        return {"next": shown, "progress": self.session.progress()}

    def add_label(self, values: dict[str, Any]) -> dict[str, Any]:
        self.session.add_label(_text(values, "name").strip())
        return self.project(values)

    def remove_label(self, values: dict[str, Any]) -> dict[str, Any]:
        self.session.remove_label(_text(values, "name"))
        return self.project(values)

    def strategy(self, values: dict[str, Any]) -> dict[str, Any]:
        self.session.set_strategy(_text(values, "strategy"))
        return self.project(values)

    def import_texts(self, values: dict[str, Any]) -> dict[str, Any]:
        name = _text(values, "name", "text")
        content = _text(values, "content").encode("utf-8", "replace")
        tokenizer = self.session.store.tokenizer
        found = read_texts(content, name, _text(values, "format", AUTO), tokenizer)
        n = self.session.add_texts(found.texts, name, found.labels, found.kind)
        more = {"added": n, "labelled": found.n_labelled, "cut": found.cut}
        return self.project(values) | more
